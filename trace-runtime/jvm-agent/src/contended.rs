//! Waits for monitors, which the JVM itself reports.
//!
//! Code that is inserted sees only the monitors of traced classes. HotSpot reports to an agent that a thread has to wait for a
//! monitor wherever it is entered: in a class that is not traced, by native code, or by a synchronized method. So in a JVM the
//! inserted code times no monitor; it only notes who owns one (`Monitors::Agent` of the instrumenter), and this module records
//! the waits.
//!
//! The events come from the slow path, after a thread has spun for a while in vain (`ObjectMonitor::enter`). A monitor that is
//! free costs nothing more, and compiled code stays as it is.
//!
//! A synchronized method enters its monitor before its first instruction, and so before it records that it was entered. A wait
//! there gets a call of that method of its own, so that a report names the method and not its caller:
//!
//! ```text
//! run                            run
//!   size                           wait for the monitor of Cart
//!     wait for the monitor of Cart   size
//!   size
//! as we record it                without the call
//! ```
//!
//! `Object.wait` is not recorded here: it is called in traced code, where it is timed, or deep in a library, where an idle worker
//! would fill the recording. Virtual threads are left out, as everywhere.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::RwLock;
use std::sync::atomic::{AtomicU64, Ordering};

use jni::sys::{jint, jobject};
use trace_format::event::{TextId, Wait, WaitKind};

use crate::agent::Agent;
use crate::environment::MethodId;
use crate::java::Java;
use crate::jvmti::{event, jthread};
use crate::virtual_threads;

/// `ACC_SYNCHRONIZED` of the class file format.
const SYNCHRONIZED: jint = 0x20;

/// The most synchronized methods whose ids are kept.
const MOST_METHODS: usize = 1 << 16;

/// The ids of synchronized methods that threads have waited for.
static METHODS: RwLock<Option<HashMap<MethodId, u32>>> = RwLock::new(None);

/// The text of a lock's class, by the lower bits of the lock's identity, which is above it.
static CLASSES: [AtomicU64; 1024] = [const { AtomicU64::new(0) }; 1024];

thread_local! {
    /// The method that a recorded wait of this thread is in the call of, 0 if it has none; `None` if no wait is recorded.
    static WAITS_IN: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Records the waits that begin from now on.
pub(crate) fn start(agent: &Agent, java: Java) {
    if !agent.records_waits() {
        return;
    }
    virtual_threads::find_class(java);
    let events = [event::MONITOR_CONTENDED_ENTERED, event::MONITOR_CONTENDED_ENTER];
    if let Err(failed) = events.into_iter().try_for_each(|event| agent.jvmti.notify(event, true)) {
        trace_runtime::notice(&format!("waits for monitors are not recorded: {failed}"));
    }
}

/// Records no more waits, but the ends of those that have begun.
pub(crate) fn stop(agent: &Agent) {
    // A failure leaves more in the recording.
    let _ = agent.jvmti.notify(event::MONITOR_CONTENDED_ENTER, false);
}

/// The calling thread is about to wait for an object's monitor. Runs no Java code.
pub(crate) fn begin(agent: &Agent, java: Java, thread: jthread, object: jobject) {
    if java.is_throwing() || virtual_threads::is_virtual(java, thread) {
        return;
    }
    let _frame = java.frame(16);
    let lock = agent.jvmti.hash_code(object).unwrap_or(0);
    let class = class_name(agent, java, object, lock);
    let method = entered(agent).unwrap_or(0);
    if method != 0 {
        trace_runtime::enter(method);
    }
    trace_runtime::wait_begin(Wait { lock: lock.into(), class, ..Wait::new(WaitKind::Monitor) });
    WAITS_IN.set(Some(method));
}

/// The calling thread has entered the monitor. The code that enters it notes the owner, because only that code will also note
/// the release.
pub(crate) fn end() {
    let Some(method) = WAITS_IN.take() else { return };
    trace_runtime::wait_end(WaitKind::Monitor, 0);
    if method != 0 {
        trace_runtime::exit(method);
    }
}

/// Returns the id of the synchronized method that the calling thread is about to run; `None` if it enters a monitor elsewhere, or
/// the method is not traced.
fn entered(agent: &Agent) -> Option<u32> {
    let frame = agent.jvmti.own_frame().ok()?;
    // The first instruction of a traced method is the recorder's.
    if frame.location != 0 || agent.jvmti.modifiers(frame.method).ok()? & SYNCHRONIZED == 0 {
        return None;
    }
    // No thread may wait for another one here, so a table that is in use is left alone.
    let known = METHODS.try_read().ok().and_then(|methods| methods.as_ref()?.get(&frame.method).copied());
    known.or_else(|| {
        let class = agent.jvmti.class_name(agent.jvmti.class_of(frame.method).ok()?)?;
        let (name, descriptor) = agent.jvmti.name_and_descriptor(frame.method).ok()?;
        let id = agent.live.id_of(&class, &name, &descriptor)?;
        if let Ok(mut methods) = METHODS.try_write() {
            let methods = methods.get_or_insert_default();
            if methods.len() >= MOST_METHODS {
                methods.clear();
            }
            methods.insert(frame.method, id);
        }
        Some(id)
    })
}

/// The text of the class's name. The classes of two objects with the same identity are taken for one.
fn class_name(agent: &Agent, java: Java, object: jobject, lock: u32) -> TextId {
    let slot = &CLASSES[lock as usize % CLASSES.len()];
    let known = slot.load(Ordering::Relaxed);
    if (known >> 32) as u32 == lock && lock != 0 {
        return TextId(known as u32);
    }
    let Some(signature) = agent.jvmti.signature(java.class_of(object)) else { return TextId(0) };
    // As `Class.getName` has it: an array keeps its signature.
    let name = signature.strip_prefix('L').and_then(|name| name.strip_suffix(';')).unwrap_or(&signature);
    let text = trace_runtime::text(&name.replace('/', "."));
    slot.store(u64::from(lock) << 32 | u64::from(text.0), Ordering::Relaxed);
    text
}
