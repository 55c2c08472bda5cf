//! A run over an app: read its packages, scan the dex files, assign ids, edit, add the runtime, sign, commit.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Instant;

use dex::Dex;
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

use super::error::Error;
use super::explain::explain;
use super::inputs::File;
use super::load::{Loaded, load, names_of};
use super::options::AppOptions;
use super::output::{self, Edited, Output};
use super::package::Package;
use super::runtime::{MAP_ID_CLASS, Runtime};
use super::summary::AppSummary;
use super::waits::{Lambdas, Listed, Original};
use super::{Finding, edit, facts, findings, names};
use crate::error::SkipReason;
use crate::explained::ExplainedClass;
use crate::mapping::Mapping;
use crate::method_map::MethodMap;
use crate::options::{Input, MapPaths, Options};
use crate::run::{Clock, assign_ids};
use crate::selection::Selection;
use crate::session::Session;
use crate::source::{map_files, write_maps};
use crate::staged::Staged;
use crate::summary::{Progress, Skip, Summary, Times};

/// Instruments an app: the packages `inputs`, which share one method map and one key.
///
/// If it returns an error, no output changes.
///
/// # Errors
///
/// Packages that cannot be read or are instrumented or packed already, outputs that cannot be written, and limits of the formats. A
/// class or method that cannot be traced is no error: it is copied, and reported in [`Summary::skipped`](crate::Summary::skipped). Nor
/// is a dex file that cannot be read or written, if another one is traced: it is copied, and reported in [`AppSummary::findings`].
pub fn instrument_app(
    inputs: &[Input],
    maps: &MapPaths,
    options: &AppOptions<'_>,
    progress: &dyn Fn(Progress<'_>),
) -> Result<AppSummary, Error> {
    let common = &options.common;
    let pool = ThreadPoolBuilder::new().num_threads(common.threads).build();
    let pool = pool.map_err(|_| crate::Error::Threads(common.threads))?;
    let mut clock = Clock(Instant::now());
    crate::outputs::check(inputs, common, None)?;
    let runtime = Runtime::read(options.runtime, options.runtime_path.as_deref())?;
    runtime.check_abis(&options.abis)?;
    let mut times = Times::default();
    let mut files = Vec::with_capacity(inputs.len());
    for input in inputs {
        progress(Progress::Reading(&input.path));
        files.push(File::read(input, &pool)?);
    }
    let mut packages = Vec::new();
    for (number, file) in files.iter().enumerate() {
        for (name, bytes) in file.packages() {
            packages.push(pool.install(|| Package::read(number, name, bytes))?);
        }
    }
    times.read = clock.lap();
    let (mut loaded, unreadable) = pool.install(|| load(&packages))?;
    check(&packages, &loaded, common)?;

    let mut selection = Selection::read(common)?;
    let mapping_of = match selection.mapping {
        Some(_) => None,
        None => mapping_in(&packages, &mut selection)?,
    };
    let mut session = Session::new(common, selection, &pool);
    scan(&mut loaded, &packages, &files, &mut session);
    session.end_inputs();
    times.collect = clock.lap();
    // Without a cache nothing is packed.
    let _ = session.settle();
    let map = assign_ids(&mut session, None)?;
    let tally = session.tally(&map);
    progress(Progress::Numbered { classes: session.classes.len(), methods: tally.traced });
    session.note_broken_methods();
    times.number = clock.lap();

    let found = findings::find(&packages, &loaded.iter().map(|loaded| &loaded.dex).collect::<Vec<_>>());
    let mut findings = match found {
        Ok(found) => found,
        // What seems to be missing may be in a file that cannot be read.
        Err(packed) => return Err(unreadable.into_iter().next().unwrap_or(packed)),
    };
    findings.extend(unreadable.iter().map(findings::unreadable));
    let with_runtime = loaded.iter().filter(|one| defines(&one.dex, crate::CALL_CLASS));
    let with_runtime: HashSet<_> = with_runtime.map(|one| (one.package, one.module)).collect();
    let (edited, explained, untraced) =
        pool.install(|| edit_all(loaded, &packages, &map, &mut session, common))?;
    findings.extend(untraced);
    let id = map.texts().id;
    let task = output::Task { runtime: &runtime, options, id };
    let mut written: Vec<Vec<Vec<u8>>> = vec![Vec::new(); files.len()];
    let mut summaries = Vec::with_capacity(packages.len());
    let app_abis = output::abis(&packages, &files);
    for (number, (package, edited)) in packages.into_iter().zip(edited).enumerate() {
        let at = package.file;
        let (Some(file), Some(abis), Some(written)) = (files.get(at), app_abis.get(at), written.get_mut(at))
        else {
            continue;
        };
        progress(Progress::Writing(&file.input.output));
        let has_runtime = |module: usize| with_runtime.contains(&(number, module));
        let Output { bytes, mut summary } =
            pool.install(|| task.write(package, edited, has_runtime, abis))?;
        summary.output = match file.set.is_empty() {
            true => file.input.output.clone(),
            false => PathBuf::from(format!("{}!/", file.input.output.display())),
        };
        summaries.push(summary);
        written.push(bytes);
    }
    let mut staged = Vec::with_capacity(files.len() + 3);
    for (file, packages) in files.iter().zip(written) {
        staged.push(Staged::file(&file.input.output, &file.output(packages)?)?);
    }
    write_maps(&map_files(maps, map.texts()), inputs, &mut staged)?;
    times.write = clock.lap();
    staged.into_iter().try_for_each(Staged::commit)?;
    times.commit = clock.lap();
    let methods = Summary { explained, ..session.summarize(&map, &tally, times) };
    Ok(AppSummary { methods, packages: summaries, mapping_of, findings })
}

/// Takes the `mapping.txt` that a bundle contains, and returns the bundle's name.
fn mapping_in(packages: &[Package<'_>], selection: &mut Selection) -> Result<Option<String>, Error> {
    for package in packages {
        if let Some(mapping) = package.mapping()?.as_deref().and_then(Mapping::of_bundle) {
            selection.mapping = Some(mapping);
            return Ok(Some(package.name.clone()));
        }
    }
    Ok(None)
}

/// Returns whether the file defines the class of this internal name.
fn defines(dex: &Dex<'_>, class: &str) -> bool {
    dex.classes.iter().any(|one| names::class(dex, one.class) == class)
}

/// Refuses packages without code, and those that are instrumented already.
fn check(packages: &[Package<'_>], loaded: &[Loaded<'_>], options: &Options) -> Result<(), Error> {
    let name = |package: usize| packages.get(package).map(|package| package.name.clone()).unwrap_or_default();
    if loaded.is_empty() {
        return Err(Error::NoCode(name(0)));
    }
    let map_id = MAP_ID_CLASS.trim_start_matches('L').trim_end_matches(';');
    let traced = loaded.iter().find(|one| {
        let has_runtime = defines(&one.dex, &options.call_class);
        defines(&one.dex, map_id) || !has_runtime && edit::calls(&one.dex, &options.call_class)
    });
    traced.map_or(Ok(()), |one| Err(Error::AlreadyInstrumented(name(one.package))))
}

/// Scans the classes of all dex files, and gives them their numbers in the run.
fn scan<'a>(loaded: &mut [Loaded<'_>], packages: &[Package<'_>], files: &[File], session: &mut Session<'a>) {
    for one in loaded {
        let dex = &one.dex;
        let selection = &session.selection;
        let original = Original { mapping: selection.mapping.as_ref() };
        let lambdas = selection.waits.as_ref().map(|waits| Lambdas::read(dex, waits, original));
        let lambdas = lambdas.unwrap_or_default();
        let scanned: Vec<_> = session.pool.install(|| {
            let classes = dex.classes.par_iter().with_min_len(16);
            classes
                .map(|class| session.clocks.parse.time(|| facts::scan_class(dex, class, selection, &lambdas)))
                .collect()
        });
        let input = packages.get(one.package).map(|package| input_of(package, files)).unwrap_or_default();
        let mut numbers = Vec::with_capacity(scanned.len());
        for (class, scanned) in dex.classes.iter().zip(scanned) {
            numbers.push(match scanned {
                Ok(facts) => Some(session.add_class(&input, facts, None)),
                Err(reason) => {
                    let class = names::class(dex, class.class).into_owned();
                    session.skips.push(Skip { input: input.clone(), class, method: None, reason });
                    None
                }
            });
        }
        (one.numbers, one.lambdas) = (numbers, lambdas);
    }
}

/// Returns the file of a package; of one in a set, with its name.
fn input_of(package: &Package<'_>, files: &[File]) -> PathBuf {
    match files.get(package.file) {
        Some(file) if file.set.is_empty() => file.input.path.clone(),
        _ => PathBuf::from(&package.name),
    }
}

/// What [`edit_all`] returns: the dex files of each module of each package, the explained classes, and what is not traced.
type AllEdited = (Vec<Vec<Edited>>, Vec<ExplainedClass>, Vec<Finding>);

/// Edits and writes all dex files. One that cannot be written with the edits is left as it was.
fn edit_all(
    loaded: Vec<Loaded<'_>>,
    packages: &[Package<'_>],
    map: &MethodMap,
    session: &mut Session<'_>,
    options: &Options,
) -> Result<AllEdited, Error> {
    struct One {
        place: (usize, usize, usize),
        method_ids_before: u64,
        written: edit::Written,
        skipped: Vec<(usize, Option<usize>, SkipReason)>,
        finding: Option<Finding>,
        /// Why the file is left as it was.
        failed: Option<Error>,
        changed: usize,
        explained: Vec<ExplainedClass>,
    }
    let selection = &session.selection;
    let listed = selection.waits.as_ref().map(|catalogue| {
        let dexes: Vec<_> = loaded.iter().map(|one| &one.dex).collect();
        Listed::new(catalogue, Original { mapping: selection.mapping.as_ref() }, &session.classes, &dexes)
    });
    let rewrite = |mut one: Loaded<'_>| -> Result<One, Error> {
        let number = |class: usize| one.numbers.get(class).copied().flatten();
        let ids =
            |class: usize| -> &[u32] { number(class).map(|number| map.ids_of(number)).unwrap_or_default() };
        let traced: Vec<usize> =
            (0..one.dex.classes.len()).filter(|&class| ids(class).iter().any(|&id| id != 0)).collect();
        let method_ids_before = one.dex.methods.len() as u64;
        let mut written = edit::Written { parts: Vec::new(), method_ids: method_ids_before };
        let file = packages.get(one.package);
        let file = file.and_then(|package| package.modules.get(one.module)?.dexes.get(one.file));
        let (mut edits, mut finding, mut failed) = (edit::Edits::default(), None, None);
        if !traced.is_empty() || one.in_container {
            let (package, entry) =
                names_of(packages, one.package, file.map_or(usize::MAX, |file| file.entry));
            let (call_class, exits) = (&options.call_class, options.exits);
            let waits = listed.as_ref().map(|listed| (listed, &mut one.lambdas));
            edits = session.clocks.rewrite.time(|| edit::edit(&mut one.dex, call_class, exits, &ids, waits));
            finding = edits.kept.as_ref().map(|kept| findings::kept(&entry, kept));
            match edit::write(core::mem::take(&mut one.dex), edits.kept.as_ref()) {
                Ok(new) => written = new,
                // Files of a container share their data.
                Err(reason) if one.in_container => return Err(Error::Dex { package, entry, reason }),
                Err(reason) => {
                    finding = Some(findings::untraced(&entry, &reason));
                    edits = edit::Edits::none(traced.iter().map(|&class| (class, ids(class))), &reason);
                    failed = Some(Error::Dex { package, entry, reason });
                }
            }
        }
        if written.parts.is_empty() {
            written.parts.extend(file.map(|file| file.bytes.clone()));
        }
        let edit::Edits { changed: edits, skipped, .. } = edits;
        let changed = edits.chunk_by(|one, next| one.class == next.class).count();
        let explains = |class: usize| -> Option<ExplainedClass> {
            let number = number(class)?;
            let facts = session.classes.get(number)?;
            if !session.selection.explains(&facts.name, facts.name_in_file()) {
                return None;
            }
            let changed: Vec<_> = edits.iter().filter(|edit| edit.class == class).copied().collect();
            let skipped = skipped.iter().filter(|(of, _, _)| *of == class);
            let skipped: Vec<_> = skipped.map(|(_, method, reason)| (*method, reason.clone())).collect();
            Some(explain(session.input(number)?, facts, ids(class), session, &changed, &skipped))
        };
        let explained = (0..one.numbers.len()).filter_map(explains).collect();
        let skipped = skipped.into_iter();
        let skipped =
            skipped.filter_map(|(class, method, reason)| Some((number(class)?, Some(method), reason)));
        Ok(One {
            place: (one.package, one.module, one.file),
            method_ids_before,
            written,
            skipped: skipped.collect(),
            changed,
            explained,
            finding,
            failed,
        })
    };
    let all: Vec<Result<One, Error>> = loaded.into_par_iter().map(rewrite).collect();
    let empty = |package: &Package<'_>| package.modules.iter().map(|_| Edited::default()).collect();
    let mut edited: Vec<Vec<Edited>> = packages.iter().map(empty).collect();
    let (mut all_explained, mut findings) = (Vec::new(), Vec::new());
    let (mut all_changed, mut all_failed) = (0, Vec::new());
    for one in all {
        let one = one?;
        let (package, module, file) = one.place;
        all_explained.extend(one.explained);
        findings.extend(one.finding);
        all_changed += one.changed;
        all_failed.extend(one.failed);
        session.note_written(map, one.changed, one.skipped);
        let Some(module) = edited.get_mut(package).and_then(|modules| modules.get_mut(module)) else {
            continue;
        };
        module.method_ids_before += one.method_ids_before;
        module.method_ids_after += one.written.method_ids;
        let mut parts = one.written.parts.into_iter();
        // Of a container with several files, the others follow all that were there.
        if module.replaced.len() == file {
            module.replaced.extend(parts.next());
        }
        module.added.extend(parts);
    }
    match all_failed.into_iter().next() {
        Some(failed) if all_changed == 0 => Err(failed),
        _ => Ok((edited, all_explained, findings)),
    }
}
