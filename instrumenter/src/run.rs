//! A run: look at everything, number it, write everything.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::archive::Archive;
use crate::base_map::BaseMap;
use crate::collect::{ClassFacts, Verdict};
use crate::error::{Error, SkipReason};
use crate::folder::Folder;
use crate::method_map::{self, MethodMap};
use crate::options::{Input, MapPaths, Options};
use crate::staged::Staged;
use crate::summary::{Progress, Skip, Summary, Times, Warning};

/// Inflated classes that are kept between the two looks at them, in bytes. What does not fit is
/// inflated again.
const KEPT: usize = 256 << 20;

/// What the steps of a run share.
pub(crate) struct Session<'a> {
    pub(crate) options: &'a Options,
    pub(crate) base: BaseMap,
    pub(crate) pool: ThreadPool,
    pub(crate) skips: Vec<Skip>,
    classes: Vec<ClassFacts>,
    /// For each class, the input it came from.
    inputs: Vec<PathBuf>,
    warnings: Vec<(PathBuf, Warning)>,
    kept: AtomicUsize,
    changed: usize,
    untraced: usize,
}

impl Session<'_> {
    pub(crate) fn warn(&mut self, input: &Path, warning: Warning) {
        self.warnings.push((input.into(), warning));
    }

    /// Whether `size` more bytes of classes may stay in memory.
    pub(crate) fn keeps(&self, size: usize) -> bool {
        self.kept.fetch_add(size, Ordering::Relaxed).saturating_add(size) <= KEPT
    }

    /// Takes a class in, and gives its number.
    pub(crate) fn add_class(&mut self, input: &Path, facts: ClassFacts) -> usize {
        self.classes.push(facts);
        self.inputs.push(input.into());
        self.classes.len() - 1
    }

    /// Counts what the writer of some classes reports.
    pub(crate) fn note_written(
        &mut self,
        map: &MethodMap,
        changed: usize,
        skipped: Vec<(usize, Option<usize>, SkipReason)>,
    ) {
        self.changed += changed;
        for (number, method, reason) in skipped {
            let (Some(class), Some(input)) = (self.classes.get(number), self.inputs.get(number)) else {
                continue;
            };
            self.untraced += match method {
                Some(_) => 1,
                None => map.ids.get(number).map_or(0, |ids| ids.iter().filter(|&&id| id != 0).count()),
            };
            self.skips.push(Skip {
                input: input.clone(),
                class: class.name.clone(),
                method: method.and_then(|index| class.methods.get(index)).map(method_text),
                reason,
            });
        }
    }
}

fn method_text(method: &crate::collect::MethodFacts) -> String {
    format!("{}{}", method.name, method.descriptor)
}

enum Source {
    Archive(Archive),
    Folder(Folder),
}

/// Instruments `inputs`, all with one method map.
///
/// Nothing is left behind if an error is returned: outputs and maps are written beside their places
/// and moved there at the end.
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
/// Inputs that cannot be read, outputs that cannot be written, and more methods than ids. A broken
/// class is no error: it is copied and listed in [`Summary::skipped`].
pub fn instrument(
    inputs: &[Input],
    maps: &MapPaths,
    options: &Options,
    progress: &dyn Fn(Progress<'_>),
) -> Result<Summary, Error> {
    check(inputs, options)?;
    let mut clock = Clock(Instant::now());
    let mut times = Times::default();
    let base = options.base_map.as_deref().map(BaseMap::read).transpose()?.unwrap_or_default();
    let pool = ThreadPoolBuilder::new().num_threads(options.threads).build();
    let pool = pool.map_err(|_| Error::Threads { threads: options.threads })?;
    let mut session = Session {
        options,
        base,
        pool,
        skips: Vec::new(),
        classes: Vec::new(),
        inputs: Vec::new(),
        warnings: Vec::new(),
        kept: AtomicUsize::new(0),
        changed: 0,
        untraced: 0,
    };
    let mut sources = Vec::with_capacity(inputs.len());
    for input in inputs {
        progress(Progress::Reading(&input.path));
        let failed = |source| Error::Read { path: input.path.clone(), source };
        if fs::metadata(&input.path).map_err(failed)?.is_dir() {
            sources.push(Source::Folder(Folder::collect(&input.path, &mut session)?));
        } else {
            let bytes = fs::read(&input.path).map_err(failed)?;
            times.read += clock.lap();
            let mut archive = Archive::open(&input.path, String::new(), bytes, &mut session)?;
            archive.collect(input.manifest_class_path.as_deref(), &mut session)?;
            sources.push(Source::Archive(archive));
        }
        times.collect += clock.lap();
    }
    let map = session.pool.install(|| method_map::number(&session.classes, &session.base))?;
    let methods = map.ids.iter().flatten().filter(|&&id| id != 0).count();
    progress(Progress::Numbered { classes: session.classes.len(), methods });
    note_broken_methods(&mut session);
    times.number = clock.lap();

    let mut staged = Vec::with_capacity(inputs.len() + 3);
    for (index, (source, input)) in sources.into_iter().zip(inputs).enumerate() {
        progress(Progress::Writing(&input.output));
        staged.push(write(&source, &input.output, &map, index == 0, &mut session)?);
    }
    staged.push(Staged::file(&maps.methods, map.methods.as_bytes())?);
    for (path, text) in [(&maps.ignored, &map.ignored), (&maps.lines, &map.lines)] {
        if let Some(path) = path {
            staged.push(Staged::file(path, text.as_bytes())?);
        }
    }
    staged.into_iter().try_for_each(Staged::commit)?;
    times.write = clock.lap();
    Ok(summarize(session, &map, methods, times))
}

struct Clock(Instant);

impl Clock {
    fn lap(&mut self) -> Duration {
        let before = core::mem::replace(&mut self.0, Instant::now());
        self.0 - before
    }
}

fn write(
    source: &Source,
    output: &Path,
    map: &MethodMap,
    map_id: bool,
    session: &mut Session<'_>,
) -> Result<Staged, Error> {
    match source {
        Source::Folder(folder) => {
            let staged = Staged::new(output, true)?;
            folder.write(staged.path(), map, map_id, session)?;
            Ok(staged)
        }
        Source::Archive(archive) => {
            let staged = Staged::new(output, false)?;
            let file = File::create(staged.path()).map_err(|source| staged.error(source))?;
            // Large: parts are written in one go, and only the sizes of what is added behind them
            // are patched.
            let file = BufWriter::with_capacity(1 << 20, file);
            let mut file = archive.write(file, map, map_id, session)?;
            file.flush().map_err(|source| staged.error(source))?;
            Ok(staged)
        }
    }
}

fn note_broken_methods(session: &mut Session<'_>) {
    for (class, input) in session.classes.iter().zip(&session.inputs) {
        for method in &class.methods {
            if let Verdict::Skip(reason) = &method.verdict {
                session.skips.push(Skip {
                    input: input.clone(),
                    class: class.name.clone(),
                    method: Some(method_text(method)),
                    reason: reason.clone(),
                });
            }
        }
    }
}

fn summarize(mut session: Session<'_>, map: &MethodMap, methods: usize, times: Times) -> Summary {
    let all = || session.classes.iter().flat_map(|class| &class.methods);
    let count = |verdict: Verdict| all().filter(|method| method.verdict == verdict).count();
    session.skips.sort_by(|a, b| (&a.input, &a.class, &a.method).cmp(&(&b.input, &b.class, &b.method)));
    Summary {
        classes: session.classes.len(),
        classes_changed: session.changed,
        methods_seen: all().count(),
        traced: methods - session.untraced.min(methods),
        ignored: count(Verdict::Ignore),
        blocked: count(Verdict::Block),
        skipped: core::mem::take(&mut session.skips),
        warnings: core::mem::take(&mut session.warnings),
        map_id: map.id,
        times,
    }
}

/// Refuses what would go wrong only after much work, or overwrite what is there.
fn check(inputs: &[Input], options: &Options) -> Result<(), Error> {
    if inputs.is_empty() {
        return Err(Error::NoInputs);
    }
    let name = &options.call_class;
    let plain = !name.is_empty() && !name.contains(['.', ';', '[', '\0']) && name.len() <= 0xFFFF;
    if !plain || !name.is_ascii() || name.split('/').any(str::is_empty) {
        return Err(Error::CallClass { name: name.clone() });
    }
    let canonical = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.into());
    let read: Vec<PathBuf> = inputs.iter().map(|input| canonical(&input.path)).collect();
    let mut outputs = Vec::with_capacity(inputs.len());
    for input in inputs {
        let output = &input.output;
        let there = canonical(output);
        if read.iter().any(|path| there.starts_with(path)) {
            return Err(Error::OutputIsInput { path: output.clone() });
        }
        if outputs.contains(&there) {
            return Err(Error::OutputTwice { path: output.clone() });
        }
        outputs.push(there);
        if fs::read_dir(output).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(Error::OutputNotEmpty { path: output.clone() });
        }
    }
    Ok(())
}

/// An output below `folder` for each of `paths`: its base name, made unique by a number before the
/// extension where two are alike.
///
/// ```
/// # use std::path::Path;
/// let outputs = instrumenter::outputs_in(Path::new("out"), ["a/x.jar", "b/x.jar", "classes"]);
/// assert_eq!(outputs, [Path::new("out/x.jar"), Path::new("out/x-2.jar"), Path::new("out/classes")]);
/// ```
pub fn outputs_in(folder: &Path, paths: impl IntoIterator<Item = impl AsRef<Path>>) -> Vec<PathBuf> {
    let mut outputs: Vec<PathBuf> = Vec::new();
    for path in paths {
        let path = path.as_ref();
        let name = path.file_name().unwrap_or_else(|| "input".as_ref());
        let mut output = folder.join(name);
        let mut number = 2;
        // File systems that do not tell case apart would make one file of `a.jar` and `A.jar`.
        let same =
            |a: &Path, b: &Path| a.to_string_lossy().to_lowercase() == b.to_string_lossy().to_lowercase();
        while outputs.iter().any(|taken| same(taken, &output)) {
            let mut name = Path::new(name).file_stem().unwrap_or(name).to_os_string();
            name.push(format!("-{number}"));
            if let Some(extension) = path.extension() {
                name.push(".");
                name.push(extension);
            }
            output = folder.join(name);
            number += 1;
        }
        outputs.push(output);
    }
    outputs
}
