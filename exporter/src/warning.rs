//! Non-fatal problems found while reading.

use std::path::{Path, PathBuf};

use answers::words::times;
use trace_format::layout::State;
use trace_format::{MapId, Recording, Source};

use crate::facts::Skipped;
use crate::tally::Tally;

/// A problem that the reader of a trace or report should know.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Warning {
    /// The map is of a different build, and was not used.
    #[error(
        "{}: the method map is of another build (map id {map}, the recording has {recorded}); its names would be wrong, so methods are \
         called by number: pass the methodMapping.txt of that build",
        file.display()
    )]
    MapOfOtherBuild {
        /// The recording.
        file: PathBuf,
        /// The map id in the recording.
        recorded: MapId,
        /// The id of the map.
        map: MapId,
    },
    /// The recording does not name its build; the map was used unverified.
    #[error(
        "{}: the recording does not say which build it is of; names are those of map {map}, unverified",
        file.display()
    )]
    UnverifiedMap {
        /// The recording.
        file: PathBuf,
        /// The map's id.
        map: MapId,
    },
    /// There is no map: methods are named by number.
    #[error("{}: no method map, so methods are called by number: pass --method-map", file.display())]
    NoMap {
        /// The recording.
        file: PathBuf,
    },
    /// The file is truncated or damaged.
    #[error("{}: {first}{}", file.display(), more_faults(*faults))]
    Damaged {
        /// The recording.
        file: PathBuf,
        /// The first fault.
        first: String,
        /// The number of faults.
        faults: u64,
    },
    /// The recorder switched itself off after an internal error.
    #[error("{}: the recorder switched itself off after a fault of its own", file.display())]
    Disarmed {
        /// The recording.
        file: PathBuf,
    },
    /// Events are missing because threads found no free block.
    #[error(
        "{} of threads that found no room {} not recorded: record with larger rings",
        times(*events, "event"),
        if *events == 1 { "was" } else { "were" }
    )]
    Dropped {
        /// The number of events.
        events: u64,
    },
    /// Words are missing between others.
    #[error("{words} words are missing in the middle of the recording")]
    Lost {
        /// The number of words.
        words: u64,
    },
    /// Sections, or events of later versions, could not be read or exceeded a limit.
    #[error("{}: not read: {skipped}", file.display())]
    Skipped {
        /// The recording.
        file: PathBuf,
        /// The counts by kind.
        skipped: Skipped,
    },
    /// Captures of native stacks that this build cannot unwind.
    #[error(
        "{}: {} {} not unwound: use a released program, or build one with `--features native-stacks`",
        file.display(),
        times(*stacks, "native stack"),
        if *stacks == 1 { "is" } else { "are" }
    )]
    NotUnwound {
        /// The recording.
        file: PathBuf,
        /// Their number.
        stacks: u64,
    },
    /// Frames of native stacks have no function's name.
    #[error(
        "{}: {} {} no function's name: pass --symbols with a directory that has the unstripped {}",
        file.display(),
        times(*frames, "native frame"),
        if *frames == 1 { "has" } else { "have" },
        with_build_ids(libraries)
    )]
    NoSymbols {
        /// The recording.
        file: PathBuf,
        /// The libraries with the most such frames: name and build id.
        libraries: Vec<(String, String)>,
        /// The number of the frames.
        frames: u64,
    },
    /// Some of the files with symbols was left out.
    #[error("{note}")]
    SymbolsLeftOut {
        /// The file, and the reason.
        note: String,
    },
    /// The trace is larger than a browser handles well.
    #[error(
        "{slices} slices are more than ui.perfetto.dev shows smoothly: take a part with --from {:.3}s --to {:.3}s, --min-duration 1ms \
         or --threads main, or open it with trace_processor",
        *from as f64 / 1e9,
        *to as f64 / 1e9
    )]
    ManySlices {
        /// The number of slices.
        slices: u64,
        /// Start of the most relevant time range, ns since the trace's first moment.
        from: u64,
        /// Its end.
        to: u64,
    },
    /// A trace ends in the middle of a packet.
    #[error("{} ends in the middle of a packet (offset {offset}), which is left out", file.display())]
    CutTrace {
        /// The trace.
        file: PathBuf,
        /// Start of the packet.
        offset: u64,
    },
    /// A trace has more tracks than merging remembers.
    #[error(
        "{} has more tracks than merge remembers: conflicts with the tracks of other traces were not checked",
        file.display()
    )]
    ManyTracks {
        /// The trace.
        file: PathBuf,
    },
}

impl Warning {
    pub(crate) fn of_recording<S: Source + ?Sized>(file: &Path, recording: &Recording<S>) -> Vec<Self> {
        let mut found = Vec::new();
        let (faults, more) = recording.faults();
        if let Some(first) = faults.first() {
            let faults = faults.len() as u64 + more;
            found.push(Self::Damaged { file: file.to_owned(), first: first.to_string(), faults });
        }
        if recording.header().state == Some(State::Disarmed) {
            found.push(Self::Disarmed { file: file.to_owned() });
        }
        found.extend(Self::of_drops(recording));
        found
    }

    /// About events that found no free block, if there are any.
    #[must_use]
    pub fn of_drops<S: Source + ?Sized>(recording: &Recording<S>) -> Option<Self> {
        let events = recording.header().dropped;
        (events > 0).then_some(Self::Dropped { events })
    }

    /// About what could not be read.
    pub(crate) fn of_skipped(file: &Path, skipped: &Skipped) -> Option<Self> {
        (skipped.total() > 0).then(|| Self::Skipped { file: file.to_owned(), skipped: skipped.clone() })
    }

    pub(crate) fn of_counts(counts: &Tally) -> Option<Self> {
        (counts.lost_words > 0).then_some(Self::Lost { words: counts.lost_words })
    }
}

fn more_faults(faults: u64) -> String {
    if faults > 1 { format!(" (and {} more faults)", faults - 1) } else { String::new() }
}

fn with_build_ids(libraries: &[(String, String)]) -> String {
    libraries.iter().map(|(name, id)| format!("{name} (build id {id})")).collect::<Vec<_>>().join(", ")
}
