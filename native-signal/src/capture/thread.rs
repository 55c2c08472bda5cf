//! What the kernel shows of a thread without disturbing it: `stat`, `status`, `syscall` and `wchan` of `/proc/self/task/TID` (man 5
//! proc). Allocates nothing.

use super::error::Refusal;
use crate::task;
use std::io;
use trace_format::sections::native_stack::SystemCall;

/// A thread at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Thread {
    /// `R` running, `S` sleeping, `D` uninterruptible, `t` and `T` stopped, ...
    pub(super) state: u8,
    /// When it started, in the kernel's ticks: with the tid it names the thread.
    pub(super) started: u64,
}

/// A thread's state; `None` if it has ended.
pub(super) fn thread(tid: i32) -> io::Result<Option<Thread>> {
    let mut room = [0; 1024];
    let Some(stat) = task::read(tid, "stat", &mut room)? else { return Ok(None) };
    // The name stands in brackets and may hold any byte, brackets too.
    let after_name = stat.rsplit(|&byte| byte == b')').next().unwrap_or_default();
    let mut fields = after_name.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
    let state = fields.next().and_then(|field| field.first()).copied().unwrap_or(b'X');
    let started = fields.nth(18).and_then(|field| std::str::from_utf8(field).ok()?.parse().ok()).unwrap_or(0);
    Ok((!matches!(state, b'X' | b'x' | b'Z')).then_some(Thread { state, started }))
}

/// Where a thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// On a CPU, or waiting for one.
    Running,
    /// In the kernel, not on a CPU.
    Blocked {
        /// The system call; `None` in a page fault.
        call: Option<SystemCall>,
        sp: u64,
        pc: u64,
    },
    /// The kernel does not let us know.
    Hidden,
}

/// Where a thread is.
pub(super) fn place(tid: i32) -> Result<Place, Refusal> {
    let mut room = [0; 512];
    match task::read(tid, "syscall", &mut room) {
        Ok(None) => Err(Refusal::NoThread),
        Ok(Some(text)) => Ok(parse(text).unwrap_or(Place::Hidden)),
        Err(_) => Ok(Place::Hidden),
    }
}

fn parse(text: &[u8]) -> Option<Place> {
    let text = std::str::from_utf8(text).ok()?.trim_ascii();
    if text == "running" {
        return Some(Place::Running);
    }
    let mut words = text.split_ascii_whitespace();
    let number: i64 = words.next()?.parse().ok()?;
    let mut next = || u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
    let call = match u64::try_from(number) {
        Ok(number) => {
            let mut arguments = [0; 6];
            for argument in &mut arguments {
                *argument = next()?;
            }
            Some(SystemCall { number, arguments })
        }
        Err(_) => None,
    };
    Some(Place::Blocked { call, sp: next()?, pc: next()? })
}

/// The name of the kernel's function that a sleeping thread is in, as far as it is known, in `room`.
pub(super) fn kernel_function(tid: i32, room: &mut [u8]) -> &[u8] {
    match task::read(tid, "wchan", room) {
        Ok(Some(name)) => name.trim_ascii(),
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_forms_of_the_kernel() {
        assert_eq!(parse(b"running\n"), Some(Place::Running));
        assert_eq!(parse(b"-1 0x7ffc 0x55aa\n"), Some(Place::Blocked { call: None, sp: 0x7ffc, pc: 0x55aa }));
        let call = Some(SystemCall { number: 230, arguments: [0, 1, 0x7f, 3, 4, u64::MAX] });
        assert_eq!(
            parse(b"230 0x0 0x1 0x7f 0x3 0x4 0xffffffffffffffff 0x7ffe 0x55ab\n"),
            Some(Place::Blocked { call, sp: 0x7ffe, pc: 0x55ab })
        );
        for damaged in [&b""[..], b"230", b"230 0x0 0x1 0x2 0x3 0x4", b"x 0x1 0x2", b"-1 0x1", b"\xff"] {
            assert_eq!(parse(damaged), None);
        }
    }

    #[test]
    fn this_thread_runs() {
        let own = task::own_id();
        let this = thread(own).unwrap().unwrap();
        assert_eq!(this.state, b'R');
        assert!(this.started > 0);
        // It reads that file.
        let reads = matches!(place(own), Ok(Place::Blocked { call: Some(call), .. }) if call.number == libc::SYS_read as u64);
        assert!(reads);
        assert_eq!(place(i32::MAX), Err(Refusal::NoThread));
        assert_eq!(thread(i32::MAX).unwrap(), None);
    }
}
