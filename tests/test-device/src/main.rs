//! Runs a fake device over a directory until it is killed.

use std::process::ExitCode;

#[cfg(unix)]
fn main() -> ExitCode {
    use std::path::Path;

    use test_device::{App, Daemon, DeviceDirectory, Faults};

    let mut arguments = std::env::args().skip(1);
    let Some(root) = arguments.next() else {
        eprintln!("usage: test-device DIRECTORY [PORT [PACKAGE]]");
        return ExitCode::from(2);
    };
    let port = arguments.next().and_then(|port| port.parse().ok()).unwrap_or(0);
    let daemon = DeviceDirectory::create(Path::new(&root)).and_then(|files| {
        if let Some(package) = arguments.next() {
            files.install(App { package: &package, debuggable: true, library: true })?;
        }
        Daemon::start(files, Faults::default(), port)
    });
    match daemon {
        Ok(daemon) => {
            println!("adb connect 127.0.0.1:{}", daemon.port());
            loop {
                std::thread::park();
            }
        }
        Err(error) => {
            eprintln!("error: {root}: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(unix))]
fn main() -> ExitCode {
    eprintln!("error: needs a Unix");
    ExitCode::FAILURE
}
