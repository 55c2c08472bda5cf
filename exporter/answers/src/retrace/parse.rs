//! Parses a mapping.

use proguard::ProguardRecord;
use serde_json::Value;

use super::index::Index;
use super::mapping::{Class, Mapping};
use super::row::Row;

/// Maximum line number: no class file can exceed it, and sums cannot overflow.
const MAX_LINE: usize = 1 << 30;

pub(crate) fn parse(bytes: &[u8]) -> Mapping {
    let mut mapping = Mapping::default();
    // The open class, by its name in the build, and the method of the last row.
    let mut open: Option<(Box<str>, Class)> = None;
    let mut method: Option<Box<str>> = None;
    for (index, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        mapping.lines = index + 1;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let text = line.trim_ascii();
        if text.is_empty() {
            continue;
        }
        if let Some(comment) = text.strip_prefix(b"#") {
            comment_line(comment.trim_ascii(), &mut mapping.ids, open.as_mut(), method.as_deref());
            continue;
        }
        match ProguardRecord::try_parse(line) {
            Ok(ProguardRecord::Class { original, obfuscated }) => {
                put(&mut mapping, open.take());
                open = Some((obfuscated.into(), Class { original: original.into(), ..Class::default() }));
                method = None;
            }
            Ok(ProguardRecord::Method {
                original,
                obfuscated,
                arguments,
                original_class,
                line_mapping,
                ..
            }) => {
                let Some((_, class)) = &mut open else { continue };
                let number = |n: usize| u32::try_from(n).ok().filter(|_| n < MAX_LINE);
                let mut row = Row {
                    class: original_class.map(Box::from),
                    method: original.into(),
                    arguments: arguments.into(),
                    ..Row::default()
                };
                if let Some(lines) = line_mapping {
                    let range = lines.startline.and_then(number).zip(lines.endline.and_then(number));
                    // R8 writes 0:0 for a missing line.
                    row.range = range.filter(|&(from, to)| from <= to && to > 0);
                    let end = lines.original_endline.and_then(number);
                    row.source = lines.original_startline.and_then(number).map(|from| (from, end));
                }
                class.methods.entry(obfuscated.into()).or_default().rows.push(row);
                method = Some(obfuscated.into());
            }
            // The comment after it belongs to the field.
            Ok(ProguardRecord::Field { .. }) => method = None,
            Ok(_) => {}
            Err(_) => {
                mapping.unread.0 += 1;
                mapping.unread.1.get_or_insert(index + 1);
            }
        }
    }
    put(&mut mapping, open);
    mapping
}

fn put(mapping: &mut Mapping, class: Option<(Box<str>, Class)>) {
    if let Some((name, mut class)) = class {
        for method in class.methods.values_mut() {
            for row in &mut method.rows {
                // The first entry of a line counts.
                row.calls.sort_by_key(|(from, _)| *from);
                row.calls.dedup_by_key(|(from, _)| *from);
            }
            method.index = Index::of(&method.rows);
        }
        if let Some(file) = class.file.clone() {
            mapping.files.insert(class.original.clone(), file);
        }
        // The first class stays, as in R8.
        mapping.classes.entry(name).or_insert(class);
    }
}

/// Parses `# pg_map_id: 5b46fdc`, or R8's JSON about the preceding class or row.
fn comment_line(
    text: &[u8],
    ids: &mut Vec<String>,
    open: Option<&mut (Box<str>, Class)>,
    method: Option<&str>,
) {
    let Ok(text) = std::str::from_utf8(text) else { return };
    if let Some(id) = text.strip_prefix("pg_map_id:").or_else(|| text.strip_prefix("pg_map_hash: SHA-256")) {
        if ids.len() < 2 {
            ids.push(id.trim().to_owned());
        }
        return;
    }
    if !text.starts_with('{') {
        return;
    }
    let (Ok(value), Some((_, class))) = (serde_json::from_str::<Value>(text), open) else { return };
    let id = value.get("id").and_then(Value::as_str).unwrap_or_default();
    let word = |key: &str| value.get(key).and_then(Value::as_str);
    let row = method.and_then(|method| class.methods.get_mut(method)?.rows.last_mut());
    match (id, row) {
        ("sourceFile", _) => {
            class.file = word("fileName").filter(|file| *file != "R8$$SyntheticClass").map(Box::from)
        }
        ("com.android.tools.r8.synthesized", Some(row)) => row.synthesized = true,
        ("com.android.tools.r8.synthesized", None) => class.synthesized = true,
        ("com.android.tools.r8.outline", Some(row)) => row.outline = true,
        ("com.android.tools.r8.residualsignature", Some(row)) => {
            row.residual = word("signature").map(Box::from)
        }
        ("com.android.tools.r8.outlineCallsite", Some(row)) => {
            let number = |n: u64| u32::try_from(n).ok().filter(|&n| (n as usize) < MAX_LINE);
            for (from, to) in value.get("positions").and_then(Value::as_object).into_iter().flatten() {
                if let (Ok(from), Some(to)) = (from.parse(), to.as_u64().and_then(number)) {
                    row.calls.push((from, to));
                }
            }
        }
        _ => {}
    }
}
