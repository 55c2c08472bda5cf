//! Reading the dex files of all packages.

use dex::Dex;
use rayon::prelude::*;

use super::error::Error;
use super::package::Package;
use super::waits::Lambdas;

/// A dex file that is read.
pub(super) struct Loaded<'a> {
    pub(super) package: usize,
    pub(super) module: usize,
    pub(super) file: usize,
    pub(super) dex: Dex<'a>,
    /// By the position of its classes, the number of the class in the run.
    pub(super) numbers: Vec<Option<usize>>,
    /// The lambdas that may be tasks; none if no waits are recorded.
    pub(super) lambdas: Lambdas,
    /// Whether its file contains other dex files too.
    pub(super) in_container: bool,
}

/// Reads the dex files of all packages. One that cannot be read is loaded without classes, so that it is copied; the errors are returned
/// too.
///
/// # Errors
///
/// If none can be read.
pub(super) fn load<'a>(packages: &'a [Package<'a>]) -> Result<(Vec<Loaded<'a>>, Vec<Error>), Error> {
    let mut places = Vec::new();
    for (p, package) in packages.iter().enumerate() {
        for (m, module) in package.modules.iter().enumerate() {
            places.extend(module.dexes.iter().enumerate().map(|(f, file)| (p, m, f, file)));
        }
    }
    let read: Vec<_> = places
        .into_par_iter()
        .map(|(package, module, file, dex)| {
            let (dexes, error) = match dex::read::all(&dex.bytes) {
                Ok(dexes) => (dexes, None),
                Err(broken) => {
                    let (package, entry) = names_of(packages, package, dex.entry);
                    let reason = broken.to_string();
                    (vec![Dex::default()], Some(Error::Entry { package, entry, reason }))
                }
            };
            let in_container = dexes.len() > 1;
            let loaded = |dex| Loaded {
                package,
                module,
                file,
                dex,
                numbers: Vec::new(),
                lambdas: Lambdas::default(),
                in_container,
            };
            (dexes.into_iter().map(loaded).collect::<Vec<_>>(), error)
        })
        .collect();
    let files = read.len();
    let (loaded, errors): (Vec<_>, Vec<_>) = read.into_iter().unzip();
    let mut errors: Vec<Error> = errors.into_iter().flatten().collect();
    match errors.len() == files && files > 0 {
        true => Err(errors.swap_remove(0)),
        false => Ok((loaded.into_iter().flatten().collect(), errors)),
    }
}

/// Returns the names of a package and of an entry in it, for messages.
pub(super) fn names_of(packages: &[Package<'_>], package: usize, entry: usize) -> (String, String) {
    let Some(package) = packages.get(package) else { return Default::default() };
    let entry = package.entries.get(entry).map(apk::layout::Entry::display_name);
    (package.name.clone(), entry.unwrap_or_default())
}
