//! `jcmd PID Thread.dump_to_file -format=json`, JDK 21 to 25 (`jdk.internal.vm.ThreadDumper`), read thread by
//! thread and converted to the lines of the text form, so that one reader serves both:
//!
//! ```text
//! {"threadDump": {"processId": "3403", "time": "2026-11-23T09:45:13.93Z", "runtimeVersion": "25.0.3+9-LTS",
//!   "threadContainers": [{"container": "<root>", "threads": [{"tid": "3", "name": "main", "virtual": true,
//!     "state": "BLOCKED", "blockedOn": "java.lang.Object@799c5f73", "waitingOn": "..",
//!     "parkBlocker": {"object": "..", "owner": "12"}, "stack": ["Dumped.total(Dumped.java:19)"],
//!     "monitorsOwned": [{"depth": 1, "locks": ["java.lang.Object@338f7039"]}]}]}]}}
//! ```
//! JDK 21 to 24 have only `tid`, `name` and `stack`.

use std::cell::Cell;
use std::fmt;
use std::io::{self, Read};

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::dump::limits;

/// Counts lines and bytes, and stops after [`limits::JSON`] bytes.
struct Counted<'a, R> {
    input: R,
    lines: &'a Cell<u32>,
    left: u64,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // serde_json reads one byte at a time.
        let room = buffer.len().min(1);
        let read = self.input.read(&mut buffer[..room])?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| {
            let most = limits::JSON;
            io::Error::other(format!("a thread dump in JSON may have {most} bytes, and this one has more"))
        })?;
        if buffer[..read].contains(&b'\n') {
            self.lines.set(self.lines.get().saturating_add(1));
        }
        Ok(read)
    }
}

/// Reads the document and passes each line of the equivalent text to `line`, with the line number in the JSON.
///
/// # Errors
/// If it cannot be read or is not JSON; the lines up to there were passed on.
pub(in crate::dump) fn read(input: impl Read, mut line: impl FnMut(&str, u32)) -> serde_json::Result<()> {
    let lines = Cell::new(1);
    let counted = Counted { input, lines: &lines, left: limits::JSON };
    let mut json = serde_json::Deserializer::from_reader(counted);
    let mut give = |text: &str| line(&text.replace(['\n', '\r'], " "), lines.get());
    Part::Top(&mut give).deserialize(&mut json)
}

/// The position in the document; each variant has the consumer of the lines.
enum Part<'a> {
    /// The document, the dump, or a container: objects.
    Top(&'a mut dyn FnMut(&str)),
    /// The list of containers.
    Containers(&'a mut dyn FnMut(&str)),
    /// The threads of one container.
    Threads(&'a mut dyn FnMut(&str)),
}

impl<'de> DeserializeSeed<'de> for Part<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self {
            Part::Top(_) => deserializer.deserialize_map(self),
            Part::Containers(_) | Part::Threads(_) => deserializer.deserialize_seq(self),
        }
    }
}

impl<'de> Visitor<'de> for Part<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Part::Top(_) => "an object of a thread dump",
            Part::Containers(_) => "a list of thread containers",
            Part::Threads(_) => "a list of threads",
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Part::Top(give) = self else { return Err(de::Error::custom("an object where a list belongs")) };
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "threadDump" => map.next_value_seed(Part::Top(give))?,
                "threadContainers" => map.next_value_seed(Part::Containers(give))?,
                "threads" => map.next_value_seed(Part::Threads(give))?,
                "processId" | "time" | "runtimeVersion" => give(&text(&map.next_value::<Value>()?)),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        match self {
            Part::Containers(give) => while seq.next_element_seed(Part::Top(give))?.is_some() {},
            Part::Threads(give) => {
                while let Some(thread) = seq.next_element::<Value>()? {
                    give_thread(&thread, give);
                }
            }
            Part::Top(_) => return Err(de::Error::custom("a list where an object belongs")),
        }
        Ok(())
    }
}

/// A text or number as text: JDK 21 to 25 write numbers as texts, which may change.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn give_thread(thread: &Value, give: &mut dyn FnMut(&str)) {
    let of = |key: &str| thread.get(key).filter(|value| !value.is_null()).map(text);
    let (Some(tid), Some(name)) = (of("tid"), of("name")) else { return };
    let is_virtual = if of("virtual").is_some_and(|word| word == "true") { " virtual" } else { "" };
    let state = of("state").unwrap_or_default();
    give("");
    give(&format!("#{tid} \"{name}\"{is_virtual} {state}"));
    let mut above = Vec::new();
    if let Some(object) = of("waitingOn") {
        above.push(format!("- waiting on <{object}>"));
    }
    if let Some(object) = of("blockedOn") {
        above.push(format!("- waiting to lock <{object}>"));
    }
    if let Some(blocker) = thread.get("parkBlocker").and_then(Value::as_object)
        && let Some(object) = blocker.get("object").and_then(Value::as_str)
    {
        let owner = blocker.get("owner").filter(|owner| !owner.is_null());
        let owner = owner.map(|owner| format!(", owner #{}", text(owner))).unwrap_or_default();
        above.push(format!("- parking to wait for <{object}>{owner}"));
    }
    let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
    let owned = list(thread.get("monitorsOwned"));
    for (depth, frame) in list(thread.get("stack")).iter().enumerate() {
        give(&format!("    at {}", text(frame)));
        // The lock lines go below the innermost frame.
        above.drain(..).for_each(|line| give(&format!("    {line}")));
        let here =
            owned.iter().filter(|owned| owned.get("depth").and_then(Value::as_u64) == Some(depth as u64));
        for lock in here.flat_map(|owned| list(owned.get("locks"))).filter(|lock| !lock.is_null()) {
            give(&format!("    - locked <{}>", text(&lock)));
        }
    }
    give("");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(json: &str) -> (Vec<String>, bool) {
        let mut lines = Vec::new();
        let read = read(json.as_bytes(), |line, number| lines.push(format!("{number} {}", line.trim())));
        (lines, read.is_ok())
    }

    #[test]
    fn threads_become_lines() {
        let json = r#"{"threadDump": {"processId": 7, "x": [{}], "time": "2026-01-01T00:00:00Z",
            "threadContainers": [{"container": "<root>", "threads": [
            {"tid": "3", "name": "a\nb", "state": "BLOCKED", "blockedOn": "A@1", "stack": ["a.B.c(D.java:1)", "a.B.main(D.java:2)"],
             "monitorsOwned": [{"depth": 1, "locks": ["B@2", null]}]},
            {"tid": 4, "name": "", "virtual": true, "parkBlocker": {"object": "L@3", "owner": "3"}, "stack": ["x.y(Z.java)"]}
            ]}]}}"#;
        let expected = [
            "1 7",
            "1 2026-01-01T00:00:00Z",
            "4 ",
            "4 #3 \"a b\" BLOCKED",
            "4 at a.B.c(D.java:1)",
            "4 - waiting to lock <A@1>",
            "4 at a.B.main(D.java:2)",
            "4 - locked <B@2>",
            "4 ",
            "5 ",
            "5 #4 \"\" virtual",
            "5 at x.y(Z.java)",
            "5 - parking to wait for <L@3>, owner #3",
            "5 ",
        ];
        assert_eq!(lines(json), (expected.map(str::to_owned).to_vec(), true));
        // A truncated document yields the threads before the cut.
        let (some, whole) = lines(&json[..json.find("{\"tid\": 4").unwrap()]);
        assert!(!whole && some.len() == 9, "{some:?}");
        for wrong in
            ["", "{", "[]", "{\"threadDump\": []}", "{\"threads\": {}}", "{\"threadContainers\": [[]]}"]
        {
            assert!(!lines(wrong).1, "{wrong}");
        }
    }
}
