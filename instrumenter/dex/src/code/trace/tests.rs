//! Traced methods, run.

use std::borrow::Cow;

use proptest::prelude::*;

use super::{
    Argument, Around, Calls, Exits, Kind, Parameter, Shape, StaticCall, Task, TaskCode, Traced, Untraceable,
    Waits,
};
use crate::code::programs::{
    Action, Choices, ERRORS, Program, QUIET, SUPER, identity, program, run, run_failing,
};
use crate::code::{Body, Code, Handler, Try};

const CALLS: Calls = Calls { enter: 100, exit: 101 };
const ID: u32 = 0x0001_2345;

fn shape(program: &Program) -> Shape {
    let kind = |words: &u16| if *words == 2 { Kind::Wide } else { Kind::Plain };
    let parameters = program.parameters.iter().skip(usize::from(program.is_constructor));
    Shape {
        parameters: parameters.map(|words| Parameter { kind: kind(words), declared: 3 }).collect(),
        is_static: !program.is_constructor,
        is_constructor: program.is_constructor,
        this: Some((4, 5)),
    }
}

fn is_call(action: &Action, method: u32) -> bool {
    matches!(action, Action::Call(called, _) if *called == method)
}

fn without_ours(actions: &[Action]) -> Vec<Action> {
    actions.iter().filter(|action| !is_call(action, 100) && !is_call(action, 101)).cloned().collect()
}

fn own(actions: &[Action]) -> Vec<Action> {
    let is_ours = |action: &Action| matches!(action, Action::Call(method, _) if QUIET.contains(method));
    actions.iter().filter(|action| !is_ours(action)).cloned().collect()
}

/// Compares runs, one of which may have been stopped earlier.
fn same(one: &[Action], other: &[Action]) -> bool {
    let (a, b): (Vec<_>, Vec<_>) = (one.iter().collect(), other.iter().collect());
    let stopped = |run: &[&Action]| matches!(run.last(), Some(Action::Stopped));
    if !stopped(&a) && !stopped(&b) {
        return a == b;
    }
    let common = [&a, &b].map(|run| run.len() - usize::from(stopped(run))).into_iter().min().unwrap();
    a[..common] == b[..common]
}

/// The calls of `i` and `o` stand in no try range, what the others throw is lost, and ranges ascend.
fn check_structure(code: &Code<'_>) {
    let mut reached = 0;
    for range in &code.tries {
        assert!(range.start >= reached && range.length > 0);
        reached = range.start + u32::from(range.length);
    }
    let body = Body::read(code).unwrap();
    for (position, instruction) in (0..).zip(body.instructions()) {
        let crate::code::Operand::Index(method) = instruction.operand else { continue };
        let is_call = matches!(instruction.op, 0x6e | 0x71 | 0x77) && QUIET.contains(&method);
        let catch = body.catch_at(position);
        if is_call && method < 102 {
            assert!(catch.is_none(), "a call of i or o in a range");
        } else if is_call {
            let next = &body.instructions()[position as usize + 1];
            let moves = super::around::is_move_result(next.op);
            let after = position + if moves { 2 } else { 1 };
            let typed = catch.expect("a range").typed.iter().take(ERRORS.len());
            let first: Vec<_> = typed.map(|(class, label)| (*class, body.position(*label))).collect();
            assert_eq!(first, ERRORS.map(|error| (error, after)), "a call that throws");
        }
    }
    assert!(super::locks::held(&body).is_some(), "locks that depend on the path");
}

fn trace(program: &Program, exits: Exits) -> Result<(Code<'static>, Code<'static>, Traced), Untraceable> {
    let old = program.body.encoded(&identity()).unwrap();
    let mut body = Body::read(&old).unwrap();
    let traced = body.trace(&shape(program), ID, CALLS, exits, None)?;
    let new = body.encoded(&identity()).unwrap();
    check_structure(&new);
    Ok((old, new, traced))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_way_in_has_one_way_out(
        choices in proptest::collection::vec(any::<u16>(), 0..300),
        is_constructor: bool,
        seed: u32,
        arguments: [u32; 10],
    ) {
        let program = program(&mut Choices(choices.iter()), is_constructor);
        let Ok((old, new, traced)) = trace(&program, Exits::All) else {
            return Err(TestCaseError::reject("not traced"));
        };
        let arguments = &arguments[..usize::from(old.ins)];
        for seed in seed..seed.saturating_add(4) {
            let (before, after) = (run(&old, arguments, seed), run(&new, arguments, seed));
            prop_assert!(same(&before, &without_ours(&after)), "{before:?}\n{after:?}");
            let enters: Vec<usize> = (0..after.len()).filter(|at| is_call(&after[*at], 100)).collect();
            let leaves: Vec<usize> = (0..after.len()).filter(|at| is_call(&after[*at], 101)).collect();
            for call in enters.iter().chain(&leaves) {
                prop_assert!(matches!(&after[*call], Action::Call(_, list) if list[..] == [ID]));
            }
            let ended = !matches!(after.last(), Some(Action::Stopped));
            let super_call = after.iter().position(|action| is_call(action, SUPER));
            let entered = if traced.after_super {
                // A constructor whose other constructor throws was not entered.
                let called = super_call.filter(|at| *at + 1 < after.len() && is_call(&after[*at + 1], 100));
                called.map(|at| at + 1)
            } else {
                Some(0)
            };
            prop_assert_eq!(&enters[..], &entered.into_iter().collect::<Vec<_>>()[..]);
            if ended {
                let left = entered.map(|_| after.len() - 2);
                prop_assert_eq!(&leaves[..], &left.into_iter().collect::<Vec<_>>()[..], "{:?}", after);
            } else {
                // It may be stopped between the call and the return.
                prop_assert!(leaves.iter().all(|at| *at + 2 == after.len()), "{:?}", after);
            }
        }
    }

    #[test]
    fn without_a_handler_each_return_and_throw_has_an_exit(
        choices in proptest::collection::vec(any::<u16>(), 0..300),
        is_constructor: bool,
        seed: u32,
        arguments: [u32; 10],
    ) {
        let program = program(&mut Choices(choices.iter()), is_constructor);
        let Ok((old, new, traced)) = trace(&program, Exits::Normal) else {
            return Err(TestCaseError::reject("not traced"));
        };
        prop_assert!(!traced.has_handler);
        let arguments = &arguments[..usize::from(old.ins)];
        let (before, after) = (run(&old, arguments, seed), run(&new, arguments, seed));
        prop_assert!(same(&before, &without_ours(&after)), "{before:?}\n{after:?}");
        if let Some(Action::Return(_)) = after.last() {
            prop_assert!(is_call(&after[after.len() - 2], 101));
        }
        prop_assert_eq!(old.handlers.len(), new.handlers.len());
    }
}

fn units(list: &[u16]) -> Cow<'static, [u8]> {
    Cow::Owned(list.iter().flat_map(|unit| unit.to_le_bytes()).collect())
}

fn traced(code: &Code<'_>, shape: &Shape, exits: Exits) -> Code<'static> {
    let mut body = Body::read(code).unwrap();
    body.trace(shape, 3, CALLS, exits, None).unwrap();
    body.encoded(&identity()).unwrap()
}

fn fixed() -> Shape {
    Shape { is_static: true, ..Shape::default() }
}

#[test]
fn a_method_without_registers_gets_one() {
    // invoke-static {} 7; return-void
    let code = Code { units: units(&[0x0071, 7, 0, 0x000E]), ..Code::default() };
    let new = traced(&code, &fixed(), Exits::All);
    let expected = [
        0x3012, 0x1071, 100, 0, // const/4 v0, 3; i
        0x0071, 7, 0, // the call
        0x3012, 0x1071, 101, 0, 0x000E, // o; return-void
        0x010D, 0x3012, 0x1071, 101, 0, 0x0127, // move-exception v1; o; throw v1
    ];
    assert_eq!(new.units, units(&expected));
    assert_eq!((new.registers, new.ins, new.outs), (2, 0, 1));
    assert_eq!(new.tries, [Try { start: 4, length: 3, handler: 0 }]);
    assert_eq!(new.handlers, [Handler { typed: vec![], catch_all: Some(12) }]);
    let normal = traced(&code, &fixed(), Exits::Normal);
    assert_eq!((normal.registers, normal.tries.len(), normal.units.len()), (1, 0, 24));
    assert_eq!(normal.units[..], units(&expected)[..24]);
}

#[test]
fn parameters_are_moved_to_where_the_code_has_them() {
    // A method of an object with a long, whose registers are all parameters: return-wide v1
    let code = Code { registers: 3, ins: 3, units: units(&[0x0110]), ..Code::default() };
    let wide = Parameter { kind: Kind::Wide, declared: 9 };
    let shape = Shape { parameters: vec![wide], ..Shape::default() };
    let new = traced(&code, &shape, Exits::All);
    // ...; move-object v0, v1; move-wide v1, v2; const/4 v0, 3; o; return-wide v1. No handler: nothing throws.
    let expected = [0x3012, 0x1071, 100, 0, 0x1007, 0x2104, 0x3012, 0x1071, 101, 0, 0x0110];
    assert_eq!(new.units, units(&expected));
    assert_eq!((new.registers, new.ins, new.tries.len()), (4, 3, 0));
    let wrong = Shape { is_static: true, ..shape };
    assert_eq!(
        Body::read(&code).unwrap().trace(&wrong, 1, CALLS, Exits::All, None),
        Err(Untraceable::Parameters)
    );
}

#[test]
fn debuggers_find_moved_parameters() {
    // Line 5 at 0, a parameter named 8.
    let debug: &[u8] = &[5, 1, 9, 0x0E, 0];
    let code = Code { registers: 2, ins: 2, units: units(&[0x000E]), ..Code::default() };
    let code = Code { debug: Some(Cow::Borrowed(debug)), ..code };
    let object = Parameter { kind: Kind::Object, declared: 9 };
    let shape = Shape { parameters: vec![object], this: Some((4, 6)), ..Shape::default() };
    let new = traced(&code, &shape, Exits::All);
    let debug = crate::code::debug::read(&new.debug.unwrap()).unwrap();
    use crate::code::debug::What::{End, Line, Start};
    let start =
        |register, name, kind| Start { register, name: Some(name), kind: Some(kind), signature: None };
    let events: Vec<_> = debug.events.iter().map(|event| (event.at, event.what)).collect();
    let expected = [(0, Line(5)), (6, End(1)), (6, End(2)), (6, start(0, 6, 4)), (6, start(1, 8, 9))];
    assert_eq!(events, expected);
}

#[test]
fn a_long_method_is_left_alone() {
    let method = |length: usize| {
        let mut list = vec![0; length - 1];
        list.push(0x000E);
        let code = Code { registers: 1, units: units(&list), ..Code::default() };
        Body::read(&code).unwrap().trace(&fixed(), 3, CALLS, Exits::All, None)
    };
    assert_eq!(method(9_992).unwrap().units, (9_992, 10_000));
    assert_eq!(method(9_993), Err(Untraceable::Huge));
    assert_eq!(method(20_000), Err(Untraceable::Huge));
}

#[test]
fn a_lock_without_its_handler_is_left_alone() {
    // monitor-enter v0; invoke-static {} 7; monitor-exit v0; return-void
    let list = [0x001D, 0x0071, 7, 0, 0x001E, 0x000E];
    let code = Code { registers: 2, units: units(&list), ..Code::default() };
    let trace = |code: &Code<'_>, exits| Body::read(code).unwrap().trace(&fixed(), 3, CALLS, exits, None);
    assert_eq!(trace(&code, Exits::All), Err(Untraceable::Locks));
    assert!(trace(&code, Exits::Normal).is_ok());
    let list = [0x001D, 0x0071, 7, 0, 0x001E, 0x000E, 0x010D, 0x001E, 0x0127];
    let handlers = vec![Handler { typed: vec![], catch_all: Some(6) }];
    let locked =
        Code { units: units(&list), handlers, tries: vec![Try { start: 1, length: 3, handler: 0 }], ..code };
    let new = trace(&locked, Exits::All).unwrap();
    assert!(new.has_handler);
}

#[test]
fn a_constructor_is_entered_behind_its_super_call() {
    // A constructor that stores its parameter: super(); iput v1, v0, 6; return-void
    let list = [0x1070, 90, 0, 0x0159, 6, 0x000E];
    let code = Code { registers: 2, ins: 2, outs: 1, units: units(&list), ..Code::default() };
    let plain = Parameter { kind: Kind::Plain, declared: 0 };
    let shape = Shape { parameters: vec![plain], is_constructor: true, ..Shape::default() };
    let new = traced(&code, &shape, Exits::All);
    // The new register is v2.
    let expected = [
        0x1007, 0x2101, // move-object v0, v1; move v1, v2
        0x1070, 90, 0, 0x3212, 0x1071, 100, 2, 0x0159, 6, // super; const/4 v2, 3; i; iput
        0x3012, 0x1071, 101, 0, 0x000E, // exit
        0x010D, 0x3012, 0x1071, 101, 0, 0x0127,
    ];
    assert_eq!(new.units, units(&expected));
    assert_eq!(new.tries, [Try { start: 9, length: 2, handler: 0 }], "not the super call");
    // Nothing needs the parameter any more.
    let code = Code { units: units(&[0x1070, 90, 0, 0x000E]), ..code };
    let new = traced(&code, &shape, Exits::All);
    assert_eq!(new.registers, 2);
    assert_eq!(new.units[..14], units(&[0x1070, 90, 0, 0x3112, 0x1071, 100, 1])[..]);
    // Without such a call it is traced from its start.
    let code = Code { units: units(&[0x000E]), ..code };
    assert_eq!(traced(&code, &shape, Exits::All).registers, 3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn a_task_starts_behind_the_enter_and_finishes_before_each_exit(
        choices in proptest::collection::vec(any::<u16>(), 0..300),
        seed: u32,
        arguments: [u32; 10],
        kind in 0..3_u8,
        all_exits: bool,
    ) {
        let program = program(&mut Choices(choices.iter()), false);
        let mut shape = shape(&program);
        let has_object = program.parameters.first() == Some(&1);
        let code = match kind {
            1 if has_object => TaskCode::Object,
            2 if has_object => TaskCode::Coroutine { completion: 108 },
            _ => TaskCode::Lambda,
        };
        if code != TaskCode::Lambda {
            shape.is_static = false;
            shape.parameters.remove(0);
        }
        let task = Task { code, call: 105, started: 0x3_0007, finished: 0x4_0000 };
        let old = program.body.encoded(&identity()).unwrap();
        let mut body = Body::read(&old).unwrap();
        let exits = if all_exits { Exits::All } else { Exits::Normal };
        let waits = Waits { task: Some(task), errors: ERRORS, ..Waits::default() };
        if body.trace(&shape, ID, CALLS, exits, Some(&waits)).is_err() {
            return Err(TestCaseError::reject("not traced"));
        }
        let new = body.encoded(&identity()).unwrap();
        check_structure(&new);
        prop_assert_eq!(Body::read(&new).unwrap().encoded(&identity()).unwrap(), new.clone());
        let arguments = &arguments[..usize::from(old.ins)];
        let (before, after) = (run(&old, arguments, seed), run(&new, arguments, seed));
        let failing = run_failing(&new, arguments, seed, &|method| method > 101);
        if code == (TaskCode::Coroutine { completion: 108 }) {
            // What the additional call returns changes what later ones return.
            prop_assert!(is_call(&after[1], 108));
        } else {
            prop_assert!(same(&before, &own(&after)), "{before:?}\n{after:?}");
            prop_assert!(same(&before, &own(&failing)), "{before:?}\n{failing:?}");
        }
        let object = if code == TaskCode::Lambda { 0 } else { arguments[0] };
        let started = after.iter().position(|action| is_call(action, 105)).unwrap();
        prop_assert!(is_call(&after[0], 100));
        let Action::Call(_, list) = &after[started] else { unreachable!() };
        prop_assert_eq!([list[0], list[2], list[3]], [object, task.started, ID]);
        prop_assert!(code != TaskCode::Object || list[1] == 0);
        for (at, _) in after.iter().enumerate().filter(|(_, action)| is_call(action, 101)) {
            let Action::Call(105, list) = &after[at - 1] else { panic!("{after:?}") };
            prop_assert_eq!([list[0], list[2], list[3]], [0, task.finished, ID]);
            prop_assert!(code == TaskCode::Coroutine { completion: 108 } || list[1] == 0, "{list:?}");
        }
        if !matches!(after.last(), Some(Action::Stopped)) && all_exits {
            prop_assert!(is_call(&after[after.len() - 2], 101));
        }
    }
}

#[test]
fn a_coroutine_is_recorded_with_its_completion_and_its_result() {
    // invoke-virtual {v0} 7; move-result-object v0; return-object v0
    let list = [0x106E, 7, 0, 0x000C, 0x0011];
    let code = Code { registers: 2, ins: 2, outs: 1, units: units(&list), ..Code::default() };
    let object = Parameter { kind: Kind::Object, declared: 1 };
    let shape = Shape { parameters: vec![object], ..Shape::default() };
    let task = Task { code: TaskCode::Coroutine { completion: 9 }, call: 8, started: 1, finished: 2 };
    let mut body = Body::read(&code).unwrap();
    let waits = Waits { task: Some(task), errors: ERRORS, ..Waits::default() };
    body.trace(&shape, 3, CALLS, Exits::All, Some(&waits)).unwrap();
    let new = body.encoded(&identity()).unwrap();
    let expected = [
        0x3012, 0x1071, 100, 0, // i(3)
        0x4007, 0x0112, 0x106E, 9, 0, 0x010C, 0x1212, 0x3312, 0x4071, 8,
        0x3210, // c(this, completion, 1, 3)
        0x4007, 0x5107, // the parameters' places
        0x106E, 7, 0, 0x000C, // the call
        0x0112, 0x0207, 0x2312, 0x3412, 0x4071, 8,
        0x4321, // c(null, result, 2, 3), in the registers behind the result
        0x3112, 0x1071, 101, 1, 0x0011, // o(3)
        0x040D, 0x0012, 0x4107, 0x2212, 0x3312, 0x4071, 8, 0x3210, // c(null, exception, 2, 3)
        0x3012, 0x1071, 101, 0, 0x0427, // o(3)
    ];
    assert_eq!(new.units, units(&expected));
    assert_eq!((new.registers, new.ins, new.outs), (6, 2, 4));
    // What getCompletion and c throw is lost; where the method ends by an exception, o follows.
    let clauses = new.handlers.iter().map(|handler| (handler.typed.clone(), handler.catch_all));
    let lost = |to| (ERRORS.map(|error| (error, to)).to_vec(), None);
    let expected = [lost(10), lost(15), (vec![], Some(33)), lost(28), lost(41)];
    assert_eq!(clauses.collect::<Vec<_>>(), expected);
    let starts: Vec<_> = new.tries.iter().map(|range| (range.start, range.length)).collect();
    assert_eq!(starts, [(6, 3), (12, 3), (17, 3), (25, 3), (38, 3)]);
}

#[test]
fn stubs_have_the_line_of_their_first_return() {
    // 0: if-eqz v0, 4; 2: return-void (line 8); 3: nop; 4: return-void (line 9); 5: return-void (line 10)
    let list = [0x0038, 4, 0x000E, 0x0000, 0x000E, 0x010F];
    let debug: &[u8] = &[7, 0, 0x0E, 0x2D, 0x2D, 0x1E, 0];
    let code =
        Code { registers: 2, units: units(&list), debug: Some(Cow::Borrowed(debug)), ..Code::default() };
    let new = traced(&code, &fixed(), Exits::All);
    let debug = crate::code::debug::read(&new.debug.unwrap()).unwrap();
    let lines: Vec<_> = debug.events.iter().map(|event| (event.at, event.what)).collect();
    use crate::code::debug::What::Line;
    // The code is moved by 4; the last return's stub is in its place, the other's is behind it.
    assert_eq!(lines, [(0, Line(7)), (6, Line(8)), (8, Line(9)), (9, Line(10)), (14, Line(8))]);
}

/// Sites around the calls of some methods, and around locks.
fn sites(body: &Body) -> Vec<Around> {
    let call = |method, arguments: &[Argument]| StaticCall { method, arguments: arguments.to_vec() };
    let mut sites = Vec::new();
    for (at, instruction) in (0..).zip(body.instructions()) {
        let first = instruction.registers[0];
        let with_first = |number| match instruction.count {
            0 => vec![Argument::Number(number), Argument::Null],
            _ => vec![Argument::Number(number), Argument::Object(first)],
        };
        let end = call(105, &[Argument::Number(5), Argument::Null]);
        match (instruction.op, instruction.operand) {
            (0x71, crate::code::Operand::Index(method)) if method % 2 == 0 => sites.push(Around {
                at,
                before: vec![call(103, &with_first(3))],
                behind: vec![
                    call(104, &with_first(4)),
                    call(106, &[Argument::Result(false), Argument::Null]),
                ],
                thrown: Some(end),
            }),
            (0x1d, _) => sites.push(Around {
                at,
                before: vec![call(103, &with_first(1))],
                behind: vec![call(104, &with_first(1))],
                thrown: Some(end),
            }),
            (0x1e, _) => {
                sites.push(Around { at, behind: vec![call(107, &with_first(2)[1..])], ..Around::default() })
            }
            _ => {}
        }
    }
    sites
}

/// Runs the method with calls around its calls, and says which actions were inserted.
fn check_around(actions: &[Action]) {
    for (at, action) in actions.iter().enumerate() {
        let Action::Call(method, arguments) = action else { continue };
        let next = |further: usize| actions.get(at + further);
        match (method, next(1)) {
            (103, Some(Action::Call(called, passed))) => {
                let end = next(2).unwrap_or(&Action::Stopped);
                if let Action::Call(104, list) = end {
                    assert_eq!(list[1..], arguments[1..], "an object that was overwritten");
                    assert!(next(3).is_none_or(|next| is_call(next, 106) || *next == Action::Stopped));
                } else {
                    assert!(is_call(end, 105) || *end == Action::Stopped, "{called} {passed:?} {end:?}");
                }
            }
            (103, Some(Action::Lock(lock))) => {
                assert_eq!(arguments[1], *lock);
                assert!(next(2).is_none_or(|next| is_call(next, 104) || *next == Action::Stopped));
            }
            (107, _) => assert_eq!(actions[at - 1], Action::Unlock(arguments[0])),
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn calls_stand_around_calls(
        choices in proptest::collection::vec(any::<u16>(), 0..300),
        is_constructor: bool,
        seed: u32,
        arguments: [u32; 10],
        all_exits: bool,
        failing: u32,
    ) {
        let program = program(&mut Choices(choices.iter()), is_constructor);
        let old = program.body.encoded(&identity()).unwrap();
        let mut body = Body::read(&old).unwrap();
        let waits = Waits { sites: sites(&body), task: None, errors: ERRORS };
        let exits = if all_exits { Exits::All } else { Exits::Normal };
        if body.trace(&shape(&program), ID, CALLS, exits, Some(&waits)).is_err() {
            return Err(TestCaseError::reject("not traced"));
        }
        let new = body.encoded(&identity()).unwrap();
        check_structure(&new);
        prop_assert_eq!(Body::read(&new).unwrap().encoded(&identity()).unwrap(), new.clone());
        let arguments = &arguments[..usize::from(old.ins)];
        let (before, after) = (run(&old, arguments, seed), run(&new, arguments, seed));
        check_around(&without_ours(&after));
        prop_assert!(same(&before, &own(&after)), "{before:?}\n{after:?}");
        // Calls that throw lose their events, and nothing else happens.
        for fails in [0x3FC, failing] {
            let lost = run_failing(&new, arguments, seed, &|method| method > 101 && fails >> (method - 100) & 1 == 1);
            prop_assert!(same(&before, &own(&lost)), "{before:?}\n{lost:?}");
        }
        // The calls lie between the enter and the exit.
        let ours = after.iter().position(|action| matches!(action, Action::Call(102..110, _)));
        let enter = after.iter().position(|action| is_call(action, 100));
        prop_assert!(ours.is_none() || enter < ours);
        let exit = after.iter().position(|action| is_call(action, 101));
        prop_assert!(!all_exits || exit.is_none_or(|exit| exit == after.len() - 2));
    }
}

#[test]
fn a_call_is_recorded_with_objects_and_result() {
    // invoke-virtual {v0} 7; move-result-object v0; return-object v0
    let list = [0x106E, 7, 0, 0x000C, 0x0011];
    let code = Code { registers: 1, ins: 1, outs: 1, units: units(&list), ..Code::default() };
    let object = Parameter { kind: Kind::Object, declared: 1 };
    let shape = Shape { parameters: vec![object], is_static: true, ..Shape::default() };
    let call = |method, arguments: &[Argument]| StaticCall { method, arguments: arguments.to_vec() };
    let site = Around {
        at: 0,
        before: vec![call(8, &[Argument::Number(5), Argument::Object(0)])],
        behind: vec![call(9, &[Argument::Object(0), Argument::Result(true)])],
        thrown: Some(call(9, &[Argument::Null, Argument::Null])),
    };
    let mut body = Body::read(&code).unwrap();
    assert_eq!(body.around_calls(&shape, &[site]), Ok(1));
    let new = body.encoded(&identity()).unwrap();
    let expected = [
        0x9007, // move-object v0, v9
        0x0707, // v7 keeps the object, which the result overwrites
        0x5212, 0x0307, 0x2071, 8, 0x0032, // f(5, object)
        0x106E, 7, 0, 0x000C, // the call
        0x7207, 0x0307, 0x2071, 9, 0x0032, // g(object, result)
        0x0011, 0x010D, 0x0212, 0x0312, 0x2071, 9, 0x0032, 0x0127, // where it throws
    ];
    assert_eq!(new.units, units(&expected));
    assert_eq!(new.tries, [Try { start: 7, length: 3, handler: 0 }]);
    assert_eq!((new.registers, new.ins, new.outs), (10, 1, 2));
}

#[test]
fn what_the_call_behind_a_lock_throws_is_lost() {
    // monitor-enter v1; const/4 v0, 1; monitor-exit v1; return-void: nothing in between can throw
    let list = [0x011D, 0x1012, 0x011E, 0x000E];
    let code = Code { registers: 2, ins: 1, units: units(&list), ..Code::default() };
    let shape = Shape {
        parameters: vec![Parameter { kind: Kind::Object, declared: 1 }],
        is_static: true,
        ..Shape::default()
    };
    let call = StaticCall { method: 9, arguments: vec![Argument::Object(1)] };
    let site = Around { at: 0, behind: vec![call.clone()], ..Around::default() };
    let waits = |sites| Waits { sites, task: None, errors: ERRORS };
    let mut body = Body::read(&code).unwrap();
    let traced = body.trace(&shape, 3, CALLS, Exits::Normal, Some(&waits(vec![site]))).unwrap();
    assert_eq!((traced.sites, traced.has_handler), (1, false));
    let new = body.encoded(&identity()).unwrap();
    let expected = [
        0x3012, 0x1071, 100, 0, // i(3)
        0xA107, 0x011D, 0x1307, 0x1071, 9, 3, // the parameter's place; the lock; g(object)
        0x1012, 0x011E, 0x0428, // the old code
        0x020D, 0x011E, 0x0227, // what Android's verifier wants where a lock is held
        0x3012, 0x1071, 101, 0, 0x000E, // o(3)
    ];
    assert_eq!(new.units, units(&expected));
    assert_eq!(new.tries, [Try { start: 7, length: 3, handler: 0 }]);
    assert_eq!(
        new.handlers,
        [Handler { typed: ERRORS.map(|error| (error, 10)).to_vec(), catch_all: Some(13) }]
    );
    check_structure(&new);
    // A call that the method makes with the lock, without a handler for everything.
    let list = [0x011D, 0x0071, 7, 0, 0x011E, 0x000E];
    let code = Code { units: units(&list), ..code };
    let site = Around { at: 1, before: vec![call], ..Around::default() };
    let traced = |sites| {
        Body::read(&code).unwrap().trace(&shape, 3, CALLS, Exits::Normal, Some(&waits(sites))).map(|_| ())
    };
    assert_eq!(traced(vec![site]), Err(Untraceable::Locks));
    assert_eq!(traced(vec![]), Ok(()));
}
