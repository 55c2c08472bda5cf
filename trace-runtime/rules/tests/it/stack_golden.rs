//! Matrix's stacks, re-made, against what the original made of the same words; and how ours differ.
//!
//! `data/tracedata.jsonl` holds one case a line: `buffer` (Matrix's words), `strict`, `end`, `diff` (the words' zero) and
//! `cost` go in, and the original Java gave `stack_full`, `stack_trim`, `stack_cost`, `key`, `fallback` and `log`.
//! `ANRSCOPE_GOLDEN=DIRECTORY` runs a `tracedata.jsonl` of the same form from there instead.

use std::path::{Path, PathBuf};

use serde_json::Value;
use trace_format::ids::DISPATCH;
use trace_rules::Rules;
use trace_rules::stack::{self, Call, CallTree, Finished, Line, TARGET_LINES, cost_ms, key, text, trim};

use crate::matrix_words::{from_matrix_words, since_first_message};

struct Case {
    name: String,
    strict: bool,
    end: i64,
    base: i64,
    cost: i64,
    words: Vec<i64>,
    golden: Value,
}

fn cases() -> Vec<Case> {
    let directory = std::env::var_os("ANRSCOPE_GOLDEN")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data"), PathBuf::from);
    let file = directory.join("tracedata.jsonl");
    let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let cases: Vec<Case> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            let golden: Value = serde_json::from_str(line).expect("a case");
            let number = |key: &str| golden[key].as_i64().unwrap_or_else(|| panic!("{key} in {line}"));
            Case {
                name: golden["name"].as_str().expect("a name").to_string(),
                strict: golden["strict"].as_bool().expect("strict"),
                end: number("end"),
                base: number("diff"),
                cost: number("cost"),
                words: golden["buffer"]
                    .as_array()
                    .expect("words")
                    .iter()
                    .map(|w| w.as_i64().unwrap())
                    .collect(),
                golden,
            }
        })
        .collect();
    assert!(!cases.is_empty(), "{} is empty", file.display());
    cases
}

impl Case {
    fn matrix(&self) -> (Vec<Line>, Vec<String>) {
        let mut log = Vec::new();
        let lines =
            stack::matrix::lines(&self.words, self.strict, self.end, self.base, &mut |line| log.push(line));
        (lines, log)
    }

    fn calls(&self) -> Vec<Call> {
        let calls: Vec<Call> = from_matrix_words(&self.words).collect();
        if self.strict { since_first_message(&calls).to_vec() } else { calls }
    }

    /// Ours, from the same words and the same end.
    fn ours(&self) -> Finished {
        let end_ms = u64::try_from(self.end - self.base).unwrap_or(0);
        CallTree::from_calls(self.calls(), end_ms * 1_000_000)
    }
}

#[test]
fn matrixs_stacks_are_reproduced_in_every_case() {
    let mut wrong = Vec::new();
    let cases = cases();
    // A case that made the original throw has no stack to compare.
    for case in cases.iter().filter(|case| case.golden["error"].is_null()) {
        let (full, log) = case.matrix();
        let mut trimmed = full.clone();
        let fallback = trim(&mut trimmed, TARGET_LINES, Rules::Matrix);
        let cost = cost_ms(&trimmed, case.cost);
        let got = serde_json::json!({
            "stack_full": text(&full),
            "stack_trim": text(&trimmed),
            "stack_cost": cost,
            "key": key(&trimmed, cost, Rules::Matrix),
            "fallback": i32::from(fallback),
            "log": log,
        });
        for (field, got) in got.as_object().unwrap() {
            if &case.golden[field] != got {
                wrong.push(format!("{} {field}:\n  {}\n  {got}", case.name, case.golden[field]));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} cases:\n{}",
        wrong.len(),
        cases.len(),
        wrong[..wrong.len().min(5)].join("\n")
    );
}

#[test]
fn our_stacks_lose_no_call_and_invent_none() {
    for case in cases() {
        let calls = case.calls();
        let Finished { lines, loss } = case.ours();
        let name = &case.name;

        // Every enter is in the lines, as often as it was made; nothing else is.
        if (loss.too_deep, loss.short) != (0, 0) {
            continue;
        }
        let mut counts = std::collections::BTreeMap::new();
        for call in calls.iter().filter(|call| call.entered) {
            *counts.entry(call.id).or_insert(0i64) += 1;
        }
        for line in &lines {
            *counts.entry(line.id).or_insert(0) -= i64::from(line.count);
        }
        assert!(counts.values().all(|left| *left == 0), "{name}: {counts:?}");

        // Each line's caller stands above it, and no call is longer than the slice.
        let first = calls.first().map_or(0, |call| call.at_ns);
        let last = calls.iter().map(|call| call.at_ns).max().unwrap_or(0).max(ns(case.end - case.base));
        for (at, line) in lines.iter().enumerate() {
            let above = if at == 0 { 0 } else { lines[at - 1].depth + 1 };
            assert!(line.depth <= above, "{name}: gap before line {at}");
            assert!(
                line.ms >= 0 && i64::from(line.ms) * 1_000_000 <= (last - first) as i64,
                "{name}: {line:?}"
            );
        }

        let mut trimmed = lines.clone();
        trim(&mut trimmed, TARGET_LINES, Rules::Anrscope);
        assert!(trimmed.len() <= TARGET_LINES && (trimmed.is_empty() == lines.is_empty()), "{name}");
        for pair in trimmed.windows(2) {
            assert!(pair[1].depth <= pair[0].depth + 1, "{name}: a caller of a kept line was taken out");
        }
    }
}

fn ns(ms: i64) -> u64 {
    u64::try_from(ms).unwrap_or(0) * 1_000_000
}

/// Where the words leave no doubt, there is nothing to improve.
#[test]
fn ours_is_matrix_where_every_exit_has_its_enter() {
    let mut compared = 0;
    for case in cases() {
        let ours = case.ours();
        if ours.loss != stack::Loss::default()
            || case.calls().is_empty()
            || case.name.starts_with("eq_default")
        {
            continue;
        }
        let calls: Vec<Call> = from_matrix_words(&case.words).collect();
        if case.strict && since_first_message(&calls).first().is_some_and(|call| call.id != DISPATCH) {
            continue;
        }
        compared += 1;
        assert_eq!(text(&ours.lines), text(&case.matrix().0), "{}", case.name);
    }
    assert!(compared > 20 || std::env::var_os("ANRSCOPE_GOLDEN").is_some(), "{compared} cases compared");
}

#[test]
fn only_adjacent_calls_merge_and_five_seconds_stay_five_seconds() {
    let ms = 1_000_000;
    let of = |calls: &[Call]| text(&CallTree::from_calls(calls.iter().copied(), 0).lines);
    let pair = |id, from: u64, to: u64| [Call::enter(id, from * ms), Call::exit(id, to * ms)];
    let inside = |calls: &[[Call; 2]], end: u64| {
        let mut all = vec![Call::enter(DISPATCH, 0)];
        all.extend(calls.iter().flatten());
        all.push(Call::exit(DISPATCH, end * ms));
        all
    };
    assert_eq!(of(&inside(&[pair(1, 0, 10), pair(1, 20, 35)], 40)), "0,1048574,1,40\n1,1,2,25\n");
    assert_eq!(
        of(&inside(&[pair(1, 0, 10), pair(2, 12, 13), pair(1, 20, 35)], 40)),
        "0,1048574,1,40\n1,1,1,10\n1,2,1,1\n1,1,1,15\n"
    );
    // Messages are not merged.
    assert_eq!(of(&[pair(DISPATCH, 0, 5), pair(DISPATCH, 6, 8)].concat()), "0,1048574,1,5\n0,1048574,1,2\n");
    // A later call of exactly 5,000 ms: Matrix counts the earlier one's time twice instead.
    let long = inside(&[pair(1, 0, 100), pair(1, 200, 5_200)], 5_200);
    assert_eq!(of(&long), "0,1048574,1,5200\n1,1,2,5100\n");
    let words: Vec<i64> = long
        .iter()
        .map(|c| i64::from(c.entered) << 63 | i64::from(c.id) << 43 | (c.at_ns / ms) as i64)
        .collect();
    let matrix = stack::matrix::lines(&words, true, 0, 0, &mut |_| {});
    assert_eq!(text(&matrix), "0,1048574,1,5200\n1,1,2,200\n");
}

#[test]
fn stacks_are_trimmed_to_thirty_lines_by_thresholds_of_5_to_300_ms_from_the_end() {
    let line = |depth, id, ms| Line { depth, id, count: 1, ms };
    let trimmed = |list: &[Line], target| {
        let mut both = [list.to_vec(), list.to_vec()];
        let cut = trim(&mut both[0], target, Rules::Matrix);
        assert_eq!(cut, trim(&mut both[1], target, Rules::Anrscope));
        // Without callers the rules agree.
        assert_eq!(both[0], both[1]);
        (both[0].iter().map(|line| line.id).collect::<Vec<_>>(), cut)
    };
    // From the end, and no more than needed.
    let equal: Vec<Line> = (0..5).map(|id| line(0, id, 4)).collect();
    assert_eq!(trimmed(&equal, 3), (vec![0, 1, 2], false));
    // Under the threshold, in steps of 5: 4 goes before 5, which stays under 5 and goes under 10.
    assert_eq!(trimmed(&[line(0, 1, 5), line(0, 2, 4)], 1), (vec![1], false));
    assert_eq!(trimmed(&[line(0, 1, 9), line(0, 2, 10)], 1), (vec![2], false));
    // 299 goes under the last threshold, 300 never does: then the first stay.
    assert_eq!(trimmed(&[line(0, 1, 299), line(0, 2, 300)], 1), (vec![2], false));
    assert_eq!(trimmed(&[line(0, 1, 300), line(0, 2, 301)], 1), (vec![1], true));
    // 30 and any other number.
    let many: Vec<Line> = (0..45).map(|id| line(0, id, 1000)).collect();
    assert_eq!(trimmed(&many, TARGET_LINES).0, (0..30).collect::<Vec<_>>());
    assert_eq!(trimmed(&many, 40).0.len(), 40);
    assert_eq!(trimmed(&many, 45), ((0..45).collect(), false));
}

/// The table of the differences, `data/stack_differences.md`, is what the program does.
#[test]
fn the_documented_differences_are_the_differences() {
    if std::env::var_os("ANRSCOPE_GOLDEN").is_some() {
        return;
    }
    let page = differences();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/stack_differences.md");
    if std::env::var_os("ANRSCOPE_WRITE_DOCS").is_some() {
        std::fs::write(&file, &page).expect("written");
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        written == page,
        "tests/data/stack_differences.md is not current: run this test with ANRSCOPE_WRITE_DOCS=1"
    );
}

fn differences() -> String {
    let mut rows = String::new();
    let (mut same, mut all) = (0, 0);
    for case in cases() {
        all += 1;
        let (full, log) = case.matrix();
        let ours = case.ours();
        let reduced = |lines: &[Line], rules| {
            let mut lines = lines.to_vec();
            trim(&mut lines, TARGET_LINES, rules);
            let key = key(&lines, cost_ms(&lines, case.cost), rules);
            (text(&lines), key)
        };
        let theirs = reduced(&full, Rules::Matrix);
        let own = reduced(&ours.lines, Rules::Anrscope);
        if (text(&full), &theirs) == (text(&ours.lines), &own) {
            same += 1;
            continue;
        }
        rows += &format!(
            "| {} | {} | {} | {} | {} |\n",
            case.name,
            full.len(),
            ours.lines.len(),
            if theirs.1 == own.1 {
                String::new()
            } else {
                format!("`{}` → `{}`", theirs.1, own.1).replace('|', "\\|")
            },
            why(&case, &full, &log, &ours)
        );
    }
    format!(
        "# Stacks: where ours differ from Matrix's\n\n\
         Made by `ANRSCOPE_WRITE_DOCS=1 cargo test -p anrscope-rules stack_golden`, and compared by the same test.\n\n\
         {all} slices were given to Matrix's own code, and to ours by both rules. By Matrix's rules every stack, key, cost \
         and log line is\nthe original's. By ours {same} are the same, and these differ. *Lines* are those before the trim.\n\n\
         *Why*: calls that an exception *unwound* are kept; *orphans*, exits without an enter, change nothing; of calls that are open at the\n\
         end of a slice, those *closed* end there, and those *open* keep their place; *5 s*: 5,000 ms count as 5,000 ms; *callers* of kept lines\n\
         stay. Matrix loses all of a slice that has *no message*, a *deep end* (what came last is not at depth 0), or a time that runs\n\
         *backwards* (here it stands still).\n\n\
         | case | lines, Matrix | lines, ours | key | why |\n| --- | --- | --- | --- | --- |\n{rows}"
    )
}

fn why(case: &Case, full: &[Line], log: &[String], ours: &Finished) -> String {
    let mut why: Vec<String> = Vec::new();
    let logged = |what: &str| log.iter().any(|line| line.contains(what));
    if logged("during invalid") {
        why.push("backwards".into());
    } else if logged("begin error") {
        why.push("deep end".into());
    } else if full.is_empty() && case.strict {
        why.push("no message".into());
    }
    let count = |number: u32, what: &str, why: &mut Vec<String>| {
        if number > 0 {
            why.push(format!("{number} {what}"));
        }
    };
    count(ours.loss.unwound, "unwound", &mut why);
    count(ours.loss.orphan_exits, "orphans", &mut why);
    if !case.strict {
        count(ours.loss.open_at_end, "closed", &mut why);
    } else if ours.loss.open_at_end > 0 && !ours.lines.is_empty() {
        count(ours.loss.open_at_end, "open", &mut why);
    }
    let fives = full.iter().any(|line| line.count > 1) && case.name.starts_with("eq_default");
    if fives {
        why.push("5 s".into());
    }
    let (mut matrix, mut own) = (full.to_vec(), full.to_vec());
    trim(&mut matrix, TARGET_LINES, Rules::Matrix);
    trim(&mut own, TARGET_LINES, Rules::Anrscope);
    if matrix != own {
        why.push("callers".into());
    }
    assert!(
        !why.is_empty(),
        "{}: differs for no known reason\n{}\n{}",
        case.name,
        text(full),
        text(&ours.lines)
    );
    why.join("; ")
}
