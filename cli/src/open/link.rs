//! The address that shows a trace the way it is wanted.

use serde_json::json;

/// The page. Its settings stand behind `#!/`.
const PAGE: &str = "https://ui.perfetto.dev/#!/";
/// What is shown around an ANR, ns on each side.
const AROUND: u64 = 1_000_000_000;
/// Tracks that are pinned, as the page's regular expressions over their names, from the top: the ANR with its answer, main and
/// what it did on the processor, frames.
const PINNED: [&str; 3] =
    ["^ANR$|Android ANRs", "^main( [0-9]+)?$|^main: processor while late$", "(Expected|Actual) Timeline"];
/// The tab where nothing is selected, whose details would be below it: what main was busy with longest.
const QUERY: &str = "select s.ts, s.dur / 1e6 as ms, s.name from slice s join thread_track t on s.track_id = t.id \
                     join thread using (utid) where thread.is_main_thread and s.depth = 0 \
                     order by s.dur desc limit 50";

/// Where an ANR lies in its trace, all in BOOTTIME ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// When main got stuck: what stands there is selected.
    pub(super) since: u64,
    /// When it was noticed.
    pub(super) detected: u64,
    /// The trace's first and last moment: the page looks at no window that reaches beyond.
    pub(super) trace: (u64, u64),
}

/// The page's address for the trace at `trace`; with `select` its last ANR is selected, and shown where it is known.
pub(super) fn to_page(trace: &str, select: bool, anr: Option<Place>) -> String {
    let mut url = format!("{PAGE}?url={}", escaped(trace));
    let selected = select && anr.is_some();
    if select {
        if let Some(Place { since, detected, trace: (first, last) }) = anr {
            let start = since.saturating_sub(AROUND).max(first);
            let end = detected.saturating_add(AROUND).min(last);
            url.push_str(&format!("&visStart={start}&visEnd={end}&ts={since}"));
        }
        // Pages from version 54 on have this themselves.
        url.push_str("&com.android.AndroidAnr");
    }
    let mut commands: Vec<_> =
        PINNED.iter().map(|name| json!({"id": "dev.perfetto.PinTracksByRegex", "args": [name]})).collect();
    if !selected {
        let args = [QUERY, "Longest messages of main"];
        commands.push(json!({"id": "dev.perfetto.RunQueryAndShowTab", "args": args}));
    }
    url.push_str(&format!("&startupCommands={}", escaped(&json!(commands).to_string())));
    url
}

/// Percent escapes for all but letters, digits and `-._~`.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unescaped(text: &str) -> String {
        let mut bytes = Vec::new();
        let mut rest = text.bytes();
        while let Some(byte) = rest.next() {
            if byte == b'%' {
                let hex: Vec<u8> = rest.by_ref().take(2).collect();
                bytes.push(u8::from_str_radix(std::str::from_utf8(&hex).unwrap(), 16).unwrap());
            } else {
                bytes.push(byte);
            }
        }
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn the_address_says_what_to_fetch_where_to_look_and_what_to_pin() {
        let anr =
            Place { since: 5_000_000_000, detected: 10_000_000_000, trace: (1_000_000_000, 10_500_000_000) };
        let url = to_page("http://127.0.0.1:9001/a.pftrace", true, Some(anr));
        let settings = url.strip_prefix("https://ui.perfetto.dev/#!/?").unwrap();
        let fields: Vec<_> = settings.split('&').collect();
        assert_eq!(unescaped(fields[0]), "url=http://127.0.0.1:9001/a.pftrace");
        assert_eq!(fields[1..4], ["visStart=4000000000", "visEnd=10500000000", "ts=5000000000"]);
        assert_eq!(fields[4], "com.android.AndroidAnr");
        let commands = unescaped(fields[5].strip_prefix("startupCommands=").unwrap());
        let commands: serde_json::Value = serde_json::from_str(&commands).unwrap();
        assert_eq!(commands[0]["id"], "dev.perfetto.PinTracksByRegex");
        assert_eq!(commands[0]["args"][0], "^ANR$|Android ANRs");
        assert_eq!(commands[1]["args"][0], "^main( [0-9]+)?$|^main: processor while late$");
        // The selection's details are not covered by a tab.
        assert_eq!(commands.as_array().unwrap().len(), 3);
        let without = unescaped(&to_page("x", false, Some(anr)));
        assert!(!without.contains("AndroidAnr") && without.contains("is_main_thread"), "{without}");
    }
}
