//! Everything that was read of a recording, for one report.

use std::cell::RefCell;
use std::rc::Rc;

use trace_format::ReadError;

use super::why::Chains;
use crate::facts::{Facts, Survey};
use crate::model::Names;
use crate::native::NativeStacks;
use crate::words::thread_name;

/// Everything that was read of a recording.
pub(super) struct Sources<'a> {
    pub(super) facts: &'a Facts<'a>,
    pub(super) names: &'a Names<'a>,
    pub(super) survey: &'a Survey,
    pub(super) native: &'a NativeStacks,
    /// The chains of the moment that was asked about last: most questions of a report are about one.
    pub(super) last_chains: RefCell<Option<Rc<Chains<'a>>>>,
}

impl<'a> Sources<'a> {
    /// The name of the thread with this tid.
    pub(super) fn name_of(&self, tid: u32) -> String {
        let thread = self.facts.recording.threads().iter().find(|thread| thread.tid == tid);
        let known = || self.native.names.get(&tid).cloned().unwrap_or_else(|| format!("tid {tid}"));
        thread.map_or_else(known, thread_name)
    }

    /// The threads and the steps of concurrent work at a moment.
    ///
    /// # Errors
    /// If reading fails.
    pub(super) fn chains(&self, at: u64) -> Result<Rc<Chains<'a>>, ReadError> {
        if let Some(chains) = self.last_chains.borrow().as_ref().filter(|chains| chains.at == at) {
            return Ok(Rc::clone(chains));
        }
        let chains = Rc::new(Chains::of(self.facts, self.names, at)?);
        self.last_chains.replace(Some(Rc::clone(&chains)));
        Ok(chains)
    }
}
