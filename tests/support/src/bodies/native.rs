//! Readers of ELF, DWARF, `.ARM.exidx`, mini debug info, Breakpad's text and the sections of native stacks, on arbitrary bytes: they may find
//! nothing, but must not panic, and their results are bounded. Shared by the test on damaged files and by the fuzzer.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use native_stacks::symbols::{in_breakpad, in_elf};
use native_stacks::{End, Files, Unwinder};
use trace_format::native_slot::Machine;
use trace_format::sections::native_frames::{MAX_FRAMES, NativeFrames};
use trace_format::sections::native_modules::{Mapping, NativeModules};
use trace_format::sections::native_stack::NativeStack;

/// Addresses that are looked up in every file: its beginning, where small libraries have their code, and far out.
const ADDRESSES: [u64; 12] =
    [0, 1, 0x238, 0x1000, 0x1010, 0x1040, 0x1100, 0x1139, 0x2000, 0x4_0000, 0x8000_0000, u64::MAX];

/// Names of addresses in an ELF file (kind 0) or in a symbol file of Breakpad's (kind 1): the first byte chooses.
pub fn symbols(bytes: &[u8]) {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    let mut addresses = ADDRESSES.to_vec();
    // Addresses that the input itself mentions.
    addresses.extend(
        bytes.rchunks_exact(8).take(8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes"))),
    );
    let found = match kind % 2 {
        0 => in_elf(bytes.to_vec(), &addresses),
        _ => in_breakpad(bytes, &addresses),
    };
    for named in found.unwrap_or_default() {
        assert!(named.len() <= 1_024, "{} functions at an address", named.len());
        assert!(named.last().is_none_or(|outermost| !outermost.inlined));
    }
}

/// An input of [`unwind`]: how long the first two parts are, then modules, a capture, and the ELF file of all mappings.
pub fn join(modules: &[u8], capture: &[u8], file: &[u8]) -> Vec<u8> {
    let length = |part: &[u8]| u32::try_from(part.len()).expect("a small part").to_le_bytes();
    [&length(modules)[..], &length(capture), modules, capture, file].concat()
}

/// The same file for every mapping.
struct Same(Option<Arc<[u8]>>);

impl Files for Same {
    fn elf(&mut self, _mapping: &Mapping) -> Option<Arc<[u8]>> {
        self.0.clone()
    }
}

/// Unwinds a capture with modules and a file, all as [`join`] has them, and passes the sections through their readers and writers.
pub fn unwind(bytes: &[u8]) {
    let Some((lengths, rest)) = bytes.split_at_checked(8) else { return };
    let length = |at: usize| u32::from_le_bytes(lengths[at..at + 4].try_into().expect("4 bytes")) as usize;
    let (modules, rest) = rest.split_at(length(0).min(rest.len()));
    let (capture, file) = rest.split_at(length(4).min(rest.len()));
    let Some(modules) = NativeModules::parse(modules) else { return };
    let written = NativeModules::parse(&modules.encode()).expect("what was written can be read");
    assert_eq!(written.mappings.len(), modules.mappings.len());
    assert_eq!(written.rows.len(), modules.rows.len());
    let _ = NativeStack::from_slot(capture);
    let _ = NativeFrames::parse(capture);
    let Some(capture) = NativeStack::parse(capture) else { return };
    let again = NativeStack::parse(&capture.encode()).expect("what was written can be read");
    assert_eq!((again.sp, again.flags), (capture.sp, capture.flags));
    let mut files = Same((!file.is_empty()).then(|| Arc::from(file)));
    // With the file, and with the rows of the recording alone.
    for mut files in [std::mem::replace(&mut files, Same(None)), Same(None)] {
        let unwound = Unwinder::new(capture.machine, &modules, &mut files).unwind(&capture, &capture.stack);
        assert!(unwound.frames.len() <= MAX_FRAMES, "{} frames", unwound.frames.len());
        assert!(unwound.end == End::Complete || !unwound.end.to_string().is_empty());
        for frame in &unwound.frames {
            assert!(frame.mapping.is_none_or(|mapping| mapping < modules.mappings.len()));
        }
    }
    let mut payload = capture.encode();
    NativeStack::wipe(&mut payload);
    assert!(NativeStack::parse(&payload).is_some_and(|wiped| wiped.is_wiped()));
}

/// Functions with frames of each kind, without a library.
const SOURCE: &str = "
int a0(volatile int *p) { return *p + 1; }
__attribute__((noinline)) int a1(volatile int *p) { volatile char b[40]; b[*p & 31] = 1; return a0(p) + b[*p & 7]; }
__attribute__((noinline)) int a2(volatile int *p, int n) { volatile char *b = __builtin_alloca((unsigned)n & 63); b[0] = 1; return a1(p) + b[0]; }
__attribute__((noinline)) int a3(volatile int *p, int n) { return n ? a3(p, n - 1) + a2(p, n) : a2(p, 3); }
static inline int in(volatile int *p) { return a3(p, *p) * 3; }
int a4(volatile int *p) { return in(p) + in(p + 1); }
";

const BREAKPAD: &str = "MODULE Linux x86_64 000102030405060708090A0B0C0D0E0F0 libx.so\nINFO CODE_ID 0102\nFILE 0 a.c\nFILE 1 b.c\n\
    INLINE_ORIGIN 0 inner(int)\nINLINE_ORIGIN 1 _ZN1a1bEv\nFUNC 1000 40 0 _ZN3abc3defEv\nINLINE 0 4 1 0 1010 10\nINLINE 1 5 0 1 1012 4\n\
    1000 10 3 0\n1010 30 7 1\nFUNC m 1100 8 0 last\nPUBLIC 2000 0 public\nSTACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n";

/// Inputs of [`symbols`] and of [`unwind`], compiled into `directory`: for this machine, and for others whose compilers are there.
pub fn samples(directory: &Path) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let source = directory.join("sample.c");
    std::fs::write(&source, SOURCE).expect("a file");
    let mut named = vec![[&[1], BREAKPAD.as_bytes()].concat()];
    let mut unwound = Vec::new();
    let machines = [
        ("cc", Machine::HERE.expect("a machine with a number")),
        ("aarch64-linux-gnu-gcc", Machine::Aarch64),
        ("arm-linux-gnueabihf-gcc", Machine::Arm),
    ];
    for (compiler, machine) in machines {
        let forms: [&[&str]; 4] = [
            &["-g", "-O2", "-fasynchronous-unwind-tables"],
            &["-g", "-gz", "-O1", "-funwind-tables"],
            &["-O0", "-fno-asynchronous-unwind-tables", "-fno-omit-frame-pointer"],
            &["-O2", "-s", "-Wl,--build-id=none", "-funwind-tables"],
        ];
        for (n, flags) in forms.into_iter().enumerate() {
            let file = directory.join(format!("{compiler}-{n}.so"));
            let made = Command::new(compiler)
                .args([
                    "-shared",
                    "-fPIC",
                    "-nostdlib",
                    "-w",
                    "-Wl,-z,noseparate-code",
                    "-Wl,-z,max-page-size=4096",
                ])
                .args(flags)
                .arg(&source)
                .arg("-o")
                .arg(&file)
                .status();
            if !made.is_ok_and(|status| status.success()) {
                continue;
            }
            let mut files = vec![std::fs::read(&file).expect("a library")];
            // The same with the symbols as mini debug info.
            let packed = directory.join("packed.so");
            let script = format!(
                "set -e; cd '{}'; cp {compiler}-{n}.so mini; xz -kf --check=crc32 mini; \
                 objcopy -S --add-section=.gnu_debugdata=mini.xz {compiler}-{n}.so packed.so",
                directory.display()
            );
            let made = Command::new("sh").args(["-c", &script]).stderr(std::process::Stdio::null()).status();
            if made.is_ok_and(|status| status.success()) {
                files.push(std::fs::read(&packed).expect("a library"));
            }
            for bytes in files {
                named.push([&[0], &bytes[..]].concat());
                unwound.push(capture(machine, &bytes));
            }
        }
    }
    (named, unwound)
}

/// A capture whose words lead through all of a library's code.
fn capture(machine: Machine, file: &[u8]) -> Vec<u8> {
    const BASE: u64 = 0x40_0000;
    const STACK: u64 = 0x7f00_0000;
    let word = if machine == Machine::Arm { 4 } else { 8 };
    let mut stack = Vec::new();
    for n in 0..96_u64 {
        // Return addresses, and among them frame pointers.
        let value = if n % 4 == 1 { STACK + n * word + 24 } else { BASE + 0x200 + n * 7 % 0x400 };
        stack.extend_from_slice(&value.to_le_bytes()[..usize::try_from(word).expect("4 or 8")]);
    }
    let mut registers = [STACK + 64; 33];
    registers[machine.stack_pointer()] = STACK;
    registers[machine.registers() - 1] = BASE + 0x210;
    registers[14] = BASE + 0x221;
    registers[30] = BASE + 0x240;
    let capture = NativeStack {
        number: 1,
        tid: 7,
        asked: 1,
        at: 2,
        machine,
        reason: None,
        flags: 0,
        stack_end: STACK + 96 * word,
        sp: STACK,
        registers,
        system_call: None,
        mutex: (0, 0),
        previous: None,
        stack,
    };
    let modules = format!(
        "at=1\nmap {BASE:x} {:x} 0 {BASE:x} 0102 /x/libx.so\njit 500000 501000\ninterpreter 400300 400320\n\
         cie 600000 14000000000000000 1\ncie 600000 1400000000000000017a5200017810011b0c070890010000\n\
         fde 600018 1c0000001c00000000fcdfff2000000000410e108602430d065b0c0708000000\nexidx 400200 600100 b0b0a880\n\
         image 700000 7f454c46020101000000000000000000\nimage 710000 681180d2010000d4\n",
        BASE + 0x1_0000
    );
    join(modules.as_bytes(), &capture.encode(), file)
}
