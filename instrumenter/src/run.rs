//! A run: scan the inputs, assign ids, rewrite, commit.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::cache::{Cache, DAMAGED, Listing, Saved, SavedInput, SavedMaps};
use crate::class_path::ClassPath;
use crate::error::Error;
use crate::explain;
use crate::focus::plan;
use crate::hierarchy::Hierarchy;
use crate::matrix;
use crate::method_map::{self, MethodMap};
use crate::options::{Compat, Input, MapPaths, Options};
use crate::outputs::check;
use crate::report;
use crate::selection::Selection;
use crate::session::Session;
use crate::source::{Place, Source, listing, map_files, reuse, scan_input, untouched, write, write_maps};
use crate::staged::Staged;
use crate::stamp::Stamp;
use crate::summary::{Progress, Summary, Times, Warning};
use crate::update::update;

/// Instruments `inputs` with one common method map.
///
/// If it returns an error, no output changes: outputs and maps are written to temporary files and moved to their
/// final paths at the end.
///
/// ```no_run
/// use instrumenter::{Input, MapPaths, Options, instrument};
///
/// let maps = MapPaths::beside("methodMapping.txt");
/// let inputs = [Input::new("app.jar", "app-traced.jar")];
/// let summary = instrument(&inputs, &maps, &Options::default(), &|_| {})?;
/// for skip in &summary.skipped {
///     eprintln!("not traced: {}: {}", skip.class, skip.reason);
/// }
/// # Ok::<(), instrumenter::Error>(())
/// ```
///
/// # Errors
///
/// Inputs that cannot be read, outputs that cannot be written, and more methods than ids. A broken class is not an
/// error: it is copied and reported in [`Summary::skipped`].
pub fn instrument(
    inputs: &[Input],
    maps: &MapPaths,
    options: &Options,
    progress: &dyn Fn(Progress<'_>),
) -> Result<Summary, Error> {
    let pool = ThreadPoolBuilder::new().num_threads(options.threads).build();
    let pool = pool.map_err(|_| Error::Threads(options.threads))?;
    let begin = Instant::now();
    let cache = options.cache.as_deref();
    let mut cache = cache.map(|directory| Cache::open(directory, inputs, maps, options)).transpose()?;
    let task = Task { inputs, maps, options, progress, pool: &pool, begin };
    let bytes = cache.as_ref().map(|cache| cache.read(&pool)).transpose()?.flatten();
    let decode = |cache: &Option<Cache>| Some(cache.as_ref()?.decode(bytes.as_deref()?));
    let mut start = match decode(&cache) {
        None => Start::Full { reason: None },
        Some(Ok(saved)) => Start::Incremental { saved, opens_all: false },
        Some(Err(rejected)) => Start::Full { reason: Some(rejected) },
    };
    loop {
        let is_full = matches!(start, Start::Full { .. });
        start = match run(&task, cache.as_mut(), start) {
            Ok(Outcome::Done(summary)) => return Ok(*summary),
            Ok(Outcome::OpenAll) => match decode(&cache) {
                Some(Ok(saved)) => Start::Incremental { saved, opens_all: true },
                _ => Start::Full { reason: None },
            },
            Ok(Outcome::Damaged) => Start::Full { reason: Some(DAMAGED) },
            // A full run reuses the ids that incremental runs have given up.
            Err(Error::TooManyMethods { .. }) if !is_full => {
                Start::Full { reason: Some("the ids are used up") }
            }
            Err(error) => return Err(error),
        };
    }
}

/// What a run starts from.
enum Start<'c> {
    /// Nothing. `reason` says why the cache was rejected, if there is one.
    Full { reason: Option<&'static str> },
    /// The result of the previous run. With `opens_all`, unchanged archives are opened too.
    Incremental { saved: Saved<'c>, opens_all: bool },
}

enum Outcome {
    Done(Box<Summary>),
    /// Nothing was written, because a class in an archive that was not opened has to change.
    OpenAll,
    /// Nothing was written, because the cache is damaged.
    Damaged,
}

/// The arguments of a run.
struct Task<'a> {
    inputs: &'a [Input],
    maps: &'a MapPaths,
    options: &'a Options,
    progress: &'a dyn Fn(Progress<'_>),
    pool: &'a ThreadPool,
    /// When the run started.
    begin: Instant,
}

fn run<'c>(task: &Task<'c>, mut cache: Option<&mut Cache>, start: Start<'c>) -> Result<Outcome, Error> {
    let &Task { inputs, maps, options, progress, pool, begin } = task;
    check(inputs, options, cache.as_deref())?;
    let mut clock = Clock(begin);
    let mut times = Times::default();
    let selection = Selection::read(options)?;
    let class_path = stamps_of_archives(&options.class_path);
    times.read = clock.lap();
    let mut session = Session::new(options, selection, pool);
    let (mut saved, opens_all, rejected) = match start {
        Start::Full { reason } => (None, true, reason),
        Start::Incremental { saved, opens_all } => (Some(saved), opens_all, None),
    };
    if let (Some(reason), Some(directory)) = (rejected, &options.cache) {
        session.warn(directory, Warning::CacheRejected(reason.to_owned()));
    }
    let updates = saved.is_some();
    let mut known = saved.as_mut().map(|saved| core::mem::take(&mut saved.inputs)).unwrap_or_default();
    known.resize_with(inputs.len(), SavedInput::default);
    let untouched = untouched(inputs, &known, !opens_all, &session);
    let mut sources = Vec::with_capacity(inputs.len());
    for ((input, known), untouched) in inputs.iter().zip(known).zip(untouched) {
        progress(Progress::Reading(&input.path));
        sources.push(match untouched {
            true => Source::Untouched(reuse(input, known, &mut session)),
            false => scan_input(input, known, updates, &mut session, || times.read += clock.lap())?,
        });
        times.collect += clock.lap();
    }
    session.end_inputs();
    // This check comes before anything is written. An incremental run has not opened all inputs.
    if let Some(class) = &options.explain
        && !updates
        && session.classes.iter().all(|facts| facts.kept.is_none())
    {
        return Err(Error::NoSuchClass(class.clone()));
    }
    let old_maps = saved.map(|saved| saved.maps);
    let is_same = |(path, stamp): &(String, Stamp)| Stamp::of(Path::new(path)) == *stamp;
    let old_maps = old_maps.filter(|maps| maps.files.iter().all(is_same));
    let map = match old_maps.as_ref().and_then(|old| update(&mut session, old, maps, &class_path)) {
        Some(map) => map,
        None => {
            let Some(changes_maps) = session.settle() else { return Ok(Outcome::Damaged) };
            assign_ids(&mut session, old_maps.as_ref().filter(|_| !changes_maps))?
        }
    };
    let stays = |source: &Source| match source {
        Source::Untouched(listing) => {
            let mut numbers = listing.items.iter().filter_map(|item| item.class);
            numbers.all(|number| session.is_unchanged(number, &map))
        }
        _ => true,
    };
    if !sources.iter().all(stays) {
        return Ok(Outcome::OpenAll);
    }
    let tally = session.tally(&map);
    progress(Progress::Numbered { classes: session.classes.len(), methods: tally.traced });
    session.note_broken_methods();
    let explained = explain::explain(&session, &map);
    times.number = clock.lap();

    let mut staged = Vec::with_capacity(inputs.len() + 3);
    for (index, (source, input)) in sources.iter().zip(inputs).enumerate() {
        progress(Progress::Writing(&input.output));
        let is_ours = cache.as_deref().is_some_and(|cache| cache.created(&input.output));
        let place = Place { output: &input.output, updates, is_ours, map_id: index == 0 };
        staged.extend(write(source, place, &map, &mut session)?);
    }
    let texts = map.texts();
    let map_files = map_files(maps, texts);
    write_maps(&map_files, inputs, &mut staged)?;
    times.write = clock.lap();

    if let Some(cache) = cache.as_deref_mut() {
        let directories =
            sources.iter().zip(inputs).filter(|(source, _)| matches!(source, Source::Directory(_)));
        cache.announce(directories.map(|(_, input)| input.output.as_path()))?;
    }
    if let Some(cache) = cache.as_deref().filter(|_| !staged.is_empty()) {
        // If the run is killed from here on, the next one does a full rebuild.
        cache.forget()?;
    }
    staged.into_iter().try_for_each(Staged::commit)?;
    if let Some(cache) = &cache {
        let listings: Option<Vec<Listing>> = session.pool.install(|| {
            sources.iter_mut().zip(inputs).map(|(source, input)| listing(source, input, &session)).collect()
        });
        let with_stamp = |(path, _): &(&PathBuf, _)| Some((path.to_str()?.to_owned(), Stamp::of(path)));
        let files: Option<Vec<_>> = map_files.iter().map(with_stamp).collect();
        if let Some((listings, files)) = listings.zip(files) {
            let saved = SavedMaps {
                id: texts.id,
                states: texts.states.clone(),
                called: core::mem::take(&mut session.called),
                is_whole: session.is_whole,
                class_path,
                files,
            };
            cache.save(&saved, &listings, |number| session.to_save(number, &map))?;
        } else {
            cache.forget()?;
            session.warn(options.cache.as_deref().unwrap_or(Path::new("")), Warning::NotCacheable);
        }
    }
    times.commit = clock.lap();
    let summary = Summary { explained, ..session.summarize(&map, &tally, times) };
    // Freeing hundreds of thousands of allocations takes time, so another thread does it.
    let done = (sources, session.classes, map);
    drop(std::thread::Builder::new().spawn(move || drop(done)));
    Ok(Outcome::Done(Box::new(summary)))
}

/// Returns the stamps of the archives among `paths`, and [`Stamp::NONE`] for directories.
fn stamps_of_archives(paths: &[PathBuf]) -> Vec<Stamp> {
    let now = SystemTime::now();
    let stamp = |path: &PathBuf| match fs::metadata(path) {
        Ok(file) if file.is_file() => Stamp::from(&file).if_settled(now),
        _ => Stamp::NONE,
    };
    paths.iter().map(stamp).collect()
}

/// Assigns ids to the methods, or keeps those of the previous run if its map (`kept`) is still valid. Then decides
/// what depends on other classes.
pub(crate) fn assign_ids(session: &mut Session<'_>, kept: Option<&SavedMaps>) -> Result<MethodMap, Error> {
    let class_path = ClassPath::open(&session.options.class_path, session.pool)?;
    session.hierarchy = Hierarchy::new(&session.classes, class_path);
    if session.options.compat == Compat::Matrix {
        let options = session.options;
        let inputs = session.inputs();
        let numbered = matrix::assign_ids(session.classes_mut(), &inputs, options)?;
        session.stale = numbered.stale;
        numbered.warnings.into_iter().for_each(|(input, warning)| session.warn(&input, warning));
        let mut map = numbered.map;
        map.note_changed();
        return Ok(map);
    }
    let (classes, base) = (&session.classes, &session.selection.base);
    let mut map = match kept {
        Some(kept) => method_map::kept(classes, kept.id, kept.states.clone()),
        None => method_map::assign_ids(classes, base, session.pool)?,
    };
    let plan = plan::plan(classes, &session.hierarchy);
    map.focus = plan.changes;
    map.note_changed();
    session.stale = report::stale(classes, base, &map);
    let names: Vec<&str> = classes.iter().map(|class| class.name.as_str()).collect();
    let rules = classes.iter().flat_map(|class| &class.methods).map(|method| method.rule).collect();
    let mut warnings = report::idle_lines(&names, &rules, &session.selection);
    warnings.extend(report::mapping_warnings(classes, session.options, &session.selection));
    for (path, warning) in warnings {
        session.warn(&path, warning);
    }
    for (number, problem) in plan.problems {
        let name = session.classes.get(number).map(|class| class.name.clone()).unwrap_or_default();
        session.warn_of_focus(number, &name, problem);
    }
    session.note_decisions(&map);
    Ok(map)
}

/// Measures one step after the other.
pub(crate) struct Clock(pub(crate) Instant);

impl Clock {
    /// Returns the time since the last call.
    pub(crate) fn lap(&mut self) -> Duration {
        let before = core::mem::replace(&mut self.0, Instant::now());
        self.0 - before
    }
}
