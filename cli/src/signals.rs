//! Signal dispositions and the terminal's foreground group, from /proc.

/// Whether `signal` was ignored when the program started, as SIGINT and SIGQUIT are for background jobs of a script. Such a signal is
/// left ignored, and a child inherits that.
pub(crate) fn ignored(signal: i32) -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| ignored_in(&status, signal))
}

/// Makes a write beyond the limit of a file (`ulimit -f`) an error like any other. The signal SIGXFSZ would end the program, and with it
/// all that it could still do: start what it traces, or say what is wrong. A program that it starts gets the default action again.
pub(crate) fn report_file_limit() {
    use signal_hook::consts::SIGXFSZ;
    if !ignored(SIGXFSZ) {
        // Without it the program would end by the signal, as without this function.
        let _ = signal_hook::flag::register(SIGXFSZ, std::sync::Arc::default());
    }
}

/// The signals that ask this program to end, without those that were ignored when it started.
pub(crate) fn terminating() -> impl Iterator<Item = i32> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !ignored(*signal))
}

/// Calls `then` for each of these signals that comes, on a thread of its own.
///
/// # Errors
/// If they cannot be caught.
pub(crate) fn on_each(
    signals: impl Iterator<Item = i32>,
    then: impl Fn(i32) + Send + 'static,
) -> std::io::Result<()> {
    let mut caught = signal_hook::iterator::Signals::new(signals)?;
    std::thread::Builder::new().name("signals".into()).spawn(move || caught.forever().for_each(then))?;
    Ok(())
}

fn ignored_in(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    u32::try_from(signal - 1).ok().and_then(|bit| mask.checked_shr(bit)).is_some_and(|mask| mask & 1 == 1)
}

/// Whether this process is in the foreground group of a terminal, whose keys send their signals to the whole group, children
/// included.
#[cfg(target_os = "linux")]
pub(crate) fn in_foreground() -> bool {
    std::fs::read_to_string("/proc/self/stat").is_ok_and(|stat| in_foreground_by(&stat))
}

#[cfg(any(target_os = "linux", test))]
fn in_foreground_by(stat: &str) -> bool {
    // The name before the last parenthesis may hold anything.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let mut fields = fields.split_ascii_whitespace().skip(2);
    let (group, _session, _terminal, foreground) =
        (fields.next(), fields.next(), fields.next(), fields.next());
    group.is_some() && group == foreground
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_is_read_by_bits() {
        let status = "Name:\tx\nSigIgn:\t0000000000001006\nSigCgt:\t0000000000000001\n";
        assert_eq!(
            [1, 2, 3, 13, 14, 0, -1, 65].map(|n| ignored_in(status, n)),
            [false, true, true, true, false, false, false, false]
        );
        assert!(!ignored_in("", 2));
    }

    #[test]
    fn the_foreground_group_is_compared_with_ours() {
        assert!(in_foreground_by("7 (a) b) S 1 70 70 34816 70 4194304"));
        assert!(!in_foreground_by("7 (a) S 1 70 70 34816 71 4194304"));
        assert!(!in_foreground_by("7 (a) S 1 70 70 0 -1 4194304"));
        assert!(!in_foreground_by(""));
    }
}
