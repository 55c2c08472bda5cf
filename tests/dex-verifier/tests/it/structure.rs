//! Faults that no assembler writes: the code item is given unit by unit.

use super::assembler::{Body, body};
use dex_verifier::{Severity, verify};
use proptest::prelude::*;

const RETURN: u16 = 0x000e;
const NOP: u16 = 0;
/// Type index of `Ljava/lang/Exception;`.
const EXCEPTION: u8 = 2;

/// Returns the findings as texts without pcs.
fn findings(body: &Body) -> Vec<(Severity, &'static str)> {
    let report = verify(&body.dex()).expect("the tables are whole");
    assert_eq!(report.methods, 1);
    report.all().map(|(_, finding)| (finding.severity, finding.rule)).collect()
}

fn error(body: &Body) -> &'static str {
    match findings(body).as_slice() {
        [(Severity::Error, rule)] => rule,
        other => panic!("one error expected, found {other:?}"),
    }
}

/// Code with a try range over the call at 0 and a catch-all handler at `handler`.
fn with_try(start: u32, length: u16, handler: u8) -> Body {
    let mut body = body(&[0x1071, 0, 1, RETURN, RETURN]);
    body.tries = vec![(start, length, 1)];
    body.handlers = vec![1, 0, handler];
    body
}

#[test]
fn right_code_has_no_findings() {
    assert_eq!(findings(&body(&[RETURN])), []);
    // A call of itself, with a catch-all at its second return.
    assert_eq!(findings(&with_try(0, 3, 4)), []);
    // packed-switch v1 with one target behind it.
    assert_eq!(findings(&body(&[0x012b, 4, 0, RETURN, 0x0100, 1, 0, 0, 3, 0])), []);
    // goto/32 to itself.
    assert_eq!(findings(&body(&[0x002a, 0, 0])), []);
}

#[test]
fn instructions_end_within_the_code() {
    assert_eq!(error(&body(&[])), "the method has no instructions");
    assert_eq!(error(&body(&[RETURN, 0x0014, 0])), "an instruction or payload leaves the code");
    assert_eq!(error(&body(&[RETURN, NOP, 0x0100, 9, 0, 0])), "an instruction or payload leaves the code");
    assert_eq!(
        error(&body(&[RETURN, NOP, 0x0300, 4, 0xffff, 0xffff])),
        "an instruction or payload leaves the code"
    );
    assert_eq!(error(&body(&[NOP])), "control runs off the end of the code");
}

#[test]
fn unknown_opcodes_are_refused() {
    assert_eq!(error(&body(&[0x003e, RETURN])), "the opcode does not exist");
    assert_eq!(error(&body(&[0x00e3, RETURN])), "the opcode does not exist");
    // const-method-type v0, prototype 0: since version 039.
    let mut new = body(&[0x00ff, 0, RETURN]);
    assert_eq!(error(&new), "the opcode does not exist");
    new.version = b"039";
    assert_eq!(findings(&new), []);
}

#[test]
fn operands_stay_within_frame_and_tables() {
    assert_eq!(error(&body(&[0x0212, RETURN])), "a register is outside of the frame");
    // const-wide/16 v1 would need v2, too.
    assert_eq!(error(&body(&[0x0116, 0, RETURN])), "a register is outside of the frame");
    assert_eq!(error(&body(&[0x1071, 0, 2, RETURN])), "a register is outside of the frame");
    // invoke-static/range of two registers from v1.
    assert_eq!(error(&body(&[0x0277, 0, 1, RETURN])), "a register is outside of the frame");
    assert_eq!(error(&body(&[0x6071, 0, 0, RETURN])), "more than 5 arguments in a register list");
    assert_eq!(error(&body(&[0x1071, 1, 1, RETURN])), "an index is outside of its table");
    assert_eq!(error(&body(&[0x001a, 7, RETURN])), "an index is outside of its table");
    assert_eq!(error(&body(&[0x001c, 6, RETURN])), "an index is outside of its table");
    assert_eq!(error(&body(&[0x0060, 0, RETURN])), "an index is outside of its table");
    // new-instance of int and of int[].
    assert_eq!(error(&body(&[0x0022, 0, RETURN])), "new-instance of a type that is no class");
    assert_eq!(error(&body(&[0x0022, 5, RETURN])), "new-instance of a type that is no class");
}

#[test]
fn branches_lead_to_instructions() {
    assert_eq!(error(&body(&[0x0028, RETURN])), "a branch to itself");
    assert_eq!(error(&body(&[0x0029, 0, RETURN])), "a branch to itself");
    assert_eq!(error(&body(&[0x0228, 0x0013, 0, RETURN])), "a branch target is no start of an instruction");
    assert_eq!(error(&body(&[0x0228, RETURN])), "a branch target is no start of an instruction");
    assert_eq!(error(&body(&[0xff28, RETURN])), "a branch target is no start of an instruction");
    assert_eq!(error(&body(&[0x0138, 3, RETURN, 0x0100, 0, 0, 0])), "a payload is not aligned to 4 bytes");
    assert_eq!(error(&body(&[0x0338, 4, RETURN, NOP])), "a register is outside of the frame");
    // if-eqz into a switch payload.
    assert_eq!(error(&body(&[0x0138, 4, RETURN, NOP, 0x0100, 0, 0, 0])), "control runs into a payload");
}

#[test]
fn payloads_are_checked() {
    let switch = |offset: u16, payload: &[u16]| {
        let mut units = vec![0x012b, offset, 0, RETURN];
        units.extend(payload);
        body(&units)
    };
    assert_eq!(error(&switch(9, &[0x0100, 0, 0, 0])), "a payload is outside of the code");
    assert_eq!(error(&switch(3, &[0x0100, 0, 0, 0])), "a payload is not aligned to 4 bytes");
    assert_eq!(error(&switch(6, &[0x0100, 0, 0, 0])), "a payload starts within an instruction");
    assert_eq!(error(&switch(4, &[0x0200, 0])), "a switch refers to no payload of its kind");
    assert_eq!(error(&switch(4, &[NOP, NOP])), "a switch refers to no payload of its kind");
    assert_eq!(error(&switch(4, &[0x0100, 1, 0, 0, 2, 0])), "a branch target is no start of an instruction");
    let overflow = [0x0100, 2, 0xffff, 0x7fff, 3, 0, 3, 0];
    assert_eq!(error(&switch(4, &overflow)), "the keys of a packed switch overflow");
    let sparse =
        |first: u16, second: u16| body(&[0x012c, 4, 0, RETURN, 0x0200, 2, first, 0, second, 0, 3, 0, 3, 0]);
    assert_eq!(findings(&sparse(1, 2)), []);
    assert_eq!(error(&sparse(2, 2)), "the keys of a sparse switch do not ascend");
    assert_eq!(error(&body(&[0x0026, 4, 0, RETURN, NOP, NOP])), "fill-array-data refers to no array data");
}

#[test]
fn try_ranges_and_handlers_are_checked() {
    assert_eq!(error(&with_try(0, 6, 4)), "a try range leaves the code");
    assert_eq!(error(&with_try(0, 0, 4)), "a try range is empty");
    assert_eq!(error(&with_try(1, 2, 4)), "a try range starts within an instruction");
    assert_eq!(error(&with_try(0, 3, 1)), "a handler starts within an instruction or outside of the code");
    assert_eq!(error(&with_try(0, 3, 5)), "a handler starts within an instruction or outside of the code");
    let mut wrong = with_try(0, 3, 4);
    wrong.tries[0].2 = 2;
    assert_eq!(error(&wrong), "a try range has no handler list at its offset");
    let mut wrong = with_try(0, 3, 4);
    wrong.tries.push((2, 1, 1));
    assert_eq!(error(&wrong), "try ranges overlap or are not sorted");
    let mut wrong = with_try(0, 3, 4);
    wrong.tries.insert(0, (3, 1, 1));
    assert_eq!(error(&wrong), "try ranges overlap or are not sorted");
    let mut wrong = with_try(0, 3, 4);
    wrong.handlers = vec![0];
    assert_eq!(error(&wrong), "there are try ranges, but no handlers");
    let mut typed = with_try(0, 3, 4);
    typed.handlers = vec![1, 1, EXCEPTION, 4];
    assert_eq!(findings(&typed), []);
    typed.handlers = vec![1, 1, 99, 4];
    assert_eq!(error(&typed), "the type of a handler is outside of the table");
}

#[test]
fn sizes_of_the_frame_are_checked() {
    let sizes = |registers, ins, outs| Body { registers, ins, outs, ..body(&[RETURN]) };
    assert_eq!(error(&sizes(2, 2, 0)), "ins_size differs from the parameters");
    assert_eq!(error(&sizes(2, 0, 0)), "ins_size differs from the parameters");
    assert_eq!(error(&sizes(0, 1, 0)), "ins_size is larger than registers_size");
    assert_eq!(error(&sizes(2, 1, 6)), "outs_size is larger than registers_size");
    assert_eq!(findings(&sizes(2, 1, 5)), []);
    assert_eq!(
        error(&Body { outs: 0, ..with_try(0, 3, 4) }),
        "an invoke passes more arguments than outs_size"
    );
}

#[test]
fn what_art_tolerates_is_soft() {
    let synchronized = Body { access: 0x29, ..body(&[RETURN]) };
    assert_eq!(findings(&synchronized), [(Severity::Soft, "ACC_SYNCHRONIZED on a method with code")]);
    assert_eq!(findings(&with_try(0, 2, 4)), [(Severity::Soft, "a try range ends within an instruction")]);
}

#[test]
fn no_work_without_bound() {
    // 60,000 registers, and 20,000 conditional branches whose merges touch them all.
    let mut units = Vec::new();
    for _ in 0..20_000 {
        units.extend([0x0138, 2]);
    }
    units.push(RETURN);
    let mut body = body(&units);
    body.registers = 60_000;
    // v1 is no parameter now.
    assert_eq!(
        error(&Body { units: vec![0x0138, 2, RETURN], ..body.clone() }),
        "a register is used before it is written"
    );
    body.units.splice(0..0, [0x0112]);
    assert_eq!(findings(&body), [(Severity::NotVerified, "the methods of the file have too much code")]);
    body.registers = 5_000;
    assert_eq!(findings(&body), [(Severity::NotVerified, "the method takes too much work")]);
}

proptest! {
    #[test]
    fn any_code_gets_an_answer(
        units in proptest::collection::vec(prop_oneof![any::<u16>(), 0u16..0x300, (0u16..256).prop_map(|op| op | 0x1000)], 0..40),
        handlers in proptest::collection::vec(any::<u8>(), 0..8),
        tries in proptest::collection::vec((0u32..40, 0u16..40, 0u16..4), 0..3),
    ) {
        let body = Body { handlers, tries, version: b"039", ..body(&units) };
        prop_assert!(verify(&body.dex()).is_ok());
    }
}
