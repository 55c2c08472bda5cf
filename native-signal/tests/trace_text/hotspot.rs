//! A real runtime: HotSpot in this process, its `write` hooked, a SIGQUIT, and the dump compared byte by byte with what
//! came out of its standard output.
//!
//! HotSpot's thread dump is written by its "VM Thread" through `write` in `libjvm.so`, with hundreds of small writes.
//! Without a JDK there is nothing to test.

#![cfg(target_os = "linux")]

use native_signal::{Ended, Limits, Target, TraceText, Writer, capture_trace_text};
use std::ffi::{CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration, Instant};

const LIBJVM: &str = "ANRSCOPE_TEST_LIBJVM";
const TEXT: &str = "ANRSCOPE_TEST_TEXT";

/// The JDKs of this machine: where Debian puts them, and the one named by the environment.
fn libjvms() -> Vec<PathBuf> {
    let mut jdks: Vec<PathBuf> = std::fs::read_dir("/usr/lib/jvm")
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    jdks.extend(std::env::var_os("JAVA_HOME").map(PathBuf::from));
    let mut found: Vec<PathBuf> =
        jdks.iter().filter_map(|jdk| jdk.join("lib/server/libjvm.so").canonicalize().ok()).collect();
    found.sort();
    found.dedup();
    found
}

/// As `jni.h` has them.
#[repr(C)]
struct JavaVmOption {
    text: *mut c_char,
    extra: *mut c_void,
}

#[repr(C)]
struct JavaVmInitArgs {
    version: i32,
    count: i32,
    options: *mut JavaVmOption,
    ignore_unrecognized: u8,
}

type CreateJavaVm = unsafe extern "C" fn(*mut *mut c_void, *mut *mut c_void, *mut c_void) -> c_int;

fn create_jvm(libjvm: &Path) {
    let path = CString::new(libjvm.to_str().unwrap()).unwrap();
    // SAFETY: a C string; the library is meant to be loaded so.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
    assert!(!handle.is_null());
    // SAFETY: an open handle and a C string.
    let create = unsafe { libc::dlsym(handle, c"JNI_CreateJavaVM".as_ptr()) };
    assert!(!create.is_null());
    // SAFETY: jni.h gives it this signature.
    let create = unsafe { std::mem::transmute::<*mut c_void, CreateJavaVm>(create) };
    let mut options = [c"-Xmx64m", c"-XX:+UseSerialGC"]
        .map(|text| JavaVmOption { text: text.as_ptr().cast_mut(), extra: std::ptr::null_mut() });
    let mut arguments = JavaVmInitArgs {
        version: 0x0001_0008,
        count: options.len() as i32,
        options: options.as_mut_ptr(),
        ignore_unrecognized: 0,
    };
    let (mut vm, mut env) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: two places for results, and arguments that live for the call.
    let result = unsafe { create(&mut vm, &mut env, std::ptr::from_mut(&mut arguments).cast()) };
    assert_eq!(result, 0, "JNI_CreateJavaVM");
}

fn thread_named(name: &str) -> Option<i32> {
    std::fs::read_dir("/proc/self/task").unwrap().flatten().find_map(|entry| {
        let is = std::fs::read_to_string(entry.path().join("comm")).ok()?;
        if is.trim_end() == name { entry.file_name().to_str()?.parse().ok() } else { None }
    })
}

fn protections_of_libjvm() -> Vec<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let lines = maps.lines().filter(|line| line.ends_with("libjvm.so"));
    lines.map(|line| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ")).collect()
}

/// The child: one dump is captured, a second one after the hook was removed is not.
fn capture_one_dump(libjvm: &Path, to: &Path) {
    create_jvm(libjvm);
    let vm_thread = thread_named("VM Thread").expect("HotSpot's VM Thread");
    let before = protections_of_libjvm();
    let (sender, receiver) = mpsc::channel::<TraceText>();
    let begin = Instant::now();
    let capture = capture_trace_text(
        &Target::file("libjvm.so"),
        Writer::Thread(vm_thread),
        Limits { deadline: Duration::from_secs(60), ..Limits::default() },
        move |text| {
            let _ = sender.send(text);
        },
    )
    .unwrap();
    // SAFETY: a signal to ourselves, which HotSpot handles.
    assert_eq!(unsafe { libc::kill(libc::getpid(), libc::SIGQUIT) }, 0);
    capture.wait().unwrap();
    let text = receiver.recv().unwrap();
    assert_eq!((text.ended, text.lost, text.unhooked), (Ended::Quiet, 0, Ok(())));
    assert_eq!(protections_of_libjvm(), before, "RELRO is as it was");
    eprintln!(
        "{} bytes in {} writes, {} ms with 500 ms of quiet",
        text.bytes.len(),
        text.writes,
        begin.elapsed().as_millis()
    );
    std::fs::write(to, &text.bytes).unwrap();
    // SAFETY: as above.
    assert_eq!(unsafe { libc::kill(libc::getpid(), libc::SIGQUIT) }, 0);
    std::thread::sleep(Duration::from_secs(1));
    // SAFETY: ends the process at once; a JVM is not to be torn down by a test harness.
    unsafe { libc::_exit(0) };
}

#[test]
fn hotspots_dump_is_captured_to_the_byte() {
    if let (Some(libjvm), Some(to)) = (std::env::var_os(LIBJVM), std::env::var_os(TEXT)) {
        capture_one_dump(Path::new(&libjvm), Path::new(&to));
        return;
    }
    let libjvms = libjvms();
    if libjvms.is_empty() {
        eprintln!("no JDK under /usr/lib/jvm or JAVA_HOME: nothing to test");
    }
    for (number, libjvm) in libjvms.iter().enumerate() {
        let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("dump.{}.{number}", std::process::id()));
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["hotspot::hotspots_dump_is_captured_to_the_byte", "--exact", "--nocapture"])
            .env(LIBJVM, libjvm)
            .env(TEXT, &to)
            .output()
            .unwrap();
        let words = String::from_utf8_lossy(&child.stderr);
        assert!(child.status.success(), "{}: {words}", libjvm.display());
        eprintln!("{}: {}", libjvm.display(), words.trim());
        let text = std::fs::read(&to).unwrap();
        std::fs::remove_file(&to).unwrap();

        let dump = String::from_utf8(text.clone()).unwrap();
        assert!(dump.contains("Full thread dump"), "{dump}");
        assert!(dump.contains("\"Signal Dispatcher\"") && dump.contains("\"main\""), "{dump}");
        // Standard output has two dumps; the first is what was captured, in one piece.
        assert!(
            child.stdout.windows(text.len()).any(|window| window == text),
            "not as it was written: {dump}"
        );
        let stdout = String::from_utf8_lossy(&child.stdout);
        assert_eq!(stdout.matches("Full thread dump").count(), 2);
        assert_eq!(dump.matches("Full thread dump").count(), 1);
    }
}
