//! What the JVM calls: the start of the agent, and its events.

use std::collections::HashSet;
use std::ffi::{CStr, c_char, c_uchar, c_void};
use std::panic::catch_unwind;
use std::path::Path;
use std::sync::OnceLock;

use jni::sys::{JNI_ERR, JNI_OK, JNIEnv, JavaVM, jclass, jint, jobject};

use crate::agent::{Agent, Mode, Shown};
use crate::attached::{self, Command};
use crate::contended;
use crate::environment::Environment;
use crate::java::{Java, Vm};
use crate::jvmti::{Callbacks, Env, event, jthread};
use crate::notices;
use crate::runtime_classes::Refused;
use crate::settings::Settings;
use crate::stall_watch;

static AGENT: OnceLock<Agent> = OnceLock::new();

/// Starts the agent before the JVM runs Java code. The option is the path of a settings file.
///
/// # Safety
/// Only the JVM may call it.
#[unsafe(no_mangle)]
unsafe extern "system" fn Agent_OnLoad(vm: *mut JavaVM, options: *const c_char, _: *mut c_void) -> jint {
    let begun = catch_unwind(|| {
        // SAFETY: the JVM's promise.
        let settings = read(Path::new(unsafe { text(options) }?))?;
        // SAFETY: the JVM's promise.
        let agent = unsafe { begin(vm, &settings) }?;
        agent.jvmti.notify(event::VM_INIT, true).map_err(|failed| failed.to_string())
    });
    match begun {
        Ok(Ok(())) => {}
        Ok(Err(why)) => notices::nothing_is_recorded(&why),
        Err(_) => notices::nothing_is_recorded("the agent had a fault"),
    }
    // An error would end the JVM.
    JNI_OK
}

/// Takes a command of `anrscope attach` while the program runs: see [`Command`].
///
/// # Safety
/// Only the JVM may call it.
#[unsafe(no_mangle)]
unsafe extern "system" fn Agent_OnAttach(vm: *mut JavaVM, options: *const c_char, _: *mut c_void) -> jint {
    // SAFETY: the JVM's promise.
    let the_vm = unsafe { Vm::new(vm) };
    let done = catch_unwind(|| {
        // SAFETY: the JVM passes a text that ends with a zero, or null.
        let command = Command::parse(unsafe { text(options) }?)?;
        let obey = || match &command {
            Command::Start(file) => {
                let settings = read(file)?;
                let (agent, first) = match AGENT.get() {
                    Some(agent) => (agent, false),
                    // SAFETY: the JVM's promise.
                    None => (unsafe { begin(vm, &settings) }?, true),
                };
                attached::start(agent, the_vm, &settings, first)
            }
            Command::Stop(_) => {
                let agent = AGENT.get().ok_or("no agent was started in this process")?;
                attached::stop(agent, the_vm)
            }
        };
        obey().map_err(|why| command.answer(&why))
    });
    match done {
        Ok(Ok(())) => JNI_OK,
        _ => JNI_ERR,
    }
}

/// The text of the options.
///
/// # Safety
/// It must be null, or end with a zero.
unsafe fn text<'a>(options: *const c_char) -> Result<&'a str, String> {
    let options = match options.is_null() {
        true => c"",
        // SAFETY: the caller's promise.
        false => unsafe { CStr::from_ptr(options) },
    };
    options.to_str().map_err(|_| "the options of the agent are not UTF-8".to_owned())
}

fn read(settings: &Path) -> Result<Settings, String> {
    Settings::read(settings).map_err(|error| error.to_string())
}

/// Creates the agent of this process.
///
/// # Safety
/// `vm` must be the JVM that has called.
unsafe fn begin(vm: *mut JavaVM, settings: &Settings) -> Result<&'static Agent, String> {
    // SAFETY: the caller's promise.
    let jvmti = unsafe { Environment::create(vm) }.ok_or("this JVM has no JVM TI")?;
    let agent = Agent::new(jvmti, settings)?;
    if AGENT.set(agent).is_err() {
        return Err("the agent was loaded twice".to_owned());
    }
    let callbacks = Callbacks {
        vm_init: Some(vm_init),
        vm_death: Some(vm_death),
        class_file_load_hook: Some(class_file_load_hook),
        class_prepare: Some(class_prepare),
        monitor_contended_enter: Some(monitor_contended_enter),
        monitor_contended_entered: Some(monitor_contended_entered),
        garbage_collection_start: Some(garbage_collection_start),
        garbage_collection_finish: Some(garbage_collection_finish),
        ..Callbacks::default()
    };
    jvmti.set_callbacks(&callbacks).map_err(|failed| failed.to_string())?;
    AGENT.get().ok_or_else(|| "the agent is gone".to_owned())
}

unsafe extern "system" fn vm_init(_jvmti: *mut Env, jni: *mut JNIEnv, thread: jthread) {
    let Some(agent) = AGENT.get() else { return };
    // SAFETY: the JVM passes this thread's environment, which is used during the event only.
    let Some(java) = (unsafe { Java::new(jni) }) else { return };
    // The thread that will run `main` is the recorder's main thread.
    agent.guarded(|| match agent.start_recorder(java) {
        Ok(()) => {
            agent.set_mode(Mode::FromStart);
            if !agent.notify(true) {
                return notices::nothing_is_recorded("the JVM shows the agent no classes");
            }
            // Those of the JDK that the JVM has needed itself, those of an AOT cache (JEP 483), and those that agents before this one have loaded.
            attached::change(agent, java, &HashSet::new());
            contended::start(agent, java);
            stall_watch::start(agent, java, Some(thread));
        }
        Err(Refused::Off) => {}
        Err(Refused::Because(why)) => notices::nothing_is_recorded(why),
    });
}

unsafe extern "system" fn vm_death(_jvmti: *mut Env, jni: *mut JNIEnv) {
    // SAFETY: as in `vm_init`.
    let Some(java) = (unsafe { Java::new(jni) }) else { return };
    trace_runtime::record_pauses();
    stall_watch::at_exit(java);
}

unsafe extern "system" fn garbage_collection_start(_jvmti: *mut Env) {
    trace_runtime::pause_began();
}

unsafe extern "system" fn garbage_collection_finish(_jvmti: *mut Env) {
    trace_runtime::pause_ended();
}

#[allow(clippy::too_many_arguments, reason = "the JVM's")]
unsafe extern "system" fn class_file_load_hook(
    _jvmti: *mut Env,
    jni: *mut JNIEnv,
    redefined: jclass,
    loader: jobject,
    name: *const c_char,
    domain: jobject,
    length: jint,
    bytes: *const c_uchar,
    new_length: *mut jint,
    new_bytes: *mut *mut c_uchar,
) {
    let Some(agent) = AGENT.get() else { return };
    // The boot loader's classes, half of all, are changed by choice alone.
    if loader.is_null() && agent.jdk.is_empty() {
        return;
    }
    // SAFETY: as in `vm_init`.
    let Some(java) = (unsafe { Java::new(jni) }) else { return };
    let Ok(length) = usize::try_from(length) else { return };
    // SAFETY: the JVM passes a text that ends with a zero, or null, and as many bytes as it says.
    let (name, bytes) = unsafe {
        let name = (!name.is_null()).then(|| CStr::from_ptr(name));
        (name, std::slice::from_raw_parts(bytes, length))
    };
    let shown = Shown { redefined, loader, name, domain, bytes };
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

unsafe extern "system" fn monitor_contended_enter(
    _jvmti: *mut Env,
    jni: *mut JNIEnv,
    thread: jthread,
    object: jobject,
) {
    let Some(agent) = AGENT.get() else { return };
    // SAFETY: as in `vm_init`.
    let Some(java) = (unsafe { Java::new(jni) }) else { return };
    agent.guarded(|| contended::begin(agent, java, thread, object));
}

unsafe extern "system" fn monitor_contended_entered(_: *mut Env, _: *mut JNIEnv, _: jthread, _: jobject) {
    let Some(agent) = AGENT.get() else { return };
    agent.guarded(contended::end);
}
