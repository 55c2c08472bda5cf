//! Runs every command line of the docs, and compares its output with the page.
//!
//! A page's lines run in a directory that has what they name, with the program first on PATH. A block without a language, or
//! one of JSON, is the output of the block of commands above it in the same section: its lines must follow each other in
//! the commands' output, numbers apart.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use test_device::{AdbServer, App, Daemon, Faults};
use test_support::jdk::{finish, tool};
use trace_format::MapId;
use trace_format::event::Clocks;
use trace_format::synth::RecordingBuilder;

use crate::docs::exceptions::{FAILS, INTERRUPTED, NOT_RUN, RUN_AS};
use crate::docs::markdown::{Block, Page, pages};
use crate::docs::masks::missing;
use crate::docs::repository;
use test_support::program;
use test_support::temp_dir::TempDir;

/// How long a line may take on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(600);

const PACKAGE: &str = "com.example.shop";

/// Held by a line that opens a page: all use the same port.
static OPENS: Mutex<()> = Mutex::new(());

/// A block of commands, and the outputs that the page shows for it.
struct Step {
    commands: Vec<String>,
    line: usize,
    outputs: Vec<Block>,
}

fn steps(page: &Page) -> Vec<Step> {
    let mut steps: Vec<(usize, Step)> = Vec::new();
    for block in page.blocks() {
        match block.language.as_str() {
            "sh" => {
                let step = Step { commands: commands(&block.lines), line: block.line, outputs: Vec::new() };
                steps.push((block.section, step));
            }
            "" | "json" => {
                if let Some((_, step)) = steps.last_mut().filter(|(section, _)| *section == block.section) {
                    step.outputs.push(block);
                }
            }
            _ => {}
        }
    }
    steps.into_iter().map(|(_, step)| step).collect()
}

/// The commands of a block, without comments; a line that ends with `\` continues in the next one.
fn commands(lines: &[String]) -> Vec<String> {
    let mut commands = Vec::new();
    let mut open = String::new();
    for line in lines {
        let line = line.split_once(" #").map_or(line.as_str(), |(line, _)| line).trim();
        match line.strip_suffix('\\') {
            Some(part) => open.push_str(part),
            None => {
                open.push_str(line);
                commands.push(std::mem::take(&mut open));
            }
        }
    }
    commands.retain(|command| !command.is_empty() && !command.starts_with('#'));
    commands
}

#[test]
fn every_command_line_runs_and_prints_what_the_page_says() {
    let pages: Vec<Page> = pages();
    // The lines wait more than they compute. Each half has a device and recordings of its own.
    let (ran, wrong) = std::thread::scope(|scope| {
        let halves = [0, 1].map(|half| {
            scope.spawn({
                let pages = &pages;
                move || Bench::new().run_pages(pages.iter().skip(half).step_by(2))
            })
        });
        let [one, other] = halves.map(|half| half.join().unwrap());
        (one.0 + other.0, [one.1, other.1].concat())
    });
    assert!(ran > 30, "{ran} lines ran");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn every_exception_is_a_line_of_the_docs() {
    let all: BTreeSet<String> = pages().iter().flat_map(steps).flat_map(|step| step.commands).collect();
    let listed = NOT_RUN.iter().map(|(line, _)| line).chain(RUN_AS.iter().map(|(line, ..)| line));
    let listed =
        listed.chain(INTERRUPTED.iter().map(|(line, _)| line)).chain(FAILS.iter().map(|(line, ..)| line));
    for line in listed {
        assert!(all.contains(*line), "no page has this line: {line}");
    }
}

#[test]
fn commands_are_in_blocks_marked_as_sh() {
    for page in pages() {
        for (number, line) in page.prose() {
            let item = line.trim_start().starts_with(['-', '*']);
            assert!(
                !line.starts_with("    ") || item,
                "{}:{number}: put this into ```sh or ```text",
                page.path
            );
        }
    }
}

/// The files, the simulated device and the program that the lines of all pages need.
///
/// Fields are dropped in this order: the server before its files.
struct Bench {
    adb: AdbServer,
    phone: Daemon,
    dir: TempDir,
}

impl Bench {
    fn new() -> Self {
        let dir = TempDir::new();
        let files = test_device::DeviceDirectory::create(&dir.path().join("phone")).unwrap();
        files.install(App { package: PACKAGE, debuggable: true, library: true }).unwrap();
        let phone = Daemon::start(files, Faults::default(), 0).unwrap();
        let adb = AdbServer::start(&dir.path().join("adb"));
        adb.connect(&phone);
        let bench = Self { adb, phone, dir };
        bench.bin();
        bench.demos();
        bench.builds();
        bench.jars();
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Puts the program on PATH, and a fake browser that fetches the trace as the page would.
    fn bin(&self) {
        fs::create_dir_all(self.path("bin")).unwrap();
        symlink(env!("CARGO_BIN_EXE_anrscope"), self.path("bin/anrscope")).unwrap();
        let browser =
            self.dir.file("bin/xdg-open", "#!/bin/sh\nprintf '%s' \"$1\" >\"$ANRSCOPE_TEST_PAGE\"\n");
        fs::set_permissions(browser, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Records an app that hangs and one that does not.
    fn demos(&self) {
        let start = |stall: &str, out: &str| {
            let mut demo = program::command();
            demo.args(["demo", "--stall", stall, "--out"]).arg(self.path(out));
            demo.stdout(Stdio::null()).stderr(Stdio::inherit()).spawn().unwrap()
        };
        // As long as in the pages: on a busy machine the system's list is asked late, which confirms the ANR.
        let (mut calm, mut hung) = (start("0", "calm"), start("8", "hung"));
        assert!(calm.wait().unwrap().success() && hung.wait().unwrap().success());
        // A fake of the system's trace: another process of the same boot.
        let at = |ns| Clocks { boottime: ns, monotonic: ns, realtime: 1_700_000_000_000_000_000 + ns };
        let system = RecordingBuilder::new(1, "system").start(at(1_000_000_000)).main("main", |t| {
            t.enter(2_000_000_000, 1).exit(3_000_000_000, 1);
        });
        let recording = self.dir.file("system.anrscope", system.build());
        let trace = self.dir.name("system.pftrace");
        program::run(["export", &recording, "-o", &trace, "--merge-safe"]).ok(&["slice"]);
    }

    /// A small app's classes, as directory, jar and aar.
    fn jars(&self) {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/Greeter.java");
        let (classes, jar) = (self.path("greeter"), self.path("greeter.jar"));
        finish(tool("javac").arg("-d").arg(&classes).arg(&source));
        let programs = source.parent().unwrap().to_owned();
        let endless = [programs.join("Endless.java"), programs.join("Busy.java")];
        finish(tool("javac").arg("-d").arg(self.path("endless")).args(endless));
        // The fixtures of the instrumenter's own tests, whose activities need a class of Android's.
        let fixtures = repository().join("instrumenter/tests/java");
        for (source, out) in [("fixture/Waits", "classes"), ("focus/Activities", "activities")] {
            let mut javac = tool("javac");
            javac.args(["-g", "-nowarn", "-implicit:none", "--release", "8", "-sourcepath"]).arg(&fixtures);
            finish(javac.arg("-d").arg(self.path(out)).arg(fixtures.join(source).with_extension("java")));
        }
        finish(tool("jar").arg("cf").arg(&jar).arg("-C").arg(&classes).arg("."));
        let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/end_to_end/java/Server.java");
        finish(tool("javac").arg("-d").arg(self.path("server")).arg(server));
        let (classes, jar_of_server) = (self.path("server"), self.path("server.jar"));
        finish(tool("jar").arg("cfe").arg(jar_of_server).args(["Server", "-C"]).arg(classes).arg("."));
        let aar = self.path("aar");
        fs::create_dir_all(&aar).unwrap();
        fs::copy(&jar, aar.join("classes.jar")).unwrap();
        fs::write(aar.join("AndroidManifest.xml"), "<manifest package=\"com.example\"/>").unwrap();
        finish(tool("jar").arg("cMf").arg(self.path("library.aar")).arg("-C").arg(&aar).arg("."));
    }

    /// Recordings of two builds of an app, the second with a slower method. They are synthetic, so that the figures stay.
    fn builds(&self) {
        const MAP: [&str; 2] =
            ["1,1,com.example.shop.RowView onDraw ()V", "2,1,com.example.shop.PriceStore priceOf ()V"];
        for (build, price_us) in [("main", 1_800), ("branch", 3_100)] {
            let recording =
                RecordingBuilder::new(4242, PACKAGE).map_id(MapId::from_lines(MAP)).main("main", |t| {
                    for n in 1..=40_u64 {
                        let begin = n * 10_000_000;
                        // Not all of one length: nothing is.
                        let (draw, price) = (900_000 + n * 1_000, (price_us + n * 2) * 1_000);
                        t.enter(begin, 1).exit(begin + draw, 1);
                        t.enter(begin + 2_000_000, 2).exit(begin + 2_000_000 + price, 2);
                    }
                });
            self.dir.file(&format!("runs/{build}/1.anrscope"), recording.build());
            self.dir.file(&format!("runs/{build}/methodMapping.txt"), MAP.join("\n"));
        }
    }

    /// A directory with everything that the lines of a page name.
    fn furnished(&self, page: &str) -> PathBuf {
        // Each page begins with a device that has no recording.
        let _ = fs::remove_dir_all(self.phone.directory().path(&format!("data/user/0/{PACKAGE}/no_backup")));
        let dir = self.path(&format!("page-{}", page.replace('/', "-")));
        let place = |from: &Path, to: &str| {
            let to = dir.join(to);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(from, &to).unwrap_or_else(|e| panic!("{}: {e}", from.display()));
        };
        for name in ["docs", "exporter", "scripts"] {
            fs::create_dir_all(&dir).unwrap();
            symlink(repository().join(name), dir.join(name)).unwrap();
        }
        place(&test_data("closure/package/compiler.jar"), "compiler.jar");
        // A small build of it: the page has the run of the whole.
        place(&test_data("lodash/package/core.js"), "lodash.js");
        for (demo, name) in [
            ("hung", "anrscope-out/demo"),
            ("calm", "recordings/calm"),
            ("hung", "recordings/hung"),
            ("hung", "apps/app"),
            ("hung", "anrs/com.example.shop-16360"),
        ] {
            let demo = self.path(demo);
            place(&demo.join("demo.anrscope"), &format!("{name}.anrscope"));
            let map = Path::new(name).with_file_name("methodMapping.txt");
            place(&demo.join("methodMapping.txt"), map.to_str().unwrap());
        }
        for build in ["main", "branch"] {
            for name in ["1.anrscope", "methodMapping.txt"] {
                let file = format!("runs/{build}/{name}");
                place(&self.path(&file), &file);
            }
        }
        for demo in ["hung", "calm"] {
            place(&self.path(demo).join("methodMapping.txt"), &format!("maps/{demo}.txt"));
        }
        place(&self.path("hung/demo.anrscope"), "app.anrscope");
        for symbols in ["symbols", "app/build/intermediates/merged_native_libs/release"] {
            fs::create_dir_all(dir.join(symbols)).unwrap();
        }
        for dump in ["anr.txt", "traces.txt"] {
            place(&repository().join("exporter/answers/tests/data/dump/art14-deadlock.txt"), dump);
        }
        place(&self.path("system.pftrace"), "system.perfetto-trace");
        for jar in ["app.jar", "libs/one.jar", "libs/two.jar"] {
            place(&self.path("greeter.jar"), jar);
        }
        place(&self.path("server.jar"), "server.jar");
        place(&self.path("library.aar"), "library.aar");
        place(&repository().join("instrumenter/tests/data/app/small.apk"), "shop.apk");
        let apk = test_device::Apk::new(PACKAGE).with("debuggable", "1");
        fs::write(dir.join("app.apk"), apk.bytes(2_000_000)).unwrap();
        fs::write(dir.join("release.apk"), apk.with("key", "release").bytes(2_000_000)).unwrap();
        place(&self.path("greeter/Greeter.class"), "build/classes/Greeter.class");
        for classes in ["classes", "activities", "endless"] {
            symlink(self.path(classes), dir.join(classes)).unwrap();
        }
        if page == "docs/reports.md" {
            let issue = r#"{"tag":"Trace_EvilMethod","detail":"ANR","cost":1006,"process":"com.x","time":1700000000000,"stack":"0,1048574,1,1006\n1,243,1,1000\n"}"#;
            fs::write(dir.join("issue.json"), issue).unwrap();
            fs::write(dir.join("methodMapping.txt"), "243,1,a.Shop load ()V\n").unwrap();
        }
        // As the program prints absolute paths.
        dir.canonicalize().unwrap()
    }

    /// Runs the lines of pages; how many ran, and what is not as the page says.
    fn run_pages<'p>(&self, pages: impl Iterator<Item = &'p Page>) -> (usize, Vec<String>) {
        let mut wrong = Vec::new();
        let mut ran = 0;
        for page in pages {
            let steps = steps(page);
            if steps.is_empty() {
                continue;
            }
            let dir = self.furnished(&page.path);
            for step in steps {
                let mut said = String::new();
                let mut any_ran = false;
                for command in &step.commands {
                    if NOT_RUN.iter().any(|(line, _)| line == command) {
                        continue;
                    }
                    let began = Instant::now();
                    let (output, status) = self.run(&dir, command);
                    // A page names files as they were typed, and a device's as they are there.
                    let phone = self.phone.directory().root().display().to_string();
                    let output = output.replace(&format!("{}/", dir.display()), "").replace(&phone, "");
                    println!("{}: {command}: {:.1} s, {status}", page.path, began.elapsed().as_secs_f64());
                    let expected =
                        FAILS.iter().find(|(line, ..)| line == command).map_or(0, |(_, code, _)| *code);
                    if status.code() != Some(expected) {
                        wrong.push(format!("{}:{}: {command}: {status}\n{output}", page.path, step.line));
                    }
                    said.push_str(&output);
                    any_ran = true;
                    ran += 1;
                }
                for block in step.outputs.iter().filter(|_| any_ran) {
                    if let Some(why) = missing(&block.lines, &said) {
                        wrong.push(format!("{}:{}: {why}\nThe whole output:\n{said}", page.path, block.line));
                    }
                }
            }
        }
        (ran, wrong)
    }

    /// Runs a line in a shell with what it needs, and returns both streams and the exit status.
    fn run(&self, dir: &Path, line: &str) -> (String, ExitStatus) {
        let as_run = RUN_AS.iter().find(|(written, ..)| *written == line).map_or(line, |(_, run, _)| run);
        let own = format!("data/user/0/{PACKAGE}/no_backup/anrscope");
        let hung = || fs::read(self.path("hung/demo.anrscope")).unwrap();
        if line.starts_with("anrscope device pull") {
            self.phone.directory().write(&format!("{own}/{PACKAGE}-16360.anrscope"), hung()).unwrap();
        }
        let opens = line.starts_with("anrscope open").then(|| OPENS.lock().unwrap());
        if opens.is_some() {
            // The one port that the page may use; another test of this machine may have it for a moment.
            let end = Instant::now() + TIMEOUT;
            while TcpListener::bind("127.0.0.1:9001").is_err() {
                assert!(Instant::now() < end, "127.0.0.1:9001 is taken by another program");
                std::thread::sleep(Duration::from_millis(100));
            }
        }
        let interrupted = INTERRUPTED.iter().find(|(written, _)| *written == line);
        // A shell that waits would end by the signal, even if the program handles it.
        let as_run = if interrupted.is_some() { format!("exec {as_run}") } else { as_run.to_owned() };
        let mut running = Running::start(self, dir, &as_run);
        if line.contains("--once") {
            running.wait_until_it_says("watching");
            // Recordings of the first poll are not reported, and the program does not say when it polls first.
            let mut pid = 16_361;
            while running.child.try_wait().unwrap().is_none() {
                self.phone.directory().write(&format!("{own}/{PACKAGE}-{pid}.anrscope"), hung()).unwrap();
                pid += 1;
                std::thread::sleep(Duration::from_secs(3));
            }
        }
        if opens.is_some() {
            fetch(&running.wait_for_page());
        }
        if let Some((_, text)) = interrupted {
            running.wait_until_it_says(text);
            killpg(running.group(), Signal::SIGINT).unwrap();
        }
        running.end()
    }
}

/// A running line, with everything that it started in one process group.
struct Running {
    child: Child,
    line: String,
    output: PathBuf,
    page: PathBuf,
}

impl Running {
    fn start(bench: &Bench, dir: &Path, line: &str) -> Self {
        let (output, page) = (bench.path("output"), bench.path("page"));
        let _ = fs::remove_file(&page);
        let file = fs::File::create(&output).unwrap();
        // Both streams in their order, as on a terminal.
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).current_dir(dir).stdin(Stdio::null());
        shell.stdout(file.try_clone().unwrap()).stderr(file).process_group(0);
        let path = std::env::var("PATH").unwrap();
        shell.env("PATH", format!("{}:{path}", bench.path("bin").display()));
        shell.envs(bench.adb.environment()).env("ANRSCOPE_TEST_PAGE", &page);
        // The fake of the Android runtime, and no key of the machine's user.
        let runtime = repository().join("instrumenter/tests/data/app/runtime.zip");
        shell.env("ANRSCOPE_ANDROID_RUNTIME", runtime).env("XDG_DATA_HOME", bench.path("home"));
        for name in ["ANDROID_SERIAL", "ADB_SERVER_SOCKET", "ANDROID_ADB_SERVER_ADDRESS", "CLASSPATH"] {
            shell.env_remove(name);
        }
        for name in ["JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"] {
            shell.env_remove(name);
        }
        program::with_default_signals(&mut shell);
        Self { child: shell.spawn().unwrap(), line: line.to_owned(), output, page }
    }

    fn group(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32)
    }

    fn said(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.output).unwrap()).into_owned()
    }

    /// Waits until `holds`; the line must not have ended before that.
    fn wait_until<T>(&mut self, what: &str, mut holds: impl FnMut(&Self) -> Option<T>) -> T {
        let end = Instant::now() + TIMEOUT;
        loop {
            if let Some(found) = holds(self) {
                return found;
            }
            let ended = self.child.try_wait().unwrap();
            assert!(
                ended.is_none() && Instant::now() < end,
                "{}: never {what}: {ended:?}\n{}",
                self.line,
                self.said()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn wait_until_it_says(&mut self, text: &str) {
        self.wait_until(text, |running| running.said().contains(text).then_some(()));
    }

    /// The address that the browser got.
    fn wait_for_page(&mut self) -> String {
        self.wait_until("opened a page", |running| {
            fs::read_to_string(&running.page).ok().filter(|url| !url.is_empty())
        })
    }

    fn end(mut self) -> (String, ExitStatus) {
        let end = Instant::now() + TIMEOUT;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return (self.said(), status);
            }
            assert!(Instant::now() < end, "{}: does not end\n{}", self.line, self.said());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = killpg(self.group(), Signal::SIGKILL);
        let _ = self.child.wait();
    }
}

/// Fetches the trace that an address of ui.perfetto.dev names, as that page does.
fn fetch(page: &str) {
    let name = page.split_once("http%3A%2F%2F127.0.0.1%3A9001%2F").unwrap_or_else(|| panic!("{page}")).1;
    // A random word, and the file's name.
    let name = name.split('&').next().unwrap().replace("%2F", "/");
    let mut stream = TcpStream::connect("127.0.0.1:9001").unwrap();
    let origin = "Origin: https://ui.perfetto.dev";
    write!(stream, "GET /{name} HTTP/1.1\r\nHost: 127.0.0.1:9001\r\n{origin}\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert!(
        answer.starts_with(b"HTTP/1.1 200 "),
        "{}",
        String::from_utf8_lossy(&answer[..answer.len().min(200)])
    );
}

fn test_data(path: &str) -> PathBuf {
    let data = test_support::test_data();
    let path = data.join(path);
    assert!(path.exists(), "{} is missing: run scripts/test, which fetches it", path.display());
    path
}

#[test]
fn a_block_is_the_output_of_the_one_above_it_in_its_section() {
    let text =
        "# A\n\n```sh\na \\\n  b   # why\n# nothing\nc\n```\n\nprints\n\n```\nx\n```\n\n# B\n\n```\ny\n```\n";
    let page = Page { path: "p.md".into(), text: text.into() };
    let [step] = &steps(&page)[..] else { panic!() };
    assert_eq!((step.commands.join("|"), step.line), ("a b|c".to_owned(), 3));
    assert_eq!(step.outputs.iter().map(|block| block.lines.join("|")).collect::<Vec<_>>(), ["x"]);
}
