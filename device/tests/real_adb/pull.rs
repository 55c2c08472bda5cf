//! Recordings off a device, over links that break.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use device::pull::{Pulled, Step, pull};
use device::{App, Place};
use test_device::Faults;

use crate::bench::{Bench, PACKAGE, recording};

const OWN: &str = "data/user/0/com.example.shop/no_backup/anrscope";

fn newest(app: &App, folder: &Path) -> Pulled {
    let shelf = app.recordings().unwrap();
    let remote = shelf.recordings.unwrap().remove(0);
    pull(app, &remote, folder, &mut |_| {}).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A process that lives as long as the test wants.
struct Living(Child);

impl Living {
    fn start() -> Self {
        Self(Command::new("sleep").arg("1000").spawn().unwrap())
    }
}

impl Drop for Living {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_recording_arrives_whole_and_nothing_else_changes() {
    let bench = Bench::new(Faults::default());
    let bytes = recording(1, 300_000);
    bench.record("shop-999999999.anrscope", &bytes);
    let to = bench.scratch.path().join("here");
    let pulled = newest(&bench.app(), &to);
    assert_eq!(fs::read(&pulled.path).unwrap(), bytes);
    assert!(pulled.checked && !pulled.live && !pulled.already && pulled.lost == 0, "{pulled:?}");
    assert_eq!(names(&to), ["shop-999999999.anrscope"]);
    assert_eq!(bench.names(OWN), ["shop-999999999.anrscope"]);
    // Again: it is here already.
    assert!(newest(&bench.app(), &to).already);
}

#[test]
fn a_connection_cut_at_every_64_kb_ends_with_the_right_sum() {
    let bench = Bench::new(Faults { cut_after: 64 << 10, ..Faults::default() });
    let bytes = recording(1, 600_000);
    bench.record("shop-999999999.anrscope", &bytes);
    let mut lost = 0;
    let app = bench.app();
    let remote = app.recordings().unwrap().recordings.unwrap().remove(0);
    let to = bench.scratch.path().join("here");
    let pulled =
        pull(&app, &remote, &to, &mut |step| lost += u32::from(matches!(step, Step::Lost(_)))).unwrap();
    assert_eq!(fs::read(&pulled.path).unwrap(), bytes);
    assert!(pulled.checked && pulled.lost == lost, "{pulled:?}");
    // Less than 64 KiB a connection.
    assert!(u64::from(lost) >= bytes.len() as u64 / (64 << 10), "{lost} for {}", bytes.len());
    assert!(bench.phone.cuts() >= u64::from(lost), "{} cuts", bench.phone.cuts());
    assert_eq!(names(&to), ["shop-999999999.anrscope"]);
    assert_eq!(bench.names(OWN), ["shop-999999999.anrscope"]);
}

#[test]
fn a_server_that_is_restarted_in_the_middle_is_found_again() {
    let bench = Bench::new(Faults { slow: Duration::from_millis(5), ..Faults::default() });
    let bytes = recording(1, 300_000);
    bench.record("shop-999999999.anrscope", &bytes);
    let app = bench.app();
    let remote = app.recordings().unwrap().recordings.unwrap().remove(0);
    let mut restarted = false;
    let pulled = pull(&app, &remote, &bench.scratch.path().join("here"), &mut |step| {
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
fn a_slow_link_is_waited_for() {
    let bench = Bench::new(Faults { slow: Duration::from_millis(20), ..Faults::default() });
    let bytes = recording(1, 200_000);
    bench.record("shop-999999999.anrscope", &bytes);
    let pulled = newest(&bench.app(), &bench.scratch.path().join("here"));
    assert_eq!(fs::read(&pulled.path).unwrap(), bytes);
    assert_eq!(pulled.lost, 0);
}

#[test]
fn the_next_pull_goes_on_where_this_one_stopped() {
    let bench = Bench::new(Faults::default());
    let bytes = recording(1, 300_000);
    bench.record("shop-999999999.anrscope", &bytes);
    let to = bench.scratch.path().join("here");
    fs::create_dir_all(&to).unwrap();
    let part = to.join(".shop-999999999.anrscope.part");
    let app = bench.app();
    let remote = app.recordings().unwrap().recordings.unwrap().remove(0);
    // Its beginning, and then another file's: neither may end in a wrong one.
    for (kept, expected_first) in [(bytes[..100_000].to_vec(), 98_304), (vec![9; 100_000], 0)] {
        fs::write(&part, kept).unwrap();
        let mut first = None;
        let pulled = pull(&app, &remote, &to, &mut |step| {
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
fn what_a_living_process_writes_is_copied_first_and_the_copy_goes() {
    let bench = Bench::new(Faults { cut_after: 64 << 10, ..Faults::default() });
    let living = Living::start();
    let bytes = recording(1, 200_000);
    let name = format!("shop-{}.anrscope", living.0.id());
    bench.record(&name, &bytes);
    let pulled = newest(&bench.app(), &bench.scratch.path().join("here"));
    assert!(pulled.live && pulled.checked && pulled.left_behind.is_none() && pulled.lost > 0, "{pulled:?}");
    assert_eq!(fs::read(&pulled.path).unwrap(), bytes);
    assert_eq!(bench.names(OWN), [name]);
}

#[test]
fn a_full_disk_on_the_device_leaves_the_copy_out() {
    let bench = Bench::new(Faults::default());
    let living = Living::start();
    let bytes = recording(1, 100_000);
    let name = format!("shop-{}.anrscope", living.0.id());
    bench.record(&name, &bytes);
    bench.phone.folder().write("full", "").unwrap();
    let pulled = newest(&bench.app(), &bench.scratch.path().join("here"));
    assert!(pulled.live && !pulled.checked, "{pulled:?}");
    assert_eq!(fs::read(&pulled.path).unwrap(), bytes);
    assert_eq!(bench.names(OWN), [name]);
}

#[test]
fn a_pull_that_is_interrupted_takes_its_copy_along() {
    let bench = Bench::new(Faults { slow: Duration::from_millis(5), ..Faults::default() });
    let living = Living::start();
    let name = format!("shop-{}.anrscope", living.0.id());
    bench.record(&name, &recording(1, 400_000));
    let patience = crate::bench::patient();
    let stop = patience.stop.clone();
    let app = App::new(bench.device().with_patience(patience), PACKAGE, 0).unwrap();
    let remote = app.recordings().unwrap().recordings.unwrap().remove(0);
    let to = bench.scratch.path().join("here");
    let mut seen = Vec::new();
    let error = pull(&app, &remote, &to, &mut |step| {
        if matches!(step, Step::Bytes(..)) && seen.is_empty() {
            seen = bench.names(OWN);
            stop.flag().store(true, std::sync::atomic::Ordering::Relaxed);
        }
    })
    .unwrap_err();
    assert!(error.is_interrupt(), "{error}");
    assert_eq!(seen.len(), 2, "the copy was there: {seen:?}");
    assert_eq!(bench.names(OWN), [name.as_str()]);
    assert_eq!(names(&to), [format!(".{name}.part")]);
}

#[test]
fn without_run_as_the_provider_and_then_the_shared_storage_are_asked() {
    let bench = Bench::new(Faults { cut_after: 64 << 10, ..Faults::default() });
    let folder = bench.phone.folder();
    fs::remove_file(folder.path(&format!("data/app/{PACKAGE}/debuggable"))).unwrap();
    let app = bench.app();
    let error = app.recordings().map(|shelf| shelf.recordings);
    assert_eq!(error.unwrap().unwrap(), [], "shared storage can be looked at, and is empty");

    let bytes = recording(1, 150_000);
    let external = format!("storage/emulated/0/Android/data/{PACKAGE}/files/anrscope/shop-1.anrscope");
    folder.write(&external, &bytes).unwrap();
    let shelf = app.recordings().unwrap();
    assert_eq!(shelf.place, Place::External);
    let to = bench.scratch.path().join("here");
    assert_eq!(fs::read(newest(&app, &to).path).unwrap(), bytes);

    let bytes = recording(2, 150_000);
    folder.write(&format!("provider/{PACKAGE}/shop-2.anrscope"), &bytes).unwrap();
    let shelf = app.recordings().unwrap();
    assert_eq!(shelf.place, Place::Provider);
    let pulled = newest(&app, &to);
    assert!(pulled.checked && pulled.lost > 0, "{pulled:?}");
    assert_eq!(fs::read(pulled.path).unwrap(), bytes);
}

#[test]
fn another_user_has_recordings_of_their_own() {
    let bench = Bench::new(Faults::default());
    bench.record("shop-1.anrscope", &recording(1, 1_000));
    let theirs = recording(2, 2_000);
    let path = format!("data/user/10/{PACKAGE}/no_backup/anrscope/shop-2.anrscope");
    bench.phone.folder().write(&path, &theirs).unwrap();
    let app = App::new(bench.device(), PACKAGE, 10).unwrap();
    let pulled = newest(&app, &bench.scratch.path().join("here"));
    assert_eq!(fs::read(pulled.path).unwrap(), theirs);
}

#[test]
fn names_that_lead_elsewhere_stay_on_the_device() {
    let bench = Bench::new(Faults::default());
    bench.record("shop 1.anrscope", b"x");
    bench.record("-rf.anrscope", b"x");
    let shelf = bench.app().recordings();
    let shelf = shelf.map(|shelf| (shelf.recordings.unwrap().len(), shelf.strange));
    assert_eq!(shelf.unwrap(), (0, vec!["-rf.anrscope".to_owned(), "shop 1.anrscope".to_owned()]));
}

#[test]
fn a_folder_of_this_machine_that_cannot_be_written_to_is_named() {
    let bench = Bench::new(Faults::default());
    bench.record("shop-1.anrscope", &recording(1, 1_000));
    let app = bench.app();
    let remote = app.recordings().unwrap().recordings.unwrap().remove(0);
    let file = bench.scratch.path().join("file");
    fs::write(&file, "").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let error = pull(&app, &remote, &file.join("below"), &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("below"), "{error}");
}

/// Has the device say `text` where it sums a file.
fn say_sum(bench: &Bench, script: &str) {
    let folder = bench.phone.folder();
    folder.write("system/bin/cksum", format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(folder.path("system/bin/cksum"), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_device_that_says_any_length_costs_no_disk_and_leaves_no_part() {
    let bench = Bench::new(Faults::default());
    bench.record("shop-1.anrscope", &recording(1, 100_000));
    let app = bench.app();
    let remote = app.recordings().unwrap().recordings.unwrap().remove(0);
    let to = bench.scratch.path().join("here");
    let pulled = || pull(&app, &remote, &to, &mut |_| {});
    // Longer than any recording: not one byte is asked for.
    say_sum(&bench, "echo 1 4611686018427387904 x");
    let error = pulled().unwrap_err().to_string();
    assert!(error.contains("4611686018427387904 bytes") && error.contains("--max-size"), "{error}");
    assert_eq!(names(&to), Vec::<String>::new());
    // Shorter than what it then sends.
    say_sum(&bench, "echo 1 100 x");
    let error = pulled().unwrap_err().to_string();
    assert!(error.contains("at most 100 are taken"), "{error}");
    assert_eq!(names(&to), Vec::<String>::new());
    // Not what it then sends.
    say_sum(&bench, "echo 1 4096 x");
    bench.record("shop-1.anrscope", &[7; 4096]);
    assert!(matches!(pulled(), Err(device::Error::WrongSum { .. })));
    assert_eq!(names(&to), Vec::<String>::new());
}
