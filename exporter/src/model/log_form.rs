//! Recognises marks in the form of a log line, by which an app's own log gets onto the timeline.

use super::sink::Level;

/// Maximum length of a tag: up to version 7, Android's limit was 23 characters; later versions have no limit.
const MAX_TAG: usize = 128;

/// Parses a mark in the form of `logcat -v tag`: `W/Sync: third attempt`. `None` if it has another form.
pub(crate) fn parse(mark: &str) -> Option<(Level, &str, &str)> {
    let (priority, rest) = mark.split_once('/')?;
    let level = match priority {
        "V" => Level::Verbose,
        "D" => Level::Debug,
        "I" => Level::Info,
        "W" => Level::Warn,
        "E" => Level::Error,
        "F" | "A" => Level::Fatal,
        _ => return None,
    };
    let (tag, message) = rest.split_once(": ")?;
    // A sentence that starts with a letter and a slash is not a tag.
    let is_tag =
        !tag.is_empty() && tag.len() <= MAX_TAG && !tag.contains(|c: char| c.is_whitespace() || c == ':');
    (is_tag && !message.is_empty()).then_some((level, tag, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_log_line_is_one() {
        assert_eq!(parse("W/Sync: third attempt: gone"), Some((Level::Warn, "Sync", "third attempt: gone")));
        assert_eq!(parse("A/a.b$C: x"), Some((Level::Fatal, "a.b$C", "x")));
        for mark in [
            "screen shown",
            "I/O error: disk",
            "W/: x",
            "W/Sync:",
            "W/Sync: ",
            "X/Sync: x",
            "WW/S: x",
            "W/a:b: c",
        ] {
            assert_eq!(parse(mark), None, "{mark:?}");
        }
    }
}
