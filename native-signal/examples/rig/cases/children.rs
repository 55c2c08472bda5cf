//! Programs that the app starts: the only state that they inherit from us is an open mask, after `vfork`.

use super::Row;
use super::art::{block_as_art, blocks, current_handler, install, start_catcher};
use super::driver::Subject;
use super::page::Page;
use std::ffi::CString;
use std::ptr;

pub(super) const CASES: &[Row] = &[("exec_after_fork_and_vfork", simulate_exec, judge_exec)];

/// First argument of a program started by a simulated app; then the page, and where to answer.
pub(crate) const PROBE: &str = "--probe";

/// That program.
pub(crate) fn probe(page: &str, place: &str) {
    let page = Page::open(page);
    let place: usize = place.parse().unwrap();
    page.answer(place, blocks(libc::SIGQUIT).into());
    page.answer(place + 1, i64::from(current_handler() == libc::SIG_DFL));
    let anonymous = std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .flatten()
        .filter_map(|file| std::fs::read_link(file.path()).ok())
        .filter(|file| ["eventfd", "signalfd"].iter().any(|kind| file.to_string_lossy().contains(kind)))
        .count();
    page.answer(place + 2, anonymous as i64);
}

struct Words {
    _kept: Vec<CString>,
    pointers: Vec<*const libc::c_char>,
}

fn words(page: &str, place: usize) -> Words {
    let program = std::env::current_exe().unwrap();
    let kept: Vec<CString> = [program.to_str().unwrap(), PROBE, page, &place.to_string()]
        .map(|word| CString::new(word).unwrap())
        .into();
    let pointers = kept.iter().map(|word| word.as_ptr()).chain([ptr::null()]).collect();
    Words { _kept: kept, pointers }
}

extern "C" fn exec(words: *mut libc::c_void) -> i32 {
    // SAFETY: the words that the parent keeps until this child is done.
    let words = unsafe { &*words.cast::<Words>() };
    // SAFETY: strings ended by zeroes, the list by null.
    unsafe {
        libc::execv(words.pointers[0], words.pointers.as_ptr());
        libc::_exit(1)
    }
}

fn wait_for(child: i32) {
    assert!(child > 0);
    let mut status = 0;
    // SAFETY: our child, a place for its status.
    while unsafe { libc::waitpid(child, &mut status, 0) } != child {}
    assert_eq!(status, 0);
}

fn simulate_exec(page: &'static Page) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    let _sensor = install(page);
    page.reach(1);
    page.wait_allowed(2);
    // The page's file, as this process was given it.
    let file = std::env::args().nth(3).unwrap();
    let (forked, vforked) = (words(&file, 0), words(&file, 3));
    // SAFETY: the child calls `execv` only.
    let child = unsafe { libc::fork() };
    if child == 0 {
        exec(ptr::from_ref(&forked).cast_mut().cast());
    }
    wait_for(child);
    let mut stack = vec![0u8; 256 * 1024];
    let top = (stack.as_mut_ptr() as usize + stack.len()) & !15;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    let argument = ptr::from_ref(&vforked).cast_mut().cast();
    // SAFETY: what `vfork` does: the stack and the words outlive the child's use of them, for this thread waits.
    wait_for(unsafe { libc::clone(exec, top as *mut _, flags, argument) });
    page.reach(2);
    page.wait_allowed(3);
}

fn judge_exec(subject: &mut Subject) {
    let received = |page: &Page| page.catcher.count();
    subject.send_sensed(5, received);
    subject.allow(2);
    subject.await_step(2);
    // Blocked, default, none of our descriptors; after vfork the mask is as it was in the parent.
    assert_eq!([0, 1, 2].map(|index| subject.page.answered(index)), [1, 1, 0]);
    assert_eq!([3, 4, 5].map(|index| subject.page.answered(index)), [0, 1, 0]);
    subject.send_sensed(5, received);
    subject.settles_at("the catcher", 10, received);
    subject.settles_at("the observer", 10, |page| page.observer.count());
}
