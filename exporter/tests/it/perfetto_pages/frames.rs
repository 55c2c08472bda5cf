//! Frames: what they dropped, and the frame timeline.

use super::*;
use test_support::engine;
use test_support::recordings;

#[test]
fn frames_have_what_they_dropped_and_a_colour_for_it() {
    let frames = rows(
        "select ts, extract_arg(arg_set_id, 'debug.dropped') dropped,
           extract_arg(arg_set_id, 'debug.drop_level') level, extract_arg(arg_set_id, 'correlation_id') colour,
           extract_arg(arg_set_id, 'debug.input_latency_ms') latency,
           extract_arg(arg_set_id, 'debug.total_ms') total, extract_arg(arg_set_id, 'debug.estimated') estimated
         from slice where name glob 'Choreographer#doFrame*' order by ts",
    );
    assert_eq!(frames.len(), 26);
    let late = frames.iter().find(|f| f["ts"] == LATE_FRAME + 40 * MS).unwrap();
    // 95 ms by the system's count are 4 intervals beyond the first.
    assert_eq!((&late["dropped"], &late["level"]), (&json!(4), &json!("normal")));
    // The system measured it, so that nothing of it is estimated.
    assert_eq!((&late["colour"], &late["estimated"]), (&json!("drop:normal"), &json!(null)));
    assert_eq!(late["total"], 95);
    let frozen = frames.iter().find(|f| f["ts"] == FROZEN_FRAME + 2 * MS).unwrap();
    assert_eq!((&frozen["dropped"], &frozen["colour"]), (&json!(52), &json!("drop:frozen")));
    assert_eq!(frames[0]["colour"], "drop:best");
    let latencies: Vec<_> = frames.iter().filter_map(|f| f["latency"].as_f64()).collect();
    assert_eq!(latencies, [14.0, 95.0], "of the frames with input");
}

#[test]
fn actual_and_expected_frame_timeline() {
    let frames = rows(
        "select a.ts, a.dur, a.name token, a.jank_type, a.jank_severity_type severity, a.present_type present,
           a.prediction_type prediction, a.on_time_finish on_time, e.ts expected, e.dur interval, p.pid
         from actual_frame_timeline_slice a join process p using (upid)
         left join expected_frame_timeline_slice e on e.upid = a.upid and
           e.surface_frame_token = a.surface_frame_token
         order by a.ts",
    );
    assert_eq!(frames.len(), 26);
    let first = &frames[0];
    assert_eq!((&first["ts"], &first["dur"]), (&json!(FRAMES + MS), &json!(11 * MS)), "to the display");
    assert_eq!((&first["expected"], &first["interval"]), (&json!(FRAMES), &json!(INTERVAL)));
    assert_eq!((&first["jank_type"], &first["present"]), (&json!("None"), &json!("On-time Present")));
    assert_eq!((&first["on_time"], &first["pid"]), (&json!(1), &json!(4242)));
    let at = |ts: u64| frames.iter().find(|f| f["ts"] == ts).unwrap();
    let late = at(LATE_FRAME + 40 * MS);
    assert_eq!(late["jank_type"], "App Deadline Missed");
    assert_eq!((&late["severity"], &late["present"]), (&json!("Partial"), &json!("Late Present")));
    assert_eq!(at(FROZEN_FRAME + 2 * MS)["severity"], "Full");
    // As many as in the model, to the nanosecond.
    let (model, _) = collect(&app().build(), &map());
    let mut wanted: Vec<_> = model.frames.iter().map(|(begin, end, ..)| (*begin, end - begin)).collect();
    wanted.sort_unstable();
    let found: Vec<_> =
        frames.iter().map(|f| (f["ts"].as_u64().unwrap(), f["dur"].as_u64().unwrap())).collect();
    assert_eq!(found, wanted);
}

/// The vsyncs that main missed in a hang are one frozen frame, not a gap.
#[test]
fn the_vsyncs_that_a_hang_missed_are_a_frozen_frame() {
    let (file, _) = export_to_file(&recordings::stalled().build(), &FORMS[0]);
    let frozen = engine::rows(
        &file.0,
        "select ts, dur, jank_type, jank_severity_type severity, jank_tag from actual_frame_timeline_slice
         where jank_severity_type = 'Full'",
    );
    let hang = 102 * S;
    assert_eq!(
        frozen,
        [json!({"ts": hang, "dur": 8 * S, "jank_type": "App Deadline Missed", "severity": "Full",
            "jank_tag": "Self Jank"})]
    );
}

/// What a thread waits in, and its scheduling states, can be queried by kind.
#[test]
fn waits_and_states_have_their_categories() {
    let found = rows(
        "select category, count() n, min(name) name from slice where category is not null
         and name not glob 'Lock contention*' group by category order by category",
    );
    let of: Vec<_> = found.iter().map(|row| (row["category"].as_str().unwrap(), &row["n"])).collect();
    assert_eq!(of, [("lock", &json!(4)), ("thread_state", &json!(2))], "{found:?}");
}
