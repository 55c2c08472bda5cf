//! The agent of this process: its state, and what it does with a class.
//!
//! A fault of the agent never ends the program: it disarms itself, says so in a line on stderr, and the program goes on
//! untraced.

use std::ffi::CStr;
use std::hash::{BuildHasher as _, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use instrumenter::live::{Decision, Left, Live};
use instrumenter::{Catalogue, MapPaths, Options, SkipReason};
use jni::sys::{jclass, jobject};
use trace_format::MapId;

use crate::code_source;
use crate::environment::Environment;
use crate::java::Java;
use crate::jdk::JdkClasses;
use crate::jvmti::{Capabilities, capability, event};
use crate::loaders::{self, Loader, Loaders};
use crate::notices::{self, Skips};
use crate::runtime_classes::{self, Refused};
use crate::settings::{Settings, Waits};
use crate::thread_dump::Extras;

/// What the agent does with classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Mode {
    /// It leaves them alone, and gives back the original of one that is retransformed.
    Idle = 0,
    /// It traces those that are loaded, from the start of the program on.
    FromStart = 1,
    /// It traces all, and restores them later.
    Attached = 2,
}

/// The agent of this process.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) jvmti: Environment,
    pub(crate) live: Live,
    pub(crate) jdk: JdkClasses,
    pub(crate) extras: Extras,
    map_id: MapId,
    properties: Vec<(String, String)>,
    /// Set once the recorder runs.
    loaders: OnceLock<Loaders>,
    pub(crate) skips: Skips,
    mode: AtomicU8,
    /// Waits are recorded.
    waits: AtomicBool,
    disarmed: AtomicBool,
}

/// A class as the JVM shows it to the hook.
pub(crate) struct Shown<'a> {
    /// Null if it is not loaded yet.
    pub(crate) redefined: jclass,
    pub(crate) loader: jobject,
    pub(crate) name: Option<&'a CStr>,
    /// Null for a class without one, such as those of the JDK.
    pub(crate) domain: jobject,
    pub(crate) bytes: &'a [u8],
}

impl Agent {
    /// Takes the capabilities, and creates the map.
    ///
    /// # Errors
    /// In words, why it cannot work.
    pub(crate) fn new(jvmti: Environment, settings: &Settings) -> Result<Self, String> {
        let options = Options { class_path: class_path(jvmti), ..choice(settings)? };
        if settings.leaves_sigquit {
            trace_runtime::leave_sigquit();
        }
        let map_id = MapId(RandomState::new().hash_one(std::process::id()).max(1));
        let live = Live::create(&options, &free_map(&settings.map), map_id)
            .map_err(|error| notices::with_causes(&error))?;
        let needed = [
            capability::TAG_OBJECTS,
            capability::ALL_CLASS_HOOK_EVENTS,
            capability::MONITOR_EVENTS,
            capability::RETRANSFORM_CLASSES,
        ];
        match jvmti.add_capabilities(&Capabilities::of(&needed)) {
            Ok(true) => {}
            Ok(false) => return Err("this JVM shows an agent no classes".to_owned()),
            Err(failed) => return Err(failed.to_string()),
        }
        Ok(Self {
            jvmti,
            live,
            jdk: settings.jdk.clone(),
            extras: Extras::of(jvmti),
            map_id,
            properties: settings.properties.clone(),
            loaders: OnceLock::new(),
            skips: Skips::default(),
            mode: AtomicU8::new(Mode::Idle as u8),
            waits: AtomicBool::new(settings.waits != Waits::Off),
            disarmed: AtomicBool::new(false),
        })
    }

    /// Takes the rules and waits of later settings, for classes that come from here on.
    ///
    /// # Errors
    /// In words, why they cannot be read.
    pub(crate) fn choose(&self, settings: &Settings) -> Result<(), String> {
        self.live.choose(&choice(settings)?).map_err(|error| notices::with_causes(&error))?;
        self.waits.store(settings.waits != Waits::Off, Ordering::Relaxed);
        Ok(())
    }

    /// True if waits are recorded.
    pub(crate) fn records_waits(&self) -> bool {
        self.waits.load(Ordering::Relaxed)
    }

    pub(crate) fn mode(&self) -> Mode {
        let mode = self.mode.load(Ordering::Acquire);
        [Mode::FromStart, Mode::Attached].into_iter().find(|known| *known as u8 == mode).unwrap_or(Mode::Idle)
    }

    /// Changes what becomes of classes from here on.
    pub(crate) fn set_mode(&self, mode: Mode) {
        self.mode.store(mode as u8, Ordering::Release);
    }

    /// Whether it has given up.
    pub(crate) fn is_disarmed(&self) -> bool {
        self.disarmed.load(Ordering::Relaxed)
    }

    /// Runs an event's work; after a panic, classes are no longer changed.
    pub(crate) fn guarded(&self, work: impl FnOnce()) {
        if self.is_disarmed() {
            return;
        }
        if catch_unwind(AssertUnwindSafe(work)).is_err() {
            self.disarm("the agent had a fault: classes that are loaded from here on are not traced");
        }
    }

    fn disarm(&self, why: &str) {
        if !self.disarmed.swap(true, Ordering::Relaxed) {
            self.notify(false);
            notices::warn(why);
        }
    }

    /// Starts the recorder, with the calling thread as its main one unless another was set.
    ///
    /// # Errors
    /// Why nothing is recorded.
    pub(crate) fn start_recorder(&self, java: Java) -> Result<(), Refused> {
        let started = runtime_classes::start(java, &self.properties, self.map_id).and_then(|method_beat| {
            let because = Refused::Because("the JVM's class loaders are not OpenJDK's");
            let loaders = Loaders::new(java, self.jvmti, method_beat).ok_or(because)?;
            let _ = self.loaders.set(loaders);
            Ok(())
        });
        if started.is_err() {
            self.disarmed.store(true, Ordering::Relaxed);
        }
        started
    }

    /// Which loaders find the class that is called; `None` before the recorder runs.
    pub(crate) fn loaders(&self) -> Option<&Loaders> {
        self.loaders.get()
    }

    /// Asks the JVM for classes and the collector's pauses, or no longer.
    ///
    /// Returns whether it shows classes.
    pub(crate) fn notify(&self, on: bool) -> bool {
        if self.extras.collections {
            for event in [event::GARBAGE_COLLECTION_START, event::GARBAGE_COLLECTION_FINISH] {
                // Without them a report has no pauses.
                let _ = self.jvmti.notify(event, on);
            }
            trace_runtime::record_pauses();
        }
        if !on {
            let _ = self.jvmti.notify(event::CLASS_PREPARE, false);
        }
        self.jvmti.notify(event::CLASS_FILE_LOAD_HOOK, on).is_ok()
    }

    /// The new bytes of a class; `None` leaves it alone. Runs no Java code but that of a loader that has to be asked.
    pub(crate) fn class(&self, java: Java, class: &Shown<'_>) -> Option<Vec<u8>> {
        let loaders = self.loaders.get()?;
        // A class without a name is hidden, or defined by an old internal way; its class file names none either.
        let name = class.name?;
        let mode = self.mode();
        if mode == Mode::Idle {
            return None;
        }
        let (is_of_jdk, is_chosen) = (loaders::is_of_jdk(name.to_bytes()), self.is_chosen(name.to_bytes()));
        if is_of_jdk && !is_chosen {
            return None;
        }
        java.reserve(16);
        let redefined = !class.redefined.is_null();
        let loader = match loaders.of(java, self.jvmti, class.loader) {
            // Another agent has it retransformed, and it was left as it is when it was loaded.
            known @ (Loader::Unasked | Loader::Silent) if redefined => known,
            Loader::Unasked | Loader::Silent => {
                let answer = loaders.ask(java, self.jvmti, class.loader);
                if answer == Loader::Blind {
                    self.skips.add(&name.to_string_lossy(), &answer.why_unchanged());
                }
                answer
            }
            known => known,
        };
        match loader {
            Loader::Jdk if is_chosen => return self.decided(name, class, self.live.jdk_class(class.bytes)),
            Loader::Finds if is_of_jdk => return self.decided(name, class, self.live.jdk_class(class.bytes)),
            Loader::Finds => {}
            Loader::Jdk | Loader::Blind => return None,
            Loader::Unasked | Loader::Silent => {
                if !redefined {
                    self.leave(loaders, name);
                }
                return None;
            }
        }
        if let Some(path) = code_source::new_path(java, self.jvmti, class.domain) {
            self.live.search(path);
        }
        self.decided(name, class, self.live.class(class.bytes))
    }

    /// Whether a class with this internal name is one of the JDK that is traced.
    pub(crate) fn is_chosen(&self, name: &[u8]) -> bool {
        !self.jdk.is_empty() && std::str::from_utf8(name).is_ok_and(|name| self.jdk.has(name))
    }

    /// A loaded class that is left unchanged is given its own bytes. HotSpot then keeps them for the next time; without them it makes a class
    /// file of the class's structures each time. In that, `ConstantPool::compare_entry_to` (constantPool.cpp; seen on Java 17, 21 and 25)
    /// finds no constant equal to a NaN and adds it once more, so that the NaNs are doubled each time: the 15th took 6 s, and the 17th all memory.
    fn decided(&self, name: &CStr, class: &Shown<'_>, decision: Decision) -> Option<Vec<u8>> {
        match decision {
            Decision::Rewritten { bytes, skipped } => {
                skipped.iter().for_each(|(method, reason)| self.skips.add(method, reason));
                Some(bytes)
            }
            Decision::Left(left) => {
                self.left(name, &left);
                (!class.redefined.is_null()).then(|| class.bytes.to_vec())
            }
        }
    }

    /// Leaves a class for the event that it is linked.
    pub(crate) fn leave(&self, loaders: &Loaders, name: &CStr) {
        if loaders.leave(name) {
            // Only while there are such classes. A failure leaves them untraced.
            let _ = self.jvmti.notify(event::CLASS_PREPARE, true);
        }
    }

    fn left(&self, name: &CStr, left: &Left) {
        match left {
            Left::NothingToTrace | Left::Stopped => {}
            // Another tool, or an earlier run, has instrumented the program.
            Left::Skipped(reason @ SkipReason::AlreadyInstrumented) => self.skips.add("a class", reason),
            Left::Skipped(reason) => self.skips.add(&name.to_string_lossy(), reason),
            Left::IdsUsedUp | Left::MapNotWritten(_) => {
                self.disarm(&format!("classes that are loaded from here on are not traced: {left}"));
            }
        }
    }

    /// A class was linked, and has not run yet. Runs Java code.
    pub(crate) fn prepared(&self, java: Java, class: jclass) -> Option<()> {
        let loaders = self.loaders.get()?;
        java.reserve(16);
        let name = &self.jvmti.class_name(class)?;
        if !loaders.take(&std::ffi::CString::new(name.as_str()).ok()?) {
            return None;
        }
        let loader = self.jvmti.loader(class).ok()?;
        let known = loaders.ask(java, self.jvmti, loader);
        if self.changes(known, name) {
            if let Err(failed) = self.jvmti.retransform(&[class]) {
                self.skips.add(name, &failed);
            }
        } else {
            self.skips.add(name, &known.why_unchanged());
        }
        Some(())
    }

    /// Whether a class of such a loader is changed: the loader finds the recorder's class, or is one of the JDK whose class was chosen.
    pub(crate) fn changes(&self, loader: Loader, name: &str) -> bool {
        loader == Loader::Finds || loader == Loader::Jdk && self.is_chosen(name.as_bytes())
    }
}

/// Where the map is written. A JVM that the program has started with its own options may find the program's map there,
/// and writes one beside it, with its pid in the name.
fn free_map(map: &Path) -> MapPaths {
    let map = match map.exists() {
        true => {
            let stem = map.file_stem().unwrap_or_default().to_string_lossy();
            map.with_file_name(format!("{stem}-{}.txt", std::process::id()))
        }
        false => map.to_owned(),
    };
    MapPaths { ignored: None, ..MapPaths::beside(map) }
}

/// Where classes may be before they are loaded.
fn class_path(jvmti: Environment) -> Vec<PathBuf> {
    let split = |name| {
        // None is not the empty path, which is that of the current directory.
        let Some(paths) = jvmti.property(name).filter(|paths| !paths.is_empty()) else { return Vec::new() };
        // Absolute, since the program may change the directory. An empty element is that directory.
        let paths = std::env::split_paths(&paths).filter_map(|path| match path.as_os_str().is_empty() {
            true => std::env::current_dir().ok(),
            false => std::path::absolute(path).ok(),
        });
        paths.collect::<Vec<_>>()
    };
    let mut all = split(c"java.class.path");
    for path in split(c"jdk.module.path") {
        // A module, or a directory of modules, which may have other files, too.
        let modules = std::fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path());
        let is_module = |file: &PathBuf| file.is_dir() || file.extension().is_some_and(|end| end == "jar");
        all.extend(modules.filter(is_module).filter(|_| !path.join("module-info.class").exists()));
        all.push(path);
    }
    all
}

/// What is traced, and which waits are recorded.
fn choice(settings: &Settings) -> Result<Options, String> {
    Ok(Options { rules: settings.rules.clone(), waits: catalogue(&settings.waits)?, ..Options::default() })
}

fn catalogue(waits: &Waits) -> Result<Option<Catalogue>, String> {
    let mut catalogue = Catalogue::default();
    if let Waits::File(path) = waits {
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("cannot read {}: {error}: correct waits=", path.display()))?;
        catalogue.add(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok((*waits != Waits::Off).then_some(catalogue))
}
