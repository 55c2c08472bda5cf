//! System calls by name.

use trace_format::native_slot::Machine;

/// Numbers of a system call on x86-64, on 64-bit ARM and RISC-V, on 32-bit ARM, and on x86; `NONE` where it has none.
type Row = (&'static str, [u64; 4]);

const NONE: u64 = u64::MAX;

/// The calls in which threads wait. Linux 6.12, `arch/*/entry/syscalls/*.tbl` and `scripts/syscall.tbl`.
const CALLS: &[Row] = &[
    ("read", [0, 63, 3, 3]),
    ("write", [1, 64, 4, 4]),
    ("readv", [19, 65, 145, 145]),
    ("writev", [20, 66, 146, 146]),
    ("pread64", [17, 67, 180, 180]),
    ("pwrite64", [18, 68, 181, 181]),
    ("open", [2, NONE, 5, 5]),
    ("openat", [257, 56, 322, 295]),
    ("ioctl", [16, 29, 54, 54]),
    ("fcntl", [72, 25, 221, 221]),
    ("flock", [73, 32, 143, 143]),
    ("fsync", [74, 82, 118, 118]),
    ("fdatasync", [75, 83, 148, 148]),
    ("msync", [26, 227, 144, 144]),
    ("mmap", [9, 222, 192, 192]),
    ("munmap", [11, 215, 91, 91]),
    ("poll", [7, NONE, 168, 168]),
    ("ppoll", [271, 73, 336, 309]),
    ("ppoll", [NONE, NONE, 414, 414]),
    ("select", [23, NONE, 142, 142]),
    ("pselect6", [270, 72, 335, 308]),
    ("pselect6", [NONE, NONE, 413, 413]),
    ("epoll_wait", [232, NONE, 252, 256]),
    ("epoll_pwait", [281, 22, 346, 319]),
    ("epoll_pwait2", [441, 441, 441, 441]),
    ("futex", [202, 98, 240, 240]),
    ("futex", [NONE, NONE, 422, 422]),
    ("nanosleep", [35, 101, 162, 162]),
    ("clock_nanosleep", [230, 115, 265, 267]),
    ("clock_nanosleep", [NONE, NONE, 407, 407]),
    ("pause", [34, NONE, 29, 29]),
    ("sched_yield", [24, 124, 158, 158]),
    ("rt_sigtimedwait", [128, 137, 177, 177]),
    ("wait4", [61, 260, 114, 114]),
    ("waitid", [247, 95, 280, 284]),
    ("connect", [42, 203, 283, 362]),
    ("accept", [43, 202, 285, NONE]),
    ("accept4", [288, 242, 366, 364]),
    ("sendto", [44, 206, 290, 369]),
    ("recvfrom", [45, 207, 292, 371]),
    ("sendmsg", [46, 211, 296, 370]),
    ("recvmsg", [47, 212, 297, 372]),
];

/// The name of a system call, if it is one in which threads wait.
pub(super) fn name(machine: Machine, number: u64) -> Option<&'static str> {
    let column = match machine {
        Machine::X86_64 => 0,
        Machine::Aarch64 | Machine::Riscv64 => 1,
        Machine::Arm => 2,
        Machine::X86 => 3,
    };
    CALLS.iter().find(|(_, numbers)| number != NONE && numbers[column] == number).map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_has_one_name() {
        for column in 0..4 {
            let mut numbers: Vec<u64> =
                CALLS.iter().map(|(_, of)| of[column]).filter(|n| *n != NONE).collect();
            let all = numbers.len();
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(numbers.len(), all, "column {column}");
        }
    }

    /// The C library of this machine knows the numbers too.
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    #[test]
    fn the_numbers_are_those_of_this_systems_headers() {
        let header = "#include <sys/syscall.h>\n";
        let names: std::collections::BTreeSet<&str> = CALLS.iter().map(|(name, _)| *name).collect();
        let text: String =
            names.iter().map(|name| format!("#ifdef SYS_{name}\nCALL {name} SYS_{name}\n#endif\n")).collect();
        let mut compiler = std::process::Command::new("cc")
            .args(["-E", "-P", "-"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("a C compiler, which tests need");
        std::io::Write::write_all(
            &mut compiler.stdin.take().unwrap(),
            (header.to_owned() + &text).as_bytes(),
        )
        .unwrap();
        let output = String::from_utf8(compiler.wait_with_output().unwrap().stdout).unwrap();
        let machine = Machine::HERE.unwrap();
        let mut found = 0;
        for line in output.lines().filter_map(|line| line.strip_prefix("CALL ")) {
            let (call, number) = line.split_once(' ').unwrap();
            // The name itself may be a macro.
            assert_eq!(name(machine, number.parse().unwrap()), Some(call), "{line}");
            found += 1;
        }
        assert!(found > 25, "{output}");
    }
}
