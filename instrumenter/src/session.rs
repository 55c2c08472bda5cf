//! The state that the passes of a run share.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rayon::ThreadPool;
use rayon::prelude::*;

use crate::cache::{Facts, Known, Packed, ReplacedClasses, SavedInput, ToSave};
use crate::class_facts::{ClassFacts, Verdict};
use crate::cost::limits;
use crate::error::SkipReason;
use crate::focus::plan::Problem;
use crate::hierarchy::Hierarchy;
use crate::method_map::MethodMap;
use crate::options::Options;
use crate::report;
use crate::rewrite::Rewriting;
use crate::selection::Selection;
use crate::stamp::Sum;
use crate::summary::{Skip, Stale, Summary, Times, Warning};
use crate::tally::Tally;
use crate::waits::{Monitors, Waits};

/// The most bytes of inflated classes that are kept between scanning and rewriting. The rest is inflated again.
const MAX_KEPT_BYTES: usize = 256 << 20;

pub(crate) struct Session<'a> {
    pub(crate) options: &'a Options,
    pub(crate) selection: Selection,
    pub(crate) pool: &'a ThreadPool,
    pub(crate) skips: Vec<Skip>,
    pub(crate) clocks: Clocks,
    /// Built after all inputs are scanned.
    pub(crate) hierarchy: Hierarchy,
    /// For each class, a checksum of the decisions that depend on other classes; empty without a cache.
    pub(crate) decided: Vec<Sum>,
    /// With a cache, the result of [`limits::called`] for all classes.
    pub(crate) called: Vec<u64>,
    /// Whether every class of the inputs could be read.
    pub(crate) is_whole: bool,
    /// The methods of the base map that have no calls.
    pub(crate) stale: Vec<Stale>,
    /// Those that [are packed](Self::packed) are empty.
    pub(crate) classes: Arc<Vec<ClassFacts>>,
    /// For each class, the input that contains it.
    origins: Vec<Origin<'a>>,
    /// By class, why an activity cannot call `at`.
    problems: HashMap<usize, Problem>,
    warnings: Vec<(PathBuf, Warning)>,
    kept: AtomicUsize,
    changed: usize,
    untraced: usize,
    /// What the cache knows about the input that is being scanned.
    pub(crate) known: Known<'a>,
    /// Classes of the previous run that no longer exist.
    removed: Vec<Packed<'a>>,
    /// Classes with a warning or a skip, which have to be reported in every run.
    reported_always: HashSet<usize>,
}

/// The result of scanning a class.
pub(crate) enum Scanned {
    /// Unchanged since the previous run.
    Known,
    /// The checksum of the class, and the facts.
    New(Sum, Result<Box<ClassFacts>, SkipReason>),
}

/// The input of a class.
struct Origin<'a> {
    input: Arc<Path>,
    /// What the previous run knew about it.
    saved: Option<Packed<'a>>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Unchanged since the previous run, and its facts are still packed in the cache.
    Packed,
    /// Unchanged since the previous run.
    Cached,
    /// New or changed.
    Found,
}

/// Time that all threads together spent on each step.
#[derive(Default)]
pub(crate) struct Clocks {
    pub(crate) inflate: Stopwatch,
    pub(crate) parse: Stopwatch,
    pub(crate) rewrite: Stopwatch,
    pub(crate) deflate: Stopwatch,
}

#[derive(Default)]
pub(crate) struct Stopwatch(AtomicU64);

impl Stopwatch {
    pub(crate) fn time<T>(&self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let done = work();
        self.0.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        done
    }

    fn total(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }
}

impl<'a> Session<'a> {
    pub(crate) fn new(options: &'a Options, selection: Selection, pool: &'a ThreadPool) -> Self {
        Self {
            options,
            selection,
            pool,
            skips: Vec::new(),
            clocks: Clocks::default(),
            hierarchy: Hierarchy::default(),
            decided: Vec::new(),
            called: Vec::new(),
            is_whole: true,
            stale: Vec::new(),
            classes: Arc::default(),
            origins: Vec::new(),
            problems: HashMap::new(),
            warnings: Vec::new(),
            kept: AtomicUsize::new(0),
            changed: 0,
            untraced: 0,
            known: Known::default(),
            removed: Vec::new(),
            reported_always: HashSet::new(),
        }
    }

    pub(crate) fn warn(&mut self, input: &Path, warning: Warning) {
        self.warnings.push((input.into(), warning));
    }

    /// Warns about an activity that cannot call `at`. `class` is its name.
    pub(crate) fn warn_of_focus(&mut self, number: usize, class: &str, problem: Problem) {
        let Some(input) = self.input(number).map(Path::to_owned) else { return };
        let class = class.to_owned();
        let warning = match problem.clone() {
            Problem::Final => Warning::FinalFocus(class),
            Problem::UnknownSuper(super_class) => Warning::UnknownActivity { class, super_class },
        };
        self.warnings.push((input, warning));
        self.problems.insert(number, problem);
    }

    /// Returns whether `size` more bytes of classes may be kept in memory.
    pub(crate) fn keeps(&self, size: usize) -> bool {
        self.kept.fetch_add(size, Ordering::Relaxed).saturating_add(size) <= MAX_KEPT_BYTES
    }

    /// Returns how classes are rewritten.
    pub(crate) fn rewriting(&self) -> Rewriting<'_> {
        Rewriting {
            call_class: &self.options.call_class,
            exits: self.options.exits,
            waits: self.selection.waits.as_ref().map(|catalogue| Waits {
                catalogue,
                hierarchy: &self.hierarchy,
                monitors: Monitors::Inserted,
            }),
        }
    }

    /// Returns the input of each class.
    pub(crate) fn inputs(&self) -> Vec<PathBuf> {
        self.origins.iter().map(|origin| origin.input.to_path_buf()).collect()
    }

    /// Returns the input of a class.
    pub(crate) fn input(&self, number: usize) -> Option<&Path> {
        self.origins.get(number).map(|origin| &*origin.input)
    }

    /// Returns whether the next run reuses the results of this one.
    pub(crate) fn is_cached(&self) -> bool {
        self.options.cache.is_some()
    }

    /// Sets what the cache knows about the next input.
    pub(crate) fn begin_input(&mut self, mut saved: SavedInput<'a>) {
        // The explained class is scanned again, but keeps its ids.
        for item in &mut saved.items {
            item.again |= item.class.is_some_and(|class| self.explains(class));
        }
        let before = core::mem::replace(&mut self.known, Known::new(saved));
        self.removed.extend(before.into_rest());
    }

    /// Returns whether a class of the cache is the one to explain.
    pub(crate) fn explains(&self, class: Packed<'_>) -> bool {
        self.options.explain.is_some()
            && class.head().is_some_and(|head| self.selection.explains(head.name, head.obfuscated))
    }

    /// Adds a class that was scanned, with what the previous run knew about it. Returns its number.
    pub(crate) fn add_class(&mut self, input: &Path, facts: ClassFacts, saved: Option<Packed<'a>>) -> usize {
        self.add(input, facts, saved, State::Found)
    }

    /// Adds a class that was scanned, which the cache knows at `place`. Returns its checksum, and its number unless it cannot
    /// be read.
    /// `name` names it in a skip.
    pub(crate) fn add_scanned(
        &mut self,
        input: &Path,
        name: impl FnOnce() -> String,
        place: Option<usize>,
        scanned: Scanned,
    ) -> (Sum, Option<usize>) {
        match scanned {
            Scanned::Known => {
                let (sum, facts) = self.known.take(place);
                (sum, facts.map(|facts| self.add_packed(input, facts)))
            }
            Scanned::New(sum, Ok(facts)) => {
                let (_, saved) = self.known.take(place);
                (sum, Some(self.add_class(input, *facts, saved)))
            }
            Scanned::New(sum, Err(reason)) => {
                self.skips.push(Skip { input: input.into(), class: name(), method: None, reason });
                (sum, None)
            }
        }
    }

    /// Adds an unchanged class.
    pub(crate) fn add_packed(&mut self, input: &Path, saved: Packed<'a>) -> usize {
        self.add(input, ClassFacts::default(), Some(saved), State::Packed)
    }

    fn add(&mut self, input: &Path, facts: ClassFacts, saved: Option<Packed<'a>>, state: State) -> usize {
        let input = match self.origins.last().filter(|last| &*last.input == input) {
            Some(last) => Arc::clone(&last.input),
            None => input.into(),
        };
        self.classes_mut().push(facts);
        self.origins.push(Origin { input, saved, state });
        self.classes.len() - 1
    }

    /// The classes are shared with other threads only after the scan.
    pub(crate) fn classes_mut(&mut self) -> &mut Vec<ClassFacts> {
        Arc::make_mut(&mut self.classes)
    }

    /// Ends the scan: the remaining classes of the previous run no longer exist.
    pub(crate) fn end_inputs(&mut self) {
        self.begin_input(SavedInput::default());
    }

    /// Returns whether all classes of the previous run still exist, changed or not.
    pub(crate) fn has_all(&self) -> bool {
        self.removed.is_empty()
    }

    /// Returns the packed facts of an unchanged class, if they were not needed so far.
    pub(crate) fn packed(&self, number: usize) -> Option<Packed<'a>> {
        self.origins.get(number).filter(|origin| origin.state == State::Packed)?.saved
    }

    /// Returns what the previous run knew about a class.
    pub(crate) fn saved(&self, number: usize) -> Option<Packed<'a>> {
        self.origins.get(number)?.saved
    }

    /// Returns the ids of the methods of a class.
    pub(crate) fn ids<'m>(&self, number: usize, map: &'m MethodMap) -> Cow<'m, [u32]> {
        // The class is unchanged, but its output does not exist any more.
        if let Some(class) = self.packed(number).and_then(Packed::unpack) {
            return class.methods.iter().map(|method| method.kept_id).collect();
        }
        map.ids_of(number).into()
    }

    /// Returns the numbers of the classes that are new or changed, and what the previous run knew about them.
    pub(crate) fn found(&self) -> impl Iterator<Item = (usize, Option<Packed<'a>>)> {
        let found = self.origins.iter().enumerate().filter(|(_, origin)| origin.state == State::Found);
        found.map(|(number, origin)| (number, origin.saved))
    }

    /// Unpacks the facts of all classes, and gives changed ones their previous ids. Returns whether the maps differ
    /// from those of the previous run, or `None` if the cache is damaged.
    pub(crate) fn settle(&mut self) -> Option<bool> {
        let Self { classes, origins, pool, .. } = self;
        pool.install(|| {
            Arc::make_mut(classes).par_iter_mut().zip(origins.par_iter_mut()).with_min_len(64).try_for_each(
                |(class, origin)| {
                    if let (State::Packed, Some(saved)) = (origin.state, origin.saved) {
                        *class = saved.unpack()?;
                        origin.state = State::Cached;
                    }
                    Some(())
                },
            )
        })?;
        let decided_again = self.decide_costs();
        let mut replaced = ReplacedClasses::default();
        let lost = self.found().filter_map(|(_, saved)| saved).chain(self.removed.iter().copied());
        for class in lost {
            replaced.add(class.unpack()?);
        }
        for (class, origin) in Arc::make_mut(&mut self.classes).iter_mut().zip(&self.origins) {
            if origin.state == State::Found {
                replaced.keep_ids(class);
            }
        }
        Some(decided_again || replaced.changes_maps())
    }

    /// Decides which methods are too short to be traced, now that all classes are known. Returns whether that changes
    /// the decision about a method in an unchanged class.
    fn decide_costs(&mut self) -> bool {
        self.is_whole = self.skips.is_empty();
        let (limit, is_whole) = (self.selection.short, self.is_whole);
        let pool = self.pool;
        let classes = self.classes_mut();
        let changed = pool.install(|| limits::decide(classes, limit, is_whole));
        if self.is_cached() {
            self.called = limits::called(self.classes.iter());
        }
        let as_it_was =
            |number: &usize| self.origins.get(*number).is_some_and(|origin| origin.state == State::Cached);
        changed.iter().any(as_it_was)
    }

    /// Returns whether the class and its output are unchanged.
    pub(crate) fn is_unchanged(&self, number: usize, map: &MethodMap) -> bool {
        match self.origins.get(number).map(|origin| origin.state) {
            None | Some(State::Found) => return false,
            Some(State::Packed) => return true,
            Some(State::Cached) => {}
        }
        self.classes.get(number).is_some_and(|class| {
            self.decided.get(number) == Some(&class.decided)
                && class.methods.iter().map(|method| method.kept_id).eq(map.ids_of(number).iter().copied())
        })
    }

    /// Returns what the next run has to know about a class, and whether it has to scan it in any case.
    pub(crate) fn to_save<'b>(&'b self, number: usize, map: &'b MethodMap) -> Option<(ToSave<'b>, bool)> {
        if let Some(same) = self.packed(number) {
            return Some((ToSave::Same(same), false));
        }
        let facts = Facts {
            class: self.classes.get(number)?,
            ids: map.ids.get(number)?,
            decided: *self.decided.get(number)?,
            change: map.change(number),
            problem: self.problems.get(&number),
        };
        Some((ToSave::New(facts), self.reported_always.contains(&number)))
    }

    /// Sums the counts of all classes.
    pub(crate) fn tally(&self, map: &MethodMap) -> Tally {
        let mut sum = Tally::default();
        for (number, class) in self.classes.iter().enumerate() {
            sum += match self.packed(number).and_then(Packed::head) {
                Some(head) => head.tally,
                None => Tally::count(class, map.ids_of(number)),
            };
        }
        sum
    }

    /// Records for each class the decisions that depend on other classes, for this run and the next.
    pub(crate) fn note_decisions(&mut self, map: &MethodMap) {
        if !self.is_cached() {
            return;
        }
        let mut above: HashMap<&str, Sum> = HashMap::new();
        let hierarchy = &self.hierarchy;
        let decided = self.classes.iter().enumerate().map(|(number, class)| {
            let change = map.change(number);
            if change.is_none() && class.asked.is_empty() {
                return Sum::default();
            }
            let mut text = format!("{change:?}");
            for asked in &class.asked {
                let sum =
                    above.entry(asked).or_insert_with(|| Sum::compute(hierarchy.described(asked).as_bytes()));
                let _ = write!(text, "{sum:?}");
            }
            Sum::compute(text.as_bytes())
        });
        self.decided = decided.collect();
    }

    /// Returns whether an input has no warnings and no skips.
    pub(crate) fn is_quiet(&self, input: &Path) -> bool {
        self.warnings.iter().all(|(of, _)| of != input) && self.skips.iter().all(|skip| skip.input != input)
    }

    /// Adds the counts and skips of rewritten classes.
    pub(crate) fn note_written(
        &mut self,
        map: &MethodMap,
        changed: usize,
        skipped: Vec<(usize, Option<usize>, SkipReason)>,
    ) {
        self.changed += changed;
        for (number, method, reason) in skipped {
            self.untraced += match method {
                Some(_) if matches!(reason, SkipReason::Waits(_)) => 0,
                Some(_) => 1,
                None if matches!(reason, SkipReason::Focus(_)) => 0,
                None => map.ids_of(number).iter().filter(|&&id| id != 0).count(),
            };
            self.skip(number, method, reason);
        }
    }

    /// Reports a class, or its method at this index. The class has to be reported in every run.
    fn skip(&mut self, number: usize, method: Option<usize>, reason: SkipReason) {
        let (Some(class), Some(input)) = (self.classes.get(number), self.input(number)) else { return };
        let method = method.and_then(|index| class.methods.get(index));
        let method = method.map(|method| format!("{}{}", method.name, method.descriptor));
        self.skips.push(Skip { input: input.into(), class: class.name.clone(), method, reason });
        self.reported_always.insert(number);
    }

    /// Reports the methods whose code is broken.
    pub(crate) fn note_broken_methods(&mut self) {
        let classes = Arc::clone(&self.classes);
        for (number, class) in classes.iter().enumerate() {
            for (index, method) in class.methods.iter().enumerate() {
                if let Verdict::Skip(reason) = &method.verdict {
                    self.skip(number, Some(index), reason.clone());
                }
            }
        }
    }

    /// Builds the summary of the run.
    pub(crate) fn summarize(&mut self, map: &MethodMap, tally: &Tally, times: Times) -> Summary {
        self.skips.sort_by(|a, b| (&a.input, &a.class, &a.method).cmp(&(&b.input, &b.class, &b.method)));
        let skipped = core::mem::take(&mut self.skips);
        let warnings = core::mem::take(&mut self.warnings);
        let stale = core::mem::take(&mut self.stale);
        let clocks = &self.clocks;
        Summary {
            classes: self.classes.len(),
            classes_changed: self.changed,
            classes_cached: self.origins.iter().filter(|origin| origin.state != State::Found).count(),
            classes_carried: self.origins.iter().filter(|origin| origin.state == State::Packed).count(),
            methods_seen: tally.methods,
            traced: tally.traced - self.untraced.min(tally.traced),
            ignored: tally.ignored,
            short: tally.short,
            blocked: tally.blocked,
            excluded: tally.excluded,
            focus: map.focus.iter().flatten().count(),
            unused_ids: self.untraced.min(tally.traced),
            mapping: report::mapping_use(&self.classes, &self.selection),
            stale,
            without_code: tally.without_code,
            skipped,
            warnings,
            map_id: map.texts().id,
            explained: Vec::new(),
            times: Times {
                inflate: clocks.inflate.total(),
                parse: clocks.parse.total(),
                rewrite: clocks.rewrite.total(),
                deflate: clocks.deflate.total(),
                ..times
            },
        }
    }
}
