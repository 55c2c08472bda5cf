//! `device install` on a simulated device, through the real adb server.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use serde_json::Value;
use test_device::{Apk, Faults};

use crate::cli::device::{Bench, PACKAGE, phone};
use crate::cli::terminal::on_a_terminal;

impl Bench {
    /// Writes an APK of the app to this machine and returns its path.
    fn apk(&self, name: &str, properties: &[(&str, &str)], size: usize) -> String {
        let apk = properties.iter().fold(Apk::new(PACKAGE), |apk, (name, value)| apk.with(name, value));
        self.directory.file(name, apk.bytes(size))
    }

    fn installed(&self) -> Vec<u8> {
        fs::read(self.phone.directory().path(&format!("data/app/{PACKAGE}/base.apk"))).unwrap()
    }
}

#[test]
fn an_apk_is_installed_on_the_chosen_device() {
    let bench = Bench::new(Faults::default());
    let tablet = phone(&bench.directory, "tablet", Faults::default());
    let second = bench.adb.connect(&tablet);
    let apk = bench.apk("app.apk", &[("version", "7")], 300_000);
    bench.run(&["install", &apk]).failed(1, &["several devices", "-s"]);
    let shown = bench.run(&["install", &apk, "-s", &bench.serial]);
    assert_eq!((shown.code, shown.stdout.as_str()), (Some(0), ""), "{shown:?}");
    assert_eq!(shown.stderr, format!("installed 1 APK (300000 bytes) on {}\n", bench.serial));
    assert_eq!(bench.installed(), fs::read(&apk).unwrap());
    assert!(!tablet.directory().path(&format!("data/app/{PACKAGE}/base.apk")).exists());

    let older = bench.apk("older.apk", &[("version", "6")], 1_000);
    bench
        .run(&["install", &older, "-s", &bench.serial])
        .failed(1, &["a later version is installed", "--downgrade"]);
    let outcome =
        bench.json(&["install", &older, "-s", &second, "--downgrade", "--grant", "--user", "0", "--json"]);
    assert_eq!(outcome["installed"], true);
    assert_eq!((&outcome["serial"], &outcome["user"]), (&Value::from(second), &Value::from(0)));
    assert_eq!((&outcome["bytes"], &outcome["way"]), (&Value::from(1_000), &Value::from("stream")));
    assert!(tablet.directory().path(&format!("data/app/{PACKAGE}/granted")).exists());
}

#[test]
fn splits_are_installed_with_their_base() {
    let bench = Bench::new(Faults::default());
    let base = bench.apk("base.apk", &[("needs", "config.de")], 100_000);
    let split = bench.apk("split.apk", &[("split", "config.de")], 50_000);
    bench.run(&["install", &base]).failed(1, &["a split of the app is missing", "in one command"]);
    let outcome = bench.json(&["install", &base, &split, "--json"]);
    assert_eq!((&outcome["bytes"], &outcome["way"]), (&Value::from(150_000), &Value::from("session")));
    assert!(bench.names(&format!("data/app/{PACKAGE}")).contains(&"split_config.de.apk".to_owned()));
    assert!(bench.names("data/sessions").is_empty());
}

#[test]
fn an_app_with_another_key_is_explained_and_replaced_only_on_request() {
    let bench = Bench::new(Faults::default());
    let apk = bench.apk("app.apk", &[("key", "other")], 1_000);
    let shown = bench.run(&["install", &apk]);
    shown.failed(
        1,
        &[
            "com.example.shop is already installed and signed with another key",
            "INSTALL_FAILED_UPDATE_INCOMPATIBLE",
            "`adb uninstall com.example.shop`",
            "removes the app's data",
            "--uninstall-first",
        ],
    );
    let shown = bench.run(&["install", &apk, "--json"]);
    assert_eq!(shown.code, Some(1), "{shown:?}");
    let outcome: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(outcome["installed"], false);
    assert_eq!(outcome["code"], "INSTALL_FAILED_UPDATE_INCOMPATIBLE");
    assert_eq!(outcome["package"], PACKAGE);
    assert!(outcome["cure"].as_str().unwrap().contains("adb uninstall"), "{outcome}");
    let shown = bench.run(&["install", &apk, "--uninstall-first"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(
        shown.stderr.starts_with("com.example.shop: uninstalled with its data\ninstalled 1 APK"),
        "{shown:?}"
    );
    assert_eq!(bench.installed(), fs::read(&apk).unwrap());
}

#[test]
fn a_device_that_goes_away_and_a_file_that_is_no_apk_are_errors_with_a_cure() {
    let bench = Bench::new(Faults { cut_upload_after: 2 << 20, ..Faults::default() });
    let other = bench.directory.file("app.aab", b"PK\x03\x04");
    bench.run(&["install", &other]).failed(1, &["app bundle", "bundletool"]);
    let apk = bench.apk("app.apk", &[], 16 << 20);
    bench
        .run(&["install", &apk, "--json"])
        .failed(1, &["disconnected", "of 16.0 MiB sent", "check the cable"]);
}

#[test]
fn progress_is_shown_on_a_terminal_and_not_in_a_pipe() {
    let bench = Bench::new(Faults { slow: Duration::from_millis(20), ..Faults::default() });
    let apk = bench.apk("app.apk", &[], 24 << 20);
    let environment = bench.adb.environment();
    let variables: Vec<_> =
        environment.iter().map(|(name, value)| (*name, value.to_str().unwrap())).collect();
    let shown = on_a_terminal(&format!("device install {apk}"), &variables);
    assert!(shown.contains("app.apk: ") && shown.contains(" of 24576 KiB"), "{shown:?}");
    assert!(shown.contains("verifies and installs the app"), "{shown:?}");
    // The line is gone when the app is installed.
    assert!(shown.rsplit("\r\u{1b}[2K").next().unwrap().starts_with("installed 1 APK"), "{shown:?}");
    let piped = bench.run(&["install", &apk]);
    assert_eq!(piped.stderr.lines().count(), 1, "{piped:?}");
    assert!(!piped.stderr.contains('\u{1b}'), "{piped:?}");
}

#[test]
fn ctrl_c_abandons_the_session() {
    let bench = Bench::new(Faults { slow: Duration::from_millis(20), ..Faults::default() });
    let base = bench.apk("base.apk", &[], 64 << 20);
    let split = bench.apk("split.apk", &[("split", "de")], 1_000);
    let mut child = bench.command(&["install", &base, &split]).spawn().unwrap();
    let part = bench.phone.directory().path("data/sessions/1001/0_base.apk");
    let end = Instant::now() + Duration::from_secs(30);
    while !fs::metadata(&part).is_ok_and(|meta| meta.len() > 1 << 20) {
        assert!(Instant::now() < end && child.try_wait().unwrap().is_none(), "it never came so far");
        std::thread::sleep(Duration::from_millis(5));
    }
    // SAFETY: the child was not waited for, so the pid is its own.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let status = child.wait().unwrap();
    assert_eq!(status.signal(), Some(libc::SIGINT), "{status}");
    let abandoned =
        bench.phone.opened().iter().any(|name| name.replace('\0', " ").ends_with("install-abandon 1001"));
    assert!(abandoned, "{:?}", bench.phone.opened());
    assert!(!bench.names("data/sessions").contains(&"1001".to_owned()));
    assert!(!bench.phone.directory().path(&format!("data/app/{PACKAGE}/base.apk")).exists());
}
