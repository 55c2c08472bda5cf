//! The agent in programs that run already.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use jvm_agent::client::{AttachError, Target};
use jvm_agent::{NOT_RESTORED, NOT_TRACED, Settings};
use trace_format::event::WaitKind;
use trace_format::section::SectionKind;
use trace_format::verdict::{Outcome, Verdict};
use trace_format::{Event, Item};

use crate::support::*;

/// A running program that answers lines.
struct Server {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    target: Result<Target, AttachError>,
    library: PathBuf,
    settings: PathBuf,
}

impl Server {
    fn start(directory: &Path, options: &[&str]) -> Self {
        let classes = directory.join("classes");
        compile("plain", &classes, &[]);
        let mut java = java();
        java.args(options).args(["-cp", text(&classes), "plain.Server"]).current_dir(directory);
        let mut child =
            java.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let settings_file = directory.join("agent.settings");
        fs::write(&settings_file, settings(directory).text().unwrap()).unwrap();
        let library = std::env::current_exe().unwrap().with_file_name("libjvm_agent.so");
        let pid = child.id();
        let mut server = Self {
            child,
            stdin,
            stdout,
            // It may have no JVM yet.
            target: Err(AttachError::NoJvm(pid)),
            library,
            settings: settings_file,
        };
        assert_eq!(server.line(), "ready");
        server.target = Target::find(pid);
        server
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn ask(&mut self, line: &str) -> String {
        writeln!(self.stdin, "{line}").unwrap();
        self.line()
    }

    fn command(&self, name: &str) -> Result<(), AttachError> {
        self.target.as_ref().unwrap().load(&self.library, &format!("{name}={}", self.settings.display()))
    }

    /// Ends the program, and returns what it has written to stderr.
    fn end(self) -> String {
        drop(self.stdin);
        let output = self.child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    }
}

#[test]
fn a_program_is_recorded_while_attached_and_as_before_otherwise() {
    let directory = directory("attach");
    let mut server = Server::start(&directory, &[]);
    assert_eq!(server.ask("before"), "erofeb");
    for round in 0..20 {
        server.command("start").unwrap();
        assert_eq!(server.ask("during"), "gnirud");
        assert_eq!(server.ask("worker x"), "x rekrow");
        assert_eq!(server.ask("later"), "later is now");
        let twice = server.command("start").unwrap_err();
        assert!(matches!(twice, AttachError::Agent(..)), "{twice}");
        let why = fs::read_to_string(directory.join("agent.settings.error")).unwrap();
        assert!(why.contains("another anrscope attach"), "{why}");
        server.command("stop").unwrap();
        assert_eq!(server.ask("between"), "neewteb", "{round}");
        assert_eq!(server.ask("worker y"), "y rekrow");
    }
    assert!(server.command("stop").is_err());
    // Java 21 and later warn once (JEP 451).
    let stderr = server.end();
    assert!(
        stderr.is_empty() || stderr.lines().count() == 3 && stderr.contains("EnableDynamicAgentLoading"),
        "{stderr}"
    );
    let calls = calls(&directory);
    let main = &calls["main"];
    assert_eq!(main["plain.Answers.answer"], 40, "{calls:?}");
    assert_eq!((main["plain.Answers.of"], main["plain.Answers$Later.of"]), (20, 20));
    assert_eq!(main.get("plain.Server.main"), None, "it ran before");
    let of_workers: usize =
        calls.iter().filter(|(name, _)| *name == "worker").map(|(_, calls)| calls["plain.Answers.of"]).sum();
    assert_eq!(of_workers, 20);
    // The thread that runs main is the recording's, although the agent came on another one.
    let recording = recording(&directory);
    let main = recording.threads().iter().find(|thread| thread.name.as_deref() == Some("main")).unwrap();
    assert_eq!(main.tid, recording.header().main_tid);
    assert!(main.main, "{main:?}");
    assert_eq!(balance(&directory)["main"], 0, "every call has its end");
}

#[test]
fn classes_of_the_jdk_that_were_loaded_before_are_recorded_while_attached() {
    let directory = directory("attach_jdk");
    let mut server = Server::start(&directory, &["-Xverify:all", "-Xcheck:jni"]);
    let mut chosen = settings(&directory);
    chosen.jdk.add("java.io").unwrap();
    fs::write(&server.settings, chosen.text().unwrap()).unwrap();
    assert_eq!(server.ask("before"), "erofeb");
    for round in 0..5 {
        server.command("start").unwrap();
        assert_eq!(server.ask("during"), "gnirud");
        assert_eq!(server.ask("again"), "niaga");
        server.command("stop").unwrap();
        assert_eq!(server.ask("between"), "neewteb", "{round}");
    }
    server.end();
    let calls = calls(&directory);
    let of_jdk: usize =
        calls["main"].iter().filter(|(name, _)| name.starts_with("java.io.")).map(|(_, n)| n).sum();
    assert!(of_jdk >= 10, "{calls:?}");
    assert_eq!(calls["main"]["plain.Answers.answer"], 10, "{calls:?}");
    // The read that waits for the next line begins while recorded and ends later; nothing ends that has not begun.
    assert!((0..=5 * 8).contains(&balance(&directory)["main"]), "{calls:?}");
}

/// The JVM prints a warning on stdout if there are more local references than were announced.
#[test]
fn classes_of_thousands_of_loaders_are_changed_and_restored_with_few_references() {
    const LOADERS: usize = 5000;
    let directory = directory("attach_many");
    let mut server = Server::start(&directory, &["-Xcheck:jni"]);
    assert_eq!(server.ask(&format!("define {LOADERS}")), "defined");
    for _ in 0..2 {
        server.command("start").unwrap();
        assert_eq!(server.ask("run"), "run");
        server.command("stop").unwrap();
        assert_eq!(server.ask("run"), "run");
    }
    server.end();
    let calls = calls(&directory);
    assert_eq!(calls["main"]["plain.ManyLoaders$Each.of"], 2 * LOADERS);
}

/// The calls of main, `(` for a start and `)` for an end.
fn main_calls(directory: &Path) -> String {
    let recording = recording(directory);
    let names = names(&directory.join("methodMapping.txt"));
    let main = recording.threads().iter().find(|thread| thread.main).unwrap();
    let item = |item: Result<Item, _>| match item.unwrap() {
        Item::Event { event: Event::Enter(id), .. } => {
            format!("({}", names[&id].rsplit('.').next().unwrap())
        }
        Item::Event { event: Event::Exit(_), .. } => ")".to_owned(),
        _ => String::new(),
    };
    recording.events(main).map(item).collect()
}

#[test]
fn a_call_that_outlasts_an_attachment_ends_in_the_recording_and_later_calls_are_not_inside() {
    let directory = directory("attach_outlasted");
    let mut server = Server::start(&directory, &[]);
    server.command("start").unwrap();
    assert_eq!(server.ask("hold"), "holding");
    server.command("stop").unwrap();
    assert_eq!(server.ask("released"), "desaeler");
    server.command("start").unwrap();
    assert_eq!(server.ask("again"), "niaga");
    server.command("stop").unwrap();
    server.end();
    // The class is restored once it has no frame.
    assert_eq!(main_calls(&directory), "(hold(of))(answer(of))");
}

#[test]
fn an_attachment_ends_when_its_client_is_gone_and_the_next_one_works() {
    let directory = directory("attach_client");
    let mut server = Server::start(&directory, &[]);
    let lock = directory.join("client.lock");
    let with_client = |client: Option<&Path>| {
        let settings = Settings { client: client.map(Path::to_owned), ..settings(&directory) };
        fs::write(directory.join("agent.settings"), settings.text().unwrap()).unwrap();
    };
    let client = || {
        let file = File::create(&lock).unwrap();
        file.lock().unwrap();
        file
    };
    for round in 0..3 {
        with_client(Some(&lock));
        let first = client();
        server.command("start").unwrap();
        assert_eq!(server.ask("recorded"), "dedrocer");
        // As the kernel does for a process that is killed.
        drop(first);
        // Without a lock of its own, an attachment starts once there is no other one.
        with_client(None);
        while server.command("start").is_err() {}
        server.command("stop").unwrap();
        assert_eq!(server.ask("restored"), "derotser", "{round}");
        // With one it takes over at once, perhaps before the agent has noticed.
        with_client(Some(&lock));
        let killed = client();
        server.command("start").unwrap();
        drop(killed);
        let last = client();
        server.command("start").unwrap();
        assert_eq!(server.ask("recorded"), "dedrocer");
        server.command("stop").unwrap();
        drop(last);
    }
    server.end();
    let calls = calls(&directory);
    assert_eq!(calls["main"]["plain.Answers.of"], 6, "{calls:?}");
}

/// The notices of a recording.
fn notices(directory: &Path) -> Vec<String> {
    let recording = recording(directory);
    let all = recording.service().into_iter().flat_map(|service| recording.events(service));
    let notices = all.filter_map(|item| match item.unwrap() {
        Item::Event { event: Event::Notice(text), .. } => recording.texts().get(text).map(str::to_owned),
        _ => None,
    });
    notices.collect()
}

/// Otherwise the loop would have no lines, and would be interpreted from then on.
#[test]
fn a_class_whose_method_never_returns_stays_as_it_is() {
    let directory = directory("attach_loop");
    let mut server = Server::start(&directory, &[]);
    assert_eq!(server.ask("spin"), "nips");
    for _ in 0..2 {
        server.command("start").unwrap();
        assert_eq!(server.ask("recorded"), "dedrocer");
        server.command("stop").unwrap();
    }
    server.end();
    let calls = calls(&directory);
    assert_eq!(calls["main"]["plain.Answers.of"], 2, "{calls:?}");
    let named = fs::read_to_string(directory.join("methodMapping.txt")).unwrap();
    assert!(!named.contains("Spin"), "{named}");
    let expected = format!("{NOT_TRACED}plain.Server, plain.Server$Spin");
    assert_eq!(notices(&directory).iter().filter(|text| **text == expected).count(), 2);
}

/// HotSpot has no lines for a frame of a changed class, even once it is restored.
#[test]
fn a_frame_keeps_its_lines_and_its_class_waits_until_it_has_none() {
    let directory = directory("attach_lines");
    let mut server = Server::start(&directory, &["-Xcheck:jni"]);
    let round = |server: &mut Server| {
        assert_eq!(server.ask("lines"), "serving");
        let lines = server.ask("where");
        assert_eq!(server.ask("leave"), "left");
        lines
    };
    let lines = round(&mut server);
    assert_eq!(lines.matches(".java:").count(), 3, "{lines}");
    assert_eq!(server.ask("lines"), "serving");
    server.command("start").unwrap();
    assert_eq!(server.ask("where"), lines);
    assert_eq!(server.ask("leave"), "left");
    let server_only = format!("{NOT_TRACED}plain.Server");
    until("Lines is traced", || notices(&directory).contains(&server_only));
    assert_eq!(server.ask("lines"), "serving");
    assert_eq!(server.ask("where"), lines);
    server.command("stop").unwrap();
    assert_eq!(server.ask("where"), lines);
    assert_eq!(server.ask("leave"), "left");
    let recorded = || calls(&directory)["main"]["plain.Lines.where"];
    assert_eq!(recorded(), 2);
    until("Lines is restored", || {
        let before = recorded();
        assert_eq!(round(&mut server), lines);
        recorded() == before
    });
    server.end();
    let notices = notices(&directory);
    for expected in [format!("{NOT_TRACED}plain.Lines, plain.Server"), format!("{NOT_RESTORED}plain.Lines")] {
        assert_eq!(notices.iter().filter(|text| **text == expected).count(), 1, "{notices:?}");
    }
}

/// Waits until something is true.
#[track_caller]
/// The waits of main for monitors, by the class of the monitor: the call that each is in, its owner, and its length in ms.
fn monitor_waits(directory: &Path) -> Vec<(String, String, String, u64)> {
    let names = names(&directory.join("methodMapping.txt"));
    let recording = recording(directory);
    let main = recording.threads().iter().find(|thread| thread.main).unwrap();
    let owner = |uid| recording.threads().iter().find(|thread| thread.uid == uid)?.name.clone();
    let (mut waits, mut open, mut calls) = (Vec::new(), None, Vec::new());
    for item in recording.events(main) {
        let Item::Event { time, event } = item.unwrap() else { continue };
        match event {
            Event::Enter(id) => calls.push(names[&id].clone()),
            Event::Exit(_) => drop(calls.pop()),
            Event::WaitBegin(wait) => open = Some((wait, time)),
            Event::WaitEnd => {
                let Some((wait, since)) = open.take().filter(|(wait, _)| wait.kind == WaitKind::Monitor)
                else {
                    continue;
                };
                let class = recording.texts().get(wait.class).unwrap_or_default().to_owned();
                let call = calls.last().cloned().unwrap_or_default();
                waits.push((class, call, owner(wait.owner).unwrap_or_default(), (time - since) / 1_000_000));
            }
            _ => {}
        }
    }
    waits
}

#[test]
fn waits_for_monitors_are_recorded_wherever_they_are_entered() {
    let directory = directory("attach_monitors");
    let mut server = Server::start(&directory, &["-Xcheck:jni"]);
    for _ in 0..2 {
        assert_eq!(server.ask("wait a"), "wait a 8");
        server.command("start").unwrap();
        assert_eq!(server.ask("wait b"), "wait b 9");
        server.command("stop").unwrap();
    }
    assert_eq!(server.ask("wait c"), "wait c 7");
    let stderr = server.end();
    assert!(!stderr.contains("WARNING in native method"), "{stderr}");
    let waits: Vec<_> =
        monitor_waits(&directory).into_iter().filter(|(class, ..)| !class.contains("Loader")).collect();
    let places: Vec<_> =
        waits.iter().map(|(class, call, owner, _)| (class.as_str(), call.as_str(), owner.as_str())).collect();
    // The JDK does not say who has its monitor.
    let once = [
        ("java.lang.Class", "plain.Contended.count", "holder"),
        ("java.util.concurrent.ConcurrentHashMap$ReservationNode", "plain.Contended.wait", ""),
    ];
    assert_eq!(places, [once, once].concat(), "{waits:?}");
    assert!(waits.iter().all(|wait| (200..2_000).contains(&wait.3)), "{waits:?}");
    assert_eq!(calls(&directory)["main"]["plain.Contended.count"], 4, "the wait and the work, twice");
    assert_eq!(balance(&directory)["main"], 0, "every call has its end");
}

#[test]
fn threads_that_do_not_go_on_while_attached_are_in_a_dump() {
    let directory = directory("attach_stuck");
    let mut server = Server::start(&directory, &["-Xcheck:jni"]);
    let hold = |server: &mut Server, seconds| {
        assert_eq!(server.ask("hold"), "holding");
        std::thread::sleep(Duration::from_secs(seconds));
        assert_eq!(server.ask("on"), "no");
    };
    server.command("start").unwrap();
    hold(&mut server, 8);
    server.command("stop").unwrap();
    hold(&mut server, 6);
    server.end();
    let recording = recording(&directory);
    let dumps = recording.sections().iter().filter(|section| section.kind == Some(SectionKind::DumpText));
    let texts =
        dumps.map(|dump| String::from_utf8_lossy(&recording.payload(dump).unwrap().unwrap()).into_owned());
    let texts: Vec<String> = texts.filter(|text| text.contains("Full thread dump by anrscope:")).collect();
    assert_eq!(texts.len(), 1, "{texts:?}");
    let first = texts[0].split("\n\"").nth(1).unwrap();
    assert!(
        first.starts_with("main\"") && first.contains("at plain.Answers.hold(Answers.java:"),
        "{}",
        texts[0]
    );
}

fn until(what: &str, mut is_true: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_true() {
        assert!(begun.elapsed() < Duration::from_secs(60), "never: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The handshake is a SIGQUIT, which the recorder's own handler takes first.
#[test]
fn a_tool_that_attaches_to_a_recorded_program_requests_no_dump() {
    let directory = directory("attach_tool");
    let agent = agent(&directory, &settings(&directory));
    let mut server = Server::start(&directory, &[&agent]);
    assert_eq!(server.ask("recorded"), "dedrocer");
    let target = server.target.as_ref().unwrap();
    // The JVM answers, so the signal has reached it.
    let missing = target.load(Path::new("/no/such/agent.so"), "").unwrap_err();
    assert!(matches!(missing, AttachError::Refused(..)), "{missing}");
    let both = server.command("start").unwrap_err();
    assert!(matches!(both, AttachError::Agent(..)), "{both}");
    let why = fs::read_to_string(directory.join("agent.settings.error")).unwrap();
    assert!(why.contains("anrscope jvm"), "{why}");
    let quit = std::process::Command::new("kill").args(["-QUIT", &server.child.id().to_string()]).status();
    assert!(quit.unwrap().success());
    // HotSpot prints its dump on stdout, before or after the answer.
    writeln!(server.stdin, "alive").unwrap();
    let mut seen = [false; 2];
    while seen != [true; 2] {
        let line = server.line();
        seen[0] |= line.contains("JNI global refs");
        seen[1] |= line == "evila";
    }
    server.end();
    let recording = recording(&directory);
    let verdicts = recording.sections().iter().filter(|section| section.kind == Some(SectionKind::Verdict));
    let outcomes: Vec<_> = verdicts
        .map(|section| Verdict::parse(&recording.payload(section).unwrap().unwrap()).unwrap().outcome)
        .collect();
    assert_eq!(outcomes, [Outcome::ToolAttached, Outcome::DumpRequested]);
}

#[test]
fn processes_that_take_no_agents_are_refused_and_live_on() {
    let directory = directory("attach_refused");
    let mut server = Server::start(&directory, &["-XX:+DisableAttachMechanism"]);
    let forbidden = server.target.as_ref().unwrap_err().to_string();
    assert!(forbidden.contains("-XX:+DisableAttachMechanism, which forbids it"), "{forbidden}");
    assert_eq!(server.ask("alive"), "evila");
    assert_eq!(server.end(), "");

    // With -Xrs the JVM leaves SIGQUIT alone, which would end it, and listens from the start.
    let mut server = Server::start(&directory, &["-Xrs"]);
    let missing = server.target.as_ref().unwrap().load(Path::new("/no/such/agent.so"), "").unwrap_err();
    assert!(matches!(missing, AttachError::Refused(..)), "{missing:?}");
    assert!(missing.to_string().contains("/no/such/agent.so"), "{missing}");
    assert_eq!(server.ask("alive"), "evila");
    assert_eq!(server.end(), "");

    let mut sleep = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    // It is a copy of this process until it has become the other program.
    while !fs::read_to_string(format!("/proc/{}/comm", sleep.id())).unwrap().starts_with("sleep") {}
    let other = Target::find(sleep.id()).unwrap_err();
    assert!(matches!(other, AttachError::NoJvm(_)), "{other}");
    assert!(sleep.try_wait().unwrap().is_none(), "it was ended by a signal");
    sleep.kill().unwrap();
    sleep.wait().unwrap();
}
