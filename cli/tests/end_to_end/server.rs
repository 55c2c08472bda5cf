//! A server's requests, found on its worker threads.

use crate::end_to_end::compile;
use test_support::program;
use test_support::temp_dir::TempDir;

#[test]
fn slow_requests_of_a_server_are_found_with_what_they_waited_for() {
    let directory = TempDir::new();
    compile("Server", directory.path());
    let (trace, kept) = (directory.name("server.pftrace"), directory.name("kept"));
    let watch = ["--watch", "http-exec-*", "--limit", "500ms"];
    let own = ["jvm", "--resolution", "exact", "--max-overhead", "0", "--out", &trace, "--keep", &kept];
    let java = ["--", "-cp", &directory.name(""), "Server"];
    let shown = program::run(own.iter().chain(&watch).chain(&java).copied());
    assert_eq!((shown.code, shown.stdout.as_str()), (Some(0), "22\n"), "{shown:?}");
    assert!(shown.stderr.contains("22 requests on 2 threads: median "), "{}", shown.stderr);
    assert!(shown.stderr.contains("2 took 500 ms or longer:"), "{}", shown.stderr);
    assert!(shown.stderr.contains("Server.query > sleep (self 70"), "{}", shown.stderr);

    let found = |more: &[&str]| {
        let own = ["requests", &kept, "--threads", "http-exec-*", "--limit", "500ms", "--json"];
        let shown = program::run(own.iter().chain(more).copied());
        assert_eq!(shown.code, Some(0), "{shown:?}");
        serde_json::from_str::<serde_json::Value>(&shown.stdout).unwrap()
    };
    let all = found(&[]);
    assert_eq!([&all["requests"], &all["open"], &all["cut"], &all["slow_count"]], [22, 0, 0, 2]);
    assert_eq!(all["methods"][0]["requests"], 22);
    let slow = all["slow"].as_array().unwrap();
    for request in slow {
        let [duration, waited] = ["duration_ns", "waited_ns"].map(|key| request[key].as_u64().unwrap());
        assert!(waited >= 700_000_000 && waited <= duration, "{request}");
        assert_eq!(request["path"].as_array().unwrap().last().unwrap()["name"], "sleep", "{request}");
    }
    // By the name of a method deeper inside.
    let queries = found(&["--unit", "Server.query"]);
    assert_eq!([&queries["requests"], &queries["slow_count"]], [2, 2]);
}
