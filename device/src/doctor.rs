//! What is wrong with a set-up, each with its cure.

use trace_format::{MapId, Recording};

use crate::app::{App, Place};
use crate::connection::Patience;
use crate::device::Device;
use crate::error::{Error, Fault};
use crate::server::{Server, Source, find_adb};

/// The oldest Android whose shell has what a pull needs (`stat`, `cksum` and `dd` of toybox): 6.0.
const OLDEST: u32 = 23;
/// The processors that libanrscope.so is built for.
const ABIS: [&str; 3] = ["arm64-v8a", "armeabi-v7a", "x86_64"];
/// Room that a recording of the usual size and a copy of it need, KiB.
const ROOM: u64 = 64 << 10;
/// What is read of a recording to know its build: the header with its tables.
const HEAD: usize = 64 << 10;

/// How a check ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// As it should be.
    Good,
    /// It works, with less.
    Warning,
    /// It does not work before this is cured.
    Bad,
    /// It could not be looked at.
    Unknown,
}

/// One check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    /// What was looked at; scripts may rely on it.
    pub name: &'static str,
    /// How it ended.
    pub outcome: Outcome,
    /// What was found.
    pub found: String,
    /// What to do about it.
    pub cure: Option<String>,
}

/// What is to be checked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Question<'a> {
    /// Which device.
    pub serial: Option<&'a str>,
    /// Which app.
    pub package: Option<&'a str>,
    /// Of which user.
    pub user: u32,
    /// The map that recordings are to be read with.
    pub map: Option<MapId>,
}

/// Checks everything that can be reached, in order; behind what is broken nothing is looked at.
#[must_use]
pub fn examine(question: Question<'_>, environment: Source<'_>, patience: &Patience) -> Vec<Check> {
    let mut checks = Checks(Vec::new());
    // It ended early: the checks say where.
    let _ = checks.all(question, environment, patience);
    checks.0
}

struct Checks(Vec<Check>);

/// The rest cannot be looked at.
struct Broken;

impl Checks {
    fn add(&mut self, name: &'static str, outcome: Outcome, found: impl Into<String>, cure: Option<&str>) {
        self.0.push(Check { name, outcome, found: found.into(), cure: cure.map(str::to_owned) });
    }

    fn good(&mut self, name: &'static str, found: impl Into<String>) {
        self.add(name, Outcome::Good, found, None);
    }

    /// An error says its cure behind the last colon, or is its own.
    fn broken(&mut self, name: &'static str, error: &Error) -> Broken {
        let (found, cure) = match error {
            Error::NotReady { serial, state, cure } => (format!("{serial} is {state}"), (*cure).to_owned()),
            Error::Link { fault: Fault::Malformed(_), .. } => (
                error.to_string(),
                "another program has that port: end it, or choose one with ANDROID_ADB_SERVER_PORT".into(),
            ),
            Error::Link { fault: Fault::TimedOut(_), .. } => {
                (error.to_string(), "`adb kill-server`, plug the device in again, and run this again".into())
            }
            other => {
                let text = other.to_string();
                match text.split_once(": ") {
                    Some((found, cure)) => (found.to_owned(), cure.to_owned()),
                    None => (text, "`adb kill-server`, and run this again".into()),
                }
            }
        };
        self.add(name, Outcome::Bad, found, Some(&cure));
        Broken
    }

    fn all(
        &mut self,
        question: Question<'_>,
        environment: Source<'_>,
        patience: &Patience,
    ) -> Result<(), Broken> {
        let server = Server::named_by(environment, patience.clone());
        let server = server.map_err(|error| self.broken("adb server", &error))?;
        match find_adb(environment) {
            Some(program) => self.good("adb program", program.display().to_string()),
            None => self.add(
                "adb program",
                Outcome::Warning,
                "not found on PATH, nor below ANDROID_HOME",
                Some("install Android's platform tools: without them no adb server can be started"),
            ),
        }
        let started = server.ensure(environment).map_err(|error| self.broken("adb server", &error))?;
        let version = server.version().map_err(|error| self.broken("adb server", &error))?;
        let how = if started { ", started now" } else { "" };
        self.good("adb server", format!("version {version} at {}{how}", server.address()));
        let device = Device::open(&server, question.serial).map_err(|error| self.broken("device", &error))?;
        let model = device.property("ro.product.model").map_err(|error| self.broken("device", &error))?;
        self.good("device", format!("{} ({model})", device.serial()));
        self.system(&device, question.user).map_err(|error| self.broken("device", &error))?;
        if let Some(package) = question.package {
            let app = App::new(device, package, question.user);
            let app = app.map_err(|error| self.broken("app", &error))?;
            self.app(&app, question.map).map_err(|error| self.broken("app", &error))?;
        }
        Ok(())
    }

    fn system(&mut self, device: &Device, user: u32) -> Result<(), Error> {
        if device.has_shell_v2() {
            self.good("shell", "version 2: exit codes, both streams");
        } else {
            self.add("shell", Outcome::Warning, "version 1: errors of commands are seen less well", None);
        }
        let sdk = device.property("ro.build.version.sdk")?;
        let release = device.property("ro.build.version.release")?;
        match sdk.parse::<u32>() {
            Ok(n) if n >= OLDEST => self.good("Android", format!("{release} (API {n})")),
            Ok(n) => self.add(
                "Android",
                Outcome::Bad,
                format!("{release} (API {n})"),
                Some("use a device with Android 6 (API 23) or later: older shells lack what a pull needs"),
            ),
            Err(_) => self.add("Android", Outcome::Unknown, format!("the system says {sdk:?}"), None),
        }
        let abis = device.property("ro.product.cpu.abilist")?;
        if abis.split(',').any(|abi| ABIS.contains(&abi)) {
            self.good("processor", abis);
        } else {
            let cure = format!("use a device or an emulator image of {}", ABIS.join(", "));
            self.add("processor", Outcome::Bad, abis, Some(&cure));
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
            let known = known.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            let cure = format!("name one of these with --user: {known}");
            self.add("user", Outcome::Bad, format!("there is no user {user}"), Some(&cure));
        }
        let disk = device.shell_again("df -k \"${ANDROID_DATA:-/data}\"")?.stdout;
        match free_of(&disk) {
            Some(free) if free >= ROOM => self.good("space", format!("{} MiB free", free >> 10)),
            Some(free) => {
                let cure = "remove apps or files: without room a recording stays in memory and is lost with its process";
                self.add("space", Outcome::Bad, format!("{free} KiB free"), Some(cure));
            }
            None => self.add("space", Outcome::Unknown, "df says nothing that is understood", None),
        }
        Ok(())
    }

    fn app(&mut self, app: &App, map: Option<MapId>) -> Result<(), Error> {
        let package = app.package();
        let path = app.device().shell_again(&format!("pm path {}{package}", app.user_option()))?.stdout;
        let Some(apk) = path.lines().find_map(|line| line.trim().strip_prefix("package:")) else {
            let found = format!("{package} is not installed for user {}", app.user());
            self.add("app", Outcome::Bad, found, Some("install it (`adb install`), or look at its name"));
            return Ok(());
        };
        self.good("app", format!("{package} at {apk}"));
        let shelves = app.shelves()?;
        let private = app.device().shell_again(&app.run_as("true"))?;
        let elsewhere = shelves.iter().any(|shelf| {
            shelf.place != Place::Private && shelf.recordings.as_ref().is_ok_and(|found| !found.is_empty())
        });
        if private.code == 0 {
            self.good("debuggable", "run-as works");
        } else {
            let outcome = if elsewhere { Outcome::Warning } else { Outcome::Bad };
            let cure =
                "install a debuggable build, or let the app copy its recordings to its external files folder";
            self.add("debuggable", outcome, private.said(), Some(cure));
        }
        let pids = app.pids()?;
        if pids.is_empty() {
            self.add("running", Outcome::Warning, "no process", Some("start the app"));
        } else {
            let pids: Vec<_> = pids.iter().map(u32::to_string).collect();
            self.good("running", format!("pid {}", pids.join(", ")));
        }
        self.library(app, apk, &pids)?;
        self.recordings(app, &shelves, map)
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
        let told = app.device().shell_again(&format!("dumpsys package {package}"))?.stdout;
        let folder = told.lines().find_map(|line| line.trim().strip_prefix("legacyNativeLibraryDir="));
        let folder = folder.unwrap_or_default();
        // Unpacked below that folder, or in the package itself.
        let script = format!(
            "find {} -name {name} 2>/dev/null; unzip -l {} 2>/dev/null | grep {name}",
            crate::quote(folder),
            crate::quote(apk)
        );
        if app.device().shell_again(&script)?.stdout.contains(name) {
            self.good("library", "in the package");
        } else {
            let cure = "add the dependency dev.anrscope to the app, and keep its .so out of packagingOptions' excludes";
            self.add("library", Outcome::Bad, format!("{name} is not in the package"), Some(cure));
        }
        Ok(())
    }

    fn recordings(&mut self, app: &App, shelves: &[crate::Shelf], map: Option<MapId>) -> Result<(), Error> {
        let all = shelves.iter().filter_map(|shelf| shelf.recordings.as_ref().ok()).flatten();
        let Some(newest) = all.max_by_key(|remote| remote.modified) else {
            let cure = "start the app and wait a second; if none appears, look for anrscope in `adb logcat`";
            self.add("recordings", Outcome::Bad, "there is none", Some(cure));
            return Ok(());
        };
        for shelf in shelves {
            if let Ok(found) = &shelf.recordings
                && !found.is_empty()
            {
                let bytes: u64 = found.iter().map(|remote| remote.size).sum();
                self.good("recordings", format!("{} by {}, {bytes} bytes", found.len(), shelf.place.name()));
            }
        }
        let name = &newest.name;
        let mut head = Vec::new();
        if newest.place != Place::Provider {
            let command = app.in_place(newest.place, &format!("dd if={name} bs={HEAD} count=1 2>/dev/null"));
            app.device().stream(&command, &mut |bytes| {
                let room = HEAD - head.len().min(HEAD);
                head.extend_from_slice(&bytes[..bytes.len().min(room)]);
                Ok(())
            })?;
            match (Recording::open(head.as_slice()), map) {
                (Err(error), _) => self.add(
                    "map",
                    Outcome::Bad,
                    format!("{name}: {error}"),
                    Some("remove that file and start the app again"),
                ),
                (Ok(recording), None) => {
                    let id = recording.header().map_id;
                    self.add(
                        "map",
                        Outcome::Unknown,
                        format!("{name} is of map {id}"),
                        Some("compare it with --method-map"),
                    );
                }
                (Ok(recording), Some(map)) => {
                    let id = recording.header().map_id;
                    if id == map {
                        self.good("map", format!("{name} and the map given are both {id}"));
                    } else {
                        let cure = "take the methodMapping.txt of the build that is installed, or install the build of that map";
                        self.add(
                            "map",
                            Outcome::Bad,
                            format!("{name} is of map {id}, the one given is {map}"),
                            Some(cure),
                        );
                    }
                }
            }
        }
        Ok(())
    }
}

/// What `df -k` says is available, KiB.
fn free_of(text: &str) -> Option<u64> {
    let mut lines = text.lines();
    let column = lines.next()?.split_whitespace().position(|word| word == "Available")?;
    lines.next()?.split_whitespace().nth(column)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::free_of;

    #[test]
    fn free_space_is_the_column_available() {
        let toybox = "Filesystem 1K-blocks Used Available Use% Mounted on\n/dev/block/dm-48 113183124 30000000 83183124 27% /data\n";
        assert_eq!(free_of(toybox), Some(83_183_124));
        for none in
            ["", "Filesystem Size Used Free Blksize\n/data 1G 1G 0 4096\n", "Available\n", "Available\nx\n"]
        {
            assert_eq!(free_of(none), None);
        }
    }
}
