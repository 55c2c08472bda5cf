//! The Maven repository that `scripts/maven` makes. `scripts/prove maven` resolves it with Maven and Gradle.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use test_support::temp_dir::TempDir;

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

#[track_caller]
fn script(path: &str, arguments: &[&str]) -> String {
    let output = Command::new(root().join(path)).args(arguments).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{path} {arguments:?}: {stderr}");
    stderr
}

/// What a coreutils program prints of a file, as a judge of the script's checksums.
fn sum(program: &str, path: &Path) -> String {
    let output = Command::new(program).arg(path).output().unwrap();
    String::from_utf8(output.stdout).unwrap().split(' ').next().unwrap().to_owned()
}

fn files(directory: &Path, all: &mut BTreeMap<String, PathBuf>, top: &Path) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, all, top);
        } else {
            all.insert(path.strip_prefix(top).unwrap().to_str().unwrap().to_owned(), path);
        }
    }
}

#[test]
fn the_repository_has_what_maven_and_gradle_need() {
    let directory = TempDir::new();
    let (aars, out) = (directory.name("aars"), directory.name("repository"));
    script("scripts/instrument/java-aars", &[&aars]);
    // The file is copied as it is; scripts/prove maven takes the real one.
    let plugin = directory.file("plugin.jar", "a jar");
    let program = format!("linux-x86_64={}", directory.file("program", "a program"));
    let arguments = ["--aars", &aars, "--plugin", &plugin, "--program", &program, "--out", &out];
    let said = script("scripts/maven", &arguments);
    let workspace = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let addressed =
        ["repository", "authors"].iter().all(|field| workspace.contains(&format!("\n{field} = ")));
    assert_eq!(said.contains("Maven Central refuses them"), !addressed, "{said}");
    let mut all = BTreeMap::new();
    files(Path::new(&out), &mut all, Path::new(&out));

    let text = |name: &str| fs::read_to_string(&all[name]).unwrap();
    let mut artifacts = vec![
        ("anrscope", "aar"),
        ("anrscope-no-op", "aar"),
        ("anrscope-export", "aar"),
        ("anrscope-gradle-plugin", "jar"),
    ];
    if root().join("android/debug").is_dir() {
        artifacts.push(("anrscope-debug", "aar"));
        let pom = text(&format!("dev/anrscope/anrscope-debug/{VERSION}/anrscope-debug-{VERSION}.pom"));
        for needed in ["anrscope", "anrscope-export"] {
            assert!(pom.contains(&format!("<artifactId>{needed}</artifactId>")), "{pom}");
        }
    } else {
        assert!(said.contains("left out: anrscope-debug: there is no "), "{said}");
    }
    for (artifact, kind) in artifacts {
        let stem = format!("dev/anrscope/{artifact}/{VERSION}/{artifact}-{VERSION}");
        let pom = text(&format!("{stem}.pom"));
        for line in [
            "<!-- do_not_remove: published-with-gradle-metadata -->".to_owned(),
            format!("<version>{VERSION}</version>"),
            format!("<packaging>{kind}</packaging>"),
            format!("<name>{artifact}</name>"),
            "<description>".to_owned(),
            "<url>https://www.apache.org/licenses/LICENSE-2.0.txt</url>".to_owned(),
        ] {
            assert!(pom.contains(&line), "{line} is not in {pom}");
        }
        let module: serde_json::Value = serde_json::from_str(&text(&format!("{stem}.module"))).unwrap();
        assert_eq!(module["formatVersion"], "1.1");
        assert_eq!(module["component"]["version"], VERSION);
        let variants = module["variants"].as_array().unwrap();
        let mut named = Vec::new();
        for file in variants.iter().flat_map(|variant| variant["files"].as_array().unwrap()) {
            let path = &all[&format!("dev/anrscope/{artifact}/{VERSION}/{}", file["url"].as_str().unwrap())];
            assert_eq!(file["size"], fs::metadata(path).unwrap().len());
            assert_eq!(file["sha256"], sum("sha256sum", path));
            named.push(file["name"].as_str().unwrap().to_owned());
        }
        let file = |end: &str| format!("{artifact}-{VERSION}{end}");
        let main = file(&format!(".{kind}"));
        assert_eq!(named, [main.clone(), main, file("-sources.jar"), file("-javadoc.jar")]);
        let metadata = text(&format!("dev/anrscope/{artifact}/maven-metadata.xml"));
        assert!(metadata.contains(&format!("<release>{VERSION}</release>")), "{metadata}");
    }
    let aar = format!("dev/anrscope/anrscope/{VERSION}/anrscope-{VERSION}.aar");
    assert_eq!(fs::read(&all[&aar]).unwrap(), fs::read(Path::new(&aars).join("anrscope.aar")).unwrap());
    let program =
        format!("dev/anrscope/anrscope-program/{VERSION}/anrscope-program-{VERSION}-linux-x86_64.exe");
    assert_eq!(text(&program), "a program");
    // Gradle finds the plug-in's jar by this POM.
    let marker = text(&format!(
        "dev/anrscope/dev.anrscope.gradle.plugin/{VERSION}/dev.anrscope.gradle.plugin-{VERSION}.pom"
    ));
    assert!(marker.contains("<artifactId>anrscope-gradle-plugin</artifactId>"), "{marker}");

    let checksums =
        [("md5", "md5sum"), ("sha1", "sha1sum"), ("sha256", "sha256sum"), ("sha512", "sha512sum")];
    let mut counted = 0;
    for (name, path) in &all {
        if checksums.iter().all(|(kind, _)| !name.ends_with(&format!(".{kind}"))) {
            for (kind, program) in checksums {
                assert_eq!(text(&format!("{name}.{kind}")), sum(program, path), "{name}.{kind}");
            }
            counted += 1;
        }
    }
    assert_eq!(counted * 5, all.len(), "each file has its checksums, and there is nothing else");
}

#[test]
fn versions_are_those_of_cargo() {
    let build = fs::read_to_string(root().join("instrumenter/gradle/build.gradle")).unwrap();
    assert!(build.contains(&format!("\nversion = '{VERSION}'\n")), "{build}");
    let page = fs::read_to_string(root().join("docs/instrumenting.md")).unwrap();
    for name in ["id 'dev.anrscope' version '", "'dev.anrscope:anrscope:", "programVersion = '"] {
        let mut found = page.split(name).skip(1).peekable();
        assert!(found.peek().is_some(), "{name}");
        for version in found {
            assert_eq!(version.split('\'').next(), Some(VERSION), "{name}");
        }
    }
}

#[test]
fn the_page_has_every_option_of_the_gradle_plug_in() {
    let options = "instrumenter/gradle/src/main/java/dev/anrscope/gradle/AnrscopeExtension.java";
    let options = fs::read_to_string(root().join(options)).unwrap();
    let page = fs::read_to_string(root().join("docs/instrumenting.md")).unwrap();
    let block = page.split("\nanrscope {\n").nth(1).unwrap().split("\n}\n").next().unwrap();
    let getters = options.split(" get").skip(1).filter_map(|rest| rest.split_once("();"));
    let mut count = 0;
    for (getter, _) in getters.filter(|(getter, _)| getter.chars().all(char::is_alphabetic)) {
        let name = getter[..1].to_lowercase() + &getter[1..];
        assert!(
            block.contains(&format!("\n    {name} = ")) || block.starts_with(&format!("    {name} = ")),
            "{name}"
        );
        count += 1;
    }
    assert_eq!(count, 16);
}
