//! Who sent a signal, by uid and pid.

use std::fmt;

/// This process, as senders and error states are compared with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// `getpid()`.
    pub pid: i32,
    /// `getuid()`.
    pub uid: u32,
}

/// Who sent a signal.
///
/// Known by uid and pid alone. `si_code` tells the *call* it was sent with: AOSP's system_server uses `sigqueue` from
/// Android 8 on (`debuggerd_client.cpp`), at least the OPPO A1 uses `kill` (`SI_USER`), and both are the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// Our own process: print on demand, or another SDK in it.
    Ourselves,
    /// Uid 1000: system_server, or another part of the system that shares its uid.
    System,
    /// Uid 0: `dumpstate` for a bug report, a rooted shell.
    Root,
    /// Uid 2000: `adb shell`, or a bug report that runs as it.
    Shell,
    /// Another process of our own uid, such as a watchdog in a process of the same app.
    OwnApp {
        /// Its pid.
        pid: i32,
    },
    /// Another app, in whatever user.
    OtherApp {
        /// Its uid.
        uid: u32,
    },
    /// A uid or form that AOSP does not send with: a vendor's daemon, the kernel, a sender outside our pid namespace
    /// (which reads as pid 0, uid 0), or our pid with a uid that is not ours.
    Unknown {
        /// `si_pid` as it came.
        pid: i32,
        /// `si_uid` as it came.
        uid: u32,
    },
}

/// `Process.ROOT_UID`, `SYSTEM_UID` and `SHELL_UID` of AOSP.
const ROOT: u32 = 0;
const SYSTEM: u32 = 1000;
const SHELL: u32 = 2000;
/// `UserHandle.PER_USER_RANGE`: a uid is user × this + app id.
const PER_USER: u32 = 100_000;
/// `Process.FIRST_APPLICATION_UID`; app ids below it are the system's.
const FIRST_APP: u32 = 10_000;

impl Sender {
    /// The sender of a signal with these fields, seen from this process.
    pub fn of(si_pid: i32, si_uid: u32, own: Identity) -> Self {
        match (si_pid, si_uid) {
            // Pid 0 sends nothing: the field is not filled in, so a uid of 0 beside it is not root either. A uid that
            // is filled in still counts.
            (0, ROOT) => Sender::Unknown { pid: 0, uid: ROOT },
            (pid, uid) if pid == own.pid && uid == own.uid => Sender::Ourselves,
            (pid, uid) if pid == own.pid => Sender::Unknown { pid, uid },
            // Before our own uid: a system app shares this one with system_server.
            (_, SYSTEM) => Sender::System,
            // Before root: on a desk the process under test may itself run as root.
            (pid, uid) if uid == own.uid => Sender::OwnApp { pid },
            (_, ROOT) => Sender::Root,
            (_, SHELL) => Sender::Shell,
            (_, uid) if uid % PER_USER >= FIRST_APP => Sender::OtherApp { uid },
            (pid, uid) => Sender::Unknown { pid, uid },
        }
    }
}

impl fmt::Display for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sender::Ourselves => f.write_str("sent from this process"),
            Sender::System => f.write_str("sent by the system (uid 1000)"),
            Sender::Root => f.write_str("sent by root"),
            Sender::Shell => f.write_str("sent from a shell (uid 2000)"),
            Sender::OwnApp { pid } => write!(f, "sent by process {pid} of the same uid"),
            Sender::OtherApp { uid } => write!(f, "sent by another app (uid {uid})"),
            Sender::Unknown { pid, uid } => write!(f, "sent by nobody known (pid {pid}, uid {uid})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_desk_run_as_root_is_not_the_root_of_a_phone() {
        let own = Identity { pid: 50, uid: 0 };
        assert_eq!(Sender::of(50, 0, own), Sender::Ourselves);
        assert_eq!(Sender::of(51, 0, own), Sender::OwnApp { pid: 51 });
        assert_eq!(Sender::of(51, 1000, own), Sender::System);
        assert_eq!(Sender::of(51, 1000, Identity { pid: 50, uid: 1000 }), Sender::System);
        assert_eq!(Sender::of(0, 1000, own), Sender::System);
        assert_eq!(Sender::of(0, 0, own), Sender::Unknown { pid: 0, uid: 0 });
    }

    #[test]
    fn apps_of_every_user_are_apps() {
        let own = Identity { pid: 50, uid: 10_123 };
        for uid in [10_000, 19_999, 20_001, 99_001, 1_010_123] {
            assert_eq!(Sender::of(7, uid, own), Sender::OtherApp { uid });
        }
        for uid in [1, 1041, 9_999, 1_001_000, 1_000_000] {
            assert_eq!(Sender::of(7, uid, own), Sender::Unknown { pid: 7, uid });
        }
    }
}
