//! Matrix's conversion of words to lines, unchanged: `TraceDataUtils.structuredDataToStack` and its callees.
//!
//! Known faults, all reproduced here: an exit without its enter replaces the outermost open call if that is no message;
//! calls that an exception unwound vanish, their children stay; the whole stack is lost if time runs back or if
//! the last line is not at depth 0; a merged call of exactly 5,000 ms counts as long as the ones before it.

use trace_format::android::ANR_LIMIT_MS;
use trace_format::ids::DISPATCH;

use super::call::Word;
use super::line::Line;

/// The 5,000 ms of the merge fault (`Constants.DEFAULT_ANR`).
const DEFAULT_ANR_MS: i32 = ANR_LIMIT_MS as i32;

/// The lines of a slice of Matrix's ring.
///
/// `strict` is for the slice of a message: it begins at the first enter of [`DISPATCH`] and calls that are still open at
/// the end are closed at `end_ms`, on the clock whose `base_ms` is the words' zero. Without it nothing is skipped and open
/// calls vanish. It takes as long as the original: with exits that fit nothing, the square of what is open. `log` is called with each line that Matrix logs, behind its level ("W:", "E:").
pub fn lines(
    words: &[i64],
    strict: bool,
    end_ms: i64,
    base_ms: i64,
    log: &mut dyn FnMut(String),
) -> Vec<Line> {
    // Both grow at their ends; the original's lists grow at their heads.
    let mut open: Vec<Word> = Vec::new();
    let mut done: Vec<Line> = Vec::new();
    let mut depth = 0i32;
    let mut begun = !strict;
    for word in words.iter().map(|word| Word(*word)).filter(|word| word.0 != 0) {
        begun |= word.entered() && word.id() == DISPATCH;
        if !begun {
            continue;
        }
        if word.entered() {
            if word.id() == DISPATCH {
                depth = 0;
            }
            depth += 1;
            open.push(word);
            continue;
        }
        let out = word.id();
        let Some(mut entered) = open.pop() else {
            log(format!("W:[structuredDataToStack] method[{out}] not found in! "));
            continue;
        };
        depth -= 1;
        let mut taken = vec![entered];
        while entered.id() != out
            && let Some(next) = open.pop()
        {
            log(format!("W:pop inMethodId[{}] to continue match ouMethodId[{out}]", entered.id()));
            entered = next;
            depth -= 1;
            taken.push(entered);
        }
        if entered.id() != out && entered.id() == DISPATCH {
            let id = entered.id();
            log(format!("E:inMethodId[{id}] != outMethodId[{out}] throw this outMethodId!"));
            depth += taken.len() as i32;
            open.extend(taken.into_iter().rev());
            continue;
        }
        let took = word.ms() - entered.ms();
        if took < 0 {
            log(format!("E:[structuredDataToStack] trace during invalid:{took}"));
            return Vec::new();
        }
        add(&mut done, Line { depth, id: out, count: 1, ms: took as i32 });
    }
    if strict {
        while let Some(word) = open.pop() {
            let (id, begin, left) = (word.id(), word.ms().wrapping_add(base_ms), open.len());
            log(format!(
                "W:[structuredDataToStack] has never out method[{id}], isIn:true, inTime:{begin}, endTime:{end_ms},rawData size:{left}"
            ));
            add(&mut done, Line { depth: left as i32, id, count: 1, ms: end_ms.wrapping_sub(begin) as i32 });
        }
    }
    in_order(&done, log)
}

fn add(done: &mut Vec<Line>, line: Line) {
    if let Some(last) = done.last_mut()
        && last.id == line.id
        && last.depth == line.depth
        && line.depth != 0
    {
        last.count += 1;
        last.ms = last.ms.wrapping_add(if line.ms == DEFAULT_ANR_MS { last.ms } else { line.ms });
    } else {
        done.push(line);
    }
}

/// A node of the tree, by index.
struct Node {
    line: Line,
    /// The node that the original uses as the parent while it climbs: at first the node before.
    father: Option<usize>,
    /// Latest first, which is their order in time read backwards.
    children: Vec<usize>,
}

/// From the order in which calls ended to the order in which they began.
fn in_order(done: &[Line], log: &mut dyn FnMut(String)) -> Vec<Line> {
    let mut nodes: Vec<Node> = Vec::with_capacity(done.len());
    let mut roots: Vec<usize> = Vec::new();
    let mut last: Option<usize> = None;
    for line in done.iter().rev() {
        let this = nodes.len();
        if last.is_none() && line.depth != 0 {
            log("E:[stackToTree] begin error! why the first node'depth is not 0!".to_string());
            return Vec::new();
        }
        nodes.push(Node { line: *line, father: last, children: Vec::new() });
        match last {
            Some(before) if line.depth != 0 => {
                let mut at = Some(before);
                if nodes[before].line.depth >= line.depth {
                    while let Some(node) = at
                        && nodes[node].line.depth > line.depth
                    {
                        at = nodes[node].father;
                    }
                    if let Some(father) = at.and_then(|node| nodes[node].father) {
                        nodes[this].father = Some(father);
                        nodes[father].children.push(this);
                    }
                } else {
                    nodes[before].children.push(this);
                }
            }
            _ => roots.push(this),
        }
        last = Some(this);
    }
    let mut lines = Vec::with_capacity(done.len());
    // Children are in the list backwards, so the stack of nodes to visit yields them in order.
    let mut left = roots;
    while let Some(node) = left.pop() {
        lines.push(nodes[node].line);
        left.extend(&nodes[node].children);
    }
    lines
}
