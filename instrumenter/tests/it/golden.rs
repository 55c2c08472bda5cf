//! Matrix's own output for the fixture, reproduced; and how the default rules differ, case by case.
//!
//! `tests/data/instr_fixture` contains `in.jar` (its sources are in `src`), what Matrix wrote for it with one worker,
//! and the same with a mapping, a base map and a block list of packages in `mapped`. The environment variable
//! ANRSCOPE_GOLDEN names another directory of the same form to use instead.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use instrumenter::{Input, MapPaths, Options, Summary, Warning, instrument};

use crate::support::*;

fn golden() -> PathBuf {
    let other = std::env::var_os("ANRSCOPE_GOLDEN").map(PathBuf::from);
    other.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/instr_fixture"))
}

struct Run {
    methods: String,
    ignored: String,
    summary: Summary,
    output: PathBuf,
}

fn run(name: &str, input: &Path, options: &Options) -> Run {
    let directory = directory(name);
    let output = directory.join("out.jar");
    let maps = MapPaths::beside(directory.join("methodMapping.txt"));
    let summary = instrument(&[Input::new(input, &output)], &maps, options, &|_| {}).unwrap();
    let methods = fs::read_to_string(&maps.methods).unwrap();
    let ignored = fs::read_to_string(maps.ignored.unwrap()).unwrap();
    Run { methods, ignored, summary, output }
}

fn expected(directory: &Path, name: &str) -> String {
    fs::read_to_string(directory.join(name)).unwrap()
}

#[test]
fn compat_matrix_writes_matrixs_maps_byte_for_byte() {
    let golden = golden();
    let options = Options { block_list: Some(golden.join("block.txt")), ..Options::matrix() };
    for threads in [1, 4] {
        let run = run(
            &format!("golden-{threads}"),
            &golden.join("in.jar"),
            &Options { threads, ..options.clone() },
        );
        assert_eq!(run.methods, expected(&golden, "methodMapping.txt"));
        assert_eq!(run.ignored, expected(&golden, "ignoreMethodMapping.txt"));
        assert_eq!(run.summary.skipped, []);
    }
}

#[test]
fn compat_matrix_writes_matrixs_maps_with_mapping_base_map_and_block_list() {
    let golden = golden();
    let mapped = golden.join("mapped");
    let options = Options {
        block_list: Some(mapped.join("block1.txt")),
        base_map: Some(mapped.join("base.txt")),
        mapping: Some(mapped.join("mapping.txt")),
        ..Options::matrix()
    };
    let run = run("golden-mapped", &golden.join("in.jar"), &options);
    assert_eq!(run.methods, expected(&mapped, "methodMapping.txt"));
    assert_eq!(run.ignored, expected(&mapped, "ignoreMethodMapping.txt"));
    let stale: Vec<_> = run.summary.stale.iter().map(|stale| (stale.id, stale.method.as_str())).collect();
    assert_eq!(stale, [(-1, "com.orig.pkg.Act onWindowFocusChanged (Z)V"), (200, "gone.Class m ()V")]);
}

const ONLY_DISPATCH: &str = "1048574,1,android.os.Handler dispatchMessage (Landroid.os.Message;)V\n";

#[test]
fn compat_matrix_stops_where_matrix_stops_and_reports_it() {
    let extra = golden().join("extra");
    for (jar, untouched) in [("module_info", false), ("nestmates_java11", true)] {
        let run = run(&format!("golden-{jar}"), &extra.join(format!("{jar}.jar")), &Options::matrix());
        assert_eq!(run.methods, ONLY_DISPATCH, "{jar}");
        assert_eq!(run.ignored, "ignore methods:\n", "{jar}");
        let reported = run.summary.warnings.iter().any(
            |(_, warning)| matches!(warning, Warning::MatrixStops { untouched: u, .. } if *u == untouched),
        );
        assert!(reported, "{:?}", run.summary.warnings);
        assert_eq!((run.summary.traced, run.summary.classes_changed), (0, 0), "{jar}");
    }
    // The instrumenter reads both.
    for (jar, methods) in [("module_info", 7), ("nestmates_java11", 1)] {
        let run = self::run(&format!("ours-{jar}"), &extra.join(format!("{jar}.jar")), &Options::default());
        assert!(run.summary.traced >= methods, "{jar}: {:?}", run.summary);
        assert_eq!(run.summary.skipped, []);
    }
}

/// Before every return and every `athrow`, and nowhere else, so that a throw that is caught in the method itself
/// exits twice.
#[test]
fn compat_matrix_calls_o_before_returns_and_throws() {
    let jar = golden().join("extra/local_throw.jar");
    let run = run("golden-local-throw", &jar, &Options::matrix());
    let javap = |jar: &Path| crate::support::run("javap", &["-c", "-p", "-cp", text(jar), "t.LocalThrow"]);
    let code = javap(&run.output);
    let exits = code.matches("com/tencent/matrix/trace/core/AppMethodBeat.o:(I)V").count();
    let enters = code.matches("com/tencent/matrix/trace/core/AppMethodBeat.i:(I)V").count();
    let old = javap(&jar);
    let handlers = |code: &str| code.matches(" any\n").count() + code.matches("Class java/lang/").count();
    assert_eq!(enters, run.summary.traced);
    // Those of the constructor do not count, because the default rule skips it.
    let ends = old.lines().filter(|line| line.ends_with("return") || line.ends_with(": athrow")).count() - 1;
    assert!(ends > enters, "{old}");
    assert_eq!(exits, ends, "{code}");
    assert_eq!(handlers(&code), handlers(&old));
}

/// Returns the lines of `methodMapping.txt` without their ids.
fn methods(map: &str) -> BTreeSet<&str> {
    map.lines().filter_map(|line| line.splitn(3, ',').nth(2)).collect()
}

#[test]
fn the_default_rules_differ_from_matrix_only_as_listed() {
    let golden = golden();
    let options = Options { block_list: Some(golden.join("block.txt")), ..Options::default() };
    let ours = run("golden-ours", &golden.join("in.jar"), &options);
    let theirs = (expected(&golden, "methodMapping.txt"), expected(&golden, "ignoreMethodMapping.txt"));

    let state = |map: &str, ignored: &str| -> BTreeMap<String, &'static str> {
        let traced = methods(map).into_iter().map(|method| (method.to_owned(), "traced"));
        let ignored = ignored.lines().skip(1).map(|method| (method.to_owned(), "ignored"));
        traced.chain(ignored).collect()
    };
    let (theirs, ours) = (state(&theirs.0, &theirs.1), state(&ours.methods, &ours.ignored));
    let all: BTreeSet<&String> = theirs.keys().chain(ours.keys()).collect();
    let differences: BTreeSet<String> = all
        .into_iter()
        .filter(|method| theirs.get(*method) != ours.get(*method))
        .map(|method| {
            let of = |map: &BTreeMap<String, &'static str>| map.get(method).copied().unwrap_or("absent");
            format!("{} -> {}: {method}", of(&theirs), of(&ours))
        })
        .collect();
    let listed = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/differences_from_matrix.txt");
    let listed = fs::read_to_string(listed).unwrap();
    let listed: BTreeSet<String> =
        listed.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect();
    assert_eq!(differences, listed);
}
