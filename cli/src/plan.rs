//! `anrscope plan`: makes rules for the instrumenter from recordings.

use std::io::{self, Write};
use std::path::PathBuf;

use answers::words::thousands;
use anyhow::bail;
use exporter::plan::{Plan, RecordedCalls, Row, Thresholds, percent};

use crate::output;
use crate::recordings::{MethodMaps, Recordings, files_of, one_by_one};
use crate::terminal::{counted, one_line, warn_all};

/// Write rules that leave out methods which recordings show to be frequent and always short
///
/// Reads recordings of a build and writes a rules file for anrscope instrument --rules. A method is left out if it was called often and
/// all of its calls were short and never waited; a comment on each line has the evidence. Methods that were rarely or never called are
/// kept. Recordings of several runs make a better plan; each needs its build's map (beside it, or --map).
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
    # Record a run, make a plan from it, and build with the plan.
    anrscope jvm --out run.pftrace -jar app.jar
    anrscope plan run.anrscope --out trace.rules
    anrscope instrument app.jar --out traced/app.jar --rules trace.rules

    # Stricter, from all recordings of a directory: a mean of 5 µs at most, and at least a thousandth of all calls.
    anrscope plan recordings --max-mean 5 --min-share 0.1 --out trace.rules

    # JSON for a script.
    anrscope plan recordings --json

Add your own rules after the plan's lines in the same file: the last line that matches a method decides.

Exit status:
    0  done, also if there is nothing to leave out
    1  a recording or map cannot be read, no recording has a map of its build, or the file cannot be written
    2  the command line is wrong
"
)]
pub(crate) struct Options {
    /// Recordings, or directories of them (*.anrscope, subdirectories included)
    #[arg(value_name = "RECORDING", required = true)]
    recordings: Vec<PathBuf>,
    /// Write the rules to this file instead of stdout
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The method map of all recordings, or a directory of maps [default: methodMapping.txt beside each]
    #[arg(long, value_name = "FILE")]
    map: Option<PathBuf>,
    /// Leave out only methods with at least this many calls
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    min_calls: u64,
    /// Leave out only methods with at least this share of all calls, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 0.005)]
    min_share: f64,
    /// Leave out only methods with at most this mean time per call, callees included, in µs
    #[arg(long, value_name = "US", default_value_t = 20.0)]
    max_mean: f64,
    /// Leave out at most this many methods, those with the most calls
    #[arg(long, value_name = "N", default_value_t = 2_000, value_parser = clap::value_parser!(u64).range(0..=9_000))]
    max_methods: u64,
    /// Print the plan as JSON instead of rules
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
pub(crate) fn run(options: Options) -> anyhow::Result<()> {
    let limits = limits(&options)?;
    let evidence = evidence(&options)?;
    if evidence.recordings == 0 {
        bail!("no recording has the method map of its build: name it with --map");
    }
    let plan = Plan::of(&evidence, &limits);
    output::page(options.out.as_deref(), options.json, |out| {
        if options.json {
            let mut document = plan.to_json();
            document["schema"] = "1.0".into();
            writeln!(out, "{document:#}")?;
        } else {
            write_rules(out, &plan, &limits)?;
        }
        Ok(())
    })?;
    if !options.json {
        writeln!(crate::terminal::stderr(), "{}", summary(&plan))?;
    }
    Ok(())
}

fn limits(options: &Options) -> anyhow::Result<Thresholds> {
    if !(0.0..=100.0).contains(&options.min_share) || !(0.0..=1e9).contains(&options.max_mean) {
        bail!("--min-share takes 0 to 100 (percent), --max-mean 0 to 1000000000 (µs)");
    }
    Ok(Thresholds {
        calls: options.min_calls,
        share: (options.min_share * 1e4).round() as u64,
        mean: (options.max_mean * 1e3).round() as u64,
        methods: usize::try_from(options.max_methods)?,
    })
}

/// Reads one recording at a time: memory grows with the number of methods, not of recordings.
fn evidence(options: &Options) -> anyhow::Result<RecordedCalls> {
    let mut evidence = RecordedCalls::default();
    let mut maps = MethodMaps::new(options.map.as_deref(), None)?;
    one_by_one(&files_of(&options.recordings)?, "", !options.json, |file| {
        for input in Recordings::open(std::slice::from_ref(file), &mut maps)?.inputs() {
            warn_all(evidence.add(input.file, input.recording, input.map)?)?;
        }
        Ok(())
    })?;
    Ok(evidence)
}

fn summary(plan: &Plan) -> String {
    let mut text = format!(
        "{} left out of {} that were called: {:.1} % of {} calls",
        plan.rows.len(),
        counted(plan.methods, "method"),
        percent(plan.left_out(), plan.calls),
        thousands(plan.calls),
    );
    if plan.unwritable > 0 {
        text += &format!("; {} more have names that a rule cannot hold", plan.unwritable);
    }
    text
}

fn write_rules(out: &mut dyn Write, plan: &Plan, limits: &Thresholds) -> io::Result<()> {
    writeln!(out, "# By anrscope plan, from {}.", counted(plan.recordings as usize, "recording"))?;
    writeln!(out, "# {}.", summary(plan))?;
    writeln!(
        out,
        "# Left out: {} calls or more, {} % of all or more, a mean of {} µs at most, none that lasted or waited.",
        thousands(limits.calls),
        limits.share as f64 / 1e4,
        limits.mean as f64 / 1e3
    )?;
    for row in &plan.rows {
        writeln!(out, "{} # {}", one_line(row.method.rule()), evidence_of(row, plan.calls))?;
    }
    Ok(())
}

fn evidence_of(row: &Row, all: u64) -> String {
    let used = &row.used;
    let about = if used.estimated > 0 { "about " } else { "" };
    format!(
        "{about}{} calls ({:.2} %), mean {:.3} µs, longest {:.3} ms",
        thousands(used.calls),
        percent(used.calls, all),
        used.mean() as f64 / 1e3,
        used.longest as f64 / 1e6
    )
}
