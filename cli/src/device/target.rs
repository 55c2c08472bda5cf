//! Which device and which app a subcommand is for, and how long they may take.

use std::time::Duration;

use device::{App, Device, Server, Stop, Timeouts};

/// Which device, and how long it may take.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Link {
    /// The device [default: the only one there is]
    #[arg(long, short, value_name = "SERIAL", env = "ANDROID_SERIAL")]
    pub(super) serial: Option<String>,
    /// How many seconds a device may say nothing
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    pub(super) timeout: f64,
}

/// Which app of which device.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Target {
    /// The app's package
    #[arg(value_name = "PACKAGE")]
    pub(super) package: String,
    #[command(flatten)]
    pub(super) link: Link,
    /// The device's user whose app it is
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) user: u32,
}

impl Link {
    pub(super) fn timeouts(&self, stop: &Stop) -> Timeouts {
        Timeouts { read: Duration::from_secs_f64(self.timeout), stop: stop.clone(), ..Timeouts::default() }
    }

    /// The server, which is started if it does not run.
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

/// Takes a number of seconds from a thousandth to a day.
pub(super) fn seconds(text: &str) -> Result<f64, &'static str> {
    let seconds = text.parse().map_err(|_| "a number of seconds")?;
    if (0.001..=86_400.0).contains(&seconds) { Ok(seconds) } else { Err("from 0.001 to 86400 seconds") }
}
