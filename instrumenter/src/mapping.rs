//! Original names from the `mapping.txt` of ProGuard or R8.
//!
//! The `proguard` crate parses the lines. What is kept differs from what a stack trace needs. A frame asks *which
//! lines were inlined here*; a method asks *whose body is this*, and its descriptor distinguishes overloads:
//!
//! ```text
//! com.acme.Foo -> a.b:
//!     1:1:void com.acme.Inlined.leaf():7:7 -> c     inlined frame: not this one,
//!     1:1:void work(int):20 -> c                    but the last of the same lines
//!     5:9:void work(java.lang.String):30:34 -> c    an overload
//! ```
//!
//! A method of the class file is looked up by its name, and then
//! 1. by R8's residual signature, if the line has one;
//! 2. else by parameters and result, translated to the original names;
//! 3. else, if the mapping has only one original name for it, that name: R8 has changed the parameters. The
//!    descriptor is the translated one of the class file;
//! 4. else the name is not guessed: it does not change, and is counted as ambiguous.
//!
//! A method that was moved from another class is listed under the class that contains it now.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use proguard::{LineMapping, ProguardRecord};

use crate::class::descriptor::{PRIMITIVES, renamed};
use crate::error::Error;

/// The content of a `mapping.txt`.
#[derive(Debug, Default)]
pub(crate) struct Mapping {
    /// By the internal name in the class file.
    classes: HashMap<String, MappedClass>,
    /// The number of invalid lines, and the first of them.
    pub(crate) unread: Option<(usize, usize)>,
}

#[derive(Debug, Default)]
struct MappedClass {
    /// Original internal name.
    original: String,
    source_file: Option<String>,
    /// By the name in the class file.
    methods: HashMap<String, Vec<Member>>,
}

/// A method of the mapping.
#[derive(Debug)]
struct Member {
    original: String,
    /// As a descriptor with original names.
    descriptor: String,
    /// The descriptor in the class file, where R8 records it.
    residual: Option<String>,
    lines: Vec<LineMapping>,
}

/// A method under its original name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Original {
    pub(crate) name: String,
    pub(crate) descriptor: String,
    /// The source line of the first line in the class file.
    pub(crate) line: Option<u16>,
    /// Whether the mapping has several methods of that name and none fits.
    pub(crate) ambiguous: bool,
}

/// `java.lang.String[]` as `[Ljava/lang/String;`.
fn push_type(ty: &str, out: &mut String) {
    let mut base = ty.trim();
    while let Some(element) = base.strip_suffix("[]") {
        out.push('[');
        base = element;
    }
    match PRIMITIVES.iter().find(|(name, _)| *name == base) {
        Some((_, character)) => out.push(*character),
        None => out.extend(["L", &base.replace('.', "/"), ";"]),
    }
}

fn descriptor(arguments: &str, result: &str) -> String {
    let mut out = String::from("(");
    for argument in arguments.split(',').filter(|argument| !argument.trim().is_empty()) {
        push_type(argument, &mut out);
    }
    out.push(')');
    push_type(result, &mut out);
    out
}

/// Returns the value of `key` in a comment of R8, a JSON object, if the comment has this `id`. The crate does not
/// expose residual signatures and source files.
fn r8_text<'a>(comment: &'a str, id: &str, key: &str) -> Option<&'a str> {
    comment.find(&format!("\"{id}\""))?;
    let (_, rest) = comment.split_once(&format!("\"{key}\""))?;
    let value = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    value.split_once('"').map(|(value, _)| value)
}

/// Returns whether two rows of the same name are frames of the same inlined code.
fn same_lines(a: &LineMapping, b: &LineMapping) -> bool {
    a.startline.is_some() && (a.startline, a.endline) == (b.startline, b.endline)
}

impl Mapping {
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let bytes = std::fs::read(path).map_err(Error::reading(path))?;
        let mapping = Self::parse(&bytes);
        if mapping.classes.is_empty() {
            return Err(Error::Line {
                path: path.into(),
                line: mapping.unread.map_or(1, |(_, line)| line),
                what: "this file maps no class".to_owned(),
                cure: "use the mapping.txt that ProGuard or R8 wrote with this input",
            });
        }
        Ok(mapping)
    }

    /// Reads the one of an App Bundle. `None` if it maps no class: R8 did not rename any.
    pub(crate) fn of_bundle(bytes: &[u8]) -> Option<Self> {
        Some(Self::parse(bytes)).filter(|mapping| !mapping.classes.is_empty())
    }

    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let mut mapping = Self::default();
        let mut class: Option<String> = None;
        // The member that a following comment belongs to.
        let mut last: Option<(String, usize)> = None;
        for (index, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.trim_ascii().is_empty() {
                continue;
            }
            if line.trim_ascii_start().starts_with(b"#") {
                let comment = String::from_utf8_lossy(line);
                let Some(class) = class.as_ref().and_then(|name| mapping.classes.get_mut(name)) else {
                    continue;
                };
                if let Some(file) = r8_text(&comment, "sourceFile", "fileName") {
                    class.source_file = Some(file.to_owned());
                }
                let residual = r8_text(&comment, "com.android.tools.r8.residualsignature", "signature");
                let member = last.as_ref().and_then(|(name, at)| class.methods.get_mut(name)?.get_mut(*at));
                // Fields have residual signatures too, without a parenthesis.
                if let Some((residual, member)) = residual.filter(|text| text.starts_with('(')).zip(member) {
                    member.residual = Some(residual.to_owned());
                }
                continue;
            }
            match ProguardRecord::try_parse(line) {
                Ok(ProguardRecord::Class { original, obfuscated }) => {
                    let name = obfuscated.replace('.', "/");
                    let original = original.replace('.', "/");
                    let fresh = MappedClass { original, ..MappedClass::default() };
                    mapping.classes.insert(name.clone(), fresh);
                    (class, last) = (Some(name), None);
                }
                Ok(ProguardRecord::Method { ty, original, obfuscated, arguments, line_mapping, .. }) => {
                    let Some(class) = class.as_ref().and_then(|name| mapping.classes.get_mut(name)) else {
                        continue;
                    };
                    let members = class.methods.entry(obfuscated.to_owned()).or_default();
                    let descriptor = descriptor(arguments, ty);
                    // The row after an inlined frame with the same lines is the enclosing method.
                    let before = last.as_ref().filter(|(name, _)| name == obfuscated).map(|&(_, at)| at);
                    if let (Some(before), Some(lines)) = (before, &line_mapping) {
                        drop_inlined(members, before, lines);
                    }
                    let same =
                        members.iter().position(|m| m.original == original && m.descriptor == descriptor);
                    let at = same.unwrap_or_else(|| {
                        let original = original.to_owned();
                        members.push(Member { original, descriptor, residual: None, lines: Vec::new() });
                        members.len() - 1
                    });
                    if let (Some(member), Some(lines)) = (members.get_mut(at), line_mapping) {
                        member.lines.push(lines);
                    }
                    last = Some((obfuscated.to_owned(), at));
                }
                Ok(ProguardRecord::Field { .. }) => last = None,
                Ok(_) => {}
                Err(_) => {
                    let (count, first) = mapping.unread.unwrap_or((0, index + 1));
                    mapping.unread = Some((count + 1, first));
                }
            }
        }
        mapping
    }

    /// Returns the original name of a class; both names are internal.
    pub(crate) fn class(&self, name: &str) -> Option<&str> {
        self.classes.get(name).map(|class| class.original.as_str())
    }

    /// Returns the source file of a class, where R8 records it.
    pub(crate) fn source_file(&self, name: &str) -> Option<&str> {
        self.classes.get(name)?.source_file.as_deref()
    }

    /// Returns `descriptor` with the original names of its classes.
    pub(crate) fn descriptor(&self, descriptor: &str) -> String {
        renamed(descriptor, |name| self.class(name).unwrap_or(name))
    }

    /// Returns the original of a method of the class file, whose first line is `line`.
    pub(crate) fn method(&self, class: &str, name: &str, descriptor: &str, line: Option<u16>) -> Original {
        let translated = self.descriptor(descriptor);
        let unchanged =
            |ambiguous| Original { name: name.to_owned(), descriptor: translated.clone(), line, ambiguous };
        let members = self.classes.get(class).and_then(|class| class.methods.get(name));
        let Some(members) = members.filter(|members| !members.is_empty()) else { return unchanged(false) };
        let residual = members.iter().find(|member| member.residual.as_deref() == Some(descriptor));
        let exact =
            || members.iter().find(|member| member.residual.is_none() && member.descriptor == translated);
        if let Some(member) = residual.or_else(exact) {
            let (name, descriptor) = (member.original.clone(), member.descriptor.clone());
            return Original { name, descriptor, line: member.line(line), ambiguous: false };
        }
        // Methods with a residual signature are others.
        let mut open = members.iter().filter(|member| member.residual.is_none());
        let Some(first) = open.next() else { return unchanged(false) };
        let others: HashSet<&str> = open.map(|member| member.original.as_str()).collect();
        if others.iter().any(|other| *other != first.original) {
            return unchanged(true);
        }
        let name = first.original.clone();
        Original { name, descriptor: translated, line: first.line(line), ambiguous: false }
    }

    /// Returns the number of classes, and how many of them are among `names` of class files.
    pub(crate) fn found<'a>(&self, names: impl Iterator<Item = &'a str>) -> (usize, usize) {
        let found: HashSet<&str> = names.filter(|name| self.classes.contains_key(*name)).collect();
        (self.classes.len(), found.len())
    }
}

/// Removes the last row of member `at` if it has the same lines as the next one, because it was an inlined frame.
/// Also removes the member if it has no other row.
fn drop_inlined(members: &mut Vec<Member>, at: usize, next: &LineMapping) {
    let Some(member) = members.get_mut(at) else { return };
    if member.lines.last().is_some_and(|row| same_lines(row, next)) {
        member.lines.pop();
        if member.lines.is_empty() {
            members.remove(at);
        }
    }
}

impl Member {
    /// Returns the source line of `line` in the class file.
    fn line(&self, line: Option<u16>) -> Option<u16> {
        let line = usize::from(line?);
        for rows in &self.lines {
            let (Some(start), end) = (rows.startline, rows.endline) else { continue };
            if !(start..=end.unwrap_or(start)).contains(&line) {
                continue;
            }
            let Some(original) = rows.original_startline.filter(|&original| original > 0) else {
                return u16::try_from(line).ok();
            };
            // One original line for all, as for a method around inlined code.
            let single = rows.original_endline.is_none_or(|end| end <= original);
            let found = if single { original } else { original.saturating_add(line - start) };
            return u16::try_from(found).ok();
        }
        u16::try_from(line).ok()
    }
}

#[cfg(test)]
mod tests;
