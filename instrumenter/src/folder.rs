//! Folders of class files.

use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::archive::read::MAX_CLASS;
use crate::archive::write::rewritten_class;
use crate::collect::{self, ClassFacts};
use crate::error::{Error, SkipReason};
use crate::map_id_class;
use crate::method_map::MethodMap;
use crate::run::Session;
use crate::summary::{Skip, Warning};

/// A file of the folder, and the number of its class if it is one.
struct File {
    relative: PathBuf,
    class: Option<usize>,
}

pub(crate) struct Folder {
    root: PathBuf,
    folders: Vec<PathBuf>,
    files: Vec<File>,
}

fn read_error(path: &Path) -> impl FnOnce(std::io::Error) -> Error + '_ {
    |source| Error::Read { path: path.into(), source }
}

fn write_error(path: &Path) -> impl FnOnce(std::io::Error) -> Error + '_ {
    |source| Error::Write { path: path.into(), source }
}

impl Folder {
    /// Lists the files below `root`, sorted, and collects the classes among them.
    pub(crate) fn collect(root: &Path, session: &mut Session<'_>) -> Result<Self, Error> {
        let mut folder = Self { root: root.into(), folders: Vec::new(), files: Vec::new() };
        let mut pending = vec![PathBuf::new()];
        while let Some(relative) = pending.pop() {
            let path = root.join(&relative);
            for entry in fs::read_dir(&path).map_err(read_error(&path))? {
                let entry = entry.map_err(read_error(&path))?;
                let kind = entry.file_type().map_err(read_error(&path))?;
                let relative = relative.join(entry.file_name());
                if kind.is_dir() {
                    folder.folders.push(relative.clone());
                    pending.push(relative);
                } else if kind.is_symlink() && entry.path().is_dir() {
                    // Could lead in a circle, or out of the folder.
                    let entry = relative.display().to_string();
                    session.warn(root, Warning::LinkedFolder { entry });
                } else if relative == Path::new(map_id_class::ENTRY) {
                    session.warn(root, Warning::OldMapId { entry: relative.display().to_string() });
                } else {
                    folder.files.push(File { relative, class: None });
                }
            }
        }
        folder.folders.sort();
        folder.files.sort_by(|a, b| a.relative.cmp(&b.relative));
        folder.collect_classes(session)?;
        Ok(folder)
    }

    fn collect_classes(&mut self, session: &mut Session<'_>) -> Result<(), Error> {
        let look = |file: &File| -> Result<Option<Result<ClassFacts, SkipReason>>, Error> {
            if file.relative.extension().is_none_or(|end| end != "class") {
                return Ok(None);
            }
            let path = self.root.join(&file.relative);
            if fs::metadata(&path).map_err(read_error(&path))?.len() > MAX_CLASS {
                return Ok(Some(Err(SkipReason::ClassTooLarge)));
            }
            let bytes = fs::read(&path).map_err(read_error(&path))?;
            Ok(Some(collect::collect(&bytes, session.options, &session.base)))
        };
        let looks: Vec<_> = session.pool.install(|| self.files.par_iter().map(look).collect());
        for (file, look) in self.files.iter_mut().zip(looks) {
            match look? {
                None => {}
                Some(Ok(facts)) => file.class = Some(session.add_class(&self.root, facts)),
                Some(Err(reason)) => {
                    let class = file.relative.display().to_string();
                    session.skips.push(Skip { input: self.root.clone(), class, method: None, reason });
                }
            }
        }
        Ok(())
    }

    /// Writes the folder to `target`, which exists and is empty.
    pub(crate) fn write(
        &self,
        target: &Path,
        map: &MethodMap,
        map_id: bool,
        session: &mut Session<'_>,
    ) -> Result<(), Error> {
        for folder in &self.folders {
            let path = target.join(folder);
            fs::create_dir_all(&path).map_err(write_error(&path))?;
        }
        let write = |file: &File| -> Result<_, Error> {
            let (from, to) = (self.root.join(&file.relative), target.join(&file.relative));
            let mut outcome = (0, Vec::new());
            if let Some(number) = file.class {
                let bytes = fs::read(&from).map_err(read_error(&from))?;
                let (new, reasons) = rewritten_class(&bytes, number, map, session);
                outcome.1.extend(reasons.into_iter().map(|(method, reason)| (number, method, reason)));
                if let Some(new) = new {
                    outcome.0 = 1;
                    fs::write(&to, new).map_err(write_error(&to))?;
                    return Ok(outcome);
                }
            }
            fs::copy(&from, &to).map_err(write_error(&to))?;
            Ok(outcome)
        };
        let outcomes: Vec<_> = session.pool.install(|| self.files.par_iter().map(write).collect());
        for outcome in outcomes {
            let (changed, skipped) = outcome?;
            session.note_written(map, changed, skipped);
        }
        if map_id {
            let path = target.join(map_id_class::ENTRY);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).map_err(write_error(parent))?;
            }
            fs::write(&path, map_id_class::bytes(map.id)).map_err(write_error(&path))?;
        }
        Ok(())
    }
}
