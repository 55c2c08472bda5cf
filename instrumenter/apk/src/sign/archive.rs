//! Signing an APK.

use super::block::{self, Block, PAGE};
use super::{Error, Identity, digest, scheme, v1};
use crate::layout::sections::{DIRECTORY_OFFSET, Sections};
use crate::layout::{self, Entry, is_of_signature};

/// Android below this API level looks only at the JAR signature.
const FIRST_V2: u32 = 24;
/// Android below this API level knows neither SHA-256 nor ECDSA in a JAR signature.
const FIRST_SHA256: u32 = 18;

/// Writes and signs an APK with `entries`, in their order: schemes v2 and v3, and v1 if `min_sdk`, the manifest's
/// `minSdkVersion`, is below 24. Files of an existing signature are dropped.
///
/// # Errors
/// As of [`lay_out`](layout::lay_out). Below API 24 also an entry that cannot be inflated, since v1 covers the contents;
/// below API 18 always.
pub fn sign_entries(
    entries: &[Entry<'_>],
    options: &layout::Options<'_>,
    identity: &Identity,
    min_sdk: u32,
) -> Result<Vec<u8>, Error> {
    let mut kept: Vec<&Entry<'_>> = entries.iter().filter(|entry| !is_of_signature(&entry.name)).collect();
    if min_sdk < FIRST_SHA256 {
        return Err(Error::MinSdk(min_sdk));
    }
    let signature = if min_sdk < FIRST_V2 { v1::sign(&kept, identity)? } else { Vec::new() };
    kept.extend(&signature);
    sign_archive(layout::lay_out_all(&kept, options)?, identity)
}

/// Signs an APK with schemes v2 and v3 and returns it. An existing signing block is replaced; entries are not moved.
///
/// # Errors
/// The zip file is damaged, or has more than 4 GiB with the signature.
pub fn sign_archive(mut apk: Vec<u8>, identity: &Identity) -> Result<Vec<u8>, Error> {
    let sections = Sections::find(&apk)?;
    let entries_end = Block::find(&apk, sections.directory)?.map_or(sections.directory, |block| block.at);
    let mut end = apk.split_off(sections.end);
    let directory = apk.split_off(sections.directory);
    apk.truncate(entries_end);
    apk.resize(apk.len().next_multiple_of(PAGE), 0);
    set_directory(&mut end, apk.len())?;
    let digest = digest::of_contents([&apk, &directory, &end]);
    let values = [(block::V2, scheme::v2(identity, &digest)?), (block::V3, scheme::v3(identity, &digest)?)];
    apk.extend_from_slice(&block::encode(&values));
    set_directory(&mut end, apk.len())?;
    apk.extend_from_slice(&directory);
    apk.extend_from_slice(&end);
    Ok(apk)
}

/// Sets the offset of the central directory in an end record.
fn set_directory(end: &mut [u8], at: usize) -> Result<(), Error> {
    let at = u32::try_from(at).ok().filter(|&at| at != u32::MAX).ok_or(Error::TooLarge)?;
    if let Some(field) = end.get_mut(DIRECTORY_OFFSET..DIRECTORY_OFFSET + 4) {
        field.copy_from_slice(&at.to_le_bytes());
    }
    Ok(())
}

#[cfg(test)]
mod tests;
