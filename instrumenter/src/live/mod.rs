//! Classes that a JVM loads, one by one: for an agent inside the JVM, which is shown each class before it is defined.
//!
//! ```
//! use instrumenter::live::{Decision, Live};
//! use instrumenter::{MapPaths, Options};
//! use trace_format::MapId;
//!
//! let directory = std::env::temp_dir().join(format!("anrscope-live-example-{}", std::process::id()));
//! std::fs::create_dir_all(&directory)?;
//! let maps = MapPaths::beside(directory.join("methodMapping.txt"));
//! let live = Live::create(&Options::default(), &maps, MapId(7))?;
//! assert!(matches!(live.class(b"PK"), Decision::Left(_)));
//! # std::fs::remove_dir_all(directory)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Differences from a run over jars
//! [`instrument`](crate::instrument) knows all classes before it changes the first one. Here a class is decided on when it
//! comes:
//!
//! * Ids are assigned in the order of loading. Methods of one class, name and descriptor have one id, whichever loader
//!   defines the class, because the map could not tell them apart. So a class that is loaded again takes no new ids.
//! * A method is too short to be traced only if its own class shows it: what it calls in other classes counts as
//!   unlimited.
//! * The supertypes of a class are known once it was loaded, and before that if it is in a place of [`Options::class_path`] or
//!   [`Live::search`], which are opened when the first question comes. A wait that depends on others is not recorded.
//! * The waits for monitors are left to the agent, to which the JVM reports them. The inserted code only notes who owns one,
//!   and methods keep their modifiers.
//! * The JDK's classes can be traced too ([`Live::jdk_class`]), without waits.
//! * The map is written before the class is handed back, so that a recording never contains an id without a name.
//!
//! It starts no threads.

mod ids;
mod map;

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use trace_format::MapId;

use self::ids::Ids;
use self::map::Map;
use crate::class_facts::{ClassFacts, Node, Verdict};
use crate::cost::limits;
use crate::error::{Error, SkipReason};
use crate::hierarchy::Hierarchy;
use crate::options::{Compat, Exits, MapPaths, Options};
use crate::rewrite::{self, Rewriting};
use crate::scan::scan_class;
use crate::selection::Selection;
use crate::waits::{Monitors, Waits};

/// What becomes of a class.
#[derive(Debug)]
pub enum Decision {
    /// The class with calls.
    Rewritten {
        /// The new class file.
        bytes: Vec<u8>,
        /// The methods that could not be traced, or are traced without their waits.
        skipped: Vec<(String, SkipReason)>,
    },
    /// The class stays as it is.
    Left(Left),
}

/// Why a class stays as it is.
#[derive(Debug, thiserror::Error)]
pub enum Left {
    /// No method of it is traced, by the rules.
    #[error("the rules select none of its methods")]
    NothingToTrace,
    /// It cannot be rewritten.
    #[error(transparent)]
    Skipped(SkipReason),
    /// The recording's format has no more ids for methods.
    #[error("all 1,042,431 ids of methods are used: exclude classes by rules")]
    IdsUsedUp,
    /// The method map could not be written, so the calls would have no names.
    #[error("the method map cannot be written: {0}")]
    MapNotWritten(#[source] io::Error),
    /// The method map could not be written for an earlier class.
    #[error("the method map is incomplete since an earlier class")]
    Stopped,
}

/// Counts of what was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Classes that were rewritten; a class that was loaded twice counts twice.
    pub classes: u64,
    /// Methods with an id.
    pub methods: u32,
}

/// Rewrites classes one by one. Any thread may call it, several at the same time.
#[derive(Debug)]
pub struct Live {
    /// What is traced: [`Live::choose`] replaces it.
    choice: RwLock<Arc<Choice>>,
    exits: Exits,
    hierarchy: Hierarchy,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    ids: Ids,
    map: Map,
    classes: u64,
    /// Writing the map failed.
    stopped: bool,
}

/// Which methods are traced, and which waits are recorded.
#[derive(Debug)]
struct Choice {
    program: Selection,
    jdk: Selection,
}

impl Choice {
    fn read(options: &Options) -> Result<Self, Error> {
        // What waits inside the JDK is what the program's call of it waits for.
        let of_jdk = Options { waits: None, ..options.clone() };
        Ok(Self { program: selection(options)?, jdk: selection(&of_jdk)?.of_jdk() })
    }
}

fn selection(options: &Options) -> Result<Selection, Error> {
    let refused = [
        (options.compat != Compat::None, "Matrix's ids"),
        (options.cache.is_some(), "a cache"),
        (options.explain.is_some(), "the explanation of a class"),
    ];
    if let Some((_, what)) = refused.into_iter().find(|(asked, _)| *asked) {
        return Err(Error::NotWhileLoading(what));
    }
    Selection::read(options)
}

impl Live {
    /// Reads what the options name, and creates the maps. `id` is the map's id: a random number, not 0.
    ///
    /// # Errors
    /// Those of [`Self::check`], and a map that cannot be written or exists already.
    pub fn create(options: &Options, maps: &MapPaths, id: MapId) -> Result<Self, Error> {
        let choice = Choice::read(options)?;
        let ids = Ids::after(&choice.program.base);
        let map = Map::create(maps, id, &choice.program.base)?;
        let state = Mutex::new(State { ids, map, classes: 0, stopped: false });
        let choice = RwLock::new(Arc::new(choice));
        Ok(Self { choice, exits: options.exits, hierarchy: Hierarchy::later(&options.class_path), state })
    }

    /// Chooses anew what is traced and which waits are recorded, for classes that come from here on. Ids and maps continue; the
    /// class path and the way out of methods stay as they are.
    ///
    /// # Errors
    /// Those of [`Self::check`]. Then the choice stays as it was.
    pub fn choose(&self, options: &Options) -> Result<(), Error> {
        let choice = Arc::new(Choice::read(options)?);
        *self.choice.write().unwrap_or_else(PoisonError::into_inner) = choice;
        Ok(())
    }

    /// Reads what the options name, as [`Self::create`] does.
    ///
    /// # Errors
    /// As [`instrument`](crate::instrument), options that cannot be read. They must not ask for what needs all classes at
    /// once: Matrix's way, a cache, an explanation.
    pub fn check(options: &Options) -> Result<(), Error> {
        selection(options).map(drop)
    }

    /// Adds a jar or a directory in which supertypes are searched, and what the manifest of the jar names.
    pub fn search(&self, path: PathBuf) {
        self.hierarchy.search(path);
    }

    /// Decides about a class file, and rewrites it. The map has its methods when this returns.
    pub fn class(&self, bytes: &[u8]) -> Decision {
        self.decide(bytes, &self.choice().program)
    }

    /// Decides about a class of the JDK, which [`Self::class`] leaves alone if it is one of `java`. No waits are inserted.
    pub fn jdk_class(&self, bytes: &[u8]) -> Decision {
        self.decide(bytes, &self.choice().jdk)
    }

    fn choice(&self) -> Arc<Choice> {
        Arc::clone(&self.choice.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn decide(&self, bytes: &[u8], selection: &Selection) -> Decision {
        let mut facts = match scan_class(bytes, selection) {
            Ok(facts) => facts,
            Err(reason) => return Decision::Left(Left::Skipped(reason)),
        };
        if selection.waits.is_some() {
            let node = Node { supertypes: facts.supertypes.clone(), focus: facts.focus.clone() };
            self.hierarchy.add(facts.name_in_file(), node);
        }
        limits::decide(core::slice::from_mut(&mut facts), selection.short, false);
        if !facts.methods.iter().any(|method| method.verdict == Verdict::Trace) {
            let broken = facts.methods.into_iter().find_map(|method| match method.verdict {
                Verdict::Skip(reason) => Some(reason),
                _ => None,
            });
            return Decision::Left(broken.map_or(Left::NothingToTrace, Left::Skipped));
        }
        let ids = match self.ids(&facts, selection) {
            Ok(ids) => ids,
            Err(left) => return Decision::Left(left),
        };
        let waits = selection.waits.as_ref().map(|catalogue| Waits {
            catalogue,
            hierarchy: &self.hierarchy,
            monitors: Monitors::Agent,
        });
        let how = Rewriting { call_class: &selection.call_class, exits: self.exits, waits };
        let (rewritten, reason) = rewrite::rewrite_with_focus(bytes, &ids, None, how, None);
        match (rewritten.bytes, reason) {
            (Some(bytes), _) => {
                self.state().classes += 1;
                let name = |(index, reason): (usize, SkipReason)| {
                    let method = facts
                        .methods
                        .get(index)
                        .map(|method| format!("{}{}", method.name, method.descriptor));
                    (format!("{}.{}", facts.name, method.unwrap_or_default()), reason)
                };
                Decision::Rewritten { bytes, skipped: rewritten.skipped.into_iter().map(name).collect() }
            }
            (None, Some(reason)) => Decision::Left(Left::Skipped(reason)),
            (None, None) => {
                let first = rewritten.skipped.into_iter().next();
                Decision::Left(first.map_or(Left::NothingToTrace, |(_, reason)| Left::Skipped(reason)))
            }
        }
    }

    /// Whether a class with this internal name has methods with ids, so that it was rewritten or would be.
    pub fn has(&self, class: &str) -> bool {
        self.state().ids.has(class)
    }

    /// Returns the id of a method, by the internal name of its class; `None` if it has none, or if a class is being decided
    /// on: this call never waits.
    pub fn id_of(&self, class: &str, method: &str, descriptor: &str) -> Option<u32> {
        self.state.try_lock().ok()?.ids.find(class, method, descriptor)
    }

    /// What was done so far.
    pub fn counts(&self) -> Counts {
        let state = self.state();
        Counts { classes: state.classes, methods: state.ids.count() }
    }

    /// The ids of the methods of a class, in the order of its file; 0 for those that are not traced.
    fn ids(&self, facts: &ClassFacts, selection: &Selection) -> Result<Vec<u32>, Left> {
        let mut state = self.state();
        if state.stopped {
            return Err(Left::Stopped);
        }
        let State { ids, map, .. } = &mut *state;
        let assigned = ids.of(facts, &selection.base).ok_or(Left::IdsUsedUp)?;
        if let Err(error) = map.append(facts, &assigned.new) {
            state.stopped = true;
            return Err(Left::MapNotWritten(error));
        }
        Ok(state.ids.keep(facts, assigned))
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        // After a panic, the worst is an id that is used nowhere.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs::File;
    use std::io::Read as _;

    use super::*;

    /// A class with traced methods.
    fn class() -> Vec<u8> {
        let jar = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/instr_fixture/in.jar");
        let mut jar = zip::ZipArchive::new(File::open(jar).unwrap()).unwrap();
        let name = jar
            .file_names()
            .map(|name| name.unwrap().into_owned())
            .find(|name| name.ends_with("Simple.class"))
            .unwrap();
        let mut bytes = Vec::new();
        jar.by_name(&name).unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn a_later_choice_applies_to_classes_from_then_on_and_ids_continue() {
        let directory = std::env::temp_dir().join(format!("anrscope-live-choose-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let maps = MapPaths::beside(directory.join("methodMapping.txt"));
        let rules = directory.join("none.rules");
        std::fs::write(&rules, "exclude class **\n").unwrap();
        let live = Live::create(&Options::default(), &maps, MapId(7)).unwrap();
        let rewritten = |live: &Live| matches!(live.class(&class()), Decision::Rewritten { .. });
        assert!(rewritten(&live));
        #[cfg(unix)]
        for map in [Some(&maps.methods), maps.lines.as_ref()].into_iter().flatten() {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(map.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{}", map.display());
        }
        let methods = live.counts().methods;
        live.choose(&Options { rules: Some(rules.clone()), ..Options::default() }).unwrap();
        assert!(!rewritten(&live));
        std::fs::write(&rules, "exclude nothing\n").unwrap();
        assert!(live.choose(&Options { rules: Some(rules), ..Options::default() }).is_err());
        assert!(!rewritten(&live), "the choice stays");
        live.choose(&Options::default()).unwrap();
        assert!(rewritten(&live));
        assert_eq!((live.counts().methods, live.counts().classes), (methods, 2));
        std::fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_map_that_cannot_be_written_ends_the_tracing() {
        let directory = std::env::temp_dir().join(format!("anrscope-live-full-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let maps = MapPaths::beside(directory.join("methodMapping.txt"));
        let live = Live::create(&Options::default(), &maps, MapId(7)).unwrap();
        std::fs::remove_dir_all(directory).unwrap();
        // Every write to it fails with ENOSPC (man 4 full).
        live.state().map = Map::with(File::options().write(true).open("/dev/full").unwrap());
        let left = |live: &Live| match live.class(&class()) {
            Decision::Left(left) => left,
            Decision::Rewritten { .. } => panic!("a class was rewritten without its names"),
        };
        let first = left(&live);
        assert!(matches!(first, Left::MapNotWritten(_)), "{first:?}");
        assert!(first.to_string().contains("No space left"), "{first}");
        assert!(matches!(left(&live), Left::Stopped));
        assert_eq!(live.counts(), Counts::default());
    }
}
