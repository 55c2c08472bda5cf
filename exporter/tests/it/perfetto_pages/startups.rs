//! `android_startups` and what belongs to it.

use super::*;

#[test]
fn android_startups_and_what_belongs_to_them() {
    let startups = rows("include perfetto module android.startup.startups; select * from android_startups");
    let [cold] = &startups[..] else { panic!("{startups:?}") };
    assert_eq!((&cold["ts"], &cold["dur"]), (&json!(START), &json!(800 * MS)));
    assert_eq!((&cold["startup_type"], &cold["package"]), (&json!("cold"), &json!("com.example.app")));
    let processes = rows(
        "include perfetto module android.startup.startups;
         select p.pid, s.startup_type from android_startup_processes s join process p using (upid)",
    );
    assert_eq!(processes, [json!({"pid": 4242, "startup_type": "cold"})]);
    let threads = rows(
        "include perfetto module android.startup.startups;
         select thread_name from android_startup_threads where is_main_thread",
    );
    assert_eq!(threads, [json!({"thread_name": "main"})]);
    let phases = rows(
        "include perfetto module android.startup.startups;
         select slice_name, slice_ts, slice_dur from android_thread_slices_for_all_startups
         where slice_name in ('bindApplication', 'activityStart', 'activityResume')
         order by slice_ts, slice_dur desc, slice_name desc",
    );
    let phases: Vec<_> = phases
        .iter()
        .map(|p| {
            (
                p["slice_name"].as_str().unwrap(),
                p["slice_ts"].as_u64().unwrap(),
                p["slice_dur"].as_u64().unwrap(),
            )
        })
        .collect();
    let rest = (START + 200 * MS, 600 * MS);
    assert_eq!(
        phases,
        [
            ("bindApplication", START, 200 * MS),
            ("activityStart", rest.0, rest.1),
            ("activityResume", rest.0, rest.1)
        ]
    );
    let lane = rows(
        "select s.name, s.dur, extract_arg(s.arg_set_id, 'debug.grade') grade,
           extract_arg(s.arg_set_id, 'debug.first_draw_ms') drawn from slice s join track t on s.track_id = t.id
         where t.name = 'Startup' and s.dur > 0 order by s.ts",
    );
    assert_eq!(
        lane[0],
        json!({"name": "launchingActivity#1", "dur": 800 * MS, "grade": "good", "drawn": 750})
    );
    assert_eq!(
        (&lane[1]["name"], &lane[1]["dur"]),
        (&json!("page: com.example.app.Detail"), &json!(300 * MS))
    );
    assert_eq!(lane[2]["name"], "start: service");
}
