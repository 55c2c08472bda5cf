//! Checks of a setup: what is wrong, and how to fix it.

use serde::Serialize;
use trace_format::{MapId, Recording};

use crate::app::{App, Place, RecordingList};
use crate::connection::Timeouts;
use crate::device::Device;
use crate::error::Error;
use crate::server::{Environment, Server, find_adb};

/// The API level of the oldest supported Android, 6.0: its toybox has `stat`, `cksum` and `dd`, which a pull needs.
const MIN_API_LEVEL: u32 = 23;
/// The ABIs that libanrscope.so is built for.
const ABIS: [&str; 3] = ["arm64-v8a", "armeabi-v7a", "x86_64"];
/// The free space that a recording of the usual size and a copy of it need, KiB.
const MIN_FREE_KIB: u64 = 64 << 10;
/// The bytes at the start of a recording that are read to find its build: the header with its tables.
const HEADER_BYTES: usize = 64 << 10;

/// The result of a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The check passed.
    Good,
    /// The setup works with restrictions.
    Warning,
    /// The setup does not work until this is fixed.
    Bad,
    /// The check could not be made.
    Unknown,
}

/// A check and its result.
#[non_exhaustive]
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Check {
    /// What was checked. Names are stable: scripts may rely on them.
    pub name: &'static str,
    /// The result.
    pub outcome: Outcome,
    /// What was found.
    pub found: String,
    /// How to fix it; always present if the check is [`Outcome::Bad`].
    pub cure: Option<String>,
}

/// What to check.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scope<'a> {
    /// The device's serial; `None` for the only one connected.
    pub serial: Option<&'a str>,
    /// The app's package; `None` to check no app.
    pub package: Option<&'a str>,
    /// The device's user that has the app.
    pub user: u32,
    /// The method map that recordings should match.
    pub map: Option<MapId>,
}

/// Runs all checks in order and stops after the first failure that prevents the others.
#[must_use]
pub fn examine(scope: Scope<'_>, environment: Environment<'_>, timeouts: &Timeouts) -> Vec<Check> {
    let mut checks = Checks(Vec::new());
    if let Err((name, error)) = checks.all(scope, environment, timeouts) {
        let cure = error.cure().unwrap_or_else(|| "run `adb kill-server`, and try again".into());
        checks.add(name, Outcome::Bad, error.found(), Some(&cure));
    }
    checks.0
}

struct Checks(Vec<Check>);

impl Checks {
    fn add(&mut self, name: &'static str, outcome: Outcome, found: impl Into<String>, cure: Option<&str>) {
        self.0.push(Check { name, outcome, found: found.into(), cure: cure.map(str::to_owned) });
    }

    fn good(&mut self, name: &'static str, found: impl Into<String>) {
        self.add(name, Outcome::Good, found, None);
    }

    fn bad(&mut self, name: &'static str, found: impl Into<String>, cure: &str) {
        self.add(name, Outcome::Bad, found, Some(cure));
    }

    /// Makes the checks. An error, with the name of its check, prevents the remaining ones.
    fn all(
        &mut self,
        scope: Scope<'_>,
        environment: Environment<'_>,
        timeouts: &Timeouts,
    ) -> Result<(), (&'static str, Error)> {
        let at = |name| move |error| (name, error);
        let server = Server::from_environment(environment, timeouts.clone()).map_err(at("adb server"))?;
        match find_adb(environment) {
            Some(program) => self.good("adb program", program.display().to_string()),
            None => self.add(
                "adb program",
                Outcome::Warning,
                "not found on PATH or below ANDROID_HOME",
                Some("install Android's platform tools, which start the adb server"),
            ),
        }
        let started = server.ensure(environment).map_err(at("adb server"))?;
        let version = server.version().map_err(at("adb server"))?;
        let how = if started { ", started now" } else { "" };
        self.good("adb server", format!("version {version} at {}{how}", server.address()));
        let device = Device::open(&server, scope.serial).map_err(at("device"))?;
        let model = device.property("ro.product.model").map_err(at("device"))?;
        self.good("device", format!("{} ({model})", device.serial()));
        self.system(&device, scope.user).map_err(at("device"))?;
        if let Some(package) = scope.package {
            let app = App::new(device, package, scope.user).map_err(at("app"))?;
            self.app(&app, scope.map).map_err(at("app"))?;
        }
        Ok(())
    }

    fn system(&mut self, device: &Device, user: u32) -> Result<(), Error> {
        if device.has_feature("shell_v2") {
            self.good("shell", "version 2: exit codes, separate streams");
        } else {
            let found = "version 1: exit codes and errors of commands are less exact";
            self.add("shell", Outcome::Warning, found, None);
        }
        let sdk = device.property("ro.build.version.sdk")?;
        let release = device.property("ro.build.version.release")?;
        match sdk.parse::<u32>() {
            Ok(n) if n >= MIN_API_LEVEL => self.good("Android", format!("{release} (API {n})")),
            Ok(n) => self.bad(
                "Android",
                format!("{release} (API {n})"),
                "use a device with Android 6 (API 23) or later: older shells lack commands that a pull needs",
            ),
            Err(_) => self.add("Android", Outcome::Unknown, format!("unknown API level {sdk:?}"), None),
        }
        let abis = device.property("ro.product.cpu.abilist")?;
        if abis.split(',').any(|abi| ABIS.contains(&abi)) {
            self.good("ABI", abis);
        } else {
            let cure = format!("use a device or an emulator image of {}", ABIS.join(", "));
            self.bad("ABI", abis, &cure);
        }
        let pages = device.shell_again("getconf PAGE_SIZE")?;
        match pages.stdout.trim().parse::<u32>() {
            Ok(size) if pages.code == 0 => self.good("page size", format!("{size} bytes")),
            _ => self.add("page size", Outcome::Unknown, "the device has no getconf", None),
        }
        let users = device.shell_again("pm list users")?.stdout;
        let known: Vec<u32> = users
            .lines()
            .filter_map(|line| line.trim().strip_prefix("UserInfo{")?.split(':').next()?.parse().ok())
            .collect();
        if known.contains(&user) || known.is_empty() {
            self.good("user", user.to_string());
        } else {
            let cure = format!("choose one of these with --user: {}", listed(&known));
            self.bad("user", format!("there is no user {user}"), &cure);
        }
        let disk = device.shell_again("df -k \"${ANDROID_DATA:-/data}\"")?.stdout;
        match free_of(&disk) {
            Some(free) if free >= MIN_FREE_KIB => self.good("space", format!("{} MiB free", free >> 10)),
            Some(free) => {
                let cure = "remove apps or files: without free space a recording stays in memory and is lost with its process";
                self.bad("space", format!("{free} KiB free"), cure);
            }
            None => self.add("space", Outcome::Unknown, "cannot parse the output of df", None),
        }
        Ok(())
    }

    fn app(&mut self, app: &App, map: Option<MapId>) -> Result<(), Error> {
        let package = app.package();
        let path = app.device().shell_again(&format!("pm path {}{package}", app.user_option()))?.stdout;
        let Some(apk) = path.lines().find_map(|line| line.trim().strip_prefix("package:")) else {
            let found = format!("{package} is not installed for user {}", app.user());
            let cure = "install it (`adb install`), or check the package name";
            self.bad("app", found, cure);
            return Ok(());
        };
        self.good("app", format!("{package} at {apk}"));
        let recording_lists = app.recording_lists()?;
        let private = app.device().shell_again(&app.run_as("true"))?;
        let elsewhere =
            recording_lists.iter().any(|list| list.place != Place::Private && !list.recordings.is_empty());
        if private.code == 0 {
            self.good("debuggable", "run-as works");
        } else {
            let outcome = if elsewhere { Outcome::Warning } else { Outcome::Bad };
            let cure = "install a debuggable build, or let the app copy its recordings to its external files directory";
            self.add("debuggable", outcome, private.message(), Some(cure));
        }
        let pids = app.pids()?;
        if pids.is_empty() {
            self.add("running", Outcome::Warning, "no process", Some("start the app"));
        } else {
            self.good("running", format!("pid {}", listed(&pids)));
        }
        self.library(app, apk, &pids)?;
        self.recordings(app, &recording_lists, map)
    }

    fn library(&mut self, app: &App, apk: &str, pids: &[u32]) -> Result<(), Error> {
        let name = "libanrscope.so";
        for pid in pids {
            let maps =
                app.device().shell_again(&app.run_as(&format!("grep -m 1 {name} /proc/{pid}/maps")))?;
            if maps.code == 0 {
                self.good("library", format!("loaded by pid {pid}"));
                return Ok(());
            }
        }
        let package = app.package();
        let package_dump = app.device().shell_again(&format!("dumpsys package {package}"))?.stdout;
        let directory =
            package_dump.lines().find_map(|line| line.trim().strip_prefix("legacyNativeLibraryDir="));
        let directory = directory.unwrap_or_default();
        // Either unpacked below that directory, or inside the APK.
        let script = format!(
            "find {} -name {name} 2>/dev/null; unzip -l {} 2>/dev/null | grep {name}",
            crate::quote(directory),
            crate::quote(apk)
        );
        if app.device().shell_again(&script)?.stdout.contains(name) {
            self.good("library", "in the package");
        } else {
            let cure =
                "add the dependency dev.anrscope to the app, and do not exclude its .so in packagingOptions";
            self.bad("library", format!("{name} is not in the package"), cure);
        }
        Ok(())
    }

    fn recordings(&mut self, app: &App, lists: &[RecordingList], map: Option<MapId>) -> Result<(), Error> {
        let all = lists.iter().flat_map(|list| &list.recordings);
        let Some(newest) = all.max_by_key(|remote| remote.modified) else {
            let cure =
                "start the app and wait a second; if no recording appears, look for anrscope in `adb logcat`";
            self.bad("recordings", "there are no recordings", cure);
            return Ok(());
        };
        for RecordingList { place, recordings, .. } in lists.iter().filter(|list| !list.recordings.is_empty())
        {
            let bytes: u64 = recordings.iter().map(|remote| remote.size).sum();
            self.good("recordings", format!("{} by {}, {bytes} bytes", recordings.len(), place.name()));
        }
        if newest.place == Place::Provider {
            return Ok(());
        }
        let name = &newest.name;
        let read = format!("dd if={name} bs={HEADER_BYTES} count=1 2>/dev/null");
        let mut head = Vec::new();
        app.device().stream(&app.in_place(newest.place, &read), &mut |bytes| {
            let room = HEADER_BYTES - head.len().min(HEADER_BYTES);
            head.extend_from_slice(&bytes[..bytes.len().min(room)]);
            Ok(())
        })?;
        let id = Recording::open(head.as_slice()).map(|recording| recording.header().map_id);
        match (id, map) {
            (Err(error), _) => {
                self.bad("map", format!("{name}: {error}"), "remove that file and restart the app");
            }
            (Ok(id), None) => {
                let cure = Some("check it with --method-map");
                self.add("map", Outcome::Unknown, format!("{name} has map id {id}"), cure);
            }
            (Ok(id), Some(map)) if id == map => {
                self.good("map", format!("{name} and the given map both have map id {id}"));
            }
            (Ok(id), Some(map)) => {
                let found = format!("{name} has map id {id}, the given map has {map}");
                let cure =
                    "use the methodMapping.txt of the installed build, or install the build of that map";
                self.bad("map", found, cure);
            }
        }
        Ok(())
    }
}

fn listed(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

/// Parses the available space, KiB, from the output of `df -k`.
fn free_of(text: &str) -> Option<u64> {
    let mut lines = text.lines();
    let column = lines.next()?.split_whitespace().position(|word| word == "Available")?;
    lines.next()?.split_whitespace().nth(column)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::free_of;

    #[test]
    fn free_space_is_parsed_from_the_column_available() {
        let toybox = "Filesystem 1K-blocks Used Available Use% Mounted on\n/dev/block/dm-48 113183124 30000000 83183124 27% /data\n";
        assert_eq!(free_of(toybox), Some(83_183_124));
        for none in
            ["", "Filesystem Size Used Free Blksize\n/data 1G 1G 0 4096\n", "Available\n", "Available\nx\n"]
        {
            assert_eq!(free_of(none), None);
        }
    }
}
