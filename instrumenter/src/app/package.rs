//! What an Android package contains: entries, and for each module its manifest and dex files.
//!
//! An APK is one module; an App Bundle has a directory for each.

use std::collections::BTreeSet;

use apk::bundle;
use apk::layout::{self, Entry, MAX_INFLATED, Unreadable};
use apk::manifest::{self, Manifest};
use apk::sign::{FoundSigner, find_signers};
use rayon::prelude::*;

use super::error::Error;

/// The largest dex file that is read, in bytes: more than 65,536 methods have code for.
const MAX_DEX: u64 = 256 << 20;
/// The largest `mapping.txt` or `native.pb` of a bundle that is read, in bytes.
const MAX_TEXT: u64 = 512 << 20;
/// The manifest of an APK.
const MANIFEST: &str = "AndroidManifest.xml";
/// The manifest of a module in an App Bundle.
const BUNDLE_MANIFEST: &str = "manifest/AndroidManifest.xml";
/// The configuration of an App Bundle, which every bundle has (bundletool, `AppBundle.java`).
const BUNDLE_CONFIG: &[u8] = b"BundleConfig.pb";
/// The `mapping.txt` of R8, where Android's Gradle plugin puts it into a bundle for the store.
const BUNDLE_MAPPING: &str = "BUNDLE-METADATA/com.android.tools.build.obfuscation/proguard.map";

/// The kind of a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Apk,
    Bundle,
}

/// A package that is read.
pub(crate) struct Package<'a> {
    /// The number of the file that it is, or is in.
    pub(crate) file: usize,
    /// Its file, for messages.
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) entries: Vec<Entry<'a>>,
    pub(crate) modules: Vec<Module>,
    /// Who signed it, or why that is not known: the output gets another signature in any case.
    pub(crate) signers: Result<Vec<FoundSigner>, String>,
    /// Its size, in bytes.
    pub(crate) size: usize,
}

/// A part of an app with dex files of its own.
pub(crate) struct Module {
    /// Of the names of its entries: empty in an APK, `base/` in a bundle.
    pub(crate) prefix: String,
    /// The entry and its content; `None` in a jar of dex files.
    pub(crate) manifest: Option<(usize, Manifest)>,
    /// By number, without gaps.
    pub(crate) dexes: Vec<DexFile>,
}

/// A `classesN.dex`.
pub(crate) struct DexFile {
    pub(crate) entry: usize,
    pub(crate) bytes: Vec<u8>,
}

impl Module {
    /// Whether the app's own process starts here: not a split, nor a feature module.
    pub(crate) fn is_base(&self) -> bool {
        let facts = self.manifest.as_ref().map(|(_, manifest)| manifest.facts());
        facts.is_none_or(|facts| facts.split.is_none())
    }

    /// Returns the entry name of a dex file, counted from 0.
    pub(crate) fn dex_name(&self, index: usize) -> String {
        let directory = if self.prefix.is_empty() { "" } else { "dex/" };
        let number = if index == 0 { String::new() } else { (index + 1).to_string() };
        format!("{}{directory}classes{number}.dex", self.prefix)
    }
}

impl<'a> Package<'a> {
    /// Reads a package of this name in a file.
    pub(crate) fn read(file: usize, name: String, bytes: &'a [u8]) -> Result<Self, Error> {
        let entries = layout::read(bytes)
            .map_err(|broken| Error::Package { package: name.clone(), reason: broken.to_string() })?;
        let kind =
            if entries.iter().any(|entry| entry.name == BUNDLE_CONFIG) { Kind::Bundle } else { Kind::Apk };
        let signers = find_signers(bytes).map_err(|error| error.to_string());
        let mut package = Self { file, name, kind, entries, modules: Vec::new(), signers, size: bytes.len() };
        let prefixes = match kind {
            Kind::Apk => vec![String::new()],
            Kind::Bundle => package.module_prefixes(),
        };
        let mut left = MAX_INFLATED;
        package.modules =
            prefixes.into_iter().map(|prefix| package.module(prefix, &mut left)).collect::<Result<_, _>>()?;
        Ok(package)
    }

    /// Returns the directories of a bundle with a manifest.
    fn module_prefixes(&self) -> Vec<String> {
        let names = self.entries.iter().filter_map(|entry| core::str::from_utf8(&entry.name).ok());
        let prefixes = names.filter_map(|name| name.strip_suffix(BUNDLE_MANIFEST));
        prefixes.filter(|prefix| prefix.ends_with('/')).map(str::to_owned).collect()
    }

    /// Reads a module. Its manifest and dex files have at most `left` bytes, which is reduced by theirs.
    fn module(&self, prefix: String, left: &mut u64) -> Result<Module, Error> {
        let manifest_name = match self.kind {
            Kind::Apk => MANIFEST.to_owned(),
            Kind::Bundle => format!("{prefix}{BUNDLE_MANIFEST}"),
        };
        let mut manifest = None;
        if let Some(at) = self.find(&manifest_name) {
            self.take(at, manifest::MAX_SIZE as u64, left)?;
            let bytes = self.contents(at, manifest::MAX_SIZE as u64)?;
            let read = Manifest::read(&bytes).map_err(|broken| self.entry_error(at, broken.to_string()))?;
            manifest = Some((at, read));
        }
        let mut module = Module { prefix, manifest, dexes: Vec::new() };
        // ART stops at the first number that is missing.
        let numbered = (0..).map_while(|index| self.find(&module.dex_name(index)));
        let found: Vec<usize> = numbered.collect();
        found.iter().try_for_each(|&entry| self.take(entry, MAX_DEX, left))?;
        let dexes = found.into_par_iter();
        let dexes = dexes.map(|entry| Ok(DexFile { entry, bytes: self.contents(entry, MAX_DEX)? }));
        module.dexes = dexes.collect::<Result<_, Error>>()?;
        Ok(module)
    }

    fn find(&self, name: &str) -> Option<usize> {
        // Android takes the first of several entries with one name; writing them again is refused later.
        self.entries.iter().position(|entry| entry.name == name.as_bytes())
    }

    /// Takes an entry's size from `left`, before anything is inflated. The entry has at most `limit` bytes.
    fn take(&self, at: usize, limit: u64, left: &mut u64) -> Result<(), Error> {
        let size = self.entries.get(at).map_or(0, |entry| u64::from(entry.size()));
        if size > limit {
            return Err(self.entry_error(at, Unreadable::TooLarge(limit).to_string()));
        }
        let rest = left.checked_sub(size).ok_or_else(|| {
            let all = MAX_INFLATED >> 20;
            self.entry_error(at, format!("with it, manifests and dex files have more than {all} MiB"))
        });
        *left = rest?;
        Ok(())
    }

    fn contents(&self, at: usize, limit: u64) -> Result<Vec<u8>, Error> {
        let wrong = |reason: String| self.entry_error(at, reason);
        let entry = self.entries.get(at).ok_or_else(|| wrong("there is no such entry".to_owned()))?;
        let contents = entry.contents(limit).map_err(|unreadable| wrong(unreadable.to_string()))?;
        Ok(contents.into_owned())
    }

    fn entry_error(&self, at: usize, reason: String) -> Error {
        let entry = self.entries.get(at).map(Entry::display_name).unwrap_or_default();
        Error::Entry { package: self.name.clone(), entry, reason }
    }

    /// Returns the `mapping.txt` that a bundle contains.
    pub(crate) fn mapping(&self) -> Result<Option<Vec<u8>>, Error> {
        let found = self.find(BUNDLE_MAPPING).filter(|_| self.kind == Kind::Bundle);
        found.map(|at| self.contents(at, MAX_TEXT)).transpose()
    }

    /// Tells bundletool about libraries that a module of a bundle gets for these ABIs. Returns the entry that says it, unless it is there already.
    pub(crate) fn add_native_directories(
        &mut self,
        module: &Module,
        abis: &[&str],
    ) -> Result<Option<Entry<'static>>, Error> {
        let is_new = |abi: &&&str| {
            let directory = format!("{}lib/{abi}/", module.prefix);
            !self.entries.iter().any(|entry| entry.name.starts_with(directory.as_bytes()))
        };
        let new: Vec<&str> = abis.iter().filter(is_new).copied().collect();
        if self.kind != Kind::Bundle || new.is_empty() {
            return Ok(None);
        }
        let name = format!("{}{}", module.prefix, bundle::NATIVE_CONFIG);
        let present = self.find(&name);
        let mut config = present.map(|at| self.contents(at, MAX_TEXT)).transpose()?.unwrap_or_default();
        new.into_iter().for_each(|abi| bundle::add_native_directory(&mut config, abi));
        match present.and_then(|at| self.entries.get_mut(at)) {
            Some(entry) => {
                entry.replace(config);
                Ok(None)
            }
            None => Ok(Some(Entry::new(name.into_bytes(), config, true))),
        }
    }

    /// Returns the ABIs that it has libraries for, sorted.
    pub(crate) fn abis(&self) -> Vec<String> {
        let names = self.entries.iter().filter_map(|entry| core::str::from_utf8(&entry.name).ok());
        let abi = |name: &str| {
            let rest = match self.kind {
                Kind::Apk => name.strip_prefix("lib/")?,
                Kind::Bundle => name.split_once("/lib/")?.1,
            };
            let (abi, file) = rest.split_once('/')?;
            file.ends_with(".so").then(|| abi.to_owned())
        };
        let abis: BTreeSet<String> = names.filter_map(abi).collect();
        abis.into_iter().collect()
    }
}
