//! Encoding of ANR events for `AnrListener.java`: a word, `key=value` lines and texts, passed on by the
//! queue of [`reports`].

use trace_rules::locks::{Locks, Waiting};

use crate::monitors::reports;

/// The separator between the texts of a deadlock; it does not occur in a thread's lines.
const TEXT_SEPARATOR: &str = "\u{1e}\n";

/// Sends an ANR; `snapshot` is the text of the recording's section. `listed`: the system's list of
/// processes in error names this process.
pub(crate) fn anr(snapshot: &str, listed: bool) {
    reports::hand_over(["!anr\nfrom_error_state=", if listed { "1\n" } else { "0\n" }, snapshot].concat());
}

/// Sends what a thread dump shows about deadlocks; `pid` is this process or an earlier one. `idle`: also
/// sends that main was idle, which matters only in a dump that was made for an ANR.
pub(crate) fn locks(dump: &[u8], pid: u32, idle: bool) {
    let text = String::from_utf8_lossy(dump);
    if let Some(event) = encode(&Locks::parse(&text), pid, idle) {
        reports::hand_over(event);
    }
}

fn encode(locks: &Locks<'_>, pid: u32, idle: bool) -> Option<String> {
    let pid = pid.to_string();
    if let (Some(first), Some(last)) = (locks.cycle.first(), locks.cycle.last()) {
        let of_all = |what: &dyn Fn(&Waiting<'_>) -> String, between: &str| -> String {
            locks.cycle.iter().map(what).collect::<Vec<_>>().join(between)
        };
        let threads = of_all(&|one| one.tid.to_string(), ",");
        let classes = of_all(&|one| one.lock.to_owned(), ";");
        let head = ["!deadlock\npid=", &pid, "\nthreads=", &threads, "\nlocks=", &classes, "\n\n"].concat();
        return Some([&head, locks.main, TEXT_SEPARATOR, first.text, TEXT_SEPARATOR, last.text].concat());
    }
    (idle && locks.is_main_idle()).then(|| ["!idle\npid=", &pid, "\n\n", locks.main].concat())
}

/// The message at the head of the queue, from the lines of the waiting messages (`WaitingMessages.java`),
/// and when it was due relative to then, ms: negative if it is delayed. `None` if nothing waits.
pub(crate) fn head(pending: &str) -> Option<(&str, i64)> {
    let line = pending.lines().find(|line| line.contains(" when="))?;
    let (_, behind) = line.split_once(" when=")?;
    let when = behind.split(' ').next().unwrap_or_default();
    let message = line.find('{').map_or(line, |at| &line[at..]);
    Some((message.trim_end(), duration_ms(when)?))
}

/// Parses `-1d2h3m4s5ms` as Android's `TimeUtils.formatDuration` writes it, with `+` for the future and `0`
/// for now.
fn duration_ms(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut ms = 0i64;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number: i64 = rest[..digits].parse().ok()?;
        let unit_end = rest[digits..].bytes().take_while(u8::is_ascii_lowercase).count();
        let unit = match &rest[digits..digits + unit_end] {
            "d" => 86_400_000,
            "h" => 3_600_000,
            "m" => 60_000,
            "s" => 1_000,
            "ms" => 1,
            "" if number == 0 => 0,
            _ => return None,
        };
        ms = ms.checked_add(number.checked_mul(unit)?)?;
        rest = &rest[digits + unit_end..];
    }
    Some(if negative { -ms } else { ms })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queues_head_is_encoded_with_its_delay() {
        let dump = "Looper (main, tid 1) {71}\n  Message 0: { when=-10s1ms what=7 target=a.B }\n  Message 1: { when=+5ms what=8 }\n";
        assert_eq!(head(dump), Some(("{ when=-10s1ms what=7 target=a.B }", -10_001)));
        assert_eq!(head("Looper (main, tid 1) {71}\n  (Total messages: 0, polling=true)\n"), None);
        assert_eq!(head(""), None);
    }

    #[test]
    fn androids_durations_are_parsed() {
        for (text, ms) in [
            ("0", Some(0)),
            ("-1s999ms", Some(-1_999)),
            ("-2s1ms", Some(-2_001)),
            ("+30ms", Some(30)),
            ("+1d2h3m4s5ms", Some(93_784_005)),
            ("-999ms", Some(-999)),
            ("", Some(0)),
            ("5", None),
            ("+ms", None),
            ("-1y", None),
            ("99999999999999999999ms", None),
            ("9223372036854775807s", None),
        ] {
            assert_eq!(duration_ms(text), ms, "{text}");
        }
    }

    #[test]
    fn a_deadlock_is_encoded_with_main_and_both_ends_and_idleness_only_for_an_anr() {
        let thread = |tid: u32, holder: u32| {
            format!(
                "\"t{tid}\" prio=5 tid={tid} Blocked\n  - waiting to lock <0x1> (a L{tid}) held by thread {holder}\n\n"
            )
        };
        let dump = [thread(1, 2), thread(2, 3), thread(3, 2)].concat();
        let encoded = encode(&Locks::parse(&dump), 42, true).unwrap();
        let (head, texts) = encoded.split_once("\n\n").unwrap();
        assert_eq!(head, "!deadlock\npid=42\nthreads=2,3\nlocks=L2;L3");
        let texts: Vec<_> = texts.split(TEXT_SEPARATOR).map(|text| text.split(' ').next().unwrap()).collect();
        assert_eq!(texts, ["\"t1\"", "\"t2\"", "\"t3\""]);
        let idle =
            "\"main\" prio=5 tid=1 Native\n  at android.os.MessageQueue.nativePollOnce(Native method)\n\n";
        let encoded = |with_idle| encode(&Locks::parse(idle), 7, with_idle);
        assert!(encoded(true).unwrap().starts_with("!idle\npid=7\n\n\"main\" ") && encoded(false).is_none());
        assert!(encode(&Locks::parse("nothing"), 7, true).is_none());
    }
}
