//! Recordings from short descriptions, in the language of `data/causes.txt`, which explains it.

mod native;

use std::collections::HashMap;
use std::path::Path;

use exporter::MethodMap;
use trace_format::event::{
    CallId, Clocks, Concurrency, ConcurrencyStep, Folded, Forward, Message, Sigquit, Stall, Usage, Wait,
    WaitKind,
};
use trace_format::section::SectionKind;
use trace_format::synth::RecordingBuilder;
use trace_format::verdict::{Confidence, Counters, Policy, Reason, Sender, Verdict};
use trace_format::{Event, Recording, TextId};

const S: f64 = 1e9;
const START: u64 = 100_000_000_000;
const PID: u32 = 42;

/// One case.
pub struct Case {
    pub name: String,
    /// The word behind the name.
    pub label: String,
    /// What follows the label.
    pub truth: Vec<String>,
    pub lines: Vec<String>,
}

/// The cases of a file, and its other lines, split at blanks.
pub fn cases(text: &str) -> (Vec<Case>, Vec<Vec<String>>) {
    let (mut cases, mut others) = (Vec::new(), Vec::new());
    for line in text.lines().filter(|l| !l.trim().is_empty() && !l.starts_with('#')) {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        match words[0].as_str() {
            "case" => cases.push(Case {
                name: words[1].clone(),
                label: words[2].clone(),
                truth: words[3..].to_vec(),
                lines: Vec::new(),
            }),
            "repo" | "real" | "recording" | "made" | "program" => others.push(words),
            _ => cases.last_mut().expect("a case comes first").lines.push(line.to_owned()),
        }
    }
    (cases, others)
}

fn call_named(name: &str) -> CallId {
    let call = name.rsplit_once('.').map_or(CallId(0), |(class, method)| CallId::of(class, method));
    assert_ne!(call, CallId(0), "{name} has no number");
    call
}

fn at(seconds: &str) -> u64 {
    let seconds: f64 = seconds.parse().unwrap_or_else(|_| panic!("{seconds:?} is no time"));
    START + (seconds * S).round() as u64
}

/// Start of a message as an event has it: 0 for none.
fn since(seconds: &str) -> u64 {
    if seconds == "0" { 0 } else { at(seconds) }
}

#[derive(Default)]
struct Thread {
    name: String,
    events: Vec<(u64, Event)>,
}

/// The recording of a case, and the map of its methods.
pub fn recording(case: &Case) -> (Recording<Vec<u8>>, MethodMap) {
    let (bytes, lines) = built(case);
    let map = MethodMap::parse(Path::new("map"), lines.into_bytes()).unwrap();
    (Recording::open(bytes).unwrap(), map)
}

/// The bytes of a case's recording, and the lines of its map.
pub fn built(case: &Case) -> (Vec<u8>, String) {
    let process = case.lines.iter().find_map(|line| line.strip_prefix("process ")).unwrap_or("com.acme");
    let mut b = RecordingBuilder::new(PID, process).start(clocks(START, 0));
    let mut methods: HashMap<String, u32> = HashMap::new();
    let mut threads = vec![Thread { name: "main".to_owned(), ..Thread::default() }];
    for line in &case.lines {
        if let Some(name) = line.strip_prefix("thread ") {
            threads.push(Thread { name: name.to_owned(), ..Thread::default() });
        }
    }
    let uid = |threads: &[Thread], name: Option<&&str>| match name {
        Some(name) => {
            1 + threads.iter().position(|t| t.name == **name).expect("the owner is a thread") as u32
        }
        None => 0,
    };
    let mut service: Vec<(u64, Event)> = Vec::new();
    let mut sections: Vec<(SectionKind, Vec<u8>)> = Vec::new();
    let (mut current, mut alive) = (0, 0);
    let mut sampling = (0.0, 0.0);
    let mut captures = 0;
    for line in &case.lines {
        if let Some(times) = line.strip_prefix("| * ") {
            let (_, payload) = sections.last_mut().expect("a section comes first");
            *payload = payload.repeat(times.parse().unwrap_or_else(|_| panic!("{line:?}")));
            continue;
        }
        if let Some(text) = line.strip_prefix('|') {
            sections
                .last_mut()
                .expect("a section comes first")
                .1
                .extend(format!("{}\n", text.strip_prefix(' ').unwrap_or(text)).bytes());
            continue;
        }
        let w: Vec<&str> = line.split(' ').collect();
        let mut method = |name: &str| {
            let next = methods.len() as u32 + 1;
            *methods.entry(name.to_owned()).or_insert(next)
        };
        let message = |b: &mut RecordingBuilder, w: &[&str]| {
            let (callback, what) = match w[1].strip_prefix('#') {
                Some(what) => (TextId(0), what.parse().unwrap()),
                None => (b.text(w[1]), 0),
            };
            Event::MessageBegin(Message { target: b.text(w[0]), callback, what, ..Message::default() })
        };
        match w[0] {
            "main" => current = 0,
            "thread" => current = threads.iter().position(|t| t.name == w[1]).unwrap(),
            "service" | "process" => {}
            "jvm" => sections.push((
                SectionKind::Process,
                b"name=com.acme.Main\nabi=x86_64\nos=linux\nkernel=Linux\nmachine=x86_64\n".to_vec(),
            )),
            "alive" => alive = at(w[1]),
            "verdict" => {
                let Some((_, Event::Sigquit(sigquit))) = service.last() else {
                    panic!("no signal before {line}")
                };
                sections.push((SectionKind::Verdict, verdict(*sigquit, w[1], &w[2..].join(" ")).encode()));
            }
            "snapshot" => sections.push((SectionKind::AnrSnapshot, Vec::new())),
            "samples" => {
                sampling = (w[1].parse().unwrap(), w[2].parse().unwrap());
                sections.push((SectionKind::StackSamples, Vec::new()));
            }
            "dump" => sections.push((SectionKind::DumpText, at(w[1]).to_le_bytes().to_vec())),
            "system" => {
                sections.push((SectionKind::SystemState, format!("at={}\n", at(w[1])).into_bytes()));
            }
            "component" => sections.push((SectionKind::Component, Vec::new())),
            "startup" => sections.push((SectionKind::Startup, Vec::new())),
            "exit" => sections.push((SectionKind::ExitInformation, Vec::new())),
            "native" => {
                captures += 1;
                let tid = |name: &str| PID + threads.iter().position(|t| t.name == name).expect(line) as u32;
                let (head, capture) = native::capture(captures, at(w[1]), tid(w[2]), &w[3..], tid);
                sections.push((SectionKind::NativeStack, capture));
                sections.push((SectionKind::NativeFrames, head));
            }
            _ => {
                let time = at(w[0]);
                let events = &mut threads[current].events;
                match w[1] {
                    "message" => events.push((time, message(&mut b, &w[2..]))),
                    "end" => events.push((time, Event::MessageEnd)),
                    "enter" => events.push((time, Event::Enter(method(w[2])))),
                    "exit" => events.push((time, Event::Exit(method(w[2])))),
                    "wait" => {
                        let kind: WaitKind = w[2].parse().expect(line);
                        let class = if w[3] == "none" { TextId(0) } else { b.text(w[3]) };
                        let call = w.get(4).and_then(|word| word.strip_prefix("call="));
                        let owner = uid(&threads, w.get(4).filter(|_| call.is_none()));
                        let call = call.map_or(CallId(0), call_named);
                        let wait = Wait { kind, owner, lock: u64::from(class.0), class, call };
                        threads[current].events.push((time, Event::WaitBegin(wait)));
                    }
                    "step" => {
                        let mut text = |name: &str| if name == "none" { TextId(0) } else { b.text(name) };
                        let [object, other] = [w[3], w.get(4).copied().unwrap_or("none")].map(&mut text);
                        let step: ConcurrencyStep = w[2].parse().expect(line);
                        let place = w.get(5).map(|name| name.split_once(':').unwrap_or((name, "0")));
                        let counts = if w.get(6) == Some(&"counts") { Concurrency::COUNTS_DOWN } else { 0 };
                        let started = step == ConcurrencyStep::ThreadStarted;
                        events.push((
                            time,
                            Event::Concurrency(Concurrency {
                                step,
                                line: place.map_or(counts, |(_, line)| counts + line.parse::<u16>().unwrap()),
                                method: place.map_or(0, |(name, _)| method(name)),
                                object: object.0,
                                other: other.0,
                                class: if started { other } else { object },
                                other_class: other,
                            }),
                        ));
                    }
                    "waitend" => events.push((time, Event::WaitEnd)),
                    "idle" => events.push((time, Event::IdleBegin(b.text(w[2])))),
                    "idleend" => events.push((time, Event::IdleEnd)),
                    "counter" => events.push((time, Event::Counter(b.text(w[2]), w[3].parse().unwrap()))),
                    "storm" => {
                        let length = (w[3].parse::<f64>().unwrap() * S) as u64;
                        let begin = message(&mut b, &w[4..]);
                        for i in 0..w[2].parse::<u64>().unwrap() {
                            events.push((time + i * length, begin));
                            events.push((time + (i + 1) * length, Event::MessageEnd));
                        }
                    }
                    "calls" => {
                        let length = (w[3].parse::<f64>().unwrap() * S) as u64;
                        let id = method(w[4]);
                        for i in 0..w[2].parse::<u64>().unwrap() {
                            events.push((time + i * length, Event::Enter(id)));
                            events.push((time + (i + 1) * length, Event::Exit(id)));
                        }
                    }
                    "folded" => {
                        let mut hot = [(0, 0); 4];
                        for (slot, pair) in hot.iter_mut().zip(w[4..].chunks(2)) {
                            *slot = (method(pair[0]), pair[1].parse().unwrap());
                        }
                        let (calls, since) = (w[2].parse().unwrap(), at(w[3]));
                        events.push((time, Event::Folded(Folded { calls, since, hot })));
                    }
                    "stall" => service.push((time, Event::Stall(Stall { stuck_since: since(w[2]) }))),
                    "recovered" => service.push((time, Event::Recovered(Stall { stuck_since: since(w[2]) }))),
                    "sigquit" => service.push((time, Event::Sigquit(sigquit(time, since(w[2]))))),
                    "clock" => {
                        let slept = (w[2].parse::<f64>().unwrap() * S) as u64;
                        service.push((time, Event::Clock(clocks(time, slept))));
                    }
                    "usage" => {
                        let ns = |text: &str| (text.parse::<f64>().unwrap() * S) as u64;
                        let usage = Usage {
                            tid: PID,
                            state: w[2].as_bytes()[0],
                            ran: ns(w[3]),
                            waited: ns(w[4]),
                            ..Usage::default()
                        };
                        service.push((time, Event::Usage(usage)));
                    }
                    _ => panic!("{}: cannot read {line:?}", case.name),
                }
            }
        }
    }
    for (i, thread) in threads.into_iter().enumerate() {
        let fill = |t: &mut trace_format::synth::ThreadBuilder| {
            for (time, event) in thread.events {
                t.event(time, event);
            }
        };
        b = if i == 0 { b.main("main", fill) } else { b.thread(&thread.name, PID + i as u32, fill) };
    }
    b = b.service(|t| {
        for (time, event) in service {
            t.event(time, event);
        }
    });
    for (kind, mut payload) in sections {
        if kind == SectionKind::StackSamples {
            payload = samples(&payload, sampling);
        }
        if kind == SectionKind::NativeFrames {
            payload = native::frames(&payload);
        }
        b = b.section(kind, &payload);
    }
    let lines: Vec<String> = methods
        .iter()
        .map(|(name, id)| {
            let (class, method) = name.rsplit_once('.').unwrap();
            format!("{id},1,{class} {method} ()V")
        })
        .collect();
    (b.last_alive(alive).build(), lines.join("\n"))
}

/// A new sample begins where a frame is one that began a sample before, or at the first frame of a class that the last
/// sample's innermost frame is not below.
fn samples(frames: &[u8], (from, step): (f64, f64)) -> Vec<u8> {
    let text = std::str::from_utf8(frames).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    // Every sample ends with the same outermost frame.
    let last = lines.last().unwrap();
    let mut out = String::new();
    for (i, sample) in lines.split_inclusive(|line| line == last).enumerate() {
        let time = at(&format!("{}", from + step * i as f64));
        out.push_str(&format!("@{time} 0\n{}\n", sample.join("\n")));
    }
    out.into_bytes()
}

pub fn clocks(boottime: u64, slept: u64) -> Clocks {
    Clocks { boottime, monotonic: boottime - slept, realtime: 1_700_000_000_000_000_000 + boottime }
}

pub fn sigquit(sensed: u64, stuck_since: u64) -> Sigquit {
    Sigquit { sensed, si_code: 0, si_pid: 1234, si_uid: 1000, forward: Forward::Catcher, stuck_since }
}

pub fn verdict(sigquit: Sigquit, outcome: &str, why: &str) -> Verdict {
    Verdict {
        sigquit,
        reconsidered: true,
        policy: Policy::Anrscope,
        outcome: outcome.parse().unwrap(),
        confidence: Confidence::High,
        sender: Sender::System,
        foreground: Some(true),
        counters: Counters::default(),
        reasons: vec![Reason { code: "made".to_owned(), text: why.to_owned() }],
    }
}
