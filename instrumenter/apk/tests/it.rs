//! Manifests of real apps, edited.

use test_support::bodies::manifests::manifest;

#[test]
fn own_manifests_pass_the_fuzzers_body() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/manifest");
    let files =
        std::fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path());
    for path in files {
        manifest(&std::fs::read(path).expect("a file"));
    }
}
