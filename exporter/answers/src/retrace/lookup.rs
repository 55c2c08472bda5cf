//! Looks names up in a mapping.

use std::collections::HashMap;

use super::mapping::{Class, Mapping, Method};
use super::row::{Row, stacks};
use crate::descriptor::take_type;

/// Maximum number of meanings per frame.
const MAX_MEANINGS: usize = 16;
/// Maximum number of frames per inlined stack.
const MAX_INLINED: usize = 256;

/// A frame with its original names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FrameName {
    /// The class, with dots.
    pub class: String,
    /// The method.
    pub method: String,
    /// The source line, if known.
    pub line: Option<u32>,
    /// Whether the compiler generated it.
    pub synthesized: bool,
    /// The source file, if the mapping has it.
    source_file: Option<String>,
}

impl FrameName {
    /// The source file, or one derived from the class name; `seen` is its name in the build, which is the
    /// file's name unless R8 changed it.
    #[must_use]
    pub fn file(&self, seen: Option<&str>) -> String {
        if let Some(file) = &self.source_file {
            return file.clone();
        }
        let outer = self.class.rsplit('.').next().unwrap_or_default().split('$').next().unwrap_or_default();
        let kotlin = seen.is_some_and(|file| file.ends_with(".kt")) || outer.ends_with("Kt");
        let stem = if kotlin { outer.strip_suffix("Kt").unwrap_or(outer) } else { outer };
        format!("{stem}.{}", if kotlin { "kt" } else { "java" })
    }
}

impl Mapping {
    /// The original name of a class.
    #[must_use]
    pub fn class(&self, name: &str) -> Option<&str> {
        self.classes.get(name).map(|class| &*class.original)
    }

    /// Whether a method is code that R8 extracted from others.
    #[must_use]
    pub fn is_outline(&self, class: &str, method: &str) -> bool {
        self.rows(class, method).is_some_and(|(_, method)| method.index.outline)
    }

    /// The meanings of a frame, the likeliest first, each as a stack of inlined frames, innermost first; the
    /// last frame of each is the method that contains the code. Empty if the class is not mapped.
    ///
    /// `outline` is the line of the outline that the frame called, if it called one.
    #[must_use]
    pub fn frame(
        &self,
        class: &str,
        method: &str,
        line: Option<u32>,
        outline: Option<u32>,
    ) -> Vec<Vec<FrameName>> {
        let Some(own) = self.classes.get(class) else { return Vec::new() };
        let line = line.filter(|&line| line > 0);
        let Some((_, Method { rows, index })) = self.rows(class, method) else {
            return vec![vec![self.only_class(own, method, line)]];
        };
        let rows_at =
            |numbers: &[u32]| numbers.iter().filter_map(|n| rows.get(*n as usize)).collect::<Vec<_>>();
        let line = outline.and_then(|from| callsite(&rows_at(&index.callers), line, from)).or(line);
        let mut found: Vec<Vec<FrameName>> = Vec::new();
        if let Some(line) = line {
            for (first, end) in index.at(line).0 {
                let stack = rows.get(first as usize..end as usize).unwrap_or_default();
                let names = stack.iter().take(MAX_INLINED).map(|row| self.name(own, row, Some(line)));
                add(&mut found, names.collect());
            }
        }
        if found.is_empty() {
            for row in rows_at(&index.unranged) {
                add(&mut found, vec![self.name(own, row, line)]);
            }
        }
        if found.is_empty() && line.is_none() {
            for outermost in rows_at(&index.outermost) {
                let name = FrameName { line: None, ..self.name(own, outermost, None) };
                add(&mut found, vec![name]);
            }
        }
        if found.is_empty() {
            found.push(vec![self.only_class(own, method, line)]);
        }
        found
    }

    /// The original method for this name and descriptor of the build; `None` if the mapping does not have it,
    /// or if it is ambiguous.
    #[must_use]
    pub fn method(&self, class: &str, method: &str, descriptor: &str) -> Option<(String, String)> {
        let (own, method) = self.rows(class, method)?;
        let outer = stacks(&method.rows).filter_map(|stack| stack.last()).filter(|row| !row.outline);
        let mut candidates: Vec<&Row> = Vec::new();
        let mut places: HashMap<(&str, &str, Option<&str>), usize> = HashMap::new();
        for row in outer {
            let place = *places
                .entry((&row.method, &row.arguments, row.class.as_deref()))
                .or_insert(candidates.len());
            if place == candidates.len() {
                candidates.push(row);
            } else if candidates[place].residual.is_none() {
                // R8 writes the residual signature after the last row of a method.
                candidates[place] = row;
            }
        }
        let by_residual = candidates.iter().find(|row| row.residual.as_deref() == Some(descriptor));
        let fits = |row: &&&Row| {
            self.arguments(descriptor).is_some_and(|have| have == row.arguments.replace(' ', ""))
        };
        let by_arguments = || {
            let mut fitting = candidates.iter().filter(fits);
            fitting.next().filter(|_| fitting.next().is_none())
        };
        let only =
            || candidates.first().filter(|first| candidates.iter().all(|row| row.method == first.method));
        let row = by_residual.or_else(by_arguments).or_else(only)?;
        let name = self.name(own, row, None);
        Some((name.class, name.method))
    }

    /// The arguments of a descriptor with the original class names, as the mapping writes them.
    fn arguments(&self, descriptor: &str) -> Option<String> {
        let mut rest = descriptor.strip_prefix('(')?;
        let mut types = Vec::new();
        while !rest.starts_with(')') {
            let original = |name: String| self.class(&name).map_or(name.clone(), str::to_owned);
            types.push(take_type(&mut rest, original)?);
        }
        Some(types.join(","))
    }

    fn rows(&self, class: &str, method: &str) -> Option<(&Class, &Method)> {
        let class = self.classes.get(class)?;
        Some((class, class.methods.get(method)?))
    }

    fn only_class(&self, class: &Class, method: &str, line: Option<u32>) -> FrameName {
        FrameName {
            class: class.original.to_string(),
            method: method.to_owned(),
            line,
            synthesized: class.synthesized,
            source_file: class.file.as_deref().map(str::to_owned),
        }
    }

    fn name(&self, own: &Class, row: &Row, line: Option<u32>) -> FrameName {
        // A method from another class: its file is in that class's mapping.
        let class = row.class.as_deref().unwrap_or(&own.original);
        let file = if row.class.is_none() { own.file.as_ref() } else { self.files.get(class) };
        FrameName {
            class: class.to_owned(),
            method: row.method.to_string(),
            line: source_line(row, line),
            synthesized: row.synthesized || (row.class.is_none() && own.synthesized),
            source_file: file.map(|file| file.to_string()),
        }
    }
}

/// The source line of a row for a line of the build.
fn source_line(row: &Row, line: Option<u32>) -> Option<u32> {
    let Some((from, to)) = row.source else {
        // A row without source lines leaves them unchanged.
        return line;
    };
    let moved = match (row.range, line, to) {
        (Some((begin, _)), Some(line), Some(end)) if end > from => {
            from.checked_add(line.checked_sub(begin)?)?
        }
        // Several lines, and which one is unknown.
        (None, _, Some(end)) if end > from => return None,
        _ => from,
    };
    (moved > 0).then_some(moved)
}

/// Adds a meaning unless it exists.
fn add(found: &mut Vec<Vec<FrameName>>, frames: Vec<FrameName>) {
    if !frames.is_empty() && found.len() < MAX_MEANINGS && !found.contains(&frames) {
        found.push(frames);
    }
}

/// The line here from which an outline was called whose own line is `from`.
fn callsite(rows: &[&Row], line: Option<u32>, from: u32) -> Option<u32> {
    let covers = |row: &&&Row| {
        row.range.is_none_or(|(begin, end)| line.is_some_and(|line| begin <= line && line <= end))
    };
    rows.iter().filter(covers).find_map(|row| {
        let call = row.calls.binary_search_by_key(&from, |(at, _)| *at).ok()?;
        row.calls.get(call).map(|(_, to)| *to)
    })
}
