//! What the instrumented app cannot do: found in its manifest, names and code.

use std::borrow::Cow;
use std::collections::HashSet;

use apk::layout::Entry;
use apk::protection::{self, Evidence, Finding, Severity};
use dex::code::Use;
use dex::{Class, Dex, MethodCode, Table};

use super::edit::Kept;
use super::error::Error;
use super::names;
use super::package::Package;

/// The most classes that are named for one finding.
const MAX_REFERRERS: usize = 3;

/// Returns the findings of all apps among the packages.
///
/// # Errors
///
/// A packed app, of which nothing would be traced.
pub(crate) fn find(packages: &[Package<'_>], dexes: &[&Dex<'_>]) -> Result<Vec<Finding>, Error> {
    let names: Vec<String> =
        packages.iter().flat_map(|package| &package.entries).map(Entry::display_name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    // Each component of a manifest is looked up.
    let defined: HashSet<Cow<'_, str>> =
        dexes.iter().flat_map(|dex| dex.classes.iter().map(|class| names::class(dex, class.class))).collect();
    let mut all = Vec::new();
    for package in packages {
        let bases = package.modules.iter().filter(|module| module.is_base());
        for (_, manifest) in bases.filter_map(|module| module.manifest.as_ref()) {
            let evidence = Evidence {
                facts: manifest.facts(),
                defines_class: &|class| defined.contains(class.replace('.', "/").as_str()),
                referrers: &|class, member| referrers(dexes, class, member),
                entries: &names,
            };
            for finding in protection::findings(&evidence) {
                if finding.severity == Severity::Stop {
                    return Err(Error::Packed { package: package.name.clone(), evidence: finding.text });
                }
                if !all.contains(&finding) {
                    all.push(finding);
                }
            }
        }
    }
    Ok(all)
}

/// A dex file that cannot be read.
pub(crate) fn unreadable(error: &Error) -> Finding {
    let Error::Entry { package, entry, reason } = error else { return untraced("", &error.to_string()) };
    untraced(entry, &format!("cannot read {entry} of {package}: {reason}"))
}

/// A dex file that is copied as it was.
pub(crate) fn untraced(entry: &str, reason: &str) -> Finding {
    limit(entry, format!("The file is copied unchanged, and no method of it is traced: {reason}."))
}

/// Classes of a dex file that are kept as they were.
pub(crate) fn kept(entry: &str, kept: &Kept<'_>) -> Finding {
    let example = &kept.example;
    limit(
        entry,
        match kept.dex.classes.len() {
            1 => format!(
                "The code of one class cannot be decoded ({example}). The class is not traced, and is moved unchanged to a dex file of its \
             own."
            ),
            count => format!(
                "The code of {count} classes cannot be decoded, such as {example}. They are not traced, and are moved unchanged to a dex \
             file of their own."
            ),
        },
    )
}

fn limit(entry: &str, text: String) -> Finding {
    Finding { severity: Severity::Limits, subject: entry.to_owned(), text }
}

/// Returns a few classes whose code refers to a method or field, in Java's form.
fn referrers(dexes: &[&Dex<'_>], class: &str, member: &str) -> Vec<String> {
    let name = class.replace('.', "/");
    let mut found = Vec::new();
    for dex in dexes {
        let is_wanted =
            |of: u32, called: u32| names::string(dex, called) == member && names::class(dex, of) == name;
        let methods = (0..).zip(&dex.methods).filter(|(_, one)| is_wanted(one.class, one.name));
        let fields = (0..).zip(&dex.fields).filter(|(_, one)| is_wanted(one.class, one.name));
        let wanted: Vec<Use> = methods
            .map(|(at, _)| (Table::Methods, at))
            .chain(fields.map(|(at, _)| (Table::Fields, at)))
            .collect();
        if wanted.is_empty() {
            continue;
        }
        let uses = |used: Use| wanted.contains(&used);
        let users = dex.classes.iter().filter(|class| uses_any(class, uses));
        found.extend(users.take(MAX_REFERRERS).map(|class| names::class(dex, class.class).replace('/', ".")));
        if found.len() >= MAX_REFERRERS {
            break;
        }
    }
    found.truncate(MAX_REFERRERS);
    found
}

fn uses_any(class: &Class<'_>, wanted: impl Fn(Use) -> bool) -> bool {
    class.methods().filter_map(|method| method.code.as_ref()).any(|code| {
        let mut found = false;
        if let MethodCode::Read(code) = code {
            // Of broken code, what comes before the fault counts.
            let _ = code.uses(&mut |used| found |= wanted(used));
        }
        found
    })
}
