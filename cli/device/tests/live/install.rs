//! Installing APKs through the real adb server, on systems of every kind.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use device::install::{Installed, Options, Step, Way, install};
use device::{Device, Error, Fault};
use test_device::{Apk, Faults};

use crate::bench::{Bench, PACKAGE, patient};

/// Options with the program's own limit of time.
fn options() -> Options {
    let wait = Duration::from_secs(300);
    Options { user: None, grant: false, downgrade: false, uninstall_first: false, wait }
}

/// More than the buffers between the client and the device hold.
const LARGE: usize = 24 << 20;

/// Systems of Android 11, 7 and 6.
fn systems() -> [(Faults, &'static str, Way); 3] {
    [
        (Faults::default(), "abb_exec:package install -r -t -S 300000", Way::Stream),
        (
            Faults { no_abb: true, ..Faults::default() },
            "exec:cmd package install -r -t -S 300000",
            Way::Stream,
        ),
        (Faults { old_shell: true, ..Faults::default() }, "sync:", Way::Push),
    ]
}

impl Bench {
    /// Writes an APK to this machine.
    fn apk(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.scratch.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    fn installed(&self, name: &str) -> Vec<u8> {
        fs::read(self.phone.directory().path(&format!("data/app/{PACKAGE}/{name}"))).unwrap()
    }

    /// Asserts that no copied file is left on the device, and soon no session.
    #[track_caller]
    fn nothing_is_left(&self) {
        assert_eq!(self.names("data/local/tmp"), Vec::<String>::new());
        let sessions = self.phone.directory().path("data/sessions");
        let left = || fs::read_dir(&sessions).into_iter().flatten().flatten().collect::<Vec<_>>();
        // A command of the device ends by itself once its standard input ends.
        let end = Instant::now() + Duration::from_secs(30);
        while !left().is_empty() {
            assert!(Instant::now() < end, "{:?}", left());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns the services that were opened, with blanks for zero bytes.
    fn opened(&self) -> Vec<String> {
        self.phone.opened().iter().map(|name| name.replace('\0', " ")).collect()
    }

    /// Returns the service to expect: an old adb server does not have `abb_exec` either.
    fn expected(&self, service: &str) -> String {
        if self.device().has_feature("abb_exec") {
            service.to_owned()
        } else {
            service.replace("abb_exec:package", "exec:cmd package")
        }
    }

    fn install(&self, apks: &[PathBuf]) -> Result<Installed, Error> {
        install(&self.device(), apks, &options(), &mut |_| {})
    }
}

#[test]
fn an_apk_is_installed_on_systems_of_every_kind() {
    for (faults, service, way) in systems() {
        let bench = Bench::without_app(faults);
        let bytes = Apk::new(PACKAGE).bytes(300_000);
        let apk = bench.apk("app.apk", &bytes);
        let mut steps = Vec::new();
        let done = install(&bench.device(), &[apk], &options(), &mut |step| {
            steps.push(match step {
                Step::Sending { name, sent, total } => format!("{name} {sent} {total}"),
                other => format!("{other:?}"),
            });
        });
        assert_eq!(done.map(|done| (done.way, done.bytes, done.uninstalled)).unwrap(), (way, 300_000, None));
        assert_eq!(bench.installed("base.apk"), bytes);
        assert_eq!(bench.installed("users"), b"0\n");
        let opened = bench.opened();
        assert!(opened.contains(&bench.expected(service)), "{opened:?}");
        assert_eq!(steps.first().map(String::as_str), Some("app.apk 65536 300000"));
        let last: Vec<_> = steps.iter().rev().take(2).map(String::as_str).collect();
        assert_eq!(last, ["Installing", "app.apk 300000 300000"], "{steps:?}");
        bench.nothing_is_left();
    }
}

#[test]
fn a_base_apk_and_its_splits_are_installed_in_one_session() {
    let prefixes = ["abb_exec:package ", "exec:cmd package ", "exec:pm "];
    for ((faults, ..), prefix) in systems().into_iter().zip(prefixes) {
        let bench = Bench::without_app(faults);
        let base = Apk::new(PACKAGE).with("needs", "config.de").bytes(200_000);
        let split = Apk::new(PACKAGE).with("split", "config.de").bytes(100_000);
        let apks = [bench.apk("base.apk", &base), bench.apk("split config.de.apk", &split)];
        let done = bench.install(&apks).unwrap();
        assert_eq!((done.way, done.bytes), (Way::Session, 300_000));
        assert_eq!((bench.installed("base.apk"), bench.installed("split_config.de.apk")), (base, split));
        let expected = [
            "install-create -S 300000 -r -t",
            "install-write -S 200000 1001 0_base.apk -",
            "install-write -S 100000 1001 1_split_config.de.apk -",
            "install-commit 1001",
        ];
        assert_eq!(bench.opened(), expected.map(|command| bench.expected(&format!("{prefix}{command}"))));
        bench.nothing_is_left();
    }
}

#[test]
fn options_reach_the_package_manager() {
    for (faults, ..) in systems() {
        let bench = Bench::without_app(faults);
        bench.phone.directory().write("users", "0\n10\n").unwrap();
        let newer =
            bench.apk("app.apk", &Apk::new(PACKAGE).with("version", "7").with("test-only", "1").bytes(0));
        bench.install(&[newer]).unwrap();
        let older = bench.apk("app.apk", &Apk::new(PACKAGE).with("version", "6").bytes(0));
        let error = bench.install(std::slice::from_ref(&older)).unwrap_err();
        assert!(error.to_string().contains("--downgrade"), "{error}");
        let options = Options { user: Some(10), grant: true, downgrade: true, ..options() };
        install(&bench.device(), &[older], &options, &mut |_| {}).unwrap();
        assert_eq!(bench.installed("version"), b"6\n");
        assert!(bench.names(&format!("data/app/{PACKAGE}")).contains(&"granted".to_owned()));
        assert!(bench.names(&format!("data/user/10/{PACKAGE}")).is_empty());
    }
}

#[test]
fn a_refusal_is_explained_and_leaves_nothing_on_the_device() {
    for (name, value, found, cure) in [
        ("sdk", "99", "later Android version", "minSdkVersion"),
        ("abi", "mips", "CPU", "cpu.abilist"),
        ("needs", "config.de", "a split of the app is missing", "pm path"),
        ("split", "config.de", "the base APK is missing", "in one command"),
        ("key", "other", "com.example.shop is already installed", "`adb uninstall com.example.shop`"),
    ] {
        for (faults, ..) in systems() {
            let bench = Bench::new(faults);
            let apk = bench.apk("app.apk", &Apk::new(PACKAGE).with(name, value).bytes(0));
            let error = bench.install(&[apk]).unwrap_err();
            assert!(matches!(error, Error::PackageManager { .. }), "{error}");
            assert!(error.found().contains(found), "{}", error.found());
            assert!(error.cure().unwrap().contains(cure), "{:?}", error.cure());
            bench.nothing_is_left();
        }
    }
}

#[test]
fn a_refused_session_is_removed_and_explained() {
    let bench = Bench::without_app(Faults::default());
    let base = bench.apk("base.apk", &Apk::new(PACKAGE).with("key", "one").bytes(0));
    let split = bench.apk("split.apk", &Apk::new(PACKAGE).with("key", "two").with("split", "de").bytes(0));
    let error = bench.install(&[base.clone(), split]).unwrap_err();
    assert!(error.found().contains("not signed with the same key"), "{error}");
    let error = bench.install(&[base.clone(), base]).unwrap_err();
    assert!(error.found().contains("the same split"), "{error}");
    bench.nothing_is_left();
}

#[test]
fn an_unknown_answer_is_printed_whole() {
    let bench = Bench::without_app(Faults::default());
    bench.phone.directory().write("install-answer", "INSTALL_FAILED_NEW_REASON: because [of this]").unwrap();
    let apk = bench.apk("app.apk", &Apk::new(PACKAGE).bytes(0));
    let error = bench.install(&[apk]).unwrap_err().to_string();
    assert!(error.ends_with("INSTALL_FAILED_NEW_REASON: because [of this]"), "{error}");
}

#[test]
fn a_full_disk_is_reported_by_every_system() {
    for (faults, ..) in systems() {
        let bench = Bench::without_app(faults);
        bench.phone.directory().write("full", "").unwrap();
        let apk = bench.apk("app.apk", &Apk::new(PACKAGE).bytes(LARGE));
        let error = bench.install(std::slice::from_ref(&apk)).unwrap_err();
        // A copied file is refused by the file service, the others by the package manager before it reads them.
        assert!(error.to_string().contains("storage") || error.to_string().contains("No space"), "{error}");
        if !faults.old_shell {
            let error = bench.install(&[apk.clone(), apk]).unwrap_err();
            assert!(error.to_string().contains("free storage"), "{error}");
        }
        bench.nothing_is_left();
    }
}

#[test]
fn an_early_refusal_is_reported_although_the_device_did_not_take_the_file() {
    for (faults, ..) in systems() {
        let bench = Bench::without_app(faults);
        let apk = bench.apk("app.apk", &Apk::new(PACKAGE).bytes(LARGE));
        let options = Options { user: Some(99), ..options() };
        let error = install(&bench.device(), &[apk], &options, &mut |_| {}).unwrap_err().to_string();
        assert!(error.ends_with("the device refuses to install the app: user 99 doesn't exist"), "{error}");
        bench.nothing_is_left();
    }
}

#[test]
fn an_app_with_another_key_is_uninstalled_only_on_request() {
    for (faults, ..) in systems() {
        let bench = Bench::new(faults);
        let data = format!("data/user/0/{PACKAGE}/databases/orders");
        bench.phone.directory().write(&data, "x").unwrap();
        let bytes = Apk::new(PACKAGE).with("key", "other").bytes(100_000);
        let apk = bench.apk("app.apk", &bytes);
        assert!(bench.install(std::slice::from_ref(&apk)).is_err());
        assert!(bench.phone.directory().path(&data).exists(), "the app's data is as before");
        let options = Options { uninstall_first: true, ..options() };
        let mut uninstalled = Vec::new();
        let done = install(&bench.device(), &[apk], &options, &mut |step| {
            if let Step::Uninstalled { package } = step {
                uninstalled.push(package.to_owned());
            }
        });
        assert_eq!(done.unwrap().uninstalled.as_deref(), Some(PACKAGE));
        assert_eq!(uninstalled, [PACKAGE]);
        assert_eq!(bench.installed("base.apk"), bytes);
        assert!(!bench.phone.directory().path(&data).exists());
        bench.nothing_is_left();
    }
}

#[test]
fn uninstall_first_does_not_uninstall_for_another_reason() {
    let bench = Bench::new(Faults::default());
    let apk = bench.apk("app.apk", &Apk::new(PACKAGE).with("sdk", "99").bytes(0));
    let options = Options { uninstall_first: true, ..options() };
    assert!(install(&bench.device(), &[apk], &options, &mut |_| {}).is_err());
    assert!(bench.phone.directory().path(&format!("data/app/{PACKAGE}/component")).exists());
}

#[test]
fn a_device_that_goes_away_is_named_with_how_far_the_install_came() {
    for (faults, ..) in systems() {
        let bench = Bench::without_app(Faults { cut_upload_after: 4 << 20, ..faults });
        let apk = bench.apk("app.apk", &Apk::new(PACKAGE).bytes(LARGE));
        for apks in [vec![apk.clone()], vec![apk.clone(), apk]] {
            bench.wait_for_state("device");
            let mut left = Vec::new();
            let error = install(&bench.device(), &apks, &options(), &mut |step| {
                if let Step::LeftBehind(what) = step {
                    left.push(what);
                }
            });
            let error = error.unwrap_err();
            assert!(
                matches!(&error, Error::Unreachable { found, .. } if found.contains(&bench.serial)),
                "{error}"
            );
            let text = error.to_string();
            assert!(
                text.contains("app.apk") && text.contains("of 24.0 MiB sent") && text.contains("cable"),
                "{text}"
            );
            assert_eq!(left, Vec::<String>::new(), "the device came back");
            bench.nothing_is_left();
        }
        assert!(bench.phone.cuts() >= 2);
    }
}

#[test]
fn what_is_left_on_a_device_that_stays_away_is_reported() {
    for old_shell in [false, true] {
        let faults = Faults { cut_upload_after: 4 << 20, old_shell, ..Faults::default() };
        let mut bench = Bench::without_app(faults);
        let apk = bench.apk("app.apk", &Apk::new(PACKAGE).bytes(LARGE));
        let apks = if old_shell { vec![apk] } else { vec![apk.clone(), apk] };
        let device = bench.device();
        let mut left = Vec::new();
        let phone = &mut bench.phone;
        let error = install(&device, &apks, &options(), &mut |step| match step {
            // The device is gone for good before the connection would be cut.
            Step::Sending { sent, .. } if sent > 1 << 20 => phone.stop(),
            Step::LeftBehind(what) => left.push(what),
            _ => {}
        });
        assert!(matches!(error, Err(Error::Unreachable { .. })), "{error:?}");
        let expected =
            if old_shell { "adb shell rm /data/local/tmp/anrscope-" } else { "pm install-abandon 1001" };
        assert!(left.len() == 1 && left[0].contains(expected) && left[0].contains(&bench.serial), "{left:?}");
    }
}

#[test]
fn the_stop_flag_ends_an_install_and_leaves_nothing_on_the_device() {
    for (faults, ..) in systems() {
        for count in [1, 2] {
            let bench = Bench::without_app(faults);
            let apk = bench.apk("app.apk", &Apk::new(PACKAGE).bytes(LARGE));
            let timeouts = patient();
            let stop = timeouts.stop.clone();
            let device = bench.device().with_timeouts(timeouts);
            let apks = vec![apk; count];
            let error = install(&device, &apks, &options(), &mut |step| {
                if matches!(step, Step::Sending { sent, .. } if sent > 1 << 20) {
                    stop.flag().store(true, Ordering::Relaxed);
                }
            });
            assert!(error.as_ref().is_err_and(Error::is_interrupt), "{error:?}");
            bench.nothing_is_left();
            assert_eq!(bench.names("data/app"), Vec::<String>::new());
        }
    }
}

#[test]
fn a_device_that_never_answers_is_an_error_after_the_wait() {
    let bench = Bench::without_app(Faults::default());
    let path = bench.phone.directory().path("system/bin/cmd");
    fs::write(&path, "#!/bin/sh\ncat >/dev/null\n").unwrap();
    let apk = bench.apk("app.apk", &Apk::new(PACKAGE).bytes(0));
    let options = Options { wait: Duration::from_millis(300), ..options() };
    let error = install(&bench.device(), &[apk], &options, &mut |_| {}).unwrap_err();
    assert!(matches!(&error, Error::Link { fault: Fault::TimedOut(_), .. }), "{error}");
    assert!(error.to_string().contains("while it installed the app: no data for 0.3 s"), "{error}");
}

#[test]
fn an_answer_without_end_is_refused() {
    let bench = Bench::without_app(Faults::default());
    let path = bench.phone.directory().path("system/bin/cmd");
    fs::write(&path, "#!/bin/sh\nexec cat /dev/zero\n").unwrap();
    let apk = bench.apk("app.apk", &Apk::new(PACKAGE).bytes(0));
    let error = bench.install(&[apk]).unwrap_err().to_string();
    assert!(error.contains("longer than 1048576 bytes"), "{error}");
}

#[test]
fn files_that_are_no_apks_are_refused_before_anything_is_sent() {
    let bench = Bench::without_app(Faults::default());
    let device: Device = bench.device();
    for (name, content, found, cure) in [
        ("app.aab", &b"PK\x03\x04"[..], "an app bundle", "bundletool"),
        ("app.apks", b"PK\x03\x04", "several APKs", "unpack it"),
        ("app.XAPK", b"PK\x03\x04", "several APKs", "unpack it"),
        ("app.apk", b"dex\n035\0", "not an APK", "path"),
        ("app.apk", b"PK", "not an APK", "path"),
        ("app.apk", b"", "not an APK", "path"),
    ] {
        let path = bench.apk(name, content);
        let good = bench.apk("good.apk", &Apk::new(PACKAGE).bytes(0));
        let error = install(&device, &[good, path], &options(), &mut |_| {}).unwrap_err();
        assert!(matches!(error, Error::Other { .. }), "{error}");
        assert!(error.found().contains(found) && error.found().contains(name), "{error}");
        assert!(error.cure().unwrap().contains(cure), "{error}");
    }
    let missing = bench.scratch.path().join("missing.apk");
    assert!(matches!(bench.install(&[missing]), Err(Error::File { .. })));
    let directory = bench.scratch.path().to_owned();
    assert!(bench.install(&[directory]).unwrap_err().to_string().contains("not a file"));
    assert_eq!(bench.phone.opened(), Vec::<String>::new());
}

#[test]
fn the_real_adb_installs_on_the_fake_device() {
    for (faults, ..) in systems() {
        let bench = Bench::without_app(faults);
        let base = bench.apk("base.apk", &Apk::new(PACKAGE).bytes(1_000_000));
        let split = bench.apk("split.apk", &Apk::new(PACKAGE).with("split", "de").bytes(1_000));
        let (base, split) = (base.to_str().unwrap(), split.to_str().unwrap());
        for arguments in [&["install", "-r", "-t", base][..], &["install-multiple", "-r", base, split]] {
            let output = bench.adb.adb(arguments);
            let printed = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && printed.contains("Success"), "{output:?}");
        }
        assert_eq!(bench.installed("base.apk").len(), 1_000_000);
        let other = bench.apk("other.apk", &Apk::new(PACKAGE).with("key", "other").bytes(0));
        let output = bench.adb.adb(&["install", "-r", other.to_str().unwrap()]);
        let printed = format!("{output:?}");
        assert!(printed.contains("INSTALL_FAILED_UPDATE_INCOMPATIBLE"), "{printed}");
        let output = bench.adb.adb(&["uninstall", PACKAGE]);
        assert!(String::from_utf8_lossy(&output.stdout).contains("Success"), "{output:?}");
        bench.nothing_is_left();
    }
}
