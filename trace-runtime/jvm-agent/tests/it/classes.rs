//! The class files that the JVM gets are those of a run over the class path.

use std::fs;
use std::path::{Path, PathBuf};

use instrumenter::{Catalogue, Input, MapPaths, Options, instrument};
use trace_format::event::WaitKind;
use trace_format::{Event, Item};

use crate::support::*;

/// Runs a program with the agent and one that writes what the JVM has after it, and returns the directory of those files.
fn dumped(directory: &Path, program: &[&str]) -> PathBuf {
    let (jar, dumped) = (directory.join("dump.jar"), directory.join("dumped"));
    for old in ["dumped", "methodMapping.txt", "methodMapping.txt.lines"].map(|name| directory.join(name)) {
        let _ = fs::remove_dir_all(&old);
        let _ = fs::remove_file(&old);
    }
    compile("dump", &directory.join("dump"), &[]);
    let manifest = directory.join("manifest");
    fs::write(&manifest, "Premain-Class: dump.Agent\nCan-Retransform-Classes: true\n").unwrap();
    tool("jar", &["cfm", text(&jar), text(&manifest), "-C", text(&directory.join("dump")), "."]);
    // Both agents may retransform, and the JVM asks them in the order of the command line.
    let agent = agent(directory, &settings(directory));
    let dump = format!("-javaagent:{}={}", jar.display(), dumped.display());
    let shown = shown(java().args([&agent, &dump]).args(program));
    assert_eq!((shown.code, shown.stderr.as_str()), (Some(0), ""));
    dumped
}

/// Instruments `inputs` with the ids of the agent's map.
fn run_over(directory: &Path, inputs: &[Input]) {
    let options = Options {
        base_map: Some(directory.join("methodMapping.txt")),
        waits: Some(Catalogue::default()),
        ..Options::default()
    };
    let maps = MapPaths::beside(directory.join("whole/methodMapping.txt"));
    instrument(inputs, &maps, &options, &|_| {}).unwrap();
}

#[test]
fn another_agent_sees_the_classes_that_a_run_over_the_class_path_writes() {
    let directory = directory("classes");
    let classes = directory.join("classes");
    compile("plain", &classes, &[]);
    compile("plug", &classes, &[]);
    let dumped = dumped(&directory, &["-cp", text(&classes), "plain.Loaders", text(&classes)]);
    let out = directory.join("out");
    run_over(&directory, &[Input::new(&classes, &out)]);
    // `plain/Loaders$OwnFirst` has a monitor, whose waits only the agent leaves to the JVM.
    for class in ["plain/Loaders", "plain/Loaders$Closed", "plug/Work", "plug/Work$Inner"] {
        let file = format!("{class}.class");
        let [plain, whole, live] = [&classes, &out, &dumped].map(|root| fs::read(root.join(&file)).unwrap());
        assert!(plain != live, "{class} was not rewritten");
        assert!(whole == live, "{class} differs");
    }
}

/// A class that is loaded before the supertypes of what it calls.
#[test]
fn supertypes_are_found_in_the_jars_of_the_class_and_of_its_manifest() {
    let directory = directory("supertypes");
    let (classes, out) = (directory.join("classes"), directory.join("out"));
    compile("pool", &classes, &[]);
    fs::create_dir(directory.join("my libs")).unwrap();
    let [main, pool] = [("main", "Uses"), ("pool", "Pool")].map(|(part, class)| {
        let to = directory.join(part);
        fs::create_dir_all(to.join("plug")).unwrap();
        let file = format!("plug/{class}.class");
        fs::copy(classes.join(&file), to.join(&file)).unwrap();
        to
    });
    let (main_jar, pool_jar) = (directory.join("main.jar"), directory.join("my libs/pool.jar"));
    let both_jar = directory.join("both.jar");
    let manifest = directory.join("of-main");
    fs::write(&manifest, "Main-Class: plug.Uses\nClass-Path: my%20libs/pool.jar\n").unwrap();
    tool("jar", &["cfm", text(&main_jar), text(&manifest), "-C", text(&main), "."]);
    tool("jar", &["cf", text(&pool_jar), "-C", text(&pool), "."]);
    tool("jar", &["cf", text(&both_jar), "-C", text(&main), ".", "-C", text(&pool), "."]);
    // Without the class of the pool.
    let plugin = directory.join("plugin");
    fs::create_dir_all(plugin.join("plain")).unwrap();
    fs::copy(classes.join("plain/Plugin.class"), plugin.join("plain/Plugin.class")).unwrap();
    let plugin = ["-cp", text(&plugin), "plain.Plugin"];
    for (what, program) in [
        ("a manifest of the class path", vec!["-jar", text(&main_jar)]),
        ("a loader's jar", [&plugin[..], &[text(&both_jar)]].concat()),
        ("the manifest of a loader's jar", [&plugin[..], &[text(&main_jar)]].concat()),
    ] {
        let dumped = dumped(&directory, &program);
        let _ = fs::remove_dir_all(&out);
        run_over(&directory, &[Input::new(&main, out.join("main")), Input::new(&pool, out.join("pool"))]);
        run_over(&directory, &[Input::new(&main, out.join("alone"))]);
        let [whole, live, alone] = [out.join("main"), dumped, out.join("alone")]
            .map(|root| fs::read(root.join("plug/Uses.class")).unwrap());
        assert!(whole == live, "{what}");
        assert!(whole != alone, "it depends on the super class whether a call submits a task");
    }
}

/// The flag of a synchronized method counts in the version.
#[test]
fn serializable_classes_keep_their_versions_and_the_waits_for_their_locks_are_recorded() {
    let directory = directory("versions");
    let classes = directory.join("classes");
    compile("versions", &classes, &[]);
    let (shown, calls) = same(&directory, &["-Xverify:all", "-cp", text(&classes), "versions.Versions"]);
    assert_eq!(shown.stdout.lines().count(), 11, "{shown:?}");
    assert_eq!(calls["main"]["versions.Versions$Leaf.compareTo"], 2, "the wait and the work: {calls:?}");
    // Main has waited for the method that the owner of the lock slept in.
    let recording = recording(&directory);
    let main = recording.threads().iter().find(|thread| thread.main).unwrap();
    let owner = recording.threads().iter().find(|thread| thread.name.as_deref() == Some("owner")).unwrap();
    let (mut begun, mut longest) = (None, 0);
    for item in recording.events(main) {
        match item.unwrap() {
            Item::Event { event: Event::WaitBegin(wait), time } if wait.owner == owner.uid => {
                assert_eq!(wait.kind, WaitKind::Monitor);
                begun = Some(time);
            }
            Item::Event { event: Event::WaitEnd, time } => {
                longest = longest.max(begun.take().map_or(0, |since| time - since));
            }
            _ => {}
        }
    }
    assert!(longest >= 200_000_000, "{longest}");
}
