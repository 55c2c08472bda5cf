//! A program that runs already: its classes are changed, and restored later. Any number of times.
//!
//! The recorder is started once and goes on in between, since a process has one recording: a call that is under way when the
//! classes are restored still has its end. A method that runs already goes on as it is: its callees are seen, it is not.
//!
//! An attachment ends by a command, or when the process that has attached is gone.

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jni::sys::jclass;

use crate::agent::{Agent, Mode};
use crate::client_watch;
use crate::java::{Java, Vm};
use crate::loaded::{self, State};
use crate::loaders::{Asker, Loader, Loaders, is_of_jdk};
use crate::notices;
use crate::running_loops;
use crate::runtime_classes::Refused;
use crate::settings::Settings;
use crate::threads;

/// The number of the last attachment. Held during a command, since the end of a client comes at any time.
static ATTACHMENT: Mutex<u64> = Mutex::new(0);

/// How long a busy machine may take to create the recording's file.
const FILE_WITHIN: Duration = Duration::from_secs(10);

fn attachment() -> MutexGuard<'static, u64> {
    // After a panic the number is still the last one's.
    ATTACHMENT.lock().unwrap_or_else(PoisonError::into_inner)
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
    let mut attachment = attachment();
    if agent.is_disarmed() {
        return Err("the agent in this process has given up: restart the program".to_owned());
    }
    match agent.mode() {
        Mode::Idle => {}
        Mode::FromStart => return Err("the program was started by anrscope jvm, which records it".to_owned()),
        // This client has the lock, so the one before is gone, which is not noticed yet.
        Mode::Attached if settings.client.is_some() => client_is_gone(agent, vm),
        Mode::Attached => {
            return Err("another anrscope attach records this process: wait for its end".to_owned());
        }
    }
    if !first {
        agent.choose(settings)?;
    }
    *attachment += 1;
    on_own_thread(vm, |java| begin(agent, java, first))?;
    if let Some(client) = &settings.client {
        let number = *attachment;
        let watched = client_watch::when_unlocked(client, move || {
            let last = self::attachment();
            if *last == number && agent.mode() == Mode::Attached {
                client_is_gone(agent, vm);
            }
        });
        if let Err(error) = watched {
            end(agent, vm)?;
            return Err(format!("cannot watch {}: {error}", client.display()));
        }
    }
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
    change(agent, java);
    Ok(())
}

/// Restores the classes.
pub(crate) fn stop(agent: &Agent, vm: Vm) -> Result<(), String> {
    let _attachment = attachment();
    if agent.mode() != Mode::Attached {
        return Err("this process is not being recorded by anrscope attach".to_owned());
    }
    end(agent, vm)?;
    // Recording begins in memory, and the client reads the file.
    let _ = trace_runtime::wait_for_file(FILE_WITHIN);
    Ok(())
}

/// Ends an attachment whose client has not done so.
fn client_is_gone(agent: &Agent, vm: Vm) {
    match end(agent, vm) {
        Ok(()) => {
            trace_runtime::notice(
                "the process that had attached is gone: the original classes were restored",
            );
        }
        Err(why) => notices::warn(&format!("the original classes are not restored: {why}")),
    }
}

fn end(agent: &Agent, vm: Vm) -> Result<(), String> {
    on_own_thread(vm, |java| {
        // The JVM starts from the original bytes, and nothing changes them any more.
        agent.set_mode(Mode::Idle);
        restore(agent, java);
        agent.notify(false);
        trace_runtime::note_paused();
        Ok(())
    })
}

fn on_own_thread(vm: Vm, work: impl FnOnce(Java) -> Result<(), String> + Send) -> Result<(), String> {
    threads::on_own_thread(vm, work).unwrap_or_else(|| Err("the agent had a fault".to_owned()))
}

/// Changes the classes that are loaded already; before the program's first class, those are the JDK's that were chosen, and those of an archive.
pub(crate) fn change(agent: &Agent, java: Java) {
    let (jvmti, Some(loaders)) = (agent.jvmti, agent.loaders()) else { return };
    let _frame = java.frame(16);
    let computing = match agent.mode() {
        Mode::Attached => running_loops::found(jvmti, java),
        // The program has not begun.
        _ => Vec::new(),
    };
    let mut asker = Asker::default();
    let wanted = |class| {
        let is_chosen = |name: &str| !is_of_jdk(name.as_bytes()) || agent.is_chosen(name.as_bytes());
        agent.jvmti.class_name(class).is_some_and(|name| is_chosen(&name))
            && loaded::state(jvmti, class) != State::Fixed
    };
    let takes = |class| takes(agent, java, loaders, &mut asker, &computing, class);
    let done = loaded::retransform(java, jvmti, wanted, takes, &mut |class, failed| {
        agent.skips.add(&agent.jvmti.class_name(class).unwrap_or_default(), &failed);
    });
    if let Err(failed) = done {
        agent.skips.add("a part of the classes that are loaded already", &failed);
    }
}

/// True if this class is to be changed now, and not later or never.
fn takes(
    agent: &Agent,
    java: Java,
    loaders: &Loaders,
    asker: &mut Asker,
    computing: &[(jclass, String)],
    class: jclass,
) -> bool {
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
    if let Some((_, method)) = computing.iter().find(|(other, _)| java.is_same(*other, class)) {
        let why = format!(
            "a thread computes in its method {method}, and the JVM would not compile that call again"
        );
        agent.skips.add(&name, &why);
        return false;
    }
    agent.keep_flags(class);
    if loaded::state(jvmti, class) == State::Linked {
        return true;
    }
    // Its turn comes when it is linked, unless that has just happened.
    let Ok(name) = CString::new(name) else { return false };
    agent.leave(loaders, &name);
    loaded::state(jvmti, class) == State::Linked && loaders.take(&name)
}

/// Restores the classes that were changed.
fn restore(agent: &Agent, java: Java) {
    let jvmti = agent.jvmti;
    let wanted = |class| {
        loaded::state(jvmti, class) == State::Linked
            && agent.jvmti.class_name(class).is_some_and(|name| agent.live.has(&name))
    };
    let done = loaded::retransform(java, jvmti, wanted, |_| true, &mut |class, failed| {
        agent.skips.add(
            &format!("{} stays changed, and", agent.jvmti.class_name(class).unwrap_or_default()),
            &failed,
        );
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
