//! What the agent alone can do.

use std::fs;
use std::path::Path;

use super::jvm_programs::Programs;
use test_support::engine;
use test_support::jdk::{compile, compile_files, pack, sign};
use test_support::program::{Shown, run};

#[test]
fn packages_of_the_jdk_are_traced_on_request() {
    let programs = Programs::build();
    let plain = Shown::from(programs.plain().args(["-cp", "classes", "Program"]).output().unwrap());
    let keep = programs.name("keep");
    for (own, expected) in [(&[][..], false), (&["--jdk", "java.io,java.util.concurrent"], true)] {
        let shown = programs.shown(&[&["--keep", &keep], own].concat(), &["-cp", "classes", "Program"]);
        assert_eq!((&shown.stdout, shown.code), (&plain.stdout, plain.code), "{shown:?}");
        let map = fs::read_to_string(Path::new(&keep).join("methodMapping.txt")).unwrap();
        assert_eq!(map.contains(",java.io.PrintStream println"), expected, "{own:?}");
        assert!(!map.contains(",java.util.HashMap "), "{own:?}");
    }
    let refused = |names| programs.shown(&["--jdk", names], &["-cp", "classes", "Program"]);
    refused("java.io,java.lang.String")
        .failed(2, &["java.lang.String cannot be traced", "the recorder itself calls it"]);
    refused("jdk.internal").failed(2, &["the JVM relies on it"]);
    refused("java.io.*").failed(2, &["no name of a package or class"]);
}

#[test]
fn the_agent_traces_modules_and_source_files() {
    let programs = Programs::build();
    let source = programs.directory.file(
        "Hello.java",
        "public class Hello { public static void main(String[] a) { System.out.println(greeting(a)); } \
         static String greeting(String[] a) { return String.join(\" \", a).concat(\"!\"); } }",
    );
    let module = programs.directory.file("module-info.java", "module hello { }");
    let packaged = programs
        .directory
        .file("module/hello/Hello.java", format!("package hello; {}", fs::read_to_string(&source).unwrap()));
    compile_files(&[&module, &packaged], &programs.directory.path().join("modules/hello"));
    for (arguments, class) in [
        (&[source.as_str(), "hi", "you"][..], "Hello"),
        (&["-p", "modules", "-m", "hello/hello.Hello", "hi", "you"], "hello.Hello"),
    ] {
        let plain = Shown::from(programs.plain().args(arguments).output().unwrap());
        assert_eq!((plain.stdout.as_str(), plain.code), ("hi you!\n", Some(0)), "{plain:?}");
        assert_eq!(programs.shown(&["--quiet"], arguments), plain);
        let shown = programs.shown(&["--resolution", "exact"], arguments);
        let trace = programs.directory.path().join("anrscope-out/Hello.pftrace");
        assert!(shown.stderr.contains("Hello.pftrace\n"), "{shown:?}");
        let query = format!("select count(*) as n from slice where name like '{class}.%'");
        assert_eq!(engine::rows(&trace, &query)[0]["n"], 2, "{shown:?}");
    }
}

#[test]
fn classes_from_outside_the_class_path_are_traced() {
    let programs = Programs::build();
    let plugin = programs.directory.path().join("plug ins");
    fs::create_dir_all(&plugin).unwrap();
    let plugin = plugin.join("greeter.jar");
    fs::copy(programs.name("libs/greeter.jar"), &plugin).unwrap();
    let loader = programs.directory.path().join("loader");
    fs::create_dir_all(&loader).unwrap();
    compile(&["Loader"], Path::new(""), &loader);
    let plugin = plugin.canonicalize().unwrap().to_str().unwrap().to_owned();
    let keep = programs.name("kept");
    let shown = programs.shown(&["--keep", &keep], &["-cp", "loader", "Loader", &plugin]);
    assert_eq!(shown.stdout, "hello plug-in\nnot signed\n", "{shown:?}");
    assert!(!shown.stderr.contains("untraced"), "{shown:?}");
    let map = fs::read_to_string(Path::new(&keep).join("methodMapping.txt")).unwrap();
    assert!(map.contains(",Greeter greet ("), "{map}");
    programs.assert_same(&[], &["-cp", "loader", "Loader", &plugin]);
}

#[test]
fn a_signed_jar_keeps_its_signers() {
    let programs = Programs::build();
    let loader = programs.directory.path().join("loader");
    fs::create_dir_all(&loader).unwrap();
    compile(&["Loader"], Path::new(""), &loader);
    let jar = programs.directory.path().join("signed.jar");
    pack(&loader, &jar, "");
    sign(&jar, programs.directory.path());
    let plugin = programs.name("libs/greeter.jar");
    let shown = programs.assert_same(&[], &["-cp", "signed.jar", "Loader", &plugin]);
    assert!(shown.stdout.ends_with("\nsigned\n"), "{shown:?}");
    let shown = programs.shown(&[], &["-cp", "signed.jar", "Loader", &plugin]);
    assert!(shown.stdout.ends_with("\nsigned\n") && !shown.stderr.contains("untraced"), "{shown:?}");
}

#[test]
fn a_jvm_that_the_program_starts_with_its_own_options_has_its_own_map() {
    let programs = Programs::build();
    let parent = programs.directory.file(
        "parent/Parent.java",
        "import java.lang.management.ManagementFactory; import java.util.*; \
         public class Parent { public static void main(String[] a) throws Exception { \
         List<String> line = new ArrayList<>(List.of(System.getProperty(\"java.home\") + \"/bin/java\")); \
         line.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments()); \
         line.addAll(List.of(\"-cp\", System.getProperty(\"java.class.path\"), \"Program\")); \
         System.exit(new ProcessBuilder(line).inheritIO().start().waitFor()); } }",
    );
    compile_files(&[&parent], &programs.directory.path().join("classes"));
    let out = programs.name("both.pftrace");
    let options = ["--resolution", "exact", "--out", &out];
    let shown = programs.shown(&options, &["-cp", "classes", "Parent"]);
    assert!(shown.stdout.contains("hello main") && !shown.stderr.contains("warning"), "{shown:?}");
    let rows = |query: &str| engine::rows(Path::new(&out), query)[0]["n"].clone();
    assert_eq!(rows("select count(*) as n from slice where name like 'method %'"), 0);
    assert_eq!(rows("select count(*) as n from slice where name = 'Parent.main'"), 1);
    assert_eq!(rows("select count(*) as n from slice where name = 'Program.main'"), 1);
    let of_both = "select count(distinct upid) as n from slice join thread_track on thread_track.id = track_id \
                   join thread using (utid) where slice.name in ('Parent.main', 'Program.main')";
    assert_eq!(rows(of_both), 2);
    // Each beside its recording, from which the other commands take it.
    let again = programs.name("again.pftrace");
    run(["export", &programs.name("both-2.anrscope"), "-o", &again]).ok(&["slices on"]);
    let query = "select count(*) as n from slice where name = 'Program.main'";
    assert_eq!(engine::rows(Path::new(&again), query)[0]["n"], 1);
    programs.assert_tidy();
}

#[test]
fn a_program_that_hangs_until_it_is_ended_has_its_answer() {
    let programs = Programs::build();
    let source = programs.directory.file(
        "dead/Dead.java",
        "import java.util.concurrent.*; public class Dead { \
         static final Object A = new Object(), B = new Object(); static final CountDownLatch BOTH = new CountDownLatch(2); \
         static void both(Object one, Object other) { synchronized (one) { BOTH.countDown(); \
         try { BOTH.await(); } catch (InterruptedException e) { return; } synchronized (other) { System.out.println(one); } } } \
         public static void main(String[] a) { new Thread(() -> both(A, B)).start(); \
         Thread ends = new Thread(() -> { try { Thread.sleep(3_000); } catch (InterruptedException e) { return; } \
         while (java.lang.management.ManagementFactory.getThreadMXBean().findDeadlockedThreads() == null) { Thread.yield(); } \
         System.exit(143); }); ends.setDaemon(true); ends.start(); both(B, A); } }",
    );
    compile_files(&[&source], &programs.directory.path().join("classes"));
    let shown = programs.shown(&[], &["-cp", "classes", "Dead"]);
    // As a JVM ends that SIGTERM asks to.
    assert_eq!(shown.code, Some(143), "{shown:?}");
    for text in ["anrscope: Deadlock in Dead ", "DEADLOCK (high confidence)", "\"main\" waits for \"Thread-"]
    {
        assert!(shown.stderr.contains(text), "{text}: {shown:?}");
    }
}

#[test]
fn the_advice_is_that_for_a_program_without_messages() {
    let programs = Programs::build();
    let source = programs.directory.file(
        "rests/Rests.java",
        "public class Rests { static final Object LOCK = new Object(); static void rest() { synchronized (LOCK) { } } \
         public static void main(String[] a) throws Exception { Thread ends = new Thread(() -> { synchronized (LOCK) { \
         try { Thread.sleep(6_000); } catch (InterruptedException e) { return; } System.exit(0); } }); \
         ends.setDaemon(true); ends.start(); Thread.sleep(500); rest(); } }",
    );
    compile_files(&[&source], &programs.directory.path().join("classes"));
    let trace = programs.name("rests.pftrace");
    programs.shown(&["-o", &trace], &["-cp", "classes", "Rests"]);
    let page = run(["report", &programs.name("rests.anrscope")]).ok(&[]);
    for text in ["LOCK WAIT", "Rests.rest", "Do not hold"] {
        assert!(page.contains(text), "{text}: {page}");
    }
}

#[test]
fn archives_of_classes_are_left_out_where_they_can_be_and_refused_where_not() {
    let programs = Programs::build();
    let classes = programs.name("classes");
    let file = programs.directory.file("words", "-XX:ArchiveClassesAtExit=app.jsa '-Dx=y z'");
    let plain = Shown::from(programs.plain().args(["-cp", &classes, "Program", "a"]).output().unwrap());
    for archive in ["-XX:ArchiveClassesAtExit=app.jsa".to_owned(), format!("@{file}")] {
        let shown = programs.shown(&["--quiet"], &[&archive, "-cp", &classes, "Program", "a"]);
        assert_eq!(plain, shown, "{archive}");
    }
    let mut refused = programs.traced(&[]);
    let refused = refused.args(["-cp", &classes, "Program"]);
    let refused = refused.env("JAVA_TOOL_OPTIONS", "-XX:ArchiveClassesAtExit=app.jsa").output().unwrap();
    let says = String::from_utf8_lossy(&refused.stderr);
    assert!(
        !refused.status.success() && says.contains("JAVA_TOOL_OPTIONS has -XX:ArchiveClassesAtExit"),
        "{says}"
    );
    assert!(says.contains("take it out for this run"), "{says}");
}
