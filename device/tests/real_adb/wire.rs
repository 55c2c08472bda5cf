//! Commands and files over the whole wire.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use device::{Device, Error, Fault, Patience, Server};
use test_device::{Auth, Daemon, Faults, Folder};

use crate::bench::Bench;

#[test]
fn commands_tell_both_streams_and_the_exit_code() {
    let bench = Bench::new(Faults::default());
    let device = bench.device();
    assert!(device.has_shell_v2());
    let output = device.shell("echo out; echo err >&2; exit 7").unwrap();
    assert_eq!((output.stdout.as_str(), output.stderr.as_str(), output.code), ("out\n", "err\n", 7));
    // Its standard input ends, so nothing waits for it.
    assert_eq!(device.shell("cat; echo end").unwrap().stdout, "end\n");
    assert_eq!(device.property("ro.build.version.sdk").unwrap(), "34");
    assert!(bench.server().version().unwrap() >= 41);
    let listed = bench.server().choose(None).unwrap();
    assert_eq!((listed.serial.as_str(), listed.model.as_deref()), (bench.serial.as_str(), Some("phone")));
}

#[test]
fn an_old_shell_tells_its_exit_code_too() {
    let bench = Bench::new(Faults { old_shell: true, ..Faults::default() });
    let device = bench.device();
    assert!(!device.has_shell_v2());
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
    assert!(matches!(error, Error::TooMuch { .. }), "{error}");
}

#[test]
fn files_come_and_go() {
    let bench = Bench::new(Faults::default());
    let device = bench.device();
    let bytes: Vec<u8> = (0..200_000_u32).map(|n| (n * 7) as u8).collect();
    let mut files = device.files().unwrap();
    files.send("/data/local/tmp/config", 0o644, &mut bytes.as_slice()).unwrap();
    let stat = files.stat("/data/local/tmp/config").unwrap();
    assert_eq!((stat.size, stat.mode & 0o170_000), (200_000, 0o100_000));
    let names: Vec<_> = files.list("/data/local/tmp").unwrap().into_iter().map(|entry| entry.name).collect();
    assert!(names.contains(&"config".to_owned()), "{names:?}");
    let mut got = Vec::new();
    files
        .receive("/data/local/tmp/config", &mut |piece| {
            got.extend_from_slice(piece);
            Ok(())
        })
        .unwrap();
    assert_eq!(got, bytes);
    assert_eq!(files.stat("/no/such/file").unwrap().mode, 0);
    let refused = files.receive("/no/such/file", &mut |_| Ok(())).unwrap_err();
    assert!(matches!(&refused, Fault::Refused(said) if said.contains("No such file")), "{refused}");
    bench.phone.folder().write("full", "").unwrap();
    let full = device.files().unwrap().send("/data/local/tmp/more", 0o644, &mut &b"x"[..]).unwrap_err();
    assert!(matches!(full, Fault::Refused(_)), "{full}");
}

#[test]
fn the_real_adb_understands_the_device_too() {
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
fn consent_is_waited_for_and_its_want_told() {
    let bench = Bench::new(Faults { auth: Auth::Consent, ..Faults::default() });
    bench.wait_for_state("device");
    assert_eq!(bench.device().shell("echo hello").unwrap().stdout, "hello\n");

    let bench = Bench::new(Faults { auth: Auth::NoAnswer, ..Faults::default() });
    bench.wait_for_state("unauthorized");
    let error = Device::open(&bench.server(), None).unwrap_err().to_string();
    assert!(error.contains("unauthorized") && error.contains("unlock"), "{error}");
}

#[test]
fn several_devices_are_to_be_named() {
    let bench = Bench::new(Faults::default());
    let folder = Folder::create(&bench.scratch.path().join("tablet")).unwrap();
    let tablet = Daemon::start(folder, Faults::default(), 0).unwrap();
    let second = bench.adb.connect(&tablet);
    let error = Device::open(&bench.server(), None).unwrap_err().to_string();
    assert!(error.contains("-s") && error.contains(&second) && error.contains(&bench.serial), "{error}");
    let one = Device::open(&bench.server(), Some(&second)).unwrap();
    assert!(one.shell("pwd").unwrap().stdout.trim().ends_with("tablet"));
    let error = Device::open(&bench.server(), Some("nobody")).unwrap_err().to_string();
    assert!(error.contains("nobody") && error.contains(&second), "{error}");
}

/// Something that is no adb server.
fn played(answer: &'static [u8], stay: bool) -> (Server, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        socket.write_all(answer).unwrap();
        if stay {
            // Until the client has enough of it.
            let _ = socket.read_to_end(&mut Vec::new());
        }
    });
    let environment = move |name: &str| (name == "ANDROID_ADB_SERVER_PORT").then(|| port.to_string());
    let patience = Patience { silence: Duration::from_millis(300), ..Patience::default() };
    (Server::named_by(&environment, patience).unwrap(), thread)
}

#[test]
fn whoever_else_listens_there_is_told_from_a_server() {
    for (answer, stay, wanted) in [
        (&b"HTTP/1.1 400 Bad Request\r\n"[..], false, "does not speak adb's protocol"),
        (b"OKAY0004zzzz", true, "no number"),
        (b"OKAYffff", true, "nothing came for 0.3 s"),
        (b"", true, "nothing came for 0.3 s"),
        (b"FAIL0003off", true, "the answer was: off"),
    ] {
        let (server, thread) = played(answer, stay);
        let error = server.version().unwrap_err().to_string();
        assert!(error.contains(wanted) && error.contains("adb server"), "{error}");
        thread.join().unwrap();
    }
}

/// Whatever a server says, it is an answer or an error, and soon.
#[test]
fn a_server_of_any_bytes_is_survived() {
    use proptest::prelude::*;
    use std::sync::{Arc, Mutex};

    let says: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let of_thread = Arc::clone(&says);
    // It ends with the test's process.
    std::thread::spawn(move || {
        for (number, socket) in listener.incoming().flatten().enumerate() {
            let all = of_thread.lock().unwrap();
            if let Some(bytes) = all.get(number % all.len().max(1)) {
                let _ = (&socket).write_all(bytes);
            }
        }
    });
    let environment = move |name: &str| (name == "ANDROID_ADB_SERVER_PORT").then(|| port.to_string());
    let patience = Patience {
        silence: Duration::from_millis(50),
        absence: Duration::from_millis(50),
        ..Patience::default()
    };
    let server = Server::named_by(&environment, patience).unwrap();
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
                let _ = files.list("/");
            }
            if let Ok(app) = device::App::new(device, "com.example", 0) {
                let _ = app.shelves();
            }
        }
    });
}

#[test]
fn a_wait_stops_when_it_is_told_to() {
    let bench = Bench::new(Faults::default());
    let patience = crate::bench::patient();
    let stop = patience.stop.clone();
    let device = bench.device().with_patience(patience);
    let ended = std::thread::spawn(move || device.shell("sleep 100").unwrap_err());
    std::thread::sleep(Duration::from_millis(300));
    stop.flag().store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(ended.join().unwrap().is_interrupt());
}
