//! The class files that the JVM gets are those of a run over the class path.

use std::fs;

use instrumenter::{Catalogue, Input, MapPaths, Options, instrument};

use crate::support::*;

#[test]
fn another_agent_sees_the_classes_that_a_run_over_the_class_path_writes() {
    let directory = directory("classes");
    let (classes, jar, dumped) =
        (directory.join("classes"), directory.join("dump.jar"), directory.join("dumped"));
    compile("plain", &classes, &[]);
    compile("plug", &classes, &[]);
    compile("dump", &directory.join("dump"), &[]);
    let manifest = directory.join("manifest");
    fs::write(&manifest, "Premain-Class: dump.Agent\nCan-Retransform-Classes: true\n").unwrap();
    tool("jar", &["cfm", text(&jar), text(&manifest), "-C", text(&directory.join("dump")), "."]);

    // Both agents may retransform, and the JVM asks them in the order of the command line.
    let agent = agent(&directory, &settings(&directory));
    let dump = format!("-javaagent:{}={}", jar.display(), dumped.display());
    let program = ["-cp", text(&classes), "plain.Loaders", text(&classes)];
    let shown = shown(java().args([&agent, &dump]).args(program));
    assert_eq!((shown.code, shown.stderr.as_str()), (Some(0), ""));

    let out = directory.join("out");
    let options = Options {
        base_map: Some(directory.join("methodMapping.txt")),
        waits: Some(Catalogue::default()),
        ..Options::default()
    };
    let maps = MapPaths::beside(directory.join("whole/methodMapping.txt"));
    instrument(&[Input::new(&classes, &out)], &maps, &options, &|_| {}).unwrap();
    for class in
        ["plain/Loaders", "plain/Loaders$OwnFirst", "plain/Loaders$Closed", "plug/Work", "plug/Work$Inner"]
    {
        let file = format!("{class}.class");
        let [plain, whole, live] = [&classes, &out, &dumped].map(|root| fs::read(root.join(&file)).unwrap());
        assert!(plain != live, "{class} was not rewritten");
        assert!(whole == live, "{class} differs");
    }
}
