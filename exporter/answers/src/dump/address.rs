//! Addresses in a dump's JSON.

use serde::{Serialize, Serializer};

/// Returns an address as JSON has it: a text, because many readers' numbers end at 2^53.
pub(crate) fn text(address: Option<u64>) -> Option<String> {
    address.map(|address| format!("0x{address:08x}"))
}

/// Serializes an address, known or perhaps not.
pub(super) fn serialize<S: Serializer>(
    address: &(impl Into<Option<u64>> + Copy),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    text((*address).into()).serialize(serializer)
}
