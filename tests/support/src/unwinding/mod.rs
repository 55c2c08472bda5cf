//! Programs that record their own call chains, and the stacks that they capture of themselves: what an unwinder is compared with.

pub mod generate;
pub mod judge;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use native_stacks::{End, Files, Unwinder};
use trace_format::native_slot::Machine;
use trace_format::sections::native_modules::{Mapping, NativeModules};
use trace_format::sections::native_stack::NativeStack;

use generate::{Language, Random};
use judge::{Entry, Judgement, Places, Verdict, judge};

const SNAPSHOT_C: &str = include_str!("snapshot.c");
const SNAPSHOT_H: &str = include_str!("snapshot.h");

/// How a program is built.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Build {
    /// The machine, as `--machine` names it.
    pub machine: &'static str,
    /// The language.
    pub language: Language,
    /// The level of optimisation, 0 to 3.
    pub level: u8,
    /// Whether functions keep a frame pointer, where they could do without.
    pub frame_pointers: bool,
    /// Whether return addresses are signed (aarch64).
    pub signed: bool,
    /// The seed of the program and of its chains.
    pub seed: u64,
}

impl Build {
    /// Its row in the table: all but the seed.
    pub fn row(&self) -> (String, &'static str, u8, bool) {
        let machine = if self.signed { format!("{}-pac", self.machine) } else { self.machine.to_owned() };
        (machine, self.language.name(), self.level, self.frame_pointers)
    }

    /// The prefix of the compiler's name, and the emulator's command.
    fn tools(&self) -> (&'static str, Vec<&'static str>) {
        match self.machine {
            "aarch64" => {
                ("aarch64-linux-gnu-", vec!["qemu-aarch64", "-cpu", "max", "-L", "/usr/aarch64-linux-gnu"])
            }
            "arm" => ("arm-linux-gnueabihf-", vec!["qemu-arm", "-L", "/usr/arm-linux-gnueabihf"]),
            _ => ("", Vec::new()),
        }
    }

    /// Writes and compiles the program in `directory`; its path.
    pub fn compile(&self, directory: &Path, libunwind: bool) -> Result<PathBuf, String> {
        let write = |name: &str, text: &str| {
            std::fs::write(directory.join(name), text).map_err(|error| error.to_string())
        };
        write("snapshot.c", SNAPSHOT_C)?;
        write("snapshot.h", SNAPSHOT_H)?;
        let program = directory.join("program");
        let source = generate::program(self.language, self.level >= 2, self.seed);
        let (prefix, _) = self.tools();
        let mut random = Random::new(self.seed ^ 0x5eed);
        let mut flags = vec![
            format!("-O{}", self.level),
            format!("-f{}omit-frame-pointer", if self.frame_pointers { "no-" } else { "" }),
            "-w".to_owned(),
            "-pthread".to_owned(),
            "-I.".to_owned(),
        ];
        match self.machine {
            // As Android's NDK does. Tables are not the default of this machine.
            "arm" => {
                flags.push("-funwind-tables".to_owned());
                flags.push(random.of(&["-mthumb", "-mthumb", "-marm"]).to_owned());
            }
            "aarch64" if self.signed => flags.push("-mbranch-protection=standard".to_owned()),
            "x86_64" => {
                flags.push(random.of(&["-fcf-protection=none", "-fcf-protection=full"]).to_owned());
                flags.push(random.of(&["-fplt", "-fplt", "-fno-plt"]).to_owned());
            }
            _ => {}
        }
        let mut link = vec![random.of(&["-pie", "-pie", "-no-pie", "-Wl,-z,now"]).to_owned()];
        if libunwind {
            flags.push("-DTR_LIBUNWIND".to_owned());
            link.extend(["-lunwind-x86_64".to_owned(), "-lunwind".to_owned()]);
        } else if self.language != Language::Rust && random.below(5) == 0 {
            link = vec!["-static".to_owned()];
        }
        let run = |tool: &str, arguments: &[String]| {
            let output =
                Command::new(tool).args(arguments).current_dir(directory).output().map_err(|error| {
                    format!("cannot run {tool}: {error}; scripts/install-test-needs installs it")
                })?;
            if output.status.success() {
                return Ok(());
            }
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            Err(format!("{tool} {}: {}", arguments.join(" "), text.chars().take(2_000).collect::<String>()))
        };
        let gcc = format!("{prefix}gcc");
        let mut object = flags.clone();
        object.extend(["-c", "snapshot.c", "-o", "snapshot.o"].map(str::to_owned));
        run(&gcc, &object)?;
        if self.language == Language::Rust {
            write("program.rs", &source)?;
            let mut arguments: Vec<String> = [
                "--edition=2024",
                "-Awarnings",
                "-Cdebuginfo=0",
                "-Clink-arg=snapshot.o",
                "-Clink-arg=-pthread",
                "-Cstrip=none",
            ]
            .map(str::to_owned)
            .into();
            arguments.push(format!("-Copt-level={}", self.level));
            arguments
                .push(format!("-Cforce-frame-pointers={}", if self.frame_pointers { "yes" } else { "no" }));
            arguments.extend(
                link.iter().filter(|flag| flag.starts_with("-l")).map(|flag| format!("-Clink-arg={flag}")),
            );
            arguments.extend(["program.rs", "-o", "program"].map(str::to_owned));
            run("rustc", &arguments)?;
        } else {
            let (name, compiler) = if self.language == Language::C {
                ("program.c", gcc)
            } else {
                ("program.cc", format!("{prefix}g++"))
            };
            write(name, &source)?;
            let mut arguments = flags;
            arguments.extend([name, "snapshot.o", "-o", "program"].map(str::to_owned));
            arguments.extend(link);
            run(&compiler, &arguments)?;
        }
        Ok(program)
    }

    /// Runs the program; the captures of `count` chains.
    pub fn run(&self, program: &Path, count: usize) -> Result<Captures, String> {
        let out = program.with_file_name("captures");
        let (_, emulator) = self.tools();
        let mut words: Vec<&str> = vec!["timeout", "300"];
        words.extend(emulator);
        let status = Command::new(words[0])
            .args(&words[1..])
            .arg(program)
            .arg(&out)
            .arg(self.seed.to_string())
            .arg(count.to_string())
            .status()
            .map_err(|error| {
                format!("cannot run {}: {error}; scripts/install-test-needs installs it", words.join(" "))
            })?;
        if !status.success() {
            return Err(format!("{self:?}: the program ended with {status}"));
        }
        let bytes = std::fs::read(&out).map_err(|error| error.to_string())?;
        Captures::read(&bytes).ok_or_else(|| format!("{self:?}: cannot read the captures"))
    }
}

/// A stack, the chain that it must show, and the same stack as others unwind it.
pub struct Capture {
    /// Registers and stack bytes.
    pub stack: NativeStack,
    /// How the chain ends: the cases of `tr_leaf` in `snapshot.h`.
    pub kind: u64,
    /// The chain, innermost first.
    pub truth: Vec<Entry>,
    /// What libunwind and libgcc found.
    pub peers: [Option<Vec<u64>>; 2],
    /// How long they took, ns.
    pub taken: [u64; 2],
}

/// What a program wrote.
pub struct Captures {
    /// Its modules.
    pub modules: NativeModules,
    /// Its stacks.
    pub all: Vec<Capture>,
}

impl Captures {
    fn read(mut bytes: &[u8]) -> Option<Self> {
        let mut modules = None;
        let mut all: Vec<Capture> = Vec::new();
        while let Some((head, rest)) = bytes.split_at_checked(5) {
            let length = u32::from_le_bytes(head[1..].try_into().ok()?) as usize;
            let (payload, rest) = rest.split_at_checked(length)?;
            bytes = rest;
            let words =
                || payload.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")));
            match head[0] {
                1 => modules = NativeModules::parse(payload),
                2 => {
                    let stack = NativeStack::parse(payload)?;
                    all.push(Capture {
                        stack,
                        kind: 0,
                        truth: Vec::new(),
                        peers: [None, None],
                        taken: [0; 2],
                    });
                }
                3 => {
                    let words: Vec<u64> = words().collect();
                    let capture = all.last_mut()?;
                    capture.kind = *words.first()?;
                    capture.truth = words[1..]
                        .chunks_exact(2)
                        .map(|pair| Entry { id: pair[0], address: pair[1] })
                        .collect();
                }
                peer @ 4..=5 => all.last_mut()?.peers[usize::from(peer) - 4] = Some(words().collect()),
                6 => {
                    let mut words = words();
                    all.last_mut()?.taken = [words.next()?, words.next()?];
                }
                _ => return None,
            }
        }
        Some(Self { modules: modules?, all })
    }
}

/// ELF files where the mappings say that they are.
#[derive(Default)]
pub struct Disk(HashMap<String, Option<Arc<[u8]>>>);

impl Files for Disk {
    fn elf(&mut self, mapping: &Mapping) -> Option<Arc<[u8]>> {
        let read = |path: &String| std::fs::read(path).ok().map(Arc::from);
        self.0.entry(mapping.path.clone()).or_insert_with_key(read).clone()
    }
}

/// How many stacks are right, short and wrong.
#[derive(Clone, Copy, Default, Debug)]
pub struct Count {
    /// Stacks.
    pub all: u64,
    /// Right to the root.
    pub right: u64,
    /// Right as far as they go.
    pub short: u64,
    /// With a wrong frame.
    pub wrong: u64,
}

impl Count {
    /// Counts a stack.
    pub fn add(&mut self, verdict: Verdict) {
        self.all += 1;
        match verdict {
            Verdict::Right => self.right += 1,
            Verdict::Short => self.short += 1,
            Verdict::Wrong => self.wrong += 1,
        }
    }

    /// Adds what another counted.
    pub fn merge(&mut self, other: Self) {
        self.all += other.all;
        self.right += other.right;
        self.short += other.short;
        self.wrong += other.wrong;
    }

    /// These of 100 stacks.
    pub fn percent(&self, count: u64) -> f64 {
        100.0 * count as f64 / self.all.max(1) as f64
    }
}

/// What came out for a program.
#[derive(Default)]
pub struct Tally {
    /// Of our unwinder.
    pub ours: Count,
    /// Of libunwind and libgcc.
    pub peers: [Count; 2],
    /// Frames and nanoseconds of our unwinder, libunwind and libgcc.
    pub speed: [(u64, u64); 3],
    /// Stacks that are short, but said to be complete.
    pub claimed: u64,
    /// Stacks that are right, but not said to be complete.
    pub unsure: u64,
    /// Frames of the longest chain, and of all.
    pub deepest: usize,
    /// Generated functions on all stacks.
    pub functions: u64,
    /// Chains that differ from all others.
    pub chains: std::collections::HashSet<u64>,
    /// What is not right, by cause.
    pub causes: BTreeMap<String, u64>,
    /// The first few of what is not right, whole.
    pub failures: Vec<String>,
}

impl Tally {
    /// Adds what another counted.
    pub fn merge(&mut self, other: Self) {
        self.ours.merge(other.ours);
        self.peers[0].merge(other.peers[0]);
        self.peers[1].merge(other.peers[1]);
        for (own, other) in self.speed.iter_mut().zip(other.speed) {
            own.0 += other.0;
            own.1 += other.1;
        }
        self.claimed += other.claimed;
        self.unsure += other.unsure;
        self.deepest = self.deepest.max(other.deepest);
        self.functions += other.functions;
        self.chains.extend(other.chains);
        for (cause, count) in other.causes {
            *self.causes.entry(cause).or_default() += count;
        }
        self.failures.extend(other.failures);
        self.failures.truncate(64);
    }
}

/// What must hold for a machine.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The least share of stacks that are right to the root, percent.
    pub right: f64,
    /// The largest share with a wrong frame, percent.
    pub wrong: f64,
}

impl Limits {
    /// Of this machine, as [`Build::row`] names it.
    pub fn of(machine: &str) -> Self {
        Self { right: if machine == "arm" { 98.0 } else { 99.5 }, wrong: 0.1 }
    }

    /// Of some hundred stacks, among which there may be some more that are short, and no more that are wrong.
    pub fn of_few(machine: &str) -> Self {
        let limits = Self::of(machine);
        Self { right: limits.right - 3.0, ..limits }
    }

    /// Whether they hold, and no stack that is not right is said to be complete.
    pub fn hold(self, tally: &Tally) -> bool {
        let ours = &tally.ours;
        ours.all > 0
            && ours.percent(ours.right) >= self.right
            && ours.percent(ours.wrong) <= self.wrong
            && tally.claimed == 0
    }
}

/// Other unwinders, on the same stacks.
const PEERS: [&str; 2] = ["libunwind", "libgcc"];

/// The names of the kinds of `tr_leaf`.
const KINDS: [&str; 11] = [
    "raise",
    "tgkill",
    "read",
    "nanosleep",
    "futex",
    "sem_wait",
    "poll",
    "fault",
    "loop",
    "anywhere",
    "handler anywhere",
];

/// Unwinds all captures of a program and compares them with its own chains.
pub fn compare(build: &Build, program: &Path, captures: &Captures) -> Tally {
    let mut tally = Tally::default();
    let Some(machine) = captures.all.first().map(|capture| capture.stack.machine) else { return tally };
    let bytes = std::fs::read(program).unwrap_or_default();
    let path = program.canonicalize().unwrap_or_else(|_| program.to_owned());
    let places =
        Places::new(&captures.modules, &path.to_string_lossy(), &bytes, |path| std::fs::read(path).ok());
    let mut disk = Disk::default();
    let unwinder = Unwinder::new(machine, &captures.modules, &mut disk);
    let thumb = machine == Machine::Arm;
    for capture in &captures.all {
        let pc = capture.stack.pc() & !u64::from(thumb);
        let begin = std::time::Instant::now();
        let found = unwinder.unwind(&capture.stack, &capture.stack.stack);
        tally.speed[0].1 += begin.elapsed().as_nanos() as u64;
        tally.speed[0].0 += found.frames.len() as u64;
        let frames: Vec<u64> = found.frames.iter().map(|frame| frame.pc).collect();
        let judged = judge(&places, &frames, &capture.truth, pc, thumb, false);
        tally.ours.add(judged.verdict);
        for (peer, frames) in capture.peers.iter().enumerate() {
            let Some(frames) = frames else { continue };
            tally.speed[1 + peer].0 += frames.len() as u64;
            tally.speed[1 + peer].1 += capture.taken[peer];
            let judged = judge(&places, frames, &capture.truth, pc, thumb, true);
            tally.peers[peer].add(judged.verdict);
            if judged.verdict != Verdict::Right {
                let cause = format!("{}: {:?}: {}", PEERS[peer], judged.verdict, judged.why);
                if *tally.causes.entry(cause.clone()).and_modify(|count| *count += 1).or_insert(1) == 1 {
                    tally.failures.push(describe(build, capture, &places, frames, &judged, &cause));
                }
            }
        }
        let complete = found.end == End::Complete;
        tally.claimed += u64::from(judged.verdict != Verdict::Right && complete);
        tally.unsure += u64::from(judged.verdict == Verdict::Right && !complete);
        let ids: Vec<u64> = capture.truth.iter().map(|entry| entry.id).filter(|id| *id < 1 << 32).collect();
        tally.deepest = tally.deepest.max(ids.len());
        tally.functions += ids.len() as u64;
        tally.chains.insert(hash(&(build.row(), build.seed, ids)));
        if judged.verdict != Verdict::Right {
            let kind = KINDS.get(capture.kind as usize).copied().unwrap_or("?");
            let cause =
                format!("{:?} {} ({kind}): {}, {}", judged.verdict, build.row().0, judged.why, found.end);
            if *tally.causes.entry(cause.clone()).and_modify(|count| *count += 1).or_insert(1) == 1 {
                tally.failures.push(describe(build, capture, &places, &frames, &judged, &cause));
            }
        }
    }
    tally
}

fn hash(value: &impl std::hash::Hash) -> u64 {
    use std::hash::Hasher as _;
    let mut hasher = std::hash::DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn describe(
    build: &Build,
    capture: &Capture,
    places: &Places,
    frames: &[u64],
    judged: &Judgement,
    cause: &str,
) -> String {
    let names: Vec<String> = frames
        .iter()
        .enumerate()
        .map(|(i, pc)| format!("{}{:#x} {}", if i == judged.at { ">> " } else { "" }, pc, places.name(*pc)))
        .collect();
    let truth: Vec<String> = capture
        .truth
        .iter()
        .map(|entry| match entry.id >> 32 {
            0 => format!("{}", entry.id),
            1 => "library".into(),
            2 => "maybe".into(),
            _ => format!("signal at {}", places.name(entry.address)),
        })
        .collect();
    format!(
        "{cause}\n  {build:?}, capture {}, sp {:#x}, {} bytes of stack\n  truth: {}\n  frames: {}",
        capture.stack.number,
        capture.stack.sp,
        capture.stack.stack.len(),
        truth.join(" "),
        names.join(" | ")
    )
}

/// Builds and runs a program in a directory of its own below `directory`, and compares; the directory is removed unless `keep`.
pub fn prove(
    build: &Build,
    directory: &Path,
    count: usize,
    libunwind: bool,
    keep: bool,
) -> Result<Tally, String> {
    let (machine, language, level, frame_pointers) = build.row();
    let own = directory.join(format!("{machine}-{language}-O{level}-{frame_pointers}-{}", build.seed));
    std::fs::create_dir_all(&own).map_err(|error| error.to_string())?;
    let own = own.canonicalize().map_err(|error| error.to_string())?;
    let program = build.compile(&own, libunwind)?;
    let captures = build.run(&program, count)?;
    let tally = compare(build, &program, &captures);
    if !keep {
        let _ = std::fs::remove_dir_all(&own);
    }
    Ok(tally)
}
