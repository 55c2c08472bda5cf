//! Compares a report of a case with its label.

use serde_json::{Value, json};

use crate::busy_hangs::cases::Label;

/// Which parts of a report are correct.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Judged {
    pub message: bool,
    pub chain: bool,
    pub method: bool,
    /// None if the label has no callee.
    pub callee: Option<bool>,
}

impl Judged {
    /// Whether everything but the callee is correct.
    pub(crate) fn right(self) -> bool {
        self.message && self.chain && self.method
    }
}

/// A report's description of the hang.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    pub message: String,
    /// Methods that were open, outermost first.
    pub chain: Vec<String>,
    /// The method whose loop it is.
    pub method: String,
    /// Methods that the report names for the calls below.
    pub called: Vec<String>,
}

impl Said {
    pub(crate) fn of(report: &Value) -> Self {
        let (hang, busy) = (&report["hang"], &report["hang"]["busy"]);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let all = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let names =
            |value: &Value| -> Vec<String> { all(value).iter().map(|one| text(&one["name"])).collect() };
        let message = text(&hang["unit"]["name"]);
        if !busy.is_null() {
            let chain = names(&busy["chain"]).into_iter().rev().collect();
            let called = [names(&busy["callees"]), names(&busy["hot"])].concat();
            return Self { message, chain, method: text(&busy["method"]), called };
        }
        let stack = all(&hang["stack"]);
        let methods = stack.iter().rev().filter(|frame| frame["kind"] == "method");
        let chain = methods.map(|frame| text(&frame["name"])).collect();
        Self { message, chain, method: text(&hang["method"]), called: Vec::new() }
    }

    pub(crate) fn judge(&self, label: &Label) -> Judged {
        let length = label.chain.len();
        let mut methods = std::iter::once(&label.method).chain(label.also.iter().map(|(method, _)| method));
        Judged {
            message: self.message.contains(&label.message),
            chain: self.chain.get(..length) == Some(&label.chain),
            method: methods.any(|method| *method == self.method),
            callee: label.callee.as_ref().map(|callee| self.called.contains(callee)),
        }
    }

    /// What differs from the label, in a line.
    pub(crate) fn difference(&self, label: &Label, judged: Judged) -> String {
        let mut parts = Vec::new();
        if !judged.message {
            parts.push(format!("message {:?}, not {}", self.message, label.message));
        }
        if !judged.chain {
            let same = self.chain.iter().zip(&label.chain).take_while(|(one, other)| one == other).count();
            let other = self.chain.get(same).map_or("nothing", |name| name);
            parts.push(format!("chain of {} has {same} right, then {other}", label.chain.len()));
        }
        if !judged.method {
            parts.push(format!("method {:?}, not {}", self.method, label.method));
        }
        parts.join("; ")
    }
}

/// Tests the judge: a correct synthetic report, and each kind of error.
pub(crate) fn check() {
    let text = |s: &str| s.to_owned();
    let label = Label {
        message: text("a.Task"),
        chain: vec![text("a.Task.run"), text("a.Feed.load")],
        method: text("a.Parser.all"),
        also: vec![(text("a.Parser.one"), text("a recursion"))],
        callee: None,
    };
    let frame = |name: &str| json!({"kind": "method", "name": name});
    let report = |unit: &str, stack: &[&str], method: &str| {
        let stack: Value = stack.iter().map(|name| frame(name)).collect();
        Said::of(&json!({"hang": {"unit": {"name": unit}, "stack": stack, "method": method}})).judge(&label)
    };
    let stack = ["a.Parser.all", "a.Feed.load", "a.Task.run"];
    let right = Judged { message: true, chain: true, method: true, callee: None };
    assert_eq!(report("android.os.Handler: a.Task", &stack, "a.Parser.all"), right);
    assert_eq!(report("android.os.Handler: a.Task", &stack[1..], "a.Parser.one"), right);
    assert_eq!(report("a.Other", &stack, "a.Parser.all"), Judged { message: false, ..right });
    assert_eq!(
        report("a.Task", &["a.Parser.all", "a.Task.run"], "a.Parser.all"),
        Judged { chain: false, ..right }
    );
    assert_eq!(report("a.Task", &stack[..1], "a.Parser.all"), Judged { chain: false, ..right });
    assert_eq!(report("a.Task", &stack, "a.Parser.item"), Judged { method: false, ..right });
    let busy =
        json!({"method": "a.Parser.all", "chain": stack.map(frame), "hot": [{"name": "a.Parser.item"}]});
    let said =
        Said::of(&json!({"hang": {"unit": {"name": "a.Task"}, "method": "a.Parser.item", "busy": busy}}));
    assert_eq!(said.judge(&label), right);
    assert_eq!(said.called, ["a.Parser.item"]);
    assert!(!Said::of(&json!({"hang": null})).judge(&label).right());
}
