//! SIGBUS: at the recording's own pages, and elsewhere.

use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use nix::sys::mman::{MapFlags, ProtFlags, mmap};
use nix::sys::signal::{self, SaFlags, SigAction, SigHandler, SigSet, Signal};
use trace_runtime::Config;

use super::{WAIT, spawn};

/// The exit status of the app's own handler.
const HANDLED: i32 = 42;

pub(super) fn child(role: &str, directory: &Path, mut config: Config) {
    config.sense_sigquit = false;
    // Rust's own handler is for stack overflows. SAFETY: the default action runs no code.
    unsafe { signal::signal(Signal::SIGBUS, SigHandler::SigDfl) }.unwrap();
    if role == "bus-handled" {
        let action = SigAction::new(SigHandler::SigAction(handled), SaFlags::SA_SIGINFO, SigSet::empty());
        // SAFETY: the handler only reads its arguments and ends the process.
        unsafe { signal::sigaction(Signal::SIGBUS, &action) }.unwrap();
    }
    trace_runtime::start(&config).unwrap();
    let file = trace_runtime::wait_for_file(WAIT).expect("a file");
    match role {
        "bus-cut" => {
            write(5_000);
            File::options().write(true).open(file).unwrap().set_len(0).unwrap();
            write(400_000);
            let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(|| write(20_000))).collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            // The ticker records it every tenth of a second.
            std::thread::sleep(std::time::Duration::from_millis(500));
            write(10);
        }
        "bus-sent" => signal::raise(Signal::SIGBUS).unwrap(),
        _ => {
            let empty = File::options()
                .read(true)
                .write(true)
                .create_new(true)
                .open(directory.join("theirs"))
                .unwrap();
            let (length, access) = (std::num::NonZeroUsize::new(4096).unwrap(), ProtFlags::PROT_READ);
            // SAFETY: a new mapping at an address of the kernel's choice.
            let page = unsafe { mmap(None, length, access, MapFlags::MAP_SHARED, &empty, 0) }.unwrap();
            // SAFETY: the address is mapped, and no memory backs it: this is the fault.
            unsafe { page.cast::<u8>().as_ptr().read_volatile() };
        }
    }
}

extern "C" fn handled(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the arguments are the kernel's, or those that the recorder forwards.
    let whole =
        signal == libc::SIGBUS && !context.is_null() && unsafe { (*info).si_code } == libc::BUS_ADRERR;
    // SAFETY: ends the process, and nothing else.
    unsafe { libc::_exit(if whole { HANDLED } else { 1 }) };
}

fn write(count: u32) {
    (0..count).for_each(|number| trace_runtime::enter(number % 1_000 + 1));
}

pub(super) fn cut_short(directory: &Path) {
    let output = spawn("bus-cut", directory).wait_with_output().unwrap();
    assert!(output.status.success(), "{:?}", output.status);
}

pub(super) fn of_the_app(directory: &Path) {
    for (role, wanted) in [
        ("bus-default", (None, Some(libc::SIGBUS))),
        ("bus-sent", (None, Some(libc::SIGBUS))),
        ("bus-handled", (Some(HANDLED), None)),
    ] {
        let directory = directory.join(role);
        std::fs::create_dir_all(&directory).unwrap();
        let status = spawn(role, &directory).wait().unwrap();
        assert_eq!((status.code(), status.signal()), wanted, "{role}");
    }
}
