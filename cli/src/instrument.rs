//! `anrscope instrument`: class files in, class files that tell the recorder what they do out.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use instrumenter::{Exits, Filter, Input, MapPaths, Skip, Summary, instrument, outputs_in};
use serde_json::json;

use crate::cleanup;
use crate::progress::Progress;

const MAP_NAME: &str = "methodMapping.txt";

/// Put enter and exit calls into the methods of jars, aars and class folders
///
/// Writes the instrumented copies and methodMapping.txt, which says which number is which method. The
/// method map is part of the build: keep it, recordings of that build are read with it.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
    # One jar; the map comes to lie beside the copy.
    anrscope instrument app.jar --out traced/app.jar

    # Several at once share one map, traced/methodMapping.txt.
    anrscope instrument app.jar libs/*.jar build/classes --out traced

    # The next build keeps the numbers of the last one.
    anrscope instrument app.jar --out traced --base-map last/methodMapping.txt

    # Packages that need no tracing, one a line.
    anrscope instrument app.jar --out traced --block-list quiet.txt

Exit status:
    0  done; classes that were left as they are count as done, and are listed
    1  an input cannot be read, or an output not be written; then nothing was written
    2  the command line is wrong
"
)]
pub(crate) struct Options {
    /// Jars, aars or folders of class files
    #[arg(required = true, value_name = "IN")]
    inputs: Vec<PathBuf>,
    /// Where to write; with one input that file or folder, with several a folder
    #[arg(long, short, value_name = "OUT")]
    out: PathBuf,
    /// The method map to write [default: methodMapping.txt beside OUT, or in it if OUT is a folder]
    #[arg(long, value_name = "FILE")]
    method_map: Option<PathBuf>,
    /// The list of methods not traced to write [default: ignoreMethodMapping.txt beside the method map]
    #[arg(long, value_name = "FILE")]
    ignored_map: Option<PathBuf>,
    /// A method map whose numbers are kept
    #[arg(long, value_name = "FILE")]
    base_map: Option<PathBuf>,
    /// A file of classes and packages to leave alone, one a line
    #[arg(long, value_name = "FILE")]
    block_list: Option<PathBuf>,
    /// Threads to work with; 0 takes one a processor
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
    /// Compression of rewritten classes: 0 stores, 9 is small
    #[arg(long, value_name = "0-9", default_value_t = 6, value_parser = clap::value_parser!(u8).range(0..=9))]
    level: u8,
    /// Which ways out of a method are told: all, or not the exceptions that pass through
    #[arg(long, value_enum, default_value_t = ExitsOption::All)]
    exits: ExitsOption,
    /// Print what was done as JSON to stdout
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum ExitsOption {
    All,
    Normal,
}

/// Runs the subcommand.
pub(crate) fn run(options: Options) -> anyhow::Result<ExitCode> {
    cleanup::on_interrupts().context("cannot catch interrupts")?;
    let Places { inputs, maps, into } = places(&options);
    let folders = inputs.iter().map(|input| &input.output).chain([&maps.methods]);
    for folder in folders.chain(&maps.ignored).filter_map(|path| path.parent()) {
        cleanup::sweep(if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    }
    let mut filter = Filter::default();
    if let Some(path) = &options.block_list {
        read_block_list(path, &mut filter)?;
    }
    let settings = instrumenter::Options {
        filter,
        base_map: options.base_map.clone(),
        level: options.level,
        threads: options.threads,
        exits: match options.exits {
            ExitsOption::All => Exits::All,
            ExitsOption::Normal => Exits::Normal,
        },
        ..instrumenter::Options::default()
    };
    let progress = Progress::new(!options.json);
    let summary = instrument(&inputs, &maps, &settings, &|step| {
        progress.show(|| match step {
            instrumenter::Progress::Reading(path) => format!("reading {}", path.display()),
            instrumenter::Progress::Numbered { classes, methods } => {
                format!("{classes} classes, {methods} methods")
            }
            instrumenter::Progress::Writing(path) => format!("writing {}", path.display()),
            _ => String::new(),
        });
    });
    drop(progress);
    let moved = |folder: &PathBuf| {
        let from = maps.methods.parent().unwrap_or(Path::new(".")).to_owned();
        let moved = summary.is_ok().then(|| move_into(&maps, &from, folder));
        // On failure too: it was only a place to wait in.
        let _ = std::fs::remove_dir_all(from);
        moved.unwrap_or_else(|| Ok(maps.clone()))
    };
    let maps = into.as_ref().map_or_else(|| Ok(maps.clone()), moved)?;
    let summary = summary?;
    if options.json {
        let mut stdout = io::stdout().lock();
        writeln!(stdout, "{:#}", to_json(&summary, &inputs, &maps))?;
        stdout.flush()?;
    } else {
        io::stderr().lock().write_all(to_text(&summary, &maps).as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Where everything is read from and written to.
struct Places {
    inputs: Vec<Input>,
    maps: MapPaths,
    /// A folder that the maps are moved into at the end.
    into: Option<PathBuf>,
}

fn places(options: &Options) -> Places {
    let out = &options.out;
    let several = options.inputs.len() > 1;
    let is_folder = |path: &PathBuf| path.is_dir();
    let into_folder = several || (out.is_dir() && !options.inputs.iter().any(is_folder));
    let inputs: Vec<Input> = if into_folder {
        let outputs = outputs_in(out, &options.inputs);
        options.inputs.iter().zip(outputs).map(|(input, output)| Input::new(input, output)).collect()
    } else {
        options.inputs.iter().map(|input| Input::new(input, out)).collect()
    };
    let mut into = None;
    let method_map = options.method_map.clone().unwrap_or_else(|| {
        if into_folder {
            out.join(MAP_NAME)
        } else if options.inputs.iter().any(is_folder) {
            // The folder appears whole, at the end; until then there is no place in it.
            into = Some(out.clone());
            let mut name = std::ffi::OsString::from(".");
            name.push(out.file_name().unwrap_or_default());
            name.push(format!(".maps.{}.tmp", std::process::id()));
            out.with_file_name(name).join(MAP_NAME)
        } else {
            out.with_file_name(MAP_NAME)
        }
    });
    let mut maps = MapPaths::beside(method_map);
    if let Some(path) = &options.ignored_map {
        maps.ignored = Some(path.clone());
    }
    Places { inputs, maps, into }
}

/// Moves the maps that lie in `from` into `folder`.
fn move_into(maps: &MapPaths, from: &Path, folder: &Path) -> anyhow::Result<MapPaths> {
    let moved = |path: &PathBuf| -> anyhow::Result<PathBuf> {
        // The list of ignored methods may have a place that was asked for.
        if path.parent() != Some(from) {
            return Ok(path.clone());
        }
        let to = folder.join(path.file_name().unwrap_or_default());
        std::fs::rename(path, &to).with_context(|| format!("cannot write {}", to.display()))?;
        Ok(to)
    };
    Ok(MapPaths {
        methods: moved(&maps.methods)?,
        ignored: maps.ignored.as_ref().map(moved).transpose()?,
        lines: maps.lines.as_ref().map(moved).transpose()?,
    })
}

/// Names of a block list: one a line, empty lines and those that begin with `#` passed over. Lines of
/// Matrix's own lists (`-keepclass a/b/C`, `-keeppackage a/b/`) are read too.
fn read_block_list(path: &Path, filter: &mut Filter) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the block list {}", path.display()))?;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') || line == "[package]" {
            continue;
        }
        let name = ["-keepclass ", "-keeppackage "].iter().find_map(|key| line.strip_prefix(key));
        let name = name.unwrap_or(line).trim();
        if name.contains(char::is_whitespace) || name.starts_with('-') {
            bail!(
                "{}:{}: {line:?} is no class or package: write one a line, like com/acme/util",
                path.display(),
                number + 1
            );
        }
        filter.block(name);
    }
    Ok(())
}

/// How many of the skipped are listed one by one.
const LISTED: usize = 20;

fn to_text(summary: &Summary, maps: &MapPaths) -> String {
    let times = &summary.times;
    let ms = |time: std::time::Duration| time.as_millis();
    let mut text = format!(
        "{} classes, {} of them changed; {} methods: {} traced, {} not worth it, {} blocked\n\
         map {} in {}\n\
         read {} ms, look {} ms, number {} ms, write {} ms\n",
        summary.classes,
        summary.classes_changed,
        summary.methods_seen,
        summary.traced,
        summary.ignored,
        summary.blocked,
        summary.map_id,
        maps.methods.display(),
        ms(times.read),
        ms(times.collect),
        ms(times.number),
        ms(times.write),
    );
    for (input, warning) in summary.warnings.iter().take(LISTED) {
        text.push_str(&format!("warning: {}: {warning}\n", input.display()));
    }
    more(&mut text, summary.warnings.len(), "warnings");
    for skip in summary.skipped.iter().take(LISTED) {
        text.push_str(&format!("warning: left as it is: {}: {}\n", name_of(skip), skip.reason));
    }
    more(&mut text, summary.skipped.len(), "left as they are");
    text
}

fn more(text: &mut String, all: usize, what: &str) {
    if let Some(more) = all.checked_sub(LISTED).filter(|more| *more > 0) {
        text.push_str(&format!("warning: and {more} more {what} (--json lists them all)\n"));
    }
}

fn name_of(skip: &Skip) -> String {
    let method = skip.method.as_ref().map(|method| format!(".{method}")).unwrap_or_default();
    format!("{}: {}{method}", skip.input.display(), skip.class)
}

fn to_json(summary: &Summary, inputs: &[Input], maps: &MapPaths) -> serde_json::Value {
    let path = |path: &Path| path.display().to_string();
    let times = &summary.times;
    json!({
        "classes": summary.classes,
        "classes_changed": summary.classes_changed,
        "methods": summary.methods_seen,
        "traced": summary.traced,
        "ignored": summary.ignored,
        "blocked": summary.blocked,
        "map_id": summary.map_id.to_string(),
        "method_map": path(&maps.methods),
        "outputs": inputs.iter().map(|input| path(&input.output)).collect::<Vec<_>>(),
        "skipped": summary.skipped.iter().map(|skip| json!({
            "input": path(&skip.input),
            "class": skip.class,
            "method": skip.method,
            "reason": skip.reason.to_string(),
        })).collect::<Vec<_>>(),
        "warnings": summary.warnings.iter().map(|(input, warning)| json!({
            "input": path(input),
            "text": warning.to_string(),
        })).collect::<Vec<_>>(),
        "ms": {
            "read": times.read.as_secs_f64() * 1e3,
            "collect": times.collect.as_secs_f64() * 1e3,
            "number": times.number.as_secs_f64() * 1e3,
            "write": times.write.as_secs_f64() * 1e3,
        },
    })
}
