//! The native stacks of the thread that hung, summed up: what it does, in which function, and who owns the mutex that it
//! waits for.

use super::Owner;
use super::activity::Activity;
use super::cause::Evidence;
use super::id::CauseId;
use super::kind::CauseKind;
use super::observed::{Observed, is_half};
use super::stack::{Site, StackLine};
use crate::words::seconds;

/// The function that most stacks are in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NativeRoot {
    /// The function, and its place in the source if known.
    pub site: Site,
    /// The file name of the library that the function is in.
    pub library: String,
    /// The native method of Java's that called it.
    pub under: Option<String>,
    /// The number of stacks that are in it.
    pub count: u64,
}

/// The native stacks of one thread, summed up.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct NativeSummary {
    /// The thread in words: `main`, or its name.
    pub thread: String,
    /// The number of stacks.
    pub stacks: u64,
    /// The number of stacks per activity, most frequent first.
    pub activity: Vec<(Activity, u64)>,
    /// The function that most stacks are in.
    pub root: Option<NativeRoot>,
    /// The last stack in that function, innermost frame first; each frame has the number of stacks that have it.
    pub heaviest: Vec<StackLine>,
    /// The reason why that stack ends; empty if it is complete.
    pub end: String,
    /// The system call that the thread was in, with the owner of the mutex by name.
    pub call: Option<String>,
    /// The chain of owners: who owns the mutex that the thread waits for, who owns the mutex that this thread waits for, ...
    pub owners: Vec<Owner>,
    /// The threads of a deadlock of mutexes; empty without one.
    pub cycle: Vec<String>,
    /// Time for which the thread was in what the stacks show, ns.
    pub lasted: u64,
    /// True if `lasted` is a lower limit.
    pub at_least: bool,
}

impl NativeSummary {
    /// Evidence that half of the stacks or more show one of these activities.
    pub(super) fn shows(&self, what: impl Fn(Activity) -> bool) -> Option<(Activity, Evidence)> {
        let fits = || self.activity.iter().filter(|(activity, _)| what(*activity));
        let count = fits().map(|(_, count)| *count).sum::<u64>();
        let (first, _) = fits().next()?;
        is_half(count, self.stacks).then(|| (*first, Evidence::new(0, self.finding())))
    }

    /// Returns true if most stacks are in Java code, or show nothing: then Java's samples or recorded calls say more.
    pub(super) fn is_about_java(&self) -> bool {
        self.activity
            .first()
            .is_none_or(|(activity, _)| matches!(activity, Activity::Java | Activity::Unclear))
    }

    /// `main was in SkImage::decode (libskia.so) under com.acme.Codec.nativeDecode for 6.100 s: 5 of 5 native stacks`.
    #[must_use]
    pub fn finding(&self) -> String {
        let Self { thread, stacks, .. } = self;
        let call = self.call.as_ref().map_or_else(String::new, |call| format!(", {call}"));
        let for_long = match (self.lasted, self.at_least) {
            (0, _) => String::new(),
            (lasted, true) => format!(" for at least {}", seconds(lasted)),
            (lasted, false) => format!(" for {}", seconds(lasted)),
        };
        let Some(NativeRoot { site, library, under, count }) = &self.root else {
            let top = self.heaviest.first().map_or("native code", |line| &line.site.name);
            return format!("{thread} was in {top}{call}{for_long}: {stacks} of {stacks} native stacks");
        };
        let is_said = library.is_empty() || site.name.starts_with(library);
        let library = if is_said { String::new() } else { format!(" ({library})") };
        let under = under.as_ref().map_or_else(String::new, |under| format!(" under {under}"));
        let function = &site.name;
        format!(
            "{thread} was in {function}{library}{under}{call}{for_long}: {count} of {stacks} native stacks"
        )
    }

    /// Returns true if the answer shows this stack: recorded calls or samples of Java's stack say more about Java code.
    pub(super) fn is_heaviest(&self, facts: &Observed) -> bool {
        let elsewhere = !facts.recorded.is_empty() || facts.sampled.samples > 0;
        let is_java_better = self.is_about_java() && elsewhere;
        !self.heaviest.is_empty() && !is_java_better
    }
}

impl Observed {
    /// The function in native code that the cause is about: for native code, and for waits in it without a method of the app's.
    pub(super) fn native_root(&self, cause: CauseId) -> Option<&Site> {
        let native = self.native.as_ref()?;
        let root = native.root.as_ref().filter(|root| is_half(root.count, native.stacks))?;
        let in_native = cause.kind() == CauseKind::NativeStretch
            || cause == CauseId::Deadlock && !native.cycle.is_empty();
        let waits = || cause.kind().is_wait() && !native.is_about_java() && self.method.is_none();
        (in_native || waits()).then_some(&root.site)
    }
}
