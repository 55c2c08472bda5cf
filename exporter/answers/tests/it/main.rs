//! Dumps in every form, and mappings: they are read correctly, and any other text is tolerated.

mod archive;
mod corpus;
mod deadlock;
mod forms;
mod hostile;
mod jvm;
mod mapping;
mod memory;
mod paste;
mod process;
mod retraced;

use std::path::{Path, PathBuf};

use answers::dump::Dump;
use answers::dump_report::PageOptions;
use answers::retrace::Mapping;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/dump").join(name)
}

fn open(name: &str) -> Dump {
    Dump::open(&data(name)).unwrap()
}

fn page(dump: &Dump) -> String {
    let mut page = String::new();
    dump.write_page(&mut page, &PageOptions::default()).unwrap();
    page
}

fn r8() -> Mapping {
    Mapping::load(&data("mapping-r8.txt")).unwrap()
}
