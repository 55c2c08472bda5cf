//! Parses the lines that only a JVM's dumps have.

use super::Reader;
use crate::dump::facts::{self, FactValue};
use crate::dump::frame::{self, Frame};
use crate::dump::jvm::deadlock::{self, Deadlocks, Wait};
use crate::dump::jvm::{self, first_line, owners};
use crate::dump::model::{SampledStack, Standing, ThreadForm};
use crate::dump::{limits, lock_line, section};

impl Reader {
    /// Takes a line; returns whether it belongs to a JVM's dump.
    pub(super) fn of_jvm(&mut self, text: &str) -> bool {
        if self.jvm.deadlocks.is_some() {
            let ends = jvm::title(text).is_some()
                || section::border(text).is_some()
                || first_line::quoted(text).is_some()
                || first_line::numbered(text).is_some();
            if !ends {
                if !self.head(text)
                    && self.kept < limits::MEMORY
                    && let Some(block) = &mut self.jvm.deadlocks
                {
                    let before = block.waits.len();
                    block.take(text);
                    self.kept += (block.waits.len() - before) * (size_of::<Wait>() + 2 * text.len());
                }
                return true;
            }
        }
        if let Some(vm) = jvm::title(text) {
            self.begin_jvm(vm);
            true
        } else if let Some(thread) = first_line::numbered(text) {
            if !self.in_section {
                let version =
                    self.jvm.version.take().map_or("a JVM".to_owned(), |version| format!("JVM {version}"));
                self.begin_jvm(&version);
                self.jvm.complete = true;
            }
            self.begin_thread(thread);
            true
        } else if deadlock::begins(text) {
            self.end_thread();
            self.jvm.deadlocks = Some(Deadlocks::default());
            true
        } else if let Some(left_out) = jvm::left_out(text)
            && let Some(section) = self.dump.sections.last_mut().filter(|_| self.in_section)
        {
            section.left_out = left_out;
            true
        } else if text.starts_with("JNI global ref") {
            self.end_thread();
            self.jvm.complete = self.in_section;
            true
        } else if text == "Locked ownable synchronizers:" {
            self.jvm.owned = true;
            true
        } else if self.jvm.owned && text.starts_with("- ") {
            self.owned(text);
            true
        } else if self.thread.is_some() {
            self.of_jvm_thread(text)
        } else {
            self.in_section && self.of_agent(text) || self.before_jvm(text)
        }
    }

    /// Parses what the JVM agent and `attach` write before the threads.
    fn of_agent(&mut self, text: &str) -> bool {
        if text == jvm::CONNECTS_TO_ITSELF {
            if let Some(section) = self.dump.sections.last_mut() {
                section.connects_to_itself = true;
            }
        } else if let Some(standing) = jvm::standing(text) {
            if self.keep(size_of::<Standing>() + text.len())
                && let Some(section) = self.dump.sections.last_mut()
            {
                section.standing.push(standing);
            }
        } else if let Some((tid, stack)) = jvm::sampled(text) {
            let methods = stack.methods.len() * size_of::<String>();
            if self.keep(size_of::<SampledStack>() + methods + 2 * text.len())
                && let Some(section) = self.dump.sections.last_mut()
                && let Some(standing) = section.standing.iter_mut().rfind(|standing| standing.tid == tid)
            {
                standing.samples.push(stack);
            }
        } else {
            return false;
        }
        true
    }

    fn begin_jvm(&mut self, vm: &str) {
        self.end_section(false);
        if self.begin_section(vm.len()).is_some()
            && let Some(section) = self.dump.sections.last_mut()
        {
            section.pid = self.jvm.pid.take();
            section.time = self.jvm.time.take().map(|(time, _)| time);
            facts::push(&mut section.facts, "vm", FactValue::Text(vm.to_owned()));
        }
    }

    /// Parses lines before a dump: process id, time, version.
    fn before_jvm(&mut self, text: &str) -> bool {
        if self.head(text) {
            return true;
        }
        let is_version = self.jvm.time.as_ref().is_some_and(|(_, line)| line + 1 == self.number)
            && text.starts_with(|c: char| c.is_ascii_digit())
            && !text.contains(char::is_whitespace);
        if is_version {
            self.jvm.version = Some(text.to_owned());
        }
        is_version
    }

    /// Takes the time of a dump or the id of its process.
    fn head(&mut self, text: &str) -> bool {
        if jvm::is_time(text) {
            self.jvm.time = Some((text.to_owned(), self.number));
        } else if let Some(pid) = jvm::pid(text) {
            self.jvm.pid = Some(pid);
        } else {
            return false;
        }
        true
    }

    fn of_jvm_thread(&mut self, text: &str) -> bool {
        let Some(thread) = self.thread.as_mut().filter(|thread| thread.form.is_like_hotspots()) else {
            return false;
        };
        if let Some(state) = jvm::state(text) {
            thread.state = Some(state.to_owned());
            thread.lines.1 = self.number;
            true
        } else if let Some(mounted) = first_line::mounted(text) {
            self.begin_thread(mounted);
            true
        } else if text.starts_with("Carrying virtual thread #") {
            self.add_remark(text.to_owned())
        } else if thread.form == ThreadForm::AndroidStudio {
            let waiter = thread.name.clone().unwrap_or_default();
            let Some((owner, lock)) = lock_line::of_debugger(text) else {
                return text.starts_with("blocks ");
            };
            if self.keep(size_of::<Wait>() + size_of_val(&lock) + waiter.len() + text.len()) {
                if let Some(address) = lock.address {
                    self.jvm.named.push(Wait { waiter, address, owner: owner.to_owned() });
                }
                self.thread.iter_mut().for_each(|thread| thread.locks.push(lock.clone()));
            }
            true
        } else if thread.form == ThreadForm::HotSpotFile && !text.starts_with("at ") {
            // JDK 21 to 24 write the frames without `at`.
            let Some(frame) = frame::java(&format!("at {text}")).filter(|_| text.ends_with(')')) else {
                return false;
            };
            self.add_frame(Frame::Java(frame), text.len());
            true
        } else {
            false
        }
    }

    /// A synchronizer that the thread owns; an empty line separates two of them.
    fn owned(&mut self, text: &str) {
        let Some(lock) = lock_line::owned(text) else { return };
        if self.keep(size_of_val(&lock) + text.len()) {
            let last = self.dump.sections.last_mut().and_then(|section| section.threads.last_mut());
            if let Some(thread) = self.thread.as_mut().or(last).filter(|t| t.locks.len() < limits::FRAMES) {
                thread.locks.push(lock);
            }
        }
    }

    /// Fills in the owners when a JVM's section ends; returns whether its end was present.
    pub(super) fn end_jvm(&mut self) -> bool {
        let jvm = &mut self.jvm;
        let waits = jvm.deadlocks.take().unwrap_or_default().waits;
        let named = std::mem::take(&mut jvm.named);
        jvm.owned = false;
        if let Some(section) = self
            .dump
            .sections
            .last_mut()
            .filter(|s| s.threads.first().is_some_and(|thread| thread.form.is_like_hotspots()))
        {
            owners::resolve(section, &waits, &named);
        }
        std::mem::take(&mut self.jvm.complete)
    }
}
