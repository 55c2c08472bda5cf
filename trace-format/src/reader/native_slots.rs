//! Captures of native stacks that no section has yet.

use super::bytes::{read_array, read_some};
use crate::error::ReadError;
use crate::layout::Region;
use crate::native_slot::{LEN, MAX_STACK, STACK, at, state};
use crate::sections::native_stack::NativeStack;
use crate::source::Source;

/// The most slots that are read.
const MAX_SLOTS: u64 = 64;

/// The captures in the full slots of a region, in the order of their numbers.
pub(crate) fn captures(
    source: &(impl Source + ?Sized),
    region: &Region,
) -> Result<Vec<NativeStack>, ReadError> {
    let mut found = Vec::new();
    for i in 0..(region.length / LEN as u64).min(MAX_SLOTS) {
        let offset = region.offset + i * LEN as u64;
        // Most slots are free, and each is 68 KiB.
        let Some(word) = read_array::<4>(source, offset + at::STATE as u64)? else { break };
        if u32::from_le_bytes(word) != state::FULL {
            continue;
        }
        let mut slot = vec![0; STACK + MAX_STACK];
        let length = read_some(source, offset, &mut slot)?;
        found.extend(NativeStack::from_slot(&slot[..length]));
    }
    found.sort_by_key(|capture| capture.number);
    Ok(found)
}
