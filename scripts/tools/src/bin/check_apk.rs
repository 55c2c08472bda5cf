//! Checks the alignment of finished APKs: stored libraries at 16 KiB, other stored entries at 4 bytes.
//!
//! `check_apk APK...`: prints a line for each APK and one for each entry at the wrong place. The exit status is 1 if there is one, or if Android
//! would refuse how an entry is compressed: `resources.arsc` always (from API 30 on).

use std::error::Error;
use std::process::ExitCode;

use test_support::signed;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let paths: Vec<_> = std::env::args_os().skip(1).collect();
    if paths.is_empty() {
        return Err("usage: check_apk APK...".into());
    }
    let mut is_right = true;
    for path in paths {
        let path = std::path::Path::new(&path);
        let checked = signed::check(&std::fs::read(path)?)?;
        for (name, at, multiple) in &checked.misaligned {
            println!("misaligned: {name} at {at}, not a multiple of {multiple}");
        }
        println!(
            "{}: {} entries, {} stored, {} misaligned, {} libraries compressed{}",
            path.display(),
            checked.entries,
            checked.stored,
            checked.misaligned.len(),
            checked.libraries_compressed,
            if checked.resources_compressed { ", resources.arsc compressed" } else { "" }
        );
        is_right &= checked.misaligned.is_empty() && !checked.resources_compressed;
    }
    Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
