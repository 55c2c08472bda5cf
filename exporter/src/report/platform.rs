//! What the platform stored about the process at its triggers (ProfilingManager, API 36), in words, and why it did not.

use std::collections::HashMap;

use answers::text::clean;
use trace_format::sections::profile::{ANR, Outcome, PlatformProfile, RUNNING_TRACE};

use super::findings::Report;

/// A file of the platform, by its trigger: what it is, and what it is about.
fn subject(profile: &PlatformProfile) -> String {
    let known = match profile.trigger.as_str() {
        ANR => "system trace of the ANR",
        RUNNING_TRACE => "system trace of the stall",
        "app_fully_drawn" => "system trace of the start",
        "cold_start" => "system trace with stack samples of the cold start",
        "kill_force_stop" => "system trace of the end by \"Force stop\"",
        "kill_recents" => "system trace of the end by removal from Recents",
        "kill_task_manager" => "system trace of the end by \"Stop\" in the Task Manager",
        "kill_excessive_cpu_usage" => "system trace of the end for excessive CPU usage",
        "oom" => "heap dump of the OutOfMemoryError",
        "anomaly" => "profile of an anomaly",
        "app_compat" => "profile of behaviour that later versions of Android do not support",
        trigger => return format!("profile of the trigger {}", clean(trigger)),
    };
    // The system's word for the kind.
    let kind = matches!(profile.trigger.as_str(), "anomaly" | "app_compat") && !profile.tag.is_empty();
    if kind { format!("{known} ({})", clean(&profile.tag)) } else { known.to_owned() }
}

/// Why there is no file; `None` if it is stored.
fn reason(outcome: Outcome) -> Option<&'static str> {
    Some(match outcome {
        Outcome::Stored => return None,
        Outcome::Requested => {
            "the platform did not answer, as where no system trace runs in the background, or its rate limit is reached"
        }
        Outcome::RateLimitSystem => "the rate limit of the system was reached",
        Outcome::RateLimitProcess => "the rate limit of the process was reached",
        Outcome::InProgress => "profiling was in progress",
        Outcome::Failed => "the platform could not take it",
        Outcome::PostProcessing => "the platform discarded it when it could not process it",
        Outcome::NoDiskSpace => "there was no disk space",
        Outcome::InvalidRequest => "the platform took the request for invalid",
        Outcome::Unknown => "the platform gave no reason",
    })
}

/// Whether `anrscope merge` reads such a file: a trace, and not a heap dump or an archive.
fn is_trace(profile: &PlatformProfile) -> bool {
    [".perfetto-trace", ".pftrace"].iter().any(|end| profile.file_name().ends_with(end))
}

/// What the platform was asked for and did not store, in order. A request that was answered is not among it.
pub(super) fn missing(profiles: &[PlatformProfile]) -> Vec<&PlatformProfile> {
    let key = |profile: &PlatformProfile| (profile.trigger.clone(), profile.tag.clone());
    let mut answers: HashMap<(String, String), usize> = HashMap::new();
    for answer in profiles.iter().filter(|profile| profile.outcome != Outcome::Requested) {
        *answers.entry(key(answer)).or_default() += 1;
    }
    let is_missing = |profile: &&PlatformProfile| match profile.outcome {
        Outcome::Stored => false,
        // The platform answers requests in their order, one each at most.
        Outcome::Requested => match answers.get_mut(&key(profile)).filter(|left| **left > 0) {
            Some(left) => {
                *left -= 1;
                false
            }
            None => true,
        },
        _ => true,
    };
    profiles.iter().filter(is_missing).collect()
}

/// A line for each file, and for each that is missing.
pub(super) fn lines(r: &Report) -> Vec<String> {
    let stored = r.profiles.iter().filter(|profile| profile.outcome == Outcome::Stored).map(|profile| {
        let merge = if is_trace(profile) { "; `anrscope merge` shows it beside this recording" } else { "" };
        let (what, file) = (subject(profile), clean(profile.file_name()));
        format!("{what}: {file} ({} bytes) on the device{merge}", profile.bytes)
    });
    let missing = missing(&r.profiles).into_iter().filter_map(|profile| {
        let asked =
            profile.asked_ns.map_or_else(String::new, |at| format!(", requested at {}", r.moment(at)));
        Some(format!("no {}{asked}: {}", subject(profile), reason(profile.outcome)?))
    });
    stored.chain(missing).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(trigger: &str, outcome: Outcome, tag: &str) -> PlatformProfile {
        let asked_ns = (outcome == Outcome::Requested).then_some(7);
        PlatformProfile {
            outcome,
            tag: tag.to_owned(),
            asked_ns,
            ..PlatformProfile::stored(trigger, "/p/f", 1)
        }
    }

    #[test]
    fn a_request_is_missing_until_it_is_answered() {
        use Outcome::{NoDiskSpace, Requested, Stored};
        let all = [
            of(RUNNING_TRACE, Requested, "anrscope-7"),
            of(ANR, Stored, ""),
            of(RUNNING_TRACE, Stored, "anrscope-7"),
            of(RUNNING_TRACE, Requested, "anrscope-7"),
            of("oom", NoDiskSpace, ""),
        ];
        let words = |profiles: &[PlatformProfile]| -> Vec<(String, Outcome)> {
            missing(profiles).iter().map(|p| (p.trigger.clone(), p.outcome)).collect()
        };
        assert_eq!(words(&all), [(RUNNING_TRACE.to_owned(), Requested), ("oom".to_owned(), NoDiskSpace)]);
        assert_eq!(words(&all[..1]), [(RUNNING_TRACE.to_owned(), Requested)]);
        let failed = [all[0].clone(), of(RUNNING_TRACE, NoDiskSpace, "anrscope-7")];
        assert_eq!(words(&failed), [(RUNNING_TRACE.to_owned(), NoDiskSpace)], "its answer says why");
        assert_eq!(words(&[]), []);
    }

    #[test]
    fn each_trigger_and_each_outcome_has_words() {
        let named = "anr app_request_running_trace app_fully_drawn cold_start kill_force_stop kill_recents \
                     kill_task_manager kill_excessive_cpu_usage oom anomaly app_compat";
        let words: std::collections::BTreeSet<_> =
            named.split_whitespace().map(|trigger| subject(&of(trigger, Outcome::Stored, ""))).collect();
        assert_eq!(words.len(), 11, "{words:?}");
        assert!(words.iter().all(|words| !words.contains("trigger")), "{words:?}");
        assert_eq!(subject(&of("of_tomorrow", Outcome::Stored, "x")), "profile of the trigger of_tomorrow");
        assert_eq!(
            subject(&of("anomaly", Outcome::Stored, "memory_limit")),
            "profile of an anomaly (memory_limit)"
        );
        assert_eq!(subject(&of(ANR, Outcome::Stored, "the app's")), "system trace of the ANR");
        let reasons = Outcome::ALL.iter().filter_map(|outcome| reason(*outcome));
        assert_eq!(reasons.collect::<std::collections::BTreeSet<_>>().len(), Outcome::ALL.len() - 1);
    }
}
