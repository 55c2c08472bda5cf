//! Counts correct reports, by each dimension.

use crate::busy_hangs::cases::Case;
use crate::busy_hangs::judge::Judged;

/// The rows of the dimensions and of all.
pub(crate) fn table(results: &[(&Case, Judged)]) -> String {
    let mut rows =
        vec![["", "cases", "message", "chain", "method", "all right", "callee"].map(str::to_owned)];
    type Key = fn(&Case) -> String;
    let dimensions: [(&str, Key); 4] = [
        ("depth", |case| case.depth.to_string()),
        ("loop", |case| case.kind.clone()),
        ("way in", |case| case.entry.word().to_owned()),
        ("end", |case| case.end().to_owned()),
    ];
    for (name, key) in dimensions {
        let mut keys: Vec<String> = Vec::new();
        for (case, _) in results {
            let key = key(case);
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        for word in keys {
            let of_key: Vec<Judged> =
                results.iter().filter(|(case, _)| key(case) == word).map(|(_, j)| *j).collect();
            rows.push(row(format!("{name} {word}"), &of_key));
        }
    }
    let all: Vec<Judged> = results.iter().map(|(_, judged)| *judged).collect();
    rows.push(row("all".to_owned(), &all));
    let mut text = String::new();
    for [name, cells @ ..] in rows {
        text += &format!("{name:<18}");
        for cell in cells {
            text += &format!(" {cell:>9}");
        }
        text.push('\n');
    }
    text
}

fn row(name: String, judged: &[Judged]) -> [String; 7] {
    let count = |of: fn(&Judged) -> bool| judged.iter().filter(|j| of(j)).count().to_string();
    let with_callee = judged.iter().filter_map(|j| j.callee);
    let callee = format!("{}/{}", with_callee.clone().filter(|right| *right).count(), with_callee.count());
    [
        name,
        judged.len().to_string(),
        count(|j| j.message),
        count(|j| j.chain),
        count(|j| j.method),
        count(|j| j.right()),
        callee,
    ]
}
