//! Truncated, mutated and synthetic texts.

use std::fmt::Write as _;
use std::path::Path;

use answers::dump::{Dump, Frame, limits};
use answers::retrace::Mapping;
use proptest::prelude::*;

use test_support::bodies::dumps;

/// Bytes from one cut to the next: a prime, so that cuts fall into each part of a line.
const CUTS: usize = 7;
/// Bytes in front of a cut that are read with it, back to the line's begin.
const BEFORE_A_CUT: usize = 4096;

#[test]
fn every_sample_cut_anywhere_is_read_or_refused() {
    for (is_mapping, text) in dumps::samples() {
        for end in (0..text.len()).step_by(CUTS) {
            // What is far in front of a cut decides nothing, and all of it would take a minute.
            let before = &text[..end.saturating_sub(BEFORE_A_CUT)];
            let begin = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            if is_mapping {
                let _ = Mapping::parse(Path::new("m"), &text[begin..end]);
            } else {
                let _ = Dump::read(Path::new("x"), &text[begin..end]);
            }
        }
        // The program's other operations cost more: run them on the whole up to each line.
        let ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at);
        for end in ends.step_by(3 * CUTS) {
            if is_mapping { dumps::mapping(&text[..end]) } else { dumps::dump(&text[..end]) }
        }
    }
}

#[test]
fn what_is_kept_is_bounded() {
    // One thread with more frames than the limit.
    let mut text = String::from("\"deep\" prio=5 tid=1 Runnable\n");
    for line in 0..limits::FRAMES + 10 {
        let _ = writeln!(text, "  at a.B.c(D.java:{line})");
    }
    let dump = Dump::read(Path::new("x"), text.as_bytes()).unwrap();
    let thread = &dump.sections[0].threads[0];
    assert_eq!((thread.frames.len(), thread.cut_frames), (limits::FRAMES, 10));
    // More threads than fit: long names, so that few suffice.
    let name = "n".repeat(limits::LINE - 64);
    let threads = limits::MEMORY / limits::LINE + 100;
    let text: String = (0..threads).map(|tid| format!("\"{name}\" prio=5 tid={tid} Native\n\n")).collect();
    let dump = Dump::read(Path::new("x"), text.as_bytes()).unwrap();
    let kept = dump.sections[0].threads.len();
    assert!(kept < threads && kept * limits::LINE <= limits::MEMORY + limits::LINE, "{kept} of {threads}");
    assert!(dump.warnings.iter().any(|w| w.contains("were left out")), "{:?}", dump.warnings);
}

#[test]
fn what_a_line_makes_is_counted_as_what_it_makes() {
    // A short line each, which would be as long as the class, or as a thread's name, if it were kept.
    let long = "c".repeat(60 << 10);
    let alternatives = format!("  at {long}.d(E)\n{}", "  or .x (E)\n".repeat(limits::REMARKS));
    let alternatives = format!("\"t\" prio=5 tid=1 Native\n{}", alternatives.repeat(100));
    let runs = format!(
        "Thread:1\n{}*threads\n1\t{long}\n*methods\n0x1\t{long}\tm\n*end\n",
        "->0x1 5\n<-6\n".repeat(40_000)
    );
    let runs = format!("----- pid 1 at x -----\n{}", runs.repeat(4));
    let kernel = "[<0>] f+1\n".repeat(limits::FRAMES + 5);
    let kernel =
        format!("----- pid 1 at x -----\nKERNEL SPACE BACKTRACE, sysTid=1\n{kernel}\"t\" sysTid=1\n");
    let read = |text: String| Dump::read(Path::new("x"), text.as_bytes()).unwrap();
    let dump = read(alternatives);
    let frames = dump.sections.iter().flat_map(|s| &s.threads).flat_map(|t| &t.frames);
    let or = frames.map(|frame| match frame {
        Frame::Java(java) => java.or.iter().map(String::len).sum::<usize>(),
        Frame::Native(_) | Frame::Kernel(_) => 0,
    });
    assert!(or.sum::<usize>() <= limits::MEMORY);
    assert!(dump.warnings.iter().any(|w| w.contains("were left out")), "{:?}", dump.warnings);
    let dump = read(runs);
    let long = dump.sections[0].long_methods.as_ref().unwrap();
    assert!(long.dropped > 0 && long.runs.iter().all(|run| run.method.len() <= 1024));
    assert_eq!(read(kernel).sections[0].threads[0].frames.len(), limits::FRAMES);
}

#[test]
fn a_chain_of_a_hundred_thousand_threads_is_followed() {
    let threads = 100_000;
    let mut text = String::new();
    for tid in 1..=threads {
        let next = tid % threads + 1;
        let _ = write!(
            text,
            "\"t\" prio=5 tid={tid} Blocked\n  at a.B.c(D.java:1)\n  - waiting to lock <0x{tid:x}> (a a.B) held by thread {next}\n\n"
        );
    }
    let dump = Dump::read(Path::new("x"), text.as_bytes()).unwrap();
    let graph = answers::dump::LockGraph::from(&dump.sections[0]);
    assert_eq!((graph.deadlocks.len(), graph.deadlocks[0].len()), (1, threads));
    // The page is short, and does not search all threads for each one.
    assert!(super::page(&dump).lines().count() < 1000);
    assert_eq!(graph.chain(1, usize::MAX).len(), threads);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
        dumps::dump(&bytes);
        dumps::mapping(&bytes);
    }

    #[test]
    fn anything_like_a_dump_is_read(
        lines in prop::collection::vec(
            prop_oneof![
                "\"[a\" ]{0,4}\" (daemon )?(prio=[0-9]{0,2} )?(tid=[0-9]{0,11} [A-Z]?|sysTid=[0-9]{0,11}|\\(not attached\\))",
                "  at [a.$<(]{0,6}\\(?[A:0-9-]{0,4}\\)?",
                "  - (waiting (on|to lock)|locked|sleeping on) (<0x[0-9a-f]{0,17}>|an unknown object)( \\(a [a.B<>\\[\\]]{0,5}\\)?)?( held by (thread|tid=) ?[0-9]{0,11})?",
                "  (native: )?#[0-9]{0,2} pc [0-9a-f]{0,17}  [/a (!]{0,6}(\\(offset [0-9]{0,3}\\))? \\(?[a+0-9(]{0,6}\\)?( \\(BuildId: )?",
                "  \\| [a-zS]{0,7}=[\"( ]?[0-9a =\"]{0,6}[\") ]?",
                "----- (pid|Waiting Channels: pid|end|dumping pid:) [0-9]{0,11}( at .{0,4})?( -----)?",
                "(Thread:[0-9]{0,4}|->0x[0-9] [0-9]{0,21}|<-[0-9]{0,21}|\\*threads|\\*methods|[0-9]\ta\tb)",
                "(events <|  anr <|>|--- CriticalEventLog ---|Heap: [0-9]{0,21}% free, [0-9]{0,3}KB/[0-9]{0,3}MB; [0-9] objects)?",
                "(KERNEL SPACE BACKTRACE, sysTid=[0-9]{0,4}|\\[<0>\\] [a+]{0,3}|pid: [0-9]{1,4}, tid: [0-9]{1,4}, name: .{0,3}>>> a <<<)",
                "\"[a\" ]{0,4}\" (#[0-9]{0,11} )?(\\[[0-9]{0,3}\\] )?(daemon )?(prio=5 )?(cpu=[0-9.]{0,4}ms )?tid=0x[0-9a-f]{0,17} nid=(NA|0x[0-9a-f]{0,9}|[0-9]{0,11})( waiting on condition)?",
                "(#[0-9]{0,4} \"[a\"]{0,2}\"( virtual)?( BLOCKED)?|   java.lang.Thread.State: [A-Z]{0,7}( \\(parking\\))?|Full thread dump [a()]{0,3}:|[0-9]{0,5}:?|2026-01-01 00:00:00)",
                "(\t- (parking to wait for  <0x[0-9a]{0,3}>|locked <a@[0-9]{0,3}>(, owner #[0-9]{0,3})?|<0x[0-9a]{0,3}>) \\(a [a.]{0,3}\\)|   Locked ownable synchronizers:|JNI global refs: 1)",
                "(Found one Java-level deadlock:|\"[a\"]{0,2}\":|  waiting to lock monitor 0x1 \\(object 0x[0-9a]{0,3}, a x\\),|  which is held by \"[a\"]{0,2}\"|   Mounted virtual thread #[0-9]{0,3}| waiting for a to release lock on <0x[0-9]{0,2}> \\(a a\\))",
                "(ANR in [a.(/ ]{0,5}|PID: [0-9]{0,11}|Reason: a|Load: [0-9/]{0,4}|CPU usage from 0ms|[+-]?[0-9.]{0,4}% [0-9]{0,4}/a: [0-9%a ]{0,4}|some avg10=[0-9.]{0,5}|----- Output from /proc/pressure/(memory|io) -----)",
                "(Coroutines dump x|Coroutine \"?[a\":]{0,4}@?, state: (SUSPENDED|RUNNING \\(x\\)|x)|\t\\(Coroutine creation stacktrace\\)|&lt;0x[0-9]{0,3}&gt;|<br/>[a<&]{0,3}|sysTid=[0-9]{0,3} (state=[A-Z]? )?[a=]{0,2})",
                "(  or .?[a.]{0,4}|  \\.\\.\\. repeated [0-9]{0,11} times|a \\([a-z]{0,3}\\): tid=[0-9]{0,4} systid=[0-9]{0,4})",
            ],
            0..60,
        )
    ) {
        dumps::dump(lines.join("\n").as_bytes());
    }

    #[test]
    fn anything_like_a_mapping_is_read(
        lines in prop::collection::vec(
            prop_oneof![
                "[ab.]{1,3} -> [ab.]{1,3}:",
                "    ([0-9]{0,11}:[0-9]{0,20}:)?void [a.]{1,4}\\([a,]{0,3}\\)(:[0-9]{0,20})?(:[0-9]{0,20})? -> [ab]",
                "# \\{\"id\":\"(sourceFile|com.android.tools.r8.(outline|synthesized|residualsignature|outlineCallsite))\",\"(fileName|signature)\":\"[a(]{0,2}\",\"positions\":\\{\"[0-9]{0,11}\":[0-9]{1,11}\\}\\}",
                "# pg_map_(id|hash): [a0]{0,3}",
            ],
            0..40,
        )
    ) {
        dumps::mapping(lines.join("\n").as_bytes());
    }
}
