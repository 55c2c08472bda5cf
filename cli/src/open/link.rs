//! Builds the address that shows a trace: what is expanded, pinned, selected and zoomed to.

use serde_json::json;

/// The page. Its settings follow `#!/`.
const PAGE: &str = "https://ui.perfetto.dev/#!/";
/// Margin around an ANR, ns on each side.
const AROUND: u64 = 1_000_000_000;
/// The pinned track, as a regular expression over its name: the ANR with its cause.
const ANR: &str = "^ANR$|Android ANRs";
/// Main's group, with its track beside its CPU state.
const MAIN: &str = "^main( [0-9]+)?$";
/// Tracks that are pinned if no process is known to expand, from the top: main and its CPU state, frames.
const PINNED: [&str; 2] = ["^main( [0-9]+)?$|^main: processor while late$", "(Expected|Actual) Timeline"];
/// Query of the tab that opens if nothing is selected (details would be below it): main's longest messages.
const QUERY: &str = "select s.ts, s.dur / 1e6 as ms, s.name from slice s join thread_track t on s.track_id = t.id \
                     join thread using (utid) where thread.is_main_thread and s.depth = 0 \
                     order by s.dur desc limit 50";

/// What to show of a trace.
#[derive(Clone, Default, Debug)]
pub(super) struct View {
    /// The process to expand.
    pub(super) process: Option<String>,
    /// Whether it has the many threads of a thread dump, so that main may be out of sight: pages before version 57 put the selected ANR
    /// below all of them.
    pub(super) is_long: bool,
    /// The ANR or hang to select.
    pub(super) hang: Option<Place>,
}

/// Where an ANR or a hang is in its trace, all in BOOTTIME ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// When main stalled: the slice there is selected.
    pub(super) since: u64,
    /// When it was detected, or when it ended.
    pub(super) until: u64,
    /// Whether it is an ANR, which has its own slice from `since` to `until`.
    pub(super) is_anr: bool,
    /// The trace's first and last timestamp: the page rejects a window that reaches beyond.
    pub(super) trace: (u64, u64),
}

/// The page's address for the trace at `trace`. The hang is selected; with `zoom` its time fills the window.
pub(super) fn to_page(trace: &str, zoom: bool, view: &View) -> String {
    let mut url = format!("{PAGE}?url={}", escaped(trace));
    if let Some(Place { since, until, is_anr, trace: (first, last) }) = view.hang {
        if zoom {
            let start = since.saturating_sub(AROUND).max(first);
            let end = until.saturating_add(AROUND).min(last);
            url.push_str(&format!("&visStart={start}&visEnd={end}"));
        }
        url.push_str(&format!("&ts={since}"));
        if is_anr {
            // The message begins at the same time: the length tells them apart.
            url.push_str(&format!("&dur={}", until.saturating_sub(since)));
        }
    }
    if zoom {
        // Pages from version 54 on do this themselves.
        url.push_str("&com.android.AndroidAnr");
    }
    let pin = |name: &str| json!({"id": "dev.perfetto.PinTracksByRegex", "args": [name]});
    let mut commands = vec![pin(ANR)];
    match &view.process {
        Some(process) => {
            // The page appends the pid to the name.
            let names = format!("^{}( [0-9]+)?$|{MAIN}", literal(process));
            commands.extend(view.is_long.then(|| pin(MAIN)));
            commands.push(json!({"id": "dev.perfetto.ExpandTracksByRegex", "args": [names]}));
        }
        None => commands.extend(PINNED.map(pin)),
    }
    if view.hang.is_none() && !zoom {
        let args = [QUERY, "Longest messages of main"];
        commands.push(json!({"id": "dev.perfetto.RunQueryAndShowTab", "args": args}));
    }
    url.push_str(&format!("&startupCommands={}", escaped(&json!(commands).to_string())));
    url
}

/// Escapes a text for a regular expression of the page.
fn literal(text: &str) -> String {
    let escape = |c| r"\^$.|?*+()[]{}".contains(c).then_some('\\');
    text.chars().flat_map(|c| escape(c).into_iter().chain([c])).collect()
}

/// Percent-encodes all but letters, digits and `-._~`.
fn escaped(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let escape = |byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(escape).collect()
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

    fn commands(url: &str) -> Vec<(String, String)> {
        let commands = unescaped(url.split("startupCommands=").nth(1).unwrap());
        let commands: Vec<serde_json::Value> = serde_json::from_str(&commands).unwrap();
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        commands
            .iter()
            .map(|command| (text(&command["id"]).replace("dev.perfetto.", ""), text(&command["args"][0])))
            .collect()
    }

    #[test]
    fn the_address_has_what_to_fetch_where_to_zoom_and_what_to_show() {
        let hang = Place {
            since: 5_000_000_000,
            until: 10_000_000_000,
            is_anr: true,
            trace: (1_000_000_000, 10_500_000_000),
        };
        let view =
            View { process: Some("com.example.shop:sync".to_owned()), is_long: false, hang: Some(hang) };
        let url = to_page("http://127.0.0.1:9001/a.pftrace", true, &view);
        let settings = url.strip_prefix("https://ui.perfetto.dev/#!/?").unwrap();
        let fields: Vec<_> = settings.split('&').collect();
        assert_eq!(unescaped(fields[0]), "url=http://127.0.0.1:9001/a.pftrace");
        assert_eq!(fields[1..4], ["visStart=4000000000", "visEnd=10500000000", "ts=5000000000"]);
        assert_eq!(fields[4..6], ["dur=5000000000", "com.android.AndroidAnr"]);
        // No tab covers the log or the selection's details.
        let shown = [
            ("PinTracksByRegex".to_owned(), "^ANR$|Android ANRs".to_owned()),
            (
                "ExpandTracksByRegex".to_owned(),
                r"^com\.example\.shop:sync( [0-9]+)?$|^main( [0-9]+)?$".to_owned(),
            ),
        ];
        assert_eq!(commands(&url), shown);

        // The hang is selected without --anr too, with all of the trace in view.
        let url = to_page("x", false, &view);
        assert!(url.contains("&ts=5000000000&dur=5000000000&startup") && !url.contains("visStart"), "{url}");
        assert_eq!(commands(&url), shown);
        let long = View { is_long: true, ..view.clone() };
        let pinned = ("PinTracksByRegex".to_owned(), "^main( [0-9]+)?$".to_owned());
        assert_eq!(commands(&to_page("x", false, &long))[1], pinned);
        let hang = Place { is_anr: false, ..hang };
        let url = to_page("x", false, &View { hang: Some(hang), ..view });
        assert!(url.contains("&ts=5000000000&startup"), "{url}");
    }

    #[test]
    fn of_a_trace_without_a_hang_the_longest_messages_are_listed() {
        let names = |url: &str| commands(url).into_iter().map(|(id, _)| id).collect::<Vec<_>>();
        let process = Some("Busy".to_owned());
        let url = to_page("x", false, &View { process, ..View::default() });
        assert_eq!(names(&url), ["PinTracksByRegex", "ExpandTracksByRegex", "RunQueryAndShowTab"]);
        assert!(commands(&url)[2].1.contains("is_main_thread"), "{url}");
        let unknown = View::default();
        assert_eq!(names(&to_page("x", false, &unknown))[1..3], ["PinTracksByRegex", "PinTracksByRegex"]);
        // The page finds the ANR of a trace itself.
        let url = to_page("x", true, &unknown);
        assert_eq!(names(&url), ["PinTracksByRegex"; 3]);
        assert!(url.contains("&com.android.AndroidAnr&startup"), "{url}");
    }

    #[test]
    fn a_name_is_escaped_as_a_regular_expression() {
        assert_eq!(literal("/opt/a+b (1).jar"), r"/opt/a\+b \(1\)\.jar");
    }
}
