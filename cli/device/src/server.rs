//! The adb server: its address, how it is started, and the devices connected to it.

use std::ffi::OsString;
use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::connection::{Connection, Timeouts};
use crate::error::{Error, Fault};
use crate::wire;

/// The server's default port.
const PORT: u16 = 5037;
/// The longest time that `adb start-server` may take.
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// Looks up an environment variable. Tests pass variables of their own.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A client of the adb server. It connects anew for each request.
#[derive(Clone, Debug)]
pub struct Server {
    host: String,
    port: u16,
    timeouts: Timeouts,
}

/// A device as the server lists it.
#[non_exhaustive]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedDevice {
    /// Its serial; `HOST:PORT` for a device on the network.
    pub serial: String,
    /// Its state: `device` if it can be used, else `unauthorized`, `offline`, `no permissions`, ...
    pub state: String,
}

impl ListedDevice {
    /// Returns what the user can do to make it usable; `None` if it is usable.
    #[must_use]
    pub fn cure(&self) -> Option<&'static str> {
        Some(match self.state.as_str() {
            "device" => return None,
            "unauthorized" => {
                "unlock it and allow USB debugging from this computer; if it does not ask, revoke USB debugging authorisations in \
                 its developer options and plug it in again"
            }
            "authorizing" | "connecting" => "wait a moment; unlock it if it asks for permission",
            "offline" => {
                "plug it in again, or run `adb reconnect offline`; for a device on the network, run `adb connect` again"
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
    /// Creates a client of the server that adb itself would use: that of `ADB_SERVER_SOCKET`, or of
    /// `ANDROID_ADB_SERVER_ADDRESS` and `ANDROID_ADB_SERVER_PORT`, or 127.0.0.1:5037.
    ///
    /// ```
    /// use device::{Server, Timeouts};
    ///
    /// let environment = |name: &str| (name == "ANDROID_ADB_SERVER_PORT").then(|| "5999".to_owned());
    /// let server = Server::from_environment(&environment, Timeouts::default())?;
    /// assert_eq!(server.address(), "127.0.0.1:5999");
    /// # Ok::<(), device::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a variable holds an invalid address.
    pub fn from_environment(environment: Environment<'_>, timeouts: Timeouts) -> Result<Self, Error> {
        let bad = |variable, value: &str, expected| {
            Error::other(format!("{variable}={value} is not a server address"), format!("use {expected}"))
        };
        let port_of = |text: &str| text.parse::<u16>().ok().filter(|port| *port > 0);
        if let Some(socket) = environment("ADB_SERVER_SOCKET").filter(|socket| !socket.is_empty()) {
            let expected = "tcp:PORT or tcp:HOST:PORT";
            let place =
                socket.strip_prefix("tcp:").ok_or_else(|| bad("ADB_SERVER_SOCKET", &socket, expected))?;
            let (host, port) = place.rsplit_once(':').unwrap_or(("127.0.0.1", place));
            let port = port_of(port).ok_or_else(|| bad("ADB_SERVER_SOCKET", &socket, expected))?;
            return Ok(Self { host: host.trim_matches(['[', ']']).into(), port, timeouts });
        }
        let host = environment("ANDROID_ADB_SERVER_ADDRESS").filter(|host| !host.is_empty());
        let port = match environment("ANDROID_ADB_SERVER_PORT").filter(|port| !port.is_empty()) {
            Some(text) => port_of(&text)
                .ok_or_else(|| bad("ANDROID_ADB_SERVER_PORT", &text, "a number from 1 to 65535"))?,
            None => PORT,
        };
        Ok(Self { host: host.unwrap_or_else(|| "127.0.0.1".into()), port, timeouts })
    }

    /// Returns the server's address, `HOST:PORT`.
    #[must_use]
    pub fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// Returns the timeouts of its connections.
    #[must_use]
    pub fn timeouts(&self) -> &Timeouts {
        &self.timeouts
    }

    /// Returns a client of the same server with other timeouts.
    #[must_use]
    pub fn with_timeouts(&self, timeouts: Timeouts) -> Self {
        Self { timeouts, ..self.clone() }
    }

    fn connect(&self) -> Result<Connection, Error> {
        let failed = |source| Error::NoServer { address: self.address(), source };
        let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for address in (self.host.as_str(), self.port).to_socket_addrs().map_err(failed)? {
            match TcpStream::connect_timeout(&address, self.timeouts.read.max(Duration::from_millis(1))) {
                Ok(stream) => return Connection::new(stream, self.timeouts.clone()).map_err(failed),
                Err(error) => last = error,
            }
        }
        Err(failed(last))
    }

    /// Makes an error of a fault, and adds the duration to a timeout.
    pub(crate) fn link_error(&self, doing: impl Into<String>, fault: Fault) -> Error {
        let fault = match fault {
            Fault::TimedOut(_) => Fault::TimedOut(self.timeouts.read),
            other => other,
        };
        Error::link(doing, fault)
    }

    /// Sends a request that the server answers with a text.
    ///
    /// # Errors
    /// If no server answers, or it refuses the request.
    pub fn ask(&self, service: &str) -> Result<String, Error> {
        let mut connection = self.connect()?;
        let answer = wire::request(&mut connection, service)
            .and_then(|()| wire::status(&mut connection))
            .and_then(|()| wire::text(&mut connection));
        answer.map_err(|fault| {
            self.link_error(format!("asking the adb server at {} for {service}", self.address()), fault)
        })
    }

    /// Opens a service of a device.
    ///
    /// # Errors
    /// If no server answers, or the device or its service does not exist.
    pub(crate) fn open(&self, serial: &str, service: &str) -> Result<Connection, Error> {
        let mut connection = self.connect()?;
        let mut ask =
            |text: &str| wire::request(&mut connection, text).and_then(|()| wire::status(&mut connection));
        ask(&format!("host:transport:{serial}")).map_err(|fault| {
            self.link_error(format!("waiting for the adb server to reach device {serial}"), fault)
        })?;
        ask(service).map_err(|fault| {
            let name = service.split(':').next().unwrap_or(service);
            self.link_error(format!("waiting for device {serial} to open its service {name}"), fault)
        })?;
        Ok(connection)
    }

    /// Returns the server's protocol version, which is 41 for recent releases.
    ///
    /// # Errors
    /// If no server answers, or another program listens on its port.
    pub fn version(&self) -> Result<u32, Error> {
        let text = self.ask("host:version")?;
        u32::from_str_radix(&text, 16).map_err(|_| {
            Error::link(
                "asking the adb server for its version",
                Fault::Malformed("expected a version number"),
            )
        })
    }

    /// Lists the connected devices, including those that cannot be used.
    ///
    /// # Errors
    /// If no server answers.
    pub fn devices(&self) -> Result<Vec<ListedDevice>, Error> {
        Ok(self.ask("host:devices-l")?.lines().filter_map(listed).collect())
    }

    /// Returns the features that both the server and the device support, separated by commas.
    pub(crate) fn features(&self, serial: &str) -> Result<String, Error> {
        self.ask(&format!("host-serial:{serial}:features"))
    }

    /// Starts the server unless it is running; returns whether it was started.
    ///
    /// # Errors
    /// If no server is running and none can be started, or another program listens on its port.
    pub fn ensure(&self, environment: Environment<'_>) -> Result<bool, Error> {
        match self.version() {
            Ok(_) => return Ok(false),
            Err(Error::NoServer { .. })
                if matches!(self.host.as_str(), "127.0.0.1" | "localhost" | "::1") => {}
            Err(error) => return Err(error),
        }
        let program = find_adb(environment).ok_or_else(|| {
            let cure = "install Android's platform tools and put them on PATH, or set ANDROID_HOME";
            Error::other("the program adb was not found", cure)
        })?;
        let failed = |what: String| {
            let found = format!("{} start-server failed ({what})", program.display());
            Error::other(found, "run it by hand to see why")
        };
        let mut child = Command::new(&program)
            .args(["-P", &self.port.to_string(), "start-server"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        let end = Instant::now() + START_TIMEOUT;
        loop {
            match child.try_wait().map_err(|error| failed(error.to_string()))? {
                Some(status) if status.success() => break,
                Some(status) => return Err(failed(status.to_string())),
                None if Instant::now() > end || self.timeouts.stop.is_set() => {
                    // This process started it, and it did not finish.
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(failed(format!("not finished after {} s", START_TIMEOUT.as_secs())));
                }
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        }
        self.version().map(|_| true)
    }

    /// Returns the device with this serial, or the only one connected.
    ///
    /// # Errors
    /// If it is not connected, or several are, or it cannot be used; the error says what to do.
    pub fn choose(&self, serial: Option<&str>) -> Result<ListedDevice, Error> {
        let devices = self.devices()?;
        let serials = || devices.iter().map(|device| &*device.serial).collect::<Vec<_>>().join(", ");
        let found = match (serial, devices.as_slice()) {
            (Some(serial), all) => {
                let found = all.iter().find(|device| device.serial == serial);
                found.ok_or_else(|| {
                    let cure = match serials() {
                        known if known.is_empty() => {
                            "no other device is connected: plug it in and allow USB debugging".to_owned()
                        }
                        known => format!("choose one of those connected: {known}"),
                    };
                    Error::unreachable(format!("no device {serial} is connected"), cure)
                })?
            }
            (None, []) => return Err(Error::no_device()),
            (None, [one]) => one,
            (None, _) => {
                let cure = format!("choose one with -s: {}", serials());
                return Err(Error::other("several devices are connected", cure));
            }
        };
        match found.cure() {
            None => Ok(found.clone()),
            Some(cure) => {
                Err(Error::unreachable(format!("device {} is {}", found.serial, found.state), cure))
            }
        }
    }

    /// Waits until the device can be used. Reconnects a device on the network, since the server itself tries only every
    /// ten seconds.
    ///
    /// # Errors
    /// If it is not usable before the timeout.
    pub(crate) fn wait_for(&self, serial: &str) -> Result<(), Error> {
        let end = Instant::now() + self.timeouts.reconnect;
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
                // The server may still list it as offline, so disconnect it first. The next list shows any failure.
                let _ = self.ask(&format!("host:disconnect:{serial}"));
                let _ = self.ask(&format!("host:connect:{serial}"));
            }
            if self.timeouts.stop.sleep(pause) {
                return Err(Error::link(format!("waiting for device {serial}"), Fault::Interrupted));
            }
            pause = (pause * 2).min(Duration::from_secs(2));
        }
    }
}

fn is_on_network(serial: &str) -> bool {
    serial.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
}

/// Parses `SERIAL STATE key:value...`. The state `no permissions` is followed by an explanation.
fn listed(line: &str) -> Option<ListedDevice> {
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
    Some(ListedDevice { serial: serial.into(), state: state.into() })
}

/// Returns the path of the program adb: on `PATH`, or below `ANDROID_HOME` or `ANDROID_SDK_ROOT`.
#[must_use]
pub fn find_adb(environment: Environment<'_>) -> Option<PathBuf> {
    let name = format!("adb{}", std::env::consts::EXE_SUFFIX);
    let path = environment("PATH").map(OsString::from).unwrap_or_default();
    let kits = ["ANDROID_HOME", "ANDROID_SDK_ROOT"].into_iter().filter_map(environment);
    let kits = kits.map(|kit| PathBuf::from(kit).join("platform-tools"));
    let directories = std::env::split_paths(&path).chain(kits).collect::<Vec<_>>();
    directories.into_iter().map(|directory| directory.join(&name)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(pairs: &[(&str, &str)]) -> Result<String, Error> {
        let of =
            |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        Server::from_environment(&of, Timeouts::default()).map(|server| server.address())
    }

    #[test]
    fn the_address_is_the_one_that_adb_itself_uses() {
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
    fn devices_in_every_state_are_parsed() {
        let of = |line| listed(line).unwrap();
        let device = of("127.0.0.1:42153        device product:p model:Pixel_8 device:d transport_id:1");
        assert_eq!(device.state, "device");
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
    fn serials_on_the_network_are_recognised() {
        assert!(is_on_network("127.0.0.1:5555") && is_on_network("phone.local:1"));
        assert!(
            !is_on_network("0123456789ABCDEF")
                && !is_on_network("emulator-5554")
                && !is_on_network("adb-1._adb-tls-connect._tcp")
        );
    }
}
