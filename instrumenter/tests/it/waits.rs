//! Waits: programs that behave as before, verify, and record each wait's begin and end.

use std::fs;
use std::path::Path;

use instrumenter::{Catalogue, Exits, Filter, Options, SkipReason, rewrite_class};
use trace_format::event::CallId;

use crate::assembler::{Assembler, Body};
use crate::end_to_end::compare;
use crate::support::*;

fn waits() -> Options {
    Options { waits: Some(Catalogue::default()), ..Options::default() }
}

fn classes(directory: &Path, flags: &[&str]) -> std::path::PathBuf {
    let classes = directory.join("classes");
    fs::create_dir(&classes).unwrap();
    javac(&classes, flags, &["fixture/Waits.java", "fixture/LockOverflow.java"]);
    classes
}

#[test]
fn every_wait_begins_and_ends_on_every_exit() {
    for (name, flags) in
        [("waits8", &["-g", "--release", "8"][..]), ("waits17", &["-g:none", "--release", "17"])]
    {
        let directory = directory(name);
        let classes = classes(&directory, flags);
        let beat = compare(&directory, &classes, "fixture.Waits", &waits(), &[]);
        beat.assert_balanced(100);
        // 600 times the contended lock, and the rest once or a few times each.
        assert!(beat.waits > 700 && beat.waits < 2_000, "{beat:?}");
        assert!(beat.releases > 600, "{beat:?}");
    }
}

#[test]
fn waits_are_recorded_with_normal_exits_too() {
    for exits in [Exits::Normal, Exits::Bare] {
        let directory = directory(&format!("waits_{exits:?}"));
        let classes = classes(&directory, &["-g", "--release", "8"]);
        let options = Options { exits, ..waits() };
        let beat = compare(&directory, &classes, "fixture.Waits", &options, &["-Dbeat.lenient=true"]);
        assert!(beat.waits > 700, "{beat:?}");
        assert_eq!((beat.wrong.as_str(), beat.waits_open), ("none", 0), "{beat:?}");
    }
}

/// All other fixtures, with waits: nothing else changes.
#[test]
fn all_fixtures_run_with_recorded_waits() {
    let directory = directory("waits_all");
    compare(&directory, fixture(), "fixture.Main", &waits(), &[]).assert_balanced(20_000);
}

/// A lock that stays held after an overflow, or a handler that loops, would appear as a hang.
#[test]
fn a_stack_overflow_leaves_no_lock_held() {
    let directory = directory("waits_overflow");
    let classes = classes(&directory, &["-g", "--release", "8"]);
    for more in [&["-Xint"][..], &["-XX:TieredStopAtLevel=1"]] {
        let java = [&["-Dbeat.lenient=true", "-Xss512k"], more].concat();
        let _ = fs::remove_dir_all(directory.join("traced-fixture.LockOverflow"));
        let _ = fs::remove_file(directory.join("beat.txt"));
        let beat = compare(&directory, &classes, "fixture.LockOverflow", &waits(), &java);
        assert!(beat.waits > 1_000, "{beat:?}");
    }
}

/// HotSpot's compilers reject methods with unbalanced monitors; such a method would be slow.
#[test]
fn both_compilers_accept_the_monitors() {
    let directory = directory("waits_balanced");
    let classes = classes(&directory, &["-g", "--release", "8"]);
    let traced = directory.join("traced");
    instrument_one(&classes, &traced, &waits());
    let property = format!("-Dbeat.out={}", text(&directory.join("beat.txt")));
    let path = class_path(&[&traced, method_beat()]);
    let printed = run(
        "java",
        &[
            "-XX:+PrintCompilation",
            "-Xcomp",
            "-XX:CompileCommand=quiet",
            "-XX:CompileCommand=compileonly,fixture/*.*",
            &property,
            "-cp",
            &path,
            "fixture.Waits",
        ],
    );
    assert!(printed.contains("fixture.Waits$Locks::nested"), "{printed}");
    assert!(!printed.contains("COMPILE SKIPPED") && !printed.contains("not compilable"), "{printed}");
}

#[test]
fn calls_are_recorded_with_their_number() {
    let mut class = Assembler::new("Resolves");
    let resolve = class.method_ref("java/net/InetAddress", "getLocalHost", "()Ljava/net/InetAddress;");
    // invokestatic, pop, return
    let code = [&[184][..], &resolve, &[87, 177]].concat();
    class.method(
        9,
        "main",
        "([Ljava/lang/String;)V",
        &Body { code, max_stack: 1, max_locals: 1, ..Body::default() },
    );
    let catalogue = Catalogue::default();
    let beat = "dev/anrscope/MethodBeat";
    let rewritten = rewrite_class(&class.finish(), &[7], beat, Exits::All, Some(&catalogue)).unwrap();
    let [high, low] = CallId::of("java.net.InetAddress", "getLocalHost").with_kind(6).to_be_bytes();
    // sipush, aconst_null: the call has no object.
    assert!(rewritten.bytes.unwrap().windows(4).any(|code| code == [17, high, low, 1]));
}

#[test]
fn without_waits_the_output_is_unchanged() {
    let mut class = Assembler::new("Odd");
    let yields = class.method_ref("java/lang/Thread", "yield", "()V");
    let code = [&[184][..], &yields, &[177]].concat();
    class.method(9, "main", "([Ljava/lang/String;)V", &Body { code, max_locals: 1, ..Body::default() });
    let class = class.finish();
    let plain =
        rewrite_class(&class, &[7], "dev/anrscope/MethodBeat", Exits::All, None).unwrap().bytes.unwrap();
    assert!(!plain.windows(2).any(|pair| pair == b"wb" || pair == b"wr"));
    // The method takes no lock, and the catalogue lists none of its calls: waits add nothing to it.
    let none = Catalogue::empty();
    let with = rewrite_class(&class, &[7], "dev/anrscope/MethodBeat", Exits::All, Some(&none));
    assert_eq!(with.unwrap().bytes.unwrap(), plain);
}

/// A method that takes a lock gets an id even if it calls nothing; otherwise the map is unchanged.
#[test]
fn methods_that_take_locks_are_traced() {
    let directory = directory("waits_filter");
    let mut class = Assembler::new("Odd");
    let body = |code: &[u8]| Body { code: code.to_vec(), max_stack: 1, max_locals: 1, ..Body::default() };
    class.method(0x29, "sync", "()V", &body(&[177]));
    class.method(9, "enter", "(Ljava/lang/Object;)V", &body(&[42, 194, 42, 195, 177]));
    class.method(9, "plain", "()V", &body(&[177]));
    jar(&directory.join("in.jar"), &[("Odd.class", &class.finish())]);
    for (options, traced) in [(waits(), 2), (Options { filter: Filter::none(), ..Options::default() }, 0)] {
        let out = directory.join(format!("out{traced}.jar"));
        assert_eq!(instrument_one(&directory.join("in.jar"), &out, &options).traced, traced);
    }
}

/// Whether a task has started shows in its code alone, so that is traced even if it is short.
#[test]
fn the_code_of_tasks_is_traced() {
    let directory = directory("waits_tasks");
    let classes = directory.join("classes");
    fs::create_dir(&classes).unwrap();
    javac(&classes, &[], &["fixture/ShortTasks.java"]);
    let methods = |name: &str, options: Options| {
        instrument_one(&classes, &directory.join(name), &options);
        let map = fs::read_to_string(directory.join(name).with_extension("map.txt")).unwrap();
        let names =
            map.lines().filter_map(|line| line.split(',').nth(2)?.split(' ').nth(1).map(str::to_owned));
        names.collect::<Vec<_>>()
    };
    let without = methods("plain", Options::default());
    let mut more = methods("waits", waits());
    more.retain(|name| !without.contains(name));
    more.sort();
    assert_eq!(more, ["lambda$submit$0", "lambda$submit$1", "lambda$submit$2", "run"]);
}

/// A broken or endless table costs a method its waits, not its tracing, and is reported.
#[test]
fn a_method_whose_waits_cannot_be_recorded_is_still_traced() {
    let mut class = Assembler::new("Odd");
    let sleep = class.method_ref("java/lang/Thread", "sleep", "(J)V");
    let code = [&[9, 184][..], &sleep, &[177, 191]].concat();
    // A handler without a frame.
    let body = Body { code, handlers: vec![[0, 4, 5, 0]], max_stack: 2, max_locals: 1, ..Body::default() };
    class.method(9, "main", "([Ljava/lang/String;)V", &body);
    let bytes = class.finish();
    let rewritten =
        rewrite_class(&bytes, &[7], "dev/anrscope/MethodBeat", Exits::All, Some(&Catalogue::default()))
            .unwrap();
    assert_eq!(rewritten.skipped, [(0, SkipReason::Waits(Box::new(SkipReason::HandlerWithoutFrame)))]);
    assert!(rewritten.bytes.is_some());
}

/// A part of a coroutine says what it resumes, and whether it was suspended: by the class of what it returned.
#[test]
fn the_parts_of_a_coroutine_and_its_suspensions_are_recorded() {
    let directory = directory("coroutine");
    let classes = directory.join("classes");
    fs::create_dir(&classes).unwrap();
    let fakes = [
        "kotlin/coroutines/Continuation.java",
        "kotlin/coroutines/intrinsics/CoroutineSingletons.java",
        "kotlin/coroutines/jvm/internal/BaseContinuationImpl.java",
        "kotlin/coroutines/jvm/internal/SuspendLambda.java",
        "kotlinx/coroutines/Deferred.java",
    ];
    let sources: Vec<&str> = fakes.into_iter().chain(["fixture/Coroutine.java"]).collect();
    javac(&classes, &["-g", "--release", "8"], &sources);
    let traced = directory.join("traced");
    instrument_one(&classes, &traced, &waits());
    let path = class_path(&[&traced, method_beat()]);
    let printed = std::process::Command::new("java")
        .args(["-Xverify:all", "-Danrscope.steps=true", "-cp", &path, "fixture.Coroutine"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&printed.stdout), "done value\nfailed value\n");
    let steps = String::from_utf8_lossy(&printed.stderr).into_owned();
    let steps: Vec<Vec<String>> = steps
        .lines()
        .filter_map(|line| line.strip_prefix("step main "))
        .map(|line| {
            let words = line.split(' ').map(|word| word.split('@').next().unwrap().to_owned());
            words.enumerate().filter(|(at, _)| [0, 2, 3].contains(at)).map(|(_, word)| word).collect()
        })
        .collect();
    let suspended = "CoroutineSingletons";
    let expected = [
        ["5", "Coroutine", "Last"],
        ["16", "Deferred", suspended],
        ["6", "null", suspended],
        ["5", "Coroutine", "Last"],
        ["6", "null", "String"],
        ["5", "Coroutine", "Last"],
        ["16", "Deferred", suspended],
        ["6", "null", suspended],
        ["5", "Coroutine", "Last"],
        ["6", "null", "IllegalStateException"],
    ];
    assert_eq!(steps, expected, "{}", String::from_utf8_lossy(&printed.stderr));
}
