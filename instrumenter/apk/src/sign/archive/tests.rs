use std::sync::LazyLock;
use std::time::SystemTime;

use proptest::prelude::*;

use test_support::signed::{Verified, check, verify};

use super::{sign_archive, sign_entries};
use crate::layout::{self, Entry, Options};
use crate::sign::private_key::PrivateKey;
use crate::sign::{Error, FoundSigner, Identity, Scheme, find_signers};

fn identity(byte: u8) -> Identity {
    Identity::self_signed(PrivateKey::from_secret(&[byte; 32]).unwrap(), SystemTime::UNIX_EPOCH).unwrap()
}

fn entries() -> Vec<Entry<'static>> {
    vec![
        Entry::new(b"AndroidManifest.xml".as_slice(), b"manifest, manifest, manifest".as_slice(), true),
        Entry::new(b"res/".as_slice(), b"".as_slice(), false),
        Entry::new("assets/ä".repeat(30).into_bytes(), vec![7; 3000], false),
        Entry::new(b"META-INF/OLD.SF".as_slice(), b"old".as_slice(), true),
    ]
}

fn signed(min_sdk: u32) -> Vec<u8> {
    sign_entries(&entries(), &Options::default(), &identity(1), min_sdk).unwrap()
}

#[test]
fn an_apk_for_android_7_has_v2_and_v3() {
    let apk = signed(24);
    let certificate_digest = identity(1).certificate_digest();
    let expected = [
        Verified { scheme: "v2", certificate_digest, sdk: None },
        Verified { scheme: "v3", certificate_digest, sdk: Some((24, 0x7fff_ffff)) },
    ];
    assert_eq!(verify(&apk).unwrap(), expected);
    assert_eq!(layout::read(&apk).unwrap().len(), 3);
    assert_eq!(check(&apk).unwrap().misaligned, []);
    assert_eq!(apk, signed(24), "a second run gives other bytes");
}

#[test]
fn an_apk_for_older_systems_has_v1_too() {
    let apk = signed(23);
    let found = find_signers(&apk).unwrap();
    let certificate_digest = identity(1).certificate_digest();
    let expected =
        [Scheme::V1, Scheme::V2, Scheme::V3].map(|scheme| FoundSigner { scheme, certificate_digest });
    assert_eq!(found, expected);
    assert_eq!(verify(&apk).unwrap().len(), 2);
    assert!(matches!(
        sign_entries(&entries(), &Options::default(), &identity(1), 17),
        Err(Error::MinSdk(17))
    ));
}

#[test]
fn a_new_signature_replaces_the_old_one() {
    let once = signed(24);
    let twice = sign_archive(once.clone(), &identity(2)).unwrap();
    assert_eq!(twice.len(), once.len());
    let digests: Vec<_> =
        find_signers(&twice).unwrap().iter().map(|found| found.certificate_digest).collect();
    assert_eq!(digests, [identity(2).certificate_digest(); 2]);
    assert_eq!(sign_archive(twice, &identity(1)).unwrap(), once);
    // From entries that were read, without the files of the signature.
    let apk = signed(19);
    let read = layout::read(&apk).unwrap();
    assert_eq!(sign_entries(&read, &Options::default(), &identity(1), 24).unwrap(), once);
}

#[test]
fn an_apk_that_is_not_signed_has_no_signers() {
    let apk = layout::lay_out(&entries(), &Options::default()).unwrap();
    assert_eq!(find_signers(&apk).unwrap(), []);
    assert_eq!(verify(&apk).unwrap(), []);
}

#[test]
fn a_v3_signature_that_was_removed_is_missed() {
    let mut apk = signed(24);
    let id = 0xf053_68c0_u32.to_le_bytes();
    let at = apk.windows(4).position(|window| window == id).unwrap();
    apk[at] ^= 1;
    let error = verify(&apk).unwrap_err();
    assert!(error.contains("names a v3 signature"), "{error}");
}

#[test]
fn names_with_line_breaks_cannot_be_signed_for_old_systems() {
    let entries = [Entry::new(b"a\nb".as_slice(), b"".as_slice(), false)];
    assert!(sign_entries(&entries, &Options::default(), &identity(1), 24).is_ok());
    let error = sign_entries(&entries, &Options::default(), &identity(1), 23).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot sign entry \"a?b\" for Android below 7.0: its name is empty or has a line break"
    );
}

#[test]
fn a_truncated_apk_is_refused() {
    let apk = signed(24);
    for end in (0..apk.len()).step_by(7) {
        assert!(verify(&apk[..end]).is_err(), "{end}");
    }
}

/// The offsets that a signature covers or that it consists of: all but the padding of the block.
static COVERED: LazyLock<Vec<usize>> = LazyLock::new(|| {
    let padding = SIGNED.windows(4).position(|window| window == 0x4272_6577_u32.to_le_bytes()).unwrap();
    let footer = SIGNED.windows(16).position(|window| window == b"APK Sig Block 42").unwrap() - 8;
    (0..SIGNED.len()).filter(|at| !(padding..footer).contains(at)).collect()
});

/// Signing takes longer than all else here.
static SIGNED: LazyLock<Vec<u8>> = LazyLock::new(|| signed(24));

proptest! {
    #[test]
    fn a_changed_byte_is_found(at: prop::sample::Index, bit in 0_u32..8) {
        let mut apk = SIGNED.clone();
        let at = *at.get(&COVERED);
        apk[at] ^= 1 << bit;
        // Without the mark at its end there is no signing block, and with another id of v2 only v3.
        let result = verify(&apk);
        prop_assert!(result.as_ref().map_or(0, Vec::len) < 2, "{:?} at {}", result, at);
    }

    #[test]
    fn a_damaged_apk_is_read_within_bounds(changes in prop::collection::vec((0_usize..4096, any::<u8>()), 1..20)) {
        // The block: small numbers there are lengths.
        let mut apk = SIGNED.clone();
        for (at, byte) in changes {
            apk[4096 + at] = byte;
        }
        let _ = (find_signers(&apk), verify(&apk));
    }
}
