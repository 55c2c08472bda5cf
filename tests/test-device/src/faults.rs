//! Faults of the device or its link that a test can inject.

use std::time::Duration;

/// Whether the device's owner authorises the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Auth {
    /// The device needs no authorisation.
    #[default]
    Open,
    /// The owner accepts the host's key when the device shows it.
    Consent,
    /// The owner never answers: the device stays `unauthorized`.
    NoAnswer,
}

/// The faults of the device or its link; none by default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// How the device authorises the host.
    pub auth: Auth,
    /// Bytes that a connection carries to the host before it is closed; 0 never closes it.
    pub cut_after: u64,
    /// The delay of each packet to the host.
    pub slow: Duration,
    /// Bytes that a connection carries from the host, in streams, before it is closed; 0 never closes it.
    pub cut_upload_after: u64,
    /// The device has no version 2 of the shell, as before Android 7: one stream and no exit code. It has no `cmd` either.
    pub old_shell: bool,
    /// The device has no `abb_exec` service, as before Android 11.
    pub no_abb: bool,
}
