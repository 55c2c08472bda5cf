//! Writing a package: its edited dex files, the runtime, the manifest, and the signature.

use std::collections::BTreeSet;

use apk::layout::{self, Entry};
use apk::manifest::{Error as ManifestError, attribute};
use apk::sign::sign_entries;
use trace_format::MapId;
use trace_format::hex::hex;

use super::error::Error;
use super::inputs::File;
use super::options::{AppOptions, Signing};
use super::package::{Kind, Module, Package};
use super::runtime::{Runtime, library_entry};
use super::summary::{Change, PackageSummary};

/// The lowest API level of the runtime, which is also the first that loads `classes2.dex` and the files after it.
const MIN_SDK: u32 = 21;
/// From this target on, Android wants `resources.arsc` stored.
const STORED_RESOURCES: u32 = 30;

/// Files that describe dex files by their checksums, which ART would reject now.
const PROFILES: [&str; 3] = [
    "assets/dexopt/baseline.prof",
    "assets/dexopt/baseline.profm",
    "com.android.tools.build.profiles/baseline.prof",
];
const PROFILE_REASON: &str = "it describes the dex files as they were";
const SIGNATURE_REASON: &str = "a signature that the changes make invalid";

/// The dex files of a module after the edit.
#[derive(Default)]
pub(crate) struct Edited {
    /// In place of those that were read, in their order.
    pub(crate) replaced: Vec<Vec<u8>>,
    /// What did not fit.
    pub(crate) added: Vec<Vec<u8>>,
    pub(crate) method_ids_before: u64,
    pub(crate) method_ids_after: u64,
}

/// A package that is written.
pub(crate) struct Output {
    pub(crate) bytes: Vec<u8>,
    pub(crate) summary: PackageSummary,
}

/// What all packages of a run have in common.
pub(crate) struct Task<'a> {
    pub(crate) runtime: &'a Runtime,
    pub(crate) options: &'a AppOptions<'a>,
    pub(crate) id: MapId,
}

/// Returns for each file of the run the ABIs of the app, and whether a split has them; none if the app has no libraries.
pub(crate) fn abis(packages: &[Package<'_>], files: &[File]) -> Vec<Vec<String>> {
    // Splits that are given as files of their own belong to one app.
    let is_one_app = files.iter().all(|file| file.set.is_empty());
    let of_file = |file: usize| {
        let of_app = packages.iter().filter(|package| is_one_app || package.file == file);
        let abis: BTreeSet<String> = of_app.flat_map(Package::abis).collect();
        abis.into_iter().collect()
    };
    (0..files.len()).map(of_file).collect()
}

impl Task<'_> {
    /// Writes a package. `has_runtime` tells of each module whether it has the runtime already; `abis` are those of the app that
    /// it belongs to.
    pub(crate) fn write<'o>(
        &'o self,
        mut package: Package<'o>,
        edited: Vec<Edited>,
        has_runtime: impl Fn(usize) -> bool,
        abis: &[String],
    ) -> Result<Output, Error> {
        let mut summary = PackageSummary {
            name: package.name.clone(),
            size: Change { before: package.size as u64, after: 0 },
            was_signed_by: signed_by(&package),
            is_bundle: package.kind == Kind::Bundle,
            signer_unknown: package.signers.as_ref().err().cloned(),
            ..PackageSummary::default()
        };
        let own_abis = package.abis();
        let mut modules = core::mem::take(&mut package.modules);
        let mut added: Vec<Entry<'_>> = Vec::new();
        for (number, (module, edited)) in modules.iter_mut().zip(edited).enumerate() {
            let runtime = has_runtime(number);
            self.write_dexes(module, edited, runtime, &mut package, &mut added, &mut summary)?;
            if module.is_base() {
                self.write_manifest(module, runtime, &mut package, &mut summary)?;
            } else if package.kind == Kind::Bundle {
                raise_min_sdk(module, &mut package)?;
            }
            if !runtime {
                self.write_libraries(module, (&own_abis, abis), &mut package, &mut added, &mut summary)?;
            }
        }
        drop_stale(&mut package, &mut summary);
        let mut entries = package.entries;
        entries.extend(added);
        let facts =
            modules.iter().find_map(|module| module.manifest.as_ref()).map(|(_, manifest)| manifest.facts());
        let options = layout::Options {
            store_libraries: facts.is_some_and(|facts| facts.extract_native_libs == Some(false)),
            store_resources: facts.is_some_and(|facts| facts.target_sdk >= STORED_RESOURCES),
            level: self.options.common.level,
            comment: &[],
        };
        let min_sdk = facts.map_or(MIN_SDK, |facts| facts.min_sdk.max(MIN_SDK));
        let wrong = |reason: String| Error::Layout { package: summary.name.clone(), reason };
        let bytes = match (&self.options.signing, package.kind) {
            (Signing::Key(key), Kind::Apk) => {
                summary.signed_by = Some(hex(&key.certificate_digest()));
                sign_entries(&entries, &options, key, min_sdk).map_err(|error| wrong(error.to_string()))?
            }
            // bundletool signs the APKs that it makes of a bundle.
            _ => layout::lay_out(&entries, &options).map_err(|error| wrong(error.to_string()))?,
        };
        summary.size.after = bytes.len() as u64;
        Ok(Output { bytes, summary })
    }

    fn write_dexes<'o>(
        &'o self,
        module: &Module,
        edited: Edited,
        has_runtime: bool,
        package: &mut Package<'o>,
        added: &mut Vec<Entry<'o>>,
        summary: &mut PackageSummary,
    ) -> Result<(), Error> {
        let count = module.dexes.len();
        summary.dexes.before += count as u64;
        summary.dex_bytes.before += module.dexes.iter().map(|dex| dex.bytes.len() as u64).sum::<u64>();
        summary.method_ids.before += edited.method_ids_before;
        summary.method_ids.after += edited.method_ids_after;
        for (file, bytes) in module.dexes.iter().zip(edited.replaced) {
            summary.dex_bytes.after += bytes.len() as u64;
            if let Some(entry) = package.entries.get_mut(file.entry) {
                entry.replace(bytes);
            }
        }
        let mut more = edited.added;
        if module.is_base() {
            more.push(self.runtime.dex_with(self.id, !has_runtime)?);
        }
        summary.dexes.after += (count + more.len()) as u64;
        // New files are as the app's own: stored where it runs them from the APK.
        let deflate = module
            .dexes
            .first()
            .and_then(|dex| package.entries.get(dex.entry))
            .is_none_or(Entry::is_deflated);
        for (number, bytes) in more.into_iter().enumerate() {
            summary.dex_bytes.after += bytes.len() as u64;
            added.push(Entry::new(module.dex_name(count + number).into_bytes(), bytes, deflate));
        }
        Ok(())
    }

    fn write_manifest(
        &self,
        module: &mut Module,
        has_runtime: bool,
        package: &mut Package<'_>,
        summary: &mut PackageSummary,
    ) -> Result<(), Error> {
        let Some((at, manifest)) = &mut module.manifest else { return Ok(()) };
        let wrong = |error: ManifestError| Error::Manifest {
            package: summary.name.clone(),
            reason: error.to_string(),
        };
        let addition = self.runtime.addition(&self.options.settings, !has_runtime)?;
        let merged = manifest.merge(&addition).map_err(wrong)?;
        summary.manifest = merged.added;
        summary.manifest.extend(merged.replaced);
        if self.options.debuggable && !manifest.facts().debuggable {
            manifest.set_flag(attribute::DEBUGGABLE, true).map_err(wrong)?;
            summary.manifest.push("android:debuggable".to_owned());
        }
        summary.min_sdk_was = manifest.raise_min_sdk(MIN_SDK).map_err(wrong)?;
        let facts = manifest.facts();
        summary.package = facts.package.clone();
        summary.version_code = facts.version_code;
        summary.min_sdk = facts.min_sdk;
        if let Some(entry) = package.entries.get_mut(*at) {
            entry.replace(manifest.write());
        }
        Ok(())
    }

    /// Adds the library for each ABI of the app: beside the app's own libraries, or to the base if it has none at all. The ABIs are those of the package and
    /// of the app that it belongs to.
    fn write_libraries<'o>(
        &'o self,
        module: &Module,
        (own, of_app): (&[String], &[String]),
        package: &mut Package<'o>,
        added: &mut Vec<Entry<'o>>,
        summary: &mut PackageSummary,
    ) -> Result<(), Error> {
        let wanted = &self.options.abis;
        let has = |abi: &String| {
            (own.contains(abi) || of_app.is_empty() && module.is_base())
                && (wanted.is_empty() || wanted.contains(abi))
        };
        // In a bundle all of them are in the base; of several APKs, those with libraries are no modules.
        let is_feature = package.kind == Kind::Bundle && !module.is_base()
            || module.manifest.as_ref().is_some_and(|(_, manifest)| manifest.facts().is_feature_split);
        let mut abis = Vec::new();
        for (abi, library) in self.runtime.libraries.iter().filter(|(abi, _)| has(abi) && !is_feature) {
            added.push(library_entry(&module.prefix, abi, library));
            summary.abis.push(abi.clone());
            abis.push(abi.as_str());
        }
        added.extend(package.add_native_directories(module, &abis)?);
        Ok(())
    }
}

/// Raises the level of a feature module with the base's: bundletool refuses a lower one, and an asset pack with any (`AndroidManifestValidator.java`).
fn raise_min_sdk(module: &mut Module, package: &mut Package<'_>) -> Result<(), Error> {
    let Some((at, manifest)) = &mut module.manifest else { return Ok(()) };
    if module.dexes.is_empty() && manifest.facts().min_sdk <= 1 {
        return Ok(());
    }
    let wrong =
        |error: ManifestError| Error::Manifest { package: package.name.clone(), reason: error.to_string() };
    let raised = manifest.raise_min_sdk(MIN_SDK).map_err(wrong)?;
    if let (Some(_), Some(entry)) = (raised, package.entries.get_mut(*at)) {
        entry.replace(manifest.write());
    }
    Ok(())
}

/// Drops what the changes make wrong.
fn drop_stale(package: &mut Package<'_>, summary: &mut PackageSummary) {
    package.entries.retain(|entry| {
        let name = String::from_utf8_lossy(&entry.name);
        let reason = if layout::is_of_signature(&entry.name) {
            SIGNATURE_REASON
        } else if PROFILES.iter().any(|profile| name.ends_with(profile)) {
            PROFILE_REASON
        } else {
            return true;
        };
        summary.dropped.push((entry.display_name(), reason));
        false
    });
}

fn signed_by(package: &Package<'_>) -> Vec<String> {
    let signers = package.signers.iter().flatten();
    let digests: BTreeSet<String> = signers.map(|signer| hex(&signer.certificate_digest)).collect();
    digests.into_iter().collect()
}
