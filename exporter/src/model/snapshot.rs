//! What the app saw at the instant at which it found an ANR: main's state, the running stage, memory, what was waiting.

use trace_format::section::{SectionKind, key_values};
use trace_format::{ReadError, Recording, Source};

use super::clean;
use super::sink::{Arg, Value};
use super::survey::MAX_TIME;

/// The longest section that is read: a queue of ten thousand messages.
const MAX_SECTION: u64 = 4 << 20;
/// Snapshots that are kept; one comes with an ANR.
const MAX_KEPT: usize = 256;
/// Waiting messages of a snapshot that are shown.
const MAX_PENDING: usize = 1000;

/// A message that was waiting.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Pending {
    /// Its place in the queue, from 0.
    pub(crate) place: u64,
    /// `<Handler class>: <callback class>` or `<Handler class>: #<what>`, as a dispatched one is called.
    pub(crate) name: String,
    /// When it is due, from the snapshot on, `-5003ms`, or as `Looper.dump` writes it: `-5s3ms`.
    pub(crate) when: String,
}

/// A snapshot. Times are BOOTTIME ns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Snapshot {
    /// When it was taken.
    pub at: u64,
    /// Begin of the message that main was in, 0 if it was in none.
    pub message_since: u64,
    /// The rest of what it says, by key.
    values: Vec<(&'static str, String)>,
    /// Main's Java stack, innermost first.
    pub stack: Vec<String>,
    /// What was waiting.
    pub(crate) pending: Vec<Pending>,
    /// How many more.
    pub(crate) more_pending: u64,
}

/// What is shown as it stands, under its own name.
const TEXTS: [&str; 8] = ["stage", "foreground", "scene", "state", "priority", "nice", "cgroup", "detector"];
/// ns, under another name.
const TIMES: [(&str, &str); 3] = [
    ("input_ns", "stage_input_ms"),
    ("animation_ns", "stage_animation_ms"),
    ("traversal_ns", "stage_traversal_ms"),
];
/// KiB, and the counters that show them in bytes.
const MEMORY: [(&str, &str); 3] =
    [("dalvik_kib", "Java heap"), ("native_kib", "Native heap"), ("vm_kib", "VmSize")];
const STAGE_SINCE: &str = "stage_since";

impl Snapshot {
    fn parse(text: &str) -> Option<Self> {
        let text = text.replace("\r\n", "\n");
        let mut parts = text.splitn(3, "\n\n");
        let head = parts.next()?;
        let value = |key| key_values(head).find(|(k, _)| *k == key).map(|(_, value)| value);
        let number = |key| value(key).and_then(|text| text.parse().ok());
        let keys = TEXTS.into_iter().chain(TIMES.map(|(key, _)| key)).chain(MEMORY.map(|(key, _)| key));
        let values = keys.chain([STAGE_SINCE]).filter_map(|key| Some((key, clean(value(key)?).into_owned())));
        let lines = |text: Option<&str>| -> Vec<String> {
            let lines = text.unwrap_or_default().lines().map(str::trim).filter(|line| !line.is_empty());
            lines.map(|line| clean(line).into_owned()).collect()
        };
        let mut snapshot = Self {
            at: number("at").filter(|at| (1..MAX_TIME).contains(at))?,
            message_since: number("message_since").unwrap_or(0),
            values: values.collect(),
            stack: lines(parts.next()),
            pending: Vec::new(),
            more_pending: 0,
        };
        let waiting = lines(parts.next());
        for line in &waiting {
            let Some(pending) = pending(line, snapshot.pending.len() as u64) else { continue };
            if snapshot.pending.len() < MAX_PENDING {
                snapshot.pending.push(pending);
            } else {
                snapshot.more_pending += 1;
            }
        }
        let told = snapshot.pending.len() as u64 + snapshot.more_pending;
        let all = waiting.iter().rev().find_map(|line| total(line)).unwrap_or(0);
        snapshot.more_pending += all.saturating_sub(told);
        Some(snapshot)
    }

    /// Reads all of a recording, by time; and how many were none, or too many.
    ///
    /// # Errors
    /// If the device fails.
    pub(crate) fn all<S: Source>(recording: &Recording<S>) -> Result<(Vec<Self>, u64), ReadError> {
        let (mut snapshots, mut skipped) = (Vec::new(), 0);
        for section in recording.sections().iter().filter(|s| s.kind == Some(SectionKind::AnrSnapshot)) {
            let readable = section.length <= MAX_SECTION && snapshots.len() < MAX_KEPT;
            let payload = if readable { recording.payload(section)? } else { None };
            match payload.as_deref().map(String::from_utf8_lossy).as_deref().and_then(Self::parse) {
                Some(snapshot) => snapshots.push(snapshot),
                None => skipped += 1,
            }
        }
        snapshots.sort_by_key(|snapshot| snapshot.at);
        Ok((snapshots, skipped))
    }

    fn value(&self, key: &str) -> Option<&str> {
        self.values.iter().find(|(k, _)| *k == key).map(|(_, value)| value.as_str())
    }

    fn number(&self, key: &str) -> Option<u64> {
        self.value(key)?.parse().ok()
    }

    /// The stage of the frame that main was in, and how long it had been, if it was in one.
    pub(crate) fn stage(&self) -> Option<(&str, Option<u64>)> {
        let stage = self.value("stage").filter(|stage| !matches!(*stage, "" | "none"))?;
        let since = self.number(STAGE_SINCE).filter(|since| (1..=self.at).contains(since));
        Some((stage, since.map(|since| self.at - since)))
    }

    /// Main's `Thread.State`.
    pub(crate) fn main_state(&self) -> Option<&str> {
        self.value("state").filter(|state| !state.is_empty())
    }

    /// What it says, as arguments.
    pub(crate) fn args(&self) -> Vec<Arg<'_>> {
        let mut args = vec![Arg::new("snapshot_at_ns", Value::Uint(self.at))];
        if let Some((_, Some(age))) = self.stage() {
            args.push(Arg::new("stage_for_ms", Value::Millis(age)));
        }
        let texts = TEXTS.into_iter().filter(|key| *key != "detector");
        args.extend(texts.filter_map(|key| Some(Arg::new(key, Value::Text(self.value(key)?)))));
        args.extend(
            TIMES.iter().filter_map(|(key, name)| Some(Arg::new(name, Value::Millis(self.number(key)?)))),
        );
        args.extend(MEMORY.iter().filter_map(|(key, _)| Some(Arg::new(key, Value::Uint(self.number(key)?)))));
        let waiting = self.pending.len() as u64 + self.more_pending;
        args.push(Arg::new("pending_messages", Value::Uint(waiting)));
        args
    }

    /// Counters of memory and their bytes.
    pub(crate) fn memory(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let known = MEMORY.iter().filter_map(|(key, name)| Some((*name, self.number(key)?)));
        known.filter(|(_, kib)| *kib > 0).map(|(name, kib)| (name, kib.saturating_mul(1024)))
    }
}

/// How many waited: `(Total messages: 300, shown: 200)`, with `at least` in front of the number where the queue changed meanwhile.
fn total(line: &str) -> Option<u64> {
    let number = line.strip_prefix("(Total messages: ")?;
    number.strip_prefix("at least ").unwrap_or(number).split(',').next()?.parse().ok()
}

/// `Message 3: { when=-5003ms callback=a.B target=android.os.Handler }` (AOSP `android/os/Message.java`; recordings of earlier
/// versions have `Looper.dump`'s lines as they were).
fn pending(line: &str, place: u64) -> Option<Pending> {
    let (_, inside) = line.split_once("{ when=")?;
    let inside = inside.trim_end().strip_suffix('}').unwrap_or(inside);
    let when = inside.split_whitespace().next()?.to_owned();
    let value = |key: &str| {
        let at = inside.find(key)? + key.len();
        inside[at..].split_whitespace().next()
    };
    // An object's identity is no part of what a kind of message is called.
    let class = |text: &str| text.split('@').next().unwrap_or_default().to_owned();
    let target = value(" target=").map_or("Handler".to_owned(), class);
    let name = match (value(" callback="), value(" what="), value(" barrier=")) {
        (Some(callback), ..) => format!("{target}: {}", class(callback)),
        (_, Some(what), _) => format!("{target}: #{what}"),
        (.., Some(_)) => "sync barrier".to_owned(),
        _ => target,
    };
    Some(Pending { place, name, when })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "detector=looper\nat=5000\nmessage_since=1000\nstage=TRAVERSAL\nstage_since=2000\n\
        foreground=1\nscene=com.example.Main\ndalvik_kib=2048\nnative_kib=0\ninput_ns=1500000\n\n\
        com.example.Main.onClick(Main.java:7)\nandroid.os.Looper.loop(Looper.java:1)\n\n\
        Looper (main, tid 2) {1a2b}\n\
        \x20 Message 0: { when=-5s3ms callback=com.example.Save$1@77aa target=android.os.Handler }\n\
        \x20 Message 1: { when=+12ms what=3 obj=x target=com.example.Row$H }\n\
        \x20 Message 2: { when=0 barrier=9 }\n\
        \x20 (Total messages: 3, polling=false, quitting=false)\n";

    #[test]
    fn a_snapshot_is_read_whole() {
        let s = Snapshot::parse(TEXT).unwrap();
        assert_eq!((s.at, s.message_since, s.stage()), (5000, 1000, Some(("TRAVERSAL", Some(3000)))));
        assert_eq!(s.stack.len(), 2);
        let names: Vec<_> = s.pending.iter().map(|p| (p.name.as_str(), p.when.as_str())).collect();
        let wanted = [
            ("android.os.Handler: com.example.Save$1", "-5s3ms"),
            ("com.example.Row$H: #3", "+12ms"),
            ("sync barrier", "0"),
        ];
        assert_eq!(names, wanted);
        assert_eq!(s.memory().collect::<Vec<_>>(), [("Java heap", 2 << 20)]);
        let input = s.args().into_iter().find(|a| a.key == "stage_input_ms").unwrap();
        assert_eq!(input.value, Value::Millis(1_500_000));
        assert_eq!(Snapshot::parse("stage=INPUT\n"), None, "without a time");
    }

    #[test]
    fn messages_that_are_counted_and_not_shown_are_more_that_wait() {
        let text = "at=1\n\n\n\nMessage 0: { when=-5ms what=3 target=a.H }\n(Total messages: at least 300, shown: 1)\n";
        let s = Snapshot::parse(text).unwrap();
        assert_eq!((s.pending.len(), s.more_pending), (1, 299));
        assert_eq!(s.pending[0].name, "a.H: #3");
        assert_eq!(total("(Total messages: 7, polling=false, quitting=false)"), Some(7));
    }

    proptest! {
        #[test]
        fn no_text_is_too_wild(text in "(at=5\n)?((stage|at|message_since)=.{0,9}\n|\n|Message 0: \\{ when=.{0,20}\\}?\n){0,9}") {
            if let Some(snapshot) = Snapshot::parse(&text) {
                prop_assert!(snapshot.args().len() >= 2 && snapshot.at < MAX_TIME);
            }
        }
    }
}
