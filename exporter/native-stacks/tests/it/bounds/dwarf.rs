//! DWARF in which many units or functions share what is kept for each, written in assembler.

use std::fs;

use native_stacks::Symbols;
use native_stacks::symbols::{in_breakpad, in_elf};

use test_support::binaries::{Scratch, objcopy, run};
use test_support::memory::taken_by;

/// More memory than any of the files may take.
const MAX_BYTES: usize = 400 << 20;
/// A compile unit without children: its addresses, and its lines or its ranges.
const LINES: &str = ".uleb128 1,0x11\n.byte 0\n.uleb128 0x11,1,0x12,7,0x10,0x17,0,0\n.byte 0\n";
const RANGES: &str = ".uleb128 1,0x11\n.byte 0\n.uleb128 0x11,1,0x55,0x17,0,0\n.byte 0\n";
/// A compile unit, functions with ranges and names, functions with names, and inlined functions.
const FUNCTIONS: &str = ".uleb128 1,0x11\n.byte 1\n.uleb128 0x11,1,0x12,7,0,0\n\
    .uleb128 2,0x2e\n.byte 0\n.uleb128 0x55,0x17,3,8,0,0\n\
    .uleb128 3,0x2e\n.byte 1\n.uleb128 0x11,1,0x12,7,3,8,0,0\n\
    .uleb128 4,0x1d\n.byte 1\n.uleb128 0x11,1,0x12,7,0,0\n.byte 0\n";

/// Compile units, each with these entries.
fn units(count: usize, entries: &str) -> String {
    format!(".rept {count}\n.long 2f-1f\n1: .short 4\n.long 0\n.byte 8\n{entries}\n2:\n.endr\n")
}

/// A line program with this many rows.
fn line_program(rows: usize) -> String {
    format!(
        ".long 2f-1f\n1: .short 4\n.long 4f-3f\n3: .byte 1,1,1,0xfb,14,13,0,1,1,1,1,0,0,0,1,0,0,1,0\n\
        .asciz \"a.c\"\n.byte 0,0,0,0\n4: .byte 0,9,2\n.quad 0x1000\n.fill {rows},1,0x21\n.byte 0,1,1\n2:\n"
    )
}

fn ranges(count: usize) -> String {
    format!(".set at,0x1000\n.rept {count}\n.quad at,at+1\n.set at,at+2\n.endr\n.quad 0,0\n")
}

/// A library with these debug sections.
fn library(scratch: &Scratch, sections: &[(&str, &str)]) -> std::path::PathBuf {
    let mut text = ".text\n.globl f\n.type f, %function\nf: .skip 0x2000\n.size f, 0x2000\n".to_owned();
    for (name, contents) in sections {
        text += &format!(".section .debug_{name},\"\",%progbits\n{contents}");
    }
    let (source, library) = (scratch.path("library.s"), scratch.path("library.so"));
    fs::write(&source, text).unwrap();
    run("cc", ["-shared", "-nostdlib", "-o", library.to_str().unwrap(), source.to_str().unwrap()]);
    library
}

#[test]
fn shared_parts_of_dwarf_take_memory_in_proportion_to_the_file() {
    let unit = ".uleb128 1\n.quad 0x1000,0x100000\n";
    let many_functions = format!("{unit}.rept 20000\n.uleb128 2\n.long 0\n.asciz \"f\"\n.endr\n.byte 0");
    let files = [
        (
            "lines",
            vec![
                ("info", units(1_000, &format!("{unit}.long 0"))),
                ("abbrev", LINES.to_owned()),
                ("line", line_program(200_000)),
            ],
        ),
        (
            "units' ranges",
            vec![
                ("info", units(20_000, ".uleb128 1\n.quad 0\n.long 0")),
                ("abbrev", RANGES.to_owned()),
                ("ranges", ranges(20_000)),
            ],
        ),
        (
            "functions' ranges",
            vec![
                ("info", units(1, &many_functions)),
                ("abbrev", FUNCTIONS.to_owned()),
                ("ranges", ranges(20_000)),
            ],
        ),
        (
            "compressed lines",
            vec![
                ("info", units(1, &format!("{unit}.long 0"))),
                ("abbrev", LINES.to_owned()),
                ("line", line_program(200_000_000)),
            ],
        ),
    ];
    for (name, sections) in files {
        let scratch = Scratch::new("shared");
        let sections: Vec<_> = sections.iter().map(|(name, text)| (*name, &text[..])).collect();
        let mut file = library(&scratch, &sections);
        if name.starts_with("compressed") {
            let packed = scratch.path("packed.so");
            objcopy(&["--compress-debug-sections=zlib"], &file, &packed);
            file = packed;
        }
        let bytes = fs::read(&file).unwrap();
        assert!(bytes.len() < 2 << 20, "{name}: {} bytes", bytes.len());
        let mut named = Vec::new();
        let taken = taken_by(|| named = in_elf(bytes, &[0x1800, 0x2000]).unwrap());
        assert_eq!(named[0].last().map(|last| &last.function[..]), Some("f"), "{name}");
        assert!(taken < MAX_BYTES, "{name}: {taken} bytes");
    }
}

#[test]
fn deeply_nested_inlined_functions_overflow_no_stack() {
    let inlined = "\n.rept 100000\n.uleb128 4\n.quad 0x1000,0x3000\n.endr\n.skip 100002\n";
    let entries =
        format!(".uleb128 1\n.quad 0x1000,0x100000\n.uleb128 3\n.quad 0x1000,0x3000\n.asciz \"g\"{inlined}");
    let scratch = Scratch::new("nested");
    let file = library(&scratch, &[("info", &units(1, &entries)), ("abbrev", FUNCTIONS)]);
    let named = in_elf(fs::read(&file).unwrap(), &[0x1800]).unwrap();
    assert_eq!(named[0].last().map(|last| &last.function[..]), Some("f"));
    // A reader learns that something is missing.
    let mut symbols = Symbols::new(vec![scratch.path(".")]);
    assert!(symbols.name(&[], "/data/library.so", 0x1800).iter().any(|named| named.function == "f"));
    let notes = symbols.notes();
    assert!(
        notes.len() == 1 && notes[0].ends_with("some of its DWARF is too much work, and is not read"),
        "{notes:?}"
    );
}

#[test]
fn a_function_of_many_lines_is_not_read_without_end() {
    let head =
        "MODULE Linux x86_64 000102030405060708090A0B0C0D0E0F0 x\nFILE 0 a.c\nFUNC 1000 10000000 0 f\n";
    let lines: String = (0..200_000).map(|line| format!("{:x} 10 {line} 0\n", 0x1000 + 16 * line)).collect();
    let addresses: Vec<u64> = (0..1_000).map(|n| 0x1000 + 16 * (199_999 - n)).collect();
    let begun = std::time::Instant::now();
    let named = in_breakpad((head.to_owned() + &lines).as_bytes(), &addresses).unwrap();
    assert!(named.iter().all(|functions| functions[0].function == "f"));
    assert_eq!((named[0][0].line, named[999][0].line), (199_999, 0));
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
}

#[test]
fn a_name_of_megabytes_is_cut() {
    let scratch = Scratch::new("name");
    let source = scratch.path("name.s");
    let name = "n".repeat(8 << 20);
    fs::write(&source, format!(".text\n.type {name}, %function\n{name}: .skip 64\n.size {name}, 64\n"))
        .unwrap();
    let file = scratch.path("name.so");
    run("cc", ["-shared", "-nostdlib", "-o", file.to_str().unwrap(), source.to_str().unwrap()]);
    let addresses: Vec<u64> = (0..8_000).map(|n| 0x1000 + n % 64).collect();
    let begun = std::time::Instant::now();
    let named = in_elf(fs::read(file).unwrap(), &addresses).unwrap();
    let name = &named[0][0].function;
    assert!(name.starts_with("nnn") && name.len() < 5_000, "{}", name.len());
    assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
}
