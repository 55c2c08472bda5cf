//! A program that runs already: its classes are changed, and restored later. Any number of times.
//!
//! The recorder is started once and goes on in between, since a process has one recording: a call that is under way when the
//! classes are restored still has its end. A method that runs already goes on as it is: its callees are seen, it is not.
//!
//! A class with a frame on a stack waits until it has none, both to be traced and to be restored: [`crate::loaded`] has the
//! reason. It is tried again for a while ([`pauses`]). If a thread never leaves it, such as one in the loop of `main`, the class
//! stays as it is. Notices in the recording name the classes that wait.
//!
//! An attachment ends by a command, or when the process that has attached is gone.

use std::collections::{BTreeSet, HashSet};
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jni::sys::jclass;

use crate::agent::{Agent, Mode};
use crate::client_watch;
use crate::contended;
use crate::java::{Java, Vm};
use crate::loaded::{self, Changer, State};
use crate::loaders::{Asker, Loader, Loaders, is_of_jdk};
use crate::notices;
use crate::runtime_classes::Refused;
use crate::settings::Settings;
use crate::stall_watch;
use crate::threads;
use crate::virtual_threads;

/// The number of starts and ends of attachments. Held during a command, since the end of a client comes at any time.
static CHANGES: Mutex<u64> = Mutex::new(0);

/// A notice begins with it, and goes on with the classes that wait to be traced.
pub const NOT_TRACED: &str = "not traced while threads are in them: ";

/// A notice begins with it, and goes on with the classes that wait to be restored.
pub const NOT_RESTORED: &str = "traced until threads have left them: ";

/// How long a busy machine may take to create the recording's file.
const FILE_WITHIN: Duration = Duration::from_secs(10);

fn changes() -> MutexGuard<'static, u64> {
    // After a panic the number is still the last one's.
    CHANGES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What `anrscope attach` asks for: `start=SETTINGS` or `stop=SETTINGS`. If it cannot be done, the reason is in the file
/// SETTINGS.error.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Trace the program with the settings in this file; after the first time, with the properties of the first time.
    Start(PathBuf),
    /// Restore the classes, and pause the recording.
    Stop(PathBuf),
}

impl Command {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some(("start", settings)) => Ok(Self::Start(settings.into())),
            Some(("stop", settings)) => Ok(Self::Stop(settings.into())),
            _ => Err(format!("{text:?} is no command of the agent")),
        }
    }

    /// Writes why the command was not obeyed, for the program that has given it.
    pub(crate) fn answer(&self, why: &str) -> String {
        let (Self::Start(settings) | Self::Stop(settings)) = self;
        let mut file = settings.clone().into_os_string();
        file.push(".error");
        // If the disk is full, the number that the JVM answers has to do.
        let _ = std::fs::write(Path::new(&file), why);
        why.to_owned()
    }
}

/// Records the program from here on; `first` starts the recorder.
pub(crate) fn start(agent: &'static Agent, vm: Vm, settings: &Settings, first: bool) -> Result<(), String> {
    let mut changes = changes();
    if agent.is_disarmed() {
        return Err("the agent in this process has given up: restart the program".to_owned());
    }
    match agent.mode() {
        Mode::Idle => {}
        Mode::FromStart => return Err("the program was started by anrscope jvm, which records it".to_owned()),
        // This client has the lock, so the one before is gone, which is not noticed yet.
        Mode::Attached if settings.client.is_some() => client_is_gone(agent, vm, &mut changes),
        Mode::Attached => {
            return Err("another anrscope attach records this process: wait for its end".to_owned());
        }
    }
    if !first {
        agent.choose(settings)?;
    }
    *changes += 1;
    let number = *changes;
    threads::on_own_thread(vm, |java| begin(agent, java, first))?;
    if let Some(client) = &settings.client {
        let watched = client_watch::when_unlocked(client, move || {
            let mut last = self::changes();
            if *last == number {
                client_is_gone(agent, vm, &mut last);
            }
        });
        if let Err(error) = watched {
            end(agent, vm, &mut changes)?;
            return Err(format!("cannot watch {}: {error}", client.display()));
        }
    }
    try_again(agent, vm, number);
    Ok(())
}

fn begin(agent: &Agent, java: Java, first: bool) -> Result<(), String> {
    if first {
        trace_runtime::set_main_thread(threads::main_tid());
        agent.start_recorder(java).map_err(|refused| match refused {
            Refused::Off => "recording is switched off by -Danrscope.off=true".to_owned(),
            Refused::Because(why) => why.to_owned(),
        })?;
    } else {
        trace_runtime::note_resumed();
    }
    agent.skips.restart();
    agent.set_mode(Mode::Attached);
    if !agent.notify(true) {
        agent.set_mode(Mode::Idle);
        return Err("the JVM shows the agent no classes".to_owned());
    }
    contended::start(agent, java);
    let frames = virtual_threads::classes_on_stacks(java);
    change(agent, java, &frames);
    try_at_once(agent, java, &frames);
    note_waiting(agent, java, false);
    stall_watch::start(agent, java, None);
    Ok(())
}

/// Restores the classes.
pub(crate) fn stop(agent: &'static Agent, vm: Vm) -> Result<(), String> {
    let mut changes = changes();
    if agent.mode() != Mode::Attached {
        return Err("this process is not being recorded by anrscope attach".to_owned());
    }
    end(agent, vm, &mut changes)?;
    // Recording begins in memory, and the client reads the file.
    let _ = trace_runtime::wait_for_file(FILE_WITHIN);
    Ok(())
}

/// Ends an attachment whose client has not done so.
fn client_is_gone(agent: &'static Agent, vm: Vm, changes: &mut u64) {
    match end(agent, vm, changes) {
        Ok(()) => {
            trace_runtime::notice(
                "the process that had attached is gone: the original classes were restored",
            );
        }
        Err(why) => notices::warn(&format!("the original classes are not restored: {why}")),
    }
}

fn end(agent: &'static Agent, vm: Vm, changes: &mut u64) -> Result<(), String> {
    *changes += 1;
    threads::on_own_thread(vm, |java| {
        forget_waiting(agent, java);
        // The JVM starts from the original bytes, and nothing changes them any more.
        agent.set_mode(Mode::Idle);
        contended::stop(agent);
        stall_watch::pause();
        let frames = virtual_threads::classes_on_stacks(java);
        restore(agent, java, &frames);
        try_at_once(agent, java, &frames);
        agent.notify(false);
        note_waiting(agent, java, false);
        trace_runtime::note_paused();
        Ok(())
    })?;
    try_again(agent, vm, *changes);
    Ok(())
}

/// The tries take at most one part in so many of the time: many virtual threads take long to read.
const COST: u32 = 100;

/// The pauses before each try to change the classes that wait. Most calls end soon, and each try reads all stacks.
fn pauses() -> impl Iterator<Item = Duration> {
    let pauses = |times, ms| std::iter::repeat_n(Duration::from_millis(ms), times);
    pauses(30, 100).chain(pauses(60, 1000))
}

/// Tries a few times to change the classes that wait: a call that ends in a moment is in the way of many.
fn try_at_once(agent: &Agent, java: Java, frames: &HashSet<String>) {
    for _ in 0..5 {
        if !has_waiting(agent, java) {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
        retry(agent, java, frames);
    }
}

/// Tries on a thread of its own to change the classes that wait, until the next start or end of an attachment, which changes
/// `number`.
fn try_again(agent: &'static Agent, vm: Vm, number: u64) {
    let try_once = |java| {
        let mut waits = false;
        agent.guarded(|| waits = try_once(agent, java));
        waits
    };
    let tries = move || {
        let mut cost = Duration::ZERO;
        for pause in pauses() {
            std::thread::sleep(pause.max(cost * COST));
            let last = changes();
            let begun = Instant::now();
            // Between the tries the JVM does not know the thread, and its exit does not wait for it.
            if *last != number || threads::attached(vm, try_once) != Some(true) {
                return;
            }
            cost = begun.elapsed();
        }
    };
    if let Err(error) = trace_runtime::spawn_quiet("anrscope-agent", tries) {
        notices::warn(&format!("classes with threads in them stay as they are: {error}"));
    }
}

/// Changes the classes that wait and have no frame now. Returns true if others still wait.
fn try_once(agent: &Agent, java: Java) -> bool {
    if retry(agent, java, &virtual_threads::classes_on_stacks(java)) > 0 && agent.mode() == Mode::Attached {
        note_waiting(agent, java, true);
    }
    has_waiting(agent, java)
}

/// Changes the classes that wait and have no frame now, and returns their number.
fn retry(agent: &Agent, java: Java, frames: &HashSet<String>) -> usize {
    let failed = &mut |class, failed| agent.skips.add(&class_name(agent, class), &failed);
    Changer { java, jvmti: agent.jvmti, frames }.retry(failed).unwrap_or_else(|failed| {
        notices::warn(&format!("classes with threads in them stay as they are: {failed}"));
        forget_waiting(agent, java);
        0
    })
}

fn has_waiting(agent: &Agent, java: Java) -> bool {
    let _frame = java.frame(16);
    loaded::waiting(java, agent.jvmti).is_ok_and(|classes| !classes.is_empty())
}

/// Changes the classes that are loaded already; before the program's first class, those are the JDK's that were chosen, and those of an archive.
/// `frames` has the names of classes with a frame of a virtual thread.
pub(crate) fn change(agent: &Agent, java: Java, frames: &HashSet<String>) {
    let (jvmti, Some(loaders)) = (agent.jvmti, agent.loaders()) else { return };
    let _frame = java.frame(16);
    let mut asker = Asker::default();
    let wanted = |class| {
        let is_chosen = |name: &str| !is_of_jdk(name.as_bytes()) || agent.is_chosen(name.as_bytes());
        agent.jvmti.class_name(class).is_some_and(|name| is_chosen(&name))
            && loaded::state(jvmti, class) != State::Fixed
            // One that waits to be restored is still traced.
            && !loaded::forget(jvmti, class)
    };
    let takes = |class| takes(agent, java, loaders, &mut asker, class);
    let changer = Changer { java, jvmti, frames };
    let done = changer.retransform(wanted, takes, &mut |class, failed| {
        agent.skips.add(&class_name(agent, class), &failed);
    });
    if let Err(failed) = done {
        agent.skips.add("a part of the classes that are loaded already", &failed);
    }
}

/// True if this class is to be changed now, and not later or never.
fn takes(agent: &Agent, java: Java, loaders: &Loaders, asker: &mut Asker, class: jclass) -> bool {
    let jvmti = agent.jvmti;
    let _frame = java.frame(16);
    let (Some(name), Ok(loader)) = (agent.jvmti.class_name(class), jvmti.loader(class)) else { return false };
    let known = loaders.ask_elsewhere(java, jvmti, asker, loader);
    if known == Loader::Silent {
        agent.skips.add(&name, &known.why_unchanged());
    }
    if !agent.changes(known, &name) {
        return false;
    }
    if loaded::state(jvmti, class) == State::Linked {
        return true;
    }
    // Its turn comes when it is linked, unless that has just happened.
    let Ok(name) = CString::new(name) else { return false };
    agent.leave(loaders, &name);
    loaded::state(jvmti, class) == State::Linked && loaders.take(&name)
}

/// Has the classes that wait to be traced wait no longer. One that was traced before is restored all the same.
fn forget_waiting(agent: &Agent, java: Java) {
    let _frame = java.frame(16);
    for class in loaded::waiting(java, agent.jvmti).unwrap_or_default() {
        loaded::forget(agent.jvmti, class);
    }
}

/// Names the classes that wait in a notice. If there are none, the notice says so only after others, `had_others`.
fn note_waiting(agent: &Agent, java: Java, had_others: bool) {
    let _frame = java.frame(16);
    let waiting = loaded::waiting(java, agent.jvmti).unwrap_or_default();
    if waiting.is_empty() && !had_others {
        return;
    }
    let names: BTreeSet<String> =
        waiting.into_iter().map(|class| class_name(agent, class).replace('/', ".")).collect();
    let start = if agent.mode() == Mode::Attached { NOT_TRACED } else { NOT_RESTORED };
    trace_runtime::notice(&format!("{start}{}", listed(&names)));
}

fn class_name(agent: &Agent, class: jclass) -> String {
    agent.jvmti.class_name(class).unwrap_or_default()
}

/// The first names, and how many more there are.
fn listed(names: &BTreeSet<String>) -> String {
    const NAMED: usize = 5;
    if names.is_empty() {
        return "none".to_owned();
    }
    let mut text = names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    if let Some(more) = names.len().checked_sub(NAMED).filter(|more| *more > 0) {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

/// Restores the classes that were changed.
fn restore(agent: &Agent, java: Java, frames: &HashSet<String>) {
    let jvmti = agent.jvmti;
    let wanted = |class| {
        loaded::state(jvmti, class) == State::Linked
            && agent.jvmti.class_name(class).is_some_and(|name| agent.live.has(&name))
    };
    let changer = Changer { java, jvmti, frames };
    let done = changer.retransform(wanted, |_| true, &mut |class, failed| {
        agent.skips.add(&format!("{} stays changed, and", class_name(agent, class)), &failed);
    });
    if let Err(failed) = done {
        notices::warn(&format!("some classes stay changed until the program ends: {failed}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_name_their_settings() {
        assert_eq!(Command::parse("start=/a=b"), Ok(Command::Start("/a=b".into())));
        assert_eq!(Command::parse("stop=/a"), Ok(Command::Stop("/a".into())));
        assert!(Command::parse("").is_err() && Command::parse("pause=/a").is_err());
    }
}
