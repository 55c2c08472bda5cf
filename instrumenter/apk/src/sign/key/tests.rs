use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

use der::Tag;
use proptest::prelude::*;
use test_support::signed::verify;

use super::{Identity, find_key, sections};
use crate::layout::{Entry, Options, read};
use crate::sign::der::{CONTEXT_0, identifier, oid, sequence, unsigned, value};
use crate::sign::pem;
use crate::sign::private_key::PrivateKey;
use crate::sign::{FoundSigner, KeyError, Scheme, find_signers, sign_entries};

/// A directory that is removed when dropped.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("anrscope-key-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, contents).unwrap();
        path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

fn identity(byte: u8) -> Identity {
    Identity::self_signed(PrivateKey::from_secret(&[byte; 32]).unwrap(), now()).unwrap()
}

#[test]
fn a_debug_key_is_created_once_and_only_its_owner_reads_it() {
    let directory = Directory::new("debug");
    let path = directory.0.join("new/debug.pem");
    let identities: Vec<(Identity, bool)> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..4).map(|_| scope.spawn(|| Identity::debug(&path, now()).unwrap())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(identities.iter().filter(|(_, created)| *created).count(), 1);
    assert!(
        identities.windows(2).all(|pair| pair[0].0.certificate_digest() == pair[1].0.certificate_digest())
    );
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "a temporary file is left");
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn an_existing_file_without_a_key_is_not_replaced() {
    let directory = Directory::new("existing");
    let path = directory.write("debug.pem", "hello");
    let error = Identity::debug(&path, now()).unwrap_err().to_string();
    assert!(error.ends_with("it has no private key"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"hello");
}

#[test]
fn key_and_certificate_are_read_from_one_file_or_two_and_in_any_order() {
    let directory = Directory::new("read");
    let (own, other) = (identity(1), identity(2));
    let certificate = |identity: &Identity| pem::encode("CERTIFICATE", &identity.certificates()[0]);
    let whole = own.to_pem().unwrap();
    let (key, _) = whole.split_at(whole.find("-----BEGIN CERT").unwrap());
    let chain = directory.write("chain.pem", certificate(&other) + &certificate(&own));
    let der = directory.write("own.der", &own.certificates()[0]);
    let key = directory.write("key.pem", key);
    let both = directory.write("both.pem", &whole);
    for (key, certificate, count) in [(&both, None, 1), (&key, Some(&chain), 2), (&key, Some(&der), 1)] {
        let read = Identity::read(key, certificate.map(PathBuf::as_path)).unwrap();
        assert_eq!(read.certificates().len(), count);
        assert_eq!(read.certificate_digest(), own.certificate_digest());
        assert_eq!(read.key.sign(b"x").unwrap(), own.key.sign(b"x").unwrap());
    }
    let wrong = directory.write("other.pem", certificate(&other));
    for (certificate, what) in
        [(None, "Give the file"), (Some(&wrong), "of the given private key"), (Some(&key), "no certificate")]
    {
        let error = Identity::read(&key, certificate.map(PathBuf::as_path)).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
}

/// Returns the message about a key file with these bytes.
fn refusal(bytes: &[u8]) -> String {
    let path = Path::new("my.key");
    sections(path, bytes).and_then(|sections| find_key(path, &sections)).unwrap_err().to_string()
}

#[test]
fn a_key_of_another_kind_is_refused_with_what_helps() {
    let pkcs8 = |ids: &[&[u8]]| {
        let ids: Vec<u8> = ids.iter().flat_map(|id| value(Tag::ObjectIdentifier, &[id])).collect();
        sequence(&[&unsigned(&[0]), &sequence(&[&ids]), &value(Tag::OctetString, &[b"x"])])
    };
    let small: Vec<u8> = [0, 77, 3, 3, 7, 11].iter().flat_map(|&number| unsigned(&[number])).collect();
    let rsa = sequence(&[&small]);
    let primes = sequence(&[&unsigned(&[1]), &sequence(&[])]);
    let encrypted =
        sequence(&[&sequence(&[&value(Tag::ObjectIdentifier, &[b"x"])]), &value(Tag::OctetString, &[b"x"])]);
    let pkcs12 = sequence(&[&value(Tag::Integer, &[&[3]]), &sequence(&[])]);
    for (bytes, what) in [
        (pkcs8(&[oid::RSA_KEY.as_bytes()]), "its private key is damaged"),
        (rsa.clone(), "an RSA key of an unusual size"),
        (pem::encode("RSA PRIVATE KEY", &rsa).into_bytes(), "apksigner sign --key"),
        (pem::encode("RSA PRIVATE KEY", &primes).into_bytes(), "an RSA key with more than two primes"),
        (pem::encode("DSA PRIVATE KEY", &primes).into_bytes(), "holds a DSA key"),
        (pkcs8(&[oid::EC_KEY.as_bytes(), b"curve"]), "an EC key on another curve"),
        (pkcs8(&[oid::EC_KEY.as_bytes(), oid::P256.as_bytes()]), "its private key is damaged"),
        (pkcs8(&[oid::SHA256.as_bytes()]), "a key that is neither RSA nor EC"),
        (encrypted.clone(), "openssl pkcs8 -in \"my.key\""),
        (pem::encode("ENCRYPTED PRIVATE KEY", &encrypted).into_bytes(), "the key is encrypted"),
        (pkcs12, "openssl pkcs12 -in my.key -nodes"),
        (b"\xfe\xed\xfe\xed\0\0\0\x02".to_vec(), "keytool -importkeystore -srckeystore my.key"),
        (b"\xce\xce\xce\xce".to_vec(), "JCEKS keystore"),
        (b"-----BEGIN PRIVATE KEY-----\n!\n-----END PRIVATE KEY-----".to_vec(), "its base64 is damaged"),
        (vec![0xff; 9], "neither PEM nor DER"),
        (vec![], "it has no private key"),
    ] {
        let message = refusal(&bytes);
        assert!(message.contains(what), "{message}");
    }
    let zero = sequence(&[
        &unsigned(&[1]),
        &value(Tag::OctetString, &[&[0; 32]]),
        &value(CONTEXT_0, &[&identifier(oid::P256)]),
    ]);
    assert!(refusal(&zero).contains("not a number of P-256"));
}

/// A key of 1,024 bits, as `openssl genrsa` writes it, and its certificate.
const RSA: &str = include_str!("testdata/rsa.pem");

#[test]
fn an_rsa_key_signs_all_schemes() {
    let directory = Directory::new("rsa");
    let own = Identity::read(&directory.write("rsa.pem", RSA), None).unwrap();
    let entries = [Entry::new(b"a".as_slice(), b"b".as_slice(), false)];
    let apk = sign_entries(&entries, &Options::default(), &own, 21).unwrap();
    let certificate_digest = own.certificate_digest();
    let expected =
        [Scheme::V1, Scheme::V2, Scheme::V3].map(|scheme| FoundSigner { scheme, certificate_digest });
    assert_eq!(find_signers(&apk).unwrap(), expected);
    assert_eq!(verify(&apk).unwrap().len(), 2);
    assert_eq!(sign_entries(&entries, &Options::default(), &own, 21).unwrap(), apk);
    let names: Vec<String> = read(&apk).unwrap().iter().map(Entry::display_name).collect();
    assert_eq!(names, ["a", "META-INF/MANIFEST.MF", "META-INF/ANRSCOPE.SF", "META-INF/ANRSCOPE.RSA"]);
    // A certificate of another key, of either kind.
    let other = identity(1);
    let key = RSA.split_inclusive("-----END PRIVATE KEY-----").next().unwrap();
    let mixed = format!("{key}\n{}", pem::encode("CERTIFICATE", &other.certificates()[0]));
    let error = Identity::read(&directory.write("mixed.pem", mixed), None).unwrap_err().to_string();
    assert!(error.ends_with("it has no certificate of the given private key"), "{error}");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let error = Identity::read(Path::new("/nonexistent/key"), None).unwrap_err();
    assert!(matches!(error, KeyError::Read { .. }));
    assert!(error.to_string().contains("/nonexistent/key"));
}

#[test]
fn debug_output_does_not_show_the_key() {
    assert!(!format!("{:?}", identity(0xab)).contains("key:"));
}

static PEM: LazyLock<String> = LazyLock::new(|| identity(1).to_pem().unwrap());

proptest! {
    #[test]
    fn any_bytes_are_read_as_a_key(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let path = Path::new("x");
        let _ = sections(path, &bytes).and_then(|sections| find_key(path, &sections));
    }

    #[test]
    fn a_damaged_key_is_read_within_bounds(at in 0_usize..140, byte: u8, cut in 0_usize..140) {
        let mut der = pem::sections(&PEM).remove(0).1.unwrap();
        der[at % 138] = byte;
        der.truncate(cut);
        let path = Path::new("x");
        let _ = sections(path, &der).and_then(|sections| find_key(path, &sections));
    }

    #[test]
    fn a_damaged_rsa_key_is_read_within_bounds(at: prop::sample::Index, byte: u8) {
        let mut der = pem::sections(RSA).remove(0).1.unwrap();
        // Most of it is the six numbers, whose lengths matter more than their bytes.
        let head = (0..40).chain(150..175).chain(285..310).chain(350..380).collect::<Vec<_>>();
        der[*at.get(&head)] = byte;
        let path = Path::new("x");
        let _ = sections(path, &der).and_then(|sections| find_key(path, &sections));
    }
}
