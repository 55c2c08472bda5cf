//! Edits of a map file that leave most of its text unchanged.

use core::ops::Range;

/// A piece of the text, and its replacement.
#[derive(Debug)]
pub(crate) struct Edit {
    pub(crate) at: Range<usize>,
    pub(crate) text: String,
}

/// Returns the range of the line with this id, including its line end.
///
/// The lines of `text` start with ascending ids and a comma; returns `None` if they do not. If no line has this id, returns
/// the empty range at which to insert it.
pub(crate) fn line_of(text: &str, id: u32) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let end_of = |from: usize| -> Option<usize> {
        Some(from + bytes.get(from..)?.iter().position(|&byte| byte == b'\n')? + 1)
    };
    // The line is inside this range of whole lines, or its place is at one of the ends.
    let (mut low, mut high) = (0, bytes.len());
    while low < high {
        let middle = low + (high - low) / 2;
        let before = bytes.get(low..middle)?.iter().rposition(|&byte| byte == b'\n');
        let start = before.map_or(low, |at| low + at + 1);
        let end = end_of(start)?;
        let found = text.get(start..end)?.split_once(',')?.0.parse::<u32>().ok()?;
        match found.cmp(&id) {
            core::cmp::Ordering::Equal => return Some(start..end),
            core::cmp::Ordering::Less => low = end,
            core::cmp::Ordering::Greater => high = start,
        }
    }
    Some(low..low)
}

/// Returns the edited text, and the length of its unchanged beginning; `None` if two edits overlap.
pub(crate) fn edited(text: &str, mut edits: Vec<Edit>) -> Option<(String, usize)> {
    // Edits at the same position keep their order.
    edits.sort_by_key(|edit| (edit.at.start, edit.at.end));
    let longer: usize = edits.iter().map(|edit| edit.text.len()).sum();
    let mut new = String::with_capacity(text.len() + longer);
    let mut copied = 0;
    for edit in &edits {
        new.push_str(text.get(copied..edit.at.start)?);
        new.push_str(&edit.text);
        copied = edit.at.end;
    }
    new.push_str(text.get(copied..)?);
    Some((new, edits.first().map_or(text.len(), |edit| edit.at.start)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_insertion_points_are_found_by_id() {
        let ids = [1_u32, 2, 5, 9, 10, 100, 1_048_574];
        for count in 0..=ids.len() {
            let line = |id: &u32| format!("{id},{}\n", "x".repeat(*id as usize % 7));
            let text: String = ids[..count].iter().map(line).collect();
            for id in [0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 99, 100, 101, 1_048_574, u32::MAX] {
                let before: usize =
                    ids[..count].iter().filter(|&&other| other < id).map(|id| line(id).len()).sum();
                let length = if ids[..count].contains(&id) { line(&id).len() } else { 0 };
                assert_eq!(line_of(&text, id), Some(before..before + length), "{id} in {text:?}");
            }
        }
        for broken in ["1,a", "x,1\n", "\n", "1\n"] {
            assert_eq!(line_of(broken, 1), None, "{broken:?}");
        }
    }

    #[test]
    fn edits_are_applied_in_order_and_must_not_overlap() {
        let edit = |at: Range<usize>, text: &str| Edit { at, text: text.to_owned() };
        let (new, same) =
            edited("0123456789", vec![edit(5..6, "five"), edit(2..2, "a"), edit(2..2, "b"), edit(2..3, "")])
                .unwrap();
        assert_eq!((new.as_str(), same), ("01ab34five6789", 2));
        assert_eq!(edited("01", Vec::new()).unwrap(), ("01".to_owned(), 2));
        assert!(edited("0123", vec![edit(0..2, ""), edit(1..3, "")]).is_none());
    }
}
