//! The recorder in separate processes: killed, forked, without a file, stalled.
//!
//! There is one recorder per process, so every case runs in a child: this test binary, started again with a
//! role.

mod bus_fault;
mod crowd;
mod destination;
mod sigquit;

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use trace_format::event::{Event, Message, Wait, WaitKind};
use trace_format::layout::{Sizes, State};
use trace_format::{Item, Recording, Thread};
use trace_runtime::{Config, Destination, Limits};

use sigquit::{
    displaced, dump_texts, frozen, handler_removed, judged, open_signals, own_dump, seen_passively,
    source_that_panics, storm,
};

const ROLE: &str = "ANRSCOPE_TEST_ROLE";
const DIRECTORY: &str = "ANRSCOPE_TEST_DIRECTORY";
const WAIT: Duration = Duration::from_secs(60);

fn main() {
    if let Ok(role) = std::env::var(ROLE) {
        let directory = PathBuf::from(std::env::var_os(DIRECTORY).expect("a directory"));
        return child(&role, &directory);
    }
    type Case = (&'static str, fn(&Path));
    let cases: &[Case] = &[
        ("kill_at_random_instants_loses_no_word", kills),
        ("a_forked_child_writes_nothing", fork),
        ("without_a_file_it_records_in_memory", no_file),
        ("the_file_has_what_was_recorded_before_it_existed", destination::later),
        ("a_program_that_ends_at_once_is_recorded", destination::ends_at_once),
        ("with_main_only_no_other_thread_is_recorded", destination::main_only),
        ("without_a_directory_it_records_in_memory", destination::not_a_directory),
        ("with_a_read_only_directory_it_records_in_memory", destination::read_only),
        ("on_a_full_disk_it_records_in_memory", destination::full),
        ("a_removed_directory_does_not_stop_recording", destination::removed),
        ("a_stall_that_ends_in_a_kill_has_its_true_duration", hang),
        ("an_orderly_exit_is_recorded", exit_in_order),
        ("a_recording_is_readable_by_its_owner_only", destination::private),
        ("a_hundred_short_threads_share_a_small_pool", many_threads),
        ("a_late_thread_and_a_locks_owner_are_recorded_among_two_thousand", crowd::crowds),
        ("dropped_events_are_counted_however_the_process_ends", crowd::dropped_is_counted),
        ("java_code_after_a_threads_end_writes_into_no_block", crowd::java_after_the_end),
        ("truncating_a_recording_while_it_is_written_leaves_the_app_alive", bus_fault::cut_short),
        ("a_bus_fault_of_the_app_ends_as_without_the_library", bus_fault::of_the_app),
        ("an_anr_is_judged_at_once_and_again_after_the_systems_answer", judged),
        ("a_frozen_process_is_no_stall", frozen),
        ("a_source_that_panics_is_not_called_again", source_that_panics),
        ("a_self_requested_dump_is_answered_and_marked_as_such", own_dump),
        ("a_storm_of_requests_does_not_fill_the_disk", storm),
        ("a_signal_that_is_only_observed_is_judged_too", seen_passively),
        ("a_handler_installed_later_is_named_by_its_library", displaced),
        ("the_app_lives_and_dumps_after_other_code_removed_the_handler", handler_removed),
        ("each_dump_is_recorded_byte_for_byte", dump_texts),
        ("no_thread_of_the_library_blocks_a_real_time_signal", open_signals),
    ];
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let mut ran = 0;
    for (name, case) in cases {
        if wanted.iter().all(|w| name.contains(w.as_str())) {
            let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
            let _ = std::fs::remove_dir_all(&directory);
            std::fs::create_dir_all(&directory).expect("a directory for the case");
            case(&directory);
            println!("test {name} ... ok");
            ran += 1;
        }
    }
    println!(
        "\ntest result: ok. {ran} passed; 0 failed; 0 ignored; 0 measured; {} filtered out",
        cases.len() - ran
    );
}

fn spawn(role: &str, directory: &Path) -> Child {
    Command::new(std::env::current_exe().expect("this binary"))
        .env(ROLE, role)
        .env(DIRECTORY, directory)
        .stdout(Stdio::piped())
        .spawn()
        .expect("started")
}

/// Waits for the child's next line.
fn line(reader: &mut impl BufRead) -> String {
    let mut line = String::new();
    reader.read_line(&mut line).expect("a line");
    line.trim().to_owned()
}

fn only_recording(directory: &Path) -> Recording<Vec<u8>> {
    let mut files: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|x| x == "anrscope"))
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
    Recording::open(std::fs::read(files.remove(0)).unwrap()).unwrap()
}

fn events(recording: &Recording<Vec<u8>>, thread: &Thread) -> Vec<(u64, Event)> {
    recording
        .events(thread)
        .map(|item| match item.unwrap() {
            Item::Event { time, event } => (time, event),
            other => panic!("{other:?} in {thread:?}"),
        })
        .collect()
}

/// Starts recording, and waits until the file exists.
fn begin(config: &Config) {
    trace_runtime::start(config).unwrap();
    trace_runtime::wait_for_file(WAIT).expect("a file");
}

/// The child's roles.
fn child(role: &str, directory: &Path) {
    let mut config = Config::new(Destination::Directory(directory.to_owned()), "test");
    match role {
        "write" => {
            config.recording.sizes = Sizes { main_blocks: 16, pool_blocks: 24, ..Sizes::DEFAULT };
            config.sense_sigquit = false;
            begin(&config);
            write_and_count(&directory.join("count"));
        }
        "fork" => {
            trace_runtime::start(&config).unwrap();
            trace_runtime::enter(1);
            fork_and_write();
            trace_runtime::exit(1);
        }
        "no-file" => {
            config.recording.destination = Destination::Directory("/proc/nowhere".into());
            trace_runtime::start(&config).unwrap();
            assert_eq!(trace_runtime::wait_for_file(WAIT), None);
            trace_runtime::enter(1);
            trace_runtime::exit(1);
            assert!(matches!(trace_runtime::start(&config), Err(trace_runtime::StartError::Already)));
            println!("recorded");
        }
        "hang" => {
            config.limits = Limits { suspect_ms: 50, anr_ms: 200, tick_ms: 5, ..Limits::default() };
            begin(&config);
            let target = trace_runtime::text("com.example.Handler");
            trace_runtime::message_begin(&Message { target, ..Message::default() });
            trace_runtime::enter(7);
            trace_runtime::wait_begin(Wait {
                lock: 5,
                class: trace_runtime::text("java.lang.Object"),
                ..Wait::new(WaitKind::Monitor)
            });
            println!("stuck");
            loop {
                std::thread::park();
            }
        }
        "exit" => {
            trace_runtime::start(&config).unwrap();
            trace_runtime::enter(1);
        }
        "threads" => {
            config.recording.sizes = Sizes { pool_blocks: 8, threads: 12, ..Sizes::DEFAULT };
            trace_runtime::start(&config).unwrap();
            for i in 0..100 {
                std::thread::Builder::new()
                    .name(format!("short-{i}"))
                    .spawn(move || {
                        trace_runtime::enter(i + 1);
                        trace_runtime::exit(i + 1);
                    })
                    .unwrap()
                    .join()
                    .unwrap();
            }
        }
        "later" | "ends-at-once" | "main-only" | "fails" | "full" | "removed" => {
            destination::child(role, directory, config);
        }
        "hammers" | "destructors" => crowd::child(role, config),
        _ if role.starts_with("bus-") => bus_fault::child(role, directory, config),
        _ if role.starts_with("crowd-") => crowd::child(role, config),
        _ => sigquit::child(role, config),
    }
}

const WRITERS: usize = 4;

/// Main and three threads write as fast as they can. After each word, each thread counts it in a separate
/// file, independently of the recorder.
fn write_and_count(count: &Path) {
    fn run(file: &File, place: usize) -> ! {
        let place = place as u64 * 16;
        let tid = nix::unistd::gettid().as_raw() as u64;
        file.write_all_at(&tid.to_le_bytes(), place).unwrap();
        let mut words = 0_u64;
        loop {
            // The word contains its number, so that the reader can check each one.
            let id = (words % 0xFE000) as u32 + 1;
            // An exit: open calls would be repeated at the start of each block.
            trace_runtime::exit(id);
            words += 1;
            file.write_all_at(&words.to_le_bytes(), place + 8).unwrap();
        }
    }
    let file = OpenOptions::new().create_new(true).read(true).write(true).open(count).unwrap();
    for place in 1..WRITERS {
        let file = file.try_clone().unwrap();
        std::thread::spawn(move || run(&file, place));
    }
    println!("running");
    run(&file, 0);
}

fn kills(directory: &Path) {
    let mut seed = 0x2545_F491_4F6C_DD1D_u64;
    for round in 0..200 {
        let directory = directory.join(round.to_string());
        std::fs::create_dir(&directory).unwrap();
        let mut child = spawn("write", &directory);
        assert_eq!(line(&mut BufReader::new(child.stdout.take().unwrap())), "running");
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        std::thread::sleep(Duration::from_micros(seed % 30_000));
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        check_counts(&directory);
        std::fs::remove_dir_all(&directory).unwrap();
    }
}

fn check_counts(directory: &Path) {
    let recording = only_recording(directory);
    assert_eq!(recording.faults(), (&[][..], 0));
    assert_eq!(recording.header().state, Some(State::Open));
    let counts = std::fs::read(directory.join("count")).unwrap();
    let number = |at: usize| counts.get(at..at + 8).map_or(0, |b| u64::from_le_bytes(b.try_into().unwrap()));
    for place in 0..WRITERS {
        let (tid, counted) = (number(place * 16) as u32, number(place * 16 + 8));
        if counted == 0 {
            continue;
        }
        let thread = recording.threads().iter().find(|t| t.tid == tid).expect("the thread that counted");
        assert_eq!(thread.main, place == 0);
        // It was killed before or after it counted its last word.
        assert!(
            thread.written() == counted || thread.written() == counted + 1,
            "{thread:?} counted {counted}"
        );
        let events = events(&recording, thread);
        assert_eq!(events.len() as u64, thread.written() - thread.overwritten());
        for (i, (_, event)) in events.iter().enumerate() {
            let number = thread.overwritten() + i as u64;
            assert_eq!(*event, Event::Exit((number % 0xFE000) as u32 + 1), "word {number} of {tid}");
        }
    }
}

fn fork_and_write() {
    // SAFETY: the child only records, which must do nothing there, and ends by _exit.
    match unsafe { nix::unistd::fork() }.unwrap() {
        nix::unistd::ForkResult::Child => {
            for id in 1..5_000 {
                trace_runtime::enter(id);
            }
            // SAFETY: ends the child at once, without the parent's exit handlers.
            unsafe { nix::libc::_exit(0) }
        }
        nix::unistd::ForkResult::Parent { child } => {
            nix::sys::wait::waitpid(child, None).unwrap();
        }
    }
}

fn fork(directory: &Path) {
    assert!(spawn("fork", directory).wait().unwrap().success());
    let recording = only_recording(directory);
    let [main] = recording.threads() else { panic!("{:?}", recording.threads()) };
    let kinds: Vec<_> = events(&recording, main).into_iter().map(|(_, e)| e).collect();
    assert_eq!(kinds, [Event::Enter(1), Event::Exit(1)]);
}

fn no_file(directory: &Path) {
    let mut child = spawn("no-file", directory);
    assert_eq!(line(&mut BufReader::new(child.stdout.take().unwrap())), "recorded");
    assert!(child.wait().unwrap().success());
}

fn hang(directory: &Path) {
    let mut child = spawn("hang", directory);
    assert_eq!(line(&mut BufReader::new(child.stdout.take().unwrap())), "stuck");
    let stuck = native_signal::boottime_ns();
    // Nothing is recorded any more, but the file still shows that the process is alive.
    let mut lived = 0;
    sigquit::wait_until("a sign of life", || {
        lived = only_recording(directory).header().last_alive;
        lived > stuck + 600_000_000
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let recording = only_recording(directory);
    let alive = recording.header().last_alive;
    assert!((lived..=native_signal::boottime_ns()).contains(&alive), "{lived} {alive}");
    let main = &recording.threads()[0];
    let events = events(&recording, main);
    assert!(matches!(
        events[..],
        [(_, Event::MessageBegin(_)), (_, Event::Enter(7)), (_, Event::WaitBegin(_))]
    ));
    let stalls: Vec<_> = recording
        .events(recording.service().expect("a service ring"))
        .filter_map(|item| match item.unwrap() {
            Item::Event { time, event: Event::Stall(stall) } => Some((time, stall.stuck_since)),
            _ => None,
        })
        .collect();
    let [(found, since)] = stalls[..] else { panic!("{stalls:?}") };
    assert_eq!(since, events[0].0);
    assert!(found >= since + 200_000_000);
}

fn exit_in_order(directory: &Path) {
    assert!(spawn("exit", directory).wait().unwrap().success());
    assert_eq!(only_recording(directory).header().state, Some(State::Ended));
}

fn many_threads(directory: &Path) {
    assert!(spawn("threads", directory).wait().unwrap().success());
    let recording = only_recording(directory);
    assert_eq!(recording.header().dropped, 0);
    // Eight blocks hold the eight last ones, complete and named.
    let names: Vec<_> = recording.threads().iter().map(|t| t.name.clone().unwrap()).collect();
    assert_eq!(names, (92..100).map(|i| format!("short-{i}")).collect::<Vec<_>>());
    for thread in recording.threads() {
        assert_eq!(events(&recording, thread).len(), 2);
        assert!(thread.ended >= thread.started && thread.started > 0);
    }
}
