//! All slices of a trace as the engine has them, for comparison with the model.

use exporter::model::Track;
use serde_json::Value;

use super::collect::{ChartSlice, Collected};

/// Separators between the fields of a slice, and between its arguments: the project's names do not contain
/// them.
const FIELD: char = '\u{1f}';
const ARGUMENT: char = '\u{1e}';

/// Queries all slices but those of the frame timeline, a thousand per row: a million rows would not fit.
pub fn query() -> String {
    // A JSON trace has threads of these names for the tracks that are not threads.
    let plain = Track::PLAIN.map(|track| format!("'{}'", track.described().expect("it has a name").0));
    "with texts as (
       select arg_set_id, group_concat(substr(key, instr(key, '.') + 1) || '=' ||
         coalesce(string_value, int_value, rtrim(rtrim(printf('%.6f', real_value), '0'), '.')), char(30)) text
       from args where key glob 'debug.*' or key glob 'args.*' group by arg_set_id),
     lines as (
       select s.id,
         iif(tr.name in (PLAIN) or tr.name glob 'locks of *' or tr.name glob 'queue of *', tr.name,
           coalesce(iif(t.name in (PLAIN) or t.name glob 'locks of *' or t.name glob 'queue of *', t.name, t.tid), tr.name, '?'))
         || char(31) || s.ts || char(31) || s.dur || char(31) || s.depth || char(31) || coalesce(s.name, '?')
         || char(31) || coalesce(a.text, '') line
       from slice s join track tr on s.track_id = tr.id left join thread_track tt on s.track_id = tt.id
         left join thread t using (utid) left join texts a using (arg_set_id)
       where tr.name is null or tr.name not in ('Actual Timeline', 'Expected Timeline'))
     select group_concat(line, char(10)) lines from lines group by id / 1000"
        .replace("PLAIN", &plain.join(","))
}

/// The slices in that query's answer, sorted.
pub fn parse(rows: &[Value]) -> Vec<ChartSlice> {
    let lines = rows.iter().flat_map(|row| row["lines"].as_str().expect("text").lines());
    let mut slices: Vec<ChartSlice> = lines
        .map(|line| {
            let fields: Vec<&str> = line.split(FIELD).collect();
            let [place, ts, dur, depth, name, args] = fields[..] else { panic!("{line:?}") };
            let number = |text: &str| text.parse().unwrap_or_else(|e| panic!("{text}: {e} in {line:?}"));
            let args = args.split(ARGUMENT).filter_map(|arg| arg.split_once('='));
            let mut args: Vec<_> = args.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
            args.sort();
            ChartSlice {
                place: place.to_owned(),
                ts: number(ts),
                dur: number(dur),
                depth: number(depth),
                name: name.to_owned(),
                incomplete: args.iter().any(|(key, value)| key == "incomplete" && value == "1"),
                args,
            }
        })
        .collect();
    slices.sort();
    slices
}

/// Whether a form has the depth of every slice. JSON may lose that of a slice without duration if another
/// starts at the same time, which is frequent with coarse times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Depths {
    Kept,
    Lost,
}

/// Compares every row.
pub fn same(model: Collected, mut found: Vec<ChartSlice>, depths: Depths, what: &str) {
    let mut wanted = model.slices;
    let instants = model.instants.into_iter().zip(model.instant_args);
    // The depth of an instant is up to the engine.
    let instants: Vec<ChartSlice> = instants
        .map(|((place, ts, name), args)| ChartSlice {
            place,
            ts,
            dur: 0,
            depth: u64::MAX,
            name,
            incomplete: false,
            args,
        })
        .collect();
    let places: std::collections::HashSet<(&str, u64, &str)> =
        instants.iter().map(|i| (i.place.as_str(), i.ts, i.name.as_str())).collect();
    for slice in &mut found {
        if slice.dur == 0 && places.contains(&(slice.place.as_str(), slice.ts, slice.name.as_str())) {
            slice.depth = u64::MAX;
        }
    }
    wanted.extend(instants);
    if depths == Depths::Lost {
        wanted.iter_mut().chain(&mut found).for_each(|slice| slice.depth = 0);
    }
    wanted.sort();
    found.sort();
    for (i, (w, f)) in wanted.iter().zip(&found).enumerate() {
        assert_eq!(w, f, "row {i} of {} in {what}", wanted.len());
    }
    assert_eq!(wanted.len(), found.len(), "{what}");
}
