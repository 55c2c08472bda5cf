//! The packages of a run: files, and the APKs in an APK set.

use apk::layout::{self, Entry, MAX_INFLATED};
use rayon::ThreadPool;

use super::error::Error;
use crate::options::Input;
use crate::read_file::read_file;

/// An input with its bytes.
pub(crate) struct File {
    pub(crate) input: Input,
    pub(crate) bytes: Vec<u8>,
    /// The APKs in it; empty for a package.
    pub(crate) set: Vec<Inner>,
}

/// An APK in an APK set.
pub(crate) struct Inner {
    /// The entry's position in the set.
    pub(crate) entry: usize,
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

impl File {
    /// Reads an input.
    pub(crate) fn read(input: &Input, pool: &ThreadPool) -> Result<Self, Error> {
        let bytes = read_file(&input.path, pool).map_err(crate::Error::reading(&input.path))?;
        let name = input.path.display().to_string();
        let entries = layout::read(&bytes)
            .map_err(|broken| Error::Package { package: name.clone(), reason: broken.to_string() })?;
        let has = |name: &str| entries.iter().any(|entry| entry.name == name.as_bytes());
        let is_apk = |entry: &Entry<'_>| entry.name.ends_with(b".apk");
        let mut set = Vec::new();
        // bundletool stores the APKs of a set: only other tools deflate them.
        let mut left = MAX_INFLATED;
        if !has("AndroidManifest.xml") && !has("classes.dex") && !has("BundleConfig.pb") {
            for (at, entry) in entries.iter().enumerate().filter(|(_, entry)| is_apk(entry)) {
                let bytes = entry.contents(left).map_err(|error| Error::Entry {
                    package: name.clone(),
                    entry: entry.display_name(),
                    reason: error.to_string(),
                })?;
                let bytes = bytes.into_owned();
                if entry.is_deflated() {
                    left = left.saturating_sub(u64::from(entry.size()));
                }
                set.push(Inner { entry: at, name: entry.display_name(), bytes });
            }
            if set.is_empty() {
                return Err(Error::NoCode(name));
            }
        }
        Ok(Self { input: input.clone(), bytes, set })
    }

    /// Returns the packages of a file: name and bytes.
    pub(crate) fn packages(&self) -> Vec<(String, &[u8])> {
        let path = self.input.path.display();
        if self.set.is_empty() {
            return vec![(path.to_string(), &self.bytes)];
        }
        self.set.iter().map(|inner| (format!("{path}!/{}", inner.name), &*inner.bytes)).collect()
    }

    /// Returns the bytes of the output, made of those of its packages in their order.
    pub(crate) fn output(&self, mut packages: Vec<Vec<u8>>) -> Result<Vec<u8>, Error> {
        if self.set.is_empty() {
            return Ok(packages.pop().unwrap_or_default());
        }
        let wrong =
            |reason: String| Error::Layout { package: self.input.output.display().to_string(), reason };
        let mut entries = layout::read(&self.bytes).map_err(|broken| wrong(broken.to_string()))?;
        for (inner, bytes) in self.set.iter().zip(packages) {
            if let Some(entry) = entries.get_mut(inner.entry) {
                entry.replace(bytes);
            }
        }
        layout::lay_out(&entries, &layout::Options::default()).map_err(|error| wrong(error.to_string()))
    }
}
