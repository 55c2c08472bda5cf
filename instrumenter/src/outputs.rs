//! The outputs of a run, and checks that they overwrite nothing.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cache::Cache;
use crate::error::Error;
use crate::options::{Compat, Input, Options};

/// Refuses options that would fail only after much work, and outputs that would overwrite other files.
pub(crate) fn check(inputs: &[Input], options: &Options, cache: Option<&Cache>) -> Result<(), Error> {
    if inputs.is_empty() {
        return Err(Error::NoInputs);
    }
    let is_matrix = options.compat == Compat::Matrix;
    if is_matrix && options.cache.is_some() {
        let cure = "remove the cache option: Matrix's ids depend on all classes and their order, so nothing could be reused";
        return Err(Error::NotWithMatrix { with: "a cache", cure });
    }
    if is_matrix && options.waits.is_some() {
        let cure = "remove the waits option: the class that Matrix's calls go to has no methods for them";
        return Err(Error::NotWithMatrix { with: "waits", cure });
    }
    let name = &options.call_class;
    let plain = !name.is_empty() && !name.contains(['.', ';', '[', '\0']) && name.len() <= 0xFFFF;
    if !plain || !name.is_ascii() || name.split('/').any(str::is_empty) {
        return Err(Error::CallClass(name.clone()));
    }
    let canonical = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.into());
    let read: Vec<PathBuf> = inputs.iter().map(|input| canonical(&input.path)).collect();
    let mut outputs = Vec::with_capacity(inputs.len());
    for input in inputs {
        let output = &input.output;
        let there = canonical(output);
        if read.iter().any(|path| there.starts_with(path)) {
            return Err(Error::OutputIsInput(output.clone()));
        }
        if outputs.contains(&there) {
            return Err(Error::OutputTwice(output.clone()));
        }
        outputs.push(there);
        let is_ours = cache.is_some_and(|cache| cache.created(output));
        if !is_ours && fs::read_dir(output).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(Error::OutputNotEmpty(output.clone()));
        }
    }
    Ok(())
}

/// Returns an output below `directory` for each of `paths`: its base name, made unique by a number before the
/// extension.
///
/// ```
/// # use std::path::Path;
/// let outputs = instrumenter::outputs_in(Path::new("out"), ["a/x.jar", "b/x.jar", "classes"]);
/// assert_eq!(outputs, [Path::new("out/x.jar"), Path::new("out/x-2.jar"), Path::new("out/classes")]);
/// ```
pub fn outputs_in(directory: &Path, paths: impl IntoIterator<Item = impl AsRef<Path>>) -> Vec<PathBuf> {
    let mut outputs: Vec<PathBuf> = Vec::new();
    for path in paths {
        let path = path.as_ref();
        let name = path.file_name().unwrap_or_else(|| "input".as_ref());
        let mut output = directory.join(name);
        let mut number = 2;
        // On file systems that ignore case, `a.jar` and `A.jar` are the same file.
        let same =
            |a: &Path, b: &Path| a.to_string_lossy().to_lowercase() == b.to_string_lossy().to_lowercase();
        while outputs.iter().any(|taken| same(taken, &output)) {
            let mut name = Path::new(name).file_stem().unwrap_or(name).to_os_string();
            name.push(format!("-{number}"));
            if let Some(extension) = path.extension() {
                name.push(".");
                name.push(extension);
            }
            output = directory.join(name);
            number += 1;
        }
        outputs.push(output);
    }
    outputs
}
