//! Identifies the sender of a signal by uid and pid.

use trace_format::verdict::Sender;

/// This process, as senders and error states are compared with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// `getpid()`.
    pub pid: i32,
    /// `getuid()`.
    pub uid: u32,
}

/// Uids of AOSP's `Process`.
const ROOT_UID: u32 = 0;
const SYSTEM_UID: u32 = 1000;
const SHELL_UID: u32 = 2000;
/// `UserHandle.PER_USER_RANGE`: a uid is user × this + app id.
const PER_USER: u32 = 100_000;
/// `Process.FIRST_APPLICATION_UID`; app ids below it are the system's.
const FIRST_APP: u32 = 10_000;

impl Identity {
    /// The sender of a signal with these fields, seen from this process.
    pub fn sender(self, si_pid: i32, si_uid: u32) -> Sender {
        match (si_pid, si_uid) {
            // No process has pid 0: the field is not set, so a uid of 0 beside it is not root either. A uid that
            // is set still counts.
            (0, ROOT_UID) => Sender::Unknown,
            (pid, uid) if pid == self.pid && uid == self.uid => Sender::Ourselves,
            (pid, _) if pid == self.pid => Sender::Unknown,
            // Before our own uid: a system app shares this one with system_server.
            (_, SYSTEM_UID) => Sender::System,
            // Before root: on a host the process under test may itself run as root.
            (_, uid) if uid == self.uid => Sender::OwnApp,
            (_, ROOT_UID) => Sender::Root,
            (_, SHELL_UID) => Sender::Shell,
            (_, uid) if uid % PER_USER >= FIRST_APP => Sender::OtherApp,
            _ => Sender::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_a_host_a_test_run_as_root_is_its_own_app_and_not_root() {
        let own = Identity { pid: 50, uid: 0 };
        assert_eq!(own.sender(50, 0), Sender::Ourselves);
        assert_eq!(own.sender(51, 0), Sender::OwnApp);
        assert_eq!(own.sender(51, 1000), Sender::System);
        assert_eq!(Identity { pid: 50, uid: 1000 }.sender(51, 1000), Sender::System);
        assert_eq!(own.sender(0, 1000), Sender::System);
        assert_eq!(own.sender(0, 0), Sender::Unknown);
    }

    #[test]
    fn apps_of_every_user_are_apps() {
        let own = Identity { pid: 50, uid: 10_123 };
        for uid in [10_000, 19_999, 20_001, 99_001, 1_010_123] {
            assert_eq!(own.sender(7, uid), Sender::OtherApp);
        }
        for uid in [1, 1041, 9_999, 1_001_000, 1_000_000] {
            assert_eq!(own.sender(7, uid), Sender::Unknown);
        }
    }
}
