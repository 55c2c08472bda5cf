//! Properties of reading and writing code.

use std::borrow::Cow;

use proptest::prelude::*;

use super::programs::{Choices, identity, program, run};
use super::{Body, Code, Fault, Handler, Try, Use};
use crate::error::Limit;
use crate::remap::Remap;
use crate::table::Table;

fn choices() -> impl Strategy<Value = Vec<u16>> {
    proptest::collection::vec(any::<u16>(), 0..250)
}

fn code(choices: &[u16], is_constructor: bool) -> Code<'static> {
    program(&mut Choices(choices.iter()), is_constructor).body.encoded(&identity()).unwrap()
}

fn units(units: &[u16]) -> Cow<'static, [u8]> {
    Cow::Owned(units.iter().flat_map(|unit| unit.to_le_bytes()).collect())
}

/// Code of these units with 4 registers.
fn of(list: &[u16]) -> Code<'static> {
    Code { registers: 4, units: units(list), ..Code::default() }
}

fn error(code: &Code<'_>) -> &'static str {
    Body::read(code).unwrap_err().what
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn code_survives_the_round_trip(choices in choices(), is_constructor: bool) {
        let code = code(&choices, is_constructor);
        let body = Body::read(&code).unwrap();
        let again = body.encoded(&identity()).unwrap();
        prop_assert_eq!(&again, &code);
        prop_assert_eq!(Body::read(&again).unwrap(), body);
        prop_assert_eq!(code.remapped(&identity()).unwrap(), code);
    }

    #[test]
    fn both_ways_to_new_indices_agree(choices in choices()) {
        let code = code(&choices, false);
        let mut remap = identity();
        for table in [Table::Strings, Table::Types, Table::Methods] {
            remap.tables[table as usize].iter_mut().for_each(|index| *index = (*index + 3).min(69_000));
        }
        let fast = code.remapped(&remap).unwrap();
        let slow = Body::read(&code).unwrap().encoded(&remap).unwrap();
        let mut uses = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
        code.uses(&mut |used| uses[0].push(used)).unwrap();
        Body::read(&code).unwrap().uses(&mut |used| uses[1].push(used));
        fast.uses(&mut |used| uses[2].push(used)).unwrap();
        slow.uses(&mut |used| uses[3].push(used)).unwrap();
        uses.iter_mut().for_each(|uses| uses.sort_unstable());
        prop_assert_eq!(&uses[0], &uses[1]);
        prop_assert_eq!(&uses[2], &uses[3]);
        let moved = |used: &Use| match *used {
            (table @ (Table::Strings | Table::Types | Table::Methods), index) => (table, index + 3),
            other => other,
        };
        prop_assert_eq!(uses[0].iter().map(moved).collect::<Vec<_>>(), uses[2].clone());
        prop_assert_eq!(&fast.units, &slow.units);
    }

    /// Strings that need a wide index move the code: it still does the same.
    #[test]
    fn wider_instructions_do_the_same(choices in choices(), seed: u32, arguments: [u32; 10]) {
        let code = code(&choices, false);
        let mut remap = identity();
        remap.tables[Table::Strings as usize].iter_mut().for_each(|index| *index += 100_000);
        let wide = code.remapped(&remap).unwrap();
        let arguments = &arguments[..usize::from(code.ins)];
        let mut old = run(&code, arguments, seed);
        for action in &mut old {
            if let super::programs::Action::String(index) = action {
                *index += 100_000;
            }
        }
        // The values of strings take part in the computations.
        if !old.iter().any(|action| matches!(action, super::programs::Action::String(_))) {
            prop_assert_eq!(run(&wide, arguments, seed), old);
        }
        prop_assert!(Body::read(&wide).is_ok());
    }

    #[test]
    fn random_units_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), registers in 0..400_u16) {
        let code = Code {
            registers,
            ins: registers / 2,
            debug: Some(bytes.clone().into()),
            units: bytes.into(),
            tries: vec![Try { start: 0, length: 9, handler: 0 }],
            handlers: vec![Handler { typed: vec![(1, 2)], catch_all: Some(0) }],
            ..Code::default()
        };
        if let Ok(body) = Body::read(&code) {
            let _ = body.encoded(&identity());
        }
        let _ = code.remapped(&identity());
        let _ = code.uses(&mut |_| {});
        let _ = Body::read(&Code { debug: None, ..code.clone() }).map(|body| body.encoded(&identity()));
        let _ = Body::read(&Code { debug: None, tries: vec![], handlers: vec![], ..code });
    }

    #[test]
    fn cut_and_changed_code_does_not_panic(choices in choices(), at: u16, value: u8) {
        let whole = code(&choices, false);
        let cut = usize::from(at) % (whole.units.len() + 1);
        let cut = Code { units: Cow::Owned(whole.units[..cut].to_vec()), ..whole.clone() };
        let _ = Body::read(&cut).map(|body| body.encoded(&identity()));
        let _ = cut.remapped(&identity());
        let mut changed = whole.clone();
        let bytes = changed.units.to_mut();
        let place = usize::from(at) % bytes.len();
        bytes[place] = value;
        let _ = Body::read(&changed).map(|body| body.encoded(&identity()));
        let _ = changed.remapped(&identity());
    }
}

#[test]
fn broken_code_is_refused_with_the_reason() {
    for (list, what) in [
        (&[0x0128][..], "a branch does not lead to an instruction"),
        (&[0xFE28], "a branch does not lead to an instruction"),
        (&[0x0228, 0x001A, 1, 0x000E], "a branch does not lead to an instruction"),
        (&[0x0029], "the code ends within an instruction, a switch or an array"),
        (&[0x003E], "there is no such instruction"),
        (&[0x040A], "a register is outside of the method's registers"),
        (&[0x030B], "a register is outside of the method's registers"),
        (&[0x6071, 0, 0], "a call has more than five arguments"),
        (&[0x0026, 4, 0, 0x000E, 0x0100, 0, 0, 0], "a switch or an array does not lead to its data"),
        (&[0x002B, 3, 0, 0x0100, 0, 0, 0], "the data of a switch or an array is not aligned"),
        (
            &[0x002B, 4, 0, 0x000E, 0x0100, 9, 0, 0],
            "the code ends within an instruction, a switch or an array",
        ),
        (&[0x002B, 4, 0, 0x000E, 0x0100, 1, 0, 0, 1, 0], "a branch does not lead to an instruction"),
        // A constant that looks like data.
        (&[0x002B, 4, 0, 0x0018, 0x0100, 0, 0, 0, 0x000E], "a switch or an array does not lead to its data"),
    ] {
        assert_eq!(error(&of(list)), what, "{list:x?}");
    }
    let fine = of(&[0x0000, 0x0000, 0x000E]);
    let range = |start, length, handler| Try { start, length, handler };
    let tries = |tries: &[Try]| Code {
        tries: tries.to_vec(),
        handlers: vec![Handler { typed: vec![], catch_all: Some(2) }],
        ..fine.clone()
    };
    assert!(Body::read(&tries(&[range(0, 1, 0), range(1, 2, 0)])).is_ok());
    assert_eq!(error(&tries(&[range(0, 2, 0), range(1, 2, 0)])), "a try range overlaps another");
    assert_eq!(error(&tries(&[range(0, 4, 0)])), "a try range is outside of the code");
    assert_eq!(error(&tries(&[range(0, 1, 1)])), "a try range has no handlers");
    let lost = Code { handlers: vec![Handler { typed: vec![(1, 3)], catch_all: None }], ..fine.clone() };
    assert_eq!(error(&lost), "an exception handler is not an instruction");
    assert_eq!(error(&Code { ins: 5, ..fine.clone() }), "there are more parameters than registers");
    assert_eq!(
        error(&Code { debug: Some(Cow::Borrowed(&[1, 0])), ..fine.clone() }),
        "the debug information is broken"
    );
    assert_eq!(
        error(&Code { units: Cow::Borrowed(&[0, 0, 0]), ..fine }),
        "the code has half a unit, or too many"
    );
    // Switches that share their data.
    let mut shared = [0x002B, 400, 0].repeat(100);
    for (index, offset) in shared.iter_mut().skip(1).step_by(3).enumerate() {
        *offset = 302 - 3 * index as u16;
    }
    shared.extend([0x000E, 0, 0x0100, 20, 0, 0]);
    shared.extend([0; 40]);
    assert_eq!(error(&of(&shared)), "switches share their data");
}

#[test]
fn a_far_branch_gets_wider() {
    // if-eqz v0, the end; many nops; return-void
    for (nops, expected) in [(10, 2), (32_000, 2), (33_000, 5)] {
        let mut list = vec![0x0038, (nops + 2) as u16];
        if nops > 32_767 {
            // A goto/32 over the same distance is how it can be read.
            list = vec![0x002A, (nops + 3) as u16, ((nops + 3) >> 16) as u16];
        }
        list.extend(vec![0; nops as usize]);
        list.push(0x000E);
        let mut body = Body::read(&of(&list)).unwrap();
        if nops > 32_767 {
            body.instructions[0].op = 0x38;
            body.instructions[0].count = 1;
        }
        let code = body.encoded(&identity()).unwrap();
        assert_eq!(code.units.len() / 2, nops as usize + 1 + expected);
        if expected == 5 {
            assert_eq!(code.units[0], 0x39, "the opposite test");
        }
        assert!(Body::read(&code).is_ok());
    }
}

#[test]
fn gotos_have_the_least_width_that_reaches() {
    for (nops, width) in [(0_u32, 1), (126, 1), (127, 2), (32_765, 2), (32_766, 3)] {
        let distance = nops + 3;
        let mut list = vec![0x002A, distance as u16, (distance >> 16) as u16];
        list.extend(vec![0; nops as usize]);
        list.push(0x000E);
        let code = Body::read(&of(&list)).unwrap().encoded(&identity()).unwrap();
        assert_eq!(code.units.len() / 2, nops as usize + 1 + width, "{nops}");
    }
    let itself = Body::read(&of(&[0x002A, 0, 0])).unwrap().encoded(&identity()).unwrap();
    assert_eq!(itself.units, units(&[0x002A, 0, 0]), "only goto/32 may go to itself");
}

#[test]
fn a_string_with_a_large_index_moves_what_is_behind_it() {
    // const-string v0, 1; packed-switch v0; return-void; nop; the switch's data
    let list = [0x001A, 1, 0x002B, 4, 0, 0x000E, 0x0100, 1, 7, 0, 3, 0];
    let code = Code { tries: vec![Try { start: 0, length: 2, handler: 0 }], ..of(&list) };
    let code = Code { handlers: vec![Handler { typed: vec![(2, 5)], catch_all: None }], ..code };
    let mut remap = identity();
    remap.tables[Table::Strings as usize][1] = 0x0001_0002;
    let new = code.remapped(&remap).unwrap();
    let expected = [0x001B, 2, 1, 0x002B, 5, 0, 0x000E, 0, 0x0100, 1, 7, 0, 3, 0];
    assert_eq!(new.units, units(&expected));
    assert_eq!(new.tries, [Try { start: 0, length: 3, handler: 0 }]);
    assert_eq!(new.handlers[0].typed, [(2, 6)]);
    let debug = super::debug::read(new.debug.as_ref().unwrap()).unwrap();
    let lines: Vec<_> = debug.events.iter().map(|event| (event.at, event.what)).collect();
    use super::debug::What::Line;
    assert_eq!(lines, [(0, Line(0)), (3, Line(2))], "old addresses as lines");
    // And back: the width stays.
    let mut remap = identity();
    remap.tables[Table::Strings as usize] = vec![5; 70_000];
    let back = new.remapped(&remap).unwrap();
    assert_eq!(back.units[..6], units(&[0x001B, 5, 0])[..]);
}

#[test]
fn limits_are_errors() {
    let mut remap = identity();
    remap.tables[Table::Methods as usize][7] = 70_000;
    let code = of(&[0x0071, 7, 0, 0x000E]);
    let limit = Fault::Limit(Limit::Table("methods"));
    assert_eq!(code.remapped(&remap).unwrap_err(), limit);
    assert_eq!(Body::read(&code).unwrap().encoded(&remap).unwrap_err(), limit);
    remap.tables[Table::Methods as usize][7] = Remap::UNUSED;
    assert!(matches!(code.remapped(&remap), Err(Fault::Malformed(_))));
    let many = Handler { typed: (0..9000).map(|_| (60_000, 3)).collect(), catch_all: None };
    let list = Code { handlers: vec![many.clone(), many.clone(), many.clone()], ..code };
    assert_eq!(list.remapped(&identity()).unwrap_err(), Fault::Limit(Limit::Handlers));
}

#[test]
fn long_ranges_are_cut() {
    let mut list = vec![0; 70_000];
    list.push(0x000E);
    let mut body = Body::read(&of(&list)).unwrap();
    let label = body.add_label(70_000);
    body.handlers.push(super::body::Catch { typed: vec![], all: Some(label) });
    body.tries.push(super::body::Range { start: 5, end: 70_000, handler: 0 });
    let tries = body.encoded(&identity()).unwrap().tries;
    let expected = [(5, 65_535), (65_540, 4_460)].map(|(start, length)| Try { start, length, handler: 0 });
    assert_eq!(tries, expected);
}
