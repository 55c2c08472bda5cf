//! The Closure Compiler: 6,662 classes of many compilers, shaded into one jar.

use std::fs;
use std::path::{Path, PathBuf};

use instrumenter::{Catalogue, Filter, Options};

use crate::support::*;

/// Where `scripts/test` puts downloaded test data.
fn closure_compiler() -> PathBuf {
    let data = std::env::var_os("ANRSCOPE_TEST_DATA").map(PathBuf::from);
    let data = data.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/test-data"));
    let jar = data.join("closure/package/compiler.jar");
    assert!(
        jar.is_file(),
        "{} is missing: run scripts/test, which fetches it (npm pack google-closure-compiler-java@20230802.0.0), \
         or name the directory of test data with ANRSCOPE_TEST_DATA",
        jar.display()
    );
    jar
}

/// With waits, which are the most calls that a class can get; `scripts/prove verify` has the other forms.
#[test]
fn every_class_of_a_real_jar_verifies_and_calls_balance() {
    let directory = directory("closure");
    let jar = closure_compiler();
    let traced = directory.join("traced.jar");
    // Its copy of Guava, too, whose futures are left out by default.
    let all = Options { filter: Filter::none(), waits: Some(Catalogue::default()), ..Options::default() };
    let summary = instrument_one(&jar, &traced, &all);
    assert_eq!(summary.skipped, []);
    assert!(summary.traced > 48_000 && summary.short > 1_300 && summary.classes > 6_600, "{summary:?}");

    let beat = method_beat();
    let tools = directory.join("tools");
    fs::create_dir(&tools).unwrap();
    javac(&tools, &["-cp", text(&jar)], &["tools/VerifyAll.java", "tools/CompileScript.java"]);

    let verify = |jar: &Path| {
        let path = class_path(&[&tools, beat]);
        let printed = run("java", &["-Xverify:all", "-cp", &path, "tools.VerifyAll", text(jar)]);
        let (linked, failures) = printed.split_once('\n').unwrap();
        (linked.strip_prefix("linked ").unwrap().parse::<u32>().unwrap(), failures.to_owned())
    };
    let (linked, failures) = verify(&jar);
    assert!(linked > 6_600);
    // One more class: the map id.
    assert_eq!(verify(&traced), (linked + 1, failures));

    let counts = directory.join("beat.txt");
    let property = format!("-Dbeat.out={}", text(&counts));
    let compile = |jar: &Path| {
        let path = class_path(&[&tools, beat, jar]);
        run("java", &[&property, "-cp", &path, "tools.CompileScript"])
    };
    let plain = compile(&jar);
    assert!(plain.starts_with("true\n"), "{plain}");
    assert_eq!(plain, compile(&traced));
    let beat = Beat::read(&counts);
    beat.assert_balanced(100_000);
    assert!(beat.waits > 100, "{beat:?}");
}
