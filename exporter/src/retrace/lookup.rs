//! Looking names up in a mapping.

use std::collections::HashMap;

use super::mapping::{Class, Mapping, Method, Row};

/// Meanings of one frame that are told: more say no more.
const MEANINGS: usize = 16;
/// Frames of one inlined stack.
const INLINED: usize = 256;

/// A frame under the names of the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FrameName {
    /// The class, with dots.
    pub class: String,
    /// The method.
    pub method: String,
    /// The line of the source, if it is known.
    pub line: Option<u32>,
    /// Whether the compiler made it up.
    pub synthesized: bool,
    /// The source file, where the mapping tells it.
    source_file: Option<String>,
}

impl FrameName {
    /// The source file, or one that has the class's name; `seen` is what the build calls it, which is the
    /// file's name only as long as R8 leaves it alone.
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
    /// The name of a class.
    #[must_use]
    pub fn class(&self, name: &str) -> Option<&str> {
        self.classes.get(name).map(|class| &*class.original)
    }

    /// Whether a method is code that R8 took out of others.
    #[must_use]
    pub fn is_outline(&self, class: &str, method: &str) -> bool {
        self.rows(class, method).is_some_and(|(_, method)| method.index.outline)
    }

    /// The meanings of a frame, the likeliest first, each as a stack of inlined frames, innermost first; the
    /// last frame of each is the method that the code is in. Nothing if the class is not mapped.
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
                let names = stack.iter().take(INLINED).map(|row| self.name(own, row, Some(line)));
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

    /// The method with this name and descriptor in the build; `None` if the mapping does not know it, or
    /// has several that it may be.
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
                // R8 tells the residual signature behind the last row of a method.
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

    /// The arguments of a descriptor with the classes' original names, as the mapping writes them.
    fn arguments(&self, descriptor: &str) -> Option<String> {
        let mut rest = descriptor.strip_prefix('(')?;
        let mut out = String::new();
        while !rest.starts_with(')') {
            let dimensions = rest.len() - rest.trim_start_matches('[').len();
            rest = &rest[dimensions..];
            let (name, used) = match rest.chars().next()? {
                'L' => {
                    let end = rest.find(';')?;
                    let name = rest[1..end].replace('/', ".");
                    (self.class(&name).map_or(name.clone(), str::to_owned), end + 1)
                }
                c => {
                    let names = [
                        ('Z', "boolean"),
                        ('B', "byte"),
                        ('C', "char"),
                        ('S', "short"),
                        ('I', "int"),
                        ('J', "long"),
                        ('F', "float"),
                        ('D', "double"),
                    ];
                    (names.iter().find(|(letter, _)| *letter == c)?.1.to_owned(), 1)
                }
            };
            if !out.is_empty() {
                out.push(',');
            }
            out.push_str(&name);
            out.push_str(&"[]".repeat(dimensions.min(255)));
            rest = &rest[used..];
        }
        Some(out)
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
            source_file: real_file(class),
        }
    }

    fn name(&self, own: &Class, row: &Row, line: Option<u32>) -> FrameName {
        // A method from another class: its file is told where that class is mapped.
        let class = row.class.as_deref().unwrap_or(&own.original);
        let file = if row.class.is_none() {
            real_file(own)
        } else {
            self.files.get(class).map(|file| file.to_string())
        };
        FrameName {
            class: class.to_owned(),
            method: row.method.to_string(),
            line: source_line(row, line),
            synthesized: row.synthesized || (row.class.is_none() && own.synthesized),
            source_file: file,
        }
    }
}

/// A source file, unless R8 made the class up.
fn real_file(class: &Class) -> Option<String> {
    class.file.as_deref().filter(|file| *file != "R8$$SyntheticClass").map(str::to_owned)
}

/// The line of the source that a row has for a line of the build.
fn source_line(row: &Row, line: Option<u32>) -> Option<u32> {
    let Some((from, to)) = row.source else {
        // A row without lines of its own leaves them as they were.
        return line;
    };
    let moved = match (row.range, line, to) {
        (Some((begin, _)), Some(line), Some(end)) if end > from => {
            from.checked_add(line.checked_sub(begin)?)?
        }
        // Several lines, and nothing tells which.
        (None, _, Some(end)) if end > from => return None,
        _ => from,
    };
    (moved > 0).then_some(moved)
}

/// Rows that are frames of one inlined stack.
pub(super) fn stacks(rows: &[Row]) -> impl Iterator<Item = &[Row]> {
    rows.chunk_by(|a, b| a.range.is_some() && a.range == b.range && !ends_stack(a, b))
}

/// Whether two rows of one range are the same code told twice rather than a frame in a frame: then neither
/// stands for a line, and both are methods of this class (R8 merges methods with the same code).
fn ends_stack(a: &Row, b: &Row) -> bool {
    a.source.is_none() && b.source.is_none() && a.class.is_none() && b.class.is_none()
}

/// Adds a meaning that is not there yet.
fn add(found: &mut Vec<Vec<FrameName>>, frames: Vec<FrameName>) {
    if !frames.is_empty() && found.len() < MEANINGS && !found.contains(&frames) {
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
