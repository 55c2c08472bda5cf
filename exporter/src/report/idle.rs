//! A stretch of a thread that is no hang as far as the recording knows: the thread waits for work or for a time, or computes. No
//! page calls it a hang; since nothing proves that, it is said.

use serde::Serialize;

/// A thread of the program that for 5 s or longer waited for work, for a client or for a time, or computed without a rest.
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
    /// True if the thread computed.
    pub computes: bool,
}

impl Idle {
    /// `Thread.sleep, in com.acme.Shop.main`.
    pub(super) fn place(&self) -> String {
        let method = self.method.as_ref().map(|method| format!("in {method}"));
        let computes = self.computes.then(|| "computed without a rest".to_owned());
        [computes, self.wait.clone(), method].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// The condition under which it is a hang after all.
    pub(super) const fn condition(&self) -> &'static str {
        if self.computes {
            "a hang only if that work was to end"
        } else {
            "a hang only if the end of that wait was due"
        }
    }
}
