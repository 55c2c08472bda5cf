//! The test bench: a fake device with an app, an adb server, and a local directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use device::{App, Device, Server, Timeouts};
use test_device::{AdbServer, Daemon, DeviceDirectory, Faults};
use trace_format::MapId;
use trace_format::synth::RecordingBuilder;

pub(crate) const PACKAGE: &str = "com.example.shop";

/// A directory that is removed unless the test fails.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("adb-{}-{n}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

/// A fake device and an adb server connected to it. The order of the fields is the order in which they are dropped.
pub(crate) struct Bench {
    pub(crate) adb: AdbServer,
    pub(crate) phone: Daemon,
    pub(crate) serial: String,
    pub(crate) scratch: Scratch,
}

impl Bench {
    /// Creates a phone with a debuggable app that has the library.
    pub(crate) fn new(faults: Faults) -> Self {
        let bench = Self::without_app(faults);
        let app = test_device::App { package: PACKAGE, debuggable: true, library: true };
        bench.phone.directory().install(app).unwrap();
        bench
    }

    pub(crate) fn without_app(faults: Faults) -> Self {
        let scratch = Scratch::new();
        let files = DeviceDirectory::create(&scratch.path().join("phone")).unwrap();
        let phone = Daemon::start(files, faults, 0).unwrap();
        let adb = AdbServer::start(&scratch.path().join("adb"));
        let serial = adb.connect(&phone);
        Self { adb, phone, serial, scratch }
    }

    pub(crate) fn environment(&self) -> impl Fn(&str) -> Option<String> + use<> {
        let port = self.adb.port().to_string();
        move |name: &str| match name {
            "ANDROID_ADB_SERVER_PORT" => Some(port.clone()),
            "PATH" => std::env::var("PATH").ok(),
            _ => None,
        }
    }

    pub(crate) fn server(&self) -> Server {
        Server::from_environment(&self.environment(), patient()).unwrap()
    }

    pub(crate) fn device(&self) -> Device {
        Device::open(&self.server(), Some(&self.serial)).unwrap()
    }

    pub(crate) fn app(&self) -> App {
        App::new(self.device(), PACKAGE, 0).unwrap()
    }

    /// Puts a recording into the app's private directory.
    pub(crate) fn record(&self, name: &str, bytes: &[u8]) {
        let path = format!("data/user/0/{PACKAGE}/no_backup/anrscope/{name}");
        self.phone.directory().write(&path, bytes).unwrap();
    }

    /// Lists the files in a directory of the device, with hidden ones.
    pub(crate) fn names(&self, directory: &str) -> Vec<String> {
        let path = self.phone.directory().path(directory);
        let mut names: Vec<_> =
            fs::read_dir(path).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Waits until the server lists the device in this state.
    pub(crate) fn wait_for_state(&self, state: &str) {
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            let devices = self.server().devices().unwrap();
            if devices.iter().any(|device| device.serial == self.serial && device.state == state) {
                return;
            }
            assert!(Instant::now() < end, "never {state}: {devices:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Timeouts that are long enough for a busy machine.
pub(crate) fn patient() -> Timeouts {
    let long = Duration::from_secs(60);
    Timeouts { read: long, reconnect: long, ..Timeouts::default() }
}

/// Builds a recording of at least `length` bytes with this map id.
pub(crate) fn recording(map: u64, length: usize) -> Vec<u8> {
    let mut builder = RecordingBuilder::new(4242, PACKAGE).map_id(MapId(map));
    builder = builder.main("main", |t| {
        for n in 0..(length / 16) as u64 {
            t.enter(1_000 + n * 10, 1).exit(1_005 + n * 10, 1);
        }
    });
    let bytes = builder.build();
    assert!(bytes.len() >= length);
    bytes
}
