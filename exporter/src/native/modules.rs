//! What native code was mapped at a moment: the lists of a recording, the nearest one first.

use trace_format::ReadError;
use trace_format::sections::native_modules::{JoinedModules, NativeModules};

use crate::facts::Facts;

/// The place of the list for a moment: the first one made from then on, else the last one.
pub(super) fn nearest(facts: &Facts<'_>, at: u64) -> usize {
    let lists = &facts.sections.native.modules;
    lists.partition_point(|(made, _)| *made < at).min(lists.len().saturating_sub(1))
}

/// The modules of the list at a place, and of the other lists what does not contradict it: a list has what the stacks
/// touched that it was made for. Mappings are in the order of their addresses.
pub(super) fn joined(facts: &Facts<'_>, nearest: usize) -> Result<NativeModules, ReadError> {
    let lists = &facts.sections.native.modules;
    let order = (0..=nearest).rev().chain(nearest + 1..lists.len());
    let mut all = JoinedModules::default();
    for (_, section) in order.filter_map(|place| lists.get(place)) {
        all.add(&facts.payload(section, NativeModules::parse).transpose()?.unwrap_or_default());
    }
    Ok(all.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::Recording;
    use trace_format::section::SectionKind;
    use trace_format::sections::native_modules::{Mapping, UnwindRow};
    use trace_format::synth::RecordingBuilder;

    fn list(at: u64, maps: &[(u64, u64, &str)]) -> NativeModules {
        let map = |(start, end, path): &(u64, u64, &str)| Mapping {
            start: *start,
            end: *end,
            offset: 0,
            bias: 0,
            build_id: Vec::new(),
            path: (*path).to_owned(),
        };
        let rows = vec![UnwindRow::Cie { address: 7, bytes: vec![at as u8] }];
        NativeModules { at, mappings: maps.iter().map(map).collect(), rows, ..NativeModules::default() }
    }

    #[test]
    fn lists_are_joined_and_the_nearest_one_counts_first() {
        let mut b = RecordingBuilder::new(1, "p");
        for list in [
            list(10, &[(100, 200, "old"), (300, 400, "kept")]),
            list(20, &[(150, 250, "new")]),
            list(30, &[(240, 260, "later"), (500, 600, "far")]),
        ] {
            b = b.section(SectionKind::NativeModules, &list.encode());
        }
        let recording = Recording::open(b.build()).unwrap();
        let facts = Facts::of(&recording).unwrap();
        let at = |at| -> Vec<String> {
            let found = joined(&facts, nearest(&facts, at)).unwrap();
            assert_eq!(found.rows.len(), 1);
            found.mappings.iter().map(|mapping| mapping.path.clone()).collect()
        };
        assert_eq!(at(15), ["new", "kept", "far"]);
        assert_eq!(at(5), ["old", "later", "kept", "far"]);
        assert_eq!(at(99), ["old", "later", "kept", "far"]);
    }
}
