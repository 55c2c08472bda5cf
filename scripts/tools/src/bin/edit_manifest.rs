//! Makes every edit that `anrscope apk` makes to a manifest, for a comparison by Android's own tools.
//!
//! ```text
//! edit_manifest MANIFEST LIBRARY-MANIFEST OUT [KEY=VALUE]...
//! ```
//!
//! Fails if the manifest, unedited, is not written as it was read.

use std::error::Error;
use std::fs;

use apk::manifest::{Addition, Manifest, attribute};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [from, library, to, options @ ..] = arguments.as_slice() else {
        return Err("edit_manifest MANIFEST LIBRARY-MANIFEST OUT [KEY=VALUE]...".into());
    };
    let bytes = fs::read(from)?;
    let mut manifest = Manifest::read(&bytes)?;
    if manifest.write() != bytes {
        return Err(format!("{from}: reading and writing changes it").into());
    }
    let mut addition = Addition::parse(&fs::read_to_string(library)?)?;
    for option in options {
        let (key, value) = option.split_once('=').ok_or("an option is KEY=VALUE")?;
        addition.set_meta_data(&format!("anrscope.{key}"), value)?;
    }
    let merged = manifest.merge(&addition)?;
    manifest.set_flag(attribute::DEBUGGABLE, true)?;
    manifest.set_flag(attribute::EXTRACT_NATIVE_LIBS, false)?;
    let raised = manifest.raise_min_sdk(addition.min_sdk())?;
    let written = manifest.write();
    if Manifest::read(&written)?.facts() != manifest.facts() {
        return Err(format!("{from}: the edited manifest says something else when it is read again").into());
    }
    let facts = manifest.facts();
    println!("{}: {} to {} bytes", facts.package, bytes.len(), written.len());
    println!(
        "  added {}, replaced {}, present {}",
        merged.added.len(),
        merged.replaced.len(),
        merged.present.len()
    );
    println!(
        "  minSdkVersion raised from {raised:?} to {}, targetSdkVersion {}",
        facts.min_sdk, facts.target_sdk
    );
    println!("  {} components, application {:?}", facts.components.len(), facts.application_class);
    fs::write(to, written)?;
    Ok(())
}
