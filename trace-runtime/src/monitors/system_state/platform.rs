//! What only the platform knows: collections, the Java heap, the device's heat. The shims poll it
//! (`PlatformStatus.java`), since no thread of the library calls into Java.

use trace_format::section::SectionKind;
use trace_format::sections::system_state::{Quantity, SystemState};

use crate::files::worker;
use crate::monitors::config::options::{self, Setting};
use crate::time::clock;

/// Records a poll of its own; negative numbers are unknown ones.
pub(crate) fn record(values: &[(Quantity, i64)]) {
    if options::is_enabled(Setting::SystemState) {
        let mut state = SystemState::new(clock::boottime());
        for (quantity, value) in values {
            state.set(*quantity, u64::try_from(*value).ok());
        }
        worker::append(SectionKind::SystemState, state.encode());
    }
}
