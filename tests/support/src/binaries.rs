//! Libraries to name: compiled from C, C++ and Rust, stripped in every way.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// C++ with functions that are inlined into each other, in a template, a namespace and a class.
const CPP: &str = r#"
#include <cstdint>
#include <string>
#include <vector>
namespace sk {
static volatile uint64_t seed = 88172645463325252ull;
extern "C" __attribute__((noinline)) uint64_t read_all(uint64_t from) {
    uint64_t x = seed ^ from;
    for (int i = 0; i < 40; ++i) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; seed = x; }
    return x;
}
template <typename T> static inline T step(T value) {
    if (value % 3 == 0) return static_cast<T>(read_all(value) + 1);
    return value * 5;
}
class Image {
  public:
    explicit Image(uint64_t width) : width_(width) {}
    inline uint64_t rows(uint64_t n) const { return step<uint64_t>(n) + step<uint64_t>(n + width_); }
    __attribute__((noinline)) uint64_t decode(const char *name, std::vector<int> &out) const {
        uint64_t sum = 0;
        for (const char *at = name; *at; ++at) { sum += rows(static_cast<uint64_t>(*at)); out.push_back(static_cast<int>(sum)); }
        return sum;
    }
  private:
    uint64_t width_;
};
namespace { __attribute__((noinline)) uint64_t hidden(uint64_t n) { return step<uint64_t>(n) ^ read_all(n); } }
static __attribute__((noinline)) uint64_t only_here(uint64_t n) { return hidden(n) + 7 * hidden(n + 1); }
}
extern "C" uint64_t entry(const char *name) {
    std::vector<int> out;
    sk::Image image(9);
    auto twice = [&](uint64_t n) { return sk::only_here(n) + image.decode(name, out); };
    return twice(3) + twice(out.size());
}
"#;

/// C with a function in assembler without a size, aliases, a weak function and a constructor.
const C: &str = r#"
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) int chosen_global(int a) { char *x = malloc((size_t)a + 1); memset(x, a, (size_t)a); int r = x[0] + rand(); free(x); return r; }
extern int another_alias(int) __attribute__((alias("chosen_global"), weak));
static __attribute__((noinline)) int local_only(int a) { return chosen_global(a) * 3 + rand(); }
static inline int folded(int a) { return local_only(a) + local_only(a + 1); }
int exported(int a) { return folded(a) - another_alias(a); }
#if defined(__x86_64__) || defined(__i386__) || defined(__aarch64__) || defined(__arm__)
__asm__(".text\n.globl no_size\n.type no_size, %function\nno_size:\n.rept 40\nnop\n.endr\n"
        ".globl sized\n.type sized, %function\nsized:\n.rept 8\nnop\n.endr\n.size sized, 8\n.rept 64\nnop\n.endr\n");
#endif
"#;

const RUST: &str = r#"
pub mod codec {
    pub trait Decode { fn decode(&self, from: &str) -> usize; }
    pub struct Rows<T>(pub Vec<T>);
    #[inline(always)]
    fn measure(text: &str) -> usize { text.chars().filter(|c| c.is_ascii_digit()).count() + text.len() }
    impl<T: Clone + Into<u64>> Decode for Rows<T> {
        #[inline(never)]
        fn decode(&self, from: &str) -> usize {
            self.0.iter().map(|row| row.clone().into() as usize).sum::<usize>() + measure(from)
        }
    }
}
#[unsafe(no_mangle)]
pub extern "C" fn rust_entry(n: u32) -> usize {
    use codec::Decode;
    codec::Rows(vec![n, n + 1]).decode(&format!("{n}x{n}"))
}
"#;

/// A directory for one test, which is removed with it.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = crate::temporary().join(format!("{name}-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// A path in it, whose directories exist.
    pub fn path(&self, name: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    pub fn directory(&self, name: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(&path).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs a program; its output, or a panic with what it said.
pub fn run<S: AsRef<OsStr>>(program: &str, arguments: impl IntoIterator<Item = S>) -> String {
    let output = Command::new(program).env("LC_ALL", "C").args(arguments).output();
    let output =
        output.unwrap_or_else(|error| panic!("{program}: {error}: scripts/install-test-needs installs it"));
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Compiles a library; `name` ends with `.so`.
pub fn compile(scratch: &Scratch, language: &str, name: &str, flags: &[&str]) -> PathBuf {
    let (source, text, compiler) = match language {
        "c" => ("source.c", C, "gcc"),
        "c++" => ("source.cpp", CPP, "g++"),
        "rust" => ("source.rs", RUST, "rustc"),
        other => panic!("no compiler for {other}"),
    };
    let (source, output) = (scratch.path(source), scratch.path(name));
    fs::write(&source, text).unwrap();
    let mut arguments: Vec<&OsStr> = flags.iter().map(OsStr::new).collect();
    if language == "rust" {
        arguments
            .extend(["--crate-type=cdylib", "--edition=2024", "-Clink-arg=-Wl,--build-id"].map(OsStr::new));
    } else {
        arguments.extend(["-shared", "-fPIC", "-Wl,--build-id"].map(OsStr::new));
    }
    arguments.extend([source.as_os_str(), OsStr::new("-o"), output.as_os_str()]);
    run(compiler, arguments);
    output
}

/// Copies a file with sections removed or kept.
pub fn objcopy(flags: &[&str], from: &Path, to: &Path) {
    let mut arguments: Vec<&OsStr> = flags.iter().map(OsStr::new).collect();
    arguments.extend([from.as_os_str(), to.as_os_str()]);
    run("objcopy", arguments);
}

/// The stripped library with its functions' names in `.gnu_debugdata`, made as Fedora and Android make it.
pub fn with_debugdata(scratch: &Scratch, unstripped: &Path, to: &Path, xz: &[&str]) {
    let (small, stripped) = (scratch.path("small"), scratch.path("stripped"));
    objcopy(&["-S", "--remove-section=.gdb_index", "--remove-section=.comment"], unstripped, &stripped);
    objcopy(&["--only-keep-debug"], unstripped, &small);
    run("strip", ["--strip-debug", "--remove-section=.comment", small.to_str().unwrap()]);
    let mut arguments: Vec<&str> = xz.to_vec();
    arguments.extend(["--force", "--keep", small.to_str().unwrap()]);
    run("xz", arguments);
    let section = format!("--add-section=.gnu_debugdata={}.xz", small.display());
    objcopy(&[&section], &stripped, to);
}

/// The build id, as `readelf` shows it.
pub fn build_id(file: &Path) -> Vec<u8> {
    let notes = run("readelf", ["-n", file.to_str().unwrap()]);
    let id = notes.split("Build ID: ").nth(1).expect("a build id").split_whitespace().next().unwrap();
    trace_format::hex::unhex(id).unwrap()
}

/// A function of `nm`: its address, its size, its type and its names, demangled by binutils.
#[derive(Clone, Debug)]
pub struct Function {
    pub start: u64,
    pub size: u64,
    pub kind: char,
    pub name: String,
}

/// The functions with a size.
pub fn functions(file: &Path, dynamic: bool) -> Vec<Function> {
    let mut arguments = vec!["-S", "-C", "--defined-only"];
    if dynamic {
        arguments.push("-D");
    }
    arguments.push(file.to_str().unwrap());
    let mut found = Vec::new();
    for line in run("nm", arguments).lines() {
        let mut fields = line.splitn(4, ' ');
        let (Some(start), Some(size), Some(kind), Some(name)) =
            (fields.next(), fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let kind = kind.chars().next().unwrap();
        if size.len() == 16 && "tTwWi".contains(kind) {
            let number = |text| u64::from_str_radix(text, 16).unwrap();
            found.push(Function { start: number(start), size: number(size), kind, name: name.to_owned() });
        }
    }
    found
}
