//! Pulling recordings over connections that break.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use device::pull::{MAX_RECORDING, Pulled, Step, pull};
use device::{App, Place};
use test_device::{Faults, RunningProcess};

use crate::bench::{Bench, PACKAGE, recording};

const OWN: &str = "data/user/0/com.example.shop/no_backup/anrscope";

fn newest(app: &App, directory: &Path) -> Pulled {
    let remote = app.recordings().unwrap().recordings.remove(0);
    pull(app, &remote, directory, MAX_RECORDING, &mut |_| {}).unwrap()
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(directory).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_pull_copies_the_recording_and_changes_nothing_else() {
    let bench = Bench::new(Faults::default());
    let bytes = recording(1, 300_000);
    bench.record("shop-999999999.anrscope", &bytes);
    let to = bench.scratch.path().join("here");
    let pulled = newest(&bench.app(), &to);
    assert_eq!(fs::read(&pulled.path).unwrap(), bytes);
    assert!(pulled.checked && !pulled.live && !pulled.already && pulled.lost == 0, "{pulled:?}");
    assert_eq!(fs::metadata(&pulled.path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(names(&to), ["shop-999999999.anrscope"]);
    assert_eq!(bench.names(OWN), ["shop-999999999.anrscope"]);
    // The second pull finds the file.
    assert!(newest(&bench.app(), &to).already);
}

#[test]
fn a_pull_survives_a_connection_that_closes_every_64_kib() {
    let bench = Bench::new(Faults { cut_after: 64 << 10, ..Faults::default() });
    let bytes = recording(1, 600_000);
    bench.record("shop-999999999.anrscope", &bytes);
    let mut lost = 0;
    let app = bench.app();
    let remote = app.recordings().unwrap().recordings.remove(0);
    let to = bench.scratch.path().join("here");
    let pulled =
        pull(&app, &remote, &to, MAX_RECORDING, &mut |step| lost += u32::from(matches!(step, Step::Lost(_))))
            .unwrap();
    assert_eq!(fs::read(&pulled.path).unwrap(), bytes);
    assert!(pulled.checked && pulled.lost == lost, "{pulled:?}");
    // Each connection carries less than 64 KiB.
    assert!(u64::from(lost) >= bytes.len() as u64 / (64 << 10), "{lost} for {}", bytes.len());
    assert!(bench.phone.cuts() >= u64::from(lost), "{} cuts", bench.phone.cuts());
    assert_eq!(names(&to), ["shop-999999999.anrscope"]);
    assert_eq!(bench.names(OWN), ["shop-999999999.anrscope"]);
}

#[test]
fn a_pull_resumes_after_the_adb_server_restarts() {
    let bench = Bench::new(Faults { slow: Duration::from_millis(5), ..Faults::default() });
    let bytes = recording(1, 300_000);
    bench.record("shop-999999999.anrscope", &bytes);
    let app = bench.app();
    let remote = app.recordings().unwrap().recordings.remove(0);
    let mut restarted = false;
    let pulled = pull(&app, &remote, &bench.scratch.path().join("here"), MAX_RECORDING, &mut |step| {
        if matches!(step, Step::Bytes(done, _) if done > 50_000) && !restarted {
            restarted = true;
            assert!(bench.adb.adb(&["kill-server"]).status.success());
            assert!(bench.adb.adb(&["start-server"]).status.success());
        }
    })
    .unwrap();
    assert_eq!(fs::read(&pulled.path).unwrap(), bytes);
    assert!(restarted && pulled.lost > 0, "{pulled:?}");
}

#[test]
fn a_slow_link_does_not_time_out() {
    let bench = Bench::new(Faults { slow: Duration::from_millis(20), ..Faults::default() });
    let bytes = recording(1, 200_000);
    bench.record("shop-999999999.anrscope", &bytes);
    let pulled = newest(&bench.app(), &bench.scratch.path().join("here"));
    assert_eq!(fs::read(&pulled.path).unwrap(), bytes);
    assert_eq!(pulled.lost, 0);
}

#[test]
fn the_next_pull_resumes_where_the_last_one_stopped() {
    let bench = Bench::new(Faults::default());
    let bytes = recording(1, 300_000);
    bench.record("shop-999999999.anrscope", &bytes);
    let to = bench.scratch.path().join("here");
    fs::create_dir_all(&to).unwrap();
    let part = to.join(".shop-999999999.anrscope.part");
    let app = bench.app();
    let remote = app.recordings().unwrap().recordings.remove(0);
    // The start of this file resumes; the start of another file is discarded.
    for (kept, expected_first) in [(bytes[..100_000].to_vec(), 98_304), (vec![9; 100_000], 0)] {
        fs::write(&part, kept).unwrap();
        let mut first = None;
        let pulled = pull(&app, &remote, &to, MAX_RECORDING, &mut |step| {
            if let Step::Bytes(done, _) = step {
                first.get_or_insert(done);
            }
        })
        .unwrap();
        assert_eq!(fs::read(&pulled.path).unwrap(), bytes);
        let first = first.unwrap();
        assert!(first > expected_first && first <= expected_first + (64 << 10), "{first}");
        fs::remove_file(&pulled.path).unwrap();
    }
}

#[test]
fn the_recording_of_a_running_process_is_copied_first_and_the_copy_removed() {
    let bench = Bench::new(Faults { cut_after: 64 << 10, ..Faults::default() });
    let running = RunningProcess::start();
    let bytes = recording(1, 200_000);
    let name = format!("shop-{}.anrscope", running.pid());
    bench.record(&name, &bytes);
    let pulled = newest(&bench.app(), &bench.scratch.path().join("here"));
    assert!(pulled.live && pulled.checked && pulled.left_behind.is_none() && pulled.lost > 0, "{pulled:?}");
    assert_eq!(fs::read(&pulled.path).unwrap(), bytes);
    assert_eq!(bench.names(OWN), [name]);
}

#[test]
fn on_a_full_disk_the_recording_is_pulled_without_a_copy() {
    let bench = Bench::new(Faults::default());
    let running = RunningProcess::start();
    let bytes = recording(1, 100_000);
    let name = format!("shop-{}.anrscope", running.pid());
    bench.record(&name, &bytes);
    bench.phone.directory().write("full", "").unwrap();
    let pulled = newest(&bench.app(), &bench.scratch.path().join("here"));
    assert!(pulled.live && !pulled.checked, "{pulled:?}");
    assert_eq!(fs::read(&pulled.path).unwrap(), bytes);
    assert_eq!(bench.names(OWN), [name]);
}

#[test]
fn an_interrupted_pull_removes_its_copy() {
    let bench = Bench::new(Faults { slow: Duration::from_millis(5), ..Faults::default() });
    let running = RunningProcess::start();
    let name = format!("shop-{}.anrscope", running.pid());
    bench.record(&name, &recording(1, 400_000));
    let timeouts = crate::bench::patient();
    let stop = timeouts.stop.clone();
    let app = App::new(bench.device().with_timeouts(timeouts), PACKAGE, 0).unwrap();
    let remote = app.recordings().unwrap().recordings.remove(0);
    let to = bench.scratch.path().join("here");
    let mut seen = Vec::new();
    let error = pull(&app, &remote, &to, MAX_RECORDING, &mut |step| {
        if matches!(step, Step::Bytes(..)) && seen.is_empty() {
            seen = bench.names(OWN);
            stop.flag().store(true, std::sync::atomic::Ordering::Relaxed);
        }
    })
    .unwrap_err();
    assert!(error.is_interrupt(), "{error}");
    assert_eq!(seen.len(), 2, "the copy existed: {seen:?}");
    assert_eq!(bench.names(OWN), [name.as_str()]);
    assert_eq!(names(&to), [format!(".{name}.part")]);
}

#[test]
fn without_run_as_the_provider_and_the_shared_storage_are_tried() {
    let bench = Bench::new(Faults { cut_after: 64 << 10, ..Faults::default() });
    let directory = bench.phone.directory();
    fs::remove_file(directory.path(&format!("data/app/{PACKAGE}/debuggable"))).unwrap();
    let app = bench.app();
    let error = app.recordings().map(|list| list.recordings);
    assert_eq!(error.unwrap(), [], "shared storage can be read, and is empty");

    let bytes = recording(1, 150_000);
    let external = format!("storage/emulated/0/Android/data/{PACKAGE}/files/anrscope/shop-1.anrscope");
    directory.write(&external, &bytes).unwrap();
    let list = app.recordings().unwrap();
    assert_eq!(list.place, Place::External);
    let to = bench.scratch.path().join("here");
    assert_eq!(fs::read(newest(&app, &to).path).unwrap(), bytes);

    let bytes = recording(2, 150_000);
    directory.write(&format!("provider/{PACKAGE}/shop-2.anrscope"), &bytes).unwrap();
    let list = app.recordings().unwrap();
    assert_eq!(list.place, Place::Provider);
    let pulled = newest(&app, &to);
    assert!(pulled.checked && pulled.lost > 0, "{pulled:?}");
    assert_eq!(fs::read(pulled.path).unwrap(), bytes);
}

#[test]
fn each_user_has_separate_recordings() {
    let bench = Bench::new(Faults::default());
    bench.record("shop-1.anrscope", &recording(1, 1_000));
    let theirs = recording(2, 2_000);
    let path = format!("data/user/10/{PACKAGE}/no_backup/anrscope/shop-2.anrscope");
    bench.phone.directory().write(&path, &theirs).unwrap();
    let app = App::new(bench.device(), PACKAGE, 10).unwrap();
    let pulled = newest(&app, &bench.scratch.path().join("here"));
    assert_eq!(fs::read(pulled.path).unwrap(), theirs);
}

#[test]
fn files_with_unsafe_names_are_not_pulled() {
    let bench = Bench::new(Faults::default());
    bench.record("shop 1.anrscope", b"x");
    bench.record("-rf.anrscope", b"x");
    let list = bench.app().recordings();
    let list = list.map(|list| (list.recordings.len(), list.rejected));
    assert_eq!(list.unwrap(), (0, vec!["-rf.anrscope".to_owned(), "shop 1.anrscope".to_owned()]));
}

#[test]
fn an_error_names_the_local_directory_that_cannot_be_written_to() {
    let bench = Bench::new(Faults::default());
    bench.record("shop-1.anrscope", &recording(1, 1_000));
    let app = bench.app();
    let remote = app.recordings().unwrap().recordings.remove(0);
    let file = bench.scratch.path().join("file");
    fs::write(&file, "").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let error = pull(&app, &remote, &file.join("below"), MAX_RECORDING, &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("below"), "{error}");
}

/// Replaces the device's program `cksum` by a script.
fn replace_cksum(bench: &Bench, script: &str) {
    let directory = bench.phone.directory();
    directory.write("system/bin/cksum", format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(directory.path("system/bin/cksum"), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_device_that_reports_a_wrong_length_fills_no_disk_and_leaves_no_part() {
    let bench = Bench::new(Faults::default());
    bench.record("shop-1.anrscope", &recording(1, 100_000));
    let app = bench.app();
    let remote = app.recordings().unwrap().recordings.remove(0);
    let to = bench.scratch.path().join("here");
    let pulled = || pull(&app, &remote, &to, MAX_RECORDING, &mut |_| {});
    // Longer than any recording: no byte is requested.
    replace_cksum(&bench, "echo 1 4611686018427387904 x");
    let error = pulled().unwrap_err().to_string();
    assert!(error.contains("4611686018427387904 bytes") && error.contains("--max-size"), "{error}");
    assert_eq!(names(&to), Vec::<String>::new());
    // Shorter than what the device then sends.
    replace_cksum(&bench, "echo 1 100 x");
    let error = pulled().unwrap_err().to_string();
    assert!(error.contains("more than the limit of 100"), "{error}");
    assert_eq!(names(&to), Vec::<String>::new());
    // Another checksum than that of the bytes sent.
    replace_cksum(&bench, "echo 1 4096 x");
    bench.record("shop-1.anrscope", &[7; 4096]);
    assert!(matches!(pulled(), Err(device::Error::WrongSum { .. })));
    assert_eq!(names(&to), Vec::<String>::new());
}
