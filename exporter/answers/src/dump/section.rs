//! Parses the lines that delimit a process.

use super::model::SectionKind;

/// A delimiter line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Border {
    /// `----- pid 12 at 2026-01-01 00:00:00 -----`, or the same for waiting channels.
    Begin(SectionKind, u32, String),
    /// `----- end 12 -----`.
    End,
    /// `----- dumping pid: 12 at 103533773`: the system is about to dump a process, at this uptime in ms.
    Announced(u32, Option<u64>),
}

/// Parses a delimiter.
pub(crate) fn border(line: &str) -> Option<Border> {
    let text = line.trim().strip_prefix("----- ")?;
    if let Some(rest) = text.strip_prefix("dumping pid: ") {
        let (pid, at) = rest.split_once(" at ")?;
        return Some(Border::Announced(pid.parse().ok()?, at.trim_end_matches('-').trim().parse().ok()));
    }
    if let Some(rest) = text.strip_prefix("end ") {
        return rest.split(' ').next()?.parse::<u32>().ok().map(|_| Border::End);
    }
    let (kind, rest) = match text.strip_prefix("Waiting Channels: ") {
        Some(rest) => (SectionKind::WaitingChannels, rest),
        None => (SectionKind::Threads, text),
    };
    let (pid, time) = rest.strip_prefix("pid ")?.split_once(" at")?;
    let time = time.trim_end_matches('-').trim();
    Some(Border::Begin(kind, pid.parse().ok()?, time.to_owned()))
}

/// Parses `DALVIK THREADS (38):`; the count is `None` if Dalvik gives none.
pub(crate) fn thread_list(line: &str) -> Option<Option<u32>> {
    let rest = line.trim().strip_prefix("DALVIK THREADS")?;
    match rest.trim() {
        ":" => Some(None),
        rest => Some(rest.strip_prefix('(')?.strip_suffix("):").and_then(|count| count.parse().ok())),
    }
}

/// Parses `sysTid=20232     futex_wait` of the waiting channels, or `sysTid=20232 state=S futex_wait` of newer
/// builds (AOSP `debuggerd/client/debuggerd_client.cpp`, `get_wchan_data`): returns the thread, its state, and
/// the kernel function.
pub(crate) fn channel(line: &str) -> Option<(u32, Option<char>, &str)> {
    let (tid, rest) = line.trim().strip_prefix("sysTid=")?.split_once(char::is_whitespace)?;
    let (mut rest, mut state) = (rest.trim(), None);
    while let Some((column, after)) = rest.split_once(char::is_whitespace)
        && let Some((key, value)) = column.split_once('=')
    {
        if key == "state" {
            state = value.chars().next();
        }
        rest = after.trim_start();
    }
    // A column without a function.
    let channel = if rest.contains('=') { "" } else { rest };
    Some((tid.parse().ok()?, state, channel))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borders() {
        let begin = |kind, time: &str| Some(Border::Begin(kind, 12, time.into()));
        for (line, expected) in [
            ("----- pid 12 at 2017-06-01 01:04:58 -----", begin(SectionKind::Threads, "2017-06-01 01:04:58")),
            (
                "----- pid 12 at 2025-07-17 10:31:01.609265466+0200 -----",
                begin(SectionKind::Threads, "2025-07-17 10:31:01.609265466+0200"),
            ),
            ("----- Waiting Channels: pid 12 at x -----", begin(SectionKind::WaitingChannels, "x")),
            ("----- pid 12 at ", begin(SectionKind::Threads, "")),
            ("----- end 12 -----", Some(Border::End)),
            ("----- dumping pid: 12 at 1033", Some(Border::Announced(12, Some(1033)))),
            ("----- pid x at y -----", None),
            ("----- Output from /proc/pressure/memory -----", None),
            ("------ VM TRACES JUST NOW ------", None),
        ] {
            assert_eq!(border(line), expected, "{line}");
        }
        assert_eq!(thread_list("DALVIK THREADS (38):"), Some(Some(38)));
        assert_eq!(thread_list("DALVIK THREADS:"), Some(None));
        assert_eq!(thread_list("DALVIK THREADS x"), None);
        assert_eq!(channel("sysTid=20232     futex_wait"), Some((20232, None, "futex_wait")));
        assert_eq!(
            channel("sysTid=7 state=S    binder_ioctl_write_read"),
            Some((7, Some('S'), "binder_ioctl_write_read"))
        );
        assert_eq!(channel("sysTid=7 state=D prio=1 0"), Some((7, Some('D'), "0")));
        assert_eq!(channel("sysTid=7 state=R"), Some((7, None, "")));
        assert_eq!(channel("sysTid=1"), None);
    }
}
