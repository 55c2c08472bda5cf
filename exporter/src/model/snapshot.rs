//! The app's snapshot at an ANR as arguments and counters, and the messages that were waiting.

use trace_format::sections::anr_snapshot::AnrSnapshot;

use super::labels::numbered_name;
use super::sink::{OwnedArgs, Value};

/// Maximum number of waiting messages displayed per snapshot.
const MAX_PENDING: usize = 1000;

/// A waiting message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Pending {
    /// Its position in the queue, from 0.
    pub(super) place: u64,
    /// `<Handler class>: <callback class>` or `<Handler class>: #<what>`, as for a dispatched message.
    pub(super) name: String,
    /// When it is due, relative to the snapshot: `-5003ms`, or as `Looper.dump` writes it: `-5s3ms`.
    pub(super) when: String,
}

/// The stage of the frame that main was in, and its duration so far, ns, if it was in one.
pub(super) fn stage(snapshot: &AnrSnapshot) -> Option<(&str, Option<u64>)> {
    let stage = snapshot.stage.as_ref()?;
    let since = stage.since.filter(|since| *since <= snapshot.at);
    Some((&stage.name, since.map(|since| snapshot.at - since)))
}

/// The waiting messages up to the limit, and the number of others.
pub(super) fn waiting(snapshot: &AnrSnapshot) -> (Vec<Pending>, u64) {
    let (mut shown, mut count, mut all) = (Vec::new(), 0, 0);
    for line in snapshot.pending.lines() {
        match pending(line, count) {
            Some(pending) => {
                count += 1;
                if shown.len() < MAX_PENDING {
                    shown.push(pending);
                }
            }
            None => all = total(line).unwrap_or(all),
        }
    }
    let more = count.max(all) - shown.len() as u64;
    (shown, more)
}

/// The content of a snapshot as arguments.
pub(super) fn args(s: &AnrSnapshot) -> OwnedArgs {
    let mut args = vec![("snapshot_at_ns", Value::Uint(s.at))];
    let stage = stage(s);
    let age = stage.and_then(|(_, age)| age);
    args.extend(age.map(|age| ("stage_for_ms", Value::Millis(age))));
    let texts = [
        ("stage", stage.map(|(name, _)| name.to_owned())),
        ("foreground", s.foreground.map(|foreground| u8::from(foreground).to_string())),
        ("scene", s.scene.clone()),
        ("state", s.state.clone()),
        ("priority", s.priority.map(|priority| priority.to_string())),
        ("nice", s.nice.map(|nice| nice.to_string())),
        ("cgroup", s.cgroup.clone()),
    ];
    args.extend(texts.into_iter().filter_map(|(key, text)| Some((key, Value::Text(text?.into())))));
    let stages = ["stage_input_ms", "stage_animation_ms", "stage_traversal_ms"].into_iter().zip(s.stage_ns);
    args.extend(stages.filter_map(|(key, ns)| Some((key, Value::Millis(ns?)))));
    let memory = [("dalvik_kib", s.dalvik_kib), ("native_kib", s.native_kib), ("vm_kib", s.vm_kib)];
    args.extend(memory.into_iter().filter_map(|(key, kib)| Some((key, Value::Uint(kib?)))));
    let (shown, more) = waiting(s);
    args.push(("pending_messages", Value::Uint(shown.len() as u64 + more)));
    args
}

/// Memory counters and their bytes.
pub(super) fn memory(s: &AnrSnapshot) -> impl Iterator<Item = (&'static str, u64)> {
    let all = [("Java heap", s.dalvik_kib), ("Native heap", s.native_kib), ("VmSize", s.vm_kib)];
    let known = all.into_iter().filter_map(|(name, kib)| Some((name, kib.filter(|kib| *kib > 0)?)));
    known.map(|(name, kib)| (name, kib.saturating_mul(1024)))
}

/// Number of waiting messages from `(Total messages: 300, shown: 200)`; `at least` precedes the number if the
/// queue changed meanwhile.
fn total(line: &str) -> Option<u64> {
    let number = line.strip_prefix("(Total messages: ")?;
    number.strip_prefix("at least ").unwrap_or(number).split(',').next()?.parse().ok()
}

/// Parses `Message 3: { when=-5003ms callback=a.B target=android.os.Handler }` (AOSP `android/os/Message.java`).
fn pending(line: &str, place: u64) -> Option<Pending> {
    let (_, inside) = line.split_once("{ when=")?;
    let inside = inside.trim_end().strip_suffix('}').unwrap_or(inside);
    let when = inside.split_whitespace().next()?.to_owned();
    let value = |key: &str| {
        let at = inside.find(key)? + key.len();
        inside[at..].split_whitespace().next()
    };
    // An object's identity is not part of the name of a kind of message.
    let class = |text: &str| text.split('@').next().unwrap_or_default().to_owned();
    let target = value(" target=").map_or("Handler".to_owned(), class);
    let name = match (value(" callback="), value(" what="), value(" barrier=")) {
        (Some(callback), ..) => format!("{target}: {}", class(callback)),
        (_, Some(what), _) => match what.parse() {
            Ok(what) => numbered_name(&target, what),
            Err(_) => format!("{target}: #{what}"),
        },
        (.., Some(_)) => "sync barrier".to_owned(),
        _ => target,
    };
    Some(Pending { place, name, when })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(text: &str) -> AnrSnapshot {
        AnrSnapshot::parse(text.as_bytes()).unwrap()
    }

    const TEXT: &str = "detector=looper\nat=5000\nmessage_since=1000\nstage=TRAVERSAL\nstage_since=2000\n\
        foreground=1\nscene=com.example.Main\ndalvik_kib=2048\nnative_kib=0\ninput_ns=1500000\n\n\
        com.example.Main.onClick(Main.java:7)\nandroid.os.Looper.loop(Looper.java:1)\n\n\
        Looper (main, tid 2) {1a2b}\n\
        \x20 Message 0: { when=-5s3ms callback=com.example.Save$1@77aa target=android.os.Handler }\n\
        \x20 Message 1: { when=+12ms what=3 obj=x target=com.example.Row$H }\n\
        \x20 Message 2: { when=0 barrier=9 }\n\
        \x20 Message 3: { when=+2ms what=115 target=android.app.ActivityThread$H }\n\
        \x20 (Total messages: 4, polling=false, quitting=false)\n";

    #[test]
    fn a_snapshot_is_shown_whole() {
        let s = of(TEXT);
        assert_eq!(stage(&s), Some(("TRAVERSAL", Some(3000))));
        let (shown, more) = waiting(&s);
        let names: Vec<_> = shown.iter().map(|p| (p.name.as_str(), p.when.as_str())).collect();
        let wanted = [
            ("android.os.Handler: com.example.Save$1", "-5s3ms"),
            ("com.example.Row$H: #3", "+12ms"),
            ("sync barrier", "0"),
            ("android.app.ActivityThread$H: #115 SERVICE_ARGS", "+2ms"),
        ];
        assert_eq!((names, more), (wanted.to_vec(), 0));
        assert_eq!(memory(&s).collect::<Vec<_>>(), [("Java heap", 2 << 20)]);
        assert!(args(&s).contains(&("stage_input_ms", Value::Millis(1_500_000))));
    }

    #[test]
    fn messages_that_are_counted_and_not_shown_are_more_that_wait() {
        let text = "at=1\n\n\n\nMessage 0: { when=-5ms what=3 target=a.H }\n(Total messages: at least 300, shown: 1)\n";
        let (shown, more) = waiting(&of(text));
        assert_eq!((shown.len(), more, shown[0].name.as_str()), (1, 299, "a.H: #3"));
        assert_eq!(total("(Total messages: 7, polling=false, quitting=false)"), Some(7));
    }

    proptest! {
        #[test]
        fn no_text_is_too_wild(text in "at=5\n((stage|message_since)=.{0,9}\n|\n|Message 0: \\{ when=.{0,20}\\}?\n){0,9}") {
            prop_assert!(args(&of(&text)).len() >= 2);
        }
    }
}
