//! Matrix's own choice of methods, numbers and files, with its traps, for apps that move step by step.
//!
//! What is done here is what Matrix 2.1 does with a single worker; with its sixteen, its numbers
//! change from build to build. In order:
//! 1. Folders come before archives, each in the order given; their classes in the order of the files
//!    by name, or of the archive's directory.
//! 2. A class is passed over if its file name has `R.class`, `R$`, `Manifest` or `BuildConfig` in it,
//!    or if it is abstract or an interface. Its methods are in no file.
//! 3. A class without a super class (`module-info`), or with what came after Java 10 (nest mates,
//!    records, sealed classes), makes Matrix give up the archive: what comes behind it in the archive
//!    is not numbered, and in the second case the whole archive stays as it is. Matrix says nothing of
//!    it; here there is a warning.
//! 4. Whether a class is blocked: see [`needs_trace`].
//! 5. A method is numbered if its class is not blocked and it is worth it by the default rule. One of
//!    the base map keeps its number and is traced whatever the rest says; it is then in both files.
//!
//! What is *not* copied: numbers above 0xFEFFF are an error, and a negative number of a base map is
//! written to the map as Matrix does it, but no call is made with it.

pub(crate) mod facts;
mod java_map;
mod names;

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use trace_format::{MapId, ids};

use crate::class::class_file::access;
use crate::class_facts::{ClassFacts, MethodFacts, Verdict};
use crate::error::Error;
use crate::focus::{Change, DESCRIPTOR, NAME, Part, part_name};
use crate::method_map::{DISPATCH, MethodMap, Texts};
use crate::options::Options;
use crate::summary::{Stale, StaleReason, Warning};
use facts::Stop;
use java_map::JavaMap;
use names::Names;

/// A method as Matrix keeps it: names with dots.
#[derive(Clone, Debug)]
struct Traced {
    id: i64,
    access: u32,
    class: String,
    name: String,
    descriptor: Option<String>,
}

impl Traced {
    fn of(class: &str, method: &MethodFacts) -> Self {
        Self {
            id: 0,
            access: u32::from(method.access),
            class: class.to_owned(),
            name: method.name.to_string(),
            descriptor: Some(method.descriptor.replace('/', ".")),
        }
    }

    fn shown_descriptor(&self) -> Option<&str> {
        let native = self.access & u32::from(access::NATIVE) != 0;
        self.descriptor.as_deref().filter(|_| !native)
    }

    fn key(&self) -> String {
        let mut key = [&self.class, ".", &self.name].concat();
        if let Some(descriptor) = self.shown_descriptor() {
            key.extend([".", descriptor]);
        }
        key
    }

    /// `class method desc`, in original names.
    fn line(&self, names: Option<&Names>) -> String {
        let mut shown = self.clone();
        if let Some(names) = names {
            let descriptor = self.descriptor.as_deref().unwrap_or_default();
            let (name, descriptor) = names.original_method(&self.class, &self.name, descriptor);
            shown.name = name;
            shown.descriptor = self.descriptor.is_some().then_some(descriptor);
            shown.class = names.original_class(&self.class).to_owned();
        }
        let mut line = [&shown.class, " ", &shown.name].concat();
        if let Some(descriptor) = shown.shown_descriptor() {
            line.extend([" ", descriptor]);
        }
        line
    }
}

/// The block list, as the set of prefixes that Matrix makes of it.
fn block_set(file: &str, names: Option<&Names>) -> Vec<String> {
    let text = ["[package]\n-keeppackage android/\n-keeppackage com/tencent/matrix/\n", file].concat();
    let text = text.trim().replace('/', ".").replace('\r', "");
    let mut set = Vec::new();
    for line in text.split('\n').filter(|line| !line.starts_with(['#', '['])) {
        let entry = if let Some(class) = line.strip_prefix("-keepclass ") {
            names.map_or(class, |names| names.obfuscated_class(class))
        } else if let Some(package) = line.strip_prefix("-keeppackage ") {
            names.map_or(package, |names| names.obfuscated_package(package))
        } else {
            continue;
        };
        if !set.iter().any(|known| known == entry) {
            set.push(entry.to_owned());
        }
    }
    set
}

/// Whether a class of this name is not blocked: the name as it is must not be in the set, and the
/// original one, if the mapping has the name as it is, must not begin with an entry.
fn needs_trace(class: &str, blocked: &[String], names: Option<&Names>) -> bool {
    let original = names.map_or(class, |names| names.original_class(class)).replace('/', ".");
    !blocked.iter().any(|entry| entry == class || original.starts_with(entry.as_str()))
}

/// Whether Matrix looks into a file of this name at all.
fn looks_into(file: &str) -> bool {
    !["R.class", "R$", "Manifest", "BuildConfig"].iter().any(|part| file.contains(part))
}

/// The base map, up to the first line that Matrix cannot read.
fn base_methods(text: &str) -> Vec<Traced> {
    let mut methods = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let read = || {
            let mut fields = line.split(',');
            let id: i32 = fields.next()?.parse().ok()?;
            let access: i32 = fields.next()?.parse().ok()?;
            let mut parts = fields.next()?.split(' ');
            Some(Traced {
                id: i64::from(id),
                access: access as u32,
                class: parts.next()?.replace('/', "."),
                name: parts.next()?.to_owned(),
                descriptor: parts.next().map(|descriptor| descriptor.replace('/', ".")),
            })
        };
        match read() {
            Some(method) => methods.push(method),
            None => break,
        }
    }
    methods
}

fn text_of(path: Option<&Path>) -> Result<String, Error> {
    let Some(path) = path else { return Ok(String::new()) };
    std::fs::read_to_string(path).map_err(|source| Error::Read { path: path.into(), source })
}

/// Methods with a number, by key, and in the order in which they came.
#[derive(Default)]
struct Collected {
    by_key: HashMap<String, usize>,
    methods: Vec<Traced>,
    /// How many of them the base map had.
    base: usize,
    last: i64,
}

impl Collected {
    fn base(text: &str, names: Option<&Names>) -> Self {
        let mut collected = Self::default();
        for mut method in base_methods(text) {
            if method.id != i64::from(ids::DISPATCH) {
                collected.last = collected.last.max(method.id);
            }
            if let Some(names) = names {
                let descriptor = method.descriptor.as_deref().unwrap_or_default();
                let (name, descriptor) = names.obfuscated_method(&method.class, &method.name, descriptor);
                method.name = name;
                method.descriptor = method.descriptor.is_some().then_some(descriptor);
                method.class = names.obfuscated_class(&method.class).to_owned();
            }
            collected.put(method);
        }
        collected.base = collected.methods.len();
        collected
    }

    /// Puts `method` in, or in the place of another of its key.
    fn put(&mut self, method: Traced) {
        let place = *self.by_key.entry(method.key()).or_insert(self.methods.len());
        match self.methods.get_mut(place) {
            Some(slot) => *slot = method,
            None => self.methods.push(method),
        }
    }

    fn id(&self, key: &str) -> Option<i64> {
        self.by_key.get(key).and_then(|&place| self.methods.get(place)).map(|method| method.id)
    }
}

/// What a run by Matrix's way finds.
pub(crate) struct Numbered {
    pub(crate) map: MethodMap,
    pub(crate) stale: Vec<Stale>,
    pub(crate) warnings: Vec<(PathBuf, Warning)>,
}

/// Numbers `classes` of `inputs` (one for each class) and writes the verdicts into them.
pub(crate) fn number(
    classes: &mut [ClassFacts],
    inputs: &[PathBuf],
    options: &Options,
) -> Result<Numbered, Error> {
    let names = options.mapping.as_deref().map(Names::read).transpose()?;
    let names = names.as_ref();
    let blocked = block_set(&text_of(options.block_list.as_deref())?, names);
    let mut collected = Collected::base(&text_of(options.base_map.as_deref())?, names);
    let mut ignored: JavaMap<Traced> = JavaMap::default();
    let mut warnings = Vec::new();

    let folders: HashSet<&Path> = inputs
        .iter()
        .map(PathBuf::as_path)
        .collect::<HashSet<_>>()
        .into_iter()
        .filter(|p| p.is_dir())
        .collect();
    let mut order: Vec<(usize, &Path)> = inputs.iter().map(PathBuf::as_path).enumerate().collect();
    order.sort_by_key(|(_, input)| !folders.contains(input));

    let seen = |class: &ClassFacts, input: &Path| {
        let name = match folders.contains(input) {
            true => class.name.rsplit('/').next().unwrap_or_default(),
            false => &class.name,
        };
        looks_into(&format!("{name}.class"))
    };
    // Archives that are not looked at any further, and those that stay as they are.
    let (mut given_up, mut untouched) = (HashSet::new(), HashSet::new());
    let mut above: HashMap<&str, &str> = HashMap::new();
    let mut verdicts: Vec<Vec<Verdict>> = vec![Vec::new(); classes.len()];
    for &(number, input) in &order {
        let (Some(class), Some(verdicts)) = (classes.get(number), verdicts.get_mut(number)) else { continue };
        let is_folder = folders.contains(input);
        let left = |method: &MethodFacts| match &method.verdict {
            Verdict::Trace | Verdict::Ignore => Verdict::Exclude,
            other => other.clone(),
        };
        verdicts.extend(class.methods.iter().map(left));
        if !seen(class, input) {
            continue;
        }
        if class.matrix.stop == Some(Stop::Unknown) && !is_folder {
            untouched.insert(input);
        }
        if given_up.contains(input) {
            continue;
        }
        if let Some(super_class) = class.super_class() {
            above.insert(&class.name, super_class);
        }
        if class.matrix.stop.is_some() {
            let warning = Warning::MatrixStops {
                class: class.name.clone(),
                untouched: class.matrix.stop == Some(Stop::Unknown),
                folder: is_folder,
            };
            warnings.push((input.to_owned(), warning));
            if !is_folder {
                given_up.insert(input);
            }
            continue;
        }
        if class.matrix.is_abstract {
            continue;
        }
        let dotted = class.name.replace('/', ".");
        let needed = needs_trace(&dotted, &blocked, names);
        for (method, verdict) in class.methods.iter().zip(verdicts) {
            let mut traced = Traced::of(&dotted, method);
            let key = traced.key();
            match (&method.verdict, needed) {
                (Verdict::Skip(_), _) => {}
                (Verdict::Trace, true) => {
                    *verdict = Verdict::Trace;
                    if collected.id(&key).is_none() {
                        collected.last += 1;
                        traced.id = collected.last;
                        collected.put(traced);
                    }
                }
                (_, true) => {
                    *verdict =
                        if method.verdict == Verdict::NoCode { Verdict::NoCode } else { Verdict::Ignore };
                    ignored.put(key, traced);
                }
                (_, false) => {
                    *verdict =
                        if method.verdict == Verdict::NoCode { Verdict::NoCode } else { Verdict::Block };
                    // Asked with the class's name, which no key is: it is always put.
                    if !ignored.contains(&dotted) {
                        ignored.put(key, traced);
                    }
                }
            }
        }
    }
    let needed = usize::try_from(collected.last).unwrap_or(0);
    if needed > ids::METHOD_LAST as usize {
        return Err(Error::TooManyMethods { needed, available: ids::METHOD_LAST as usize });
    }

    // The second look: whatever has a number gets calls, whatever was said before.
    let mut numbered: Vec<Vec<u32>> = classes.iter().map(|class| vec![0; class.methods.len()]).collect();
    let mut changes = vec![None; classes.len()];
    for &(number, input) in &order {
        let Some(class) = classes.get(number) else { continue };
        if untouched.contains(input) || !seen(class, input) || is_stopped(class, folders.contains(input)) {
            continue;
        }
        let dotted = class.name.replace('/', ".");
        let slots = numbered.get_mut(number).into_iter().flatten();
        for (method, slot) in class.methods.iter().zip(slots) {
            if class.matrix.is_abstract || matches!(method.verdict, Verdict::NoCode | Verdict::Skip(_)) {
                continue;
            }
            let id = collected.id(&Traced::of(&dotted, method).key());
            *slot = id.and_then(|id| u32::try_from(id).ok()).unwrap_or(0);
        }
        let traced = numbered.get(number).map(Vec::as_slice).unwrap_or_default();
        let change = focus(class, traced, &above, needs_trace(&class.name, &blocked, names));
        if let Some(slot) = changes.get_mut(number) {
            *slot = change;
        }
    }
    for (class, (verdicts, numbered)) in classes.iter_mut().zip(verdicts.into_iter().zip(&numbered)) {
        for (method, (verdict, &id)) in class.methods.iter_mut().zip(verdicts.into_iter().zip(numbered)) {
            method.verdict = match verdict {
                // Numbered, but its archive is left as it is.
                Verdict::Trace if id == 0 => Verdict::Exclude,
                _ if id != 0 => Verdict::Trace,
                verdict => verdict,
            };
        }
    }
    let used: HashSet<i64> = numbered.iter().flatten().map(|&id| i64::from(id)).collect();
    let idle = collected.methods.iter().take(collected.base).filter(|method| !used.contains(&method.id));
    let stale = idle.filter(|method| method.key() != DISPATCH_KEY).map(|method| Stale {
        id: method.id,
        method: method.line(names),
        reason: StaleReason::Gone,
    });
    let mut stale: Vec<Stale> = stale.collect();
    stale.sort_by_key(|stale| stale.id);
    let methods = method_lines(&collected, names);
    let texts = Texts {
        id: MapId::of_lines(methods.lines()),
        lines: Some(source_lines(classes, &numbered)),
        methods: Some(methods),
        ignored: Some(ignored_lines(&ignored, names)),
        states: Vec::new(),
    };
    let mut map = MethodMap::with(numbered, texts);
    map.focus = changes;
    Ok(Numbered { map, stale, warnings })
}

/// Whether the class itself could not be read by Matrix, in a folder that it goes through file by file.
fn is_stopped(class: &ClassFacts, is_folder: bool) -> bool {
    is_folder && class.matrix.stop == Some(Stop::Unknown)
}

/// What Matrix does for `at`: at the start of every override that has a number, and by a new method in
/// every activity, abstract ones too, that has no override.
fn focus(
    class: &ClassFacts,
    traced: &[u32],
    above: &HashMap<&str, &str>,
    needs_trace: bool,
) -> Option<Change> {
    const ACTIVITIES: [&str; 4] = [
        "android/app/Activity",
        "android/support/v4/app/FragmentActivity",
        "android/support/v7/app/AppCompatActivity",
        "androidx/appcompat/app/AppCompatActivity",
    ];
    let mut name = class.name.as_str();
    // A chain that goes round would be as long as there are classes.
    for _ in 0..=above.len() {
        if ACTIVITIES.contains(&name) {
            break;
        }
        name = above.get(name)?;
    }
    if !needs_trace || !ACTIVITIES.contains(&name) || class.matrix.stop.is_some() {
        return None;
    }
    let own =
        class.methods.iter().position(|method| &*method.name == NAME && &*method.descriptor == DESCRIPTOR);
    match own {
        None => Some(Change::Add { part: None }),
        Some(method) if traced.get(method).is_some_and(|&id| id != 0) => {
            let part = part_name(&class.name);
            Some(Change::Split { method, part, above: None, traced: Part::First })
        }
        Some(_) => None,
    }
}

fn method_lines(collected: &Collected, names: Option<&Names>) -> String {
    let mut sorted: Vec<&Traced> = collected.methods.iter().collect();
    // One that a base map has is not written twice.
    sorted.retain(|method| method.key() != DISPATCH_KEY);
    let dispatch = i64::from(ids::DISPATCH);
    sorted.sort_by_key(|method| method.id);
    let mut text = String::with_capacity(sorted.len() * 96 + 128);
    let behind = sorted.partition_point(|method| method.id <= dispatch);
    let (before, behind) = sorted.split_at(behind);
    let push = |text: &mut String, methods: &[&Traced]| {
        for method in methods {
            let _ = writeln!(text, "{},{},{}", method.id, method.access as i32, method.line(names));
        }
    };
    push(&mut text, before);
    let _ = writeln!(text, "{dispatch},{DISPATCH}");
    push(&mut text, behind);
    text
}

const DISPATCH_KEY: &str = "android.os.Handler.dispatchMessage.(Landroid.os.Message;)V";

fn ignored_lines(ignored: &JavaMap<Traced>, names: Option<&Names>) -> String {
    let mut sorted: Vec<&Traced> = ignored.values().collect();
    // As Java compares texts: by UTF-16 units.
    sorted.sort_by(|a, b| a.class.encode_utf16().cmp(b.class.encode_utf16()));
    let mut text = String::from("ignore methods:\n");
    for method in sorted {
        text.push_str(&method.line(names));
        text.push('\n');
    }
    text
}

fn source_lines(classes: &[ClassFacts], numbered: &[Vec<u32>]) -> String {
    let methods = classes.iter().zip(numbered).flat_map(|(class, ids)| {
        let methods = class.methods.iter().zip(ids).filter(|&(_, &id)| id != 0);
        methods.map(move |(method, &id)| (id, class, method))
    });
    let mut sorted: Vec<_> = methods.collect();
    sorted.sort_by_key(|&(id, ..)| id);
    sorted.dedup_by_key(|&mut (id, ..)| id);
    crate::method_map::source_lines(sorted.into_iter())
}

#[cfg(test)]
mod tests;
