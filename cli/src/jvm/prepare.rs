//! Turns a class path into an instrumented one.
//!
//! Every jar and folder that the class path leads to, `Class-Path` of manifests included, is
//! instrumented in one run, so that all have one method map. What cannot be instrumented stays in its
//! place as it is, and is told.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use instrumenter::{Error, Input, MapPaths, Options, Summary, instrument, outputs_in};

use super::folder;
use super::launch::{Launch, Main};
use super::manifest::{self, Element};
use super::own_folder::OwnFolder;
use crate::embedded;
use crate::instrument::watched;
use crate::progress::Progress;
use crate::scratch::Scratch;

/// A class path that is ready to run.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// The elements, in their order.
    pub(crate) class_path: Vec<PathBuf>,
    /// What the instrumenter did; `None` if there was nothing for it.
    pub(crate) summary: Option<Summary>,
    /// What stayed as it is, and why.
    pub(crate) untouched: Vec<(PathBuf, String)>,
    /// Where the instrumented classes are.
    pub(crate) classes: OwnFolder,
}

/// A jar or folder of the class path.
struct Node {
    /// As it was named first.
    given: PathBuf,
    canonical: PathBuf,
    kind: Kind,
    /// Whether it is instrumented.
    alive: bool,
    output: PathBuf,
}

enum Kind {
    /// A jar, with the elements of its manifest's `Class-Path` if there is one.
    Jar(Option<Vec<Element>>),
    /// A folder that is copied whole.
    Folder,
    /// A folder of which only the classes are copied, here; the folder itself stays behind the copy.
    Sparse(PathBuf),
}

/// Instruments what `launch` loads, into `dir`, and shows how far it is.
///
/// # Errors
/// If there is no room, or the instrumenter finds something that is not the fault of one input.
pub(crate) fn prepare(
    launch: &Launch,
    dir: &Path,
    runtime: &embedded::Paths,
    map: &Path,
    options: &Options,
    progress: &Progress,
) -> anyhow::Result<Prepared> {
    let scratch = Scratch::create().context("cannot make a temporary folder: set TMPDIR to one with room")?;
    let no_room = |of: &Path| format!("cannot write to {}", of.display());
    // Before any class path is looked at, so that nothing of ours is found there.
    let staging = OwnFolder::claim(scratch.path(), "classes").with_context(|| no_room(scratch.path()))?;
    let classes = OwnFolder::claim(dir, "instrumented").with_context(|| no_room(dir))?;
    let mut graph = Graph {
        dir,
        staging: staging.path(),
        nodes: Vec::new(),
        by_path: HashMap::new(),
        untouched: Vec::new(),
    };
    let is_jar = matches!(launch.main, Main::Jar(_));
    for element in &launch.class_path {
        // A folder after -jar is for the launcher to refuse, by its own name.
        if !(is_jar && element.is_dir()) {
            graph.add(element)?;
        }
    }
    let mut next = 0;
    while let Some(node) = graph.nodes.get(next) {
        if let Kind::Jar(Some(elements)) = &node.kind {
            let paths: Vec<PathBuf> = elements.iter().filter_map(local).map(Path::to_owned).collect();
            for path in paths {
                graph.add(&path)?;
            }
        }
        next += 1;
    }
    let outputs = outputs_in(classes.path(), graph.nodes.iter().map(|node| &node.given));
    for (node, output) in graph.nodes.iter_mut().zip(outputs) {
        node.output = output;
    }

    let needs = is_jar.then_some(runtime.stand_in.as_path());
    let summary = graph.instrument(map, needs, options, progress)?;
    let mut class_path: Vec<PathBuf> =
        launch.class_path.iter().flat_map(|element| graph.place_of(element)).collect();
    if !is_jar {
        // A JVM that the program starts on its own class path has no boot class path of ours.
        class_path.push(runtime.stand_in.clone());
    }
    Ok(Prepared { class_path, summary, untouched: graph.untouched, classes })
}

fn local(element: &Element) -> Option<&Path> {
    match element {
        Element::Local { path, .. } => Some(path),
        Element::Other(_) => None,
    }
}

struct Graph<'a> {
    dir: &'a Path,
    staging: &'a Path,
    nodes: Vec<Node>,
    by_path: HashMap<PathBuf, usize>,
    untouched: Vec<(PathBuf, String)>,
}

impl Graph<'_> {
    fn add(&mut self, path: &Path) -> anyhow::Result<()> {
        // The JVM passes over what is not there, and takes relative URLs from the canonical path.
        let Ok(canonical) = fs::canonicalize(path) else { return Ok(()) };
        if self.by_path.contains_key(&canonical) {
            return Ok(());
        }
        let kind = if canonical.is_dir() {
            if folder::is_plain(&canonical, self.dir) {
                Kind::Folder
            } else {
                let copy = self.staging.join(self.nodes.len().to_string());
                folder::copy_classes(&canonical, &copy, self.dir)
                    .with_context(|| format!("cannot copy the classes of {}", canonical.display()))?;
                Kind::Sparse(copy)
            }
        } else {
            match manifest::class_path_of(&canonical) {
                Ok(class_path) => {
                    Kind::Jar(class_path.map(|class_path| manifest::elements(&class_path, &canonical)))
                }
                Err(reason) => {
                    if !self.untouched.iter().any(|(known, _)| known == path) {
                        self.untouched.push((path.to_owned(), format!("it is no jar ({reason})")));
                    }
                    return Ok(());
                }
            }
        };
        self.by_path.insert(canonical.clone(), self.nodes.len());
        let node = Node { given: path.to_owned(), canonical, kind, alive: true, output: PathBuf::new() };
        self.nodes.push(node);
        Ok(())
    }

    /// The node at `path`, if it is instrumented.
    fn node(&self, path: &Path) -> Option<&Node> {
        let index = *self.by_path.get(&fs::canonicalize(path).ok()?)?;
        self.nodes.get(index).filter(|node| node.alive)
    }

    /// What takes the place of `element` on the class path.
    fn place_of(&self, element: &Path) -> Vec<PathBuf> {
        match self.node(element) {
            None => vec![element.to_owned()],
            Some(node) => match node.kind {
                Kind::Sparse(_) => vec![node.output.clone(), element.to_owned()],
                _ => vec![node.output.clone()],
            },
        }
    }

    /// Runs the instrumenter, without the inputs that it cannot take.
    fn instrument(
        &mut self,
        map: &Path,
        main_jar_needs: Option<&Path>,
        options: &Options,
        progress: &Progress,
    ) -> anyhow::Result<Option<Summary>> {
        let maps = MapPaths::beside(map);
        loop {
            let inputs = self.inputs(main_jar_needs);
            if inputs.is_empty() {
                return Ok(None);
            }
            let failed = match instrument(&inputs, &maps, options, &watched(progress, inputs.len())) {
                Ok(summary) => return Ok(Some(summary)),
                Err(error) => error,
            };
            let path = match &failed {
                Error::NotAnArchive { path, .. } | Error::Entry { path, .. } | Error::Read { path, .. } => {
                    path
                }
                _ => return Err(failed).context("cannot instrument the class path"),
            };
            let node = self.nodes.iter_mut().find(|node| node.alive && path.starts_with(node.source()));
            let Some(node) = node else {
                return Err(failed).context("cannot instrument the class path");
            };
            node.alive = false;
            self.untouched.push((node.given.clone(), failed.to_string()));
        }
    }

    fn inputs(&self, main_jar_needs: Option<&Path>) -> Vec<Input> {
        let alive = self.nodes.iter().enumerate().filter(|(_, node)| node.alive);
        let inputs = alive.map(|(index, node)| {
            let mut input = Input::new(node.source(), &node.output);
            if let Kind::Jar(elements) = &node.kind {
                // The class path of `-jar` is that jar alone, and it comes first.
                let needs = main_jar_needs.filter(|_| index == 0);
                input.manifest_class_path = self.manifest_class_path(elements.as_deref(), needs);
            }
            input
        });
        inputs.collect()
    }

    fn manifest_class_path(&self, elements: Option<&[Element]>, needs: Option<&Path>) -> Option<String> {
        if elements.is_none() && needs.is_none() {
            return None;
        }
        let mut urls = Vec::new();
        for element in elements.unwrap_or_default() {
            match element {
                Element::Other(url) => urls.push(url.clone()),
                Element::Local { path, folder } => match self.node(path) {
                    None => urls.push(manifest::url(path, *folder)),
                    Some(node) => {
                        urls.push(manifest::url(&node.output, *folder));
                        if matches!(node.kind, Kind::Sparse(_)) {
                            urls.push(manifest::url(path, *folder));
                        }
                    }
                },
            }
        }
        urls.extend(needs.map(|path| manifest::url(path, false)));
        Some(urls.join(" "))
    }
}

impl Node {
    /// What the instrumenter reads.
    fn source(&self) -> &Path {
        match &self.kind {
            Kind::Sparse(copy) => copy,
            _ => &self.canonical,
        }
    }
}
