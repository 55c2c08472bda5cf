//! Programs of several kinds: jars, signed ones, loaders, modules.

use std::fs;

use crate::support::*;

#[test]
fn a_signed_jar_keeps_its_signers_and_is_recorded() {
    let directory = directory("signed");
    let (classes, jar) = (directory.join("classes"), directory.join("signed.jar"));
    compile("plain", &classes, &[]);
    tool("jar", &["cfe", text(&jar), "plain.Identity", "-C", text(&classes), "."]);
    let store = directory.join("keys");
    let key = ["-storepass", "secret", "-keypass", "secret", "-keystore", text(&store)];
    let make = ["-genkeypair", "-alias", "test", "-keyalg", "RSA", "-dname", "CN=test"];
    tool("keytool", &[&make[..], &key].concat());
    tool("jarsigner", &[&key[..], &[text(&jar), "test"]].concat());

    let (shown, calls) = same(&directory, &["-jar", text(&jar), "a b", ""]);
    assert_eq!(shown.code, Some(2));
    for line in ["arguments [a b, ]", "signers 1", "properties []"] {
        assert!(shown.stdout.lines().any(|printed| printed == line), "{line}: {shown:?}");
    }
    assert!(shown.stdout.contains(&format!("class path {}\n", text(&jar))), "{shown:?}");
    assert_eq!(calls["main"]["plain.Identity.main"], 1);
    assert_eq!((calls["main"]["plain.Identity.work"], calls["worker"]["plain.Identity.work"]), (10, 20));
    assert_eq!(calls["worker"]["plain.Identity.locked"], 19);
    assert_eq!(calls["worker"]["plain.Identity.lambda$main$0"], 1);
}

#[test]
fn what_a_killed_program_has_recorded_has_its_names() {
    let directory = directory("killed");
    let classes = directory.join("classes");
    compile("plain", &classes, &[]);
    let (shown, calls) = same(&directory, &["-cp", text(&classes), "plain.Identity", "kill"]);
    assert_eq!(shown.code, Some(7));
    assert_eq!(calls["main"]["plain.Identity.work"], 10);
}

#[test]
fn classes_of_all_loaders_are_traced_but_for_those_that_do_not_find_the_recorder() {
    let directory = directory("loaders");
    let (classes, plug) = (directory.join("classes"), directory.join("plug"));
    compile("plain", &classes, &[]);
    compile("plug", &plug, &[]);
    let (shown, calls) = same(&directory, &["-cp", text(&classes), "plain.Loaders", text(&plug)]);
    assert_eq!(shown.stdout.lines().count(), 7, "{shown:?}");
    // Loaders of one class may answer differently.
    for how in [
        "by its parents",
        "without a parent",
        "own classes first",
        "own classes first, eager",
        "open",
        "closed",
        "open again",
    ] {
        let of_thread = &calls[how];
        assert_eq!(of_thread["plain.Loaders.call"], 1, "{how}: {of_thread:?}");
        let traced = usize::from(how != "closed");
        for method in ["plug.Work.main", "plug.Work$Inner.greet", "plug.Work$Base.greeting"] {
            assert_eq!(of_thread.get(method).copied().unwrap_or(0), traced, "{how}: {of_thread:?}");
        }
    }
    // One id for a method, whichever loader has defined its class.
    let names = names(&directory.join("methodMapping.txt"));
    assert_eq!(names.values().filter(|name| *name == "plug.Work.main").count(), 1);
}

/// A class that is changed later than that takes a retransformation, which visits all classes.
#[test]
fn classes_of_thousands_of_loaders_are_changed_while_they_are_defined() {
    const LOADERS: usize = 5000;
    let directory = directory("many_loaders");
    let classes = directory.join("classes");
    compile("plain", &classes, &[]);
    let log = directory.join("redefined");
    let options = ["-Xcheck:jni".to_owned(), format!("-Xlog:redefine+class*=info:file={}", text(&log))];
    let [check, redefined] = options.each_ref().map(String::as_str);
    let arguments = [check, redefined, "-cp", text(&classes), "plain.ManyLoaders", "5000"];
    let (shown, calls) = same(&directory, &arguments);
    assert_eq!(shown.stdout, "12502500\n", "the warnings of -Xcheck:jni are on stdout");
    assert_eq!(calls["main"]["plain.ManyLoaders$Each.of"], LOADERS);
    assert_eq!(fs::read_to_string(&log).unwrap(), "");
}

#[test]
fn modules_are_traced_and_hidden_classes_run_as_they_are() {
    let directory = directory("modules");
    let modules = directory.join("modules");
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/mod");
    let sources = sources("mod");
    let arguments = ["-d", text(&modules), "--module-source-path", text(&root)];
    tool("javac", &arguments.into_iter().chain(sources.iter().map(String::as_str)).collect::<Vec<_>>());
    let (shown, calls) = same(&directory, &["-p", text(&modules), "-m", "app/app.Main"]);
    assert!(shown.stdout.starts_with("module app module lib\n"), "{shown:?}");
    assert!(shown.stdout.ends_with("true hello HIDDEN\n"), "{shown:?}");
    let main = &calls["main"];
    assert_eq!((main["app.Main.main"], main["app.Main$Point.length"]), (1, 1), "{main:?}");
    assert_eq!((main["app.Main.lambda$main$0"], main["lib.Greeter.greet"]), (1, 3), "{main:?}");
    assert_eq!(main.get("app.Hidden.call"), None);
}

#[test]
fn a_program_runs_untraced_if_the_agent_cannot_work() {
    let directory = directory("refused");
    let classes = directory.join("classes");
    compile("plain", &classes, &[]);
    let arguments = ["-cp", text(&classes), "plain.Identity"];
    let run = |text: &str, more: &[&str]| {
        let plain = shown(java().args(more).args(arguments));
        let agent = agent(&directory, &settings(&directory));
        let file = directory.join("agent.settings");
        fs::write(&file, text.replace("MAP", directory.join("m.txt").to_str().unwrap())).unwrap();
        let shown = shown(java().arg(agent).args(more).args(arguments));
        assert_eq!((&shown.stdout, shown.code), (&plain.stdout, plain.code), "{shown:?}");
        shown.stderr
    };
    for (text, says) in [
        ("", "agent.settings has no line map=FILE"),
        ("map=/no/such/directory/m.txt", "cannot write /no/such/directory/m.txt: No such file"),
        ("map=MAP\nrules=/no/such/rules", "cannot read /no/such/rules"),
        ("map=MAP\nwaits=/no/such/calls", "cannot read /no/such/calls"),
    ] {
        let stderr = run(text, &[]);
        assert!(stderr.starts_with("anrscope: nothing is recorded: ") && stderr.contains(says), "{stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }
    assert_eq!(run("map=MAP", &["-Danrscope.off=true"]), "", "as it was asked for");
}
