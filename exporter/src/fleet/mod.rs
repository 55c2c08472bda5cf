//! Reports on thousands of recordings: one row each, grouped by cause and root, or as a table for DuckDB, Spark,
//! spreadsheets and the like.

mod table;

pub use table::{write_csv, write_json_lines};

use std::collections::BTreeMap;

use answers::answer::is_method_number;
use answers::dump::AnrKind;
use serde::Serialize;
use trace_format::verdict::Verdict;
use trace_format::{MapId, Recording, Source};

use crate::facts::StartKind;
use crate::fnv::fnv1a;
use crate::report::{OpenItem, OpenItemKind, Report};

/// One recording as a row. `docs/reports.md` explains the columns.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Row {
    /// The recording's file name.
    pub file: String,
    /// Its process name.
    pub process: String,
    /// Its pid.
    pub pid: u32,
    /// Start of the recording, microseconds since 1970; `None` if the clock was not read.
    #[serde(rename = "start", serialize_with = "table::timestamp")]
    pub start_us: Option<u64>,
    /// The map id of its build.
    pub map_id: String,
    /// Whether main hung.
    pub hung: bool,
    /// Duration of the hang, ns.
    #[serde(serialize_with = "table::int64")]
    pub hang_ns: u64,
    /// Number of ANRs, including suspected ones.
    pub anrs: u32,
    /// The cause: an identifier of [`answers::answer::CauseId`]; `none` if nothing hung and the system requested
    /// nothing.
    pub cause: &'static str,
    /// The confidence: `low`, `medium`, `high`; `none` without a cause.
    pub confidence: &'static str,
    /// The key by which equal reports are grouped.
    pub root: Option<String>,
    /// The message that main was in.
    pub message: Option<String>,
    /// The innermost method.
    pub method: Option<String>,
    /// The owner of the lock.
    pub owner: Option<String>,
    /// Duration of the cold start, ns.
    #[serde(serialize_with = "table::int64")]
    pub cold_start_ns: Option<u64>,
    /// What main was in: a message, or a unit outside of messages.
    pub unit: Option<String>,
    /// Android's API level.
    pub sdk: Option<u32>,
    /// Android's build (`ro.build.fingerprint`), which names the device.
    pub device: Option<String>,
    /// Whether the app was in the foreground.
    pub foreground: Option<bool>,
    /// What the system waited for: an identifier of [`answers::dump::AnrKind`].
    pub component: Option<&'static str>,
    /// The app's verdict on the signal: an identifier of [`trace_format::verdict::Outcome`].
    pub verdict: Option<&'static str>,
    /// Equal for hangs with equal stacks, in every build that keeps the names: 16 hexadecimal digits.
    pub stack_hash: Option<String>,
    /// The app's version: `android:versionName`.
    pub app_version: Option<String>,
    /// The app's version code: `android:versionCode`.
    pub app_version_code: Option<u32>,
    /// The source file of the root.
    pub root_file: Option<String>,
    /// Its line, from 1.
    pub root_line: Option<u32>,
    /// Whether the device or the system was the reason, so that no change of the app's code cures it.
    pub unactionable: bool,
}

impl Row {
    /// The row of a recording and its report.
    #[must_use]
    pub fn of(file: &str, recording: &Recording<dyn Source + '_>, report: &Report) -> Self {
        let (hang, cause, root) = (report.hang.as_ref(), report.cause.as_ref(), report.answer.root.as_ref());
        let wait = hang.and_then(|hang| hang.wait.as_ref());
        let cold = report.starts.iter().find(|start| start.kind == StartKind::Cold);
        Self {
            file: file.to_owned(),
            process: report.process.clone(),
            pid: report.pid,
            start_us: (report.start.realtime > 0).then_some(report.start.realtime / 1_000),
            map_id: recording.header().map_id.to_string(),
            hung: hang.is_some(),
            hang_ns: hang.map_or(0, |hang| hang.duration()),
            anrs: u32::try_from(report.anrs.len()).unwrap_or(u32::MAX),
            cause: cause.map_or("none", |cause| cause.id.word()),
            root_file: root.and_then(|root| root.file.clone()),
            root_line: root.and_then(|root| root.line),
            confidence: cause.map_or("none", |cause| cause.confidence.word()),
            root: cause
                .and_then(|cause| cause.root.as_deref())
                .map(|root| root_of(root, recording.header().map_id)),
            message: hang.and_then(|hang| hang.message()).map(str::to_owned),
            method: hang.and_then(|hang| hang.method()).map(|method| method.name.clone()),
            owner: wait
                .and_then(|wait| wait.owner.as_ref())
                .map(|owner| &owner.name)
                .or(report.answer.owners.first().map(|owner| &owner.thread))
                .cloned(),
            cold_start_ns: cold.map(|start| start.duration()),
            unit: hang.and_then(|hang| hang.unit.as_ref()).map(|unit| unit.name.clone()),
            sdk: report.system.sdk,
            device: report.system.fingerprint.clone(),
            foreground: report.foreground,
            component: cause.and_then(|cause| cause.component).map(AnrKind::name),
            verdict: verdict(report).map(|verdict| verdict.outcome.word()),
            stack_hash: hang.and_then(|hang| stack_hash(&hang.stack)),
            app_version: report.system.app_version.clone(),
            app_version_code: report.system.app_version_code,
            unactionable: cause.is_some_and(|cause| cause.id.is_unactionable()),
        }
    }
}

/// The root in a form that is valid across builds: a method's number belongs to a single build, so that build's
/// id is added; a function of a library without symbols has the library alone.
fn root_of(root: &str, build: MapId) -> String {
    // The offset of a function without a name is another one in each build of its library.
    let library = root.split_once("+0x").filter(|(library, _)| library.contains(".so"));
    match (is_method_number(root), library) {
        (true, _) => format!("{root} of build {build}"),
        (false, Some((library, _))) => library.to_owned(),
        (false, None) => root.to_owned(),
    }
}

/// The verdict of the hang's ANR, else of the last ANR or SIGQUIT that has one.
fn verdict(report: &Report) -> Option<&Verdict> {
    let of_hang =
        report.hang.as_ref().and_then(|hang| hang.anr.as_ref()).and_then(|anr| anr.verdict.as_ref());
    let of_anrs = || report.anrs.iter().rev().find_map(|anr| anr.verdict.as_ref());
    let of_others = || report.captures.iter().rev().find_map(|capture| capture.verdict.as_ref());
    of_hang.or_else(of_anrs).or_else(of_others)
}

/// FNV-1a over the names of the methods, the outermost first; `None` if one of them is only a number, which
/// differs between builds.
fn stack_hash(stack: &[OpenItem]) -> Option<String> {
    let methods = || stack.iter().filter(|frame| frame.kind == OpenItemKind::Method);
    if methods().next().is_none() || methods().any(|frame| is_method_number(&frame.name)) {
        return None;
    }
    let hash = fnv1a(methods().flat_map(|frame| frame.name.bytes().chain([b'\n'])));
    Some(format!("{hash:016x}"))
}

/// Recordings with the same cause and root.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Group {
    /// The cause's identifier.
    pub cause: &'static str,
    /// The shared root.
    pub root: Option<String>,
    /// Number of recordings.
    pub count: u64,
    /// Median duration of the hangs, the lower of two, ns.
    pub median_ns: u64,
    /// The longest hang, ns.
    pub longest_ns: u64,
    /// The recording with the longest hang.
    pub example: String,
}

/// The groups, largest first.
#[must_use]
pub fn groups(rows: &[Row]) -> Vec<Group> {
    let mut by: BTreeMap<(&'static str, Option<&str>), Vec<&Row>> = BTreeMap::new();
    for row in rows {
        by.entry((row.cause, row.root.as_deref())).or_default().push(row);
    }
    let mut groups: Vec<Group> = by
        .into_iter()
        .map(|((cause, root), mut rows)| {
            rows.sort_by(|a, b| a.hang_ns.cmp(&b.hang_ns).then_with(|| b.file.cmp(&a.file)));
            let longest = rows[rows.len() - 1];
            Group {
                cause,
                root: root.map(str::to_owned),
                count: rows.len() as u64,
                median_ns: rows[(rows.len() - 1) / 2].hang_ns,
                longest_ns: longest.hang_ns,
                example: longest.file.clone(),
            }
        })
        .collect();
    groups.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| (a.cause, &a.root).cmp(&(b.cause, &b.root))));
    groups
}

/// How many recordings have each cause for which the device or the system was the reason, most frequent first.
#[must_use]
pub fn unactionable(rows: &[Row]) -> Vec<(&'static str, u64)> {
    let mut by: BTreeMap<&'static str, u64> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.unactionable) {
        *by.entry(row.cause).or_default() += 1;
    }
    let mut causes: Vec<_> = by.into_iter().collect();
    causes.sort_by_key(|(cause, count)| (std::cmp::Reverse(*count), *cause));
    causes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(names: &[&str]) -> Vec<OpenItem> {
        let frame = |name: &&str| OpenItem {
            name: (*name).to_owned(),
            kind: OpenItemKind::Method,
            since: 0,
            began_before: false,
            source: None,
            wait: None,
        };
        names.iter().map(frame).collect()
    }

    #[test]
    fn a_function_without_a_name_is_grouped_by_its_library() {
        assert_eq!(root_of("libgame.so+0x1f2", MapId(7)), "libgame.so");
        assert_eq!(root_of("com.acme.Feed.parse", MapId(7)), "com.acme.Feed.parse");
    }

    #[test]
    fn a_number_is_the_root_of_one_build_alone() {
        let of = |root, build| root_of(root, MapId(build));
        assert_eq!((of("a.B.c", 1), of("a.B.c", 2)), ("a.B.c".to_owned(), "a.B.c".to_owned()));
        assert_eq!(of("method 43", 0xAB), "method 43 of build 00000000000000ab");
        assert_ne!(of("method 43", 1), of("method 43", 2));
    }

    #[test]
    fn equal_stacks_have_one_hash_and_numbers_have_none() {
        let of = |names| stack_hash(&frames(names));
        assert_eq!(of(&["a.B.c", "a.B.d"]), of(&["a.B.c", "a.B.d"]));
        assert_ne!(of(&["a.B.c", "a.B.d"]), of(&["a.B.d", "a.B.c"]));
        assert_ne!(of(&["a.B.c"]), of(&["a.B.c", "a.B.c"]));
        assert_eq!((of(&[]), of(&["a.B.c", "method 43"])), (None, None));
        // From another implementation of FNV-1a: files are compared with each other.
        assert_eq!(of(&["a.B.c"]).as_deref(), Some("2655aca5f1df172f"));
    }
}
