//! Constructors that no Java compiler produces, and other code at the limits of the format.

use std::fs;

use instrumenter::{Exits, Rewritten, SkipReason, rewrite_class};

use crate::assembler::{Assembler, Body};
use crate::support::*;

const CALL_CLASS: &str = "dev/anrscope/MethodBeat";

fn rewrite(bytes: &[u8]) -> Rewritten {
    rewrite_class(bytes, &[7, 8, 9], CALL_CLASS, Exits::All, None).unwrap()
}

/// Runs `main` of class `Odd` after instrumentation.
fn runs(name: &str, bytes: &[u8]) -> (String, Beat) {
    let directory = directory(name);
    let beat = method_beat();
    let counts = directory.join("beat.txt");
    let program = |bytes: &[u8]| {
        fs::write(directory.join("Odd.class"), bytes).unwrap();
        let property = format!("-Dbeat.out={}", text(&counts));
        run("java", &["-Xverify:all", &property, "-cp", &class_path(&[&directory, beat]), "Odd"])
    };
    let plain = program(bytes);
    let rewritten = rewrite(bytes);
    assert_eq!(rewritten.skipped, []);
    let traced = program(&rewritten.bytes.unwrap());
    assert_eq!(plain, traced);
    (traced, Beat::read(&counts))
}

/// `main` creates one object with `true` and one with `false`.
fn main_that_makes_two(class: &mut Assembler) {
    let constructor = class.method_ref("Odd", "<init>", "(Z)V");
    let this = class.this_class().to_be_bytes();
    let make = |flag: u8| [&[187][..], &this, &[89, flag, 183], &constructor, &[87]].concat();
    let code = [make(4), make(3), vec![177]].concat();
    class.method(
        9,
        "main",
        "([Ljava/lang/String;)V",
        &Body { code, max_stack: 3, max_locals: 1, ..Body::default() },
    );
}

/// Two branches with a super call each, and common code after them.
fn two_super_calls() -> Vec<u8> {
    let mut class = Assembler::new("Odd");
    let object = class.method_ref("java/lang/Object", "<init>", "()V");
    let gc = class.method_ref("java/lang/Thread", "yield", "()V");
    let object_class = class.class("Odd").to_be_bytes();
    let code = [
        &[27][..],     //  0 iload_1
        &[153, 0, 10], //  1 ifeq 11
        &[42, 183],    //  4 aload_0, invokespecial
        &object,       //
        &[167, 0, 7],  //  8 goto 15
        &[42, 183],    // 11 aload_0, invokespecial
        &object,       //
        &[184],        // 15 invokestatic
        &gc,           //
        &[177],        // 18 return
    ]
    .concat();
    let frames = [
        &[255, 0, 11, 0, 2, 6, 1, 0, 0][..], // at 11: uninitializedThis, int
        &[255, 0, 3, 0, 2, 7],               // at 15: Odd, int
        &object_class,
        &[1, 0, 0],
    ]
    .concat();
    let body = Body { code, frames, frame_count: 2, max_stack: 1, max_locals: 2, ..Body::default() };
    class.method(1, "<init>", "(Z)V", &body);
    main_that_makes_two(&mut class);
    class.finish()
}

#[test]
fn a_super_call_on_each_branch_is_traced() {
    let (_, beat) = runs("two_super_calls", &two_super_calls());
    // main, and each object once.
    beat.assert_balanced(3);
    assert_eq!(beat.enters, 3);
}

/// The object waits in another local and goes through swaps before its super call.
#[test]
fn an_object_that_is_moved_before_its_super_call_is_followed() {
    let mut class = Assembler::new("Odd");
    let object = class.method_ref("java/lang/Object", "<init>", "()V");
    let new = class.class("java/lang/Object").to_be_bytes();
    let code = [
        &[42, 77][..],              // aload_0, astore_2
        &[187],                     // new Object
        &new,                       //
        &[89, 183],                 // dup, invokespecial: not the super call
        &object,                    //
        &[44, 95, 87, 89, 87, 183], // aload_2, swap, pop, dup, pop, invokespecial
        &object,                    //
        &[177],
    ]
    .concat();
    class.method(1, "<init>", "(Z)V", &Body { code, max_stack: 3, max_locals: 3, ..Body::default() });
    main_that_makes_two(&mut class);
    let (_, beat) = runs("moved_about", &class.finish());
    assert_eq!(beat.enters, 3);
    beat.assert_balanced(3);
}

#[test]
fn constructors_that_cannot_be_traced_are_skipped_with_a_reason() {
    let only = |descriptor: &str, name: &str, body: Body| {
        let mut class = Assembler::new("Odd");
        let object = class.method_ref("java/lang/Object", "<init>", "()V");
        assert_eq!(object, [0, 10]);
        class.method(if name == "<init>" { 1 } else { 9 }, name, descriptor, &body);
        let rewritten = rewrite(&class.finish());
        assert_eq!(rewritten.bytes, None);
        assert_eq!(rewritten.skipped.len(), 1);
        rewritten.skipped.into_iter().next().unwrap().1
    };
    let body = |code: &[u8]| Body { code: code.to_vec(), max_stack: 2, max_locals: 2, ..Body::default() };

    // jsr 4, return, astore_0, ret 0
    let subroutine = [168, 0, 4, 177, 75, 169, 0];
    assert_eq!(only("()V", "old", body(&subroutine)), SkipReason::Subroutines);
    assert_eq!(only("()V", "<init>", body(&[167, 0, 0])), SkipReason::NoSuperCall);
    assert!(matches!(only("()V", "<init>", body(&[177])), SkipReason::Malformed(_)));
    assert!(matches!(only("()V", "<init>", body(&[87])), SkipReason::Malformed(_)));
    // aload_0, invokespecial, return; then dead code that a frame declares uninitialized.
    let dead = Body {
        frames: vec![255, 0, 5, 0, 1, 6, 0, 0],
        frame_count: 1,
        ..body(&[42, 183, 0, 10, 177, 167, 0, 0])
    };
    assert_eq!(only("()V", "<init>", dead), SkipReason::UnreachableBeforeSuper);
    let long = vec![177; 20_000];
    assert_eq!(only("()V", "long", body(&long)), SkipReason::CodeTooLarge);
    let deep = Body { max_stack: u16::MAX, ..body(&[177]) };
    assert_eq!(only("()V", "deep", deep), SkipReason::StackTooDeep);
    // ifeq over 32,767 bytes, of which some are returns that grow.
    let mut far = vec![3, 153, 0x7F, 0xFF];
    far.resize(0x8000, 0);
    far[4] = 177;
    far.push(177);
    assert_eq!(only("()V", "far", body(&far)), SkipReason::JumpTooFar);
    let cut = body(&[17, 0]);
    assert!(matches!(only("()V", "cut", cut), SkipReason::Malformed(_)));
    let handler = Body { handlers: vec![[0, 0, 0, 0]], ..body(&[177]) };
    assert!(matches!(only("()V", "handler", handler), SkipReason::Malformed(_)));
}

/// A goto of nearly 32,767 bytes, which the calls push over the limit, and a loop back over it.
#[test]
fn a_goto_that_becomes_too_short_is_widened() {
    let mut class = Assembler::new("Odd");
    let constructor = class.method_ref("java/lang/Object", "<init>", "()V");
    let code = [&[42, 183][..], &constructor, &[177]].concat();
    class.method(1, "<init>", "(Z)V", &Body { code, max_stack: 1, max_locals: 2, ..Body::default() });
    let mut code = vec![3, 60]; // iconst_0, istore_1
    code.extend([27, 4, 163]); // 2: iload_1, iconst_1, if_icmpgt 13
    code.extend([0, 9]);
    code.extend([132, 1, 1]); // 7: iinc 1 1
    code.extend([167, 0x7F, 0xFB]); // 10: goto 32,773, which is near the end
    code.extend([177]); // 13: return
    code.resize(10 + 0x7FFB, 0); // dead nops would need a frame: there is one at 14
    let back = code.len() as u16;
    code.extend([200]); // goto_w back to 2
    code.extend((2 - i32::from(back)).to_be_bytes());
    let append_int = [252, 0, 2, 1]; // at 2: int in local 1
    let same = |delta: u16| [&[251][..], &delta.to_be_bytes()].concat();
    let frames = [&append_int[..], &same(10), &same(0), &same(back - 15)].concat();
    let body = Body { code, frames, frame_count: 4, max_stack: 2, max_locals: 2, ..Body::default() };
    class.method(9, "main", "([Ljava/lang/String;)V", &body);
    let bytes = class.finish();
    let (_, beat) = runs("widened", &bytes);
    assert_eq!(beat.enters, 1);
    beat.assert_balanced(1);
}

/// javac excludes returns from its handlers. Others do not, so the calls' own rows come first.
#[test]
fn errors_of_calls_reach_no_handler_that_covers_a_return() {
    let directory = directory("covered");
    let mut class = Assembler::new("Odd");
    let call = class.method_ref("java/lang/Thread", "yield", "()V");
    // 0: invokestatic, iconst_1, ireturn; 5: pop, iconst_2, ireturn
    let code = [&[184][..], &call, &[4, 172, 87, 5, 172]].concat();
    let throwable = class.class("java/lang/Throwable").to_be_bytes();
    let frames = [&[255, 0, 5, 0, 0, 0, 1, 7][..], &throwable].concat();
    let handlers = vec![[0, 5, 5, 0]];
    let body = Body { code, handlers, frames, frame_count: 1, max_stack: 1, max_locals: 0 };
    class.method(9, "f", "()I", &body);
    let bytes = class.finish();
    javac(&directory, &[], &["tools/Failing.java"]);
    for exits in [Exits::All, Exits::Normal] {
        let rewritten = rewrite_class(&bytes, &[7], "tools/Failing", exits, None).unwrap();
        fs::write(directory.join("Odd.class"), rewritten.bytes.unwrap()).unwrap();
        let shown = run("java", &["-Xverify:all", "-cp", text(&directory), "tools.Failing", "Odd", "f"]);
        assert_eq!(shown, "1\n", "{exits:?}");
    }
}
