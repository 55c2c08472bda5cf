//! Writes seeds for the targets into the directory `ANRSCOPE_SEEDS`, with a subdirectory for each target.
//!
//! They are the repository's own test data: dumps, mappings, recordings of every version, the synthetic cases of the causes,
//! traces and reports of those, class files, archives. `ANRSCOPE_CORPUS` names a directory of further dumps and mappings (`anr`,
//! `mapping`).
//!
//! It is built as a fuzz target, because the counters in all code need libFuzzer, which has the main function.
#![no_main]

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use exporter::matrix::{IssueOptions, issues};
use exporter::{ExportInput, ExportOptions, Format, MethodMap, export};
use test_support::bodies::native;
use test_support::{recordings as common, scenario};
use trace_format::{Item, Recording};
use trace_rules::Rules;

mod samples;

struct Seeds {
    directory: PathBuf,
    written: usize,
}

impl Seeds {
    fn put(&mut self, target: &str, bytes: &[u8]) {
        self.written += 1;
        let directory = self.directory.join(target);
        fs::create_dir_all(&directory).expect("a directory");
        fs::write(directory.join(format!("seed-{:04}", self.written)), bytes).expect("a seed");
    }

    /// Writes a seed with the byte in front that chooses its kind.
    fn put_as(&mut self, target: &str, kind: u8, bytes: &[u8]) {
        self.put(target, &[&[kind], bytes].concat());
    }

    fn recording(&mut self, bytes: &[u8], map: &MethodMap) {
        let folded = fuzz::folded::fold(bytes);
        let again = fuzz::folded::unfold(&folded);
        assert_eq!(events(&again), events(bytes), "folding a recording loses nothing");
        for done in 0..8 {
            self.put_as("recording", done, &folded);
        }
        let recording = Recording::open(bytes).expect("a recording");
        let input = ExportInput { file: Path::new("seed"), recording: &recording, map };
        for level in [0, 6] {
            let mut trace = Vec::new();
            export(&[input], &ExportOptions::new(Format::Perfetto, level), &mut trace).expect("a trace");
            self.put("merge", &trace);
            // The same as a compressed file would unpack: the first packets once, the others repeatedly.
            self.put("merge", &[b"Z\xFF", &trace[..]].concat());
        }
        let how = IssueOptions { rules: Some(Rules::Matrix), slow_ms: 10, ..IssueOptions::default() };
        let reports = issues(Path::new("seed"), &recording, map, &how).expect("reports").lines;
        if !reports.is_empty() {
            self.put("matrix", reports.join("\n").as_bytes());
            self.put("matrix", format!("[{}]", reports.join(",")).as_bytes());
        }
    }

    /// Writes every file below a directory.
    fn files(&mut self, target: &str, directory: &Path) {
        for file in below(directory) {
            let bytes = fs::read(&file).expect("a file");
            self.put(target, &bytes);
        }
    }
}

fn below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries = fs::read_dir(directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    for entry in entries {
        let path = entry.expect("an entry").path();
        if path.is_dir() { found.extend(below(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

fn events(bytes: &[u8]) -> Vec<(u32, String)> {
    let recording = Recording::open(bytes).expect("a recording");
    let mut all = Vec::new();
    for thread in recording.threads() {
        for item in recording.events(thread) {
            if let Item::Event { time, event } = item.expect("memory can be read") {
                all.push((thread.uid, format!("{time} {event:?}")));
            }
        }
    }
    for section in recording.sections() {
        all.push((0, format!("{:?}", section.kind)));
    }
    all
}

/// Words of Matrix's ring: nested calls, one per millisecond.
fn words(order: fn(u64) -> [u8; 8]) -> Vec<u8> {
    let word = |enter: u64, id: u64, ms: u64| order(enter << 63 | id << 43 | ms);
    (0..60_u64)
        .flat_map(|n| [word(1, 1 + n % 9, 5_000 + 2 * n), word(0, 1 + n % 9, 5_001 + 2 * n)])
        .flatten()
        .collect()
}

/// An aar with `jar` as its code.
fn aar(jar: &[u8]) -> io::Result<Vec<u8>> {
    let mut out = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
    out.start_file("classes.jar", zip::write::SimpleFileOptions::default())?;
    io::Write::write_all(&mut out, jar)?;
    Ok(out.finish()?.into_inner())
}

fn write() -> io::Result<()> {
    let directory = std::env::var_os("ANRSCOPE_SEEDS").expect("ANRSCOPE_SEEDS names a directory").into();
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut seeds = Seeds { directory, written: 0 };

    let dumps = repository.join("exporter/answers/tests/data");
    for directory in ["dump", "deadlock"] {
        for file in below(&dumps.join(directory))
            .into_iter()
            .filter(|file| file.extension().is_some_and(|end| end == "txt"))
        {
            let mapping = file.to_string_lossy().contains("mapping");
            seeds.put(if mapping { "mapping" } else { "dump" }, &fs::read(&file)?);
        }
    }
    let data = repository.join("exporter/tests/data");
    seeds.files("manifest", &repository.join("instrumenter/apk/tests/data/manifest"));
    seeds.files("dex", &repository.join("instrumenter/dex/tests/data"));
    seeds.files("apk", &repository.join("instrumenter/tests/data/app"));
    seeds.put("mapping", samples::MAPPING.as_bytes());
    let fixture = repository.join("instrumenter/tests/data/instr_fixture");
    seeds.put("mapping", &fs::read(fixture.join("mapped/mapping.txt"))?);
    for map in ["shop.map", "shop.map.lines"] {
        seeds.put("method_map", &fs::read(data.join(map))?);
    }
    for map in ["methodMapping.txt", "ignoreMethodMapping.txt", "mapped/methodMapping.txt"] {
        seeds.put("method_map", &fs::read(fixture.join(map))?);
    }

    let file = fs::File::open(data.join("shop.anrscope.gz"))?;
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(file).read_to_end(&mut bytes)?;
    seeds.recording(&bytes, &MethodMap::empty());
    let (cases, _) = scenario::cases(&fs::read_to_string(data.join("causes.txt"))?);
    for case in &cases {
        let (bytes, lines) = scenario::built(case);
        let map = MethodMap::parse(Path::new("map"), lines.clone().into_bytes()).expect("a map");
        seeds.recording(&bytes, &map);
        seeds.put("method_map", lines.as_bytes());
    }
    for built in [common::stalled().build(), common::app::app().build()] {
        seeds.recording(&built, &common::map());
    }
    seeds.put("matrix", &words(u64::to_be_bytes));
    seeds.put("matrix", &words(u64::to_le_bytes));

    let archives =
        below(&fixture).into_iter().filter(|file| file.extension().is_some_and(|end| end == "jar"));
    for archive in archives {
        let bytes = fs::read(archive)?;
        seeds.put_as("instrument", 4, &bytes);
        seeds.put_as("instrument", 5, &aar(&bytes)?);
        let mut archive = zip::ZipArchive::new(io::Cursor::new(bytes))?;
        for n in 0..archive.len() {
            let mut entry = archive.by_index(n)?;
            if entry.name().is_ok_and(|name| name.ends_with(".class")) {
                let mut class = Vec::new();
                entry.read_to_end(&mut class)?;
                seeds.put("class", &class);
            }
        }
    }
    seeds.files("class", &repository.join("android/method-beat/classes"));
    let texts = [samples::MAPPING, samples::RULES, samples::BLOCK_LIST, samples::BASE_MAP];
    for (kind, text) in (0..).zip(texts) {
        seeds.put_as("instrument", kind, text.as_bytes());
    }
    for (kind, file) in
        [(0, "mapped/mapping.txt"), (2, "block.txt"), (2, "mapped/block1.txt"), (3, "mapped/base.txt")]
    {
        seeds.put_as("instrument", kind, &fs::read(fixture.join(file))?);
    }

    let answers: [(u8, &[u8]); 9] = [
        (0, b"STAT\xa4\x81\0\0\x05\0\0\0\x07\0\0\0"),
        (1, b"DENT\xa4\x81\0\0\x05\0\0\0\x07\0\0\0\x01\0\0\0aDONE\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
        (2, b"DATA\x03\0\0\0abcDATA\x01\0\0\0dDONE\0\0\0\0"),
        (3, b"FAIL\x04\0\0\0full"),
        (4, b"\x01\x03\0\0\0out\x02\x03\0\0\0err\x03\x01\0\0\0\0"),
        (5, b"CNXN\0\0\0\x01\0\0\x04\0\x07\0\0\0\0\0\0\0\xbc\xb1\xa7\xb1host::\0"),
        (6, b"OKAY0033127.0.0.1:5555   device product:p model:Pixel device:d"),
        (7, b"OKAY00040029"),
        (8, b"Failure [INSTALL_FAILED_UPDATE_INCOMPATIBLE: Package com.a.b signatures do not match]\n"),
    ];
    for (who, bytes) in answers {
        seeds.put_as("adb", who, bytes);
    }

    let compiled = seeds.directory.join("native");
    fs::create_dir_all(&compiled)?;
    let (named, unwound) = native::samples(&compiled);
    fs::remove_dir_all(&compiled)?;
    for (target, inputs) in [("native_symbols", named), ("native_unwind", unwound)] {
        for input in inputs {
            seeds.put(target, &input);
        }
    }

    if let Some(corpus) = std::env::var_os("ANRSCOPE_CORPUS").map(PathBuf::from) {
        seeds.files("dump", &corpus.join("anr"));
        seeds.files("mapping", &corpus.join("mapping"));
    }
    println!("{} seeds", seeds.written);
    Ok(())
}

/// Writes the seeds and ends the process.
fn write_and_end() {
    write().expect("the seeds are written");
    std::process::exit(0);
}

libfuzzer_sys::fuzz_target!(
    init: write_and_end(),
    |bytes: &[u8]| {
        let _ = bytes;
    }
);
