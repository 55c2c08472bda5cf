//! Formats the profile for a terminal.

use std::fmt::Write;

use super::{PathCall, Profile, ThreadProfile};
use crate::words::short_method;

/// Maximum width of a line in columns.
const WIDTH: usize = 120;

/// Width of the thread names in columns.
const NAME_WIDTH: usize = 20;

impl Profile {
    /// A title and up to two lines for each of the first `threads` threads, and one for the others. Empty if
    /// nothing was recorded.
    #[must_use]
    pub fn lines(&self, threads: usize) -> Vec<String> {
        let shown: Vec<&ThreadProfile> = self.threads.iter().filter(|t| t.in_calls > 0).collect();
        if shown.is_empty() {
            return Vec::new();
        }
        let mut lines =
            vec!["where the time went, by thread (wall-clock time in traced methods):".to_owned()];
        // One more thread fits into the line for the others.
        let listed = if shown.len() == threads + 1 { threads + 1 } else { threads };
        for thread in shown.iter().take(listed) {
            lines.push(of_thread(thread));
            if let Some(path) = path_line(&thread.path) {
                lines.push(path);
            }
        }
        if let Some(others) = shown.get(listed..).filter(|others| !others.is_empty()) {
            let sum = others.iter().map(|t| t.in_calls).sum();
            let waited = others.iter().map(|t| t.waited).sum();
            lines.push(format!("  {} more threads: {}{}", others.len(), time(sum), waiting(waited)));
        }
        lines
    }
}

fn of_thread(thread: &ThreadProfile) -> String {
    let name = match thread.name.as_str() {
        "" => format!("tid {}", thread.tid),
        name => name.to_owned(),
    };
    let mut line = format!("  {:<NAME_WIDTH$} {:>8}", cut(&name, NAME_WIDTH), time(thread.in_calls));
    line.push_str(&waiting(thread.waited));
    if thread.covered < thread.lifetime / 100 * 99 {
        let _ = write!(line, ", of the last {} of {}", time(thread.covered), time(thread.lifetime));
    }
    for (i, (method, own)) in thread.hottest.iter().enumerate() {
        let mut more = String::from(if i == 0 { "; most self time: " } else { ", " });
        let _ = write!(more, "{} {}", short_method(method), time(*own));
        if i > 0 && columns(&line) + columns(&more) > WIDTH {
            break;
        }
        line.push_str(&more);
    }
    line
}

fn waiting(waited: u64) -> String {
    if waited == 0 { String::new() } else { format!(", of it waiting {}", time(waited)) }
}

/// Total time of the innermost call, the calls, and the share of self time.
pub(crate) fn path_line(steps: &[PathCall]) -> Option<String> {
    const BETWEEN: &str = " > ";
    let last = steps.last()?;
    let own = format!(" (self {})", time(last.own));
    let mut line = format!("    {:>8}  ", time(last.total));
    let names: Vec<&str> = steps.iter().map(|step| short_method(&step.name)).collect();
    let room = WIDTH.saturating_sub(columns(&line) + columns(&own));
    let length = |names: &[&str]| names.iter().map(|name| columns(name) + BETWEEN.len()).sum::<usize>();
    if length(&names) <= room + BETWEEN.len() {
        line.push_str(&names.join(BETWEEN));
    } else {
        // The outermost call shows the thread's purpose, the innermost ones its activity.
        let outermost = format!("{}{BETWEEN}...", names[0]);
        let fits = |from: &usize| columns(&outermost) + length(&names[*from..]) <= room;
        let from = (1..names.len()).find(fits).unwrap_or(names.len() - 1);
        let _ = write!(line, "{outermost}{BETWEEN}{}", names[from..].join(BETWEEN));
    }
    line.push_str(&own);
    Some(line)
}

fn columns(text: &str) -> usize {
    text.chars().count()
}

/// The name, truncated to `columns` characters.
fn cut(name: &str, columns: usize) -> String {
    if name.chars().count() <= columns {
        return name.to_owned();
    }
    let mut cut: String = name.chars().take(columns - 3).collect();
    cut.push_str("...");
    cut
}

/// `8.03 s`, `310 ms`, `0.4 ms`: a time in ns for people.
#[must_use]
pub fn time(ns: u64) -> String {
    let ms = ns as f64 / 1e6;
    match ms {
        // Rounding would add a digit.
        _ if ms >= 99_950.0 => format!("{:.0} s", ms / 1e3),
        _ if ms >= 9_995.0 => format!("{:.1} s", ms / 1e3),
        _ if ms >= 999.5 => format!("{:.2} s", ms / 1e3),
        _ if ms >= 9.95 => format!("{ms:.0} ms"),
        _ => format!("{ms:.1} ms"),
    }
}

/// `100 %`, `98 %`, `0.2 %`: a share of 1. Only the whole is 100 %.
#[must_use]
pub fn share(part: f64) -> String {
    let percent = part * 100.0;
    match percent {
        _ if part >= 1.0 => "100 %".to_owned(),
        _ if percent >= 99.5 => format!("{:.1} %", percent.min(99.9)),
        _ if percent >= 9.95 => format!("{percent:.0} %"),
        _ => format!("{percent:.1} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_shares_have_as_many_digits_as_one_reads() {
        let times = [0, 40_000, 9_949_999, 9_950_000, 999_499_999, 999_500_000, 12_345_000_000, 654e9 as u64];
        assert_eq!(
            times.map(time),
            ["0.0 ms", "0.0 ms", "9.9 ms", "10 ms", "999 ms", "1.00 s", "12.3 s", "654 s"]
        );
        assert_eq!(
            [0.0, 0.0024, 0.0997, 0.98, 0.9999, 1.0].map(share),
            ["0.0 %", "0.2 %", "10 %", "98 %", "99.9 %", "100 %"]
        );
    }

    #[test]
    fn a_long_path_keeps_its_ends() {
        let step = |name: &str| PathCall { name: name.into(), total: 2_000_000_000, own: 5_000_000 };
        assert_eq!(path_line(&[]), None);
        let line = path_line(&[step("com.example.Main.main"), step("Foo.bar")]).unwrap();
        assert_eq!(line, "      2.00 s  Main.main > Foo.bar (self 5.0 ms)");
        let names: Vec<String> = (0..40).map(|n| format!("com.example.Class{n}.method{n}")).collect();
        let steps: Vec<PathCall> = names.iter().map(|name| step(name)).collect();
        let line = path_line(&steps).unwrap();
        assert!(line.contains("Class0.method0 > ... > Class3"), "{line}");
        assert!(line.ends_with(" > Class39.method39 (self 5.0 ms)") && line.len() <= WIDTH, "{line}");
        let long = step(&format!("a.{}.b", "x".repeat(300)));
        assert!(path_line(&[long.clone(), long]).unwrap().contains(" > ... > "), "a name is never cut");
        assert_eq!(
            (short_method("park"), short_method("A.b"), short_method("x.y.A$B.c")),
            ("park", "A.b", "A$B.c")
        );
        assert_eq!(cut("a thread with a very long name", 20), "a thread with a v...");
    }
}
