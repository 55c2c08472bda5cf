//! Classes that come one by one become what a run over all of them makes.

use std::fs;
use std::path::{Path, PathBuf};

use instrumenter::live::{Decision, Left, Live};
use instrumenter::{Catalogue, Compat, Input, MapPaths, Options, SkipReason, instrument};
use noak::AccessFlags;
use noak::reader::Class;
use noak::reader::attributes::{AttributeContent, RawInstruction};
use trace_format::MapId;

use crate::support::*;

/// The class files below a directory, by their paths there.
fn classes(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(path) = pending.pop() {
        match path.is_dir() {
            true => pending.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path())),
            false if path.extension().is_some_and(|end| end == "class") => {
                found.push(path.strip_prefix(directory).unwrap().to_owned());
            }
            false => {}
        }
    }
    found.sort();
    found
}

/// True if a class has synchronized methods or blocks.
fn has_monitors(bytes: &[u8]) -> bool {
    let class = Class::new(bytes).unwrap();
    let pool = class.pool();
    class.methods().iter().map(Result::unwrap).any(|method| {
        let attributes = method.attributes().iter().map(Result::unwrap);
        let mut contents = attributes.filter_map(|attribute| attribute.read_content(pool).ok());
        method.access_flags().contains(AccessFlags::SYNCHRONIZED)
            || contents.any(|content| {
                let AttributeContent::Code(code) = content else { return false };
                code.raw_instructions().any(|at| matches!(at, Ok((_, RawInstruction::MonitorEnter))))
            })
    })
}

fn live(directory: &Path, options: &Options) -> Live {
    let maps = MapPaths::beside(directory.join("live/methodMapping.txt"));
    if maps.methods.exists() {
        // A map is never replaced.
        let error = Live::create(options, &maps, MapId(7)).unwrap_err();
        assert!(error.to_string().contains("methodMapping.txt"), "{error}");
        for file in [Some(&maps.methods), maps.lines.as_ref()].into_iter().flatten() {
            fs::remove_file(file).unwrap();
        }
    }
    Live::create(options, &maps, MapId(7)).unwrap()
}

/// The methods of a map, without ids.
fn methods(map: &Path) -> Vec<String> {
    let text = fs::read_to_string(map).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let mut methods: Vec<String> = lines.map(|line| line.split_once(',').unwrap().1.to_owned()).collect();
    methods.sort();
    methods
}

#[test]
fn each_class_is_what_a_run_over_all_writes() {
    let directory = directory("live_same");
    fs::create_dir(directory.join("live")).unwrap();
    let root = directory.join("classes");
    fs::create_dir(&root).unwrap();
    compile_fixture(&root, &["-g", "--release", "8"]);
    javac(&root, &["-g", "--release", "8"], &["fixture/Waits.java", "fixture/Starts.java"]);
    // Costs of methods in other classes are not known to it.
    let waits = Some(Catalogue::default());
    let whole = Options { waits, short: 0, ..Options::default() };
    let out = directory.join("out");
    let jar = directory.join("fixture.jar");
    run("jar", &["cf", text(&jar), "-C", text(&root), "."]);
    // One whose manifest names the other, and is named by it.
    let (pathing, manifest) = (directory.join("pathing.jar"), directory.join("manifest"));
    fs::write(&manifest, "Class-Path: pathing.jar no/such.jar fixture.jar\n").unwrap();
    run("jar", &["cfm", text(&pathing), text(&manifest)]);
    let maps = MapPaths::beside(directory.join("methodMapping.txt"));
    let summary = instrument(&[Input::new(&root, &out)], &maps, &whole, &|_| {}).unwrap();

    let fresh = live(&directory, &whole);
    for class in classes(&root) {
        fresh.class(&fs::read(root.join(class)).unwrap());
    }
    assert_eq!(methods(&directory.join("live/methodMapping.txt")), methods(&maps.methods));
    assert_eq!(fresh.counts().methods as usize, summary.traced + summary.unused_ids);

    // With the ids of the other run, each class is the same byte for byte once its supertypes are known: after all were shown,
    // or from the class path.
    let base_map = Some(maps.methods.clone());
    let by_class_path =
        [Vec::new(), vec!["/no/such.jar".into(), jar.clone()], vec![pathing], vec![root.clone()]];
    for (class_path, round) in by_class_path.into_iter().flat_map(|path| [(path.clone(), 0), (path, 1)]) {
        let knows = !class_path.is_empty();
        let live = live(&directory, &Options { base_map: base_map.clone(), class_path, ..whole.clone() });
        for class in classes(&root).iter().filter(|_| round == 1) {
            live.class(&fs::read(root.join(class)).unwrap());
        }
        let (mut changed, mut differs) = (0, 0);
        for class in classes(&root) {
            let (plain, expected) =
                (fs::read(root.join(&class)).unwrap(), fs::read(out.join(&class)).unwrap());
            let bytes = match live.class(&plain) {
                Decision::Rewritten { bytes, .. } => bytes,
                Decision::Left(_) => plain.clone(),
            };
            changed += usize::from(bytes != plain);
            let is_same = bytes == expected;
            if has_monitors(&plain) {
                assert!(bytes != expected, "an agent times the waits for monitors");
                continue;
            }
            assert!(is_same || round == 0 && !knows, "{} in round {round}", class.display());
            differs += usize::from(!is_same);
        }
        // Otherwise this test would show nothing.
        assert!(knows || round == 1 || differs > 0);
        assert_eq!(changed, summary.classes_changed);
    }
}

#[test]
fn supertypes_are_found_in_places_that_are_added_later() {
    let directory = directory("live_later");
    fs::create_dir(directory.join("live")).unwrap();
    let root = directory.join("classes");
    fs::create_dir(&root).unwrap();
    javac(&root, &["-g", "--release", "8"], &["fixture/Waits.java", "fixture/Starts.java"]);
    let live =
        live(&directory, &Options { waits: Some(Catalogue::default()), short: 0, ..Options::default() });
    let all = || -> Vec<Vec<u8>> {
        let bytes = classes(&root).into_iter().map(|class| fs::read(root.join(class)).unwrap());
        bytes
            .map(|plain| match live.class(&plain) {
                Decision::Rewritten { bytes, .. } => bytes,
                Decision::Left(_) => plain,
            })
            .collect()
    };
    let before = all();
    live.search(root.clone());
    let (after, again) = (all(), all());
    assert_ne!(before, after);
    assert_eq!(after, again);
}

#[test]
fn classes_of_the_jdk_are_changed_on_request_and_without_waits() {
    let directory = directory("live_jdk");
    fs::create_dir(directory.join("live")).unwrap();
    let root = directory.join("classes");
    fs::create_dir_all(root.join("source/java/util")).unwrap();
    let source = root.join("source/java/util/Own.java");
    let body =
        "synchronized int go(int n) { int sum = 0; for (int i = 0; i < n; i++) { sum += i; } return sum; }";
    fs::write(&source, format!("package java.util; public class Own {{ {body} }}")).unwrap();
    run(
        "javac",
        &[
            "-d",
            text(&root),
            "--patch-module",
            &format!("java.base={}", text(&root.join("source"))),
            text(&source),
        ],
    );
    let plain = fs::read(root.join("java/util/Own.class")).unwrap();
    let live = live(&directory, &Options { waits: Some(Catalogue::default()), ..Options::default() });
    assert!(matches!(live.class(&plain), Decision::Left(Left::NothingToTrace)));
    let Decision::Rewritten { bytes, skipped } = live.jdk_class(&plain) else { panic!("it was left") };
    assert!(skipped.is_empty());
    let calls = |bytes: &[u8], name: &[u8]| bytes.windows(name.len()).any(|part| part == name);
    assert!(calls(&bytes, b"dev/anrscope/MethodBeat") && !calls(&bytes, b"(ILjava/lang/Object;)V"));
    assert!(live.has("java/util/Own"));
}

#[test]
fn methods_keep_their_modifiers_and_monitors_are_only_noted() {
    let directory = directory("live_monitors");
    fs::create_dir(directory.join("live")).unwrap();
    let classes = directory.join("classes");
    fs::create_dir(&classes).unwrap();
    fs::write(classes.join("Book.java"), BOOK).unwrap();
    run("javac", &["-d", text(&classes), text(&classes.join("Book.java"))]);
    let live = live(&directory, &Options { waits: Some(Catalogue::default()), ..Options::default() });
    let plain = fs::read(classes.join("Book.class")).unwrap();
    let modifiers = |bytes: &[u8]| -> Vec<u16> {
        let class = Class::new(bytes).unwrap();
        class.methods().iter().map(|method| method.unwrap().access_flags().bits()).collect()
    };
    let Decision::Rewritten { bytes, .. } = live.class(&plain) else { panic!("it was left") };
    assert_eq!(modifiers(&bytes), modifiers(&plain));
    // The owner is noted by `wt`, and no wait begins or ends.
    let calls = |name: &[u8]| bytes.windows(name.len()).any(|part| part == name);
    assert!(calls(b"(ZLjava/lang/Object;)V") && calls(b"\x01\0\x02wr"));
    assert!(live.id_of("Book", "size", "()I").is_some());
    assert_eq!([live.id_of("Book", "size", "()J"), live.id_of("Cart", "size", "()I")], [None, None]);
}

const BOOK: &str = "class Book {
    int n;
    synchronized int size() { return n; }
    void add(Book other) { synchronized (other) { other.n += n; } }
}
";

#[test]
fn what_cannot_be_done_is_left_with_a_reason() {
    let directory = directory("live_left");
    fs::create_dir(directory.join("live")).unwrap();
    let options = Options::default();
    let live = live(&directory, &options);
    let left = |bytes: &[u8]| match live.class(bytes) {
        Decision::Left(left) => left,
        Decision::Rewritten { .. } => panic!("it was rewritten"),
    };
    assert!(matches!(left(b"PK"), Left::Skipped(SkipReason::Malformed(_))));
    let plain = fs::read(fixture().join(&classes(fixture())[0])).unwrap();
    for length in (0..plain.len()).step_by(7) {
        left(&plain[..length]);
    }
    let mut done = 0;
    for class in classes(fixture()) {
        let plain = fs::read(fixture().join(class)).unwrap();
        if let Decision::Rewritten { bytes, .. } = live.class(&plain) {
            assert!(matches!(left(&bytes), Left::Skipped(SkipReason::AlreadyInstrumented)));
            done += 1;
        }
    }
    assert!(done > 10 && live.counts().classes == done);
    for refused in [
        Options { compat: Compat::Matrix, ..Options::default() },
        Options { cache: Some(directory.clone()), ..Options::default() },
        Options { explain: Some("a.B".into()), ..Options::default() },
    ] {
        let maps = MapPaths::beside(directory.join("m.txt"));
        let error = Live::create(&refused, &maps, MapId(7)).unwrap_err().to_string();
        assert!(error.contains("before the program starts"), "{error}");
    }
}
