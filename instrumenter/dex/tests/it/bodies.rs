use test_support::bodies::dex::dex;

#[test]
fn own_dex_files_pass_the_fuzzers_body() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");
    let files =
        std::fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path());
    let dexes: Vec<_> = files.filter(|path| path.extension().is_some_and(|kind| kind == "dex")).collect();
    assert!(!dexes.is_empty());
    for path in dexes {
        dex(&std::fs::read(path).expect("a file"));
    }
}
