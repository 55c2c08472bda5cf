//! Damaged and made-up files: no panic, and memory within bounds.

use std::fs;
use std::path::Path;

use native_stacks::Symbols;
use native_stacks::symbols::{in_breakpad, in_elf};
use proptest::prelude::*;

use test_support::binaries::{Scratch, build_id, compile, objcopy, run, with_debugdata};

const ADDRESSES: [u64; 5] = [0, 0x1000, 0x1139, 0x2000, u64::MAX];

#[test]
fn no_byte_of_a_library_can_be_changed_into_a_panic() {
    let scratch = Scratch::new("flips");
    let plain = compile(&scratch, "c", "plain.so", &["-O1", "-g"]);
    let packed = scratch.path("packed.so");
    with_debugdata(&scratch, &plain, &packed, &["--check=crc32"]);
    let compressed = compile(&scratch, "c", "compressed.so", &["-O1", "-g", "-gz=zlib"]);
    for file in [plain, packed, compressed] {
        let whole = fs::read(&file).unwrap();
        let runner = ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() };
        let change = (0..whole.len(), any::<u8>());
        // Headers are at both ends.
        let places = prop_oneof![
            change.clone(),
            (0..200_usize, any::<u8>()),
            (whole.len() - 2600..whole.len(), any::<u8>())
        ];
        proptest!(runner, |(changes in proptest::collection::vec(places, 1..12), cut in 0..whole.len() * 3)| {
            let mut bytes = whole.clone();
            for (at, byte) in changes {
                bytes[at] = byte;
            }
            bytes.truncate(cut.max(1));
            let _ = in_elf(bytes, &ADDRESSES);
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_text_is_a_symbol_file_without_a_panic(
        lines in proptest::collection::vec(
            prop_oneof![
                "(FUNC|FUNC m|PUBLIC|PUBLIC m|FILE|INLINE|INLINE_ORIGIN|STACK|)( [0-9a-f]{1,4}){0,7}( [a-z ]{0,6})?",
                "FUNC 1000 [0-9a-f]{1,3} 0 x", "INLINE [0-3] 4 1 0 1000 [0-9a-f]{1,17}", "1[0-9a-f]{3} [0-9a-f]{1,4} [0-9]{1,3} [0-9]",
                "\\PC{0,20}",
            ], 0..40)
    ) {
        let text = format!("MODULE Linux x86_64 000102030405060708090A0B0C0D0E0F0 libx.so\n{}", lines.join("\n"));
        for named in in_breakpad(text.as_bytes(), &ADDRESSES).unwrap() {
            prop_assert!(named.last().is_none_or(|last| !last.inlined));
            prop_assert!(named.iter().rev().skip(1).all(|other| other.inlined));
        }
    }
}

/// Peak memory of this process, KiB.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn a_debugdata_that_unpacks_to_gigabytes_is_refused() {
    let scratch = Scratch::new("bomb");
    let plain = compile(&scratch, "c", "plain.so", &["-O1"]);
    for (megabytes, flags) in [(300, "--lzma2=preset=0,dict=64MiB"), (300, "--lzma2=preset=0,dict=1536MiB")] {
        let bomb = scratch.path("bomb.xz");
        let make = format!("head -c {megabytes}M /dev/zero | xz {flags} > {}", bomb.display());
        run("sh", ["-c", &make]);
        let file = scratch.path("bomb.so");
        objcopy(&["-S", &format!("--add-section=.gnu_debugdata={}", bomb.display())], &plain, &file);
        let before = peak();
        let named = in_elf(fs::read(&file).unwrap(), &ADDRESSES).unwrap();
        assert!(named.iter().all(Vec::is_empty));
        assert!(peak() - before < 160 << 10, "{} KiB more", peak() - before);
    }
}

#[test]
fn paths_that_are_no_files_are_left_alone() {
    let scratch = Scratch::new("paths");
    let fifo = scratch.path("symbols/libfifo.so");
    run("mkfifo", [fifo.to_str().unwrap()]);
    std::os::unix::fs::symlink("/dev/zero", scratch.path("symbols/libzero.so")).unwrap();
    std::os::unix::fs::symlink(scratch.path("symbols"), scratch.path("symbols/again")).unwrap();
    let file = compile(&scratch, "c", "symbols/libok.so", &["-O1"]);
    let id = build_id(&file);
    let start = test_support::binaries::functions(&file, false)[0].start;
    let mut symbols =
        Symbols::new(vec![scratch.directory("symbols"), Path::new("/nowhere/at/all").to_owned()]);
    for path in [
        "/dev/zero",
        "/dev/tty",
        "",
        "!",
        "/!/",
        "base.apk!/lib/x.so",
        fifo.to_str().unwrap(),
        "/proc/self/mem",
    ] {
        assert!(symbols.name(&[1, 2, 3, 4], path, 0).is_empty(), "{path}");
        assert!(symbols.name(&[], path, 0).is_empty(), "{path}");
    }
    assert!(!symbols.name(&id, "/x/libok.so", start).is_empty());
}
