//! Dumps of a JVM: those that JDK 17 and 25 wrote of `tests/data/java/Dumped.java`, two forms written for the
//! test, and those that the installed JDKs write while the test runs.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use answers::dump::{Dump, Frame, LockGraph, LockKind, Section, Thread, ThreadForm};
use test_support::jdk::{Running, finish};

use super::{open, page};

fn thread<'a>(section: &'a Section, name: &str) -> &'a Thread {
    section
        .threads
        .iter()
        .find(|t| t.name.as_deref() == Some(name))
        .unwrap_or_else(|| panic!("no thread {name:?}"))
}

/// The names of the threads of each cycle, sorted.
fn cycles(section: &Section, cycles: &[Vec<u32>]) -> Vec<Vec<String>> {
    let name = |tid: &u32| section.thread(*tid).unwrap().name.clone().unwrap();
    let mut cycles: Vec<Vec<String>> = cycles.iter().map(|cycle| cycle.iter().map(name).collect()).collect();
    cycles.iter_mut().for_each(|cycle| cycle.sort());
    cycles.sort();
    cycles
}

/// Checks a dump of `Dumped` in HotSpot's own form.
fn assert_deadlocks(dump: &Dump) {
    let section = &dump.sections[0];
    assert!(dump.warnings.is_empty() && section.ended, "{:?}", dump.warnings);
    let graph = LockGraph::from(section);
    assert_eq!(
        cycles(section, &graph.deadlocks),
        [vec!["Left \"quoted\"", "Right"], vec!["SyncWorker", "main"]],
        "{}",
        page(dump)
    );
    let main = section.main().unwrap();
    assert_eq!(main.name.as_deref(), Some("main"));
    assert!(main.sys_tid.is_some() && main.cpu_ns.is_some() && main.elapsed_ns.is_some(), "{main:?}");
    assert_eq!(main.state.as_deref(), Some("BLOCKED (on object monitor)"));
    assert!(matches!(&main.frames[0], Frame::Java(java) if java.method == "total"), "{main:?}");
    assert!(thread(section, "Waiter").daemon && !thread(section, "VM Thread").attached);
    let worker = &thread(section, "SyncWorker").locks;
    assert_eq!((worker[0].kind, worker[1].kind), (LockKind::WaitingToLock, LockKind::Locked));
    assert_eq!(worker[0].owner, main.tid);
    let page = page(dump);
    let lines = [
        "MAIN \"main\" (tid ",
        "is BLOCKED (on object monitor): it waits for the lock of java.lang.Object",
        "DEADLOCK of 2 threads",
        "sleeps: Sleeper",
        "waits to be notified on java.lang.Object",
    ];
    for text in lines {
        assert!(page.contains(text), "{text:?} is not in\n{page}");
    }
    // HotSpot repeats stacks after its deadlocks; they are not further threads.
    assert_eq!(section.threads.iter().filter(|t| t.name.as_deref() == Some("main")).count(), 1);
}

/// Checks a dump of `Dumped` by `Thread.dump_to_file`.
fn assert_possible_deadlock(dump: &Dump) {
    let section = &dump.sections[0];
    let graph = LockGraph::from(section);
    // The threads were read one after another, so the cycle is possible but not certain.
    assert!(graph.deadlocks.is_empty());
    assert_eq!(cycles(section, &graph.possible_deadlocks), [vec!["SyncWorker", "main"]]);
    assert!(section.pid.is_some() && section.time.is_some() && section.threads.iter().any(|t| t.is_virtual));
    let left = thread(section, "Left \"quoted\"");
    assert_eq!(left.locks[0].kind, LockKind::ParkingFor);
    assert!(left.frames.len() > 5);
}

#[test]
fn dumps_that_jdk_17_wrote_are_read() {
    for name in ["hotspot-17-kill-3.txt", "hotspot-17-jstack-l.txt"] {
        let dump = open(name);
        assert_deadlocks(&dump);
        assert_eq!(dump.sections[0].main().unwrap().tid, Some(1), "{name}");
    }
    let owned = &open("hotspot-17-jstack-l.txt").sections[0];
    let kinds: Vec<_> = thread(owned, "Right").locks.iter().map(|lock| lock.kind).collect();
    assert_eq!(kinds, [LockKind::ParkingFor, LockKind::Owned]);
}

#[test]
fn dumps_that_jdk_25_wrote_are_read() {
    let dump = open("hotspot-25-thread-print.txt");
    assert_deadlocks(&dump);
    let section = &dump.sections[0];
    assert_eq!((section.pid, section.time.as_deref()), (Some(3403), Some("2026-11-23 09:45:13")));
    // Main is number 3 there.
    assert_eq!(section.main().unwrap().tid, Some(3));
    let carrier = thread(section, "ForkJoinPool-1-worker-1");
    assert_eq!(carrier.remarks, ["Carrying virtual thread #29"]);
    assert_eq!(carrier.frames.len(), 10);
    let mounted = thread(section, "virtual thread #29");
    assert!(mounted.is_virtual && mounted.tid == Some(29) && mounted.frames.len() == 7, "{mounted:?}");
    let text = open("hotspot-25-to-file.txt");
    let json = open("hotspot-25-to-file.json");
    assert_possible_deadlock(&text);
    assert_possible_deadlock(&json);
    let stacks = |dump: &Dump| -> Vec<(Option<String>, Option<u32>, usize)> {
        dump.sections[0].threads.iter().map(|t| (t.name.clone(), t.tid, t.frames.len())).collect()
    };
    // They were written one after another, and the writing threads differ.
    let others = |dump: &Dump| -> Vec<_> {
        stacks(dump).into_iter().filter(|(name, ..)| name.as_deref() != Some("Attach Listener")).collect()
    };
    assert_eq!(others(&text), others(&json));
    assert_eq!(text.sections[0].main().unwrap().lines, (5, 9));
}

#[test]
fn jdk_8_and_21_and_android_studio_are_read() {
    let dump = open("hotspot-8.txt");
    let section = &dump.sections[0];
    assert!(section.ended && dump.warnings.is_empty(), "{:?}", dump.warnings);
    assert_eq!(section.threads.len(), 5);
    // It was notified and waits to enter the monitor again: it does not own it.
    let kinds: Vec<_> = thread(section, "waiter").locks.iter().map(|lock| lock.kind).collect();
    assert_eq!(kinds, [LockKind::WaitingOn, LockKind::WaitingToLock, LockKind::Locked]);
    let graph = LockGraph::from(section);
    // Only the list of synchronizers shows which thread owns the lock.
    assert_eq!((graph.edges.len(), graph.edges[0].from, graph.edges[0].to), (1, 10, 1));
    assert!(!graph.edges[0].inferred);
    assert!(page(&dump).contains("it reads from a socket"), "{}", page(&dump));

    let dump = open("hotspot-21-to-file.txt");
    let section = &dump.sections[0];
    assert_eq!((section.pid, section.threads.len()), (Some(4711), 3));
    assert_eq!(section.main().unwrap().frames.len(), 3);
    let Frame::Java(fetch) = &section.threads[2].frames[1] else { panic!() };
    assert_eq!((fetch.class.as_str(), section.threads[2].is_virtual), ("com.acme.Fetch", true));

    let dump = open("android-studio.txt");
    let section = &dump.sections[0];
    assert!(section.threads.iter().all(|t| t.form == ThreadForm::AndroidStudio));
    assert_eq!(cycles(section, &LockGraph::from(section).deadlocks), [["SyncWorker", "main"]]);
    assert_eq!(section.main().unwrap().frames.len(), 4);
}

/// The installed JDKs: that of `JAVA_HOME` or the search path, and those of Linux distributions.
fn jdks() -> Vec<PathBuf> {
    let mut jdks: Vec<PathBuf> = std::env::var_os("JAVA_HOME").map(PathBuf::from).into_iter().collect();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let javac =
        std::env::split_paths(&path).map(|directory| directory.join("javac")).find(|javac| javac.exists());
    jdks.extend(javac.and_then(|javac| Some(javac.canonicalize().ok()?.parent()?.parent()?.to_owned())));
    jdks.extend(
        std::fs::read_dir("/usr/lib/jvm").into_iter().flatten().filter_map(|home| Some(home.ok()?.path())),
    );
    jdks.retain(|home| home.join("bin/javac").exists() && home.join("bin/jcmd").exists());
    let mut jdks: Vec<PathBuf> = jdks.into_iter().filter_map(|home| home.canonicalize().ok()).collect();
    jdks.sort();
    jdks.dedup();
    jdks
}

fn read(bytes: &[u8]) -> Dump {
    Dump::read(Path::new("x"), bytes).unwrap_or_else(|e| panic!("{e}:\n{}", String::from_utf8_lossy(bytes)))
}

#[test]
fn the_jdks_of_this_machine_write_what_is_read() {
    let directory = std::env::temp_dir().join(format!("anrscope-dumped-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let jdks = jdks();
    assert!(!jdks.is_empty(), "the tests need a JDK: install one, or name it with JAVA_HOME");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/java/Dumped.java");
    finish(
        Command::new(jdks[0].join("bin/javac")).args(["--release", "11", "-d"]).arg(&directory).arg(source),
    );
    for home in &jdks {
        let tool = |name: &str| Command::new(home.join("bin").join(name));
        let version = String::from_utf8(finish(tool("javac").arg("-version"))).unwrap();
        let version: u32 =
            version.trim().trim_start_matches("javac ").split('.').next().unwrap().parse().unwrap();
        let mut java = tool("java");
        java.args(["-Xmx64m", "-cp"]).arg(&directory).arg("Dumped").stdout(Stdio::piped());
        if version >= 21 {
            java.arg("virtual");
        }
        let mut running = Running(java.spawn().unwrap());
        let mut out = BufReader::new(running.0.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let pid = line.trim().trim_start_matches("pid ").to_owned();
        let until = Instant::now() + Duration::from_secs(60);
        let jstack = || finish(tool("jstack").args(["-l", &pid]));
        let mut with_l = jstack();
        while !String::from_utf8_lossy(&with_l).contains("Found 2 deadlocks") {
            assert!(Instant::now() < until, "{}", String::from_utf8_lossy(&with_l));
            std::thread::sleep(Duration::from_millis(50));
            with_l = jstack();
        }
        assert_deadlocks(&read(&with_l));
        let print = read(&finish(tool("jcmd").args([&pid, "Thread.print"])));
        assert_deadlocks(&print);
        assert_eq!(print.sections[0].pid.map(|pid| pid.to_string()), Some(pid.clone()));
        finish(Command::new("kill").args(["-3", &pid]));
        let mut of_signal = Vec::new();
        while !of_signal.ends_with(b"Heap\n") {
            assert!(out.read_until(b'\n', &mut of_signal).unwrap() > 0);
        }
        assert_deadlocks(&read(&of_signal));
        if version >= 21 {
            for form in ["plain", "json"] {
                let file = directory.join(format!("dump.{form}"));
                let format = format!("-format={form}");
                finish(tool("jcmd").args([&pid, "Thread.dump_to_file", "-overwrite", &format]).arg(&file));
                let dump = Dump::open(&file).unwrap();
                // JDK 21 to 24 do not write locks there.
                if version >= 25 {
                    assert_possible_deadlock(&dump);
                }
                assert!(dump.sections[0].main().unwrap().frames.len() > 1);
            }
        }
        drop(running);
        let _ = out.read_to_end(&mut of_signal);
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn coroutines_are_read_with_what_they_are_suspended_in() {
    let dump = open("coroutines.txt");
    let section = &dump.sections[0];
    assert_eq!((section.threads.len(), section.time.as_deref()), (2, Some("2026/01/01 10:00:00")));
    let sync = thread(section, "sync#2");
    assert_eq!(
        (sync.form, sync.state.as_deref(), sync.frames.len()),
        (ThreadForm::Coroutine, Some("SUSPENDED"), 2)
    );
    assert_eq!(sync.remarks.len(), 3, "{:?}", sync.remarks);
    assert_eq!(thread(section, "BlockingCoroutine{Active}").frames.len(), 1);
    assert!(dump.warnings.is_empty() && section.ended, "{:?}", dump.warnings);
    let page = page(&dump);
    assert!(page.contains("SUSPENDED, is suspended: sync#2") && page.contains("Sync.kt:11"), "{page}");
}
