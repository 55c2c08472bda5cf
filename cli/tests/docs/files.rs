//! The files of the repository.

use std::collections::BTreeSet;
use std::process::Command;

use crate::docs::repository;

/// Directories that builds and runs make.
const MADE: &[&str] = &["target", "anrscope-out", "__pycache__"];

/// Hidden directories of the repository. Others belong to git and to editors.
const HIDDEN: &[&str] = &[".ci", ".github"];

/// Lists the files in a directory and below it, by their paths from the top. The top itself is "".
///
/// We walk the directories and do not ask git, because a release's archive of the sources has no history.
pub(crate) fn walk(directory: &str) -> Vec<String> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(repository().join(directory)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let path = if directory.is_empty() { name.clone() } else { format!("{directory}/{name}") };
        if !entry.file_type().unwrap().is_dir() {
            files.push(path);
        } else if !MADE.contains(&name.as_str())
            && (!name.starts_with('.') || HIDDEN.contains(&name.as_str()))
        {
            files.extend(walk(&path));
        }
    }
    files.sort();
    files
}

/// Lists the files that differ from the remote's main branch, or from the last commit if there is no remote. Without git the
/// list is empty.
pub(crate) fn changed() -> BTreeSet<String> {
    let base = git(&["merge-base", "HEAD", "origin/HEAD"]).unwrap_or_else(|| "HEAD".to_owned());
    let edited = git(&["diff", "--name-only", base.trim()]).unwrap_or_default();
    let new = git(&["ls-files", "--others", "--exclude-standard"]).unwrap_or_default();
    edited.lines().chain(new.lines()).map(str::to_owned).collect()
}

/// Runs git at the top of the repository; `None` if it is not installed or fails.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(repository()).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
