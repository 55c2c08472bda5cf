//! Looks names up in a mapping, compared with the `proguard` crate's own retracing.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use answers::retrace::{FrameName, Mapping, MappingError};
use proguard::{ProguardMapper, ProguardMapping, ProguardRecord, StackFrame, StackTrace};

use super::{data, r8};

fn plain(meanings: &[Vec<FrameName>]) -> Vec<Vec<(String, Option<u32>)>> {
    let frame = |f: &FrameName| (format!("{}.{}", f.class.rsplit('.').next().unwrap(), f.method), f.line);
    meanings.iter().map(|stack| stack.iter().map(frame).collect()).collect()
}

#[test]
fn inlined_ambiguous_outlined_and_unknown_frames() {
    let mapping = r8();
    let frame = |class: &str, method: &str, line| plain(&mapping.frame(class, method, line, None));
    let one = |name: &str, line| vec![vec![(name.to_owned(), line)]];
    assert_eq!(frame("a.b", "c", Some(2)), one("PriceStore.cached", Some(31)));
    let inlined =
        vec![vec![("Table.find".to_owned(), Some(12)), ("PriceStore.priceOf".to_owned(), Some(41))]];
    assert_eq!(frame("a.b", "c", Some(3)), inlined);
    // No line: one of three, none of them the inlined one.
    let names: Vec<String> = frame("a.b", "c", None).into_iter().flatten().map(|(name, _)| name).collect();
    assert_eq!(names, ["PriceStore.cached", "PriceStore.priceOf", "PriceStore.refresh"]);
    // A line that no row has, a method that no row has, and a class that does not exist.
    assert_eq!(frame("a.b", "c", Some(99)), one("PriceStore.c", Some(99)));
    assert_eq!(frame("a.b", "z", Some(9)), one("PriceStore.z", Some(9)));
    assert_eq!(frame("x.y", "z", Some(9)), Vec::<Vec<(String, Option<u32>)>>::new());
    assert_eq!(frame("a.b", "g", Some(5)).len(), 2);
    // An outline's line is mapped by its caller's row.
    assert!(mapping.is_outline("a.o", "a") && !mapping.is_outline("a.b", "c"));
    assert_eq!(plain(&mapping.frame("a.d", "f", Some(24), Some(2))), one("CartActivity.onClick", Some(57)));
    assert_eq!(plain(&mapping.frame("a.d", "f", Some(24), Some(9))), one("CartActivity.onClick", Some(59)));
    assert_eq!(mapping.frame("a.b", "c", Some(3), None)[0][0].file(Some("SourceFile")), "Table.kt");
    assert_eq!(mapping.frame("a.x", "m", None, None)[0][0].file(Some("SourceFile")), "Only.java");
}

#[test]
fn methods_are_distinguished_by_their_descriptors() {
    let mapping = r8();
    let method =
        |method: &str, descriptor: &str| mapping.method("a.b", method, descriptor).map(|(_, name)| name);
    assert_eq!(method("g", "()V").as_deref(), Some("first"));
    assert_eq!(method("g", "(I)V").as_deref(), Some("second"));
    assert_eq!(method("g", "(J)V"), None);
    assert_eq!(method("z", "()V"), None);
    let (class, name) = mapping.method("a.d", "f", "(Landroid/view/View;)V").unwrap();
    assert_eq!((class.as_str(), name.as_str()), ("com.acme.shop.CartActivity", "onClick"));
}

#[test]
fn a_mapping_has_its_id_and_other_files_are_rejected() {
    let mapping = r8();
    assert_eq!(
        (mapping.is_of("5eed5eed0011"), mapping.is_of("0bad"), mapping.is_of("")),
        (Some(true), Some(false), Some(false))
    );
    assert_eq!((mapping.class_count(), mapping.unread), (5, (0, None)));
    let no_id = Mapping::parse(Path::new("m"), b"a.B -> a:\nnonsense\n").unwrap();
    assert_eq!((no_id.is_of("1"), no_id.unread), (None, (1, Some(2))));
    let error = Mapping::parse(Path::new("m.txt"), b"# x\nfirst line\n").unwrap_err();
    assert!(error.to_string().starts_with("cannot read m.txt:2: no class is mapped"), "{error}");
    assert!(matches!(error, MappingError::NoClass { line: 2, .. }));
}

/// The result of comparing a mapping with the crate.
#[derive(Debug, Default)]
struct Compared {
    frames: usize,
    /// Of those, with several meanings.
    several: usize,
    /// The crate returns a meaning once per overload, this one only once.
    repeats: usize,
    /// No row has the line, and rows without a line have the name: the crate keeps the name of the build, this
    /// one returns those rows as alternatives.
    kept: usize,
    wrong: Vec<String>,
}

/// Compares each line of each row of a mapping with the crate, one frame at a time; where the crate returns the
/// frames of several meanings in a row, these are flattened, too.
fn compare(text: &[u8]) -> Compared {
    let mapping = Mapping::parse(Path::new("m"), text).unwrap();
    let mapper = ProguardMapper::new(ProguardMapping::new(text));
    let mut asked: BTreeSet<(String, String, u32)> = BTreeSet::new();
    let mut class = "";
    for record in ProguardMapping::new(text).iter().flatten() {
        match record {
            ProguardRecord::Class { obfuscated, .. } => class = obfuscated,
            ProguardRecord::Method { obfuscated, line_mapping, .. } => {
                let lines =
                    line_mapping.and_then(|lines| lines.startline.zip(lines.endline)).unwrap_or((1, 1));
                let (from, to) = (lines.0 as u32, lines.1 as u32);
                for line in
                    [from, from + (to.saturating_sub(from)) / 2, to].into_iter().filter(|&line| line > 0)
                {
                    asked.insert((class.to_owned(), obfuscated.to_owned(), line));
                }
            }
            _ => {}
        }
    }
    let mut compared = Compared::default();
    for (class, method, line) in &asked {
        if mapping.is_outline(class, method) {
            continue;
        }
        let trace = StackTrace::new(None, vec![StackFrame::new(class, method, *line as usize)]);
        let theirs = mapper.remap_stacktrace_typed(&trace);
        let theirs: Vec<_> = theirs
            .frames()
            .iter()
            .map(|f| {
                (f.class().to_owned(), f.method().to_owned(), f.line().filter(|&n| n > 0).map(|n| n as u32))
            })
            .collect();
        let ours = mapping.frame(class, method, Some(*line), None);
        compared.several += usize::from(ours.len() > 1);
        let flat: Vec<_> = ours.into_iter().flatten().map(|f| (f.class, f.method, f.line)).collect();
        compared.frames += 1;
        let once = |frames: &[(String, String, Option<u32>)]| frames.iter().cloned().collect::<BTreeSet<_>>();
        if flat == theirs {
        } else if once(&flat) == once(&theirs) {
            compared.repeats += 1;
        } else if theirs.len() == 1 && theirs[0].1 == *method && flat[0].0 == theirs[0].0 {
            compared.kept += 1;
        } else {
            compared.wrong.push(format!("{class}.{method}:{line}\n  ours   {flat:?}\n  theirs {theirs:?}"));
        }
    }
    compared
}

#[test]
fn our_own_mapping_is_retraced_as_the_crate_does() {
    let Compared { frames, several, repeats, kept, wrong } =
        compare(&fs::read(data("mapping-r8.txt")).unwrap());
    assert!(frames > 10 && several > 0, "{frames} {several}");
    assert_eq!((repeats, kept, wrong), (0, 0, Vec::<String>::new()));
}

#[test]
fn every_mapping_of_the_corpus_is_retraced_as_the_crate_does() {
    let Some(corpus) = std::env::var_os("ANRSCOPE_CORPUS") else { return };
    let mut files: Vec<_> = fs::read_dir(Path::new(&corpus).join("mapping"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "txt"));
    files.sort();
    let index = fs::read_to_string(Path::new(&corpus).join("mapping/index.jsonl")).unwrap();
    let index: Vec<serde_json::Value> =
        index.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(files.len(), index.len());
    let mut all_wrong = 0;
    for file in files {
        let bytes = fs::read(&file).unwrap();
        let Compared { frames, several, repeats, kept, wrong } = compare(&bytes);
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let counted = index.iter().find(|entry| entry["file"] == *name).expect("each is in the index");
        let mapping = Mapping::parse(&file, &bytes).unwrap();
        assert_eq!(Some(mapping.class_count() as u64), counted["classes"].as_u64(), "{name}: classes");
        println!(
            "{name}: {frames} frames, {several} with several meanings; {repeats} plain once, {kept} plain more of, \
             {} unlike the crate's",
            wrong.len()
        );
        for wrong in wrong.iter().take(3) {
            println!("  {wrong}");
        }
        all_wrong += wrong.len();
    }
    assert_eq!(all_wrong, 0);
}

#[cfg(unix)]
#[test]
fn a_device_or_a_fifo_is_refused_before_anything_is_read() {
    let directory = std::env::temp_dir().join(format!("anrscope-fifo-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let fifo = directory.join("mapping.txt");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    for file in [Path::new("/dev/zero"), &fifo] {
        let error = Mapping::load(file).unwrap_err().to_string();
        assert!(error.contains("not a regular file"), "{error}");
    }
    std::fs::remove_dir_all(&directory).unwrap();
}
