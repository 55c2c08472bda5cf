//! Broken class files cause no panic, and an independent parser can read the output.

use instrumenter::{Exits, rewrite_class};
use noak::reader::Class;
use noak::reader::attributes::{AttributeContent, Code};
use proptest::prelude::*;

use crate::support::*;

fn samples() -> Vec<Vec<u8>> {
    let picked = ["Exits", "Kinds", "Constructors$Branches", "Switches", "Kinds$Greets"];
    let picked = picked.map(|name| format!("fixture/{name}.class"));
    let mut found = files(fixture());
    found.retain(|(path, _)| picked.iter().any(|name| path.ends_with(name)));
    assert_eq!(found.len(), picked.len());
    found.into_iter().map(|(_, bytes)| bytes).collect()
}

fn rewrite(bytes: &[u8]) -> Option<Vec<u8>> {
    let ids: Vec<u32> = (32_700..33_700).collect();
    rewrite_class(bytes, &ids, "dev/anrscope/MethodBeat", Exits::All, None).ok()?.bytes
}

/// Decodes everything in `bytes`, down to each instruction, and returns the number of instructions.
fn decode(bytes: &[u8]) -> usize {
    let class = Class::new(bytes).unwrap();
    let mut instructions = 0;
    for method in class.methods() {
        for attribute in method.unwrap().attributes() {
            if let AttributeContent::Code(code) = attribute.unwrap().read_content(class.pool()).unwrap() {
                instructions += decode_code(&code, class.pool());
            }
        }
    }
    instructions
}

fn decode_code(code: &Code<'_>, pool: &noak::reader::cpool::ConstantPool<'_>) -> usize {
    for attribute in code.attributes() {
        let attribute = attribute.unwrap();
        // noak 0.7 reads the positions in a LineNumberTable as 32 bits and fails on javac's output.
        if pool.get(attribute.name()).unwrap().content == "LineNumberTable" {
            continue;
        }
        match attribute.read_content(pool).unwrap() {
            AttributeContent::StackMapTable(table) => assert!(table.iter().all(|frame| frame.is_ok())),
            AttributeContent::LocalVariableTable(table) => {
                assert!(table.locals().iter().all(|row| row.is_ok()));
            }
            _ => {}
        }
    }
    code.raw_instructions().map(Result::unwrap).count()
}

#[test]
fn an_independent_parser_reads_what_is_written() {
    for bytes in samples() {
        let rewritten = rewrite(&bytes).expect("a good class");
        let plain = decode(&bytes);
        assert!(decode(&rewritten) > plain);
    }
}

#[test]
fn a_class_truncated_anywhere_causes_no_panic() {
    for bytes in samples() {
        for length in 0..bytes.len() {
            assert_eq!(rewrite(&bytes[..length]), None, "cut at {length}");
        }
    }
}

#[test]
fn any_changed_byte_of_a_class_causes_no_panic() {
    // The output for a broken class may be as broken as the input, but there is one.
    for bytes in samples() {
        for at in 0..bytes.len() {
            let mut broken = bytes.clone();
            broken[at] = [0, 1, 0x7F, 0xFF, bytes[at] ^ 1][at % 5];
            rewrite(&broken);
        }
    }
}

#[test]
fn any_edits_of_a_class_cause_no_panic() {
    let samples = samples();
    let edits = proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..40);
    let mut runner =
        proptest::test_runner::TestRunner::new(ProptestConfig { cases: 3000, ..Default::default() });
    runner
        .run(&(0..samples.len(), edits), |(which, edits)| {
            let mut broken = samples[which].clone();
            for (index, value) in edits {
                let at = index.index(broken.len());
                broken[at] = value;
            }
            rewrite(&broken);
            Ok(())
        })
        .unwrap();
}

/// `tests/fuzz/targets/class.rs` runs the same body for longer.
#[test]
fn the_fuzzed_body_holds_for_mutants() {
    let samples = samples();
    for (number, bytes) in samples.iter().enumerate() {
        test_support::bodies::classes::run(bytes);
        for at in (number..bytes.len()).step_by(31) {
            let mut mutant = bytes.clone();
            mutant[at] = mutant[at].wrapping_add(1 + (at % 250) as u8);
            test_support::bodies::classes::run(&mutant);
            test_support::bodies::classes::run(&bytes[..at]);
        }
    }
}
