//! How a process's start divides on main: by content provider, by initializer of androidx.startup, and by library.
//!
//! The types are also the report's JSON, and their comments stand in `docs/report-schema.json`.

use std::collections::HashMap;

use answers::text::clean;
use answers::words::rounded;
use serde::Serialize;
use trace_format::{ReadError, ids};

use crate::facts::{Change, Facts, StartKind, Startup};
use crate::method_map::Method;
use crate::names::Names;

/// Maximum number of parts listed of each kind.
const MAX_LISTED: usize = 10;
/// Maximum number of parts distinguished; what comes later counts for its caller.
const MAX_PARTS: usize = 4096;

/// Packages that many owners share: below them, the owner is one label longer.
const SHARED: [&str; 12] = [
    "com.google",
    "com.google.android",
    "com.facebook",
    "com.squareup",
    "com.github",
    "io.github",
    "com.microsoft",
    "com.amazon",
    "com.amazonaws",
    "com.android",
    "org.apache",
    "org.jetbrains",
];

/// What a part of a start is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum StartPartKind {
    /// `ContentProvider.onCreate`.
    Provider,
    /// `create` of an initializer of androidx.startup.
    Initializer,
    /// All methods of a library.
    Library,
}

impl StartPartKind {
    /// The stable identifier, the same in all versions.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Provider => "provider",
            Self::Initializer => "initializer",
            Self::Library => "library",
        }
    }

    fn noun(self) -> &'static str {
        if self == Self::Provider { "content provider" } else { self.word() }
    }
}

/// A part of a start.
// Parts of different kinds overlap: a provider's `onCreate` is a library's method too.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct StartPart {
    /// One of provider, initializer, library. A minor version may add words.
    #[cfg_attr(test, schemars(with = "String"))]
    pub kind: StartPartKind,
    /// The class; of a library the package that its classes have in common.
    pub name: String,
    /// The time in which main was in it.
    #[serde(rename = "inclusive_ns")]
    pub inclusive: u64,
    /// The same without other parts that it calls.
    // Of a provider or initializer without other providers and initializers, of a library without other libraries and the
    // app's own code.
    #[serde(rename = "exclusive_ns")]
    pub exclusive: u64,
    /// The number of calls from outside of it.
    pub calls: u64,
}

impl StartPart {
    /// `content provider a.B: 120 ms, of it 20.0 ms its own`.
    pub(crate) fn words(&self) -> String {
        let own = match self.inclusive == self.exclusive {
            true => String::new(),
            false => format!(", of it {} its own", rounded(self.exclusive)),
        };
        format!("{} {}: {}{own}", self.kind.noun(), self.name, rounded(self.inclusive))
    }
}

/// The parts of a process's start on main.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct StartSplit {
    /// The time at which the start began.
    #[serde(rename = "begin_ns")]
    pub begin: u64,
    /// The time at which it ended.
    #[serde(rename = "end_ns")]
    pub end: u64,
    /// Content providers and initializers of androidx.startup, the longest in front; at most ten.
    pub components: Vec<StartPart>,
    /// Libraries by their packages, the longest time of their own in front; at most ten.
    pub libraries: Vec<StartPart>,
}

/// The first start of the process, divided; `None` without a start, or if main entered no known method in it.
pub(crate) fn start_split(
    facts: &Facts<'_>,
    names: &Names<'_>,
    starts: &[Startup],
) -> Result<Option<StartSplit>, ReadError> {
    let of_process =
        |start: &&Startup| matches!(start.kind, StartKind::Cold | StartKind::Service | StartKind::Receiver);
    let (Some(start), Some(main)) = (starts.iter().find(of_process), facts.main()) else { return Ok(None) };
    let process = &facts.recording.header().process_name;
    let mut walk = Split::new(names, process.split(':').next().unwrap_or_default(), start.begin);
    let mut spans = facts.spans(main);
    while let Some((change, _)) = spans.change()? {
        let Some(time) = change.time() else { continue };
        if time > start.end {
            break;
        }
        walk.pass(time);
        match change {
            Change::Opened { open, .. } => walk.enter(open.key),
            Change::Closed { .. } => walk.leave(),
            _ => {}
        }
    }
    walk.pass(start.end);
    Ok(walk.finish(start))
}

/// A part while the start is read.
struct Part {
    so_far: StartPart,
    /// Number of open calls of it, and since when there is one.
    open: u32,
    since: u64,
}

/// The parts that a method belongs to, as indices.
#[derive(Clone, Copy, Default)]
struct Parts {
    component: Option<u32>,
    /// The library; `Some(None)` is the app's own code.
    library: Option<Option<u32>>,
}

impl Parts {
    fn indices(self) -> impl Iterator<Item = usize> {
        self.component.into_iter().chain(self.library.flatten()).map(|part| part as usize)
    }
}

struct Split<'n, 'm> {
    names: &'n Names<'m>,
    own: String,
    /// By depth: what the frame belongs to, and what it and its callers belong to.
    frames: Vec<(Parts, Parts)>,
    parts: Vec<Part>,
    by_name: HashMap<(StartPartKind, String), u32>,
    by_method: HashMap<u32, Parts>,
    now: u64,
}

impl<'n, 'm> Split<'n, 'm> {
    fn new(names: &'n Names<'m>, process: &str, begin: u64) -> Self {
        Self {
            names,
            own: owner(&format!("{process}.")).to_owned(),
            frames: Vec::new(),
            parts: Vec::new(),
            by_name: HashMap::new(),
            by_method: HashMap::new(),
            now: begin,
        }
    }

    /// Counts the time up to `time`.
    fn pass(&mut self, time: u64) {
        let Some(passed) = time.checked_sub(self.now).filter(|passed| *passed > 0) else { return };
        self.now = time;
        let Some((_, around)) = self.frames.last() else { return };
        around.indices().for_each(|part| self.parts[part].so_far.exclusive += passed);
    }

    fn enter(&mut self, key: u32) {
        let own = if ids::is_method(key) { self.parts_of(key) } else { Parts::default() };
        let around = self.frames.last().map(|(_, around)| *around).unwrap_or_default();
        let own = Parts {
            // An initializer's bridge calls the method that it stands for.
            component: own.component.filter(|part| around.component != Some(*part)),
            ..own
        };
        for part in own.indices() {
            let part = &mut self.parts[part];
            if part.open == 0 {
                part.so_far.calls += 1;
                part.since = self.now;
            }
            part.open += 1;
        }
        let around =
            Parts { component: own.component.or(around.component), library: own.library.or(around.library) };
        self.frames.push((own, around));
    }

    fn leave(&mut self) {
        let (own, _) = self.frames.pop().unwrap_or_default();
        for part in own.indices() {
            let part = &mut self.parts[part];
            part.open -= 1;
            if part.open == 0 {
                part.so_far.inclusive += self.now - part.since;
            }
        }
    }

    fn parts_of(&mut self, id: u32) -> Parts {
        if let Some(known) = self.by_method.get(&id) {
            return *known;
        }
        let parts = self.names.parts(id).map(|method| self.classified(&method)).unwrap_or_default();
        self.by_method.insert(id, parts);
        parts
    }

    fn classified(&mut self, method: &Method<'_>) -> Parts {
        let component = component(method).and_then(|kind| self.part(kind, method.class));
        let owner = owner(method.class);
        let library = match owner == self.own || owner.is_empty() {
            true => Some(None),
            false => self.library(owner, method.class).map(Some),
        };
        Parts { component, library }
    }

    fn part(&mut self, kind: StartPartKind, name: &str) -> Option<u32> {
        let key = (kind, name.to_owned());
        if let Some(known) = self.by_name.get(&key) {
            return Some(*known);
        }
        if self.parts.len() >= MAX_PARTS {
            return None;
        }
        let at = self.parts.len() as u32;
        self.by_name.insert(key, at);
        let so_far = StartPart { kind, name: name.to_owned(), inclusive: 0, exclusive: 0, calls: 0 };
        self.parts.push(Part { so_far, open: 0, since: 0 });
        Some(at)
    }

    /// The library of an owner; its name becomes what its classes have in common.
    fn library(&mut self, owner: &str, class: &str) -> Option<u32> {
        let package = package(class);
        let is_new = !self.by_name.contains_key(&(StartPartKind::Library, owner.to_owned()));
        let at = self.part(StartPartKind::Library, owner)?;
        let name = &mut self.parts[at as usize].so_far.name;
        let common = if is_new { package.to_owned() } else { common(name, package).to_owned() };
        *name = if common.len() < owner.len() { owner.to_owned() } else { common };
        Some(at)
    }

    fn finish(self, start: &Startup) -> Option<StartSplit> {
        let entered = !self.parts.is_empty();
        let list = |is_kind: fn(StartPartKind) -> bool, by: fn(&StartPart) -> u64| {
            let of_kind =
                self.parts.iter().filter(|Part { so_far, .. }| is_kind(so_far.kind) && so_far.calls > 0);
            let mut list: Vec<StartPart> = of_kind
                .map(|Part { so_far, open, since }| StartPart {
                    name: clean(&so_far.name).into_owned(),
                    inclusive: so_far.inclusive + if *open > 0 { self.now - since } else { 0 },
                    ..so_far.clone()
                })
                .collect();
            list.sort_by(|a, b| (by(b), &a.name).cmp(&(by(a), &b.name)));
            list.truncate(MAX_LISTED);
            list
        };
        let components = list(|kind| kind != StartPartKind::Library, |part| part.inclusive);
        let libraries = list(|kind| kind == StartPartKind::Library, |part| part.exclusive);
        entered.then_some(StartSplit { begin: start.begin, end: start.end, components, libraries })
    }
}

/// What a method is to a start: `ContentProvider.onCreate` returns a boolean, which no other component's does (AOSP
/// `ContentProvider.java`, API 21 to 36); an initializer's `create` has a Context and is in a class that is named so
/// (`androidx.startup.Initializer`).
fn component(method: &Method<'_>) -> Option<StartPartKind> {
    let takes_context = ["(Landroid/content/Context;)", "(Landroid.content.Context;)"];
    match method.method {
        "onCreate" if method.descriptor == "()Z" => Some(StartPartKind::Provider),
        "create" if takes_context.iter().any(|takes| method.descriptor.starts_with(takes)) => {
            method.class.ends_with("Initializer").then_some(StartPartKind::Initializer)
        }
        _ => None,
    }
}

/// A class's package; empty if it has none.
fn package(class: &str) -> &str {
    class.rsplit_once('.').map_or("", |(package, _)| package)
}

/// The package that stands for the owner of a class: its first two labels, or more where many owners share these.
pub(crate) fn owner(class: &str) -> &str {
    let package = package(class);
    let mut ends = package.match_indices('.').map(|(at, _)| at).chain([package.len()]);
    let mut found = ends.nth(1).map_or(package, |end| &package[..end]);
    while SHARED.contains(&found) {
        let Some(end) = ends.next() else { break };
        found = &package[..end];
    }
    found
}

/// The labels that two packages have in common at the front.
fn common<'a>(one: &'a str, other: &str) -> &'a str {
    let mut end = 0;
    for (label, with) in one.split('.').zip(other.split('.')) {
        if label != with {
            break;
        }
        end += label.len() + usize::from(end > 0);
    }
    &one[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_owner_is_the_package_that_one_vendor_or_project_has() {
        for (class, wanted) in [
            ("com.acme.shop.Main", "com.acme"),
            ("com.google.firebase.provider.FirebaseInitProvider", "com.google.firebase"),
            ("com.google.android.gms.common.A", "com.google.android.gms"),
            ("androidx.work.WorkManagerInitializer", "androidx.work"),
            ("okhttp3.OkHttpClient", "okhttp3"),
            ("com.squareup.picasso.Picasso", "com.squareup.picasso"),
            ("com.google.A", "com.google"),
            ("A", ""),
        ] {
            assert_eq!(owner(class), wanted, "{class}");
        }
        assert_eq!(common("com.acme.db.sql", "com.acme.dbx"), "com.acme");
        assert_eq!((common("a.b", "a.b"), common("a.b", "c"), common("a.b.c", "a.b")), ("a.b", "", "a.b"));
    }

    #[test]
    fn providers_and_initializers_are_known_by_their_methods() {
        let kind = |class, method, descriptor| component(&Method { class, method, descriptor });
        use StartPartKind::{Initializer, Provider};
        assert_eq!(kind("a.B", "onCreate", "()Z"), Some(Provider));
        assert_eq!(kind("a.App", "onCreate", "()V"), None);
        let create = "(Landroid/content/Context;)Ljava/lang/Object;";
        assert_eq!(kind("a.WorkInitializer", "create", create), Some(Initializer));
        assert_eq!(kind("a.Factory", "create", create), None);
        assert_eq!(kind("a.WorkInitializer", "create", "()La.B;"), None);
    }
}
