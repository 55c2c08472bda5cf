//! Counts of what was read and written.

use serde::Serialize;

/// Counts of one export. Nothing is dropped without being counted.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Tally {
    /// Events that start or end something (methods, messages, frames, stages, waits, spans, idle handlers),
    /// over all threads.
    pub events: u64,
    /// Slices written, on threads and on ANR tracks.
    pub slices: u64,
    /// Instants written.
    pub instants: u64,
    /// Counter samples written, except those that carry an ANR to Perfetto's standard library.
    pub counters: u64,
    /// Tracks with events: threads and ANR tracks.
    pub tracks: u64,
    /// Slices that were open when their thread or the recording ended, and were closed there.
    pub incomplete: u64,
    /// Slices that were open when older words were overwritten or lost: they are shown from there on.
    pub began_before: u64,
    /// Ends without a start although no words are missing: dropped.
    pub orphan_exits: u64,
    /// Slices closed by an outer end because their own is missing.
    pub unbalanced: u64,
    /// Slices deeper than [`crate::model::MAX_DEPTH`]: not written.
    pub cut_depth: u64,
    /// Times adjusted by the recorder or the exporter so that none runs back or leaves its parent.
    pub clamped: u64,
    /// Words overwritten by newer ones before the recording was taken.
    pub overwritten: u64,
    /// Events of threads that found no free block while recording.
    pub dropped: u64,
    /// Words missing between others.
    pub lost_words: u64,
    /// Damaged blocks, events, regions, strings and sections.
    pub faults: u64,
    /// Events of an unknown type, or with a value that cannot be shown.
    pub skipped: u64,
    /// Duration of pauses, ns.
    #[serde(skip)]
    pub paused: u64,
    /// Methods that were off when the recording ended: their calls since then are missing.
    pub methods_off: u64,
    /// Estimated cost to the main thread, in millionths of its time since its first event; the maximum of
    /// several recordings. 0 if the device's figures are not in the recording.
    #[serde(skip)]
    pub main_cost_ppm: u64,
    /// Frames of main on the frame timeline.
    pub frames: u64,
    /// Stacks written: samples of main and threads of dumps.
    pub stacks: u64,
    /// Slices omitted because they were not selected, or were shorter than requested.
    pub filtered: u64,
    /// ANRs, confirmed by SIGQUIT or suspected by the watchdog.
    pub anrs: u64,
}

impl Tally {
    /// Subtracts what a [`crate::model::Filter`] omitted.
    pub fn leave_out(&mut self, left_out: &Self) {
        self.slices -= left_out.slices;
        self.incomplete -= left_out.incomplete;
        self.instants -= left_out.instants;
        self.counters -= left_out.counters;
        self.frames -= left_out.frames;
        self.stacks -= left_out.stacks;
        self.filtered += left_out.slices;
    }
}
