//! The queries in docs/queries.

use super::*;
use test_support::engine;

#[test]
fn every_query_of_the_documentation_finds_what_is_there() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/queries");
    let list = std::fs::read_to_string(directory.join("README.md")).unwrap();
    let (trace, of_tasks) =
        (trace(), export_to_file(&test_support::recordings::tasks::tasks().build(), &FORMS[0]).0);
    let mut count = 0;
    for entry in std::fs::read_dir(&directory).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "sql") {
            continue;
        }
        let name = path.file_name().unwrap().to_str().unwrap();
        let sql = std::fs::read_to_string(&path).unwrap();
        assert!(sql.starts_with("-- "), "{name} says what it answers");
        assert!(list.contains(&format!("[{name}]")), "{name} is listed");
        // The life of an app has no steps of concurrent work.
        let about_tasks = sql.contains("task") || sql.contains("posted_by");
        let found = engine::rows(if about_tasks { &of_tasks.0 } else { &trace.0 }, &sql);
        assert!(!found.is_empty(), "{name} found nothing");
        let all_null = |column: &String| found.iter().all(|row| row[column].is_null());
        let empty: Vec<_> = found[0].as_object().unwrap().keys().filter(|c| all_null(c)).collect();
        let allowed = ["cpu_state", "paused_ms", "deadlock"];
        assert!(empty.iter().all(|c| allowed.contains(&c.as_str())), "{name}: nothing in {empty:?}");
        count += 1;
    }
    assert!(count >= 10, "{count}");
}
