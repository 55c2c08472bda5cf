//! A JVM whose main thread stalls in a generated C library: the report, the trace and the answer have the whole chain, from the
//! innermost function through the JNI method to Java's callers. `scripts/prove native-jvm` runs more of them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::end_to_end::native_chain::{BY_SIGNAL, Chain, WITHOUT_SIGNAL};
use crate::end_to_end::{number, text};
use test_support::android::Case;
use test_support::engine;
use test_support::program;
use test_support::temp_dir::TempDir;

/// How long main stalls before the process is killed. After 2 s it counts as a hang.
const STUCK: Duration = Duration::from_millis(2_700);
/// Programs that run at the same time.
const AT_ONCE: usize = 3;

/// A frame: its name, and the library that it is in; empty for Java's.
type Named = (String, String);

/// The stack with the frames of the C library and of the virtual machine as one line for each run of them.
fn in_short(frames: &[Named]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for (name, library) in frames {
        let base = library.split(".so").next().unwrap_or_default();
        let line = match base {
            "libc" | "libjvm" | "libjli" => format!("<{base}.so>"),
            // The launcher's own thread, and what a read of the clock is in.
            "ld-linux-x86-64" | "[vdso]" => "<libc.so>".to_owned(),
            _ => name.clone(),
        };
        if !line.starts_with('<') || all.last() != Some(&line) {
            all.push(line);
        }
    }
    all
}

/// What a stack must be.
fn same(what: &str, found: &[String], expected: &[String]) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    let at = found.iter().zip(expected).take_while(|(found, expected)| found == expected).count();
    Err(format!(
        "{what}: frame {at} is {:?}, not {:?}\n  found    {found:?}\n  expected {expected:?}",
        found.get(at),
        expected.get(at)
    ))
}

fn report(file: &Path, symbols: &Path) -> Value {
    let words = [
        "report".as_ref(),
        "--format".as_ref(),
        "json".as_ref(),
        file.as_os_str(),
        "--symbols".as_ref(),
        symbols.as_os_str(),
    ];
    let shown = program::run(words);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let mut all: Value = serde_json::from_str(&shown.stdout).unwrap();
    all["reports"][0].take()
}

/// The frames of a stack in the report.
fn reported(stack: &Value) -> Vec<Named> {
    let frames = stack["frames"].as_array().unwrap().iter();
    frames
        .map(|frame| {
            (text(frame, "name").to_owned(), frame["native"]["library"].as_str().unwrap_or("").to_owned())
        })
        .collect()
}

/// The native stacks of a thread in the trace, as the engine has them, innermost frame first, by time.
fn in_the_trace(trace: &Path, tid: u64) -> BTreeMap<u64, Vec<Named>> {
    let rows = engine::rows(
        trace,
        &format!(
            "with recursive stack(ts, depth, callsite) as (
               select s.ts, 0, s.callsite_id from perf_sample s join thread t using (utid) where t.tid = {tid} and s.callsite_id is not null
               union all
               select stack.ts, stack.depth + 1, c.parent_id from stack join stack_profile_callsite c on c.id = stack.callsite
               where c.parent_id is not null)
             select stack.ts as ts, coalesce(f.deobfuscated_name, f.name) as name, m.name as mapping
             from stack join stack_profile_callsite c on c.id = stack.callsite join stack_profile_frame f on f.id = c.frame_id
             join stack_profile_mapping m on m.id = f.mapping order by stack.ts, stack.depth"
        ),
    );
    let mut stacks: BTreeMap<u64, Vec<Named>> = BTreeMap::new();
    for row in &rows {
        let mapping = text(row, "mapping");
        let library = if mapping.contains('/') || mapping.starts_with('[') {
            mapping.rsplit('/').next().unwrap()
        } else {
            ""
        };
        stacks.entry(number(row, "ts")).or_default().push((text(row, "name").to_owned(), library.to_owned()));
    }
    stacks
}

/// Runs a case until `hangs`, with its lines so far, holds, and a while longer; then kills it. Returns its lines, and its recording.
fn killed(case: &Case, hangs: impl Fn(&str) -> bool, wait: Duration) -> (Vec<String>, PathBuf) {
    let mut process = case.command().stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = Vec::new();
    for line in BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok) {
        lines.push(line);
        if hangs(lines.last().unwrap()) {
            break;
        }
    }
    assert!(lines.last().is_some_and(|line| hangs(line)), "{lines:?} {:?}", process.wait());
    std::thread::sleep(wait);
    process.kill().unwrap();
    process.wait().unwrap();
    let file = crate::end_to_end::recordings(&case.directory()).pop().expect("a recording");
    (lines, file)
}

/// Runs one program, and compares each of its stacks. Returns how many there were, and how many were complete.
fn judge(chain: &Chain) -> Result<(u64, u64), String> {
    let mut complete = 0;
    let directory = TempDir::new();
    let (library, symbols) = chain.library(directory.path());
    let case = chain.case("chain", &library, 600_000);
    let (lines, file) = killed(&case, |line| line.starts_with("began "), STUCK);
    let of =
        |word: &'static str| lines.iter().filter_map(move |line| line.strip_prefix(word)).map(str::to_owned);
    let began: u64 = of("began ").next().unwrap().parse().unwrap();
    let expected = chain.expected(&of("java ").collect::<Vec<_>>());
    let report = report(&file, &symbols);
    let main = report["native_stacks"].as_array().unwrap().iter();
    // The chain is complete a moment later.
    let main: Vec<_> = main
        .filter(|stack| text(stack, "reason") == "stall" && number(stack, "at_ns") > began + 50_000_000)
        .collect();
    if main.len() < 2 {
        return Err(format!("{} stacks since {began}\n{report:#}", main.len()));
    }
    for stack in &main {
        let found = in_short(&reported(stack));
        let ends = text(stack, "ends");
        if WITHOUT_SIGNAL.contains(&chain.leaf) && ends.ends_with("captured without a signal") {
            // No frame is wrong: it has the innermost ones, and Java's behind them.
            let native = found.iter().take_while(|frame| !frame.starts_with("dev.anrscope.")).count();
            same("report", &found[..native], &expected[..native.min(expected.len())])?;
            if native < 2 {
                return Err(format!("{found:?}"));
            }
            continue;
        }
        same("report", &found, &expected)?;
        complete += 1;
        if !ends.is_empty() || stack["java_frames_approximate"] != false {
            return Err(format!("ends: {ends}, approximate: {}", stack["java_frames_approximate"]));
        }
    }
    in_trace(number(&report, "pid"), &file, &symbols, &main)?;
    answer(chain, &report)?;
    let _ = std::fs::remove_dir_all(case.directory());
    Ok((main.len() as u64, complete))
}

/// The trace has the same stacks.
fn in_trace(pid: u64, file: &Path, symbols: &Path, stacks: &[&Value]) -> Result<(), String> {
    let trace = file.with_extension("pftrace");
    // The engine of these tests is Perfetto 52.
    let words = [
        "export",
        file.to_str().unwrap(),
        "-o",
        trace.to_str().unwrap(),
        "--min-perfetto",
        "52",
        "--symbols",
    ];
    let shown = program::run(words.iter().map(OsStr::new).chain([symbols.as_os_str()]));
    assert_eq!(shown.code, Some(0), "{shown:?}");
    // Main has the number of the process in a trace, as on Android.
    let traced = in_the_trace(&trace, pid);
    for stack in stacks {
        let Some(found) = traced.get(&number(stack, "at_ns")) else {
            return Err(format!("no stack at {} in the trace: {:?}", stack["at_ns"], traced.keys()));
        };
        same("trace", &in_short(found), &in_short(&reported(stack)))?;
    }
    Ok(())
}

/// The answer names the function and the native method.
fn answer(chain: &Chain, report: &Value) -> Result<(), String> {
    let answer = &report["answer"];
    let cause = match chain.leaf {
        "leaf_mutex" => "native-lock",
        "leaf_sleep" => "sleep",
        _ => "native-code",
    };
    let finding = text(answer, "finding");
    // A busy machine keeps a main that computes from running, which is what the report then says.
    if chain.leaf == "leaf_compute" && answer["cause"]["kind"] == "cpu-starvation" {
        return Ok(());
    }
    let place = format!("main was in {} (libchain.so)", chain.root());
    let under = " under dev.anrscope.NativeChain.stuck";
    // Where the stack ends early, Java's frames are there, and their place is not certain.
    let is_there = finding.starts_with(&format!("{place}{under}"))
        || WITHOUT_SIGNAL.contains(&chain.leaf) && finding.starts_with(&place);
    let right = answer["cause"]["id"] == cause
        && answer["root"]["name"] == chain.root()
        && is_there
        && finding.contains(" for 2.");
    if right { Ok(()) } else { Err(format!("cause {}, root {}, {finding}", answer["cause"], answer["root"])) }
}

/// Judges programs, some at once. All must be right.
fn all_right(count: u64, leaves: &[&'static str]) {
    let first = std::env::var("ANRSCOPE_NATIVE_JVM_FIRST").map_or(0, |first| first.parse().unwrap());
    let next = AtomicU64::new(first);
    let (stacks, complete) = (AtomicU64::new(0), AtomicU64::new(0));
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= first + count {
                        return;
                    }
                    let chain = Chain::new(number, leaves);
                    match judge(&chain) {
                        Ok((all, right_to_the_root)) => {
                            stacks.fetch_add(all, Ordering::Relaxed);
                            complete.fetch_add(right_to_the_root, Ordering::Relaxed);
                        }
                        Err(error) => wrong.lock().unwrap().push(format!("{chain}: {error}")),
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    println!(
        "{} of {count} programs right ({}): {} stacks of main, {} to the root",
        count - wrong.len() as u64,
        leaves.join(", "),
        stacks.into_inner(),
        complete.into_inner()
    );
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// The number of programs: `ANRSCOPE_NATIVE_JVM` in a proof.
fn programs(quick: u64) -> u64 {
    std::env::var("ANRSCOPE_NATIVE_JVM").map_or(quick, |count| count.parse().unwrap())
}

#[test]
fn a_main_stuck_below_jni_has_its_native_chain_and_its_java_callers_in_one_stack() {
    all_right(programs(9), &BY_SIGNAL);
}

/// Such a stack is complete where each frame says where its caller is without a register that only a signal gives.
#[test]
fn a_main_in_a_wait_that_a_signal_would_end_has_no_wrong_frame() {
    all_right(programs(12) / 3, &WITHOUT_SIGNAL);
}

/// The report of a program in this mode that is killed, so many ms after it hangs.
fn report_of(mode: &str, wait: u64) -> Value {
    let chain = Chain::new(0, &["leaf_sleep"]);
    let directory = TempDir::new();
    let (library, symbols) = chain.library(directory.path());
    let case = chain.case(mode, &library, 600_000);
    let (_, file) = killed(&case, |line| line == "hangs", Duration::from_millis(wait));
    report(&file, &symbols)
}

#[test]
fn a_deadlock_of_two_pthread_mutexes_names_both_owners() {
    let report = report_of("deadlock", 3_500);
    let answer = &report["answer"];
    assert_eq!(answer["cause"]["id"], "deadlock", "{answer:#}");
    assert_eq!(answer["cycle"], serde_json::json!(["main", "CacheWorker"]), "{answer:#}");
    assert_eq!(answer["root"]["name"], "chain::decode_frame()", "{answer:#}");
    let finding = "\"main\", \"CacheWorker\" wait for mutexes that they own in a cycle";
    assert!(text(answer, "finding").starts_with(finding), "{answer:#}");
    let start = "main was in chain::decode_frame() (libchain.so) under dev.anrscope.NativeChain.lockBoth, in futex \
                 (waits for a mutex owned by \"CacheWorker\" (tid ";
    let evidence = answer["evidence"].as_array().unwrap();
    assert!(evidence.iter().any(|found| text(found, "text").starts_with(start)), "{answer:#}");
    // The owner's own stack, which waits for main's.
    let owner = &answer["owners"][0];
    assert_eq!(
        (text(owner, "thread"), text(&owner["root"], "name")),
        ("CacheWorker", "chain::evict_cache()")
    );
    let main = &answer["thread"]["tid"];
    let stacks = report["native_stacks"].as_array().unwrap();
    let of_owner = |stack: &&Value| stack["tid"] == owner["tid"];
    let of_owner = stacks.iter().find(of_owner).unwrap_or_else(|| panic!("{stacks:?}"));
    assert_eq!(
        (text(of_owner, "reason"), &of_owner["mutex_owner_tid"]),
        ("lock-owner", main),
        "{of_owner:#}"
    );
}

/// Neither thread is Java's.
#[test]
fn a_deadlock_in_native_code_alone_names_both_owners() {
    let report = report_of("native-deadlock", 2_500);
    let missed = report["missed_heartbeats"].as_array().unwrap();
    assert_eq!(missed.len(), 1, "{missed:?}");
    let (missed, answer) = (&missed[0], &report["answer"]);
    assert_eq!(missed["thread"], "Render");
    let finding = text(missed, "finding");
    let start = "\"Render\" was in chain::decode_frame() (libchain.so), in futex (waits for a mutex owned by \"Physics\" (tid ";
    assert!(finding.starts_with(start), "{finding}");
    assert_eq!(answer["cause"]["id"], "deadlock", "{answer:#}");
    assert_eq!(answer["cycle"], serde_json::json!(["Render", "Physics"]), "{answer:#}");
    let owner = &answer["owners"][0];
    assert_eq!((text(owner, "thread"), text(&owner["root"], "name")), ("Physics", "chain::evict_cache()"));
}

/// A thread that `Anrscope.watch` watches, and one that `anrscope_watch` does.
#[test]
fn a_thread_that_misses_its_heartbeat_has_its_stack_in_the_report() {
    for (mode, thread, leaf) in [("watch", "GameLoop", "leaf_read"), ("native-watch", "Render", "leaf_sleep")]
    {
        let chain = Chain::new(4, &[leaf]);
        let directory = TempDir::new();
        let (library, symbols) = chain.library(directory.path());
        let run = chain.case(mode, &library, 2_500).run();
        let report = report(&run.files()[0], &symbols);
        let missed = report["missed_heartbeats"].as_array().unwrap();
        assert_eq!(missed.len(), 1, "{mode}: {missed:?} {}", run.printed);
        assert_eq!(missed[0]["thread"], thread, "{missed:?}");
        let lasted = number(&missed[0], "until_ns") - number(&missed[0], "since_ns");
        assert!((1_000_000_000..3_000_000_000).contains(&lasted), "{missed:?}");
        let finding = text(&missed[0], "finding");
        let start = format!("\"{thread}\" was in {} (libchain.so)", chain.root());
        assert!(finding.starts_with(&start), "{finding}");
        let stacks = report["native_stacks"].as_array().unwrap();
        let stacks: Vec<_> = stacks.iter().filter(|stack| stack["tid"] == missed[0]["tid"]).collect();
        assert!(stacks.len() > 3, "{stacks:?}");
        for stack in stacks {
            assert_eq!(stack["reason"], "missed-heartbeat");
            let found = in_short(&reported(stack));
            let expected = chain.expected(&[]);
            let end = expected.iter().position(|frame| *frame == chain.shown("run_inner")).unwrap();
            let shown = found.len().min(end + 1);
            assert!(
                shown == end + 1 || text(stack, "ends").ends_with("captured without a signal"),
                "{stack:#}"
            );
            let shown = if shown == end + 1 { shown } else { 2 };
            assert_eq!(found[..shown], expected[..shown], "{stack:#}");
        }
    }
}
