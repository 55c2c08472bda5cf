//! Groups dumps whose main threads have the same stack: what hangs most often among thousands of dumps.
//!
//! Two stacks are equal if their Java methods are the same from the innermost to the outermost, ignoring lines,
//! which differ between builds. Stacks without Java frames are compared by their native functions. Numbers that
//! the runtime generates in the names of lambdas and hidden classes are ignored.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::doing;
use crate::answer::{Answer, CauseId, Site};
use crate::dump::frame::Frame;
use crate::dump::model::{Dump, Thread};

/// Maximum number of files listed per group.
const MAX_FILES: usize = 100;
/// Maximum number of groups; dumps with further stacks are counted together.
const MAX_GROUPS: usize = 50_000;
/// Maximum number of frames displayed per stack.
const MAX_SHOWN: usize = 64;

/// Dumps in which main has the same stack.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    /// Number of dumps.
    pub count: u64,
    /// What main does, in words; or why there is no stack.
    pub doing: String,
    /// The cause according to the first dump.
    pub cause: CauseId,
    /// The frame in the app's own code to change, according to the first dump.
    pub root: Option<Site>,
    /// The stack, innermost first, without lines.
    pub stack: Vec<String>,
    /// The process of the first one.
    pub process: Option<String>,
    /// The newest dump: its time as written, and its file.
    pub newest: Option<(String, String)>,
    /// The files in the order in which they were read, up to a limit.
    pub files: Vec<String>,
}

/// Collects dumps one after another; only [`Group`]'s fields are kept.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    /// Number of dumps added.
    pub texts: u64,
    /// Number of dumps not grouped because there are too many different stacks.
    pub ungrouped: u64,
    places: HashMap<u128, usize>,
    groups: Vec<Group>,
}

impl Groups {
    /// Adds a dump.
    pub fn add(&mut self, file: &str, dump: &Dump) {
        self.texts += 1;
        let section = dump.answer();
        let main = section.and_then(|section| section.main());
        let stack = main.map(stack).unwrap_or_default();
        let doing = match (main, section, dump.anr_process()) {
            (Some(main), ..) => doing::words(main, None),
            (None, Some(_), _) => "is not in the text".to_owned(),
            (None, None, Some(_)) => "did not respond, and its stack is not in the text".to_owned(),
            (None, None, None) => "has no stack in the text".to_owned(),
        };
        // The object's address differs from run to run.
        let doing = doing.split(" (0x").next().unwrap_or_default().to_owned();
        let key = key(&doing, &stack);
        let known = self.places.get(&key).copied();
        let place = match known {
            Some(place) => place,
            None if self.groups.len() == MAX_GROUPS => {
                self.ungrouped += 1;
                return;
            }
            None => {
                let process = section.and_then(|section| section.cmdline.clone());
                let process = process.or_else(|| dump.anr_process().and_then(|anr_process| anr_process.name));
                let stack = stack.into_iter().take(MAX_SHOWN).collect();
                let answer = Answer::from(dump);
                let (cause, root) = (answer.cause.id, answer.root);
                self.groups.push(Group {
                    count: 0,
                    doing,
                    cause,
                    root,
                    stack,
                    process,
                    newest: None,
                    files: Vec::new(),
                });
                self.places.insert(key, self.groups.len() - 1);
                self.groups.len() - 1
            }
        };
        let group = &mut self.groups[place];
        group.count += 1;
        if group.files.len() < MAX_FILES {
            group.files.push(file.to_owned());
        }
        let time =
            section.or(dump.sections.first()).and_then(|section| section.time.clone()).unwrap_or_default();
        // Times of the same format compare as texts.
        if group.newest.as_ref().is_none_or(|(newest, _)| time > *newest) {
            group.newest = Some((time, file.to_owned()));
        }
    }

    /// The groups, the largest first.
    #[must_use]
    pub fn finish(self) -> Vec<Group> {
        let mut groups = self.groups;
        groups.sort_by_key(|group| std::cmp::Reverse(group.count));
        groups
    }
}

impl Group {
    /// The groups as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "count": self.count,
            "doing": self.doing,
            "cause": self.cause.word(),
            "root": self.root,
            "process": self.process,
            "stack": self.stack,
            "newest": self.newest.as_ref().map(|(time, file)| json!({"time": time, "file": file})),
            "files": self.files,
        })
    }
}

fn stack(thread: &Thread) -> Vec<String> {
    let java = |frame: &Frame| match frame {
        Frame::Java(java) => Some(format!("{}.{}", without_numbers(&java.class), java.method)),
        Frame::Native(_) | Frame::Kernel(_) => None,
    };
    let stack: Vec<String> = thread.frames.iter().filter_map(java).collect();
    if !stack.is_empty() {
        return stack;
    }
    let native = thread.frames.iter().map(|frame| match frame {
        Frame::Native(native) => {
            native.symbol.clone().unwrap_or_else(|| format!("{}+{:#x}", native.library(), native.pc))
        }
        Frame::Kernel(kernel) => kernel.symbol.split('+').next().unwrap_or_default().to_owned(),
        Frame::Java(java) => java.method.clone(),
    });
    native.collect()
}

/// `a.B$$Lambda` for `a.B$$Lambda$14/0x000000000c040210`.
fn without_numbers(class: &str) -> &str {
    let class = class.split_once('/').map_or(class, |(class, _)| class);
    class.find("$$Lambda").map_or(class, |at| &class[..at + "$$Lambda".len()])
}

/// The key of a stack: 128 bits of FNV-1a, so that only the hash is kept and thousands of stacks do not
/// collide.
fn key(doing: &str, stack: &[String]) -> u128 {
    let mut hash = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128;
    // The stack suffices; without one, the key is the reason why it is missing.
    let reason = if stack.is_empty() { Some(doing) } else { None };
    let lines = stack.iter().map(String::as_str).chain(reason).map(str::as_bytes);
    for line in lines {
        for byte in line.iter().chain(b"\n") {
            hash = (hash ^ u128::from(*byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
        }
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn text(time: &str, frames: &[&str]) -> Dump {
        let frames: String = frames.iter().map(|frame| format!("  at {frame}\n")).collect();
        let text = format!(
            "----- pid 7 at {time} -----\nCmd line: com.acme\n\n\"main\" prio=5 tid=1 Native\n{frames}\n----- end 7 -----\n"
        );
        Dump::read(Path::new("x"), text.as_bytes()).unwrap()
    }

    #[test]
    fn equal_stacks_are_one_group_and_the_largest_comes_first() {
        let mut groups = Groups::default();
        groups.add("a", &text("2026-01-01 00:00:00", &["a.B.c(B.java:1)"]));
        groups
            .add("b", &text("2026-01-03 00:00:00", &["x.Y$$Lambda$1/0x01.run(Y.java:1)", "x.Z.d(Z.java:2)"]));
        groups.add(
            "c",
            &text("2026-01-02 00:00:00", &["x.Y$$Lambda/0x02.run(Unknown Source)", "x.Z.d(Z.java:9)"]),
        );
        assert_eq!(groups.texts, 3);
        let groups = groups.finish();
        let counts: Vec<_> = groups.iter().map(|group| group.count).collect();
        assert_eq!(counts, [2, 1]);
        assert_eq!(groups[0].stack, ["x.Y$$Lambda.run", "x.Z.d"]);
        assert_eq!(groups[0].files, ["b", "c"]);
        assert_eq!(groups[0].newest, Some(("2026-01-03 00:00:00".to_owned(), "b".to_owned())));
        assert_eq!(
            (groups[0].process.as_deref(), groups[0].doing.as_str()),
            (Some("com.acme"), "is in native code")
        );
    }
}
