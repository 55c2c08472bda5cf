//! Which device and app a subcommand is for, and its timeouts.

use std::time::Duration;

use device::{App, Device, Server, Stop, Timeouts};

/// The device, and its timeout.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Link {
    /// The device [default: the only one connected]
    #[arg(long, short, value_name = "SERIAL", env = "ANDROID_SERIAL")]
    pub(super) serial: Option<String>,
    /// Give up on a device that does not answer for this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    pub(super) timeout: f64,
}

/// The app and its device.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Target {
    /// The app's package
    #[arg(value_name = "PACKAGE")]
    pub(super) package: String,
    #[command(flatten)]
    pub(super) link: Link,
    /// The device's user who runs the app
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) user: u32,
}

impl Link {
    pub(super) fn timeouts(&self, stop: &Stop) -> Timeouts {
        Timeouts { read: Duration::from_secs_f64(self.timeout), stop: stop.clone(), ..Timeouts::default() }
    }

    /// Connects to the server; starts it if it is not running.
    pub(super) fn server(&self, stop: &Stop) -> Result<Server, device::Error> {
        let server = Server::from_environment(&environment, self.timeouts(stop))?;
        server.ensure(&environment)?;
        Ok(server)
    }
}

impl Target {
    pub(super) fn app(&self, stop: &Stop) -> Result<App, device::Error> {
        let device = Device::open(&self.link.server(stop)?, self.link.serial.as_deref())?;
        App::new(device, &self.package, self.user)
    }
}

pub(super) fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Parses a number of seconds from a thousandth to a day.
pub(super) fn seconds(text: &str) -> Result<f64, &'static str> {
    let seconds = text.parse().map_err(|_| "a number of seconds")?;
    if (0.001..=86_400.0).contains(&seconds) { Ok(seconds) } else { Err("from 0.001 to 86400 seconds") }
}
