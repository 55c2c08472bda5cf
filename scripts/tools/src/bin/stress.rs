//! Everything that reaches into the recording at once: eight writers, threads that come and go in a pool that
//! is too small for them, texts, names, and slices of main's record copied from two threads. Made to be run
//! under ThreadSanitizer; it also checks the slices.
//!
//!   stress [--seconds S]
//!   stress --control        two threads write one plain word: ThreadSanitizer must report it

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use trace_format::event::{Event, Message, TextId, Wait, WaitKind};
use trace_format::layout::Sizes;
use trace_format::{Item, Recording};
use trace_runtime::{Config, Destination, Slice};

fn main() {
    let mut args = std::env::args().skip(1);
    let seconds = match (args.next().as_deref(), args.next().map(|v| v.parse())) {
        (None, _) => 10,
        (Some("--seconds"), Some(Ok(n))) => n,
        (Some("--control"), None) => return race(),
        _ => {
            eprintln!("usage: stress [--seconds S] | --control");
            std::process::exit(2);
        }
    };
    let directory = std::env::temp_dir().join(format!("stress-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let mut config = Config::new(Destination::Directory(directory.clone()), "stress");
    config.sense_sigquit = false;
    config.recording.heartbeat = Some(Duration::from_millis(10));
    // Small enough to wrap all the time.
    config.recording.sizes = Sizes { main_blocks: 6, pool_blocks: 24, threads: 64, ..Sizes::DEFAULT };
    trace_runtime::start(&config).expect("started");
    let file = trace_runtime::wait_for_file(Duration::from_secs(60)).expect("a file");

    let stop = &AtomicBool::new(false);
    let (right, refused, ended) = (&AtomicU64::new(0), &AtomicU64::new(0), &AtomicU64::new(0));
    std::thread::scope(|scope| {
        for number in 0..8 {
            scope.spawn(move || writer(number, stop));
        }
        for _ in 0..2 {
            scope.spawn(move || copier(stop, right, refused));
        }
        scope.spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let number = ended.fetch_add(1, Ordering::Relaxed);
                std::thread::spawn(move || short(number)).join().expect("a short thread");
            }
        });
        let end = Instant::now() + Duration::from_secs(seconds);
        let mut n = 0_u64;
        while !n.is_multiple_of(1024) || Instant::now() < end {
            message(n);
            n += 1;
        }
        stop.store(true, Ordering::Relaxed);
    });
    let recording = Recording::open(std::fs::read(file).expect("the file")).expect("a recording");
    let lost = |t| recording.events(t).filter(|item| !matches!(item, Ok(Item::Event { .. }))).count();
    let damaged: usize = recording.threads().iter().map(lost).sum();
    assert_eq!((recording.faults().0, damaged), (&[][..], 0), "the recording is damaged");
    let _ = std::fs::remove_dir_all(directory);
    let (right, refused) = (right.load(Ordering::Relaxed), refused.load(Ordering::Relaxed));
    assert!(right > 0, "not one slice was copied");
    println!(
        "stress: {seconds} s, {} words on main, {} short threads, {right} slices right, {refused} refused",
        recording.threads()[0].written(),
        ended.load(Ordering::Relaxed),
    );
}

/// What ThreadSanitizer is there for.
fn race() {
    struct Plain(UnsafeCell<u64>);
    // SAFETY: none: this is the fault that must be found. On the machines that there are, two stores of
    // one word give one of both.
    unsafe impl Sync for Plain {}
    static WORD: Plain = Plain(UnsafeCell::new(0));
    std::thread::scope(|scope| {
        for value in 1..=2 {
            // SAFETY: as above.
            scope.spawn(move || (0..100_000).for_each(|_| unsafe { WORD.0.get().write_volatile(value) }));
        }
    });
    println!("stress: raced on purpose; the exit code says whether it was found");
}

/// One message of main; its number comes twice in a counter.
fn message(n: u64) {
    trace_runtime::message_begin(&Message { target: TextId(1), what: n as i32, ..Message::default() });
    trace_runtime::enter(1 + n as u32 % 1_000);
    trace_runtime::counter(TextId(n as u32), n as f64);
    trace_runtime::exit(1 + n as u32 % 1_000);
    trace_runtime::message_end();
}

fn writer(number: u32, stop: &AtomicBool) {
    trace_runtime::name_thread(&format!("writer {number}"));
    let text = trace_runtime::text(&format!("lock of {number}"));
    let mut n = 0_u64;
    while !stop.load(Ordering::Relaxed) {
        let id = 1 + n as u32 % 500;
        trace_runtime::enter(id);
        trace_runtime::wait_begin(Wait { lock: n % 16 + 1, class: text, ..Wait::new(WaitKind::Monitor) });
        trace_runtime::wait_end(WaitKind::Monitor, n % 16 + 1);
        trace_runtime::released(n % 16 + 1);
        trace_runtime::exit(id);
        if n.is_multiple_of(4_096) {
            let _ = trace_runtime::text(&format!("text {number} {n}"));
        }
        n += 1;
    }
}

fn short(number: u64) {
    trace_runtime::name_thread(&format!("short {number}"));
    for n in 0..number % 3_000 {
        trace_runtime::enter(1 + n as u32);
    }
}

fn copier(stop: &AtomicBool, right: &AtomicU64, refused: &AtomicU64) {
    let mut slice = Slice::default();
    let mut turn = 0_u32;
    while !stop.load(Ordering::Relaxed) {
        let Some(mark) = trace_runtime::mark_here() else { continue };
        turn = turn.wrapping_add(1);
        for _ in 0..turn % 4_096 * 16 {
            std::hint::spin_loop();
        }
        if trace_runtime::copy_since(&mark, &mut slice).is_err() {
            refused.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        let mut last = None;
        for (_, event) in slice.events() {
            let Event::Counter(text, value) = event else { continue };
            assert_eq!(text.0, value as u64 as u32, "a torn event");
            assert!(last.is_none_or(|last| value == last + 1.0), "{value} after {last:?}");
            last = Some(value);
        }
        right.fetch_add(1, Ordering::Relaxed);
    }
}
