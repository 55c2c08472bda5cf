//! Makes the reason of a case, in the kernel and not in main.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::harness;
use crate::phone::groups::Group;
use crate::phone::plan::{Case, Reason};
use crate::phone::storage::SlowDisk;
use test_support::temp_dir::TempDir;

/// What all cases share.
pub(crate) struct Machine {
    pub(crate) cpus: usize,
    disk: Option<SlowDisk>,
    /// A library that gives a process a wall clock of its own.
    clock: Option<PathBuf>,
}

impl Machine {
    pub(crate) fn new(directory: &TempDir) -> Self {
        Self {
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            disk: SlowDisk::new(directory),
            clock: clock_library(directory),
        }
    }

    /// Why a reason cannot be made here; `None` if it can.
    pub(crate) fn lacks(&self, reason: Reason) -> Option<&'static str> {
        let group = |controller| Group::new(controller, "anrscope-phone-probe").is_some();
        match reason {
            Reason::CpuLimit if !group("cpu") => Some("no control group of the controller cpu"),
            Reason::Background if !group("cpuset") => Some("no control group of the controller cpuset"),
            Reason::Memory if !group("memory") => Some("no control group of the controller memory"),
            Reason::Freezer if !group("freezer") => Some("no control group that freezes"),
            Reason::OwnStorage | Reason::OthersStorage | Reason::Memory if self.disk.is_none() => {
                Some("no loop device that can be throttled")
            }
            Reason::Clock if self.clock.is_none() => Some("no C compiler"),
            _ => None,
        }
    }
}

fn clock_library(directory: &TempDir) -> Option<PathBuf> {
    let library = directory.path().join("libclock.so");
    let source = harness::directory("phone").join("clock.c");
    let compiled = Command::new("cc")
        .args(["-O1", "-Wall", "-Werror", "-fPIC", "-shared", "-o"])
        .arg(&library)
        .arg(source)
        .status();
    compiled.ok()?.success().then_some(library)
}

/// What a case needs before the process runs.
pub(crate) struct Prepared<'a> {
    machine: &'a Machine,
    case: &'a Case,
    group: Option<Group>,
    /// The file that main works with.
    pub(crate) file: PathBuf,
    clock: PathBuf,
}

/// What goes on beside main; ended in the end.
pub(crate) struct Active {
    hogs: Vec<Child>,
    debugger: Option<std::thread::JoinHandle<()>>,
}

impl Drop for Active {
    fn drop(&mut self) {
        for hog in &mut self.hogs {
            // One that has ended by itself is no fault.
            let _ = hog.kill();
            let _ = hog.wait();
        }
        if let Some(debugger) = self.debugger.take() {
            let _ = debugger.join();
        }
    }
}

impl<'a> Prepared<'a> {
    pub(crate) fn new(machine: &'a Machine, case: &'a Case, directory: &TempDir) -> Self {
        let name = |leaf: &str| format!("anrscope-phone-{}-{leaf}", std::process::id());
        let group = match case.reason {
            Reason::CpuLimit => Group::new("cpu", &name(&case.name())),
            // The rule goes by the names of Android's groups.
            Reason::Background => Group::new("cpuset", "background"),
            Reason::Memory => Group::new("memory", &name(&case.name())),
            Reason::Freezer => Group::new("freezer", &name(&case.name())),
            _ => None,
        };
        let file = match (case.reason, &machine.disk) {
            (Reason::OwnStorage | Reason::OthersStorage | Reason::Memory, Some(disk)) => {
                disk.settle();
                disk.path("records")
            }
            _ => directory.path().join(format!("{}.records", case.name())),
        };
        if case.reason == Reason::Memory {
            let disk = machine.disk.as_ref().expect("checked before");
            disk.fill(&file, 64 << 20).expect("room on the slow disk");
        }
        let clock = directory.path().join(format!("{}.clock", case.name()));
        std::fs::write(&clock, 0_i64.to_le_bytes()).unwrap();
        Self { machine, case, group, file, clock }
    }

    /// Sets what the process gets from the start.
    pub(crate) fn command(&self, command: &mut Command) {
        if let (Reason::Clock, Some(library)) = (self.case.reason, &self.machine.clock) {
            command.env("LD_PRELOAD", library).env("PHONE_CLOCK", &self.clock);
        }
    }

    /// The process has just been started.
    pub(crate) fn started(&self, pid: u32) {
        let Some(group) = &self.group else { return };
        let set = |file: &str, value: &str| group.set(file, value).expect("a value of the control group");
        if self.case.reason == Reason::Background {
            let mems = std::fs::read_to_string("/sys/fs/cgroup/cpuset/cpuset.mems").unwrap_or("0".to_owned());
            set("cpuset.mems", mems.trim());
            set("cpuset.cpus", "0");
        }
        if matches!(self.case.reason, Reason::Memory | Reason::Freezer) {
            group.add(pid).expect("a process in the control group");
        }
    }

    /// Main has begun its message: makes the reason.
    pub(crate) fn hangs(&self, pid: u32) -> Active {
        let case = self.case;
        let mut active = Active { hogs: (0..case.hogs).map(|_| hog(case.reason)).collect(), debugger: None };
        let process = Pid::from_raw(pid as i32);
        let wait = |ms| std::thread::sleep(Duration::from_millis(ms));
        let group = || self.group.as_ref().expect("checked before");
        match case.reason {
            Reason::CpuLimit => {
                // 10 ms in each 100 ms, for all threads together.
                if group().unified {
                    group().set("cpu.max", "10000 100000").expect("a limit");
                } else {
                    group().set("cpu.cfs_period_us", "100000").expect("a period");
                    group().set("cpu.cfs_quota_us", "10000").expect("a limit");
                }
                group().add(pid).expect("a process in the control group");
            }
            Reason::Background => group().add(pid).expect("a process in the control group"),
            Reason::Memory => {
                let (file, used) = if group().unified {
                    ("memory.high", "memory.current")
                } else {
                    ("memory.limit_in_bytes", "memory.usage_in_bytes")
                };
                let used: u64 =
                    group().get(used).and_then(|bytes| bytes.parse().ok()).expect("the memory in use");
                group().set(file, &(used + (16 << 20)).to_string()).expect("a limit");
            }
            Reason::OthersStorage => {
                let disk = self.machine.disk.as_ref().expect("checked before");
                active.hogs.push(writer(&disk.path("others")));
            }
            Reason::Freezer => {
                wait(300);
                let (file, on, off) = if group().unified {
                    ("cgroup.freeze", "1", "0")
                } else {
                    ("freezer.state", "FROZEN", "THAWED")
                };
                group().set(file, on).expect("frozen");
                wait(case.stopped_ms);
                group().set(file, off).expect("thawed");
            }
            Reason::StopSignal => {
                wait(300);
                kill(process, Signal::SIGSTOP).unwrap();
                wait(case.stopped_ms);
                kill(process, Signal::SIGCONT).unwrap();
            }
            Reason::Debugger => {
                wait(300);
                let (stopped, main_only) =
                    (Duration::from_millis(case.stopped_ms), case.seed.is_multiple_of(2));
                active.debugger = Some(std::thread::spawn(move || debug(process, stopped, main_only)));
            }
            Reason::Clock => {
                wait(200);
                let back = -(case.stopped_ms as i64) * 1_000_000;
                // In place: the process has the file mapped.
                let file = std::fs::OpenOptions::new().write(true).open(&self.clock).unwrap();
                std::os::unix::fs::FileExt::write_at(&file, &back.to_le_bytes(), 0).unwrap();
            }
            Reason::Busy
            | Reason::OwnThreads
            | Reason::OtherProcesses
            | Reason::OwnStorage
            | Reason::Collector => {}
        }
        active
    }
}

/// A process that computes.
fn hog(reason: Reason) -> Child {
    const LOOP: [&str; 3] = ["sh", "-c", "while :; do :; done"];
    // Android's background processes share a few CPUs.
    let pinned: &[&str] = if reason == Reason::Background { &["taskset", "-c", "0"] } else { &["env"] };
    let words = pinned.iter().chain(&LOOP[..]);
    let mut command = Command::new(pinned[0]);
    command.args(words.skip(1)).stdin(Stdio::null()).stdout(Stdio::null());
    command.spawn().expect("taskset, of util-linux")
}

/// A process that writes a file again and again.
fn writer(file: &Path) -> Child {
    let script =
        format!("while :; do dd if=/dev/zero of='{}' bs=1M count=16 2>/dev/null; done", file.display());
    Command::new("sh").args(["-c", &script]).stdin(Stdio::null()).spawn().expect("a shell")
}

/// Attaches to main or to all threads, stops them for so long, and stays attached until they end (man 2 ptrace).
fn debug(process: Pid, stopped: Duration, main_only: bool) {
    let request = |request, tid: i32, data: usize| {
        // SAFETY: these requests read no memory of this process: SEIZE, INTERRUPT and CONT take numbers.
        nix::errno::Errno::result(unsafe { libc::ptrace(request, tid, 0, data) })
    };
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let tids: Vec<i32> = tasks.filter_map(|task| task.file_name().to_str()?.parse().ok()).collect();
    // HotSpot runs `main` on a thread that the launcher starts; both are called `java`.
    let of_java = tids.iter().copied().find(|tid| *tid != process.as_raw() && comm(process, *tid) == "java");
    let seized: Vec<i32> = if main_only { of_java.into_iter().collect() } else { tids };
    let seized: Vec<i32> =
        seized.into_iter().filter(|tid| request(libc::PTRACE_SEIZE, *tid, 0).is_ok()).collect();
    for tid in &seized {
        let _ = request(libc::PTRACE_INTERRUPT, *tid, 0);
    }
    let wait = |tid: i32| {
        let mut status = 0;
        // SAFETY: `status` is an int of this thread, which waitpid fills.
        let found = unsafe { libc::waitpid(tid, &raw mut status, libc::__WALL) };
        (found > 0).then_some(status)
    };
    for tid in &seized {
        wait(*tid);
    }
    std::thread::sleep(stopped);
    for tid in &seized {
        let _ = request(libc::PTRACE_CONT, *tid, 0);
    }
    // A debugger hands signals on. It stays for a moment, as an engineer does who reads the stacks.
    let end = std::time::Instant::now() + Duration::from_millis(900);
    while std::time::Instant::now() < end {
        for tid in &seized {
            let mut status = 0;
            // SAFETY: as above; WNOHANG returns at once.
            let found = unsafe { libc::waitpid(*tid, &raw mut status, libc::__WALL | libc::WNOHANG) };
            if found > 0 && libc::WIFSTOPPED(status) {
                let signal = if status >> 16 == 0 { libc::WSTOPSIG(status) } else { 0 };
                let _ = request(libc::PTRACE_CONT, *tid, signal as usize);
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    // The end of this thread detaches; threads that are stopped go on.
}

fn comm(process: Pid, tid: i32) -> String {
    let path = format!("/proc/{process}/task/{tid}/comm");
    std::fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}
