//! Starting an app, with the startup times that ActivityManager reports.

use std::time::Duration;

use crate::app::App;
use crate::error::Error;

/// The result of one start by `am start -W`.
#[non_exhaustive]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Launch {
    /// `COLD`, `WARM` or `HOT`; `None` before Android 10.
    pub state: Option<String>,
    /// The activity that was shown.
    pub activity: String,
    /// The time from the intent to the activity's first frame.
    pub total: Duration,
    /// The time that `am` waited.
    pub wait: Option<Duration>,
}

/// Returns the activity that the launcher would start, as `PACKAGE/CLASS`.
///
/// # Errors
/// If the app has no such activity, or the connection breaks.
pub fn component(app: &App) -> Result<String, Error> {
    let command = format!("cmd package resolve-activity --brief {}{}", app.user_option(), app.package());
    let output = app.device().shell_again(&command)?;
    let found = output.stdout.lines().map(str::trim).rev().find(|line| is_component(line, app.package()));
    found.map(str::to_owned).ok_or_else(|| {
        let doing = format!("looking for the launcher activity of {}", app.package());
        Error::command(doing, output.code, format!("{}; name one with --activity", output.message()))
    })
}

fn is_component(line: &str, package: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._$".contains(c);
    line.split_once('/')
        .is_some_and(|(of, class)| of == package && !class.is_empty() && class.chars().all(plain))
}

/// Starts `component` and waits until it is shown. With `restart` the app's process is killed first.
///
/// # Errors
/// If `am` fails, or the connection breaks.
pub fn start(app: &App, component: &str, restart: bool) -> Result<Launch, Error> {
    if !is_component(component, app.package()) {
        let expected = "an activity is PACKAGE/CLASS with the app's own package";
        return Err(Error::bad_name("an activity of the app", component, expected));
    }
    let restart = if restart { "-S " } else { "" };
    // A class name may contain a $.
    let command = format!("am start -W {restart}{}-n {}", app.user_option(), crate::quote(component));
    let output = app.device().shell(&command)?;
    parse(&output.stdout).filter(|_| output.code == 0).ok_or_else(|| {
        let message = error_line(&output.stdout).unwrap_or_else(|| output.message());
        Error::command(format!("starting {component}"), output.code, message)
    })
}

/// Stops all processes of the app.
///
/// # Errors
/// If the connection breaks, or `am` fails.
pub fn stop(app: &App) -> Result<(), Error> {
    let output =
        app.device().shell_again(&format!("am force-stop {}{}", app.user_option(), app.package()))?;
    if output.code == 0 {
        return Ok(());
    }
    Err(Error::command(format!("stopping {}", app.package()), output.code, output.message()))
}

fn error_line(text: &str) -> Option<String> {
    text.lines().rfind(|line| line.starts_with("Error")).map(str::to_owned)
}

fn parse(text: &str) -> Option<Launch> {
    let field = |name: &str| {
        text.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(':')).map(str::trim)
    };
    let ms =
        |name| field(name).and_then(|text| text.parse::<u32>().ok()).map(|n| Duration::from_millis(n.into()));
    if field("Status")? != "ok" {
        return None;
    }
    Some(Launch {
        state: field("LaunchState").map(str::to_owned),
        activity: field("Activity").unwrap_or_default().to_owned(),
        total: ms("TotalTime")?,
        wait: ms("WaitTime"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_am_on_android_5_to_14_is_parsed() {
        let new = "Starting: Intent { cmp=a/.B }\nStatus: ok\nLaunchState: COLD\nActivity: a/.B\nTotalTime: 412\nWaitTime: 415\nComplete\n";
        let launch = parse(new).unwrap();
        assert_eq!((launch.state.as_deref(), launch.total.as_millis()), (Some("COLD"), 412));
        let old = "Starting: Intent { cmp=a/.B }\nStatus: ok\nActivity: a/.B\nThisTime: 300\nTotalTime: 301\nWaitTime: 310\nComplete\n";
        let launch = parse(old).unwrap();
        assert_eq!((launch.state, launch.total.as_millis()), (None, 301));
        for none in ["", "Status: timeout\nTotalTime: 1", "Status: ok\nTotalTime: -1", "Status: ok\n"] {
            assert!(parse(none).is_none(), "{none}");
        }
    }

    #[test]
    fn activities_of_other_packages_are_rejected() {
        assert!(is_component("com.a/.Main", "com.a") && is_component("com.a/com.b.C$D", "com.a"));
        for wrong in ["com.b/.Main", "com.a", "com.a/", "com.a/.M;reboot", "No activity found"] {
            assert!(!is_component(wrong, "com.a"), "{wrong}");
        }
    }

    proptest::proptest! {
        #[test]
        fn parsing_any_text_ends(text in "(Status: ok\n)?.{0,100}(\nTotalTime: [0-9]{0,25})?") {
            let _ = parse(&text);
        }
    }
}
