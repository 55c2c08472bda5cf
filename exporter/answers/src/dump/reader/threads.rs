//! Parses the lines below a thread's first one: frames, attributes, lock lines, remarks.

use super::Reader;
use crate::dump::frame::{self, Frame, JavaFrame};
use crate::dump::model::{Thread, ThreadForm};
use crate::dump::{attributes, limits, lock_line, native_frame};

impl Reader {
    /// Takes a line below a thread's first one; returns whether it was one.
    pub(super) fn of_thread(&mut self, text: &str) -> bool {
        if self.thread.is_none() {
            // An excerpt of a dump may start after a thread's first line.
            if ["| group=", "| sysTid=", "| state=", "| held mutexes="]
                .iter()
                .any(|begin| text.starts_with(begin))
            {
                self.begin_thread(Thread::new(None, ThreadForm::Headless));
            } else {
                return self.of_kernel(text);
            }
        }
        let taken = self.frame(text) || self.remark(text);
        if taken && let Some(thread) = &mut self.thread {
            thread.lines.1 = self.number;
        }
        taken
    }

    fn frame(&mut self, text: &str) -> bool {
        let parsed = frame::java(text)
            .map(|java| Ok(Frame::Java(java)))
            .or_else(|| Some(native_frame::parse(text)?.map(Frame::Native)))
            .or_else(|| Some(frame::kernel(text)?.map(Frame::Kernel)));
        match parsed {
            Some(Ok(frame)) => self.add_frame(frame, text.len()),
            Some(Err(why)) => return self.add_remark(why),
            None => return false,
        }
        true
    }

    /// Counts a frame's size and its texts, which are no longer than the line of `bytes`.
    pub(super) fn add_frame(&mut self, frame: Frame, bytes: usize) {
        let fits = self.keep(size_of::<Frame>() + bytes);
        if let Some(thread) = &mut self.thread {
            thread.lines.1 = self.number;
            if fits && thread.frames.len() < limits::FRAMES {
                thread.frames.push(frame);
            } else {
                thread.cut_frames += 1;
            }
        }
    }

    fn remark(&mut self, text: &str) -> bool {
        if let Some(rest) = text.strip_prefix('|') {
            if self.keep(rest.len())
                && let Some(thread) = &mut self.thread
            {
                attributes::parse(thread, rest);
            }
            return true;
        }
        if let Some(mut lock) = lock_line::parse(text) {
            if self.keep(size_of_val(&lock) + text.len())
                && let Some(thread) =
                    self.thread.as_mut().filter(|thread| thread.locks.len() < limits::FRAMES)
            {
                lock.frame = thread.frames.len().checked_sub(1);
                thread.locks.push(lock);
            }
            return true;
        }
        if let Some(times) = frame::repeated(text) {
            if let Some(java) = self.last_java() {
                java.repeated = java.repeated.saturating_add(times);
            }
            return true;
        }
        if let Some(name) = frame::alternative(text) {
            // `.other` belongs to the same class.
            let class =
                if name.starts_with('.') { self.last_java().map(|java| java.class.clone()) } else { None };
            let name = class.unwrap_or_default() + name;
            let fits = self.keep(name.len() + size_of::<String>());
            if let Some(java) = self.last_java().filter(|java| fits && java.or.len() < limits::REMARKS) {
                java.or.push(name);
            }
            return true;
        }
        if text == "(no managed stack frames)" || text.starts_with("Not able to dump stack") {
            return self.add_remark(text.trim_matches(['(', ')']).to_owned());
        }
        false
    }

    fn last_java(&mut self) -> Option<&mut JavaFrame> {
        match self.thread.as_mut()?.frames.last_mut()? {
            Frame::Java(java) => Some(java),
            Frame::Native(_) | Frame::Kernel(_) => None,
        }
    }

    pub(super) fn add_remark(&mut self, remark: String) -> bool {
        if self.keep(size_of::<String>() + remark.len())
            && let Some(thread) = self.thread.as_mut().filter(|thread| thread.remarks.len() < limits::REMARKS)
        {
            thread.remarks.push(remark);
        }
        true
    }

    /// Parses `KERNEL SPACE BACKTRACE, sysTid=12` and its frames, which some vendors write before a native
    /// thread.
    fn of_kernel(&mut self, text: &str) -> bool {
        if let Some(tid) = text.strip_prefix("KERNEL SPACE BACKTRACE, sysTid=") {
            self.kernel = tid.trim().parse().ok().map(|tid| (tid, Vec::new()));
            return true;
        }
        let Some(Ok(frame)) = frame::kernel(text).filter(|_| self.kernel.is_some()) else { return false };
        if self.keep(size_of::<Frame>() + text.len())
            && let Some((_, frames)) =
                self.kernel.as_mut().filter(|(_, frames)| frames.len() < limits::FRAMES)
        {
            frames.push(frame);
        }
        true
    }
}
