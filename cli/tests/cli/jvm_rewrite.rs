//! The class path that is rewritten before the program starts.

use std::fs;
use std::path::Path;

use super::jvm_programs::{Programs, names};
use test_support::jdk::{compile, pack, sign};
use test_support::program::Shown;

/// Class files below a directory.
fn classes_below(directory: &Path) -> usize {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| match path.is_dir() {
            true => classes_below(&path),
            false => usize::from(path.extension().is_some_and(|end| end == "class")),
        })
        .sum()
}

#[test]
fn kept_directories_below_the_class_path_are_never_instrumented_again() {
    let programs = Programs::build();
    let classes = programs.directory.path().join("classes");
    let mut found = Vec::new();
    // Each run sees what all before it have kept, and the last two their own.
    for keep in ["kept-1", "kept-2", "a/kept-3", "kept-4", "kept-5", "kept-5", "kept-5"] {
        let mut command = programs.traced(&["--rewrite", "--keep", keep]);
        let shown =
            Shown::from(command.current_dir(&classes).args(["-cp", ".", "Program"]).output().unwrap());
        assert!(shown.stdout.contains("out of the directory"), "{shown:?}");
        assert!(!shown.stderr.contains("warning"), "{shown:?}");
        found.push(classes_below(&classes.join(keep).join("instrumented")));
        assert!(!classes.join(keep).join("instrumented-2").exists());
    }
    assert_eq!(found, [3; 7], "Program, Greeter and the map's identity");
    let kept: u64 = names(&classes.join("kept-5"))
        .iter()
        .map(|name| fs::metadata(classes.join("kept-5").join(name)).unwrap().len())
        .sum();
    assert!(kept < 1_000_000, "three recordings of a few events have {kept} bytes");
}

#[test]
fn classes_from_outside_the_class_path_are_reported() {
    let programs = Programs::build();
    let plugin = programs.directory.path().join("plug ins");
    fs::create_dir_all(&plugin).unwrap();
    let plugin = plugin.join("greeter.jar");
    fs::copy(programs.name("libs/greeter.jar"), &plugin).unwrap();
    let loader = programs.directory.path().join("loader");
    fs::create_dir_all(&loader).unwrap();
    compile(&["Loader"], Path::new(""), &loader);
    let plugin = plugin.canonicalize().unwrap().to_str().unwrap().to_owned();
    let shown = programs.shown(&["--rewrite"], &["-cp", "loader", "Loader", &plugin]);
    assert_eq!(shown.stdout, "hello plug-in\nnot signed\n", "{shown:?}");
    let expected = format!(
        "warning: 1 class ran untraced, loaded by the program from outside of the class path: {plugin} (1)"
    );
    assert!(shown.stderr.contains(&expected), "{shown:?}");
    // On the class path the same jar is traced, and there is nothing to report.
    let both = format!("loader:{plugin}");
    let shown = programs.shown(&["--rewrite"], &["-cp", &both, "Loader", &plugin]);
    assert!(!shown.stderr.contains("untraced"), "{shown:?}");
    // The agent traces it wherever it comes from.
    let keep = programs.name("kept");
    let shown = programs.shown(&["--keep", &keep], &["-cp", "loader", "Loader", &plugin]);
    assert!(!shown.stderr.contains("untraced"), "{shown:?}");
    let map = fs::read_to_string(Path::new(&keep).join("methodMapping.txt")).unwrap();
    assert!(map.contains(",Greeter greet ("), "{map}");
    programs.assert_same(&[], &["-cp", "loader", "Loader", &plugin]);

    // A signature that is lost.
    let jar = programs.directory.path().join("signed.jar");
    pack(&loader, &jar, "");
    sign(&jar, programs.directory.path());
    let plain = programs.plain().args(["-cp", "signed.jar", "Loader", &plugin]).output().unwrap();
    assert!(Shown::from(plain).stdout.ends_with("\nsigned\n"));
    let shown = programs.shown(&[], &["-cp", "signed.jar", "Loader", &plugin]);
    assert!(shown.stdout.ends_with("\nsigned\n") && !shown.stderr.contains("dropped"), "{shown:?}");
    let shown = programs.shown(&["--rewrite"], &["-cp", "signed.jar", "Loader", &plugin]);
    assert!(shown.stdout.ends_with("not signed\n"), "{shown:?}");
    let dropped = "signed.jar: META-INF/TEST.SF is a signature that the changes make invalid: dropped";
    assert!(shown.stderr.contains(dropped), "{shown:?}");
}
