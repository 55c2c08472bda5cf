//! Signs that an app is packed, checks itself, or depends on the key it is signed with.
//!
//! An instrumented app is changed and signed with another key. This module finds what will not work then, so that an engineer
//! knows before the app is installed. It only reads names; nothing here gets round a protection.

mod packers;
mod signer;

use crate::manifest::{ComponentKind, Facts};

/// What the findings are drawn from.
pub struct Evidence<'a> {
    /// The app's manifest. For a split app that of the base.
    pub facts: &'a Facts,
    /// True if a dex of the app defines this class: `com.example.Main`. If the app has several modules, of any module.
    pub defines_class: &'a dyn Fn(&str) -> bool,
    /// The classes whose code refers to this method or field of the platform: `("android.content.pm.PackageInfo",
    /// "signatures")`. In Java's form; a few are enough.
    pub referrers: &'a dyn Fn(&str, &str) -> Vec<String>,
    /// The names of the entries of all the app's files: `lib/arm64-v8a/libx.so`, `assets/y`.
    pub entries: &'a [&'a str],
}

/// How much a [`Finding`] matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Tracing this file gives no useful result: stop.
    Stop,
    /// The traced app will probably not start.
    Breaks,
    /// A feature of the traced app may fail.
    Limits,
}

/// A reason why the traced app will not behave like the original.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// What was found: the name of a product, a class, or an attribute.
    pub subject: String,
    /// What will fail, why, and what to do instead; whole sentences.
    pub text: String,
}

/// The members that [`Evidence::referrers`] is asked for, so that one pass over the code can collect who refers to them. A method
/// that is called through a subclass of the app has another class in the dex; such a call does not count.
pub fn members() -> impl Iterator<Item = (&'static str, &'static str)> {
    signer::members()
}

/// Everything that was found, the most severe first.
#[must_use]
pub fn findings(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut all = Vec::new();
    let missing = missing_classes(evidence);
    all.extend(packers::findings(evidence, missing.is_some()));
    all.extend(missing);
    all.extend(signer::findings(evidence));
    all.sort_by_key(|finding| finding.severity);
    all
}

/// A class that the platform has itself may be named in a manifest.
fn is_platform(class: &str) -> bool {
    class.starts_with("android.")
        && !class.starts_with("android.support.")
        && !class.starts_with("android.arch.")
}

/// An application class or most components without a class: the real dexes are somewhere else.
fn missing_classes(evidence: &Evidence<'_>) -> Option<Finding> {
    let facts = evidence.facts;
    if !facts.has_code {
        return None;
    }
    let missing = |class: &str| !is_platform(class) && !(evidence.defines_class)(class);
    let what = match &facts.application_class {
        Some(class) if missing(class) => {
            format!("The class {class} of <application> is in no dex file of the app.")
        }
        _ => {
            // The class of an instrumentation may be in the app that it tests.
            let own =
                facts.components.iter().filter(|component| component.kind != ComponentKind::Instrumentation);
            let own: Vec<_> = own.filter(|component| !is_platform(&component.class)).collect();
            let absent: Vec<_> = own.iter().filter(|component| missing(&component.class)).collect();
            if absent.len() * 2 <= own.len() {
                return None;
            }
            let example = absent.first().map_or("", |component| component.class.as_str());
            let (absent, all) = (absent.len(), own.len());
            format!(
                "{absent} of {all} components in the manifest, such as {example}, are in no dex file of the app."
            )
        }
    };
    Some(Finding {
        severity: Severity::Stop,
        subject: "packed".to_owned(),
        text: format!(
            "{what} A packer has probably encrypted the app's code, and what is left is its loader: tracing that would show \
             nothing of the app. Trace a build that has not been packed."
        ),
    })
}

#[cfg(test)]
mod tests;
