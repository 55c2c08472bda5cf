//! `--explain`: what was done to a class, as text and as JSON.

use instrumenter::{ExplainedClass, ExplainedMethod, Inserted, Purpose};
use serde_json::json;

use crate::terminal::one_line;

/// Formats the classes that match the requested name, as text.
pub(crate) fn to_text(classes: &[ExplainedClass]) -> String {
    let mut text = String::new();
    for class in classes {
        let source =
            class.source_file.as_deref().map(|file| format!(" ({})", one_line(file))).unwrap_or_default();
        text += &format!("{} in {}{source}\n", one_line(class.name.replace('/', ".")), class.input.display());
        if let Some(focus) = &class.focus {
            text += &format!("  focus: {focus}\n");
        }
        for method in &class.methods {
            text += &method_text(method);
        }
    }
    text
}

fn method_text(method: &ExplainedMethod) -> String {
    let id = method.id.map(|id| format!("{id}: ")).unwrap_or_default();
    let grown = method.code_bytes.map(|(old, new)| format!(", {old} -> {new} bytes")).unwrap_or_default();
    let rule = method.rule.as_ref().map(|(path, line)| format!(" by {}:{line}", path.display()));
    let mut text = format!(
        "  {id}{}{}: {}{}{grown}\n",
        one_line(&method.name),
        one_line(&method.descriptor),
        method.decision,
        rule.unwrap_or_default()
    );
    for (inserted, line) in &method.inserted {
        let old = inserted.old.map_or_else(|| "-".to_owned(), |old| old.to_string());
        let line = line.map(|line| format!(", line {line}")).unwrap_or_default();
        text += &format!("      {old:>5} -> {:<5} {}{line}\n", inserted.new, named(inserted).1);
    }
    text
}

/// Names what was inserted: a word for JSON, and a text for people.
fn named(inserted: &Inserted) -> (&'static str, String) {
    let (word, text) = match inserted.purpose {
        Purpose::Enter => ("enter", "enter"),
        Purpose::Lock(true) => ("lock", "wait for the method's lock, now taken here"),
        Purpose::Lock(false) => {
            ("lock_held", "the method's lock is held: it stays synchronized, for its serial version")
        }
        Purpose::Return => ("return", "exit before the return"),
        Purpose::Throw => ("throw", "exit before the throw"),
        Purpose::Wait(kind) => return ("wait", format!("{} around the instruction", kind.name())),
        Purpose::Release => ("release", "monitor released"),
        Purpose::WaitThrown(kind) => {
            return ("wait_thrown", format!("end of the {} that throws", kind.name()));
        }
        Purpose::Handler => ("handler", "handler that exits when an exception leaves"),
        _ => ("more", "more"),
    };
    (word, text.to_owned())
}

/// Formats one class as JSON.
pub(crate) fn to_json(class: &ExplainedClass) -> serde_json::Value {
    let inserted = |(inserted, line): &(Inserted, Option<u16>)| {
        json!({
            "what": named(inserted).0,
            "wait": match inserted.purpose {
                Purpose::Wait(kind) | Purpose::WaitThrown(kind) => Some(kind.number()),
                _ => None,
            },
            "old": inserted.old,
            "new": inserted.new,
            "line": line,
        })
    };
    let method = |method: &ExplainedMethod| {
        json!({
            "name": method.name,
            "descriptor": method.descriptor,
            "access": method.access,
            "decision": method.decision.to_string(),
            "rule": method.rule.as_ref().map(|(path, line)| json!({
                "file": path.display().to_string(),
                "line": line,
            })),
            "traced": method.code_bytes.is_some(),
            "id": method.id,
            "code_bytes": method.code_bytes.map(|(old, new)| json!({"old": old, "new": new})),
            "inserted": method.inserted.iter().map(inserted).collect::<Vec<_>>(),
        })
    };
    json!({
        "input": class.input.display().to_string(),
        "class": class.name,
        "source_file": class.source_file,
        "focus": class.focus.as_ref().map(ToString::to_string),
        "methods": class.methods.iter().map(method).collect::<Vec<_>>(),
    })
}
