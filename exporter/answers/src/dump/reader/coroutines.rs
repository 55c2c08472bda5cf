//! Parses the lines of a coroutine dump.

use super::Reader;
use crate::dump::facts::{self, FactValue};
use crate::dump::model::ThreadForm;
use crate::dump::{coroutine, frame};

impl Reader {
    /// Takes a line; returns whether it belongs to a coroutine dump.
    pub(super) fn of_coroutine(&mut self, text: &str) -> bool {
        if let Some(time) = coroutine::title(text) {
            self.end_section(false);
            if let Some(section) = self.begin_section(time.len()) {
                section.time = Some(time.to_owned());
                facts::push(&mut section.facts, "vm", FactValue::Text("coroutines".to_owned()));
                // Such a dump has no end marker.
                self.jvm.complete = true;
            }
            return true;
        }
        if let Some(coroutine) = coroutine::first_line(text) {
            self.begin_thread(coroutine);
            self.in_creation = false;
            return true;
        }
        if self.thread.as_ref().is_none_or(|thread| thread.form != ThreadForm::Coroutine) {
            return false;
        }
        let java = frame::java(text);
        if coroutine::is_creation(text, java.as_ref()) {
            self.in_creation = true;
            return true;
        }
        if !self.in_creation || java.is_none() {
            return false;
        }
        let kept = self.thread.as_ref().map_or(0, |thread| thread.remarks.len());
        if kept < coroutine::MAX_CREATION_FRAMES {
            self.add_remark(format!("created {text}"));
        }
        true
    }
}
