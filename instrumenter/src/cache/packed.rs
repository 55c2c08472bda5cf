//! The facts of a class as stored in the cache. Most classes of a run are unchanged, and their facts are copied
//! without unpacking; what is needed about each of them comes first.

use super::bytes::{Decoder, Encoder};
use crate::class_facts::body::{Body, Call, CallKind};
use crate::class_facts::focus::FocusFacts;
use crate::class_facts::{ClassFacts, MethodFacts, Verdict};
use crate::focus::plan::Problem;
use crate::focus::{Change, Part};
use crate::stamp::Sum;
use crate::tally::Tally;

/// What is known about a class at the end of a run.
pub(crate) struct Facts<'a> {
    pub(crate) class: &'a ClassFacts,
    /// The ids of its methods.
    pub(crate) ids: &'a [u32],
    /// A checksum of the decisions that depended on other classes.
    pub(crate) decided: Sum,
    pub(crate) change: Option<&'a Change>,
    pub(crate) problem: Option<&'a Problem>,
}

impl Facts<'_> {
    /// Encodes the facts, without those for Matrix's rules, which have no cache.
    pub(super) fn encode(&self, out: &mut Encoder) {
        let class = self.class;
        let mut tally = Tally::count(class, self.ids);
        out.text(&class.name);
        out.text(class.obfuscated.as_deref().unwrap_or_default());
        tally.counts().into_iter().for_each(|count| out.count(*count));
        out.flag(tally.traced != 0 || self.change.is_some());
        encode_change(self.change, out);
        encode_problem(self.problem, out);
        let mut rules: Vec<u32> =
            class.methods.iter().map(|method| method.rule).filter(|&rule| rule != 0).collect();
        rules.sort_unstable();
        rules.dedup();
        out.list(&rules, |out, &rule| out.u32(rule));

        out.text(class.source_file.as_deref().unwrap_or_default());
        out.u16(class.access);
        out.texts(&class.supertypes);
        out.texts(&class.asked);
        out.sum(self.decided);
        encode_focus(&class.focus, out);
        for (index, method) in class.methods.iter().enumerate() {
            out.text(&method.name);
            out.text(&method.descriptor);
            out.u32(self.ids.get(index).copied().unwrap_or(0));
            out.u16(method.access);
            // A line 0 means none: the format counts from 1.
            out.u16(method.first_line.unwrap_or(0));
            // A class with a skipped method is scanned in every run.
            let verdict = VERDICTS.iter().position(|verdict| *verdict == method.verdict);
            out.bytes.push(verdict.map_or(NO_CODE, |verdict| verdict as u8));
            out.flag(method.by_default);
            out.u16(method.cost.unwrap_or(NO_COST));
            encode_body(method.body.as_deref(), out);
            let (name, descriptor) = method.in_file.as_deref().map(|(n, d)| (&**n, &**d)).unwrap_or_default();
            out.text(name);
            if !name.is_empty() {
                out.text(descriptor);
            }
            out.flag(method.ambiguous);
            out.u32(method.rule);
        }
    }
}

/// Stands for an unlimited cost; no limit is this high.
const NO_COST: u16 = u16::MAX;

/// The verdicts by their numbers.
const VERDICTS: [Verdict; 6] =
    [Verdict::Trace, Verdict::Ignore, Verdict::Block, Verdict::NoCode, Verdict::Exclude, Verdict::Short];
/// The number of [`Verdict::NoCode`].
const NO_CODE: u8 = 3;

/// The kinds of calls by their numbers.
const CALL_KINDS: [CallKind; 4] =
    [CallKind::Static, CallKind::Special, CallKind::Virtual, CallKind::Initialize];

fn encode_body(body: Option<&Body>, out: &mut Encoder) {
    out.u16(body.map_or(NO_COST, |body| body.instructions));
    let Some(body) = body else { return };
    out.u16(body.calls.len() as u16);
    for call in &body.calls {
        out.bytes.push(call.how as u8);
        out.text(&call.class);
        out.text(&call.name);
        out.text(&call.descriptor);
    }
}

fn encode_change(change: Option<&Change>, out: &mut Encoder) {
    match change {
        None => out.bytes.push(0),
        Some(Change::Split { method, part, above, traced }) => {
            out.bytes.push(1);
            out.count(*method);
            out.text(part);
            out.text(above.as_deref().unwrap_or_default());
            out.flag(*traced == Part::First);
        }
        Some(Change::Add { part }) => {
            out.bytes.push(2);
            out.text(part.as_deref().unwrap_or_default());
        }
    }
}

fn encode_problem(problem: Option<&Problem>, out: &mut Encoder) {
    match problem {
        None => out.bytes.push(0),
        Some(Problem::Final) => out.bytes.push(1),
        Some(Problem::UnknownSuper(name)) => {
            out.bytes.push(2);
            out.text(name);
        }
    }
}

fn encode_focus(focus: &FocusFacts, out: &mut Encoder) {
    // A class has at most 65535 methods.
    out.u32(focus.own.map_or(0, |(index, _)| index as u32 + 1));
    if let Some((_, access)) = focus.own {
        out.u16(access);
    }
    out.flag(focus.calls_super);
    out.flag(focus.eligible);
    out.text(focus.part.as_deref().unwrap_or_default());
}

/// A class in the cache.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Packed<'c>(pub(super) &'c [u8]);

/// The fields before the facts.
pub(crate) struct Head<'c> {
    pub(crate) name: &'c str,
    /// Empty if it is the same.
    pub(crate) obfuscated: &'c str,
    pub(crate) tally: Tally,
    /// Whether it was rewritten.
    pub(crate) changed: bool,
    pub(crate) change: Option<Change>,
    pub(crate) problem: Option<Problem>,
    /// Lines of the rules that decided about its methods.
    pub(crate) rules: Vec<u32>,
}

impl<'c> Packed<'c> {
    /// Reads the head; `None` if the cache is damaged.
    pub(crate) fn head(self) -> Option<Head<'c>> {
        Decoder { rest: self.0 }.head()
    }

    /// Reads all facts; `None` if the cache is damaged.
    pub(crate) fn unpack(self) -> Option<ClassFacts> {
        let mut all = Decoder { rest: self.0 };
        let head = all.head()?;
        let facts = ClassFacts {
            name: head.name.to_owned(),
            obfuscated: (!head.obfuscated.is_empty()).then(|| head.obfuscated.to_owned()),
            source_file: all.optional()?,
            access: all.u16()?,
            supertypes: all.texts()?,
            asked: all.texts()?,
            decided: all.sum()?,
            focus: all.focus()?,
            // Methods are added one by one, so a hostile count cannot allocate all memory.
            methods: (0..head.tally.methods).map(|_| all.method()).collect::<Option<_>>()?,
            ..ClassFacts::default()
        };
        all.rest.is_empty().then_some(facts)
    }
}

impl<'c> Decoder<'c> {
    fn head(&mut self) -> Option<Head<'c>> {
        let (name, obfuscated, mut tally) = (self.text()?, self.text()?, Tally::default());
        for count in tally.counts() {
            *count = self.count()?;
        }
        Some(Head {
            name,
            obfuscated,
            tally,
            changed: self.flag()?,
            change: match self.array()? {
                [0] => None,
                [1] => Some(Change::Split {
                    method: self.count()?,
                    part: self.text()?.to_owned(),
                    above: self.optional()?,
                    traced: if self.flag()? { Part::First } else { Part::Second },
                }),
                [2] => Some(Change::Add { part: self.optional()? }),
                _ => return None,
            },
            problem: match self.array()? {
                [0] => None,
                [1] => Some(Problem::Final),
                [2] => Some(Problem::UnknownSuper(self.text()?.to_owned())),
                _ => return None,
            },
            rules: self.list(Self::u32)?,
        })
    }

    fn method(&mut self) -> Option<MethodFacts> {
        let (name, descriptor, kept_id) = (self.text()?.into(), self.text()?.into(), self.u32()?);
        let (access, line) = (self.u16()?, self.u16()?);
        let [verdict] = self.array()?;
        let verdict = VERDICTS.get(usize::from(verdict))?.clone();
        let (by_default, cost, body) = (self.flag()?, self.u16()?, self.body()?);
        let in_file = match self.text()? {
            "" => None,
            name => Some(Box::new((name.into(), self.text()?.into()))),
        };
        Some(MethodFacts {
            access,
            name,
            descriptor,
            first_line: (line != 0).then_some(line),
            verdict,
            by_default,
            body,
            cost: (cost != NO_COST).then_some(cost),
            in_file,
            ambiguous: self.flag()?,
            rule: self.u32()?,
            kept_id,
        })
    }

    fn body(&mut self) -> Option<Option<Box<Body>>> {
        let instructions = self.u16()?;
        if instructions == NO_COST {
            return Some(None);
        }
        let calls = (0..self.u16()?).map(|_| {
            let [how] = self.array()?;
            let how = *CALL_KINDS.get(usize::from(how))?;
            let (class, name) = (self.text()?.into(), self.text()?.into());
            Some(Call { how, class, name, descriptor: self.text()?.into() })
        });
        let calls = calls.collect::<Option<Box<[Call]>>>()?;
        Some(Some(Box::new(Body { instructions, calls })))
    }

    fn focus(&mut self) -> Option<FocusFacts> {
        let own = match self.u32()? {
            0 => None,
            behind => Some((behind as usize - 1, self.u16()?)),
        };
        Some(FocusFacts { own, calls_super: self.flag()?, eligible: self.flag()?, part: self.optional()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class_facts::tests::any_class;

    #[test]
    fn facts_round_trip_and_truncated_ones_are_rejected() {
        let mut class = any_class("a/B", &["run", "stop"]);
        class.obfuscated = Some("x".to_owned());
        class.asked = Box::from(["q/R".into()]);
        class.methods[1].rule = 7;
        class.methods[1].verdict = Verdict::Exclude;
        let change = Change::Split {
            method: 1,
            part: "p".to_owned(),
            above: Some("q".to_owned()),
            traced: Part::First,
        };
        let problem = Problem::UnknownSuper("a/Activity".to_owned());
        let facts = Facts {
            class: &class,
            ids: &[5, 0],
            decided: Sum { first: 1, second: 2, length: 3 },
            change: Some(&change),
            problem: Some(&problem),
        };
        let mut out = Encoder::default();
        facts.encode(&mut out);
        let packed = Packed(&out.bytes);
        let head = packed.head().unwrap();
        assert_eq!((head.name, head.obfuscated, head.changed), ("a/B", "x", true));
        assert_eq!((head.change, head.problem, head.rules), (Some(change), Some(problem), vec![7]));
        assert_eq!(head.tally, Tally { methods: 2, traced: 1, excluded: 1, ..Tally::default() });
        let back = packed.unpack().unwrap();
        assert_eq!(
            (&back.name, &back.obfuscated, &back.source_file),
            (&class.name, &class.obfuscated, &class.source_file)
        );
        assert_eq!(
            (&back.supertypes, &back.asked, &back.focus),
            (&class.supertypes, &class.asked, &class.focus)
        );
        assert_eq!(back.decided, Sum { first: 1, second: 2, length: 3 });
        for ((old, new), id) in class.methods.iter().zip(&back.methods).zip([5, 0]) {
            assert!(old.is_same_in_maps(new));
            assert_eq!(
                (&old.name, &old.descriptor, old.rule, id),
                (&new.name, &new.descriptor, new.rule, new.kept_id)
            );
        }
        for end in 0..out.bytes.len() {
            assert!(Packed(&out.bytes[..end]).unpack().is_none(), "{end}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
            let _ = Packed(&bytes).unpack();
        }
    }
}
