//! Runs with a cache: decisions about a class that depend on other classes follow their changes, and explaining a
//! class changes no output.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use instrumenter::{Catalogue, Error, Input, MapPaths, Options, Summary, Warning, instrument};

use crate::support::*;

/// An app in a jar and in a directory, with several versions of a library above it.
struct App {
    root: PathBuf,
    options: Options,
    /// Whether the library is an input, or only on the class path.
    instruments_library: bool,
}

const LEAF: &str = "package app; public class Leaf extends Middle {
    @Override public void onWindowFocusChanged(boolean has) { super.onWindowFocusChanged(has); toString(); }
}";
const MIDDLE: &str = "package app; public class Middle extends far.Base {}";
const CALLER: &str = "package app; public class Caller {
    void go(far.Worker worker) throws InterruptedException { worker.join(); }
}";
const LOCKED: &str = "package app; public class Locked extends far.Worker {
    public synchronized void locked() { toString(); }
}";

/// Versions of the library: whether `Base` is an activity, and `Worker` a thread or serializable.
const PLAIN: [&str; 2] = [
    "package far; public class Base { public void onWindowFocusChanged(boolean has) {} }",
    "package far; public class Worker { public final void join() throws InterruptedException {} }",
];
const ACTIVITY_AND_THREAD: [&str; 2] = [
    "package far; public class Base extends android.app.Activity {}",
    "package far; public class Worker extends Thread {}",
];
const OVERRIDE_AND_SERIALIZABLE: [&str; 2] = [
    "package far; public class Base extends android.app.Activity {
        @Override public void onWindowFocusChanged(boolean has) { super.onWindowFocusChanged(has); }
    }",
    "package far; public class Worker extends Thread implements java.io.Serializable {}",
];

/// Their indices in [`compiled`].
const PLAIN_LIBRARY: usize = 1;
const THREADS_LIBRARY: usize = 2;
const SAVED_LIBRARY: usize = 3;

type Classes = Vec<(String, Vec<u8>)>;

/// Compiles these sources, each a class of its file's name, and returns the class files.
fn compile(root: &Path, sources: &[&str]) -> Classes {
    let to = root.join("classes");
    fs::create_dir_all(&to).unwrap();
    let file = |source: &&str| {
        let name = source.split("class ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
        let file = root.join(format!("{name}.java"));
        fs::write(&file, source).unwrap();
        file
    };
    let files: Vec<PathBuf> = sources.iter().map(file).collect();
    let names: Vec<&str> = files.iter().map(|file| text(file)).collect();
    javac(&to, &["--release", "8", "-cp", text(method_beat())], &names);
    crate::support::files(&to).into_iter().map(|(path, bytes)| (text(&path).to_owned(), bytes)).collect()
}

/// The app together with the first version of the library; then the library alone. Compiled once.
fn compiled() -> &'static [Classes; 4] {
    static COMPILED: OnceLock<[Classes; 4]> = OnceLock::new();
    COMPILED.get_or_init(|| {
        let root = directory("shared-decisions");
        let app = [&PLAIN[..], &[LEAF, MIDDLE, CALLER, LOCKED]].concat();
        let versions: [&[&str]; 4] = [&app, &PLAIN, &ACTIVITY_AND_THREAD, &OVERRIDE_AND_SERIALIZABLE];
        let mut number = 0;
        versions.map(|sources| {
            number += 1;
            let root = root.join(number.to_string());
            fs::create_dir(&root).unwrap();
            compile(&root, sources)
        })
    })
}

fn picked<'a>(classes: &'a Classes, wanted: &[&str]) -> Vec<(&'a str, &'a [u8])> {
    let all = classes.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice()));
    all.filter(|(name, _)| wanted.iter().any(|wanted| name.contains(wanted))).collect()
}

impl App {
    fn new(name: &str, instruments_library: bool) -> Self {
        let root = directory(name);
        let options = Options {
            cache: Some(root.join("cache")),
            waits: Some(Catalogue::default()),
            class_path: if instruments_library { Vec::new() } else { vec![root.join("far.jar")] },
            ..Options::default()
        };
        let app = Self { root, options, instruments_library };
        app.library(PLAIN_LIBRARY);
        let [classes, ..] = compiled();
        jar(&app.root.join("app.jar"), &picked(classes, &["Leaf", "Middle"]));
        for (path, bytes) in picked(classes, &["Caller", "Locked"]) {
            let path = app.root.join("in").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        jar(&app.root.join("first.jar"), &[("fixture/Old.class", old_class())]);
        app
    }

    fn library(&self, version: usize) {
        jar(&self.root.join("far.jar"), &picked(&compiled()[version], &["far/"]));
    }

    fn run_to(&self, to: &str, options: &Options) -> Result<Summary, Error> {
        let mut names = vec!["first.jar", "app.jar", "in"];
        names.extend(self.instruments_library.then_some("far.jar"));
        let to = self.root.join(to);
        let inputs = names.iter().map(|name| Input::new(self.root.join(name), to.join(name)));
        let maps = MapPaths::beside(to.join("map.txt"));
        instrument(&inputs.collect::<Vec<_>>(), &maps, options, &|_| {})
    }

    /// Runs with the cache, and once more without it: with the same ids the same bytes must result.
    #[track_caller]
    fn run(&self) -> Summary {
        // So that the files do not count as recently written.
        std::thread::sleep(std::time::Duration::from_millis(150));
        let summary = self.run_to("out", &self.options).unwrap();
        let _ = fs::remove_dir_all(self.root.join("clean"));
        let base_map = Some(self.root.join("out/map.txt"));
        let clean = self.run_to("clean", &Options { cache: None, base_map, ..self.options.clone() }).unwrap();
        assert_eq!((summary.focus, summary.traced), (clean.focus, clean.traced));
        for ((path, ours), (_, theirs)) in
            files(&self.root.join("out")).into_iter().zip(files(&self.root.join("clean")))
        {
            match path.extension().and_then(|end| end.to_str()) {
                Some("jar") => assert_eq!(entries(&ours), entries(&theirs), "{path:?}"),
                _ => assert_eq!(ours, theirs, "{path:?}"),
            }
        }
        summary
    }

    /// Returns the class of the output, in the directory or in the jar.
    fn class(&self, name: &str) -> Vec<u8> {
        let entry = format!("{name}.class");
        fs::read(self.root.join("out/in").join(&entry)).unwrap_or_else(|_| {
            let jar = entries(&fs::read(self.root.join("out/app.jar")).unwrap());
            jar.into_iter().find(|(name, _)| *name == entry).unwrap().1
        })
    }

    /// Returns whether a class of the output contains this text.
    fn names(&self, class: &str, wanted: &str) -> bool {
        self.class(class).windows(wanted.len()).any(|window| window == wanted.as_bytes())
    }

    fn calls_at(&self) -> bool {
        self.names("app/Leaf", "(Landroid/app/Activity;Z)V")
    }

    fn tells_the_join(&self) -> bool {
        self.names("app/Caller", "(ILjava/lang/Object;)V")
    }

    /// Returns whether the method still has its flag.
    fn stays_synchronized(&self) -> bool {
        let path = text(&self.root.join("out/in")).to_owned();
        run("javap", &["-p", "-cp", &path, "app.Locked"]).contains("synchronized")
    }
}

/// With waits, and without: then a change that affects no other class takes a shorter way.
fn reaches_far(name: &str, instruments_library: bool) {
    let app = App::new(name, instruments_library);
    reaches_far_without_waits(&format!("{name}_plain"), instruments_library);
    app.run();
    assert!(!app.calls_at() && !app.tells_the_join());
    let untouched = fs::metadata(app.root.join("out/app.jar")).unwrap().modified().unwrap();

    app.library(THREADS_LIBRARY);
    let changed = app.run();
    // No class of the app was scanned again, but the affected one has changed.
    assert!(changed.classes_cached >= 5, "{changed:?}");
    assert!(app.calls_at() && app.tells_the_join());
    assert!(!app.stays_synchronized());
    assert_ne!(fs::metadata(app.root.join("out/app.jar")).unwrap().modified().unwrap(), untouched);

    app.library(SAVED_LIBRARY);
    app.run();
    assert_eq!(app.names("app/Leaf", "onWindowFocusChanged-far-Base"), instruments_library);
    assert!(app.stays_synchronized());

    app.library(PLAIN_LIBRARY);
    app.run();
    assert!(!app.calls_at() && !app.tells_the_join());

    // Without changes nothing is written.
    let before = fs::metadata(app.root.join("out/app.jar")).unwrap().modified().unwrap();
    let again = app.run();
    assert_eq!(again.classes_cached, again.classes);
    assert_eq!(fs::metadata(app.root.join("out/app.jar")).unwrap().modified().unwrap(), before);
}

fn reaches_far_without_waits(name: &str, instruments_library: bool) {
    let mut app = App::new(name, instruments_library);
    app.options.waits = None;
    app.run();
    for (library, calls_at) in [(THREADS_LIBRARY, true), (SAVED_LIBRARY, true), (PLAIN_LIBRARY, false)] {
        app.library(library);
        app.run();
        assert_eq!(app.calls_at(), calls_at, "{library}");
        let again = app.run();
        assert_eq!(again.classes_carried, again.classes);
    }
}

#[test]
fn a_change_in_a_super_class_of_another_input_affects_subclasses() {
    reaches_far("decisions_input", true);
}

#[test]
fn a_change_in_a_super_class_on_the_class_path_affects_subclasses() {
    reaches_far("decisions_class_path", false);
}

#[test]
fn explaining_a_class_changes_no_output() {
    let mut app = App::new("decisions_explain", true);
    app.run();
    let map = fs::read(app.root.join("out/map.txt")).unwrap();
    for class in ["app.Leaf", "app/Caller"] {
        app.options.explain = Some(class.to_owned());
        let summary = app.run();
        let [explained] = summary.explained.as_slice() else { panic!("{class}: {:?}", summary.explained) };
        assert_eq!(explained.name, class.replace('.', "/"));
        assert_eq!(summary.classes_cached, summary.classes - 1);
        assert_eq!(fs::read(app.root.join("out/map.txt")).unwrap(), map);
    }
    app.options.explain = None;
    let summary = app.run();
    assert_eq!((summary.classes_cached, summary.explained.len()), (summary.classes, 0));
}

#[test]
fn the_cache_depends_on_the_content_of_option_files_and_rules_stay_used() {
    let mut app = App::new("decisions_rules", true);
    let rules = app.root.join("trace.rules");
    fs::write(&rules, "exclude class app.Caller method go\nexclude class gone.Gone\n").unwrap();
    app.options.rules = Some(rules.clone());
    let idle = |summary: &Summary| -> Vec<usize> {
        let lines = summary.warnings.iter().filter_map(|(_, warning)| match warning {
            Warning::IdleLine { line, .. } => Some(*line),
            _ => None,
        });
        lines.collect()
    };
    let first = app.run();
    assert_eq!((first.excluded, idle(&first)), (1, vec![2]));
    let second = app.run();
    assert_eq!((second.classes_cached, second.excluded, idle(&second)), (second.classes, 1, vec![2]));
    fs::write(&rules, "exclude class app.Leaf\nexclude class gone.Gone\n").unwrap();
    let third = app.run();
    assert_eq!((third.classes_cached, idle(&third)), (0, vec![2]));
    assert!(third.warnings.iter().any(|(_, warning)| matches!(warning, Warning::CacheRejected(_))));
    assert!(app.names("app/Caller", "(I)V") && !app.names("app/Leaf", "(I)V"));
    // An extended catalogue means a full rebuild.
    app.options.waits.as_mut().unwrap().add("blocking far/Worker join").unwrap();
    assert_eq!(app.run().classes_cached, 0);
    assert!(app.tells_the_join());
}

#[test]
fn compat_matrix_refuses_a_cache_and_waits() {
    let app = App::new("decisions_matrix", true);
    for options in [
        Options { cache: Some(app.root.join("cache")), ..Options::matrix() },
        Options { waits: Some(Catalogue::default()), ..Options::matrix() },
    ] {
        let refused = app.run_to("out", &options);
        assert!(matches!(refused, Err(Error::NotWithMatrix { .. })), "{refused:?}");
        assert!(!app.root.join("out").exists());
    }
}
