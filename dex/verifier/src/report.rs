//! What was found in a file, and what a rewritten file has that its original does not.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// ART refuses the class: `VerifyError` when it is used.
    Error,
    /// ART lets the instruction throw at run time, or verifies the class again on the device.
    Soft,
    /// ART's "failed lock verification and will run slower": the method is interpreted, never compiled.
    Lock,
    /// The method was too expensive to check to the end.
    NotVerified,
}

impl fmt::Display for Severity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Error => "error",
            Self::Soft => "soft",
            Self::Lock => "lock",
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

    /// Adds the findings of another file of the same app.
    pub fn append(&mut self, other: Self) {
        self.classes += other.classes;
        self.methods += other.methods;
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
        let [errors, soft, locks, unverified] =
            [Severity::Error, Severity::Soft, Severity::Lock, Severity::NotVerified]
                .map(|severity| self.count(severity));
        let Self { classes, methods, .. } = self;
        write!(
            out,
            "{classes} classes, {methods} methods, {errors} errors, {soft} soft, {locks} lock warnings"
        )?;
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
        Report { classes: 1, methods: 1, findings: vec![MethodReport { method, findings }] }
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
