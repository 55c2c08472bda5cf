//! Why a stack ends where it does.

use std::fmt;

use trace_format::hex::hex;
use trace_format::native_slot::Machine;

/// Why a stack ends where it does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// At the start of the thread.
    Complete,
    /// This machine is not unwound.
    Unsupported,
    /// A file is needed that is not there.
    NoFile {
        /// Its path in the process.
        path: String,
        /// Its build id; empty if unknown.
        build_id: Vec<u8>,
    },
    /// The file has no unwind data for the function, and frame pointers do not lead on.
    NoData(String, u64),
    /// The file's unwind data for the function cannot be read.
    Broken(String, u64),
    /// The file's unwind data ends stacks at the function.
    CantUnwind(String, u64),
    /// Generated code that keeps no frame pointer.
    Generated(u64),
    /// The next return address is no code.
    NotCode(u64),
    /// The stack was copied up to this many bytes.
    NotCopied(u64),
    /// The capture brought no value of a register that leads on: its place among the registers.
    Register(Machine, usize),
    /// The caller's frame does not lie further out.
    NotRising(u64),
    /// There are more frames than are kept.
    TooMany,
    /// The stack bytes were wiped.
    Wiped,
    /// The stack pointer was outside of the thread's stack.
    ForeignStack,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code =
            |path: &str| if path.is_empty() { "code without a file".to_owned() } else { path.to_owned() };
        match self {
            Self::Complete => Ok(()),
            Self::Unsupported => f.write_str("this machine's stacks are not unwound"),
            Self::NoFile { path, build_id } if build_id.is_empty() => {
                write!(f, "no file for {path}, which has no build id: its callers are unknown")
            }
            Self::NoFile { path, build_id } => {
                write!(f, "no file for {path} with build id {}: its callers are unknown", hex(build_id))
            }
            Self::NoData(path, pc) => {
                write!(f, "{} has no unwind data for {pc:#x}, and no frame pointer leads on", code(path))
            }
            Self::Broken(path, pc) => write!(f, "the unwind data of {} for {pc:#x} is not valid", code(path)),
            Self::CantUnwind(path, pc) => {
                write!(f, "{} does not describe the callers of {pc:#x}", code(path))
            }
            Self::Generated(pc) => write!(f, "the generated code at {pc:#x} keeps no frame pointer"),
            Self::NotCode(pc) => write!(f, "the next return address, {pc:#x}, is not code"),
            Self::NotCopied(0) => f.write_str("the stack was not copied"),
            Self::NotCopied(length) if *length < 1024 => write!(f, "the stack is cut at {length} bytes"),
            Self::NotCopied(length) => write!(f, "the stack is cut at {} KiB", length / 1024),
            Self::Register(machine, register) => {
                write!(
                    f,
                    "{} is unknown, since the stack was captured without a signal",
                    name(*machine, *register)
                )
            }
            Self::NotRising(sp) => write!(f, "the caller's stack pointer, {sp:#x}, is not further out"),
            Self::TooMany => f.write_str("more frames than are kept"),
            Self::Wiped => f.write_str("the stack was wiped"),
            Self::ForeignStack => f.write_str("the thread ran on a stack that is not its own"),
        }
    }
}

/// A register's name.
fn name(machine: Machine, register: usize) -> String {
    const X86_64: [&str; 8] = ["rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp"];
    const X86: [&str; 9] = ["eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "eip"];
    match (machine, register) {
        (Machine::X86_64, 16) => "rip".to_owned(),
        (Machine::X86_64, _) => {
            X86_64.get(register).map_or(format!("r{register}"), |name| (*name).to_owned())
        }
        (Machine::X86, _) => X86.get(register).map_or(String::new(), |name| (*name).to_owned()),
        (Machine::Arm, 13) | (Machine::Aarch64, 31) => "sp".to_owned(),
        (Machine::Arm, 14) => "lr".to_owned(),
        (Machine::Arm, 15) | (Machine::Aarch64 | Machine::Riscv64, 32) => "pc".to_owned(),
        (Machine::Arm, _) => format!("r{register}"),
        (Machine::Aarch64 | Machine::Riscv64, _) => format!("x{register}"),
    }
}
