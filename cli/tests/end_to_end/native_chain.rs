//! Generated C libraries whose chains of calls are known, for `dev.anrscope.NativeChain`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::end_to_end::life;
use test_support::android::Case;
use test_support::temp_dir::TempDir;

/// Innermost functions of which a signal takes the stack.
pub(crate) const BY_SIGNAL: [&str; 3] = ["leaf_compute", "leaf_read", "leaf_mutex"];
/// Innermost functions whose wait a signal would end: their stack is read without one, and so without most registers.
pub(crate) const WITHOUT_SIGNAL: [&str; 2] = ["leaf_sleep", "leaf_poll"];
const OPTIMISATION: [&str; 4] = ["-O0", "-O1", "-O2", "-O3"];
const CLASS: &str = "dev.anrscope.NativeChain";

/// A reproducible sequence of numbers: SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len() as u64) as usize]
    }
}

/// A program: its library and how Java comes to it.
pub(crate) struct Chain {
    pub(crate) name: String,
    /// The generated functions, as source.
    source: String,
    is_cpp: bool,
    flags: Vec<&'static str>,
    /// The library of the app has no symbols: they are in a directory.
    pub(crate) is_stripped: bool,
    pub(crate) leaf: &'static str,
    /// The functions below the leaf, innermost first, each with the C library's code between it and its caller.
    inner: Vec<(String, bool)>,
    outer: Vec<(String, bool)>,
    pub(crate) route: String,
    before: u32,
    jvm: Vec<&'static str>,
}

/// One chain: functions `PREFIX_0` to `PREFIX_N`, the last of which calls `end`. Returns them innermost first.
fn functions(random: &mut Random, prefix: &str, end: &str, source: &mut String) -> Vec<(String, bool)> {
    let depth = 1 + random.below(20);
    let name = |k: u64| format!("{prefix}_{k}");
    let mut frames = Vec::new();
    for k in (0..depth).rev() {
        let (own, next) = (name(k), if k + 1 == depth { end.to_owned() } else { name(k + 1) });
        let salt = random.below(1_000);
        let mut times = 1;
        let body = match random.below(7) {
            // A frame whose length is known at run time only.
            0 => format!(
                "char *room = (char *)alloca(16 + (ms & 63) + {salt}); room[0] = 1; *(volatile char *)(room + 9) = 2;\n\
                 long result = {next}(ms); AFTER; return result + room[0];"
            ),
            // A long frame.
            1 => format!(
                "volatile char room[{}]; room[{salt}] = 1; long result = {next}(ms); AFTER; return result + room[{salt}];",
                1_001 + 4 * salt
            ),
            // Many values that live across the call.
            2 => format!(
                "long a = ms * 3, b = ms ^ {salt}, c = ms + 5, d = ms - 7, e = ms * 11, f = ms | 13;\n\
                 __asm__ volatile(\"\" : \"+r\"(a), \"+r\"(b), \"+r\"(c), \"+r\"(d), \"+r\"(e), \"+r\"(f));\n\
                 long result = {next}(ms); AFTER; return result + a + b * c + d * e + f;"
            ),
            // By a pointer.
            3 => format!(
                "long (*volatile callee)(long) = {next}; long result = callee(ms); AFTER; return result + {salt};"
            ),
            // Recursive.
            4 => {
                times = 2 + random.below(5);
                let turn = format!("{own}_turn");
                writeln!(
                    source,
                    "ALONE long {own}(long ms);\nstatic volatile int {turn};\n\
                     ALONE long {own}(long ms) {{ if ({turn} < {}) {{ {turn}++; long result = {own}(ms); AFTER; return result + 1; }}\n\
                     {turn} = 0; long result = {next}(ms); AFTER; return result + 1; }}",
                    times - 1
                )
                .unwrap();
                String::new()
            }
            // Called back by the C library.
            5 => {
                let compare = format!("{own}_compare");
                writeln!(
                    source,
                    "static volatile long {own}_ms, {own}_result; static volatile int {own}_once;\n\
                     ALONE int {compare}(const void *a, const void *b) {{ if (!{own}_once++) {own}_result = {next}({own}_ms); AFTER;\n\
                     return *(const int *)a - *(const int *)b; }}"
                )
                .unwrap();
                frames.push((compare, true));
                format!(
                    "int pair[2] = {{2, 1}}; {own}_ms = ms; {own}_once = 0; qsort(pair, 2, sizeof pair[0], {own}_compare); AFTER;\n\
                     return {own}_result + pair[0];"
                )
            }
            _ => format!("long result = {next}(ms + 0); AFTER; return result + {salt};"),
        };
        if !body.is_empty() {
            writeln!(source, "ALONE long {own}(long ms) {{ {body} }}").unwrap();
        }
        frames.extend((0..times).map(|_| (own.clone(), false)));
    }
    frames
}

impl std::fmt::Display for Chain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, flags, leaf, route, before, jvm, is_cpp, is_stripped, .. } = self;
        write!(
            f,
            "{name} (flags {flags:?}, C++ {is_cpp}, stripped {is_stripped}, {leaf}, route {route}, {before} calls before, {jvm:?})"
        )
    }
}

impl Chain {
    /// The chain of this number with one of these innermost functions: the same each time.
    pub(crate) fn new(number: u64, leaves: &[&'static str]) -> Self {
        let mut random = Random(number);
        let mut source = String::new();
        let leaf = leaves[(number % leaves.len() as u64) as usize];
        let inner = functions(&mut random, "decode", leaf, &mut source);
        let outer = functions(&mut random, "bridge", "up", &mut source);
        writeln!(source, "#define INNER decode_0\n#define OUTER bridge_0").unwrap();
        let mut route: String = (0..1 + random.below(8)).map(|_| random.of(&["a", "b", "c", "d"])).collect();
        if random.below(3) == 0 {
            route.insert(random.below(route.len() as u64 + 1) as usize, 'N');
        }
        let mut flags = vec![random.of(&OPTIMISATION)];
        flags.push(random.of(&["-fno-omit-frame-pointer", "-fomit-frame-pointer"]));
        // Compiled by the virtual machine, or interpreted.
        let before = *[0, 0, 3_000].get(random.below(3) as usize).unwrap_or(&0);
        let jvm = if random.below(4) == 0 { vec!["-Xint"] } else { Vec::new() };
        Self {
            name: format!("{leaf}-{number}"),
            source,
            is_cpp: random.below(3) == 0,
            flags,
            is_stripped: random.below(2) == 0,
            leaf,
            inner,
            outer,
            route,
            before: if jvm.is_empty() { before } else { 0 },
            jvm,
        }
    }

    /// The name of a function, as it is shown.
    pub(crate) fn shown(&self, function: &str) -> String {
        match (self.is_cpp, function.ends_with("_compare")) {
            (false, _) => function.to_owned(),
            (true, false) => format!("chain::{function}(long)"),
            (true, true) => format!("chain::{function}(void const*, void const*)"),
        }
    }

    /// The name of the innermost function.
    pub(crate) fn root(&self) -> String {
        self.shown(self.leaf)
    }

    /// The whole stack from the innermost function on; code of the C library and of the virtual machine as one line each. `java` are
    /// Java's frames above the native method.
    pub(crate) fn expected(&self, java: &[String]) -> Vec<String> {
        let mut all = Vec::new();
        if self.leaf != "leaf_compute" {
            all.push("<libc.so>".to_owned());
        }
        let chain = |frames: &[(String, bool)], all: &mut Vec<String>| {
            for (function, is_called_back) in frames {
                all.push(self.shown(function));
                all.extend(is_called_back.then(|| "<libc.so>".to_owned()));
            }
        };
        all.push(self.root());
        chain(&self.inner, &mut all);
        all.extend(["run_inner", "stuck_for"].map(|function| self.shown(function)));
        all.push("Java_dev_anrscope_NativeChain_stuck".to_owned());
        all.push(format!("{CLASS}.stuck"));
        for frame in java {
            if *frame == format!("{CLASS}.through") {
                all.extend(["<libjvm.so>".to_owned(), self.shown("up")]);
                chain(&self.outer, &mut all);
                all.push(self.shown("run_outer"));
                all.push("Java_dev_anrscope_NativeChain_through".to_owned());
            }
            all.push(frame.clone());
        }
        all.extend(["<libjvm.so>", "<libjli.so>", "<libc.so>"].map(str::to_owned));
        all
    }

    /// Compiles the library. Returns it and the directory of its symbols.
    pub(crate) fn library(&self, directory: &Path) -> (PathBuf, PathBuf) {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let (sources, symbols) = (directory.join(&self.name), directory.join(&self.name).join("symbols"));
        std::fs::create_dir_all(&symbols).unwrap();
        std::fs::write(sources.join("chain.inc"), &self.source).unwrap();
        let unstripped = symbols.join("libchain.so");
        let compiled = Command::new(if self.is_cpp { "c++" } else { "cc" })
            .args(if self.is_cpp { ["-x", "c++"] } else { ["-x", "c"] })
            .args(&self.flags)
            .args(["-w", "-fPIC", "-shared", "-pthread", "-Wl,--build-id"])
            .arg("-I")
            .arg(&sources)
            .args(["-I".as_ref(), here.join("../trace-runtime/include").as_os_str()])
            .args(java_includes().iter().flat_map(|directory| ["-I".as_ref(), directory.as_os_str()]))
            .arg(here.join("tests/end_to_end/data/native_chain.c"))
            .args(["-ldl".as_ref(), "-o".as_ref(), unstripped.as_os_str()])
            .output()
            .expect("cc: run scripts/test, which installs a C compiler");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let library = sources.join("libchain.so");
        if self.is_stripped {
            let strip = Command::new("strip").arg("-o").args([&library, &unstripped]).status().unwrap();
            assert!(strip.success());
        } else {
            std::fs::rename(&unstripped, &library).unwrap();
        }
        (library, symbols)
    }

    /// The program in this mode, for `ms`.
    pub(crate) fn case(&self, mode: &str, library: &Path, ms: u32) -> Case {
        let own = own_library();
        let case = Case::new("NativeChain").named(&format!("{mode}-{}", self.name)).in_memory_first();
        let case = case.library(own).environment("ANRSCOPE_LIBRARY", own);
        let directory = case.directory();
        let case = self.jvm.iter().fold(case, |case, option| case.jvm(option));
        let before = if mode == "chain" { self.before } else { 0 };
        let words = [library.to_str().unwrap(), mode, &self.route, &before.to_string(), &ms.to_string()];
        let case = words.iter().fold(case.word(directory.to_str().unwrap()), |case, word| case.word(word));
        let options =
            ["native_stacks=1", "native_stack_interval_ms=100", "sample_from_ms=100", "sample_ms=66"];
        options.iter().fold(case, |case, option| case.word(option))
    }
}

/// The library that the program carries, laid out once.
fn own_library() -> &'static Path {
    static OWN: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = OWN.get_or_init(|| {
        let directory = TempDir::new();
        let library = life::library(&directory);
        (directory, library)
    });
    path
}

/// The directories of `jni.h` and `jni_md.h`.
fn java_includes() -> &'static [PathBuf; 2] {
    static INCLUDES: OnceLock<[PathBuf; 2]> = OnceLock::new();
    INCLUDES.get_or_init(|| {
        let shown =
            Command::new("java").args(["-XshowSettings:properties", "-version"]).output().expect("java");
        let shown = String::from_utf8_lossy(&shown.stderr).into_owned();
        let home =
            shown.lines().find_map(|line| line.trim().strip_prefix("java.home = ")).expect("java.home");
        let include = Path::new(home).join("include");
        assert!(
            include.join("jni.h").exists(),
            "{}: run scripts/test, which installs a JDK",
            include.display()
        );
        [include.join("linux"), include]
    })
}
