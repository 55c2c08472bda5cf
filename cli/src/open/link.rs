//! The address that shows a trace the way it is wanted.

use exporter::model::Anr;
use serde_json::json;

/// The page. Its settings stand behind `#!/`.
const PAGE: &str = "https://ui.perfetto.dev/#!/";
/// What is shown around an ANR, ns on each side.
const AROUND: u64 = 1_000_000_000;
/// Tracks that are pinned, as the page's regular expressions over their names.
const PINNED: [&str; 2] = ["(Expected|Actual) Timeline|Android ANRs", "^main"];
/// The tab beside it: what main was busy with longest.
const QUERY: &str = "select s.ts, s.dur / 1e6 as ms, s.name from slice s join thread_track t on s.track_id = t.id \
                     join thread using (utid) where thread.is_main_thread and s.depth = 0 \
                     order by s.dur desc limit 50";

/// The page's address for the trace at `trace`; with `select` its last ANR is selected, and shown where it is known.
pub(super) fn to_page(trace: &str, select: bool, anr: Option<&Anr>) -> String {
    let mut url = format!("{PAGE}?url={}", escaped(trace));
    if select {
        if let Some(anr) = anr {
            let start = anr.since.saturating_sub(AROUND);
            let end = anr.detected.saturating_add(AROUND);
            url.push_str(&format!("&visStart={start}&visEnd={end}"));
        }
        url.push_str("&com.android.AndroidAnr");
    }
    let mut commands: Vec<_> =
        PINNED.iter().map(|name| json!({"id": "dev.perfetto.PinTracksByRegex", "args": [name]})).collect();
    commands
        .push(json!({"id": "dev.perfetto.RunQueryAndShowTab", "args": [QUERY, "Longest messages of main"]}));
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
    use exporter::model::Detector;

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
        let anr = Anr {
            since: 5_000_000_000,
            detected: 10_000_000_000,
            detector: Detector::Watchdog,
            watchdog: None,
            recovered: None,
            more_signals: 0,
            verdict: None,
        };
        let url = to_page("http://127.0.0.1:9001/a.pftrace", true, Some(&anr));
        let settings = url.strip_prefix("https://ui.perfetto.dev/#!/?").unwrap();
        let fields: Vec<_> = settings.split('&').collect();
        assert_eq!(unescaped(fields[0]), "url=http://127.0.0.1:9001/a.pftrace");
        assert_eq!(fields[1..4], ["visStart=4000000000", "visEnd=11000000000", "com.android.AndroidAnr"]);
        let commands = unescaped(fields[4].strip_prefix("startupCommands=").unwrap());
        let commands: serde_json::Value = serde_json::from_str(&commands).unwrap();
        assert_eq!(commands[0]["id"], "dev.perfetto.PinTracksByRegex");
        assert_eq!(commands[1]["args"][0], "^main");
        assert!(commands[2]["args"][0].as_str().unwrap().contains("is_main_thread"));
        assert!(!to_page("x", false, Some(&anr)).contains("AndroidAnr"));
    }
}
