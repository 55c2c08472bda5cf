//! Native stacks of a described recording, as the device unwinds and wipes them.

use trace_format::native_slot::{Machine, REGISTERS, Reason, flags};
use trace_format::sections::native_frames::{FrameKind, NativeFrame, NativeFrames};
use trace_format::sections::native_stack::{NativeStack, SystemCall};

/// The head of the frames of a capture, which its lines follow, and the wiped capture. `words` are `REASON [CALL [OWNER]]`.
pub(super) fn capture(
    number: u64,
    at: u64,
    tid: u32,
    words: &[&str],
    tid_of: impl Fn(&str) -> u32,
) -> (Vec<u8>, Vec<u8>) {
    let reason = match words[0] {
        "stall" => Reason::Stall,
        "sigquit" => Reason::Sigquit,
        "owner" => Reason::LockOwner,
        "beat" => Reason::MissedBeat,
        "asked" => Reason::Asked,
        other => panic!("{other} is no reason"),
    };
    let system_call = words.get(1).map(|name| {
        let number = match *name {
            "read" => 63,
            "ioctl" => 29,
            "futex" => 98,
            "clock_nanosleep" => 115,
            "recvfrom" => 207,
            other => panic!("{other} is no system call"),
        };
        SystemCall { number, arguments: [0; 6] }
    });
    let owner = words.get(2).map_or(0, |name| tid_of(name));
    let stack = NativeStack {
        number,
        tid,
        asked: at,
        at,
        machine: Machine::Aarch64,
        reason: Some(reason),
        flags: flags::WIPED,
        stack_end: 0,
        sp: 0x7000,
        registers: [0; REGISTERS],
        system_call,
        mutex: (u64::from(owner > 0) * 0x7100, owner),
        previous: None,
        stack: Vec::new(),
    };
    (format!("{number} {tid} {at} {}\n", reason as u8).into_bytes(), stack.encode())
}

/// The section of a head and its lines.
pub(super) fn frames(lines: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(lines).unwrap();
    let (head, lines) = text.split_once('\n').unwrap();
    let head: Vec<u64> = head.split(' ').map(|word| word.parse().unwrap()).collect();
    let mut end = String::new();
    let mut frames = Vec::new();
    for line in lines.lines() {
        let (kind, rest) = line.split_once(' ').unwrap();
        if kind == "end" {
            end = rest.to_owned();
            continue;
        }
        let known = |word: &str| if word == "-" { String::new() } else { word.to_owned() };
        let (path, function) = rest.split_once(' ').unwrap();
        let kind = match kind {
            "n" => FrameKind::Native,
            "i" => FrameKind::Inlined,
            "j" => FrameKind::Jit,
            "r" => FrameKind::Interpreter,
            other => panic!("{other} is no kind"),
        };
        let rel_pc = 0x1000;
        let frame = NativeFrame {
            kind,
            pc: 0x7_0000_0000 + rel_pc,
            rel_pc,
            build_id: if path == "-" { String::new() } else { "abcdef012345".to_owned() },
            path: known(path),
            function: known(function),
            file: String::new(),
            line: 0,
        };
        frames.push(frame);
    }
    let (number, at) = (head[0], head[2]);
    let (tid, reason) = (head[1] as u32, head[3] as u8);
    NativeFrames { number, tid, at, reason, end, frames }.encode()
}
