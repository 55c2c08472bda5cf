//! `anrscope retrace`: restores names from before ProGuard or R8, and from before the instrumenter.

use std::fs;
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};

use answers::retrace::Mapping;
use anyhow::{Context, bail};
use exporter::MappedText;
use exporter::MethodMap;

use crate::output;

/// Maximum size of a text.
const MAX_TEXT: u64 = 256 << 20;

/// Restore the source's names in a text: stack traces, thread dumps, logs, and Matrix's stacks of method ids
///
/// Frames (`at a.b.c(SourceFile:12)`) are mapped by class, method and line, and inlined frames are restored; class names anywhere in a
/// line are replaced. With --method-map, the method's name is appended to lines `depth,methodId,count,costMs`.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
    # A crash log, or any other text. With - it reads stdin.
    adb logcat -d | anrscope retrace - --mapping app/build/outputs/mapping/release/mapping.txt

    # The stack of one of Matrix's reports.
    echo 0,243,1,1000 | anrscope retrace - --method-map methodMapping.txt

    # Find the method with this id.
    anrscope retrace --id 243 --method-map methodMapping.txt

Exit status:
    0  done
    1  a file cannot be read, or no method has the requested id
    2  the command line is wrong
"
)]
pub(crate) struct Options {
    /// Texts; - is stdin
    #[arg(value_name = "FILE", required_unless_present = "id")]
    files: Vec<PathBuf>,
    /// The mapping.txt of ProGuard or R8
    #[arg(long, value_name = "FILE", required_unless_present = "method_map")]
    mapping: Option<PathBuf>,
    /// The methodMapping.txt of the instrumenter
    #[arg(long, value_name = "FILE")]
    method_map: Option<PathBuf>,
    /// Write the text to this file instead of stdout
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print the method with this id
    #[arg(long, value_name = "ID", requires = "method_map")]
    id: Vec<u32>,
}

/// Runs the subcommand.
pub(crate) fn run(options: Options) -> anyhow::Result<()> {
    let mapping = options.mapping.as_deref().map(Mapping::load).transpose()?;
    let map = options.method_map.as_deref().map(MethodMap::load).transpose()?;
    let map = map.map(|map| mapping.as_ref().map(|mapping| map.retraced(mapping)).unwrap_or(map));
    output::page(options.out.as_deref(), false, |out| write(out, &options, mapping.as_ref(), map.as_ref()))
}

fn write(
    out: &mut dyn Write,
    options: &Options,
    mapping: Option<&Mapping>,
    map: Option<&MethodMap>,
) -> anyhow::Result<()> {
    for id in &options.id {
        let Some(method) = map.and_then(|map| map.get(*id)) else {
            bail!("no method of this map has the id {id}: use the map of that build");
        };
        let blank = if method.descriptor.is_empty() { "" } else { " " };
        writeln!(out, "{}.{}{blank}{}", method.class, method.method, method.descriptor)?;
    }
    let text = MappedText { mapping, methods: map };
    for file in &options.files {
        for line in read(file)?.lines() {
            for line in text.line(line) {
                writeln!(out, "{line}")?;
            }
        }
    }
    Ok(())
}

fn read(file: &Path) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let input: Box<dyn io::Read> = if file == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        Box::new(
            fs::File::open(file)
                .with_context(|| format!("cannot read {}: name an existing text", file.display()))?,
        )
    };
    let length = input
        .take(MAX_TEXT + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("cannot read {}", file.display()))?;
    if length as u64 > MAX_TEXT {
        bail!("{}: more than {MAX_TEXT} bytes: split it", file.display());
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
