//! The agent: from its start in `Agent_OnLoad`, over the start of the recorder in `VMInit`, to the classes.
//!
//! A fault of the agent never ends the program: it disarms itself, says so in a line on stderr, and the program goes on
//! untraced.

use std::ffi::{CStr, c_char, c_uchar, c_void};
use std::hash::{BuildHasher as _, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use instrumenter::live::{Decision, Left, Live, Redefines};
use instrumenter::{Catalogue, MapPaths, Options, SkipReason};
use jni::sys::{JNI_OK, JNIEnv, JavaVM, jclass, jint, jlong, jobject};
use trace_format::MapId;

use crate::environment::Environment;
use crate::java::Java;
use crate::jvmti::{Callbacks, Capabilities, Env, capability, event, jthread};
use crate::loaders::{self, Loader, Loaders};
use crate::notices::{self, Skips};
use crate::runtime_classes::{self, Refused};
use crate::settings::{Property, Settings, Waits};

/// Tag of a class that was changed after it was loaded: its methods keep their modifiers.
const KEEPS_FLAGS: jlong = 1;

static AGENT: OnceLock<Agent> = OnceLock::new();

/// The agent of this process.
struct Agent {
    jvmti: Environment,
    live: Live,
    map_id: MapId,
    properties: Vec<Property>,
    /// Set once the recorder runs.
    loaders: OnceLock<Loaders>,
    skips: Skips,
    disarmed: AtomicBool,
}

/// Starts the agent before the JVM runs Java code.
///
/// # Safety
/// Only the JVM may call it.
#[unsafe(no_mangle)]
unsafe extern "system" fn Agent_OnLoad(
    vm: *mut JavaVM,
    options: *const c_char,
    _reserved: *mut c_void,
) -> jint {
    let begun = catch_unwind(|| {
        // SAFETY: the JVM's promise.
        let jvmti = unsafe { Environment::create(vm) }.ok_or("this JVM has no JVM TI")?;
        let options = match options.is_null() {
            true => c"",
            // SAFETY: the JVM passes a text that ends with a zero.
            false => unsafe { CStr::from_ptr(options) },
        };
        begin(jvmti, options)
    });
    match begun {
        Ok(Ok(())) => {}
        Ok(Err(why)) => notices::nothing_is_recorded(&why),
        Err(_) => notices::nothing_is_recorded("the agent had a fault"),
    }
    // An error would end the JVM.
    JNI_OK
}

fn begin(jvmti: Environment, options: &CStr) -> Result<(), String> {
    let settings = Path::new(options.to_str().map_err(|_| "the path of the settings is not UTF-8")?);
    let Settings { map, rules, waits, properties } =
        Settings::read(settings).map_err(|error| error.to_string())?;
    let options = Options { rules, waits: catalogue(&waits)?, ..Options::default() };
    let map_id = MapId(RandomState::new().hash_one(std::process::id()).max(1));
    let maps = MapPaths { ignored: None, ..MapPaths::beside(map) };
    let live = Live::create(&options, &maps, map_id).map_err(|error| notices::with_causes(&error))?;
    let needed =
        [capability::TAG_OBJECTS, capability::ALL_CLASS_HOOK_EVENTS, capability::RETRANSFORM_CLASSES];
    match jvmti.add_capabilities(&Capabilities::of(&needed)) {
        Ok(true) => {}
        Ok(false) => return Err("this JVM shows an agent no classes".to_owned()),
        Err(failed) => return Err(failed.to_string()),
    }
    let agent = Agent {
        jvmti,
        live,
        map_id,
        properties,
        loaders: OnceLock::new(),
        skips: Skips::default(),
        disarmed: AtomicBool::new(false),
    };
    if AGENT.set(agent).is_err() {
        return Err("the agent was loaded twice".to_owned());
    }
    let callbacks = Callbacks::new(vm_init, class_file_load_hook, class_prepare);
    let begun = jvmti.set_callbacks(&callbacks).and_then(|()| jvmti.notify(event::VM_INIT, true));
    begun.map_err(|failed| failed.to_string())
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

impl Agent {
    /// Runs an event's work; after a panic, classes are no longer changed.
    fn guarded(&self, work: impl FnOnce()) {
        if self.disarmed.load(Ordering::Relaxed) {
            return;
        }
        if catch_unwind(AssertUnwindSafe(work)).is_err() {
            self.disarm("the agent had a fault: classes that are loaded from here on are not traced");
        }
    }

    fn disarm(&self, why: &str) {
        if self.disarmed.swap(true, Ordering::Relaxed) {
            return;
        }
        for event in [event::CLASS_FILE_LOAD_HOOK, event::CLASS_PREPARE] {
            let _ = self.jvmti.notify(event, false);
        }
        notices::warn(why);
    }

    /// Starts the recorder on the thread that will run `main`, then asks for classes.
    fn start(&self, java: Java) {
        let started = runtime_classes::start(java, &self.properties, self.map_id).and_then(|method_beat| {
            let because = Refused::Because("the JVM's class loaders are not OpenJDK's");
            let loaders = Loaders::new(java, self.jvmti, method_beat).ok_or(because)?;
            let _ = self.loaders.set(loaders);
            let hook = self.jvmti.notify(event::CLASS_FILE_LOAD_HOOK, true);
            hook.map_err(|_| Refused::Because("the JVM shows the agent no classes"))
        });
        match started {
            Ok(()) => {}
            Err(Refused::Off) => self.disarmed.store(true, Ordering::Relaxed),
            Err(Refused::Because(why)) => {
                self.disarmed.store(true, Ordering::Relaxed);
                notices::nothing_is_recorded(why);
            }
        }
    }

    /// The new bytes of a class; `None` leaves it alone. Runs no Java code.
    fn class(&self, java: Java, class: &Shown<'_>) -> Option<Vec<u8>> {
        let loaders = self.loaders.get()?;
        // A class without a name is hidden, or defined by an old internal way; its class file names none either.
        let name = class.name?;
        if loaders::is_of_jdk(name.to_bytes()) {
            return None;
        }
        let redefined = !class.redefined.is_null();
        match loaders.of(java, self.jvmti, class.loader) {
            Loader::Finds => {}
            Loader::Jdk | Loader::Blind => return None,
            Loader::Unasked => {
                if !redefined {
                    self.leave(loaders, name);
                }
                return None;
            }
        }
        let redefines = match redefined && self.jvmti.tag(class.redefined) == KEEPS_FLAGS {
            true => Redefines::Yes,
            // As it was when the class was loaded.
            false => Redefines::No,
        };
        match self.live.class(class.bytes, redefines) {
            Decision::Rewritten { bytes, skipped } => {
                skipped.iter().for_each(|(method, reason)| self.skips.add(method, reason));
                Some(bytes)
            }
            Decision::Left(left) => {
                self.left(name, &left);
                None
            }
        }
    }

    fn leave(&self, loaders: &Loaders, name: &CStr) {
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

    /// A class was linked, and has not run yet.
    fn prepared(&self, java: Java, class: jclass) -> Option<()> {
        let loaders = self.loaders.get()?;
        let signature = self.jvmti.signature(class).ok()?;
        let name = signature.strip_prefix('L')?.strip_suffix(';')?;
        if !loaders.take(&std::ffi::CString::new(name).ok()?) {
            return None;
        }
        let loader = self.jvmti.loader(class).ok()?;
        if loaders.ask(java, self.jvmti, loader) == Loader::Finds {
            self.jvmti.set_tag(class, KEEPS_FLAGS);
            if let Err(failed) = self.jvmti.retransform(&[class]) {
                self.skips.add(name, &failed);
            }
        } else {
            self.skips.add(name, &"its class loader does not find dev.anrscope.MethodBeat");
        }
        Some(())
    }
}

/// A class as the JVM shows it to the hook.
struct Shown<'a> {
    /// Null if it is not loaded yet.
    redefined: jclass,
    loader: jobject,
    name: Option<&'a CStr>,
    bytes: &'a [u8],
}

unsafe extern "system" fn vm_init(_jvmti: *mut Env, jni: *mut JNIEnv, _thread: jthread) {
    let Some(agent) = AGENT.get() else { return };
    // SAFETY: the JVM passes this thread's environment, which is used during the event only.
    let Some(java) = (unsafe { Java::new(jni) }) else { return };
    agent.guarded(|| agent.start(java));
}

#[allow(clippy::too_many_arguments, reason = "the JVM's")]
unsafe extern "system" fn class_file_load_hook(
    _jvmti: *mut Env,
    jni: *mut JNIEnv,
    redefined: jclass,
    loader: jobject,
    name: *const c_char,
    _protection_domain: jobject,
    length: jint,
    bytes: *const c_uchar,
    new_length: *mut jint,
    new_bytes: *mut *mut c_uchar,
) {
    // The boot loader's classes, half of all, are never changed.
    if loader.is_null() {
        return;
    }
    let Some(agent) = AGENT.get() else { return };
    // SAFETY: as in `vm_init`.
    let Some(java) = (unsafe { Java::new(jni) }) else { return };
    let Ok(length) = usize::try_from(length) else { return };
    // SAFETY: the JVM passes a text that ends with a zero, or null, and as many bytes as it says.
    let (name, bytes) = unsafe {
        let name = (!name.is_null()).then(|| CStr::from_ptr(name));
        (name, std::slice::from_raw_parts(bytes, length))
    };
    let shown = Shown { redefined, loader, name, bytes };
    agent.guarded(|| {
        let Some(changed) = agent.class(java, &shown) else { return };
        let Ok(length) = jint::try_from(changed.len()) else { return };
        if let Some(memory) = agent.jvmti.allocated(&changed) {
            // SAFETY: the JVM passes places for the result.
            unsafe {
                new_length.write(length);
                new_bytes.write(memory);
            }
        }
    });
}

unsafe extern "system" fn class_prepare(_jvmti: *mut Env, jni: *mut JNIEnv, _thread: jthread, class: jclass) {
    let Some(agent) = AGENT.get() else { return };
    // SAFETY: as in `vm_init`.
    let Some(java) = (unsafe { Java::new(jni) }) else { return };
    agent.guarded(|| {
        agent.prepared(java, class);
    });
}
