//! Which calls of `SharedPreferences.Editor.apply` main may wait for when an activity or a service stops.

use std::collections::HashMap;

use answers::words::rounded;
use serde::Serialize;
use trace_format::event::ConcurrencyStep;

use super::Chains;

/// The platform's editor, whose class a call of `apply` is recorded with (AOSP `SharedPreferencesImpl.java`, API 21 to
/// 34). Libraries that wrap it call it in the end.
const EDITOR: &str = "android.app.SharedPreferencesImpl$EditorImpl";
/// How long before the wait calls count, ns: a write begins 100 ms after its call at the latest (AOSP
/// `QueuedWork.java`, `DELAY`, API 26 on), but writes run one after the other.
const WINDOW: u64 = 10_000_000_000;
/// Maximum number of sites kept, and said.
const MAX_SITES: usize = 64;
const MAX_SAID: usize = 4;

/// Calls of `SharedPreferences.Editor.apply` before main's wait for their writes.
// Which of them are written already is not recorded, so their number is the most that main can wait for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PreferenceWrites {
    /// The number of calls; some of them may be written already.
    pub count: usize,
    /// The time from which on they were counted.
    #[serde(rename = "from_ns")]
    pub from: u64,
    /// The places of the calls, the most frequent in front; at most 64.
    pub sites: Vec<WriteSite>,
    /// The length of the time in which they were counted before main's wait, ns.
    #[serde(skip)]
    before: u64,
}

/// A place that calls `apply()`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct WriteSite {
    /// File and line, else class, method and line.
    pub site: String,
    /// The recorded method that called `apply`; null outside recorded methods.
    pub method: Option<String>,
    /// The number of calls.
    pub count: usize,
}

impl PreferenceWrites {
    /// `for up to 3 writes of SharedPreferences: in the 10.0 s before, apply() was called at Cart.kt:88 (2×)`.
    pub(in super::super) fn words(&self) -> String {
        let writes = if self.count == 1 { "write" } else { "writes" };
        let said = self.sites.iter().take(MAX_SAID).map(|site| format!("{} ({}×)", site.site, site.count));
        let mut sites = said.collect::<Vec<_>>().join(", ");
        let rest: usize = self.sites.iter().skip(MAX_SAID).map(|site| site.count).sum();
        if rest > 0 {
            sites.push_str(&format!(", elsewhere ({rest}×)"));
        }
        format!(
            "main waits in QueuedWork.waitToFinish, where an activity or service stops, for up to {} {writes} of \
             SharedPreferences: in the {} before, apply() was called at {sites}",
            self.count,
            rounded(self.before)
        )
    }
}

impl Chains<'_> {
    /// The calls of `apply()` that main's wait, in a message that began at `since`, may be for; `None` without any.
    pub(in super::super) fn applies(&self, since: u64) -> Option<PreferenceWrites> {
        let texts = self.facts.recording.texts();
        let from = since.saturating_sub(WINDOW).max(self.facts.recording.header().start.boottime.min(since));
        let mut places: HashMap<(u32, u16), usize> = HashMap::new();
        let of_editor = self
            .work
            .of_kind(ConcurrencyStep::Submitted)
            .filter(|step| step.at >= from && texts.get(step.what.class) == Some(EDITOR));
        for step in of_editor {
            *places.entry((step.what.method, step.what.line)).or_default() += 1;
        }
        let mut places: Vec<_> = places.into_iter().collect();
        places.sort_by_key(|(place, count)| (std::cmp::Reverse(*count), *place));
        let count = places.iter().map(|(_, count)| *count).sum();
        let sites = places.iter().take(MAX_SITES).map(|((method, line), count)| WriteSite {
            site: self.names.call_site(*method, *line).unwrap_or_else(|| "an unknown place".to_owned()),
            method: self.method_name(*method),
            count: *count,
        });
        let sites: Vec<WriteSite> = sites.collect();
        (count > 0).then_some(PreferenceWrites { count, from, sites, before: since - from })
    }
}
