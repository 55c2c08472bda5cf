//! The cost of each method of a program, called methods included.

use std::collections::{HashMap, HashSet};

use rayon::prelude::*;

use super::MAX_COST;
use super::program::{Program, Target};
use crate::class_facts::body::{Call, CallKind};
use crate::class_facts::{ClassFacts, Verdict};

/// The number of classes from which it pays to use several threads. In a JVM, whose classes come one by one, the
/// instrumenter must not start any.
const IN_PARALLEL: usize = 64;

/// A method whose cost may be limited: its own instructions, and the possible targets of its calls.
struct Candidate {
    at: Target,
    instructions: u16,
    calls: Vec<(CallKind, Vec<Target>)>,
    /// The first call that may reach a method without a cost.
    next: usize,
}

/// Sets the costs of all methods in `classes`, and the verdicts that follow from them: the default rule does not
/// trace methods that cost at most `limit`. Returns the indices of the classes in which a verdict changes.
///
/// `is_whole` says whether `classes` are all classes of the program, that is, every class could be read.
///
/// The costs do not depend on the order of classes: a method has a cost as soon as all methods that it calls have
/// one, which never happens in a cycle.
pub(crate) fn decide(classes: &mut [ClassFacts], limit: u16, is_whole: bool) -> HashSet<usize> {
    if limit == 0 {
        return HashSet::new();
    }
    let costs = costs(classes, is_whole);
    let mut changed = HashSet::new();
    for (number, (class, costs)) in classes.iter_mut().zip(costs).enumerate() {
        for (method, cost) in class.methods.iter_mut().zip(costs) {
            method.cost = cost;
            if !method.by_default || !matches!(method.verdict, Verdict::Trace | Verdict::Short) {
                continue;
            }
            let verdict = if is_short(cost, limit) { Verdict::Short } else { Verdict::Trace };
            if verdict != method.verdict {
                method.verdict = verdict;
                changed.insert(number);
            }
        }
    }
    changed
}

/// Returns whether the default rule skips a method with this cost.
pub(crate) fn is_short(cost: Option<u16>, limit: u16) -> bool {
    cost.is_some_and(|cost| cost <= limit)
}

/// Returns the sorted [keys](crate::class_facts::body::key) of all methods that a measured method calls. A change in
/// any other method affects only its own class.
pub(crate) fn called<'a>(classes: impl IntoIterator<Item = &'a ClassFacts>) -> Vec<u64> {
    let methods = classes.into_iter().flat_map(|class| &class.methods);
    let calls = methods.filter_map(|method| method.body.as_deref()).flat_map(|body| &body.calls);
    let mut keys: Vec<u64> = calls.map(Call::key).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// Returns the cost of each method of each class, if it is limited.
fn costs(classes: &[ClassFacts], is_whole: bool) -> Vec<Vec<Option<u16>>> {
    let mut costs: Vec<Vec<Option<u16>>> =
        classes.iter().map(|class| vec![None; class.methods.len()]).collect();
    let program = Program::new(classes, is_whole);
    let candidates = |(number, class)| candidates_of(&program, number, class);
    let mut candidates: Vec<Candidate> = if classes.len() < IN_PARALLEL {
        classes.iter().enumerate().flat_map(candidates).collect()
    } else {
        classes.par_iter().enumerate().with_min_len(IN_PARALLEL).flat_map_iter(candidates).collect()
    };
    // Each candidate waits for the first callee without a cost. In a cycle all wait forever.
    let mut waiting: HashMap<Target, Vec<usize>> = HashMap::new();
    let mut ready: Vec<usize> = (0..candidates.len()).collect();
    while let Some(number) = ready.pop() {
        let Some(candidate) = candidates.get_mut(number) else { continue };
        match candidate.first_without(&costs) {
            Some(unknown) => waiting.entry(unknown).or_default().push(number),
            None => {
                let cost = candidate.cost(&costs);
                if let Some(slot) = slot(&mut costs, candidate.at).filter(|_| cost <= MAX_COST) {
                    *slot = Some(cost);
                    ready.extend(waiting.remove(&candidate.at).unwrap_or_default());
                }
            }
        }
    }
    costs
}

/// Returns the methods of a class whose cost may be limited.
fn candidates_of<'a>(
    program: &'a Program<'a>,
    number: usize,
    class: &'a ClassFacts,
) -> impl Iterator<Item = Candidate> + 'a {
    // With several classes of the same name, it is unknown which one is loaded.
    let methods = if program.find(class.name_in_file()) == Some(number) { &class.methods[..] } else { &[] };
    methods.iter().enumerate().filter_map(move |(index, method)| {
        let body = method.body.as_deref()?;
        let calls = body.calls.iter().map(|call| Some((call.how, program.targets(number, call)?)));
        let (at, instructions) = ((number, index), body.instructions);
        Some(Candidate { at, instructions, calls: calls.collect::<Option<_>>()?, next: 0 })
    })
}

fn known(costs: &[Vec<Option<u16>>], (class, method): Target) -> Option<u16> {
    costs.get(class)?.get(method).copied().flatten()
}

fn slot(costs: &mut [Vec<Option<u16>>], (class, method): Target) -> Option<&mut Option<u16>> {
    costs.get_mut(class)?.get_mut(method)
}

impl Candidate {
    /// Returns a callee without a cost.
    fn first_without(&mut self, costs: &[Vec<Option<u16>>]) -> Option<Target> {
        while let Some((_, targets)) = self.calls.get(self.next) {
            if let Some(unknown) = targets.iter().find(|&&target| known(costs, target).is_none()) {
                return Some(*unknown);
            }
            self.next += 1;
        }
        None
    }

    /// Returns the cost, once all callees have one.
    fn cost(&self, costs: &[Vec<Option<u16>>]) -> u16 {
        let called = self.calls.iter().map(|(how, targets)| match how {
            // An initializer must be limited, but runs only once.
            CallKind::Initialize => 0,
            _ => targets.iter().filter_map(|&target| known(costs, target)).max().unwrap_or(0),
        });
        called.fold(self.instructions, u16::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::class::class_file::access;
    use crate::class_facts::MethodFacts;
    use crate::class_facts::body::Body;
    use crate::class_facts::tests::any_class;

    const PACKAGE: u16 = 0;

    fn call(how: CallKind, class: &str, name: &str) -> Call {
        Call { how, class: class.into(), name: name.into(), descriptor: "()V".into() }
    }

    /// A method that the default rule traces; none for a body of no limit.
    fn method(name: &str, body: Option<(u16, &[Call])>) -> MethodFacts {
        let mut method = any_class("", &[name]).methods.pop().unwrap();
        method.descriptor = "()V".into();
        method.by_default = true;
        let body = body.map(|(instructions, calls)| Body { instructions, calls: calls.into() });
        method.body = body.map(Box::new);
        method
    }

    fn class(name: &str, above: &str, access: u16, methods: Vec<MethodFacts>) -> ClassFacts {
        let supertypes = Box::from([above.into()]);
        ClassFacts { name: name.to_owned(), supertypes, access, methods, ..ClassFacts::default() }
    }

    /// The costs of the methods of the first class.
    fn costs_of(classes: &[ClassFacts]) -> Vec<Option<u16>> {
        costs(classes, true).swap_remove(0)
    }

    const OBJECT: &str = "java/lang/Object";

    #[test]
    fn costs_add_up_along_calls_and_cycles_have_none() {
        let go = |to: &str| call(CallKind::Static, "a/A", to);
        let methods = vec![
            method("leaf", Some((3, &[]))),
            method("twice", Some((5, &[go("leaf"), go("leaf")]))),
            method("loops", None),
            method("reaches_loop", Some((2, &[go("loops")]))),
            method("itself", Some((2, &[go("itself")]))),
            method("ping", Some((2, &[go("pong")]))),
            method("pong", Some((2, &[go("ping"), go("leaf")]))),
            method("unknown", Some((2, &[go("gone")]))),
            method("elsewhere", Some((2, &[call(CallKind::Static, "b/B", "leaf")]))),
        ];
        let expected = [Some(3), Some(11), None, None, None, None, None, None, None];
        assert_eq!(costs_of(&[class("a/A", OBJECT, access::PUBLIC, methods)]), expected);
    }

    #[test]
    fn a_virtual_call_costs_as_much_as_its_most_expensive_target() {
        let caller = |how| vec![method("go", Some((2, &[call(how, "a/Base", "m")])))];
        let hierarchy = |access: u16, below: Option<(u16, &[Call])>, access_below: u16| {
            [
                class("a/Caller", OBJECT, access::FINAL, caller(CallKind::Virtual)),
                class("a/Base", OBJECT, access, vec![method("m", Some((3, &[])))]),
                class("a/Leaf", "a/Base", access_below, vec![method("m", below)]),
            ]
        };
        let cost = |classes: &[ClassFacts]| costs_of(classes)[0];
        assert_eq!(cost(&hierarchy(PACKAGE, Some((7, &[])), PACKAGE)), Some(9));
        assert_eq!(cost(&hierarchy(PACKAGE, None, PACKAGE)), None, "a subclass has a loop");
        assert_eq!(
            cost(&hierarchy(access::PUBLIC, Some((7, &[])), access::FINAL)),
            None,
            "other code may extend it"
        );
        assert_eq!(cost(&hierarchy(PACKAGE, Some((7, &[])), access::PUBLIC)), None, "or a subclass of it");
        assert_eq!(
            cost(&hierarchy(PACKAGE, Some((7, &[])), access::PUBLIC | access::FINAL)),
            Some(9),
            "no class can extend this one"
        );
        // A method that only the package sees is not overridden elsewhere, unless one below is seen.
        let mut classes = hierarchy(access::PUBLIC, Some((7, &[])), access::PUBLIC);
        classes[1].methods[0].access = 0;
        assert_eq!(cost(&classes), None);
        classes[2].methods[0].access = 0;
        assert_eq!(cost(&classes), Some(9));
        // A class that could not be read may be below any.
        let classes = hierarchy(PACKAGE, Some((7, &[])), PACKAGE);
        assert_eq!(costs(&classes, false)[0][0], None);
        // super.m() is that of the direct super class alone.
        let mut classes = hierarchy(access::PUBLIC, None, access::PUBLIC);
        classes[0] = class("a/Caller", "a/Base", access::PUBLIC, caller(CallKind::Special));
        assert_eq!(cost(&classes), Some(5));
        // An interface's methods are those of lambdas and proxies, too.
        let mut classes = hierarchy(PACKAGE, Some((7, &[])), PACKAGE);
        classes[1].access = access::INTERFACE;
        assert_eq!(cost(&classes), None);
    }

    #[test]
    fn an_initializer_must_be_limited_and_adds_no_cost() {
        let uses = vec![method("go", Some((2, &[call(CallKind::Initialize, "a/Base", "<clinit>")])))];
        let classes = |own: Option<(u16, &[Call])>, above: &str| {
            [
                class("a/Caller", OBJECT, access::PUBLIC, uses.clone()),
                class("a/Base", above, access::PUBLIC, vec![method("<clinit>", own)]),
                class("a/Above", OBJECT, access::PUBLIC, vec![method("<clinit>", None)]),
            ]
        };
        assert_eq!(costs_of(&classes(Some((2000, &[])), OBJECT)), [Some(2)]);
        assert_eq!(costs_of(&classes(None, OBJECT)), [None]);
        assert_eq!(costs_of(&classes(Some((3, &[])), "a/Above")), [None], "that of the super class loops");
        assert_eq!(costs_of(&classes(Some((3, &[])), "b/Elsewhere")), [None], "nothing is known of it");
    }

    #[test]
    fn only_verdicts_of_the_default_rule_change_in_both_directions() {
        let mut always = method("always", Some((2, &[])));
        always.by_default = false;
        let short = Call { class: "a/A".into(), ..call(CallKind::Static, "", "short") };
        let mut classes = [class(
            "a/A",
            OBJECT,
            access::PUBLIC,
            vec![method("short", Some((2, &[]))), method("calls", Some((99, &[short]))), always],
        )];
        let verdicts =
            |classes: &[ClassFacts]| classes[0].methods.iter().map(|m| m.verdict.clone()).collect::<Vec<_>>();
        assert_eq!(decide(&mut classes, 100, true), HashSet::from([0]));
        assert_eq!(verdicts(&classes), [Verdict::Short, Verdict::Trace, Verdict::Trace]);
        assert_eq!(decide(&mut classes, 100, true), HashSet::new());
        classes[0].methods[0].body = None;
        assert_eq!(decide(&mut classes, 100, true), HashSet::from([0]));
        assert!(verdicts(&classes).iter().all(|verdict| *verdict == Verdict::Trace));
        assert_eq!(decide(&mut classes, 0, true), HashSet::new());
    }

    /// Two classes of one name: which of them is loaded is not known.
    #[test]
    fn classes_of_one_name_have_no_costs() {
        let twin = || class("a/A", OBJECT, access::PUBLIC, vec![method("short", Some((2, &[])))]);
        assert_eq!(costs_of(&[twin(), twin()]), [None]);
    }

    /// What a method can run by its definition, walked without what the rule uses to find it.
    fn by_walking(
        graph: &HashMap<String, Option<(u16, Vec<String>)>>,
        name: &str,
        path: &mut Vec<String>,
    ) -> Option<u32> {
        if path.iter().any(|above| above == name) {
            return None;
        }
        let (own, calls) = graph.get(name)?.as_ref()?;
        path.push(name.to_owned());
        let sum = calls.iter().try_fold(u32::from(*own), |sum, to| Some(sum + by_walking(graph, to, path)?));
        path.pop();
        sum
    }

    proptest! {
        /// No method has a cost that reaches a loop, a cycle of calls or something unknown, and each that does not has
        /// the right one; the order of the classes does not matter.
        #[test]
        fn costs_are_those_of_a_walk(
            bodies in proptest::collection::vec(
                proptest::option::weighted(0.9, (1_u16..30, proptest::collection::vec(0_usize..14, 0..3))),
                12,
            ),
            turn in 0_usize..4,
        ) {
            // Three methods in each of four classes; higher numbers are unknown methods.
            let name = |number: usize| (format!("p/C{}", number / 3), format!("m{}", number % 3));
            let key = |number: usize| { let (class, method) = name(number); format!("{class}.{method}") };
            let mut classes: Vec<ClassFacts> =
                (0..4).map(|n| class(&format!("p/C{n}"), OBJECT, access::PUBLIC, Vec::new())).collect();
            let mut graph = HashMap::new();
            for (number, body) in bodies.iter().enumerate() {
                let calls = |calls: &Vec<usize>| -> Vec<Call> {
                    let each = calls.iter().map(|&to| call(CallKind::Static, &name(to).0, &name(to).1));
                    each.collect()
                };
                let made = body.as_ref().map(|(own, to)| (*own, calls(to)));
                classes[number / 3].methods.push(method(&name(number).1, made.as_ref().map(|(own, c)| (*own, &c[..]))));
                graph.insert(key(number), body.as_ref().map(|(own, to)| (*own, to.iter().map(|&to| key(to)).collect())));
            }
            classes.rotate_left(turn);
            let found = costs(&classes, true);
            for (class, costs) in classes.iter().zip(found) {
                for (method, cost) in class.methods.iter().zip(costs) {
                    let walked = by_walking(&graph, &format!("{}.{}", class.name, method.name), &mut Vec::new());
                    let walked = walked.filter(|&cost| cost <= u32::from(MAX_COST));
                    prop_assert_eq!(cost.map(u32::from), walked, "{} {}", class.name, method.name);
                }
            }
        }
    }
}
