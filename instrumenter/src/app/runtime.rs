//! The Android runtime: what an app needs besides its own code, and the class with the id of the method map.
//!
//! It is a zip file with `classes.dex`, `AndroidManifest.xml` as text, and `lib/ABI/libanrscope.so`, as `scripts/android/apk-runtime` packs
//! it.

use std::borrow::Cow;
use std::path::Path;

use apk::layout::{self, Entry};
use apk::manifest::Addition;
use dex::{Class, ClassField, Dex, Value, access};
use trace_format::MapId;

use super::error::Error;

/// The library.
const LIBRARY: &str = "libanrscope.so";
/// The class that tells a running app the id of its map, as [`crate::map_id_class`] writes it for jars.
pub(crate) const MAP_ID_CLASS: &str = "Ldev/anrscope/MapId;";

/// The largest part of a runtime that is read, in bytes.
const MAX_PART: u64 = 256 << 20;

/// The parts of the Android runtime.
pub(crate) struct Runtime {
    pub(crate) dex: Vec<u8>,
    /// What its manifest adds to the app's.
    pub(crate) manifest: String,
    /// ABI and library, sorted.
    pub(crate) libraries: Vec<(String, Vec<u8>)>,
}

impl Runtime {
    /// Reads a runtime. `path` names it in errors.
    pub(crate) fn read(bytes: &[u8], path: Option<&Path>) -> Result<Self, Error> {
        let wrong = |reason: String| Error::Runtime { path: path.map(Path::to_owned), reason };
        let entries = layout::read(bytes).map_err(|broken| wrong(broken.to_string()))?;
        let contents = |entry: &Entry<'_>| match entry.contents(MAX_PART) {
            Ok(contents) => Ok(contents.into_owned()),
            Err(what) => Err(wrong(format!("{}: {what}", entry.display_name()))),
        };
        let (mut dex, mut manifest, mut libraries) = (None, None, Vec::new());
        for entry in &entries {
            let Ok(name) = core::str::from_utf8(&entry.name) else { continue };
            if name == "classes.dex" {
                dex = Some(contents(entry)?);
            } else if name == "AndroidManifest.xml" {
                let text = String::from_utf8(contents(entry)?);
                manifest = Some(text.map_err(|_| wrong("its manifest is not UTF-8".to_owned()))?);
            } else if let Some((abi, LIBRARY)) =
                name.strip_prefix("lib/").and_then(|name| name.split_once('/'))
            {
                libraries.push((abi.to_owned(), contents(entry)?));
            }
        }
        let missing = || wrong("it has no classes.dex or no AndroidManifest.xml".to_owned());
        libraries.sort();
        if libraries.is_empty() {
            return Err(wrong("it has no lib/ABI/libanrscope.so".to_owned()));
        }
        Ok(Self { dex: dex.ok_or_else(missing)?, manifest: manifest.ok_or_else(missing)?, libraries })
    }

    /// Refuses an ABI without a library.
    pub(crate) fn check_abis(&self, wanted: &[String]) -> Result<(), Error> {
        let known: Vec<&str> = self.libraries.iter().map(|(abi, _)| abi.as_str()).collect();
        let Some(abi) = wanted.iter().find(|abi| !known.contains(&abi.as_str())) else { return Ok(()) };
        let reason = format!("it has no library for {abi}, only for {}", known.join(", "));
        Err(Error::Runtime { path: None, reason })
    }

    /// Returns the additions to a manifest: options as `<meta-data>`, and with `whole` the runtime's own elements. Without, the app has
    /// the runtime already.
    pub(crate) fn addition(&self, settings: &[(String, String)], whole: bool) -> Result<Addition, Error> {
        let wrong = |reason: String| Error::Runtime { path: None, reason };
        let mut addition = match whole {
            true => Addition::parse(&self.manifest).map_err(|error| wrong(error.to_string()))?,
            false => Addition::default(),
        };
        for (name, value) in settings {
            addition.set_meta_data(name, value).map_err(|error| wrong(error.to_string()))?;
        }
        Ok(addition)
    }

    /// Returns the runtime's dex file with the class of the map's id. Without `whole` there is only that class: for an app that
    /// has the runtime already.
    pub(crate) fn dex_with(&self, id: MapId, whole: bool) -> Result<Vec<u8>, Error> {
        let wrong = |reason: String| Error::Runtime { path: None, reason };
        let mut dex = match whole {
            true => Dex::read(&self.dex).map_err(|broken| wrong(format!("classes.dex: {broken}")))?,
            false => Dex { version: 35, ..Dex::default() },
        };
        add_map_id(&mut dex, id);
        dex.write().map_err(|error| wrong(format!("classes.dex: {error}")))
    }
}

/// Adds `public final class dev.anrscope.MapId { public static final String ID = "..."; }`.
fn add_map_id(dex: &mut Dex<'_>, id: MapId) {
    let class = dex.find_or_add_type(MAP_ID_CLASS);
    let kind = dex.find_or_add_type("Ljava/lang/String;");
    let object = dex.find_or_add_type("Ljava/lang/Object;");
    let field = dex.find_or_add_field(class, "ID", kind);
    let text = dex.find_or_add_string(&id.to_string());
    dex.classes.push(Class {
        class,
        access: access::PUBLIC | access::FINAL | access::SYNTHETIC,
        super_class: Some(object),
        static_values: Box::new([Value::String(text)]),
        static_fields: vec![ClassField { field, access: access::PUBLIC | access::STATIC | access::FINAL }],
        ..Class::default()
    });
}

/// Returns the entry of the library in a package.
pub(crate) fn library_entry<'a>(prefix: &str, abi: &str, library: &'a [u8]) -> Entry<'a> {
    Entry::new(format!("{prefix}lib/{abi}/{LIBRARY}").into_bytes(), Cow::Borrowed(library), true)
}
