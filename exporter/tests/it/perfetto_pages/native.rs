//! Native stacks: frames with their addresses in the file, mappings with build ids, samples in the flame graph.

use test_support::engine;
use trace_format::section::SectionKind;
use trace_format::sections::native_frames::{FrameKind, NativeFrame, NativeFrames};
use trace_format::sections::native_modules::{Mapping, NativeModules};
use trace_format::synth::RecordingBuilder;

use super::*;

// The engine takes the package from the path of an installed app.
const LIBRARY: &str = "/data/app/~~Q2x8Zg==/com.example.app-b9AtXw==/lib/arm64/libphoto.so";

fn frame(kind: FrameKind, rel_pc: u64, function: &str) -> NativeFrame {
    let path = if kind == FrameKind::Jit { "" } else { LIBRARY };
    NativeFrame {
        kind,
        pc: 0x7000_0000 + rel_pc,
        rel_pc,
        build_id: if path.is_empty() { "" } else { "0badcafe" }.to_owned(),
        path: path.to_owned(),
        function: function.to_owned(),
        file: if function == "inner" { "photo.cc" } else { "" }.to_owned(),
        line: 12,
    }
}

fn recording() -> RecordingBuilder {
    let native = [
        frame(FrameKind::Inlined, 0x1010, "inner"),
        frame(FrameKind::Native, 0x1010, "shrink"),
        frame(FrameKind::Native, 0x1200, ""),
        frame(FrameKind::Jit, 0x9000_0000, ""),
    ];
    let stack = |number: u64, tid, frames: &[NativeFrame], end: &str| {
        let at = START + number * S;
        NativeFrames { number, tid, at, reason: 1, end: end.to_owned(), frames: frames.to_vec() }.encode()
    };
    let mapping = Mapping {
        start: 0x7000_1000,
        end: 0x7000_9000,
        offset: 0x800,
        bias: 0x7000_0000,
        build_id: vec![0x0b, 0xad, 0xca, 0xfe],
        path: LIBRARY.to_owned(),
    };
    let modules = NativeModules { at: START + S, mappings: vec![mapping], ..NativeModules::default() };
    RecordingBuilder::new(4242, "com.example.app")
        .main("main", |t| {
            t.enter(START + MS, 1).exit(START + 9 * S, 1);
        })
        .section(SectionKind::NativeFrames, &stack(1, 4242, &native, ""))
        .section(SectionKind::NativeFrames, &stack(2, 4242, &native, "the copy of the stack ends at 64 KiB"))
        .section(SectionKind::NativeFrames, &stack(3, 4300, &native[1..2], ""))
        .section(SectionKind::NativeModules, &modules.encode())
}

#[test]
fn native_frames_have_their_addresses_and_mappings_their_build_ids() {
    let (file, summary) = export_to_file(&recording().build(), &FORMS[0]);
    assert_eq!(summary.counts.stacks, 3);
    let found = engine::rows(
        &file.0,
        "select f.name, f.rel_pc, m.name path, m.build_id, m.start, m.end, m.exact_offset, m.load_bias
         from stack_profile_frame f join stack_profile_mapping m on f.mapping = m.id where m.build_id != '' order by f.id",
    );
    let row = |name: &str, rel_pc: u64| {
        json!({"name": name, "rel_pc": rel_pc, "path": LIBRARY, "build_id": "0badcafe", "start": 0x7000_1000u64,
            "end": 0x7000_9000u64, "exact_offset": 0x800, "load_bias": 0x800})
    };
    assert_eq!(found, [row("libphoto.so+0x1200", 0x1200), row("shrink", 0x1010), row("inner", 0x1010)]);
    let samples = engine::rows(
        &file.0,
        "select p.ts, t.tid, p.unwind_error, f.name leaf from perf_sample p join thread t using (utid)
         join stack_profile_callsite c on p.callsite_id = c.id join stack_profile_frame f on c.frame_id = f.id order by p.ts",
    );
    let sample = |at: u64, tid: u32, cut: Value, leaf: &str| json!({"ts": START + at * S, "tid": tid, "unwind_error": cut, "leaf": leaf});
    let wanted = [
        sample(1, 4242, Value::Null, "inner"),
        sample(2, 4242, json!("memory_invalid"), "inner"),
        sample(3, 4300, Value::Null, "shrink"),
    ];
    assert_eq!(samples, wanted);
    assert_eq!(engine::rows(&file.0, LOST), [] as [Value; 0]);
}

#[test]
fn javas_frames_are_in_the_flame_graph_above_the_native_ones() {
    let (file, _) = export_to_file(&recording().build(), &FORMS[0]);
    let tree = engine::rows(
        &file.0,
        "include perfetto module stacks.cpu_profiling;
         select c.name, p.name caller, c.cumulative_count total from cpu_profiling_summary_tree c
         left join cpu_profiling_summary_tree p on c.parent_id = p.id where c.name in ('inner', 'libphoto.so+0x1200')",
    );
    let java = map().get(1).map(|method| format!("{}.{}", method.class, method.method)).unwrap();
    let wanted = [
        json!({"name": "libphoto.so+0x1200", "caller": java, "total": 2}),
        json!({"name": "inner", "caller": "shrink", "total": 2}),
    ];
    assert_eq!(tree, wanted);
}

#[test]
fn each_stack_is_an_instant_that_says_why_it_was_taken_and_why_it_ends() {
    for (form, prefix) in FORMS.iter().zip(["debug", "debug", "args"]) {
        let (file, _) = export_to_file(&recording().build(), form);
        let arg = |key: &str| format!("extract_arg(s.arg_set_id, '{prefix}.{key}') {key}");
        let args = ["reason", "stack_ends", "stack"].map(arg).join(", ");
        let found = engine::rows(
            &file.0,
            &format!("select s.name, {args} from slice s where s.name glob 'native stack*' order by s.ts"),
        );
        assert_eq!(found.len(), 3, "{form:?}");
        assert_eq!(found[1]["name"], "native stack: stall");
        assert_eq!(found[1]["stack_ends"], "the copy of the stack ends at 64 KiB");
        assert!(
            found[1]["stack"].as_str().unwrap().starts_with("inner < shrink < libphoto.so+0x1200"),
            "{found:?}"
        );
        assert_eq!(found[0]["stack_ends"], Value::Null);
    }
}
