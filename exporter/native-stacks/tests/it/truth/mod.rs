//! Generated programs record their own call chains, and the unwinder finds the same: some hundred chains. `scripts/prove
//! native-stacks` has ten thousand, also of ARM, and prints what other unwinders make of them.

use test_support::unwinding::generate::Language;
use test_support::unwinding::judge::{Entry, Places, Verdict, judge};
use test_support::unwinding::{Build, Disk, Limits, Tally, prove};

/// Chains of each program.
const CHAINS: usize = 40;

fn scratch(name: &str) -> std::path::PathBuf {
    let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).unwrap();
    directory
}

const C: Language = Language::C;
const CPP: Language = Language::Cpp;
const RUST: Language = Language::Rust;

#[test]
fn stacks_of_x86_64_are_what_the_programs_recorded() {
    let builds = [(C, 0, true), (C, 2, false), (CPP, 3, true), (RUST, 3, false)];
    let directory = scratch("truth");
    let mut all = Tally::default();
    for (seed, (language, level, frame_pointers)) in (7_000..).zip(builds) {
        let build = Build { machine: "x86_64", language, level, frame_pointers, signed: false, seed };
        all.merge(prove(&build, &directory, CHAINS, false, false).unwrap());
    }
    let _ = std::fs::remove_dir_all(&directory);
    assert_eq!(all.ours.all, (CHAINS * builds.len()) as u64);
    assert!(all.chains.len() * 10 > CHAINS * builds.len() * 9, "{} different chains", all.chains.len());
    assert!(all.deepest >= 15, "chains of up to {} functions", all.deepest);
    let shown = format!("{:?}\n{:#?}\n{}", all.ours, all.causes, all.failures.join("\n"));
    assert!(Limits::of_few("x86_64").hold(&all), "{shown}");
}

#[test]
fn the_comparison_notices_each_kind_of_error() {
    let directory = scratch("truth-judge");
    let build =
        Build { machine: "x86_64", language: C, level: 1, frame_pointers: false, signed: false, seed: 7_100 };
    let program = build.compile(&directory, false).unwrap();
    let captures = build.run(&program, CHAINS).unwrap();
    let bytes = std::fs::read(&program).unwrap();
    let path = program.canonicalize().unwrap();
    let places =
        Places::new(&captures.modules, &path.to_string_lossy(), &bytes, |path| std::fs::read(path).ok());
    let machine = captures.all[0].stack.machine;
    let unwinder = native_stacks::Unwinder::new(machine, &captures.modules, &mut Disk::default());
    let (mut judged, mut addresses) = (0, 0);
    for capture in &captures.all {
        let pc = capture.stack.pc();
        let verdict =
            |frames: &[u64], truth: &[Entry]| judge(&places, frames, truth, pc, false, false).verdict;
        let frames: Vec<u64> = unwinder
            .unwind(&capture.stack, &capture.stack.stack)
            .frames
            .iter()
            .map(|frame| frame.pc)
            .collect();
        if verdict(&frames, &capture.truth) != Verdict::Right {
            continue;
        }
        judged += 1;
        // Where each generated function is, but for the innermost ones, which a signal may have found half entered.
        let own: Vec<usize> =
            (3..frames.len()).filter(|at| places.cause(frames[*at]) == "generated").collect();
        let Some(&first) = own.first() else { continue };
        for &at in &own {
            assert_eq!(verdict(&frames[..at], &capture.truth), Verdict::Short, "cut at {at}");
            let mut changed = frames.clone();
            changed.remove(at);
            // Without the outermost one only the libraries' frames are left, as if the stack ended there.
            let is_outermost = own.last() == Some(&at);
            let noticed = verdict(&changed, &capture.truth);
            assert!(
                noticed == Verdict::Wrong || is_outermost && noticed == Verdict::Short,
                "without {at}: {noticed:?}"
            );
            changed.insert(at, frames[at] + 1);
            // The address to which a generated function returns is known to the byte; a library's and a handler's is not.
            // Nor is that of a function that a signal inside the chain has found half entered, whose callee is the handler.
            let is_generated = |at: usize| {
                places.cause(frames[at]) == "generated" && !places.name(frames[at]).starts_with("f_997")
            };
            if is_generated(at - 1) && is_generated(at - 2) {
                assert_eq!(verdict(&changed, &capture.truth), Verdict::Wrong, "another address at {at}");
                addresses += 1;
            }
            changed[at] = frames[at];
            changed.insert(at, frames[at]);
            assert_eq!(verdict(&changed, &capture.truth), Verdict::Wrong, "twice {at}");
            changed[at] = 0x10;
            assert_eq!(verdict(&changed, &capture.truth), Verdict::Wrong, "no code at {at}");
        }
        let beyond = [&frames[..], &frames[first..=first]].concat();
        assert_eq!(verdict(&beyond, &capture.truth), Verdict::Wrong, "beyond the root");
    }
    assert!(judged > CHAINS / 2 && addresses > judged, "{judged} stacks judged, {addresses} addresses");
}
