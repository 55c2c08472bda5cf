//! Commands and files through the adb server.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use device::{Device, Error, Fault, Server, Timeouts};
use test_device::{Auth, Daemon, DeviceDirectory, Faults};

use crate::bench::Bench;

#[test]
fn commands_return_both_streams_and_the_exit_code() {
    let bench = Bench::new(Faults::default());
    let device = bench.device();
    assert!(device.has_feature("shell_v2"));
    let output = device.shell("echo out; echo err >&2; exit 7").unwrap();
    assert_eq!((output.stdout.as_str(), output.stderr.as_str(), output.code), ("out\n", "err\n", 7));
    // Standard input is closed, so no command waits for it.
    assert_eq!(device.shell("cat; echo end").unwrap().stdout, "end\n");
    assert_eq!(device.property("ro.build.version.sdk").unwrap(), "34");
    assert!(bench.server().version().unwrap() >= 41);
    let listed = bench.server().choose(None).unwrap();
    assert_eq!(listed.serial, bench.serial);
}

#[test]
fn an_old_shell_returns_the_exit_code_too() {
    let bench = Bench::new(Faults { old_shell: true, ..Faults::default() });
    let device = bench.device();
    assert!(!device.has_feature("shell_v2"));
    let output = device.shell("echo out; echo err >&2; (exit 7)").unwrap();
    assert_eq!((output.stdout.as_str(), output.code), ("out\nerr\n", 7));
    let mut got = Vec::new();
    let (code, _) = device
        .stream("echo noise >&2; head -c 300000 /dev/zero", &mut |bytes| {
            got.extend_from_slice(bytes);
            Ok(())
        })
        .unwrap();
    assert_eq!((got.len(), code), (300_000, 0));
}

#[test]
fn an_answer_without_end_is_refused() {
    let bench = Bench::new(Faults::default());
    let error = bench.device().shell("cat /dev/zero").unwrap_err();
    assert!(matches!(error, Error::Other { .. }), "{error}");
}

#[test]
fn files_are_sent_and_received() {
    let bench = Bench::new(Faults::default());
    let device = bench.device();
    let bytes: Vec<u8> = (0..200_000_u32).map(|n| (n * 7) as u8).collect();
    let mut files = device.files().unwrap();
    files.send("/data/local/tmp/config", 0o644, &mut bytes.as_slice()).unwrap();
    let mut got = Vec::new();
    files
        .receive("/data/local/tmp/config", &mut |piece| {
            got.extend_from_slice(piece);
            Ok(())
        })
        .unwrap();
    assert_eq!(got, bytes);
    let refused = files.receive("/no/such/file", &mut |_| Ok(())).unwrap_err();
    assert!(matches!(&refused, Fault::Refused(said) if said.contains("No such file")), "{refused}");
    bench.phone.directory().write("full", "").unwrap();
    let full = device.files().unwrap().send("/data/local/tmp/more", 0o644, &mut &b"x"[..]).unwrap_err();
    assert!(matches!(full, Fault::Refused(_)), "{full}");
}

#[test]
fn the_real_adb_works_with_the_fake_device() {
    let bench = Bench::new(Faults::default());
    let file = bench.scratch.path().join("file");
    std::fs::write(&file, vec![7; 100_000]).unwrap();
    let of = |name: &str| bench.scratch.path().join(name).to_str().unwrap().to_owned();
    for arguments in
        [&["push", &of("file"), "/data/local/tmp/file"][..], &["pull", "/data/local/tmp/file", &of("back")]]
    {
        let output = bench.adb.adb(arguments);
        assert!(output.status.success(), "{output:?}");
    }
    assert_eq!(std::fs::read(of("back")).unwrap(), vec![7; 100_000]);
    let output = bench.adb.adb(&["shell", "run-as com.example.shop pwd; exit 3"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stdout).ends_with("/com.example.shop\n"), "{output:?}");
}

#[test]
fn an_unauthorized_device_is_an_error_with_the_cure() {
    let bench = Bench::new(Faults { auth: Auth::Consent, ..Faults::default() });
    bench.wait_for_state("device");
    assert_eq!(bench.device().shell("echo hello").unwrap().stdout, "hello\n");

    let bench = Bench::new(Faults { auth: Auth::NoAnswer, ..Faults::default() });
    bench.wait_for_state("unauthorized");
    let error = Device::open(&bench.server(), None).unwrap_err().to_string();
    assert!(error.contains("unauthorized") && error.contains("unlock"), "{error}");
}

#[test]
fn with_several_devices_one_must_be_chosen() {
    let bench = Bench::new(Faults::default());
    let files = DeviceDirectory::create(&bench.scratch.path().join("tablet")).unwrap();
    let tablet = Daemon::start(files, Faults::default(), 0).unwrap();
    let second = bench.adb.connect(&tablet);
    let error = Device::open(&bench.server(), None).unwrap_err().to_string();
    assert!(error.contains("-s") && error.contains(&second) && error.contains(&bench.serial), "{error}");
    let one = Device::open(&bench.server(), Some(&second)).unwrap();
    assert!(one.shell("pwd").unwrap().stdout.trim().ends_with("tablet"));
    let error = Device::open(&bench.server(), Some("no-such-serial")).unwrap_err().to_string();
    assert!(error.contains("no-such-serial") && error.contains(&second), "{error}");
}

/// Starts a program that is not an adb server: it answers `answer`, and keeps the connection open if `stay` is set.
fn fake_server(answer: &'static [u8], stay: bool) -> (Server, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        socket.write_all(answer).unwrap();
        if stay {
            // Until the client closes the connection.
            let _ = socket.read_to_end(&mut Vec::new());
        }
    });
    let environment = move |name: &str| (name == "ANDROID_ADB_SERVER_PORT").then(|| port.to_string());
    let timeouts = Timeouts { read: Duration::from_millis(300), ..Timeouts::default() };
    (Server::from_environment(&environment, timeouts).unwrap(), thread)
}

#[test]
fn a_program_that_is_not_an_adb_server_is_reported() {
    for (answer, stay, wanted) in [
        (&b"HTTP/1.1 400 Bad Request\r\n"[..], false, "does not speak adb's protocol"),
        (b"OKAY0004zzzz", true, "expected a version number"),
        (b"OKAYffff", true, "no data for 0.3 s"),
        (b"", true, "no data for 0.3 s"),
        (b"FAIL0003off", true, "refused with \"off\""),
    ] {
        let (server, thread) = fake_server(answer, stay);
        let error = server.version().unwrap_err().to_string();
        assert!(error.contains(wanted) && error.contains("adb server"), "{error}");
        thread.join().unwrap();
    }
}

/// Any bytes of a server are an answer or an error, without a long wait.
#[test]
fn any_bytes_of_a_server_are_an_answer_or_an_error() {
    use proptest::prelude::*;
    use std::sync::{Arc, Mutex};

    let says: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let of_thread = Arc::clone(&says);
    // The thread ends with the test's process.
    std::thread::spawn(move || {
        for (number, socket) in listener.incoming().flatten().enumerate() {
            let all = of_thread.lock().unwrap();
            if let Some(bytes) = all.get(number % all.len().max(1)) {
                let _ = (&socket).write_all(bytes);
            }
        }
    });
    let environment = move |name: &str| (name == "ANDROID_ADB_SERVER_PORT").then(|| port.to_string());
    let timeouts = Timeouts {
        read: Duration::from_millis(50),
        reconnect: Duration::from_millis(50),
        ..Timeouts::default()
    };
    let server = Server::from_environment(&environment, timeouts).unwrap();
    let answer = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..60),
        Just(b"OKAY0014phone-1 device usb:1".to_vec()),
        Just(b"OKAY0008shell_v2".to_vec()),
        proptest::collection::vec(any::<u8>(), 0..60).prop_map(|bytes| [&b"OKAYOKAY"[..], &bytes].concat()),
        Just([&b"OKAYOKAY\x01\x0c\0\0\0"[..], b"1 2 a-1.anrs"].concat()),
        Just([&b"OKAYOKAY\x01\x12\0\0\0"[..], b"1 2 a-1.anrscope\n\n\x03\x01\0\0\0\0"].concat()),
    ];
    let cases = ProptestConfig::with_cases(60);
    proptest!(cases, |(answers in proptest::collection::vec(answer, 1..6))| {
        *says.lock().unwrap() = answers;
        let _ = server.version();
        let _ = server.devices();
        if let Ok(device) = Device::open(&server, None) {
            let _ = device.shell("true");
            if let Ok(mut files) = device.files() {
                let _ = files.receive("/", &mut |_| Ok(()));
            }
            if let Ok(app) = device::App::new(device, "com.example", 0) {
                let _ = app.recording_lists();
            }
        }
    });
}

#[test]
fn the_stop_flag_ends_a_wait() {
    let bench = Bench::new(Faults::default());
    let timeouts = crate::bench::patient();
    let stop = timeouts.stop.clone();
    let device = bench.device().with_timeouts(timeouts);
    let ended = std::thread::spawn(move || device.shell("sleep 100").unwrap_err());
    std::thread::sleep(Duration::from_millis(300));
    stop.flag().store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(ended.join().unwrap().is_interrupt());
}
