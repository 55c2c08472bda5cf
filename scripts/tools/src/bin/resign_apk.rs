//! Lays out and signs an APK again, with a key file that is created if it does not exist.
//!
//! `resign_apk IN.apk OUT.apk KEY.pem MIN_SDK [store]`: prints who signed the input, and what is in the output. With
//! `store`, libraries and resources.arsc are stored. `-` as the key writes an APK that is not signed.

use std::error::Error;
use std::path::Path;
use std::time::{Instant, SystemTime};

use apk::layout::{self, Options};
use apk::sign::{self, Identity};
use test_support::signed;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [input, output, key, min_sdk, rest @ ..] = arguments.as_slice() else {
        return Err("usage: resign_apk IN.apk OUT.apk KEY.pem MIN_SDK [store]".into());
    };
    let bytes = std::fs::read(input)?;
    for signer in sign::find_signers(&bytes)? {
        println!("signed before: {} {}", signer.scheme, hex(&signer.certificate_digest));
    }
    let entries = layout::read(&bytes)?;
    let store = rest.first().is_some_and(|word| word == "store");
    let options = Options { store_libraries: store, store_resources: store, level: 6, comment: &[] };
    let begun = Instant::now();
    let out = if key == "-" {
        layout::lay_out(&entries, &options)?
    } else {
        let (identity, _) = Identity::debug(Path::new(key), SystemTime::now())?;
        sign::sign_entries(&entries, &options, &identity, min_sdk.parse()?)?
    };
    eprintln!("{:.3} s to lay out and sign", begun.elapsed().as_secs_f64());
    for verified in signed::verify(&out)? {
        println!("signed: {} {} {:?}", verified.scheme, hex(&verified.certificate_digest), verified.sdk);
    }
    let checked = signed::check(&out)?;
    for (name, at, multiple) in &checked.misaligned {
        println!("misaligned: {name} at {at}, not a multiple of {multiple}");
    }
    println!(
        "entries {} stored {} misaligned {} resources compressed {} libraries compressed {}",
        checked.entries,
        checked.stored,
        checked.misaligned.len(),
        checked.resources_compressed,
        checked.libraries_compressed
    );
    std::fs::write(output, out)?;
    Ok(())
}
