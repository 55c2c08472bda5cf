//! Input that ProGuard or R8 has obfuscated.

use std::fs;
use std::path::{Path, PathBuf};

use instrumenter::{Input, MapPaths, MappingUse, Options, Summary, Warning, instrument};

use crate::support::*;

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/instr_fixture")
}

fn run(directory: &Path, input: &Path, options: &Options) -> (Summary, String, String) {
    let maps = MapPaths::beside(directory.join("methodMapping.txt"));
    let inputs = [Input::new(input, directory.join("out.jar"))];
    let summary = instrument(&inputs, &maps, options, &|_| {}).unwrap();
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    (summary, read(&maps.methods), read(&maps.lines.unwrap()))
}

#[test]
fn with_a_mapping_files_and_maps_use_source_names() {
    let directory = directory("mapped");
    let mapped = data().join("mapped");
    let base = directory.join("base.txt");
    fs::write(&base, "100,1,com.orig.Foo doCall ()V\n200,0,gone.Class m ()V\n101,0,com.orig.Foo getX ()I\n")
        .unwrap();
    let options = Options {
        mapping: Some(mapped.join("mapping.txt")),
        block_list: Some(mapped.join("block1.txt")),
        base_map: Some(base),
        short: 0,
        ..Options::default()
    };
    let (summary, map, lines) = run(&directory, &data().join("in.jar"), &options);
    for line in [
        // Methods of the base map, found by their original names.
        "100,0,com.orig.Foo doCall ()V",
        "101,0,com.orig.Foo getX ()I",
        // Descriptors too, and a method whose result R8 has changed: it has only one original name.
        ",0,com.orig.Foo compute (I)I",
        ",0,com.orig.Foo makeRunnable ()Ljava.lang.Runnable;",
        ",1,t.Simple$1 run ()V",
    ] {
        assert!(map.contains(&format!("{line}\n")), "{line} in {map}");
    }
    // The block list's entries are original names: com.blocked.Orig is blk.Free in the jar, and -keeppackage
    // com/orig/pkg matches neither com.orig nor the class called t there.
    for absent in ["com.blocked.Orig", "com.orig.pkg", "blk.Free", "t.MainActivity", "t.Simple "] {
        assert!(!map.contains(absent), "{absent} in {map}");
    }
    assert!(map.contains("t.CtorTwo <init> (J)V"), "{map}");
    assert_eq!(summary.mapping, Some(MappingUse { classes: 3, found: 3, ambiguous: 0 }));
    assert_eq!(summary.stale.iter().map(|stale| stale.id).collect::<Vec<_>>(), [200]);
    assert!(lines.lines().any(|line| line.starts_with("100,Simple.java,")), "{lines}");
}

/// `-repackageclasses ''`, overloads and inlined frames, over a jar made for it.
#[test]
fn flattened_packages_overloads_and_inlined_frames_are_mapped() {
    let directory = directory("mapped-flat");
    let call = |class: &mut crate::assembler::Assembler| {
        let target = class.method_ref("b", "x", "()V");
        vec![184, target[0], target[1], 177]
    };
    let mut class = crate::assembler::Assembler::new("a");
    for descriptor in ["(I)V", "(Lb;)V", "([[Lb;J)V", "()V"] {
        let code = call(&mut class);
        let body = crate::assembler::Body { code, max_locals: 5, max_stack: 1, ..Default::default() };
        class.method(8, "c", descriptor, &body);
    }
    let input = directory.join("in.jar");
    jar(&input, &[("a.class", &class.finish())]);
    let mapping = directory.join("mapping.txt");
    fs::write(
        &mapping,
        "# compiler: R8\ncom.acme.Main -> a:\n# {\"id\":\"sourceFile\",\"fileName\":\"Main.kt\"}\n\
         \x20   1:1:void com.acme.Inlined.leaf(int):7:7 -> c\n\
         \x20   1:1:void work(int):20 -> c\n\
         \x20   void work(com.acme.Thing) -> c\n\
         \x20   5:9:void sum(com.acme.Thing[][],long):30:34 -> c\n\
         com.acme.Thing -> b:\n\
         com.acme.Gone -> z:\ncom.acme.Gone2 -> y:\ncom.acme.Gone3 -> x:\nnot a line\n",
    )
    .unwrap();
    let options = Options { mapping: Some(mapping.clone()), ..Options::default() };
    let (summary, map, lines) = run(&directory, &input, &options);
    assert_eq!(
        map,
        "1,8,com.acme.Main c ()V\n2,8,com.acme.Main sum ([[Lcom.acme.Thing;J)V\n\
         3,8,com.acme.Main work (I)V\n4,8,com.acme.Main work (Lcom.acme.Thing;)V\n\
         1048574,1,android.os.Handler dispatchMessage (Landroid.os.Message;)V\n"
    );
    assert_eq!(lines, "1,Main.kt,\n2,Main.kt,\n3,Main.kt,\n4,Main.kt,\n");
    // `c()V` fits none of three: it keeps its name, and is counted. Most classes are not in the jar.
    assert_eq!(summary.mapping, Some(MappingUse { classes: 5, found: 1, ambiguous: 1 }));
    let warnings: Vec<_> =
        summary.warnings.iter().filter(|(path, _)| *path == mapping).map(|(_, w)| w).collect();
    assert_eq!(
        warnings,
        [&Warning::ForeignMapping { classes: 5, found: 1 }, &Warning::UnreadMapping { count: 1, line: 12 }]
    );
}
