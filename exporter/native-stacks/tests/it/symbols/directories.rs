//! Which file is found for a build id, and what is said of those that are missing.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use native_stacks::symbols::{Missing, Why};
use native_stacks::{Files, Named, Symbols};
use trace_format::hex::hex;
use trace_format::sections::native_modules::Mapping;

use test_support::binaries::{Scratch, build_id, compile, functions, objcopy, run};

/// An address in the function that only `.symtab` and DWARF know, and the whole name.
fn hidden(file: &Path) -> u64 {
    functions(file, false)
        .iter()
        .find(|function| function.name.ends_with("::hidden(unsigned long)"))
        .unwrap()
        .start
}

fn is_hidden(named: &[Named], with_line: bool) -> bool {
    let Some(last) = named.last() else { return false };
    last.function == "sk::(anonymous namespace)::hidden(unsigned long)"
        && last.file.as_ref().is_some_and(|file| file.ends_with("source.cpp")) == with_line
        && (last.line > 0) == with_line
}

#[test]
fn each_way_to_keep_debug_data_is_found_by_build_id() {
    let scratch = Scratch::new("ways");
    let file = compile(&scratch, "c++", "libsk.so", &["-O2", "-g"]);
    let (id, at) = (build_id(&file), hidden(&file));
    let text = hex(&id);
    let (first, rest) = text.split_at(2);
    // Another build in each directory, which must not be used.
    let other = compile(&scratch, "c++", "other/libsk.so", &["-O1", "-g"]);
    assert_ne!(build_id(&other), id);
    for name in [
        format!("buildid/.build-id/{first}/{rest}.debug"),
        format!("plain/{first}/{rest}.debug"),
        "unstripped/deep/below/anything.so".to_owned(),
        "beside/libsk.so.dbg".to_owned(),
        "android/symbols/apex/com.android.art/lib64/libsk.so".to_owned(),
        "ndk/obj/local/arm64-v8a/libsk.so".to_owned(),
    ] {
        let path = scratch.path(&name);
        if name.ends_with("debug") || name.ends_with("dbg") {
            objcopy(&["--only-keep-debug"], &file, &path);
        } else {
            fs::copy(&file, &path).unwrap();
        }
        let directory = scratch.directory(name.split('/').next().unwrap());
        fs::create_dir_all(directory.join("a")).unwrap();
        fs::copy(&other, directory.join("a/libsk.so")).unwrap();
        fs::write(directory.join("a/readme.txt"), "\x7fELF no library").unwrap();
        let mut symbols = Symbols::new(vec![directory]);
        assert!(is_hidden(&symbols.name(&id, "/data/app/x/lib/arm64/libsk.so", at), true), "{name}");
        assert_eq!(symbols.missing(), []);
        let mapping =
            Mapping { start: 0, end: 1, offset: 0, bias: 0, build_id: id.clone(), path: "libsk.so".into() };
        let whole = symbols.elf(&mapping);
        // Debug data alone has no code to unwind.
        assert_eq!(whole.is_some(), name.ends_with(".so"), "{name}");
        assert!(whole.is_none_or(|bytes| bytes[..] == fs::read(&file).unwrap()[..]));
    }
}

#[test]
fn the_file_at_its_own_path_is_used_if_its_build_id_agrees() {
    let scratch = Scratch::new("own");
    let file = compile(&scratch, "c++", "libsk.so", &["-O2", "-g"]);
    let (id, at, path) = (build_id(&file), hidden(&file), file.to_str().unwrap().to_owned());
    assert!(is_hidden(&Symbols::new(Vec::new()).name(&id, &path, at), true));
    // The debug data that the stripped file names, but only of the same build.
    let debug = scratch.path("debug/.debug/libsk.so.debug");
    objcopy(&["--only-keep-debug"], &file, &debug);
    let stripped = scratch.path("debug/libsk.so");
    let link = format!("--add-gnu-debuglink={}", debug.display());
    objcopy(&["--strip-all", &link], &file, &stripped);
    let stripped_path = stripped.to_str().unwrap().to_owned();
    assert!(is_hidden(&Symbols::new(Vec::new()).name(&id, &stripped_path, at), true));
    objcopy(&["--only-keep-debug"], &compile(&scratch, "c++", "new.so", &["-O1", "-g"]), &debug);
    let mut symbols = Symbols::new(Vec::new());
    assert!(symbols.name(&id, &stripped_path, at).is_empty());
    assert_eq!(symbols.missing()[0].why, Why::NoSymbols(stripped.clone()));
    // Another build id.
    let mut symbols = Symbols::new(Vec::new());
    assert!(symbols.name(&[1, 2, 3], &path, at).is_empty());
    let why = Why::OtherBuild { file: file.clone(), build_id: hex(&id) };
    assert_eq!(symbols.missing(), [Missing { build_id: "010203".into(), path, addresses: 1, why }]);
}

#[test]
fn a_library_stored_in_an_apk_is_named() {
    let scratch = Scratch::new("apk");
    let file = compile(&scratch, "c++", "libsk.so", &["-O2", "-g"]);
    let (id, at) = (build_id(&file), hidden(&file));
    let apk = scratch.path("app/base.apk");
    let script = "import sys, zipfile\n\
        with zipfile.ZipFile(sys.argv[1], 'w') as apk:\n\
        \x20   apk.writestr('AndroidManifest.xml', 'x' * 5000, zipfile.ZIP_DEFLATED)\n\
        \x20   apk.write(sys.argv[2], 'lib/x86_64/libsk.so', zipfile.ZIP_STORED)\n";
    run("python3", ["-c", script, apk.to_str().unwrap(), file.to_str().unwrap()]);
    for directory in [scratch.directory("app"), apk.clone()] {
        let mut symbols = Symbols::new(vec![directory]);
        assert!(is_hidden(&symbols.name(&id, "/data/app/~~x==/base.apk!libsk.so", at), true));
    }
    for path in ["!/lib/x86_64/libsk.so", "!libsk.so"] {
        let mut symbols = Symbols::new(Vec::new());
        let path = format!("{}{path}", apk.display());
        assert!(is_hidden(&symbols.name(&id, &path, at), true), "{path}");
        let mapping = Mapping { start: 0, end: 1, offset: 4096, bias: 0, build_id: id.clone(), path };
        assert_eq!(symbols.elf(&mapping).unwrap()[..], fs::read(&file).unwrap()[..]);
    }
}

#[test]
fn without_a_build_id_a_name_decides_only_if_one_build_has_it() {
    let scratch = Scratch::new("by-name");
    let (long, short) =
        (scratch.path("symbols/system/lib64/libsk.so"), scratch.path("symbols/system/lib/libsk.so"));
    fs::copy(compile(&scratch, "c++", "a.so", &["-O2", "-g"]), &long).unwrap();
    fs::copy(compile(&scratch, "c++", "b.so", &["-O1", "-g"]), &short).unwrap();
    let at = hidden(&long);
    let mut symbols = Symbols::new(vec![scratch.directory("symbols")]);
    assert!(is_hidden(&symbols.name(&[], "/system/lib64/libsk.so", at), true));
    assert!(symbols.name(&[], "/vendor/libsk.so", at).is_empty());
    assert_eq!(symbols.missing()[0].why, Why::Ambiguous);
    assert!(symbols.name(&[7], "/system/lib64/libsk.so", at).is_empty());
    let why = symbols.missing().into_iter().find(|missing| missing.build_id == "07").unwrap().why;
    assert!(matches!(&why, Why::OtherBuild { build_id, .. } if build_id.len() == 40), "{why:?}");
}

/// A symbol file as `dump_syms` writes it, from what binutils say of the library.
#[test]
fn symbol_files_of_breakpad_have_functions_inlines_and_lines() {
    let scratch = Scratch::new("breakpad");
    let directory = scratch.directory("symbols");
    let id = [
        0xd9, 0xc1, 0xe9, 0x4f, 0x6e, 0xa2, 0x4a, 0x1d, 0x7c, 0x8f, 0xa0, 0x2d, 0x4b, 0x22, 0xd4, 0xd3, 0xaa,
        0xbb,
    ];
    let text = "MODULE Linux arm64 4FE9C1D9A26E1D4A7C8FA02D4B22D4D30 libsk.so\n\
        FILE 1 /src/image.cpp\nFILE 2 /src/codec.h\n\
        INLINE_ORIGIN 0 sk::Codec::rows(unsigned int)\nINLINE_ORIGIN 5 _ZN2sk4stepEm\n\
        FUNC 1000 80 0 SkImage::decode(char const*)\n\
        INLINE 0 45 1 0 1010 20 1050 8\nINLINE 1 12 2 5 1018 8\n\
        1000 10 41 1\n1010 8 11 2\n1018 8 99 2\n1020 10 13 2\n1030 50 48 1\n\
        FUNC m 1080 10 0 _ZN2sk5Image4freeEv\n1080 10 60 1\n\
        PUBLIC 2000 0 __cxa_throw\nPUBLIC m 2100 0 memcpy\nSTACK CFI INIT 1000 80 .cfa: sp 0 +\n";
    fs::create_dir_all(directory.join("libsk.so/4FE9")).unwrap();
    fs::write(directory.join("libsk.so/4FE9/libsk.so.sym"), text).unwrap();
    let mut symbols = Symbols::new(vec![directory]);
    let mut name = |address| {
        let named = symbols.name(&id, "/data/app/x/libsk.so", address);
        let row = |n: &Named| {
            let place = n.file.as_ref().map_or(String::new(), |file| format!(" {file}:{}", n.line));
            format!("{}{place}{}", n.function, if n.inlined { " inlined" } else { "" })
        };
        named.iter().map(row).collect::<Vec<_>>()
    };
    assert_eq!(name(0x1004), ["SkImage::decode(char const*) /src/image.cpp:41"]);
    assert_eq!(
        name(0x101c),
        [
            "sk::step(unsigned long) /src/codec.h:99 inlined",
            "sk::Codec::rows(unsigned int) /src/codec.h:12 inlined",
            "SkImage::decode(char const*) /src/image.cpp:45"
        ]
    );
    assert_eq!(
        name(0x1054),
        [
            "sk::Codec::rows(unsigned int) /src/image.cpp:48 inlined",
            "SkImage::decode(char const*) /src/image.cpp:45"
        ]
    );
    assert_eq!(name(0x107f), ["SkImage::decode(char const*) /src/image.cpp:48"]);
    assert_eq!(name(0x1088), ["sk::Image::free() /src/image.cpp:60"]);
    assert_eq!(name(0x1090), [""; 0]);
    assert_eq!((name(0x2000), name(0x2008)), (vec!["__cxa_throw".into()], vec!["__cxa_throw+0x8".into()]));
    assert_eq!(name(0x2100), ["memcpy"]);
    assert_eq!(name(0xfff), [""; 0]);
}

#[test]
fn thousands_of_files_are_indexed_once_and_quickly() {
    let scratch = Scratch::new("thousands");
    let directory = scratch.directory("symbols");
    let file = compile(&scratch, "c", "libc1.so", &["-O1", "-g"]);
    let bytes = fs::read(&file).unwrap();
    for number in 0..5000 {
        let below = directory.join(format!("{}", number % 50));
        fs::create_dir_all(&below).unwrap();
        let mut out = fs::File::create(below.join(format!("lib{number}.so"))).unwrap();
        // Most are of other builds: the build id's last byte.
        let mut bytes = bytes.clone();
        let id = build_position(&bytes);
        bytes[id..id + 4].copy_from_slice(&u32::to_be_bytes(number));
        out.write_all(&bytes).unwrap();
    }
    let mut id = build_id(&file);
    id[..4].copy_from_slice(&u32::to_be_bytes(4321));
    let started = std::time::Instant::now();
    let mut symbols = Symbols::new(vec![directory]);
    let start = functions(&file, false).iter().find(|function| function.name == "exported").unwrap().start;
    assert_eq!(symbols.name(&id, "/x/lib4321.so", start).last().unwrap().function, "exported");
    let first = started.elapsed();
    for number in 0..200 {
        assert!(symbols.name(&[9, 9, number], "/x/none.so", start).is_empty());
    }
    println!("5,000 files: {first:?}, 200 that are missing: {:?}", started.elapsed() - first);
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
    assert_eq!(symbols.missing().len(), 200);
}

/// Where the build id is in the file.
fn build_position(bytes: &[u8]) -> usize {
    let note = bytes.windows(4).position(|four| four == b"GNU\0").unwrap();
    // The first note named GNU may be another one.
    let mut at = note;
    while bytes[at - 4] != 3 {
        at = at + 1 + bytes[at + 1..].windows(4).position(|four| four == b"GNU\0").unwrap();
    }
    at + 4
}
