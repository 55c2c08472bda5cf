//! More threads than the pool has blocks.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use trace_format::event::{Event, Wait, WaitKind};
use trace_format::layout::Sizes;
use trace_format::{Recording, Thread};
use trace_runtime::Config;

use super::{WAIT, events, only_recording, spawn};

const BUSY: usize = 50;
/// The method of the lock's owner, that of idle threads, and that of the others.
const OWNING: u32 = 5;
const IDLE: u32 = 9;
const WRITTEN: u32 = 7;
const LOCK: u64 = 77;
/// Events of the late thread.
const EVENTS: u64 = 300;
/// Events of a busy thread between two sleeps, and the minimum number of sleeps: three blocks and more.
const AT_ONCE: u64 = 20;
const ROUNDS: u64 = 200;

fn thread(name: String, body: impl FnOnce() + Send + 'static) -> std::thread::JoinHandle<()> {
    let builder = std::thread::Builder::new().name(name).stack_size(64 * 1024);
    builder
        .spawn(move || {
            // The kernel truncates names to 15 bytes.
            trace_runtime::name_thread(std::thread::current().name().expect("a name"));
            body();
        })
        .expect("a thread")
}

pub(super) fn child(role: &str, mut config: Config) {
    config.sense_sigquit = false;
    match role {
        "hammers" => hammers(config),
        "destructors" => destructors(config),
        _ => crowd(role, config),
    }
}

/// `crowd-COUNT-killed` or `crowd-COUNT-ended`.
fn crowd(role: &str, config: Config) {
    let mut parts = role.split('-').skip(1);
    let count: usize = parts.next().and_then(|count| count.parse().ok()).expect("a count");
    super::begin(&config);
    trace_runtime::enter(1);
    let owns = Arc::new(AtomicBool::new(false));
    let said = owns.clone();
    thread("lock-owner".to_owned(), move || {
        trace_runtime::wait_begin(Wait {
            lock: LOCK,
            class: trace_runtime::text("com.example.Lock"),
            ..Wait::new(WaitKind::Monitor)
        });
        trace_runtime::wait_end(WaitKind::Monitor, LOCK);
        trace_runtime::enter(OWNING);
        said.store(true, Ordering::SeqCst);
        loop {
            std::thread::park();
        }
    });
    while !owns.load(Ordering::SeqCst) {
        std::thread::yield_now();
    }
    let written = Arc::new(AtomicU64::new(0));
    for number in 0..BUSY {
        let written = written.clone();
        thread(format!("busy-{number}"), move || {
            for round in 1.. {
                (0..AT_ONCE).for_each(|_| trace_runtime::exit(WRITTEN));
                if round == ROUNDS {
                    written.fetch_add(1, Ordering::SeqCst);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        });
    }
    let idle = Arc::new(AtomicU64::new(0));
    for number in 0..count {
        let idle = idle.clone();
        thread(format!("idle-{number}"), move || {
            trace_runtime::enter(IDLE);
            idle.fetch_add(1, Ordering::SeqCst);
            loop {
                std::thread::park();
            }
        });
    }
    while idle.load(Ordering::SeqCst) < count as u64 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let (done, late) = std::sync::mpsc::channel();
    thread("late".to_owned(), move || {
        for _ in 0..EVENTS {
            trace_runtime::exit(WRITTEN);
            std::thread::sleep(Duration::from_millis(2));
        }
        trace_runtime::enter(WRITTEN + 1);
        done.send(()).expect("main waits");
        loop {
            trace_runtime::enter(WRITTEN + 1);
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    late.recv().expect("the late one");
    while written.load(Ordering::SeqCst) < BUSY as u64 {
        std::thread::sleep(Duration::from_millis(1));
    }
    trace_runtime::wait_begin(Wait {
        lock: LOCK,
        class: trace_runtime::text("com.example.Lock"),
        ..Wait::new(WaitKind::Monitor)
    });
    println!("ready");
    if parts.next() == Some("killed") {
        loop {
            std::thread::park();
        }
    }
}

fn named<'a>(recording: &'a Recording<Vec<u8>>, name: &str) -> &'a Thread {
    let found = recording.threads().iter().find(|t| t.name.as_deref() == Some(name));
    found.unwrap_or_else(|| panic!("{name} is missing among {} threads", recording.threads().len()))
}

pub(super) fn crowds(directory: &Path) {
    for count in [260, 600, 2_000] {
        for end in ["killed", "ended"] {
            let role = format!("crowd-{count}-{end}");
            let directory = directory.join(&role);
            std::fs::create_dir_all(&directory).unwrap();
            let mut child = spawn(&role, &directory);
            let mut lines = BufReader::new(child.stdout.take().unwrap());
            assert_eq!(super::line(&mut lines), "ready", "{role}");
            if end == "killed" {
                child.kill().unwrap();
            }
            assert_eq!(child.wait().unwrap().signal(), (end == "killed").then_some(9), "{role}");
            looked_through(&only_recording(&directory), count, &role);
        }
    }
}

fn looked_through(recording: &Recording<Vec<u8>>, count: usize, role: &str) {
    assert_eq!(recording.faults(), (&[][..], 0), "{role}");
    let main = &recording.threads()[0];
    assert!(main.main && main.overwritten() == 0, "{role}");
    let of_main: Vec<_> = events(recording, main).into_iter().map(|(_, event)| event).collect();
    let [Event::Enter(1), Event::WaitBegin(wait)] = of_main[..] else { panic!("{role}: {of_main:?}") };
    let owner = named(recording, "lock-owner");
    assert_eq!(wait.owner, owner.uid, "{role}");
    let of_owner = events(recording, owner);
    assert!(matches!(of_owner.last(), Some((_, Event::Enter(OWNING)))), "{role}: {of_owner:?}");
    let of_late = events(recording, named(recording, "late"));
    assert!(matches!(of_late.last(), Some((_, Event::Enter(id))) if *id == WRITTEN + 1), "{role}");
    let mut of_busy = 0;
    for number in 0..BUSY {
        let busy = named(recording, &format!("busy-{number}"));
        assert!(busy.words() > 0, "{role}: {number}");
        let lost = busy.overwritten() + recording.header().dropped;
        assert!(events(recording, busy).len() as u64 + lost >= AT_ONCE * ROUNDS, "{role}");
        of_busy += busy.words();
    }
    // More than a block each: blocks given to new threads are replaced by those of idle ones.
    assert!(of_busy > BUSY as u64 * 1_016, "{role}: {of_busy} words");
    // No thread ended while it ran, so every name is there.
    let idle =
        recording.threads().iter().filter(|t| t.name.as_deref().is_some_and(|n| n.starts_with("idle-")));
    assert_eq!(idle.count(), count, "{role}");
    if count + BUSY < Sizes::DEFAULT.pool_blocks as usize {
        assert_eq!(recording.header().dropped, 0, "{role}");
        assert!(recording.threads().iter().all(|thread| thread.words() > 0), "{role}");
    }
}

const HAMMERS: usize = 24;
const BLOCKS: u32 = 8;

/// Three times as many threads as blocks, all of which write all the time; each counts its events. Then one
/// after the other writes until it has a block, so that the number of its recorded events is known.
fn hammers(mut config: Config) {
    config.recording.sizes = Sizes { pool_blocks: BLOCKS, threads: 64, ..Sizes::DEFAULT };
    trace_runtime::start(&config).unwrap();
    let file = trace_runtime::wait_for_file(WAIT).expect("a file");
    let stop = Arc::new(AtomicBool::new(false));
    let mut hammers = Vec::new();
    for number in 0..HAMMERS {
        let stop = stop.clone();
        let (ask, asked) = std::sync::mpsc::channel::<()>();
        let (answer, answers) = std::sync::mpsc::channel::<u64>();
        thread(format!("hammer-{number}"), move || {
            let mut tried = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                for _ in 0..100 {
                    trace_runtime::exit(WRITTEN);
                    tried += 1;
                }
                std::thread::yield_now();
            }
            while asked.recv().is_ok() {
                trace_runtime::exit(WRITTEN);
                tried += 1;
                answer.send(tried).expect("main listens");
            }
        });
        hammers.push((ask, answers));
    }
    std::thread::sleep(Duration::from_millis(700));
    stop.store(true, Ordering::SeqCst);
    let mut missing = 0;
    for (number, (ask, answers)) in hammers.iter().enumerate() {
        let name = format!("hammer-{number}");
        // A name is in the table before the first event, and the others are silent: it gets a block.
        missing += loop {
            ask.send(()).unwrap();
            let tried = answers.recv().unwrap();
            let recording = Recording::open(std::fs::read(&file).unwrap()).unwrap();
            let thread = recording.threads().iter().find(|t| t.name.as_deref() == Some(&name));
            if let Some(thread) = thread.filter(|thread| thread.words() > 0) {
                break tried - thread.written();
            }
            std::thread::sleep(Duration::from_millis(5));
        };
    }
    println!("{missing}");
    nix::sys::signal::raise(nix::sys::signal::SIGKILL).unwrap();
}

pub(super) fn dropped_is_counted(directory: &Path) {
    let mut child = spawn("hammers", directory);
    let mut said = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9), "{said}");
    let missing: u64 = said.trim().parse().expect("a count");
    let recording = only_recording(directory);
    assert_eq!(recording.header().dropped, missing);
    assert!(missing > 0, "nothing was dropped: too few threads for the machine");
}

#[allow(non_snake_case, reason = "the names that a JVM looks for")]
mod natives {
    use std::ffi::c_void;

    unsafe extern "C" {
        pub(super) safe fn Java_dev_anrscope_MethodBeat_join(env: usize, class: usize, name: usize) -> i64;
        pub(super) fn Java_dev_anrscope_MethodBeat_enter(
            env: usize,
            class: usize,
            thread: i64,
            id: i32,
            behind: i64,
        ) -> i64;
        pub(super) safe fn pthread_key_create(key: &mut u32, end: extern "C" fn(*mut c_void)) -> i32;
        pub(super) fn pthread_setspecific(key: u32, value: *const c_void) -> i32;
    }
}

/// Threads that call from a destructor that runs after the library's, and calls in each.
const ENDING: usize = 40;
const BEHIND: u64 = 30;

/// Threads of native code that detach in their own destructor, where Java runs once more.
fn destructors(mut config: Config) {
    extern "C" fn at_end(address: *mut std::ffi::c_void) {
        let mut behind = 0;
        for _ in 0..BEHIND {
            // SAFETY: `join` returned it to this thread, which is ending and has not ended.
            behind = unsafe {
                natives::Java_dev_anrscope_MethodBeat_enter(0, 0, address as usize as i64, 666, behind)
            };
        }
    }
    config.recording.clock = trace_runtime::Clock::Coarse;
    config.recording.sizes = Sizes { pool_blocks: 4, threads: 64, ..Sizes::DEFAULT };
    super::begin(&config);
    let mut key = 0;
    assert_eq!(natives::pthread_key_create(&mut key, at_end), 0);
    for round in 0..ENDING / 4 {
        let four = (0..4).map(|number| {
            thread(format!("ending-{round}-{number}"), move || {
                let address = natives::Java_dev_anrscope_MethodBeat_join(0, 0, 0);
                // SAFETY: the key exists, and the value is only passed on.
                assert_eq!(unsafe { natives::pthread_setspecific(key, address as usize as *const _) }, 0);
                for _ in 0..500 {
                    trace_runtime::exit(WRITTEN);
                }
            })
        });
        four.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().expect("it wrote"));
    }
}

pub(super) fn java_after_the_end(directory: &Path) {
    assert!(spawn("destructors", directory).wait().unwrap().success());
    let recording = only_recording(directory);
    assert_eq!(recording.faults(), (&[][..], 0));
    assert_eq!(recording.header().dropped, ENDING as u64 * BEHIND, "counted, and in no block");
    let mut seen = BTreeMap::new();
    for thread in recording.threads().iter().filter(|thread| !thread.main) {
        let all = events(&recording, thread);
        assert!(all.iter().all(|(time, event)| *time <= thread.ended && *event == Event::Exit(WRITTEN)));
        seen.insert(thread.name.clone(), all.len());
    }
    assert_eq!(seen.len(), 4, "{seen:?}");
}
