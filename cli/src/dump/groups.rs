//! `anrscope dump --group`: groups dumps by main's stack.

use std::io::{self, Write};

use answers::dump_report::{Group, Groups};
use serde_json::json;

use super::inputs::Passed;
use crate::terminal::counted;

/// Frames of a group's stack to print.
const FRAMES: usize = 12;
/// Files of a group to name beside the newest.
const FILES: usize = 3;

/// Writes the groups, the largest first.
pub(super) fn write(out: &mut dyn Write, groups: Groups, passed: &Passed, as_json: bool) -> io::Result<()> {
    let (texts, ungrouped) = (groups.texts, groups.ungrouped);
    let groups = groups.finish();
    if as_json {
        let document = json!({
            "schema": "1.0",
            "texts": texts,
            "ungrouped": ungrouped,
            "others": passed.others,
            "unread": passed.unread,
            "groups": groups.iter().map(Group::to_json).collect::<Vec<_>>(),
        });
        return writeln!(out, "{document:#}");
    }
    writeln!(out, "{}, {} of equal main stacks", counted(texts, "text"), counted(groups.len(), "group"))?;
    for group in &groups {
        write_group(out, group, texts)?;
    }
    if ungrouped > 0 {
        writeln!(out, "\n{} with still other stacks", counted(ungrouped, "text"))?;
    }
    Ok(())
}

fn write_group(out: &mut dyn Write, group: &Group, texts: u64) -> io::Result<()> {
    let process = group.process.as_deref().unwrap_or("a process without name");
    let share = group.count as f64 * 100.0 / texts as f64;
    writeln!(out, "\n{:>6} {share:>5.1} %  {process}: main {}", group.count, group.doing)?;
    let root = group.root.as_ref().map_or_else(String::new, |root| format!(", in {}", root.title()));
    writeln!(out, "        cause: {}{root}", group.cause.name())?;
    for frame in group.stack.iter().take(FRAMES) {
        writeln!(out, "        at {frame}")?;
    }
    if group.stack.len() > FRAMES {
        writeln!(out, "        ... {} (--json has them)", counted(group.stack.len() - FRAMES, "more frame"))?;
    }
    let newest = group.newest.as_ref().map_or("", |(_, file)| file.as_str());
    if let Some((time, file)) = &group.newest {
        let at = if time.is_empty() { String::new() } else { format!(" ({time})") };
        writeln!(out, "        newest: {file}{at}")?;
    }
    let others = group.files.iter().filter(|file| *file != newest);
    let named: Vec<&str> = others.take(FILES).map(String::as_str).collect();
    if !named.is_empty() {
        let left = (group.count as usize).saturating_sub(1 + named.len());
        let more = if left > 0 { format!(" and {left} more") } else { String::new() };
        writeln!(out, "        also: {}{more}", named.join(", "))?;
    }
    Ok(())
}
