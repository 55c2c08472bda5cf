//! The hook of `write` on real objects: this program, and small C libraries in every way that a slot can come.

#![cfg(target_os = "linux")]

use native_signal::{Ended, HookError, Limits, Target, TraceText, UnhookError, Writer, capture_trace_text};
use std::ffi::{CString, c_int, c_void};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, mpsc};
use std::time::Duration;

type Write = unsafe extern "C" fn(c_int, *const c_void, usize) -> isize;

/// One hook a process, and the tests of a binary share one.
fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn limits() -> Limits {
    Limits { capacity: 1 << 16, quiet: Duration::from_millis(100), deadline: Duration::from_secs(10) }
}

fn tid() -> i32 {
    // SAFETY: the call has no arguments and cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as i32 }
}

fn pipe() -> (OwnedFd, OwnedFd) {
    let mut fds = [0; 2];
    // SAFETY: `fds` has room for the two.
    assert_eq!(unsafe { libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC) }, 0);
    // SAFETY: both were just opened, and nothing else owns them.
    unsafe { (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])) }
}

/// Captures what `body` writes on this thread.
fn captured(target: &Target, limits: Limits, body: impl FnOnce()) -> TraceText {
    let (sender, receiver) = mpsc::channel();
    let capture = capture_trace_text(target, Writer::Thread(tid()), limits, move |text| {
        let _ = sender.send(text);
    })
    .unwrap();
    body();
    capture.wait().unwrap();
    receiver.recv().unwrap()
}

fn write_by(write: Write, fd: c_int, bytes: &[u8]) -> isize {
    // SAFETY: the bytes live for the call.
    unsafe { write(fd, bytes.as_ptr().cast(), bytes.len()) }
}

fn maps() -> String {
    std::fs::read_to_string("/proc/self/maps").unwrap()
}

/// Range and protection of every mapping of a file.
fn mappings(path: &Path) -> Vec<String> {
    let end = path.to_str().unwrap();
    let columns = |line: &str| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    maps().lines().filter(|line| line.ends_with(end)).map(columns).collect()
}

/// A library whose `by_library` calls `write`.
struct Library {
    path: PathBuf,
    write: Write,
}

impl Library {
    fn build(name: &str, flags: &[&str]) -> Self {
        let source = "#include <unistd.h>\n\
                      ssize_t by_library(int fd, const void *from, size_t len) { return write(fd, from, len); }\n";
        Self::from_source(name, source, flags)
    }

    fn from_source(name: &str, source: &str, flags: &[&str]) -> Self {
        let directory =
            PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("trace_text.{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let code = directory.join(format!("{name}.c"));
        let path = directory.join(format!("{name}.so"));
        std::fs::write(&code, source).unwrap();
        let done = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .args([&path, &code])
            .args(flags)
            .status()
            .expect("a C compiler, as Rust itself needs for linking");
        assert!(done.success());
        let c_path = CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: a path as a C string; the library has no initialisers of its own.
        let handle = unsafe { libc::dlopen(c_path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL) };
        assert!(!handle.is_null());
        // SAFETY: an open handle and a C string.
        let found = unsafe { libc::dlsym(handle, c"by_library".as_ptr()) };
        assert!(!found.is_null());
        // SAFETY: the library above defines it with this signature.
        Library { write: unsafe { std::mem::transmute::<*mut c_void, Write>(found) }, path }
    }

    fn target(&self) -> Target {
        Target::file(self.path.file_name().unwrap().to_str().unwrap())
    }

    /// Every word of what is mapped of it with these letters of protection.
    fn words(&self, letters: &str) -> Vec<(usize, usize)> {
        let mut words = Vec::new();
        for mapping in mappings(&self.path) {
            let (range, protection) = mapping.split_once(' ').unwrap();
            if protection != letters {
                continue;
            }
            let (from, to) = range.split_once('-').unwrap();
            let parse = |text| usize::from_str_radix(text, 16).unwrap();
            for address in (parse(from)..parse(to)).step_by(size_of::<usize>()) {
                // SAFETY: mapped readable; the library stays loaded.
                words.push((address, unsafe { (address as *const usize).read_volatile() }));
            }
        }
        words
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // The library stays loaded; the directory may still be in use by another test.
        let _ = std::fs::remove_file(&self.path);
    }
}

#[test]
fn exact_bytes_of_several_writes_of_one_thread() {
    let _alone = alone();
    let program = std::env::current_exe().unwrap();
    let before = mappings(&program);
    let (reader, writer) = pipe();
    let file = tempfile();
    // SAFETY: plain arguments.
    let event = unsafe { OwnedFd::from_raw_fd(libc::eventfd(0, libc::EFD_CLOEXEC)) };
    let text = captured(&Target::Program, limits(), || {
        for part in [&b"one\0two\n"[..], b"", b"x", &[0xff; 700], b"----- end -----\n"] {
            assert_eq!(write_by(libc::write, writer.as_raw_fd(), part), part.len() as isize);
        }
        assert_eq!(write_by(libc::write, file.as_raw_fd(), b"file"), 4);
        // Not captured: writes to other kinds of files, failed writes, other threads' writes. errno is the original's.
        assert_eq!(write_by(libc::write, event.as_raw_fd(), &1_u64.to_ne_bytes()), 8);
        assert_eq!(write_by(libc::write, -1, b"failed"), -1);
        assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::EBADF));
        let other = writer.as_raw_fd();
        std::thread::spawn(move || assert_eq!(write_by(libc::write, other, b"other"), 5)).join().unwrap();
    });
    let expected = [&b"one\0two\nx"[..], &[0xff; 700], b"----- end -----\nfile"].concat();
    assert_eq!(
        text,
        TraceText { bytes: expected, writes: 5, lost: 0, ended: Ended::Quiet, unhooked: Ok(()) }
    );

    // All of it went to where it was written to as well.
    drop(writer);
    let mut written = Vec::new();
    File::from(reader).read_to_end(&mut written).unwrap();
    assert_eq!(written.len(), 8 + 1 + 700 + 16 + 5);
    assert_eq!(mappings(&program), before, "RELRO is as it was");
}

#[test]
fn a_write_that_takes_a_part_counts_as_that_part() {
    let _alone = alone();
    let (_reader, writer) = pipe();
    // SAFETY: an open descriptor and plain arguments.
    unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
    let much = vec![7_u8; 1 << 20];
    let mut took = 0;
    let text = captured(&Target::Program, Limits { capacity: 1 << 21, ..limits() }, || {
        took = write_by(libc::write, writer.as_raw_fd(), &much);
    });
    assert!((1..1 << 20).contains(&took), "{took}");
    assert_eq!((text.bytes.len() as isize, text.writes, text.lost), (took, 1, 0));
}

#[test]
fn a_full_buffer_keeps_the_beginning_and_counts_the_rest() {
    let _alone = alone();
    let (_reader, writer) = pipe();
    let text = captured(&Target::Program, Limits { capacity: 10, ..limits() }, || {
        for part in [&b"123456"[..], b"789abc", b"def"] {
            write_by(libc::write, writer.as_raw_fd(), part);
        }
    });
    assert_eq!((text.bytes.as_slice(), text.writes, text.lost), (&b"123456789a"[..], 3, 5));
}

#[test]
fn a_slow_write_is_waited_for() {
    let _alone = alone();
    let (reader, writer) = pipe();
    let drain = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(400));
        File::from(reader).read_to_end(&mut Vec::new()).unwrap()
    });
    let text = captured(&Target::Program, Limits { capacity: 1 << 20, ..limits() }, || {
        write_by(libc::write, writer.as_raw_fd(), b"first");
        // More than a pipe holds: stands still for four times what counts as quiet.
        write_by(libc::write, writer.as_raw_fd(), &[1; 200_000]);
        write_by(libc::write, writer.as_raw_fd(), b"last");
        drop(writer);
    });
    assert_eq!(drain.join().unwrap(), 200_009);
    assert_eq!((text.bytes.len(), text.writes, text.ended), (200_009, 3, Ended::Quiet));
}

#[test]
fn nothing_written_ends_at_the_deadline_or_when_cancelled() {
    let _alone = alone();
    let text = captured(&Target::Program, Limits { deadline: Duration::from_millis(50), ..limits() }, || ());
    assert_eq!((text.ended, text.bytes.len(), text.unhooked), (Ended::Deadline, 0, Ok(())));

    let (sender, receiver) = mpsc::channel();
    let capture = capture_trace_text(&Target::Program, Writer::Thread(tid()), limits(), move |text| {
        sender.send(text).unwrap();
    })
    .unwrap();
    let second = capture_trace_text(&Target::Program, Writer::Thread(tid()), limits(), |_| ());
    assert!(matches!(second, Err(HookError::Busy)), "{second:?}");
    capture.cancel();
    capture.wait().unwrap();
    assert_eq!(receiver.recv().unwrap().ended, Ended::Cancelled);
}

#[test]
fn every_kind_of_slot_is_found_and_restored() {
    let _alone = alone();
    for (name, flags, letters) in [
        ("librelro_now", &["-Wl,-z,relro,-z,now"][..], "r--p"),
        ("liblazy", &["-Wl,-z,relro,-z,lazy"], "rw-p"),
        ("libno_relro", &["-Wl,-z,norelro,-z,lazy"], "rw-p"),
        ("libno_plt", &["-fno-plt", "-Wl,-z,relro,-z,now"], "r--p"),
    ] {
        let library = Library::build(name, flags);
        let (before, words) = (mappings(&library.path), library.words(letters));
        let (reader, writer) = pipe();
        for round in 0..3 {
            let text = captured(&library.target(), limits(), || {
                // Only this library's slot is hooked.
                write_by(libc::write, writer.as_raw_fd(), b"ours ");
                write_by(library.write, writer.as_raw_fd(), b"the library's ");
                write_by(library.write, writer.as_raw_fd(), b"twice");
            });
            assert_eq!(text.bytes, b"the library's twice", "{name} {round}");
            assert_eq!((text.writes, text.unhooked), (2, Ok(())), "{name} {round}");
            assert_eq!(mappings(&library.path), before, "{name}: protection {round}");
            assert_eq!(library.words(letters), words, "{name}: every word {round}");
        }
        // Unhooked, and bound by the loader at last where that is lazy.
        assert_eq!(write_by(library.write, writer.as_raw_fd(), b"after"), 5, "{name}");
        drop(writer);
        let mut written = Vec::new();
        File::from(reader).read_to_end(&mut written).unwrap();
        assert_eq!(written, [&b"ours the library's twice".repeat(3)[..], b"after"].concat(), "{name}");
    }
}

#[test]
fn what_cannot_be_hooked_is_refused() {
    let _alone = alone();
    let try_with = |target: &Target, writer| capture_trace_text(target, writer, limits(), |_| ()).map(|_| ());
    let here = Writer::Thread(tid());
    let answer = try_with(&Target::file("libnobody.so"), here);
    assert!(matches!(answer, Err(HookError::NotLoaded(_))), "{answer:?}");
    let answer = try_with(&Target::Program, Writer::Thread(i32::MAX));
    assert!(matches!(answer, Err(HookError::NoThread)), "{answer:?}");
    let answer = try_with(&Target::Program, Writer::SignalCatcher);
    assert!(matches!(answer, Err(HookError::NoThread)), "{answer:?}");
    let quiet =
        Library::from_source("libquiet", "long by_library(int a, void *b, long c) { return c; }\n", &[]);
    let answer = try_with(&quiet.target(), here);
    assert!(matches!(answer, Err(HookError::NoSlot(_))), "{answer:?}");
    // And refusals leave the way free.
    assert_eq!(captured(&Target::Program, Limits { deadline: Duration::ZERO, ..limits() }, || ()).writes, 0);
}

#[test]
fn the_signal_catcher_is_found_by_its_name() {
    let _alone = alone();
    let (_reader, writer) = pipe();
    let (go, wait) = mpsc::channel::<()>();
    let (ready, is_ready) = mpsc::channel();
    let catcher = std::thread::Builder::new().name("Signal Catcher".to_owned()).spawn(move || {
        ready.send(()).unwrap();
        wait.recv().unwrap();
        for line in ["\n----- pid 1 at 2026 -----\n", "\"main\" prio=5 tid=1 Native\n", "----- end 1 -----\n"]
        {
            write_by(libc::write, writer.as_raw_fd(), line.as_bytes());
        }
    });
    is_ready.recv().unwrap();
    let (sender, receiver) = mpsc::channel();
    let capture = capture_trace_text(&Target::Program, Writer::SignalCatcher, limits(), move |text| {
        let here = std::thread::current().name().map(str::to_owned);
        sender.send((text, here)).unwrap();
    });
    let capture = capture.unwrap();
    go.send(()).unwrap();
    capture.wait().unwrap();
    catcher.unwrap().join().unwrap();
    let (text, thread) = receiver.recv().unwrap();
    assert_eq!(
        String::from_utf8(text.bytes).unwrap(),
        "\n----- pid 1 at 2026 -----\n\"main\" prio=5 tid=1 Native\n----- end 1 -----\n"
    );
    assert_eq!((text.writes, thread.as_deref()), (3, Some("anrscope-text")));
}

#[test]
fn hooked_and_unhooked_while_other_threads_write() {
    let _alone = alone();
    let library = Library::build("libbusy", &["-Wl,-z,relro,-z,now"]);
    let (write, before) = (library.write, mappings(&library.path));
    let stop = AtomicBool::new(false);
    let file = tempfile();
    std::thread::scope(|scope| {
        let others: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let mut sum = 0;
                    while !stop.load(Ordering::Relaxed) {
                        sum += write_by(write, file.as_raw_fd(), b"noise");
                        // SAFETY: an open descriptor and plain arguments.
                        unsafe { libc::ftruncate(file.as_raw_fd(), 0) };
                    }
                    sum
                })
            })
            .collect();
        let brief = Limits { quiet: Duration::ZERO, ..limits() };
        for _ in 0..100 {
            let text = captured(&library.target(), brief, || {
                assert_eq!(write_by(write, file.as_raw_fd(), b"signal"), 6);
            });
            assert_eq!((text.bytes.as_slice(), text.writes, text.unhooked), (&b"signal"[..], 1, Ok(())));
        }
        stop.store(true, Ordering::Relaxed);
        for other in others {
            assert!(other.join().unwrap() > 0);
        }
    });
    assert_eq!(mappings(&library.path), before);
}

/// Other code hooks `write` after us: our hook stays and passes calls on, and no further capture starts. Runs in its own
/// process, because the process keeps the mark.
#[test]
fn a_later_hook_of_other_code_is_left_alone() {
    const CHILD: &str = "ANRSCOPE_TEST_DISPLACED";
    if std::env::var_os(CHILD).is_none() {
        let test = ["hook::a_later_hook_of_other_code_is_left_alone", "--exact", "--nocapture"];
        let child =
            Command::new(std::env::current_exe().unwrap()).args(test).env(CHILD, "1").output().unwrap();
        assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
        return;
    }
    static OURS: AtomicUsize = AtomicUsize::new(0);
    unsafe extern "C" fn theirs(fd: c_int, from: *const c_void, len: usize) -> isize {
        let ours = OURS.load(Ordering::SeqCst);
        // SAFETY: what the slot held when it was taken from there, a `write`; the caller's arguments.
        unsafe { std::mem::transmute::<usize, Write>(ours)(fd, from, len) }
    }

    let library = Library::build("libdisplaced", &["-Wl,-z,norelro"]);
    let (reader, writer) = pipe();
    let words = library.words("rw-p");
    let text = captured(&library.target(), limits(), || {
        let changed: Vec<_> =
            library.words("rw-p").into_iter().filter(|word| !words.contains(word)).collect();
        let [(slot, ours)] = changed[..] else { panic!("{changed:?}") };
        OURS.store(ours, Ordering::SeqCst);
        // SAFETY: the library's slot, in writable memory.
        unsafe { (slot as *mut usize).write_volatile(theirs as *const () as usize) };
        write_by(library.write, writer.as_raw_fd(), b"chained");
    });
    assert_eq!(text.bytes, b"chained");
    assert_eq!(text.unhooked, Err(UnhookError::Displaced));
    assert_eq!(write_by(library.write, writer.as_raw_fd(), b" on"), 3);
    drop(writer);
    let mut written = Vec::new();
    File::from(reader).read_to_end(&mut written).unwrap();
    assert_eq!(written, b"chained on");
    let again = capture_trace_text(&Target::Program, Writer::Thread(tid()), limits(), |_| ());
    assert!(matches!(again, Err(HookError::LeftBehind)), "{again:?}");
}

fn tempfile() -> OwnedFd {
    // SAFETY: a C string and plain arguments.
    let fd = unsafe { libc::memfd_create(c"trace_text".as_ptr(), libc::MFD_CLOEXEC) };
    assert!(fd >= 0);
    // SAFETY: just opened, and nothing else owns it.
    unsafe { OwnedFd::from_raw_fd(fd) }
}
