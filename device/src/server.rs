//! The adb server: where it is, how it is started, what is attached to it.

use std::ffi::OsString;
use std::io::{self, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::connection::{Connection, Patience};
use crate::error::{Error, Fault};
use crate::wire;

/// Where the server listens unless somebody says otherwise.
const PORT: u16 = 5037;
/// How long a program that starts the server may take.
const START: Duration = Duration::from_secs(20);

/// What names the server: environment variables, or a test's own.
pub type Source<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The adb server.
#[derive(Clone, Debug)]
pub struct Server {
    host: String,
    port: u16,
    patience: Patience,
}

/// What the server says of a device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listed {
    /// What it is called; `HOST:PORT` for one on the network.
    pub serial: String,
    /// `device` if it can be used; else `unauthorized`, `offline`, `no permissions`, ...
    pub state: String,
    /// Its model, if it told.
    pub model: Option<String>,
}

impl Listed {
    /// What to do so that it can be used; `None` if it can.
    #[must_use]
    pub fn cure(&self) -> Option<&'static str> {
        Some(match self.state.as_str() {
            "device" => return None,
            "unauthorized" => {
                "unlock it and say yes to this computer's key; if it does not ask, revoke USB debugging authorisations in \
                 its developer options and plug it in again"
            }
            "authorizing" | "connecting" => "wait a moment; unlock it if it asks",
            "offline" => {
                "plug it in again, or `adb reconnect offline`; for one on the network `adb connect` again"
            }
            "recovery" | "sideload" | "rescue" => "restart it into Android: `adb reboot`",
            "bootloader" => "restart it into Android: `fastboot reboot`",
            state if state.contains("permissions") => {
                "this user may not open the USB device: install Android's udev rules (Debian: \
                 android-sdk-platform-tools-common), join the group plugdev, and plug it in again"
            }
            _ => "plug it in again",
        })
    }
}

impl Server {
    /// The server that `environment` names, as adb itself looks for it: `ADB_SERVER_SOCKET`, or
    /// `ANDROID_ADB_SERVER_ADDRESS` and `ANDROID_ADB_SERVER_PORT`, or 127.0.0.1:5037.
    ///
    /// # Errors
    /// If a variable names none.
    pub fn named_by(environment: Source<'_>, patience: Patience) -> Result<Self, Error> {
        let bad =
            |variable, value: &str, expected| Error::BadAddress { variable, value: value.into(), expected };
        let port_of = |text: &str| text.parse::<u16>().ok().filter(|port| *port > 0);
        if let Some(socket) = environment("ADB_SERVER_SOCKET").filter(|socket| !socket.is_empty()) {
            let expected = "tcp:PORT or tcp:HOST:PORT is understood";
            let place =
                socket.strip_prefix("tcp:").ok_or_else(|| bad("ADB_SERVER_SOCKET", &socket, expected))?;
            let (host, port) = place.rsplit_once(':').unwrap_or(("127.0.0.1", place));
            let port = port_of(port).ok_or_else(|| bad("ADB_SERVER_SOCKET", &socket, expected))?;
            return Ok(Self { host: host.trim_matches(['[', ']']).into(), port, patience });
        }
        let host = environment("ANDROID_ADB_SERVER_ADDRESS").filter(|host| !host.is_empty());
        let port = match environment("ANDROID_ADB_SERVER_PORT").filter(|port| !port.is_empty()) {
            Some(text) => port_of(&text)
                .ok_or_else(|| bad("ANDROID_ADB_SERVER_PORT", &text, "a number from 1 to 65535 is"))?,
            None => PORT,
        };
        Ok(Self { host: host.unwrap_or_else(|| "127.0.0.1".into()), port, patience })
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// How long it waits.
    #[must_use]
    pub fn patience(&self) -> &Patience {
        &self.patience
    }

    /// The same server with other waits.
    #[must_use]
    pub fn with_patience(&self, patience: Patience) -> Self {
        Self { patience, ..self.clone() }
    }

    fn connect(&self) -> Result<Connection, Error> {
        let failed = |source| Error::NoServer { address: self.address(), source };
        let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for address in (self.host.as_str(), self.port).to_socket_addrs().map_err(failed)? {
            match TcpStream::connect_timeout(&address, self.patience.silence.max(Duration::from_millis(1))) {
                Ok(stream) => return Connection::new(stream, self.patience.clone()).map_err(failed),
                Err(error) => last = error,
            }
        }
        Err(failed(last))
    }

    /// A wait's length is known here, not where bytes are read.
    pub(crate) fn told(&self, doing: impl Into<String>, fault: Fault) -> Error {
        let fault = match fault {
            Fault::TimedOut(_) => Fault::TimedOut(self.patience.silence),
            other => other,
        };
        Error::link(doing, fault)
    }

    /// Asks something that is answered by a text.
    ///
    /// # Errors
    /// If there is no server, or it says no.
    pub fn ask(&self, service: &str) -> Result<String, Error> {
        let mut connection = self.connect()?;
        let answer = wire::request(&mut connection, service)
            .and_then(|()| wire::status(&mut connection))
            .and_then(|()| wire::text(&mut connection));
        answer.map_err(|fault| {
            self.told(format!("asking the adb server at {} for {service}", self.address()), fault)
        })
    }

    /// Opens a service of a device.
    ///
    /// # Errors
    /// If there is no server, no such device, or it does not have the service.
    pub(crate) fn open(&self, serial: &str, service: &str) -> Result<Connection, Error> {
        let mut connection = self.connect()?;
        let mut ask =
            |text: &str| wire::request(&mut connection, text).and_then(|()| wire::status(&mut connection));
        ask(&format!("host:transport:{serial}")).map_err(|fault| {
            self.told(format!("waiting for the adb server to reach device {serial}"), fault)
        })?;
        ask(service).map_err(|fault| {
            let name = service.split(':').next().unwrap_or(service);
            self.told(format!("waiting for device {serial} to open its service {name}"), fault)
        })?;
        Ok(connection)
    }

    /// The server's protocol version, 41 for any of recent years.
    ///
    /// # Errors
    /// If there is none, or it is something else that listens there.
    pub fn version(&self) -> Result<u32, Error> {
        let text = self.ask("host:version")?;
        u32::from_str_radix(&text, 16).map_err(|_| {
            Error::link("asking the adb server for its version", Fault::Malformed("no number came"))
        })
    }

    /// What is attached, in whatever state.
    ///
    /// # Errors
    /// If there is no server.
    pub fn devices(&self) -> Result<Vec<Listed>, Error> {
        Ok(self.ask("host:devices-l")?.lines().filter_map(listed).collect())
    }

    /// What the server and the device can both do.
    pub(crate) fn features(&self, serial: &str) -> Result<String, Error> {
        self.ask(&format!("host-serial:{serial}:features"))
    }

    /// Makes sure that a server runs; says whether it had to be started.
    ///
    /// # Errors
    /// If there is none and none can be started, or something else listens there.
    pub fn ensure(&self, environment: Source<'_>) -> Result<bool, Error> {
        match self.version() {
            Ok(_) => return Ok(false),
            Err(Error::NoServer { .. })
                if matches!(self.host.as_str(), "127.0.0.1" | "localhost" | "::1") => {}
            Err(error) => return Err(error),
        }
        let program = find_adb(environment).ok_or(Error::NoAdb)?;
        let failed = |what: String| Error::NotStarted { program: program.clone(), what };
        let mut child = Command::new(&program)
            .args(["-P", &self.port.to_string(), "start-server"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        let end = Instant::now() + START;
        loop {
            match child.try_wait().map_err(|error| failed(error.to_string()))? {
                Some(status) if status.success() => break,
                Some(status) => return Err(failed(status.to_string())),
                None if Instant::now() > end || self.patience.stop.is_set() => {
                    // It is ours, and of no use.
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(failed(format!("no end within {} s", START.as_secs())));
                }
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        }
        self.version().map(|_| true)
    }

    /// The device of this serial, or the only one.
    ///
    /// # Errors
    /// If it is not there, or there are several, or it cannot be used; the error says what to do.
    pub fn choose(&self, serial: Option<&str>) -> Result<Listed, Error> {
        let devices = self.devices()?;
        let found = match serial {
            Some(serial) => {
                devices.iter().find(|device| device.serial == serial).ok_or_else(|| Error::NoSuchDevice {
                    serial: serial.into(),
                    known: devices.iter().map(|device| device.serial.clone()).collect(),
                })?
            }
            None => match devices.as_slice() {
                [] => return Err(Error::NoDevice),
                [one] => one,
                several => {
                    return Err(Error::SeveralDevices(several.iter().map(|d| d.serial.clone()).collect()));
                }
            },
        };
        match found.cure() {
            None => Ok(found.clone()),
            Some(cure) => {
                Err(Error::NotReady { serial: found.serial.clone(), state: found.state.clone(), cure })
            }
        }
    }

    /// Waits until the device can be used. One on the network is connected to again: the server itself tries
    /// only every ten seconds.
    ///
    /// # Errors
    /// If it does not come back in time.
    pub(crate) fn wait_for(&self, serial: &str) -> Result<(), Error> {
        let end = Instant::now() + self.patience.absence;
        let mut pause = Duration::from_millis(50);
        loop {
            let error = match self.choose(Some(serial)) {
                Ok(_) => return Ok(()),
                Err(error) => error,
            };
            if Instant::now() >= end || !error.is_lost() {
                return Err(error);
            }
            if is_on_network(serial) {
                // It may be known as offline: forget that first. What fails here shows in the list.
                let _ = self.tell(&format!("host:disconnect:{serial}"));
                let _ = self.ask(&format!("host:connect:{serial}"));
            }
            if self.patience.stop.sleep(pause) {
                return Err(Error::link(format!("waiting for device {serial}"), Fault::Interrupted));
            }
            pause = (pause * 2).min(Duration::from_secs(2));
        }
    }

    fn tell(&self, service: &str) -> Result<(), Error> {
        let mut connection = self.connect()?;
        let told = wire::request(&mut connection, service).and_then(|()| wire::status(&mut connection));
        let _ = connection.flush();
        told.map_err(|fault| self.told(service, fault))
    }
}

fn is_on_network(serial: &str) -> bool {
    serial.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
}

/// `SERIAL STATE key:value...`; the state may be of several words where it is an explanation.
fn listed(line: &str) -> Option<Listed> {
    let (serial, rest) = line.trim_end().split_once(char::is_whitespace)?;
    let rest = rest.trim_start();
    if serial.is_empty() || rest.is_empty() {
        return None;
    }
    let state = if rest.starts_with("no permissions") {
        "no permissions"
    } else {
        rest.split_whitespace().next().unwrap_or_default()
    };
    let model = rest.split_whitespace().find_map(|word| word.strip_prefix("model:"));
    Some(Listed { serial: serial.into(), state: state.into(), model: model.map(str::to_owned) })
}

/// The program adb: on `PATH`, or below `ANDROID_HOME` or `ANDROID_SDK_ROOT`.
#[must_use]
pub fn find_adb(environment: Source<'_>) -> Option<PathBuf> {
    let name = format!("adb{}", std::env::consts::EXE_SUFFIX);
    let path = environment("PATH").map(OsString::from).unwrap_or_default();
    let kits = ["ANDROID_HOME", "ANDROID_SDK_ROOT"].into_iter().filter_map(environment);
    let kits = kits.map(|kit| PathBuf::from(kit).join("platform-tools"));
    let folders = std::env::split_paths(&path).chain(kits).collect::<Vec<_>>();
    folders.into_iter().map(|folder| folder.join(&name)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(pairs: &[(&str, &str)]) -> Result<String, Error> {
        let of =
            |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        Server::named_by(&of, Patience::default()).map(|server| server.address())
    }

    #[test]
    fn the_address_is_the_one_that_adb_itself_would_take() {
        assert_eq!(named(&[]).unwrap(), "127.0.0.1:5037");
        assert_eq!(named(&[("ANDROID_ADB_SERVER_PORT", "5999")]).unwrap(), "127.0.0.1:5999");
        assert_eq!(named(&[("ADB_SERVER_SOCKET", "tcp:6000")]).unwrap(), "127.0.0.1:6000");
        assert_eq!(
            named(&[("ADB_SERVER_SOCKET", "tcp:host:6000"), ("ANDROID_ADB_SERVER_PORT", "1")]).unwrap(),
            "host:6000"
        );
        for wrong in [
            ("ANDROID_ADB_SERVER_PORT", "0"),
            ("ANDROID_ADB_SERVER_PORT", "x"),
            ("ADB_SERVER_SOCKET", "local:x"),
        ] {
            let error = named(&[wrong]).unwrap_err().to_string();
            assert!(error.contains(wrong.0) && error.contains(wrong.1), "{error}");
        }
    }

    #[test]
    fn lines_of_devices_are_read_in_every_state() {
        let of = |line| listed(line).unwrap();
        let device = of("127.0.0.1:42153        device product:p model:Pixel_8 device:d transport_id:1");
        assert_eq!((device.state.as_str(), device.model.as_deref()), ("device", Some("Pixel_8")));
        assert!(device.cure().is_none());
        let refused = of(
            "????????????  no permissions (missing udev rules? user is in the plugdev group); see [http://developer.android.com/tools/device.html] usb:1-1",
        );
        assert_eq!(refused.state, "no permissions");
        for line in ["a unauthorized usb:1-1", "a offline", "a recovery", "a bootloader", "a something-new"] {
            assert!(of(line).cure().is_some(), "{line}");
        }
        assert!(listed("").is_none() && listed("serial").is_none() && listed("  ").is_none());
    }

    #[test]
    fn network_serials_are_told_from_others() {
        assert!(is_on_network("127.0.0.1:5555") && is_on_network("phone.local:1"));
        assert!(
            !is_on_network("0123456789ABCDEF")
                && !is_on_network("emulator-5554")
                && !is_on_network("adb-1._adb-tls-connect._tcp")
        );
    }
}
