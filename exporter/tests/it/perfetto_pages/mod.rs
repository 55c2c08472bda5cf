//! Which of Perfetto's own tables and pages the traces fill, row by row; and the queries in docs/queries.
//!
//! The table in docs/evidence/status.md, "Perfetto's pages", has a line for each.

mod frames;
mod incidents;
mod native;
mod process;
mod queries;
mod slices;
mod stacks;
mod startups;
mod tasks;

use std::path::Path;
use test_support::engine;

use exporter::ExportOptions;
use serde_json::{Value, json};
use test_support::recordings::app::{
    ASKED, FRAMES, FROZEN_FRAME, HANG, INTERVAL, LATE_FRAME, LATE_MESSAGE, LOCK, START, app,
};
use test_support::recordings::collect::collect;
use test_support::recordings::{FORMS, MS, S, TempFile, export_to_file, map};

fn trace() -> TempFile {
    export_to_file(&app().build(), &FORMS[0]).0
}

fn rows(query: &str) -> Vec<Value> {
    engine::rows(&trace().0, query)
}

/// What the engine counts as an error or as lost, and of its other counts those that mean lost data.
const LOST: &str = "
  select name, value from stats where value > 0 and (severity in ('error', 'data_loss') or name in (
    'track_event_parser_errors', 'track_event_tokenizer_errors', 'interned_data_tokenizer_errors',
    'tokenizer_skipped_packets', 'frame_timeline_event_parser_errors', 'frame_timeline_unpaired_end_event',
    'flow_step_without_start', 'flow_end_without_start', 'flow_no_enclosing_slice', 'flow_duplicate_id',
    'flow_invalid_id', 'track_hierarchy_missing_uuid', 'packet_skipped_seq_needs_incremental_state_invalid',
    'interned_data_skipped_incremental_state_invalid', 'stackprofile_empty_callstack',
    'perf_samples_cpu_mode_unknown', 'trace_sorter_negative_timestamp_dropped', 'misplaced_end_event',
    'slice_max_depth_exceeded', 'slice_negative_duration', 'slice_drop_overlapping_complete_event',
    'slice_spill_overlapping_complete_event', 'android_log_format_invalid', 'json_tokenizer_failure',
    'json_parser_failure', 'generic_task_state_invalid_order'))";

#[test]
fn nothing_is_lost_on_the_way_in() {
    let mut forms = FORMS.to_vec();
    forms.push(ExportOptions { merge_safe: true, ..FORMS[0].clone() });
    for form in &forms {
        let (file, _) = export_to_file(&app().build(), form);
        assert_eq!(engine::rows(&file.0, LOST), [] as [Value; 0], "{form:?}");
    }
}

/// What we do not have, we do not pretend to have.
#[test]
fn tables_of_the_system_stay_empty() {
    for table in ["sched", "thread_state", "heap_graph_object", "gpu_slice"] {
        assert_eq!(rows(&format!("select * from {table} limit 1")), [] as [Value; 0], "{table}");
    }
    let frames =
        rows("include perfetto module android.frames.timeline; select * from android_frames limit 1");
    assert_eq!(frames, [] as [Value; 0]);
}
