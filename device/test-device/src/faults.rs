//! What is wrong with the device or its link, as a test asks for it.

use std::time::Duration;

/// Whether the device's owner lets this machine in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Auth {
    /// Nobody is asked.
    #[default]
    Open,
    /// The owner says yes to the key of this machine when it is shown.
    Consent,
    /// The owner never answers: the device stays `unauthorized`.
    NoAnswer,
}

/// What is wrong with the device or its link.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// Who is let in.
    pub auth: Auth,
    /// Bytes that a connection carries to the machine before it is cut; 0 is no cut.
    pub cut_after: u64,
    /// How long each packet to the machine takes.
    pub slow: Duration,
    /// Without version 2 of the shell, as before Android 7: one stream and no exit code.
    pub old_shell: bool,
}
