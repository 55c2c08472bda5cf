//! SIGBUS at the recording's own pages: the app goes on, and the recording ends.
//!
//! A page of a mapped file is gone when the file was truncated, or when its device cannot read it back. The
//! store that hits it is one of the app's, in the middle of a method, and the signal would end the process.
//! So a handler maps a page of memory in the place of the one that is gone: mmap(2) is a plain system call,
//! so a handler may make it, and the store is repeated and goes on.
//!
//! Every other SIGBUS is the app's, and its crash report must be as without the library. The handler checks
//! the address first, and forwards what is outside of the mapping to the previous handler, with the same
//! siginfo and context. It is installed with the previous handler's flags and mask, so that one finds the
//! state and the stack that it asked for. Without a previous handler the default
//! action is restored and the instruction is repeated: the system then sees the fault itself. A handler that
//! is installed later comes before this one, and forwards or not, as it would without the library. On Android
//! `sigaction` is libsigchain's, which keeps ART's own handlers in front of all others (AOSP
//! `art/sigchainlib/sigchain.cc`), and debuggerd's is the previous one, installed by the linker (AOSP
//! `bionic/linker/linker_debuggerd_android.cpp`).
//!
//! HotSpot's handler answers a fault by Java with an InternalError, and any other with a crash report. It needs
//! only what it is passed: for example, a program that reads a file which it has mapped and cut short gets the
//! same error, whether the kernel calls HotSpot's handler or this one does. This handler comes before HotSpot's
//! and not after, since HotSpot passes on only what it does not know, and a store by Java it knows. So
//! stores to the recording by `MethodBeat`, compiled or interpreted, are repaired as those by this library are. Two
//! programs are different. If HotSpot [watches] its handlers, as with `-Xcheck:jni`, it is left alone, and a
//! recording that is cut short ends the JVM. If `libjsig` was preloaded, whose purpose is that HotSpot's come
//! first, a store by Java may throw InternalError.
//!
//! The handler stays when `anrscope attach` has detached. So do the mapping and the threads that write to it:
//! calls that are under way still record their ends, and the recorder notes that the process lives. Without the
//! handler, cutting what an ended attachment has left could end the program.
//!
//! [watches]: super::hotspot::watches_handlers

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use libc::{c_int, c_void, sigaction, siginfo_t};
use nix::errno::Errno;

use super::hotspot;

/// The mapping; its end is 0 before there is one.
static FIRST: AtomicUsize = AtomicUsize::new(0);
static END: AtomicUsize = AtomicUsize::new(0);
static PAGE: AtomicUsize = AtomicUsize::new(4096);
/// The previous action. Never freed: a handler may be using it.
static PREVIOUS: AtomicPtr<sigaction> = AtomicPtr::new(std::ptr::null_mut());
static HAS_FAULTED: AtomicBool = AtomicBool::new(false);

/// Whether a page of the recording's file was gone: what is written from then on may be in memory alone.
pub(crate) fn has_faulted() -> bool {
    HAS_FAULTED.load(Ordering::Relaxed)
}

/// Keeps the app alive if the pages of this mapping, which is never unmapped, fail. Once a process.
pub(crate) fn guard(base: NonNull<u8>, length: usize) {
    // SAFETY: a question without arguments in memory.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    PAGE.store(usize::try_from(page).unwrap_or(4096), Ordering::Relaxed);
    FIRST.store(base.as_ptr().addr(), Ordering::Relaxed);
    END.store(base.as_ptr().addr() + length, Ordering::Release);
    // SAFETY: all zeros are a value of it; the calls read and write what they are given, and nothing else. The handler is
    // a function of this library, which is never unloaded, and may run from here on.
    unsafe {
        let previous = Box::leak(Box::new(MaybeUninit::<sigaction>::zeroed().assume_init()));
        if libc::sigaction(libc::SIGBUS, std::ptr::null(), previous) != 0 || is_watched(previous) {
            return;
        }
        PREVIOUS.store(previous, Ordering::Release);
        let mut own = *previous;
        if [libc::SIG_DFL, libc::SIG_IGN].contains(&own.sa_sigaction) {
            own = MaybeUninit::zeroed().assume_init();
            own.sa_flags = libc::SA_ONSTACK | libc::SA_RESTART;
        }
        own.sa_sigaction = handle as *const () as usize;
        // A handler for one signal alone would lose its place to a fault of the recording's.
        own.sa_flags = own.sa_flags & !libc::SA_RESETHAND | libc::SA_SIGINFO;
        libc::sigaction(libc::SIGBUS, &own, std::ptr::null_mut());
    }
}

/// True if a JVM would report that its handler was replaced.
fn is_watched(action: &sigaction) -> bool {
    if cfg!(target_os = "android") {
        return false;
    }
    let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: dladdr writes to the place given, and only compares the address (man 3 dladdr). The name it gives is that of a
    // library that stays loaded while its handler is installed.
    let library = unsafe {
        if libc::dladdr(action.sa_sigaction as *const c_void, found.as_mut_ptr()) == 0
            || found.assume_init().dli_fname.is_null()
        {
            return false;
        }
        CStr::from_ptr(found.assume_init().dli_fname)
    };
    // One that does not say what it does is left alone.
    library.to_bytes().ends_with(b"/libjvm.so") && hotspot::watches_handlers(library).unwrap_or(true)
}

/// Maps memory in place of the page at `address`, if that is in the mapping; returns whether it did.
fn replace(address: usize) -> bool {
    if !(FIRST.load(Ordering::Relaxed)..END.load(Ordering::Acquire)).contains(&address) {
        return false;
    }
    let page = PAGE.load(Ordering::Relaxed);
    let start = address - address % page;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let how = libc::MAP_FIXED | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: in the place of a page of the recording's mapping, which is reached through atomics alone: what was there cannot be
    // read any more, and zeros are a value of each.
    let replaced = unsafe { libc::mmap(start as *mut c_void, page, access, how, -1, 0) } != libc::MAP_FAILED;
    if replaced {
        HAS_FAULTED.store(true, Ordering::Relaxed);
    }
    replaced
}

extern "C" fn handle(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel gives both for a handler with SA_SIGINFO; one that forwards without them gets none. The calls are
    // among those that a handler may make (man 7 signal-safety), and errno is put back.
    unsafe {
        let kept = Errno::last_raw();
        // A fault that the kernel raises at an instruction, not a signal that a process sent.
        let at_instruction =
            info.as_ref().is_some_and(|info| info.si_code > 0 && info.si_code <= BUS_MCEERR_AR);
        if !(at_instruction && replace((*info).si_addr().addr())) {
            forward(signal, info, context, at_instruction);
        }
        Errno::set_raw(kept);
    }
}

/// The greatest code of a SIGBUS that the instruction itself has caused; 5 concerns memory that may never be used
/// (Linux `include/uapi/asm-generic/siginfo.h`).
const BUS_MCEERR_AR: c_int = 4;

/// Does what would happen without this handler.
///
/// # Safety
/// From the handler alone, with what it was given.
unsafe fn forward(signal: c_int, info: *mut siginfo_t, context: *mut c_void, at_instruction: bool) {
    // SAFETY: the pointer is a leaked action's; the rest is as for `handle`. What is called is the address that the app or the system
    // gave for this signal, in the form that its flags say.
    unsafe {
        let Some(previous) = PREVIOUS.load(Ordering::Acquire).as_ref() else { return };
        let ignored = previous.sa_sigaction == libc::SIG_IGN;
        if ignored && !at_instruction {
            return;
        }
        if ignored || previous.sa_sigaction == libc::SIG_DFL {
            let mut default = MaybeUninit::<sigaction>::zeroed().assume_init();
            default.sa_sigaction = libc::SIG_DFL;
            libc::sigaction(signal, &default, std::ptr::null_mut());
            if !at_instruction {
                // The fault comes again, unchanged, when this returns.
                libc::syscall(libc::SYS_rt_tgsigqueueinfo, libc::getpid(), libc::gettid(), signal, info);
            }
            return;
        }
        if previous.sa_flags & libc::SA_SIGINFO != 0 {
            let call: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) =
                std::mem::transmute(previous.sa_sigaction);
            call(signal, info, context);
        } else {
            let call: extern "C" fn(c_int) = std::mem::transmute(previous.sa_sigaction);
            call(signal);
        }
    }
}
