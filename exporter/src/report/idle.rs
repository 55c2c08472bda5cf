//! A stretch of a thread without progress that was taken for idle. No page calls it a hang; since nothing proves that, it is
//! said.

use serde::Serialize;

/// A thread of the program that recorded nothing for 5 s or longer while it waited for work, for a client or for a time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "IdleThread"))]
pub struct Idle {
    /// The thread's name.
    pub thread: String,
    /// The time at which it last recorded something.
    #[serde(rename = "since_ns")]
    pub since: u64,
    /// The time until it recorded something again, or until the end.
    #[serde(rename = "duration_ns")]
    pub duration: u64,
    /// The object of its wait, in words, if it was recorded.
    pub wait: Option<String>,
    /// The innermost method around it.
    pub method: Option<String>,
}

impl Idle {
    /// `Thread.sleep, in com.acme.Shop.main`.
    pub(super) fn place(&self) -> String {
        let method = self.method.as_ref().map(|method| format!("in {method}"));
        [self.wait.clone(), method].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}
