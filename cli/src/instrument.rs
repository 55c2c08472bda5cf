//! `anrscope instrument`: rewrites class files so that they record their calls.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, bail};
use instrumenter::{Catalogue, Input, MapPaths, Skip, Summary, Warning, instrument, outputs_in};
use serde_json::json;

pub(crate) mod choice;
pub(crate) mod explained;
mod jars;

use choice::Choice;

use crate::cleanup;
use crate::progress::Progress;
use crate::recordings::MAP_NAME;
use crate::terminal::{self, counted};

/// Add enter and exit calls to the methods of jars, aars and class directories
///
/// Writes the instrumented copies and methodMapping.txt, which maps ids to methods. The method map is part of the build: keep it, since
/// recordings of that build are read with it.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
    # One jar; the map is written beside the copy.
    anrscope instrument app.jar --out traced/app.jar

    # Several inputs share one map, traced/methodMapping.txt.
    anrscope instrument app.jar libs/*.jar build/classes --out traced

    # The next build keeps the ids of the last one.
    anrscope instrument app.jar --out traced --base-map last/methodMapping.txt

    # Later runs redo only what has changed, and unchanged methods keep their ids.
    anrscope instrument build/classes --out build/traced --cache build/anrscope-cache

    # Also record waits: which thread waits for which lock, and for how long.
    anrscope instrument app.jar --out traced --waits

    # Show what was done to one class, and why.
    anrscope instrument app.jar --out traced/app.jar --explain com.example.Login

    # Packages that need no tracing, one a line: com.acme.generated
    anrscope instrument app.jar --out traced --block-list quiet.txt

    # Your own rules. The last line that matches a method decides; see RULES below.
    anrscope instrument app.jar --out traced --rules trace.rules

    # Without methods that recordings show to be frequent and always short.
    anrscope plan recordings --out trace.rules
    anrscope instrument app.jar --out traced --rules trace.rules

    # An app that ProGuard or R8 has processed. The map has the original names.
    anrscope instrument app.jar --out traced --mapping mapping.txt

    # Activities whose base classes are in other jars.
    anrscope instrument app.jar --out traced --classpath android.jar libs/appcompat.aar

    # The same methods, ids and files as Matrix's plug-in.
    anrscope instrument app.jar --out traced --compat matrix --block-list blackMethodList.txt

RULES: a line is a verb and conditions that must all hold
    exclude package com.acme.generated        the package and those below it
    exclude class com.acme.*Binding           the class and those nested in it; ** passes dots
    exclude class-only com.acme.Node          the class without those nested in it
    exclude annotation dagger.internal.*      methods with the annotation, and all methods of classes with it
    include method run()V                     by name, or by name and descriptor
    always  class com.acme.Start size >= 40   bytes of code
  include: traced if the default rule does not skip it; always: in any case. If no rule matches, the block
  list and then the default rule decide. The default rule skips a method that calls nothing, a constructor
  that only calls its super constructor and sets fields, and a method that ends after at most --short
  instructions for any arguments. anrscope plan writes rules from recordings.

Exit status:
    0  done; classes that were left unchanged are listed
    1  an input cannot be read, or an output cannot be written; then nothing was written. Or, with
       --fail-on-skip, a class or method was left unchanged; then everything else was written
    2  the command line is wrong
"
)]
pub(crate) struct Options {
    /// Jars, aars, directories of class files or of jars
    #[arg(required = true, value_name = "IN")]
    inputs: Vec<PathBuf>,
    /// Output: with one input a file or directory, with several a directory
    #[arg(long, short, value_name = "OUT")]
    out: PathBuf,
    #[command(flatten)]
    choice: Choice,
    /// Jars, aars and directories that are searched for super classes
    #[arg(long, value_name = "FILE", num_args = 1..)]
    classpath: Vec<PathBuf>,
    /// Choose, number and list methods as Matrix's plug-in does, and call its AppMethodBeat; exits as Matrix's by default
    #[arg(long, value_parser = ["matrix"], conflicts_with_all = ["rules", "short", "cache", "waits", "waits_catalogue"])]
    compat: Option<String>,
    /// A directory with the state of the last run, so that the next one redoes only what has changed; classes in jars are compared one
    /// by one
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
}

/// Runs the subcommand.
pub(crate) fn run(options: Options) -> anyhow::Result<()> {
    cleanup::on_interrupts().context("cannot catch interrupts")?;
    let (inputs, maps) = places(&options)?;
    let directories = inputs.iter().map(|input| &input.output).chain([&maps.methods]);
    let directories = directories.chain(&maps.ignored).filter_map(|path| path.parent());
    directories.chain(options.cache.as_deref()).for_each(cleanup::sweep);
    let settings = settings(&options)?;
    let summary = instrument(&inputs, &maps, &settings, &watched(&options.choice, inputs.len()))?;
    if options.choice.json {
        terminal::print_json(&to_json(&summary, &inputs, &maps))?;
    } else {
        print(&options.choice, &summary, &to_text(&summary, &maps))?;
    }
    // An update did not read every class.
    if let Some(class) = options.choice.explain.as_ref().filter(|_| summary.explained.is_empty()) {
        bail!("no class {class} in the inputs, or it cannot be read: use the name in its class file");
    }
    check_skipped(&options.choice, &summary)
}

/// Prints the lines of `text` that the options ask for, and the explanation of a class.
pub(crate) fn print(choice: &Choice, summary: &Summary, text: &str) -> io::Result<()> {
    let is_printed = |line: &&str| !choice.quiet || line.starts_with("warning: ");
    let lines: String = text.split_inclusive('\n').filter(is_printed).collect();
    terminal::stderr().write_all(terminal::plain(lines).as_bytes())?;
    if choice.explain.is_some() {
        terminal::stdout().write_all(explained::to_text(&summary.explained).as_bytes())?;
    }
    Ok(())
}

/// Fails if something was left unchanged and `--fail-on-skip` was given.
pub(crate) fn check_skipped(choice: &Choice, summary: &Summary) -> anyhow::Result<()> {
    let count = summary.skipped.len();
    if choice.fail_on_skip && count > 0 {
        bail!("{count} classes or methods were left unchanged, and --fail-on-skip was given");
    }
    Ok(())
}

/// Shows the instrumenter's progress over `count` inputs, unless the options ask for silence.
pub(crate) fn watched(choice: &Choice, count: usize) -> impl Fn(instrumenter::Progress<'_>) + Sync {
    let progress = Progress::new(!choice.json && !choice.quiet);
    let (reading, writing) = (AtomicUsize::new(0), AtomicUsize::new(0));
    move |step| {
        let nth = match step {
            instrumenter::Progress::Reading(_) => reading.fetch_add(1, Ordering::Relaxed) + 1,
            instrumenter::Progress::Writing(_) => writing.fetch_add(1, Ordering::Relaxed) + 1,
            _ => 0,
        };
        progress.show(|| match step {
            instrumenter::Progress::Reading(path) => format!("{nth} of {count}: reading {}", path.display()),
            instrumenter::Progress::Numbered { classes, methods } => {
                format!("{}, {}", counted(classes, "class"), counted(methods, "method"))
            }
            instrumenter::Progress::Writing(path) => format!("{nth} of {count}: writing {}", path.display()),
            _ => String::new(),
        });
    }
}

fn settings(options: &Options) -> anyhow::Result<instrumenter::Options> {
    let preset = match options.compat {
        Some(_) => instrumenter::Options::matrix(),
        None => instrumenter::Options::default(),
    };
    Ok(instrumenter::Options {
        class_path: options.classpath.clone(),
        cache: options.cache.clone(),
        ..options.choice.settings(preset)?
    })
}

/// The waits to record: the built-in ones, and those of a file.
pub(crate) fn waits(wanted: bool, file: Option<&Path>) -> anyhow::Result<Option<Catalogue>> {
    let mut catalogue = Catalogue::default();
    if let Some(path) = file {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the list of waits {}", path.display()))?;
        catalogue.add(&text).with_context(|| path.display().to_string())?;
    }
    Ok((wanted || file.is_some()).then_some(catalogue))
}

/// The inputs, and the paths of all outputs.
fn places(options: &Options) -> anyhow::Result<(Vec<Input>, MapPaths)> {
    let out = &options.out;
    let several = options.inputs.len() > 1;
    let is_directory = |path: &PathBuf| path.is_dir();
    let into_directory = several || (out.is_dir() && !options.inputs.iter().any(is_directory));
    let inputs = jars::expanded(inputs_to(out, &options.inputs, into_directory))?;
    let in_out = into_directory || options.inputs.iter().any(is_directory);
    let default = if in_out { out.join(MAP_NAME) } else { out.with_file_name(MAP_NAME) };
    Ok((inputs, options.choice.maps(default)))
}

/// Pairs each input with its output: a name of its own in the directory `out`, or `out` itself.
pub(crate) fn inputs_to(out: &Path, inputs: &[PathBuf], into_directory: bool) -> Vec<Input> {
    let outputs = if into_directory { outputs_in(out, inputs) } else { vec![out.to_owned(); inputs.len()] };
    inputs.iter().zip(outputs).map(|(input, output)| Input::new(input, output)).collect()
}

/// How many skipped classes and methods are listed one by one.
const LISTED: usize = 20;

pub(crate) fn to_text(summary: &Summary, maps: &MapPaths) -> String {
    let times = &summary.times;
    let ms = |time: std::time::Duration| time.as_millis();
    let mut text = format!(
        "{}, {} of them changed; {}: {} traced, {} not worth it, {} blocked, {} without \
         code, {} left unchanged{}{}\n\
         map {} in {}\n\
         read {} ms, scan {} ms, assign ids {} ms, write {} ms, commit {} ms; all threads together: \
         inflate {} ms, parse {} ms, rewrite {} ms, deflate {} ms\n",
        counted(summary.classes, "class"),
        summary.classes_changed,
        counted(summary.methods_seen, "method"),
        summary.traced,
        summary.ignored,
        summary.blocked,
        summary.without_code,
        summary.skipped.len(),
        some(summary.excluded, "excluded"),
        some(summary.focus, "activities with focus calls"),
        summary.map_id,
        maps.methods.display(),
        ms(times.read),
        ms(times.collect),
        ms(times.number),
        ms(times.write),
        ms(times.commit),
        ms(times.inflate),
        ms(times.parse),
        ms(times.rewrite),
        ms(times.deflate),
    );
    if summary.classes_cached > 0 {
        text.push_str(&format!("{} as before, from the cache\n", counted(summary.classes_cached, "class")));
    }
    if let Some(mapping) = &summary.mapping {
        text.push_str(&format!(
            "mapping: {} of its {} found, {} ambiguous\n",
            mapping.found,
            counted(mapping.classes, "class"),
            counted(mapping.ambiguous, "method")
        ));
    }
    for stale in summary.stale.iter().take(LISTED) {
        text.push_str(&format!("base map: {},{}: not traced, {}\n", stale.id, stale.method, stale.reason));
    }
    more(&mut text, summary.stale.len(), "lines of the base map");
    for (input, warning) in summary.warnings.iter().take(LISTED) {
        text.push_str(&format!("warning: {}\n", named(input, warning)));
    }
    more(&mut text, summary.warnings.len(), "warnings");
    for skip in summary.skipped.iter().take(LISTED) {
        text.push_str(&format!("warning: left unchanged: {}: {}\n", name_of(skip), skip.reason));
    }
    more(&mut text, summary.skipped.len(), "left unchanged");
    // Names of classes and entries come from the jar.
    terminal::plain(text)
}

/// A warning with the input that it is about in front, unless its text begins with that.
fn named(input: &Path, warning: &Warning) -> String {
    let (input, text) = (input.display().to_string(), warning.to_string());
    if text.starts_with(&input) { text } else { format!("{input}: {text}") }
}

/// `, 5 excluded`, or nothing for 0.
fn some(count: usize, what: &str) -> String {
    if count == 0 { String::new() } else { format!(", {count} {what}") }
}

fn more(text: &mut String, all: usize, what: &str) {
    if let Some(more) = all.checked_sub(LISTED).filter(|more| *more > 0) {
        text.push_str(&format!("warning: and {more} more {what} (--json lists them all)\n"));
    }
}

fn name_of(skip: &Skip) -> String {
    let method = skip.method.as_ref().map(|method| format!(".{method}")).unwrap_or_default();
    terminal::one_line(format_args!("{}: {}{method}", skip.input.display(), skip.class))
}

pub(crate) fn to_json(summary: &Summary, inputs: &[Input], maps: &MapPaths) -> serde_json::Value {
    let path = |path: &Path| path.display().to_string();
    let times = &summary.times;
    json!({
        "classes": summary.classes,
        "classes_changed": summary.classes_changed,
        "classes_cached": summary.classes_cached,
        "classes_carried": summary.classes_carried,
        "methods": summary.methods_seen,
        "traced": summary.traced,
        "ignored": summary.ignored,
        "short": summary.short,
        "blocked": summary.blocked,
        "without_code": summary.without_code,
        "excluded": summary.excluded,
        "focus": summary.focus,
        "unused_ids": summary.unused_ids,
        "stale": summary.stale.iter().map(|stale| json!({
            "id": stale.id,
            "method": stale.method,
            "reason": stale.reason.to_string(),
        })).collect::<Vec<_>>(),
        "mapping": summary.mapping.map(|mapping| json!({
            "classes": mapping.classes,
            "found": mapping.found,
            "ambiguous": mapping.ambiguous,
        })),
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
        "explained": summary.explained.iter().map(explained::to_json).collect::<Vec<_>>(),
        "ms": {
            "read": times.read.as_secs_f64() * 1e3,
            "collect": times.collect.as_secs_f64() * 1e3,
            "number": times.number.as_secs_f64() * 1e3,
            "write": times.write.as_secs_f64() * 1e3,
            "commit": times.commit.as_secs_f64() * 1e3,
        },
        "thread_ms": {
            "inflate": times.inflate.as_secs_f64() * 1e3,
            "parse": times.parse.as_secs_f64() * 1e3,
            "rewrite": times.rewrite.as_secs_f64() * 1e3,
            "deflate": times.deflate.as_secs_f64() * 1e3,
        },
    })
}
