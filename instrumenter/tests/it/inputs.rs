//! Kinds of input, valid and invalid.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use instrumenter::{Error, Input, MapPaths, Options, SkipReason, Summary, Warning, instrument};

use crate::support::*;

fn try_one(from: &Path, to: &Path) -> Result<Summary, Error> {
    let maps = MapPaths::beside(to.with_file_name("methodMapping.txt"));
    instrument(&[Input::new(from, to)], &maps, &Options::default(), &|_| {})
}

/// Checks that the run fails and leaves nothing in `out`.
#[track_caller]
fn fails(from: &Path, out: &Path, message: &str) {
    let error = try_one(from, &out.join("out.jar")).unwrap_err().to_string();
    assert!(error.contains(message), "{error}");
    assert!(error.contains(text(from)), "{error}");
    assert_eq!(files(out), []);
}

#[test]
fn an_input_that_is_not_an_archive_is_an_error_that_names_the_file() {
    let directory = directory("no_archive");
    let out = directory.join("out");
    fs::create_dir(&out).unwrap();
    let missing = directory.join("missing.jar");
    fails(&missing, &out, "cannot read");
    let text_file = directory.join("text.jar");
    fs::write(&text_file, "not a jar").unwrap();
    fails(&text_file, &out, "is not a jar, aar or zip file, or it is cut off");
    let class = old_class();
    let whole = jar_bytes(&[("fixture/Old.class", class), ("x.txt", b"x")]);
    let cut = directory.join("cut.jar");
    fs::write(&cut, &whole[..whole.len() - 40]).unwrap();
    fails(&cut, &out, "fetch it again");
    assert!(matches!(
        instrument(&[], &MapPaths::beside(out.join("m")), &Options::default(), &|_| {}),
        Err(Error::NoInputs)
    ));
}

#[test]
fn outputs_never_overwrite_inputs_or_each_other() {
    let directory = directory("overwrite");
    let class = old_class();
    let a = directory.join("a.jar");
    let classes = directory.join("old");
    fs::create_dir(&classes).unwrap();
    fs::write(classes.join("Old.class"), class).unwrap();
    jar(&a, &[("fixture/Old.class", class)]);
    assert!(matches!(try_one(&a, &a), Err(Error::OutputIsInput(_))));
    let full = directory.join("full");
    fs::create_dir(&full).unwrap();
    fs::write(full.join("x"), "x").unwrap();
    assert!(matches!(try_one(&directory.join("old"), &full), Err(Error::OutputNotEmpty(_))));
    let twice =
        [Input::new(&a, directory.join("t.jar")), Input::new(directory.join("old"), directory.join("t.jar"))];
    let twice = instrument(&twice, &MapPaths::beside(directory.join("m")), &Options::default(), &|_| {});
    assert!(matches!(twice, Err(Error::OutputTwice(_))));
    let bad_name = Options { call_class: "dev.anrscope.MethodBeat".to_owned(), ..Options::default() };
    let bad_name = instrument(
        &[Input::new(&a, directory.join("b.jar"))],
        &MapPaths::beside(directory.join("m")),
        &bad_name,
        &|_| {},
    );
    assert!(matches!(bad_name, Err(Error::CallClass(_))));
    // The second output cannot be written: the first is not left behind either.
    let inputs = [Input::new(&a, directory.join("first.jar")), Input::new(&a, a.join("below-a-file.jar"))];
    assert!(
        instrument(&inputs, &MapPaths::beside(directory.join("m")), &Options::default(), &|_| {}).is_err()
    );
    assert!(!directory.join("first.jar").exists());
    assert!(files(&directory).iter().all(|(path, _)| !text(path).ends_with(".tmp")));
}

#[test]
fn unknown_classes_are_copied_and_reported() {
    let directory = directory("copied");
    let class = old_class();
    let mut future = class.to_vec();
    future[7] = 71;
    let broken = &class[..class.len() / 2];
    let mut preview = class.to_vec();
    preview[4..8].copy_from_slice(&[0xFF, 0xFF, 0, 61]);
    let input = directory.join("in.jar");
    jar(
        &input,
        &[
            ("META-INF/MANIFEST.MF", b"Manifest-Version: 1.0\r\nClass-Path: b.jar\r\n\r\n"),
            ("META-INF/SIGNER.SF", b"sf"),
            ("META-INF/SIGNER.RSA", b"rsa"),
            ("fixture/Old.class", class),
            ("future/Old.class", &future),
            ("broken/Old.class", broken),
            ("preview/Old.class", &preview),
            ("empty.class", b""),
            ("../outside.txt", b"name stays"),
            ("BOOT-INF/lib/inner.jar", b"PK"),
            ("dev/anrscope/MapId.class", b"old"),
            ("data.bin", &[7; 5000]),
        ],
    );
    let output = directory.join("out.jar");
    let maps = MapPaths::beside(directory.join("methodMapping.txt"));
    let input = Input::new(&input, &output);
    let summary = instrument(&[input], &maps, &Options::default(), &|_| {}).unwrap();

    let skipped: Vec<_> = summary.skipped.iter().map(|skip| (skip.class.as_str(), &skip.reason)).collect();
    assert!(
        matches!(
            skipped[..],
            [
                ("broken/Old.class", SkipReason::Malformed(_)),
                ("empty.class", SkipReason::Malformed(_)),
                ("future/Old.class", SkipReason::NewerVersion { major: 71, minor: 0 }),
            ]
        ),
        "{skipped:?}"
    );
    let warnings: Vec<_> = summary.warnings.iter().map(|(_, warning)| warning.clone()).collect();
    let entry = |entry: &str| entry.to_owned();
    assert_eq!(
        warnings,
        [
            Warning::EscapingName(entry("../outside.txt")),
            Warning::NestedJar(entry("BOOT-INF/lib/inner.jar")),
            Warning::OldMapId(entry("dev/anrscope/MapId.class")),
            Warning::SignatureDropped(entry("META-INF/SIGNER.SF")),
            Warning::SignatureDropped(entry("META-INF/SIGNER.RSA")),
        ]
    );
    let written = entries(&fs::read(&output).unwrap());
    let names: Vec<&str> = written.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "META-INF/MANIFEST.MF",
            "fixture/Old.class",
            "future/Old.class",
            "broken/Old.class",
            "preview/Old.class",
            "empty.class",
            "../outside.txt",
            "BOOT-INF/lib/inner.jar",
            "data.bin",
            "dev/anrscope/MapId.class",
        ]
    );
    let contents = |name: &str| &written.iter().find(|(entry, _)| entry == name).unwrap().1;
    assert_eq!(contents("META-INF/MANIFEST.MF"), b"Manifest-Version: 1.0\r\nClass-Path: b.jar\r\n\r\n");
    assert_eq!(contents("future/Old.class"), &future);
    assert_eq!(contents("broken/Old.class"), broken);
    assert_eq!(contents("data.bin"), &[7; 5000]);
    assert!(contents("fixture/Old.class").len() > class.len());
    assert_eq!(contents("preview/Old.class")[..8], preview[..8]);
    assert!(contents("preview/Old.class").len() > class.len());

    // The two versions of the class share their ids, and the generated class contains the map id.
    let map = fs::read_to_string(&maps.methods).unwrap();
    assert_eq!(map.lines().count(), summary.traced / 2 + 1);
    let id = trace_format::MapId::from_lines(map.lines());
    assert_eq!(id, summary.map_id);
    let id = id.to_string();
    assert!(contents("dev/anrscope/MapId.class").windows(16).any(|window| window == id.as_bytes()));
    let lines = fs::read_to_string(maps.lines.unwrap()).unwrap();
    assert_eq!(lines.lines().count(), summary.traced / 2);
    assert!(lines.starts_with("1,Old.java,"), "{lines}");
    let ignored = fs::read_to_string(maps.ignored.unwrap()).unwrap();
    assert!(ignored.starts_with("ignore methods:\n"), "{ignored}");

    // On the second run the classes already have calls.
    let again = try_one(&output, &directory.join("again.jar")).unwrap();
    assert_eq!(again.traced, 0);
    assert!(again.skipped.iter().any(|skip| skip.reason == SkipReason::AlreadyInstrumented));
}

#[test]
fn untouched_jars_keep_their_signatures() {
    let directory = directory("signed");
    let input = directory.join("in.jar");
    jar(&input, &[("META-INF/A.SF", b"sf"), ("data.txt", b"data")]);
    let summary = try_one(&input, &directory.join("out.jar")).unwrap();
    assert_eq!(summary.warnings, []);
    let names: Vec<_> =
        entries(&fs::read(directory.join("out.jar")).unwrap()).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["META-INF/A.SF", "data.txt", "dev/anrscope/MapId.class"]);
}

#[test]
fn an_aar_is_instrumented_inside() {
    let directory = directory("aar");
    let class = old_class();
    let inner = jar_bytes(&[("fixture/Old.class", class)]);
    let input = directory.join("in.aar");
    jar(
        &input,
        &[
            ("AndroidManifest.xml", b"<manifest/>"),
            ("classes.jar", &inner),
            ("libs/more.jar", &jar_bytes(&[("x/Text.txt", b"text")])),
            ("lint.jar", &inner),
        ],
    );
    let output = directory.join("out.aar");
    let summary = try_one(&input, &output).unwrap();
    assert_eq!((summary.classes, summary.classes_changed), (1, 1));
    assert_eq!(summary.warnings.len(), 1, "lint.jar is no code of the app: {:?}", summary.warnings);
    let outer = entries(&fs::read(&output).unwrap());
    let names: Vec<&str> = outer.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["AndroidManifest.xml", "classes.jar", "libs/more.jar", "lint.jar"]);
    let written = entries(&outer[1].1);
    assert_eq!(written.len(), 2);
    assert!(written[0].1.len() > class.len());
    assert_eq!(written[1].0, "dev/anrscope/MapId.class");
    assert_eq!(outer[3].1, inner);
}

#[test]
fn a_directory_keeps_its_structure() {
    let directory = directory("shape");
    let class = old_class();
    let input = directory.join("in");
    fs::create_dir_all(input.join("a/b")).unwrap();
    fs::create_dir_all(input.join("empty")).unwrap();
    fs::write(input.join("a/b/Old.class"), class).unwrap();
    fs::write(input.join("a/note.txt"), "note").unwrap();
    fs::write(input.join("Broken.class"), "broken").unwrap();
    let output = directory.join("out");
    let summary = try_one(&input, &output).unwrap();
    assert_eq!((summary.classes, summary.classes_changed, summary.skipped.len()), (1, 1, 1));
    let written: Vec<_> = files(&output).into_iter().map(|(path, _)| path).collect();
    assert_eq!(
        written,
        ["Broken.class", "a/b/Old.class", "a/note.txt", "dev/anrscope/MapId.class"].map(PathBuf::from)
    );
    assert!(output.join("empty").is_dir());
    assert_eq!(fs::read(output.join("Broken.class")).unwrap(), b"broken");
}

#[test]
fn level_zero_stores_and_times_are_kept() {
    let directory = directory("levels");
    let class = old_class();
    let input = directory.join("in.jar");
    let mut archive = zip::ZipWriter::new(fs::File::create(&input).unwrap());
    let time = zip::DateTime::from_date_and_time(2021, 2, 3, 4, 5, 6).unwrap();
    let options = zip::write::SimpleFileOptions::default().last_modified_time(time).unix_permissions(0o640);
    archive.start_file("fixture/Old.class", options).unwrap();
    std::io::Write::write_all(&mut archive, class).unwrap();
    archive.set_comment("about").unwrap();
    archive.finish().unwrap();
    let mut sizes = Vec::new();
    for level in [0, 1, 9] {
        let output = directory.join(format!("{level}.jar"));
        instrument_one(&input, &output, &Options { level, ..Options::default() });
        let mut written = zip::ZipArchive::new(fs::File::open(&output).unwrap()).unwrap();
        assert_eq!(written.comment(), b"about");
        let entry = written.by_index(0).unwrap();
        assert_eq!(entry.last_modified(), Some(time));
        assert_eq!(entry.unix_mode().map(|mode| mode & 0o777), Some(0o640));
        assert_eq!(entry.compression() == zip::CompressionMethod::Stored, level == 0);
        sizes.push(entry.compressed_size());
    }
    assert!(sizes.is_sorted_by(|a, b| a > b), "{sizes:?}");
}

/// Two entries with the same name: the JVM uses the last, and so does the instrumenter.
#[test]
fn the_last_of_several_entries_with_the_same_name_is_kept() {
    let directory = directory("duplicates");
    let mut bytes = jar_bytes(&[("1.txt", b"first"), ("2.txt", b"second"), ("3.txt", b"third")]);
    // Once in the entry's own header and once in the directory.
    let places: Vec<usize> = (0..bytes.len() - 5).filter(|&at| bytes[at..].starts_with(b"2.txt")).collect();
    assert_eq!(places.len(), 2);
    places.into_iter().for_each(|at| bytes[at] = b'1');
    let input = directory.join("in.jar");
    fs::write(&input, bytes).unwrap();
    let summary = try_one(&input, &directory.join("out.jar")).unwrap();
    assert_eq!(summary.warnings, [(input, Warning::DuplicateEntries { archive: String::new() })]);
    let written = entries(&fs::read(directory.join("out.jar")).unwrap());
    let texts: Vec<_> =
        written.iter().take(2).map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    assert_eq!(texts, [("1.txt", &b"second"[..]), ("3.txt", b"third")]);
}

#[cfg(unix)]
#[test]
fn pipes_and_devices_in_a_directory_are_refused_with_their_path() {
    let directory = directory("pipes");
    let out = directory.join("out");
    for (name, link) in
        [("X.class", None), ("r.txt", None), ("Z.class", Some("/dev/zero")), ("z.bin", Some("/dev/zero"))]
    {
        let input = directory.join(format!("in-{name}"));
        fs::create_dir(&input).unwrap();
        fs::write(input.join("Old.class"), old_class()).unwrap();
        match link {
            Some(target) => std::os::unix::fs::symlink(target, input.join(name)).unwrap(),
            None => assert!(Command::new("mkfifo").arg(input.join(name)).status().unwrap().success()),
        }
        let error = try_one(&input, &out.join("classes")).unwrap_err();
        assert!(matches!(&error, Error::NotAFile(path) if path.ends_with(name)), "{error}");
        // It is refused as a separate input as well.
        let error = try_one(&input.join(name), &out.join("o.jar")).unwrap_err();
        assert!(matches!(error, Error::Read { .. }), "{error}");
        assert!(!out.exists());
    }
}

#[test]
fn a_jar_among_class_files_is_copied_and_reported() {
    let directory = directory("jar_among");
    let input = directory.join("in");
    fs::create_dir(&input).unwrap();
    fs::write(input.join("Old.class"), old_class()).unwrap();
    jar(&input.join("lib.jar"), &[("fixture/Old.class", old_class())]);
    let summary = try_one(&input, &directory.join("out/classes")).unwrap();
    let reported = |(_, warning): &(PathBuf, Warning)| matches!(warning, Warning::JarInDirectory(entry) if entry == "lib.jar");
    assert!(summary.warnings.iter().any(reported), "{:?}", summary.warnings);
    assert_eq!(
        fs::read(input.join("lib.jar")).unwrap(),
        fs::read(directory.join("out/classes/lib.jar")).unwrap()
    );
}
