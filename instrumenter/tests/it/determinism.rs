//! The same input gives the same bytes for any number of threads, and the ids do not depend on the order of the
//! inputs.

use std::fs;
use std::path::{Path, PathBuf};

use instrumenter::{Input, MapPaths, Options, instrument, outputs_in};

use crate::support::*;

fn jars(directory: &Path) -> Vec<PathBuf> {
    let files = files(fixture());
    let part = |n: usize| -> Vec<(&str, &[u8])> {
        let picked = files.iter().enumerate().filter(|(index, _)| index % 3 == n);
        picked.map(|(_, (path, bytes))| (text(path), bytes.as_slice())).collect()
    };
    (0..3)
        .map(|n| {
            let path = directory.join(format!("part{n}.jar"));
            jar(&path, &part(n));
            path
        })
        .collect()
}

fn run_over(inputs: &[PathBuf], out: &Path, options: &Options) -> Vec<(PathBuf, Vec<u8>)> {
    let outputs = outputs_in(out, inputs);
    let inputs: Vec<Input> = inputs.iter().zip(outputs).map(|(from, to)| Input::new(from, to)).collect();
    instrument(&inputs, &MapPaths::beside(out.join("methodMapping.txt")), options, &|_| {}).unwrap();
    files(out)
}

#[test]
fn the_output_does_not_depend_on_threads_or_input_order() {
    let directory = directory("determinism");
    let mut inputs = jars(&directory);
    let threads = |threads| Options { threads, ..Options::default() };
    let one = run_over(&inputs, &directory.join("one"), &threads(1));
    assert_eq!(one.len(), 3 + 3);
    assert_eq!(run_over(&inputs, &directory.join("four"), &threads(4)), one);

    // Another first input moves the map id; everything else is the same.
    inputs.reverse();
    let reversed = run_over(&inputs, &directory.join("reversed"), &threads(2));
    for ((path, a), (_, b)) in one.iter().zip(&reversed) {
        if path.extension().is_some_and(|end| end == "jar") {
            let classes = |jar: &[u8]| -> Vec<_> {
                entries(jar).into_iter().filter(|(name, _)| name != "dev/anrscope/MapId.class").collect()
            };
            assert_eq!(classes(a), classes(b), "{path:?}");
        } else {
            assert_eq!(a, b, "{path:?}");
        }
    }
}

#[test]
fn a_base_map_keeps_its_ids_and_new_methods_follow() {
    let directory = directory("base_map");
    let inputs = jars(&directory);
    let all = run_over(&inputs, &directory.join("all"), &Options::default());
    let map = String::from_utf8(
        all.iter().find(|(path, _)| path.ends_with("methodMapping.txt")).unwrap().1.clone(),
    );
    let map = map.unwrap();
    let base = directory.join("base.txt");
    // Every other method, with other ids, and one that no longer exists.
    let kept: Vec<String> = map
        .lines()
        .filter(|line| !line.starts_with("1048574,"))
        .enumerate()
        .filter(|(index, _)| index % 2 == 0)
        .map(|(index, line)| format!("{},{}\n", 500 - index, line.split_once(',').unwrap().1))
        .collect();
    fs::write(&base, format!("{}600,1,gone.Class method ()V\n", kept.concat())).unwrap();
    let options = Options { base_map: Some(base), ..Options::default() };
    run_over(&inputs, &directory.join("based"), &options);
    let based = fs::read_to_string(directory.join("based/methodMapping.txt")).unwrap();
    for line in &kept {
        assert!(based.contains(line.as_str()), "{line}");
    }
    assert!(based.contains("600,1,gone.Class method ()V\n601,"));
    let ids: Vec<u32> = based.lines().map(|line| line.split(',').next().unwrap().parse().unwrap()).collect();
    assert!(ids.is_sorted());
    assert_eq!(ids.len(), map.lines().count() + 1);
}
