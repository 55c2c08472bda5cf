//! Captures with registers, stacks and modules that lie.

use std::fs;
use std::sync::Arc;
use std::time::Instant;

use native_stacks::{Files, Unwinder};
use trace_format::native_slot::{Machine, REGISTERS, Reason, flags};
use trace_format::sections::native_modules::{Mapping, NativeModules, UnwindRow};
use trace_format::sections::native_stack::NativeStack;

use test_support::binaries::{Scratch, run};

/// The same file for every mapping.
struct Same(Option<Arc<[u8]>>);

impl Files for Same {
    fn elf(&mut self, _: &Mapping) -> Option<Arc<[u8]>> {
        self.0.clone()
    }
}

fn mapping(start: u64, end: u64, bias: u64) -> Mapping {
    Mapping { start, end, offset: 0, bias, build_id: vec![1], path: "/x".to_owned() }
}

/// A capture at this program counter, whose stack has these words and ends at its last one.
fn capture(pc: u64, sp: u64, words: &[u64]) -> NativeStack {
    let mut registers = [0; REGISTERS];
    registers[16] = pc;
    registers[6] = sp;
    registers[7] = sp;
    let stack = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    NativeStack {
        number: 1,
        tid: 7,
        asked: 1,
        at: 1,
        machine: Machine::X86_64,
        reason: Some(Reason::Stall),
        flags: 0,
        stack_end: 0,
        sp,
        registers,
        system_call: None,
        mutex: (0, 0),
        previous: None,
        stack,
    }
}

/// Frame records of 1,000 callers.
fn records(sp: u64, pc: impl Fn(u64) -> u64) -> Vec<u64> {
    (0..1_000).flat_map(|n| [sp + 16 * (n + 1), pc(n)]).collect()
}

#[cfg(target_arch = "x86_64")]
fn library(scratch: &Scratch, text: &str) -> Arc<[u8]> {
    let (source, file) = (scratch.path("library.s"), scratch.path("library.so"));
    fs::write(&source, text).unwrap();
    run("cc", ["-shared", "-nostdlib", "-o", file.to_str().unwrap(), source.to_str().unwrap()]);
    fs::read(file).unwrap().into()
}

#[cfg(target_arch = "x86_64")]
#[test]
fn frames_without_unwind_data_do_not_search_all_symbols_each() {
    let scratch = Scratch::new("symbols");
    // `call` before each return address, so that frame records are believed.
    let text = ".macro s\ns\\@:\n.endm\n.text\n.rept 1000\n.byte 0xe8,0,0,0,0\n.endr\n.skip 4096\n.rept 150000\ns\n.endr\n";
    let file = library(&scratch, text);
    let modules = NativeModules { mappings: vec![mapping(0x1000, 0x9000, 0)], ..NativeModules::default() };
    let unwinder = Unwinder::new(Machine::X86_64, &modules, &mut Same(Some(file)));
    let stack = capture(0x1005, 0x8_0000, &records(0x8_0000, |n| 0x1005 + 5 * (n % 900)));
    let begun = Instant::now();
    for _ in 0..20 {
        assert!(unwinder.unwind(&stack, &stack.stack).frames.len() > 990);
    }
    assert!(begun.elapsed().as_secs() < 8, "{:?}", begun.elapsed());
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_file_is_indexed_once_however_often_it_is_mapped() {
    let scratch = Scratch::new("mapped");
    let text = ".text\n.rept 20000\n.cfi_startproc\n.byte 0xe8,0,0,0,0\n.cfi_endproc\n.endr\n";
    let (source, file) = (scratch.path("library.s"), scratch.path("library.so"));
    fs::write(&source, text).unwrap();
    let [file, source] = [file.to_str().unwrap(), source.to_str().unwrap()];
    run("cc", ["-shared", "-nostdlib", "-Wl,--no-eh-frame-hdr", "-o", file, source]);
    let file = fs::read(file).unwrap().into();
    let start = |n: u64| 0x10_0000 * (n + 1);
    let mappings = (0..1_000).map(|n| mapping(start(n) + 0x1000, start(n) + 0x3_0000, start(n))).collect();
    let modules = NativeModules { mappings, ..NativeModules::default() };
    let unwinder = Unwinder::new(Machine::X86_64, &modules, &mut Same(Some(file)));
    // Each function returns to the next mapping's.
    let words: Vec<u64> = (1..1_000).map(|n| start(n) + 0x1005).collect();
    let stack = capture(start(0) + 0x1000, 0x8_0000, &words);
    let begun = Instant::now();
    assert!(unwinder.unwind(&stack, &stack.stack).frames.len() > 990);
    assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
}

/// An unwind entry with its length in front.
fn entry(contents: &[u8]) -> Vec<u8> {
    let mut bytes = contents.to_vec();
    bytes.resize(contents.len().next_multiple_of(8) + 4, 0);
    [&u32::try_from(bytes.len()).unwrap().to_le_bytes()[..], &bytes].concat()
}

#[test]
fn a_stack_at_the_end_of_memory_is_no_panic() {
    // The frame's address is rbp + 16, which a capture without a signal does not have.
    let cie = entry(b"\0\0\0\0\x01\0\x01\x78\x10\x0c\x06\x10\x90\x01");
    let mut fde = 0x14_u32.to_le_bytes().to_vec();
    fde.extend([0x1000_u64, 0x1000].map(u64::to_le_bytes).concat());
    let rows = vec![
        UnwindRow::Cie { address: 0x5000, bytes: cie },
        UnwindRow::Fde { address: 0x5010, bytes: entry(&fde) },
    ];
    let modules =
        NativeModules { mappings: vec![mapping(0x1000, 0x2000, 0)], rows, ..NativeModules::default() };
    let mut stack = capture(0x1005, u64::MAX - 15, &[1, 2, 3]);
    stack.flags = flags::WITHOUT_SIGNAL;
    let unwound = Unwinder::new(Machine::X86_64, &modules, &mut Same(None)).unwind(&stack, &stack.stack);
    assert_eq!(unwound.end.to_string(), "rbp is unknown, since the stack was captured without a signal");
}
