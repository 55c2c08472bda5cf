//! What was found in a file, and what a rewritten file has that its original does not.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The inserted calls of a file, or of one method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inserted {
    /// Calls of `i` and `o`, which need no handler.
    pub ends: u64,
    /// Calls with a handler that drops what they throw. Other calls are findings.
    pub covered: u64,
}

impl Inserted {
    pub(crate) fn add(&mut self, other: Self) {
        self.ends += other.ends;
        self.covered += other.covered;
    }
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// ART refuses the class: `VerifyError` when it is used.
    Error,
    /// ART lets the instruction throw at run time, or verifies the class again on the device.
    Soft,
    /// ART's "failed lock verification and will run slower": the method is interpreted, never compiled.
    Lock,
    /// A call that tracing has inserted can throw into the app. No rule of ART.
    Inserted,
    /// The method was too expensive to check to the end.
    NotVerified,
}

impl fmt::Display for Severity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Error => "error",
            Self::Soft => "soft",
            Self::Lock => "lock",
            Self::Inserted => "inserted call",
            Self::NotVerified => "not verified",
        })
    }
}

/// One finding in a method.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The dex pc in code units; `None` if it concerns the whole method.
    pub pc: Option<u32>,
    /// The rule that is violated: the same text for all findings of a kind.
    pub rule: &'static str,
    /// What exactly: registers, types, instruction. May be empty.
    pub detail: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: ", self.severity)?;
        if let Some(pc) = self.pc {
            write!(out, "{pc:#06x}: ")?;
        }
        out.write_str(self.rule)?;
        if !self.detail.is_empty() {
            write!(out, ": {}", self.detail)?;
        }
        Ok(())
    }
}

/// The name of a method, as the file has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MethodName {
    /// Descriptor of the class: `Lcom/example/Shop;`.
    pub class: String,
    /// The method's name.
    pub name: String,
    /// Descriptor of its prototype: `(I)V`.
    pub descriptor: String,
}

impl fmt::Display for MethodName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}->{}{}", self.class, self.name, self.descriptor)
    }
}

/// The findings of one method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodReport {
    /// The method.
    pub method: MethodName,
    /// Its findings, in the order in which the checks found them. At most one [`Severity::Error`]: ART stops there, too.
    pub findings: Vec<Finding>,
}

/// The result of [`verify`](crate::verify).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Number of class definitions.
    pub classes: usize,
    /// Number of methods with code.
    pub methods: usize,
    /// The calls that tracing has inserted.
    pub inserted: Inserted,
    /// Methods outside of the library that have try ranges, and no covered call that would explain them. In the file's order.
    pub with_tries: Vec<MethodName>,
    /// Methods with findings, in the file's order.
    pub findings: Vec<MethodReport>,
}

impl Report {
    /// Returns the number of findings of this severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.all().filter(|(_, finding)| finding.severity == severity).count()
    }

    /// Returns all findings with their methods.
    pub fn all(&self) -> impl Iterator<Item = (&MethodName, &Finding)> {
        self.findings
            .iter()
            .flat_map(|report| report.findings.iter().map(move |finding| (&report.method, finding)))
    }

    /// Returns the methods that have try ranges and had none in `before`, without those that have covered calls. Android inlines
    /// no method with a try range.
    pub fn gained_tries<'r>(&'r self, before: &Self) -> Vec<&'r MethodName> {
        let known: BTreeSet<&MethodName> = before.with_tries.iter().collect();
        self.with_tries.iter().filter(|method| !known.contains(method)).collect()
    }

    /// Returns ART's warnings about lock verification, a line for each class.
    pub fn lock_warnings(&self) -> Vec<String> {
        let with_locks = self.all().filter(|(_, finding)| finding.severity == Severity::Lock);
        let classes: BTreeSet<&str> = with_locks.map(|(method, _)| method.class.as_str()).collect();
        let readable = |class: &str| class.trim_start_matches('L').trim_end_matches(';').replace('/', ".");
        let warning =
            |class| format!("Class {} failed lock verification and will run slower.", readable(class));
        classes.into_iter().map(warning).collect()
    }

    /// Adds the findings of another file of the same app.
    pub fn append(&mut self, other: Self) {
        self.classes += other.classes;
        self.methods += other.methods;
        self.inserted.add(other.inserted);
        self.with_tries.extend(other.with_tries);
        self.findings.extend(other.findings);
    }

    /// Returns the findings that `before` does not have: those whose rule no finding of the same severity in the same
    /// method violates there. Pcs and details are ignored, since a rewrite moves them.
    pub fn new_since<'r>(&'r self, before: &Self) -> Vec<(&'r MethodName, &'r Finding)> {
        let mut known: BTreeMap<&MethodName, BTreeSet<(Severity, &str)>> = BTreeMap::new();
        for (method, finding) in before.all() {
            known.entry(method).or_default().insert((finding.severity, finding.rule));
        }
        self.all()
            .filter(|(method, finding)| {
                known.get(method).is_none_or(|rules| !rules.contains(&(finding.severity, finding.rule)))
            })
            .collect()
    }
}

impl fmt::Display for Report {
    /// Writes the summary line.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [errors, soft, locks, bare, unverified] =
            [Severity::Error, Severity::Soft, Severity::Lock, Severity::Inserted, Severity::NotVerified]
                .map(|severity| self.count(severity));
        let Self { classes, methods, inserted: Inserted { ends, covered }, .. } = self;
        write!(
            out,
            "{classes} classes, {methods} methods, {errors} errors, {soft} soft, {locks} lock warnings"
        )?;
        if ends + covered + bare as u64 > 0 {
            write!(out, ", {covered} inserted calls covered, {bare} not, {ends} of i and o")?;
        }
        if unverified > 0 {
            write!(out, ", {unverified} not verified")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(class: &str, rules: &[(Severity, u32, &'static str)]) -> Report {
        let method =
            MethodName { class: class.to_owned(), name: "run".to_owned(), descriptor: "()V".to_owned() };
        let findings = rules
            .iter()
            .map(|&(severity, pc, rule)| Finding { severity, pc: Some(pc), rule, detail: pc.to_string() })
            .collect();
        let findings = vec![MethodReport { method, findings }];
        Report { classes: 1, methods: 1, findings, ..Report::default() }
    }

    #[test]
    fn moved_findings_are_not_new() {
        let before = report("LA;", &[(Severity::Soft, 3, "x")]);
        let after =
            report("LA;", &[(Severity::Soft, 9, "x"), (Severity::Lock, 9, "x"), (Severity::Soft, 9, "y")]);
        let new: Vec<_> =
            after.new_since(&before).iter().map(|(_, finding)| (finding.severity, finding.rule)).collect();
        assert_eq!(new, [(Severity::Lock, "x"), (Severity::Soft, "y")]);
        assert_eq!(after.new_since(&report("LB;", &[])).len(), 3);
    }
}
