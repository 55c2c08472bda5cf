//! The default rule: which methods are worth a call, as far as their own code shows. [`crate::cost`] considers the
//! methods that they call.
//!
//! The rule is Matrix's: a method without calls cannot block the main thread for long, and constructors that only
//! call their super constructor and set fields are noise. Unlike Matrix's rule, it also covers abstract classes,
//! default and static methods of interfaces and enum bodies. It skips no class because of a part of its name, and it
//! keeps methods with loops, because those can block.

use std::path::PathBuf;

use crate::class::opcodes::{
    self, GOTO_W, INVOKEDYNAMIC, INVOKESPECIAL, INVOKEVIRTUAL, IRETURN, PUTFIELD, SALOAD,
};
use crate::error::Malformed;

/// Classes that are never changed, regardless of the options: the runtime itself, and classes that only the boot class
/// loader may define.
const NEVER_TRACED: [&str; 2] = ["dev/anrscope", "java"];

/// What an entry of a block list covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The class of that name and its nested classes.
    Class,
    /// Every class below the package of that name.
    Package,
    Either,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// With slashes, and without a trailing one.
    pub(crate) name: String,
    pub(crate) scope: Scope,
    /// The file and line that it was read from, if any.
    pub(crate) origin: Option<(PathBuf, usize)>,
}

impl Entry {
    pub(crate) fn covers(&self, class: &str) -> bool {
        class.strip_prefix(self.name.as_str()).is_some_and(|rest| match self.scope {
            Scope::Class => rest.is_empty() || rest.starts_with('$'),
            Scope::Package => rest.starts_with('/'),
            Scope::Either => rest.is_empty() || rest.starts_with(['/', '$']),
        })
    }
}

/// The classes that are not traced.
///
/// An entry is the name of a class or package, with `/` or `.`, trailing or not. It blocks the class of that name
/// with its nested classes, and everything below the package of that name.
///
/// ```
/// let mut filter = instrumenter::Filter::default();
/// filter.block("com.acme.util");
/// assert!(filter.blocks("com/acme/util/Text"));
/// assert!(!filter.blocks("com/acme/utilities/Text"));
/// assert!(filter.blocks("android/os/Handler"));
/// assert!(filter.blocks("kotlinx/coroutines/BlockingCoroutine"));
/// assert!(filter.blocks("com/google/common/cache/LocalCache"));
/// assert!(!filter.blocks("com/google/common/collect/ImmutableList"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    pub(crate) blocked: Vec<Entry>,
}

/// Libraries that wrap a wait. Traced, they hide the program's call behind their own: a `runBlocking` becomes a park of
/// theirs, and the load of a value one of the cache.
const WRAPS_WAITS: [&str; 7] = [
    "com/github/benmanes/caffeine",
    "com/google/common/cache",
    "com/google/common/util/concurrent",
    "io/netty/util/concurrent",
    "io/reactivex",
    "kotlinx/coroutines",
    "rx/internal",
];

impl Default for Filter {
    /// Blocks `android/` and `com/tencent/matrix/`, as Matrix does, and libraries that wrap a wait: coroutines, RxJava,
    /// caches, the futures of Guava and of Netty. A rule with `include` traces them all the same.
    fn default() -> Self {
        let mut filter = Self::none();
        ["android", "com/tencent/matrix"].into_iter().chain(WRAPS_WAITS).for_each(|name| filter.block(name));
        filter
    }
}

impl Filter {
    /// Returns a filter that blocks only what is never changed: `dev/anrscope/` and `java/`.
    #[must_use]
    pub fn none() -> Self {
        Self { blocked: Vec::new() }
    }

    /// Adds a class or package.
    pub fn block(&mut self, name: &str) {
        let name = name.trim().replace('.', "/");
        let name = name.trim_end_matches('/');
        if !name.is_empty() {
            self.blocked.push(Entry { name: name.to_owned(), scope: Scope::Either, origin: None });
        }
    }

    /// Returns whether the class with this internal name is blocked.
    #[must_use]
    pub fn blocks(&self, class: &str) -> bool {
        self.blocked.iter().any(|entry| entry.covers(class))
    }

    /// Returns file and line of the first entry of a block list that covers `class`.
    pub(crate) fn origin(&self, class: &str) -> Option<(PathBuf, usize)> {
        self.blocked.iter().filter(|entry| entry.covers(class)).find_map(|entry| entry.origin.clone())
    }

    /// Returns the lines of block lists that cover none of `classes`.
    pub(crate) fn unused<'a>(&self, classes: impl Iterator<Item = &'a str> + Clone) -> Vec<(PathBuf, usize)> {
        let idle = |entry: &&Entry| !classes.clone().any(|class| entry.covers(class));
        let listed = self.blocked.iter().filter(|entry| entry.origin.is_some());
        listed.filter(idle).filter_map(|entry| entry.origin.clone()).collect()
    }
}

/// Returns whether the class with this internal name is never changed, even if a base map lists it.
pub(crate) fn never_touched(class: &str) -> bool {
    NEVER_TRACED.iter().any(|entry| covers(entry, class))
}

/// Returns whether `class` is the class `entry`, nested in it, or below the package of that name.
pub(crate) fn covers(entry: &str, class: &str) -> bool {
    class.strip_prefix(entry).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '$']))
}

/// Returns whether a method with this code is worth tracing.
pub(crate) fn worth_tracing(code: &[u8], is_constructor: bool) -> Result<bool, Malformed> {
    let (mut calls, mut special_calls, mut only_simple) = (0_u32, 0_u32, true);
    for instruction in opcodes::instructions(code) {
        match instruction?.opcode {
            INVOKESPECIAL => {
                calls += 1;
                special_calls += 1;
            }
            INVOKEVIRTUAL..=INVOKEDYNAMIC => {
                calls += 1;
                only_simple = false;
            }
            // Constants and loads, returns, field access.
            0..=SALOAD | IRETURN..=PUTFIELD => {}
            _ => only_simple = false,
        }
    }
    Ok(calls > 0 && !(is_constructor && only_simple && special_calls == 1))
}

/// Returns whether this code can jump backwards.
pub(crate) fn has_loop(code: &[u8]) -> bool {
    let jumps_back = |opcodes::Instruction { pc, opcode, .. }| {
        (opcode == GOTO_W || opcodes::is_short_branch(opcode))
            && opcodes::offset_at(code, pc).is_ok_and(|offset| offset <= 0)
    };
    opcodes::instructions(code).map_while(Result::ok).any(jumps_back)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::opcodes::{ALOAD_0, GETSTATIC, INVOKESTATIC, RETURN};

    #[test]
    fn entries_end_at_a_package_or_class_boundary() {
        let mut filter = Filter::default();
        filter.block("com.acme.util.");
        filter.block("  ");
        for (class, blocked) in [
            ("com/acme/util/Text", true),
            ("com/acme/util/deep/Text", true),
            ("com/acme/utilities/Text", false),
            ("com/acme/util", true),
            ("com/acme/util$Inner", true),
            ("android/os/Handler", true),
            ("androidx/core/App", false),
            ("com/tencent/matrix/Matrix", true),
        ] {
            assert_eq!(filter.blocks(class), blocked, "{class}");
        }
        assert!(!Filter::none().blocks("android/os/Handler"));
        assert!(never_touched("dev/anrscope/MethodBeat"));
        assert!(never_touched("java/lang/Object"));
        assert!(!never_touched("javax/inject/Inject"));
    }

    #[test]
    fn the_default_rule_by_kind_of_instruction() {
        let special = [INVOKESPECIAL, 0, 1];
        let case = |parts: &[&[u8]]| {
            let code = [parts.concat(), vec![RETURN]].concat();
            (worth_tracing(&code, false).unwrap(), worth_tracing(&code, true).unwrap())
        };
        assert_eq!(case(&[]), (false, false));
        assert_eq!(case(&[&[ALOAD_0, GETSTATIC, 0, 1]]), (false, false));
        // A loop, array code and a monitor without a call.
        assert_eq!(case(&[&[167, 0, 0, 79, 194, 195]]), (false, false));
        assert_eq!(case(&[&[ALOAD_0], &special]), (true, false));
        assert_eq!(case(&[&[ALOAD_0], &special, &special]), (true, true));
        // A constructor that stores, computes, jumps, creates or casts.
        for more in [&[54, 1][..], &[96], &[153, 0, 3], &[187, 0, 1], &[192, 0, 1]] {
            assert_eq!(case(&[&special, more]), (true, true), "{more:?}");
        }
        for call in
            [&[INVOKEVIRTUAL, 0, 1][..], &[INVOKESTATIC, 0, 1], &[185, 0, 1, 1, 0], &[186, 0, 1, 0, 0]]
        {
            assert_eq!(case(&[call]), (true, true), "{call:?}");
        }
        assert!(worth_tracing(&[255], false).is_err());
    }

    #[test]
    fn a_loop_is_a_jump_to_itself_or_back_by_any_of_the_jumps() {
        for (code, looped) in [
            (&[0, 167, 255, 255][..], true),
            (&[167, 0, 0], true),
            (&[4, 153, 255, 255, RETURN], true),
            (&[0, 200, 255, 255, 255, 255], true),
            (&[4, 153, 0, 4, 0, RETURN], false),
            (&[200, 0, 0, 0, 5, RETURN], false),
            // An operand that looks like a jump, and code that is broken.
            (&[17, 167, 255, RETURN], false),
            (&[RETURN, 255], false),
            (&[167, 255], false),
        ] {
            assert_eq!(has_loop(code), looped, "{code:?}");
        }
    }

    /// All 202 opcodes, each alone and after a call of a super constructor.
    #[test]
    fn the_default_rule_for_every_opcode() {
        let table = include_str!("../tests/data/opcodes.txt");
        let mut seen = 0;
        for line in table.lines().filter(|line| !line.starts_with('#')) {
            let fields: Vec<&str> = line.split(' ').collect();
            let [opcode, _, length, kind] = fields[..] else { panic!("{line}") };
            let opcode: u8 = opcode.parse().unwrap();
            assert_eq!(usize::from(opcode), seen, "{line}");
            seen += 1;
            let instruction = |behind: usize| match (opcode, length.parse::<usize>().unwrap()) {
                // Padding up to a multiple of four, then no cases.
                (170, _) => [
                    vec![170; 1],
                    vec![0; (4 - (behind + 1) % 4) % 4],
                    vec![0; 4],
                    vec![0, 0, 0, 1],
                    vec![0; 4],
                ]
                .concat(),
                (171, _) => [vec![171; 1], vec![0; (4 - (behind + 1) % 4) % 4], vec![0; 8]].concat(),
                (196, _) => vec![196, 21, 0, 1],
                (_, length) => [vec![opcode], vec![0; length - 1]].concat(),
            };
            let super_call = [ALOAD_0, INVOKESPECIAL, 0, 1];
            let alone = [instruction(0), vec![RETURN]].concat();
            let beside = [&super_call[..], &instruction(4), &[RETURN]].concat();
            let worth = |code: &[u8], constructor| worth_tracing(code, constructor).unwrap();
            let is_call = kind == "call" || kind == "special";
            assert_eq!(worth(&alone, false), is_call, "{line}");
            assert_eq!(worth(&alone, true), kind == "call", "{line}");
            assert!(worth(&beside, false), "{line}");
            assert_eq!(worth(&beside, true), kind != "simple", "{line}");
        }
        assert_eq!(seen, 202);
        assert!(worth_tracing(&[202], false).is_err());
    }
}
