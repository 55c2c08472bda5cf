//! A thousand threads, starting and ending as fast as they can, beside main's own history.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use trace_format::event::{Event, TextId};
use trace_format::layout::Sizes;
use trace_format::{Item, Recording, Thread};
use trace_runtime::{Config, Destination, Slice};

/// Blocks that the threads share: enough for those alive at one time, so that none goes without, and far fewer
/// than there are threads in all. Alive are also those that have started their successor and not ended yet: on a busy
/// machine as many again and more.
const POOL: u32 = 4_000;

/// What was done and found.
#[derive(Debug, Default)]
pub struct Seen {
    /// Threads that started, wrote and ended.
    pub threads: u64,
    /// The most that were started and not ended at one time.
    pub most_alive: u64,
    /// Slices of main's record that were copied meanwhile and were whole.
    pub slices: u64,
    /// Threads of the recording whose name and events were compared.
    pub compared: u64,
}

fn name(number: u64) -> String {
    format!("churn-{number}")
}

/// What thread `number` writes.
fn events(number: u64) -> impl Iterator<Item = Event> {
    let id = 1 + (number % 0xF_0000) as u32;
    let whole = Event::Counter(TextId(id), number as f64);
    [Event::Enter(id), whole].into_iter().chain((0..number % 5).map(move |_| Event::Exit(id)))
}

fn write(number: u64) {
    for event in events(number) {
        match event {
            Event::Enter(id) => trace_runtime::enter(id),
            Event::Exit(id) => trace_runtime::exit(id),
            Event::Counter(name, value) => trace_runtime::counter(name, value),
            other => unreachable!("{other:?}"),
        }
    }
}

fn spawn<'scope>(
    scope: &'scope std::thread::Scope<'scope, '_>,
    number: u64,
    body: impl FnOnce() + Send + 'scope,
) {
    std::thread::Builder::new()
        .name(name(number))
        .stack_size(64 * 1024)
        .spawn_scoped(scope, body)
        .expect("a thread");
}

/// Runs for `length` with `alive` threads at a time, in a recording in `directory`, and panics on a wrong one. One a
/// process. The calling thread is main.
pub fn run(directory: &Path, length: Duration, alive: u64) -> Seen {
    let mut config = Config::new(Destination::Directory(directory.to_owned()), "churn");
    config.sense_sigquit = false;
    // A place for every living thread, and for every ended one that still has a block.
    config.recording.sizes =
        Sizes { main_blocks: 64, pool_blocks: POOL, threads: POOL + 4_000, ..Sizes::DEFAULT };
    trace_runtime::start(&config).expect("started");
    let file = trace_runtime::wait_for_file(Duration::from_secs(60)).expect("a file");
    let mut seen = Seen::default();
    let begin = trace_runtime::mark_here().expect("recording");
    let mut slice = Slice::default();
    let mut on_main = 0_u64;

    let before = tasks();
    let next = AtomicU64::new(0);
    let living = AtomicU64::new(0);
    let most = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (next, living, most, stop) = (&next, &living, &most, &stop);
        // A thread that ends starts its successor: as many are alive all the time.
        fn one<'scope>(
            scope: &'scope std::thread::Scope<'scope, '_>,
            next: &'scope AtomicU64,
            living: &'scope AtomicU64,
            most: &'scope AtomicU64,
            stop: &'scope AtomicBool,
        ) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            most.fetch_max(living.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            spawn(scope, number, move || {
                write(number);
                std::thread::yield_now();
                living.fetch_sub(1, Ordering::Relaxed);
                if !stop.load(Ordering::Relaxed) {
                    one(scope, next, living, most, stop);
                }
            });
        }
        (0..alive).for_each(|_| one(scope, next, living, most, stop));
        let end = Instant::now() + length;
        while Instant::now() < end {
            // Far fewer than main's ring holds.
            if on_main < 20_000 {
                trace_runtime::counter(TextId(1), on_main as f64);
                on_main += 1;
            }
            trace_runtime::copy_since(&begin, &mut slice).expect("main's history is untouched");
            check_main(slice.events().map(|(_, event)| event), on_main);
            seen.slices += 1;
            std::thread::sleep(Duration::from_millis(5));
        }
        stop.store(true, Ordering::Relaxed);
    });

    wait_for_ends(before);

    // As many more as there are blocks, each with a block of its own: if a single one had leaked, one of these
    // would have pushed out another.
    let first_last = next.load(Ordering::Relaxed);
    for number in first_last..first_last + u64::from(POOL) {
        let thread = std::thread::Builder::new().name(name(number));
        // Joined by its handle: a scope ends before the thread-locals of its threads do.
        thread.spawn(move || write(number)).expect("a thread").join().expect("it wrote");
        next.store(number + 1, Ordering::Relaxed);
    }
    seen.threads = next.load(Ordering::Relaxed);
    seen.most_alive = most.load(Ordering::Relaxed);
    trace_runtime::counter(TextId(1), on_main as f64);
    on_main += 1;

    let recording = Recording::open(std::fs::read(&file).expect("the file")).expect("a recording");
    assert_eq!(recording.faults(), (&[][..], 0));
    assert_eq!(recording.header().dropped, 0, "events found no block");
    let (main, others) = recording.threads().split_first().expect("main");
    assert!(main.main && main.overwritten() == 0);
    check_main(read(&recording, main).into_iter(), on_main);
    let mut left: BTreeMap<u64, &Thread> = BTreeMap::new();
    for thread in others {
        let name = thread.name.as_deref().unwrap_or_else(|| panic!("no name: {thread:?}"));
        let number = name.strip_prefix("churn-").and_then(|n| n.parse().ok());
        let number = number.unwrap_or_else(|| panic!("not one of our names: {name}"));
        assert!(left.insert(number, thread).is_none(), "{name} twice");
        assert!(read(&recording, thread).into_iter().eq(events(number)), "{name} wrote something else");
        assert!(thread.ended >= thread.started && thread.started > 0, "{thread:?}");
        seen.compared += 1;
    }
    let last: Vec<u64> = (first_last..first_last + u64::from(POOL)).collect();
    assert!(left.keys().eq(&last), "of the last {POOL} threads {} are left", left.len());
    seen
}

/// Threads of this process.
fn tasks() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}

/// Waits until no more threads are left than there were: the last ones are still on their way out.
fn wait_for_ends(before: usize) {
    let end = Instant::now() + Duration::from_secs(60);
    while tasks() > before {
        assert!(Instant::now() < end, "threads do not end");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn check_main(events: impl Iterator<Item = Event>, count: u64) {
    let wanted = (0..count).map(|n| Event::Counter(TextId(1), n as f64));
    assert!(events.eq(wanted), "main's history is not what main wrote");
}

fn read(recording: &Recording<Vec<u8>>, thread: &Thread) -> Vec<Event> {
    let event = |item| match item {
        Ok(Item::Event { event, .. }) => event,
        other => panic!("{other:?} in {thread:?}"),
    };
    recording.events(thread).map(event).collect()
}

/// A new empty directory for recordings.
pub fn directory(under: &Path) -> std::path::PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let directory = under.join(format!("churn-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    directory
}
