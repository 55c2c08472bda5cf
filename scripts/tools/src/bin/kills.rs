//! Kills a program at random instants, and checks what its recordings hold.
//!
//!   kills [--count N] [--seed N]      half of them with each clock, half of those with a file that is set later
//!
//! The program has main and seven more threads that write. Each goes through calls that follow from its number and a
//! seed alone, and counts them by its own means, in a page that it shares with this one. So for each thread it is known
//! what the recording must hold: every word up to the count or one more, in order, but for those that newer words have
//! taken the place of; and the calls that are open.
//!
//! In every third of them short calls leave nothing. Then the recording holds each call that is open, and what is not in it are whole calls.

use std::io::{BufRead, BufReader};
use std::num::NonZeroUsize;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nix::sys::mman::{MapFlags, ProtFlags, mmap};
use trace_format::event::Event;
use trace_format::layout::{Sizes, State};
use trace_format::{Item, Recording, Thread};
use trace_runtime::{Clock, Config, Destination};

const THREADS: usize = 8;
const PAGE: usize = 4096;
const ROLE: &str = "ANRSCOPE_KILLS_DIRECTORY";
const WAIT: Duration = Duration::from_secs(60);

fn main() {
    if let Some(directory) = std::env::var_os(ROLE) {
        return child(Path::new(&directory));
    }
    let (mut count, mut seed) = (2_000, 1);
    let mut args = std::env::args().skip(1);
    while let Some(option) = args.next() {
        let value = args.next().and_then(|v| v.parse().ok());
        match (option.as_str(), value) {
            ("--count", Some(n)) => count = n,
            ("--seed", Some(n)) => seed = n,
            _ => {
                eprintln!("usage: kills [--count N] [--seed N]");
                std::process::exit(2);
            }
        }
    }
    let directory = std::env::temp_dir().join(format!("kills-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let totals = Totals::default();
    // Two at a time: most of each is waiting.
    std::thread::scope(|scope| {
        for half in 0..2 {
            let (directory, totals) = (&directory, &totals);
            scope.spawn(move || (half..count).step_by(2).for_each(|kill| one(directory, kill, seed, totals)));
        }
    });
    std::fs::remove_dir_all(directory).expect("the directory is ours");
    let total = |n: &AtomicU64| n.load(Ordering::Relaxed);
    assert!(total(&totals.overwritten) > 0 && total(&totals.open) > 0, "nothing was proved");
    println!(
        "kills: {count} kills, seed {seed}: every file opens; {} words there of {}, {} overwritten, {} calls open",
        total(&totals.there),
        total(&totals.written),
        total(&totals.overwritten),
        total(&totals.open),
    );
}

#[derive(Default)]
struct Totals {
    written: AtomicU64,
    there: AtomicU64,
    overwritten: AtomicU64,
    open: AtomicU64,
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

/// The calls of one thread.
struct Calls {
    random: Random,
    /// How many began. Ids follow from it, so that two calls near each other never have the same.
    begun: u32,
    open: Vec<u32>,
}

impl Calls {
    fn new(thread: usize) -> Self {
        Self { random: Random(thread as u64 * 0x1234_5678_9ABC_DEF1), begun: 0, open: Vec::with_capacity(64) }
    }

    fn next(&mut self) -> Event {
        let random = self.random.next();
        // Mostly between a few and some thirty deep.
        if self.open.len() < 2 || self.open.len() < 60 && !random.is_multiple_of(2) {
            self.begun += 1;
            let id = self.begun % 0xFE000 + 1;
            self.open.push(id);
            Event::Enter(id)
        } else {
            Event::Exit(self.open.pop().expect("something is open"))
        }
    }
}

/// The page: for each thread its kernel id and how many calls and returns it has recorded.
fn page(path: &Path) -> &'static [AtomicU64] {
    let file = std::fs::OpenOptions::new().read(true).write(true).open(path).expect("the page");
    let length = NonZeroUsize::new(PAGE).expect("not 0");
    // SAFETY: a new mapping; what is in there is only reached through atomics, and it is never unmapped.
    unsafe {
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        let start = mmap(None, length, protection, MapFlags::MAP_SHARED, file.as_fd(), 0).expect("mapped");
        std::slice::from_raw_parts(start.cast().as_ptr(), PAGE / 8)
    }
}

fn child(directory: &Path) {
    let page = page(&directory.join("page"));
    let number: u64 = std::env::var("ANRSCOPE_KILLS_NUMBER").unwrap().parse().unwrap();
    let (coarse, late) = (number % 2 == 1, number % 4 >= 2);
    let there = Destination::Directory(directory.to_owned());
    let mut config = Config::new(if late { Destination::Later } else { there.clone() }, "kills");
    config.sense_sigquit = false;
    config.recording.clock = if coarse { Clock::Coarse } else { Clock::Precise };
    // Small, so that most kills fall on words that take the place of others.
    config.recording.sizes = Sizes { main_blocks: 8, pool_blocks: 40, ..Sizes::DEFAULT };
    if leaves_short_calls_out(number) {
        // So many that none is overwritten: where the words of a thread begin in its log would not be known.
        config.recording.sizes = Sizes { main_blocks: 256, pool_blocks: 512, ..Sizes::DEFAULT };
        config.recording.shortest = Some(if coarse { Duration::ZERO } else { Duration::from_micros(20) });
    }
    trace_runtime::start(&config).expect("started");
    if !late {
        trace_runtime::wait_for_file(WAIT).expect("a file");
    }
    for thread in 1..THREADS {
        std::thread::spawn(move || write(thread, page));
    }
    std::thread::spawn(move || {
        if late {
            std::thread::sleep(Duration::from_micros(number % 7 * 500));
            trace_runtime::set_destination(there);
            trace_runtime::wait_for_file(WAIT).expect("a file");
        }
        println!("there");
    });
    write(0, page);
}

fn leaves_short_calls_out(number: u64) -> bool {
    number % 3 == 2
}

fn write(thread: usize, page: &[AtomicU64]) -> ! {
    let mut calls = Calls::new(thread);
    page[thread * 8].store(nix::unistd::gettid().as_raw() as u64, Ordering::SeqCst);
    let count = &page[thread * 8 + 1];
    let mut done = 0;
    loop {
        match calls.next() {
            Event::Enter(id) => trace_runtime::enter(id),
            Event::Exit(id) => trace_runtime::exit(id),
            _ => unreachable!("calls only"),
        }
        done += 1;
        count.store(done, Ordering::SeqCst);
    }
}

fn one(directory: &Path, number: u64, seed: u64, totals: &Totals) {
    let own = directory.join(number.to_string());
    std::fs::create_dir(&own).expect("a directory");
    std::fs::write(own.join("page"), [0; PAGE]).expect("the page");
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .env(ROLE, &own)
        .env("ANRSCOPE_KILLS_NUMBER", number.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("a line");
    assert_eq!(line, "there\n", "kill {number}");
    let after = Random(seed ^ number.wrapping_mul(0xD6E8_FEB8_6659_FD93)).next() % 20_000;
    std::thread::sleep(Duration::from_micros(after));
    child.kill().expect("ours");
    assert_eq!(child.wait().expect("ours").signal(), Some(9), "kill {number}");

    let file = recording(&own);
    let recording = Recording::open(std::fs::read(file).expect("readable")).expect("a recording");
    assert_eq!(recording.faults(), (&[][..], 0), "kill {number}");
    let header = recording.header();
    assert_eq!((header.state, header.dropped), (Some(State::Open), 0), "kill {number}");
    let page = page(&own.join("page"));
    for thread in 0..THREADS {
        let at = |field: usize| page[thread * 8 + field].load(Ordering::SeqCst);
        let what = format!("kill {number}, thread {thread}");
        let Some(found) = recording.threads().iter().find(|t| t.tid == at(0) as u32 && t.uid != 0) else {
            assert_eq!(at(1), 0, "{what}: it wrote, and is not there");
            continue;
        };
        assert_eq!(found.main, thread == 0, "{what}");
        let short = leaves_short_calls_out(number);
        check(&recording, found, thread, at(1), short, totals, &what);
    }
    std::fs::remove_dir_all(own).expect("the directory is ours");
}

fn recording(directory: &Path) -> PathBuf {
    let files =
        std::fs::read_dir(directory).expect("the directory").map(|entry| entry.expect("an entry").path());
    files.filter(|path| path.extension().is_some_and(|e| e == "anrscope")).last().expect("a recording")
}

/// Thread `number` counted so many calls and returns.
fn check(
    recording: &Recording<Vec<u8>>,
    thread: &Thread,
    number: usize,
    counted: u64,
    short: bool,
    totals: &Totals,
    what: &str,
) {
    let words = thread.written() - thread.overwritten();
    let events = events(recording, thread, what);
    let there: u64 = events.iter().map(|event| 1 + event.encode().payload().len() as u64).sum();
    assert_eq!(there, words, "{what}: words are missing");
    let calls = events.iter().filter(|event| event.encode().is_method()).count() as u64;
    // Killed before or after it counted its last one. A word that was overwritten may be one of the recorder's own.
    let mut all = [counted, counted + 1].into_iter();
    let open = if short {
        assert_eq!(thread.overwritten(), 0, "{what}: room for many times as much");
        all.find_map(|all| replay_left_out(number, all, &events))
    } else {
        let mut all = all.filter(|all| all.wrapping_sub(calls) <= thread.overwritten());
        all.find_map(|all| replay(number, all - calls, &events))
    };
    let open = open.unwrap_or_else(|| panic!("{what}: {calls} calls are not the last ones of {counted}"));
    for (total, of_this) in [
        (&totals.written, thread.written()),
        (&totals.there, words),
        (&totals.overwritten, thread.overwritten()),
        (&totals.open, open),
    ] {
        total.fetch_add(of_this, Ordering::Relaxed);
    }
}

/// Whether the events are what the thread did after its first `forgotten` calls and returns; gives how many of the calls that they show are open in the end.
fn replay(number: usize, forgotten: u64, events: &[Event]) -> Option<u64> {
    let mut calls = Calls::new(number);
    for _ in 0..forgotten {
        calls.next();
    }
    // Calls that the ring has forgotten are open in the log, and the recording knows them by what its blocks say.
    let mut before = calls.open.len();
    for event in events {
        match event {
            Event::OpenCalls(open) => {
                let named: Vec<u32> = open.ids().collect();
                let first = open.first as usize;
                if open.depth as usize != calls.open.len()
                    || calls.open.get(first..first + named.len()) != Some(&named)
                {
                    return None;
                }
            }
            Event::Time(_) => {}
            event => {
                if *event != calls.next() {
                    return None;
                }
                before = before.min(calls.open.len());
            }
        }
    }
    Some((calls.open.len() - before) as u64)
}

/// Whether the events are what the thread did in its first `all` calls and returns, but for whole calls that are missing; gives how many are open in the end.
fn replay_left_out(number: usize, all: u64, events: &[Event]) -> Option<u64> {
    let mut calls = Calls::new(number);
    let mut wanted = events.iter().filter(|event| event.encode().is_method()).peekable();
    // Of the calls that are open, those that are not in the recording.
    let mut missing: Vec<u32> = Vec::new();
    for _ in 0..all {
        let event = calls.next();
        if missing.is_empty() && wanted.next_if(|wanted| **wanted == event).is_some() {
            continue;
        }
        match event {
            Event::Enter(id) => missing.push(id),
            _ => drop(missing.pop()?),
        }
    }
    (missing.is_empty() && wanted.next().is_none()).then_some(calls.open.len() as u64)
}

fn events(recording: &Recording<Vec<u8>>, thread: &Thread, what: &str) -> Vec<Event> {
    let mut last = 0;
    let event = |item: Result<Item, _>| match item.expect("it is in memory") {
        Item::Event { time, event } => {
            assert!(time >= last, "{what}: time runs back");
            last = time;
            event
        }
        other => panic!("{what}: {other:?}"),
    };
    recording.events(thread).map(event).collect()
}
