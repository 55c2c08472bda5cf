//! Instruments a class path.
//!
//! All jars and directories of the class path, `Class-Path` of manifests included, are instrumented in one run, so that they share one
//! method map. What cannot be instrumented stays as it is, with a warning.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use instrumenter::jar::class_path::{self, Element};
use instrumenter::{Error, Input, MapPaths, Options, Summary, instrument, outputs_in};

use super::class_dir;
use super::launch::{Launch, Main};
use super::own_dir::OwnDir;
use crate::embedded;
use crate::instrument::watched;
use crate::progress::Progress;
use crate::scratch::Scratch;

/// An instrumented class path.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// The elements, in their order.
    pub(crate) class_path: Vec<PathBuf>,
    /// The instrumenter's summary; `None` if there was nothing to instrument.
    pub(crate) summary: Option<Summary>,
    /// Elements that were left unchanged, and why.
    pub(crate) untouched: Vec<(PathBuf, String)>,
    /// Where the instrumented classes are.
    pub(crate) classes: OwnDir,
}

/// A jar or directory of the class path.
struct Node {
    /// The path by which it was named first.
    given: PathBuf,
    canonical: PathBuf,
    kind: Kind,
    /// Whether it is instrumented.
    alive: bool,
    output: PathBuf,
}

enum Kind {
    /// A jar, with the elements of its manifest's `Class-Path`, if it has one.
    Jar(Option<Vec<Element>>),
    /// A directory that is copied whole.
    Directory,
    /// A directory of which only the classes are copied, to this path; the directory itself stays after the copy.
    Sparse(PathBuf),
}

/// Instruments what `launch` loads, into `dir`, with a progress line.
///
/// # Errors
/// If there is no room, or the instrumenter fails for a reason other than one of the inputs.
pub(crate) fn prepare(
    launch: &Launch,
    dir: &Path,
    runtime: &embedded::Paths,
    map: &Path,
    options: &Options,
    progress: &Progress,
) -> anyhow::Result<Prepared> {
    let scratch =
        Scratch::create().context("cannot create a temporary directory: set TMPDIR to one with room")?;
    let no_room = |of: &Path| format!("cannot write to {}", of.display());
    // Claimed before any class path is read, so that none of these files is found there.
    let staging = OwnDir::claim(scratch.path(), "classes").with_context(|| no_room(scratch.path()))?;
    let classes = OwnDir::claim(dir, "instrumented").with_context(|| no_room(dir))?;
    let mut graph = Graph {
        dir,
        staging: staging.path(),
        nodes: Vec::new(),
        by_path: HashMap::new(),
        untouched: Vec::new(),
    };
    let is_jar = matches!(launch.main, Main::Jar(_));
    for element in &launch.class_path {
        // The launcher rejects a directory after -jar, under its original name.
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

    let needs = is_jar.then_some(runtime.no_op_jar.as_path());
    let summary = graph.instrument(map, needs, options, progress)?;
    let mut class_path: Vec<PathBuf> =
        launch.class_path.iter().flat_map(|element| graph.place_of(element)).collect();
    if !is_jar {
        // A JVM that the program starts on its own class path lacks the recorder's boot class path.
        class_path.push(runtime.no_op_jar.clone());
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
        // The JVM ignores missing elements, and resolves relative URLs against the canonical path.
        let Ok(canonical) = fs::canonicalize(path) else { return Ok(()) };
        if self.by_path.contains_key(&canonical) {
            return Ok(());
        }
        let kind = if canonical.is_dir() {
            if class_dir::is_plain(&canonical, self.dir) {
                Kind::Directory
            } else {
                let copy = self.staging.join(self.nodes.len().to_string());
                class_dir::copy_classes(&canonical, &copy, self.dir)
                    .with_context(|| format!("cannot copy the classes of {}", canonical.display()))?;
                Kind::Sparse(copy)
            }
        } else {
            match class_path::class_path_of(&canonical) {
                Ok(class_path) => {
                    Kind::Jar(class_path.map(|class_path| class_path::elements(&class_path, &canonical)))
                }
                Err(reason) => {
                    if !self.untouched.iter().any(|(known, _)| known == path) {
                        self.untouched.push((path.to_owned(), format!("it is not a jar ({reason})")));
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

    /// The elements that replace `element` on the class path.
    fn place_of(&self, element: &Path) -> Vec<PathBuf> {
        match self.node(element) {
            None => vec![element.to_owned()],
            Some(node) => match node.kind {
                Kind::Sparse(_) => vec![node.output.clone(), element.to_owned()],
                _ => vec![node.output.clone()],
            },
        }
    }

    /// Runs the instrumenter, without the inputs that it rejects.
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
                Element::Local { path, directory } => match self.node(path) {
                    None => urls.push(class_path::url(path, *directory)),
                    Some(node) => {
                        urls.push(class_path::url(&node.output, *directory));
                        if matches!(node.kind, Kind::Sparse(_)) {
                            urls.push(class_path::url(path, *directory));
                        }
                    }
                },
            }
        }
        urls.extend(needs.map(|path| class_path::url(path, false)));
        Some(urls.join(" "))
    }
}

impl Node {
    /// The path that the instrumenter reads.
    fn source(&self) -> &Path {
        match &self.kind {
            Kind::Sparse(copy) => copy,
            _ => &self.canonical,
        }
    }
}
