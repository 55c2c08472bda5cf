//! The lines before the threads: build, heap, collector, compiler, loaded classes.
//!
//! One row of [`PLAIN`] is one line of a dump; lines with several figures are read by [`parse`].

use serde::{Serialize, Serializer};

/// A figure or text from a dump's head.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fact {
    /// Its name, the same for all Android versions. It ends with the unit: `_bytes`, `_ns`.
    pub key: String,
    /// Its value.
    pub value: FactValue,
}

/// The value of a fact.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(untagged)]
pub enum FactValue {
    /// A text.
    Text(String),
    /// A count, bytes or ns, depending on the key.
    Number(u64),
}

/// Serializes facts as one object.
pub(crate) fn serialize<S: Serializer>(facts: &[Fact], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(facts.iter().map(|fact| (&fact.key, &fact.value)))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Count,
    Bytes,
    Kilobytes,
    Time,
}

/// Line prefix, key, and kind of value. The texts are those of art/runtime (gc/heap.cc, jit/, monitor) and of
/// the system's StackTracesDumpHelper.
const PLAIN: [(&str, &str, Kind); 39] = [
    ("Build fingerprint: ", "build_fingerprint", Kind::Text),
    ("ABI: ", "abi", Kind::Text),
    ("Build type: ", "build_type", Kind::Text),
    ("Total GC count: ", "gc_count", Kind::Count),
    ("Total GC time: ", "gc_time_ns", Kind::Time),
    ("Total blocking GC count: ", "gc_blocking_count", Kind::Count),
    ("Total blocking GC time: ", "gc_blocking_time_ns", Kind::Time),
    ("Total time spent in GC: ", "gc_total_time_ns", Kind::Time),
    ("Total time waiting for GC to complete: ", "gc_wait_time_ns", Kind::Time),
    ("Total mutator paused time: ", "gc_mutator_paused_ns", Kind::Time),
    ("Total number of allocations ", "allocations", Kind::Count),
    ("Total bytes allocated ", "allocated_bytes", Kind::Bytes),
    ("Total bytes freed ", "freed_bytes", Kind::Bytes),
    ("Free memory until GC ", "free_until_gc_bytes", Kind::Bytes),
    ("Free memory until OOME ", "free_until_oome_bytes", Kind::Bytes),
    ("Free memory ", "free_bytes", Kind::Bytes),
    ("Total memory ", "total_bytes", Kind::Bytes),
    ("Max memory ", "max_bytes", Kind::Bytes),
    ("Zygote space size ", "zygote_space_bytes", Kind::Bytes),
    ("Registered native bytes allocated: ", "native_registered_bytes", Kind::Bytes),
    ("Total native bytes at last GC: ", "native_at_last_gc_bytes", Kind::Bytes),
    ("Current JIT code cache size: ", "jit_code_bytes", Kind::Bytes),
    ("Current JIT code cache size (used / resident): ", "jit_code", Kind::Text),
    ("Current JIT data cache size: ", "jit_data_bytes", Kind::Bytes),
    ("Current JIT data cache size (used / resident): ", "jit_data", Kind::Text),
    ("Current JIT capacity: ", "jit_capacity_bytes", Kind::Bytes),
    ("Current number of JIT code cache entries: ", "jit_code_entries", Kind::Count),
    ("Total number of JIT compilations: ", "jit_compilations", Kind::Count),
    ("Total number of JIT code cache collections: ", "jit_collections", Kind::Count),
    ("RssHwmKb: ", "rss_highest_bytes", Kind::Kilobytes),
    ("RssKb: ", "rss_bytes", Kind::Kilobytes),
    ("RssAnonKb: ", "rss_anonymous_bytes", Kind::Kilobytes),
    ("RssShmemKb: ", "rss_shared_memory_bytes", Kind::Kilobytes),
    ("VmSwapKb: ", "swap_bytes", Kind::Kilobytes),
    ("Reason: ", "reason", Kind::Text),
    ("Package: ", "package", Kind::Text),
    ("Process: ", "process", Kind::Text),
    ("Timeout: ", "timeout_ms", Kind::Count),
    ("TimeoutStart: ", "timeout_start_uptime_ms", Kind::Count),
];

/// Parses a head line; returns whether it is known.
pub(crate) fn parse(line: &str, facts: &mut Vec<Fact>) -> bool {
    let line = line.trim();
    for (begin, key, kind) in PLAIN {
        let Some(rest) = line.strip_prefix(begin) else { continue };
        let rest = rest.trim();
        let number = match kind {
            Kind::Text => {
                push(facts, key, FactValue::Text(rest.trim_matches('\'').to_owned()));
                return true;
            }
            Kind::Count => rest.parse().ok(),
            Kind::Bytes => bytes(rest),
            Kind::Kilobytes => rest.parse::<u64>().ok().and_then(|kb| kb.checked_mul(1024)),
            Kind::Time => time(rest),
        };
        if let Some(number) = number {
            push(facts, key, FactValue::Number(number));
            return true;
        }
    }
    several(line, facts).is_some()
}

/// Lines with several figures.
fn several(line: &str, facts: &mut Vec<Fact>) -> Option<()> {
    if let Some(rest) = line.strip_prefix("Heap: ") {
        // `92% free, 2119KB/25MB; 48712 objects`
        let (free, rest) = rest.split_once("% free, ")?;
        let (used, rest) = rest.split_once('/')?;
        let (size, objects) = rest.split_once("; ")?;
        let objects = objects.strip_suffix(" objects")?;
        number(facts, "heap_free_percent", free.parse().ok());
        number(facts, "heap_used_bytes", bytes(used));
        number(facts, "heap_size_bytes", bytes(size));
        number(facts, "heap_objects", objects.parse().ok());
    } else if let Some(rest) = line.strip_prefix("Zygote loaded classes=") {
        let (zygote, post) = rest.split_once(" post zygote classes=")?;
        number(facts, "zygote_classes", zygote.parse().ok());
        number(facts, "post_zygote_classes", post.parse().ok());
    } else if let Some(rest) = line.strip_prefix("Intern table: ") {
        let (strong, weak) = rest.split_once(" strong; ")?;
        number(facts, "interned_strong", strong.parse().ok());
        number(facts, "interned_weak", weak.strip_suffix(" weak")?.parse().ok());
    } else if let Some(rest) = line.strip_prefix("JNI: CheckJNI is ") {
        let (check, rest) = rest.split_once("; globals=")?;
        push(facts, "check_jni", FactValue::Text(check.to_owned()));
        let (globals, weak) = rest.split_once(" (plus ").unwrap_or((rest, ""));
        number(facts, "jni_globals", globals.trim().parse().ok());
        number(facts, "jni_weak_globals", weak.strip_suffix(" weak)").and_then(|weak| weak.parse().ok()));
    } else if let Some(rest) = line.strip_prefix("suspend all histogram:") {
        // `Sum: 591us 99% C.I. 3us-174.160us Avg: 12.574us Max: 201us`
        for (word, key) in [
            ("Sum: ", "suspend_all_sum_ns"),
            ("Avg: ", "suspend_all_average_ns"),
            ("Max: ", "suspend_all_longest_ns"),
        ] {
            let value = rest.split_once(word).map(|(_, at)| at.split(' ').next().unwrap_or_default());
            number(facts, key, value.and_then(time));
        }
    } else if line.starts_with("Durations") && line.contains("V") {
        // AnrLatencyTracker.dumpAsCommaSeparatedArrayWithHeader: uptime of the trigger in ms, then how long it
        // took in ms to reach appNotResponding, the queue, the end of the queue, and this dump.
        let (_, rest) = line.split_once(": ")?;
        let keys = [
            "anr_trigger_uptime_ms",
            "anr_to_not_responding_ms",
            "anr_to_queue_ms",
            "anr_in_queue_ms",
            "anr_to_dump_ms",
        ];
        for (key, value) in keys.iter().zip(rest.split(',')) {
            number(facts, key, value.trim().parse().ok());
        }
        push(facts, "anr_latencies", FactValue::Text(rest.to_owned()));
    } else {
        return None;
    }
    Some(())
}

fn number(facts: &mut Vec<Fact>, key: &str, value: Option<u64>) {
    if let Some(value) = value {
        push(facts, key, FactValue::Number(value));
    }
}

/// Keeps the first value: a repeated key belongs to the table of one collector or to a log.
pub(crate) fn push(facts: &mut Vec<Fact>, key: &str, value: FactValue) {
    if facts.iter().all(|fact| fact.key != key) {
        facts.push(Fact { key: key.to_owned(), value });
    }
}

/// The text of a fact.
pub(crate) fn text<'a>(facts: &'a [Fact], key: &str) -> Option<&'a str> {
    facts.iter().find(|fact| fact.key == key).and_then(|fact| match &fact.value {
        FactValue::Text(text) => Some(text.as_str()),
        FactValue::Number(_) => None,
    })
}

/// Parses `2119KB`, `25MB`, `1GB`, `12B` or a plain number of bytes (ART's PrettySize).
pub(crate) fn bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let unit = match &text[digits..] {
        "" | "B" => 1,
        "KB" => 1 << 10,
        "MB" => 1 << 20,
        "GB" => 1 << 30,
        _ => return None,
    };
    text[..digits].parse::<u64>().ok()?.checked_mul(unit)
}

/// Parses `26.687ms`, `591us`, `1.2s`, `250ns`, or a bare `0` as ns (ART's PrettyDuration).
pub(crate) fn time(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
    let unit: u64 = match &text[digits..] {
        "" if text == "0" => return Some(0),
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return None,
    };
    let (whole, part) = text[..digits].split_once('.').unwrap_or((&text[..digits], ""));
    let mut ns = whole.parse::<u64>().ok()?.checked_mul(unit)?;
    let mut place = unit;
    if part.contains('.') {
        return None;
    }
    for digit in part.bytes() {
        place /= 10;
        ns = ns.checked_add(u64::from(digit - b'0').checked_mul(place)?)?;
    }
    Some(ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times() {
        for (text, expected) in [
            ("2119KB", Some(2119 << 10)),
            ("25MB", Some(25 << 20)),
            ("0B", Some(0)),
            ("111780", Some(111_780)),
            ("x", None),
            ("1TB", None),
            ("99999999999GB", None),
            ("KB", None),
        ] {
            assert_eq!(bytes(text), expected, "{text}");
        }
        for (text, expected) in [
            ("26.687ms", Some(26_687_000)),
            ("0", Some(0)),
            ("3us", Some(3_000)),
            ("1.5s", Some(1_500_000_000)),
            ("0.250us", Some(250)),
            ("7ns", Some(7)),
            ("5", None),
            ("1.2.3s", None),
            ("", None),
            ("99999999999999s", None),
        ] {
            assert_eq!(time(text), expected, "{text}");
        }
    }

    #[test]
    fn lines_of_a_head() {
        let mut facts = Vec::new();
        for line in [
            "Build fingerprint: 'a/b/c:14/D.1/2:user/release-keys'",
            "ABI: 'arm64'",
            "Heap: 92% free, 2119KB/25MB; 48712 objects",
            "Zygote loaded classes=9112 post zygote classes=1164",
            "Intern table: 33259 strong; 438 weak",
            "JNI: CheckJNI is on; globals=684 (plus 48 weak)",
            "suspend all histogram:\tSum: 591us 99% C.I. 3us-174.160us Avg: 12.574us Max: 201us",
            "Total blocking GC time: 26.687ms",
            "Free memory until OOME 253MB",
            "RssHwmKb: 227132",
            "DurationsV5: 1000,2,3,4,5,6",
            "Total GC count: 3",
            "Total GC count: 99",
        ] {
            assert!(parse(line, &mut facts), "{line}");
        }
        for (key, expected) in [
            ("heap_free_percent", 92),
            ("heap_used_bytes", 2119 << 10),
            ("heap_objects", 48712),
            ("post_zygote_classes", 1164),
            ("interned_weak", 438),
            ("jni_weak_globals", 48),
            ("suspend_all_longest_ns", 201_000),
            ("suspend_all_average_ns", 12_574),
            ("gc_blocking_time_ns", 26_687_000),
            ("free_until_oome_bytes", 253 << 20),
            ("rss_highest_bytes", 227_132 << 10),
            ("anr_trigger_uptime_ms", 1000),
            ("anr_to_dump_ms", 5),
            ("gc_count", 3),
        ] {
            let value = facts.iter().find(|fact| fact.key == key).map(|fact| &fact.value);
            assert_eq!(value, Some(&FactValue::Number(expected)), "{key}");
        }
        assert_eq!(text(&facts, "build_fingerprint"), Some("a/b/c:14/D.1/2:user/release-keys"));
        for line in ["Heap: x", "Heap: 1% free, 2", "Total GC count: x", "", "Durations", "JNI: CheckJNI is"]
        {
            assert!(!parse(line, &mut facts), "{line}");
        }
    }
}
