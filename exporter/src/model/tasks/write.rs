//! Writes executors and handlers: a track for each with its queued tasks, and counters of its length and delay.

use super::super::sink::{Arg, Lane, Level, Sink, TallySink, Unit, Value};
use super::super::thread::Shared;
use super::queues::{Queue, Row};
use super::text::thread_name;
use crate::ExportError;

/// Maximum number of tasks side by side on one queue's tracks. Further ones are omitted, those that others wait for last.
const MAX_LANES: usize = 16;

/// Places tasks so that those of one lane follow each other; returns the lanes, and the number of tasks without one.
fn lanes(rows: &[Row]) -> (Vec<Vec<&Row>>, u64) {
    let mut lanes: Vec<Vec<&Row>> = Vec::new();
    let mut more = 0;
    let mut sorted: Vec<&Row> = rows.iter().collect();
    sorted.sort_by_key(|row| (row.marks.is_empty(), row.begin, row.task));
    for row in sorted {
        let place = |lane: &Vec<&Row>| {
            let place = lane.partition_point(|other| other.begin <= row.begin);
            let fits = place.checked_sub(1).is_none_or(|last| lane[last].end <= row.begin)
                && lane.get(place).is_none_or(|next| row.end <= next.begin);
            fits.then_some(place)
        };
        match lanes.iter().enumerate().find_map(|(lane, rows)| Some((lane, place(rows)?))) {
            Some((lane, place)) => lanes[lane].insert(place, row),
            None if lanes.len() < MAX_LANES => lanes.push(vec![row]),
            None => more += 1,
        }
    }
    (lanes, more)
}

/// Writes all queues. Must follow the threads: arrows of equal times follow the file's order.
pub(in crate::model) fn queue_tracks<K: Sink>(
    shared: &Shared<'_>,
    out: &mut TallySink<'_, K>,
) -> Result<(), ExportError> {
    let plan = &shared.tasks;
    let mut narrow = 0;
    for queue in &plan.queues {
        let name = format!("queue of {}", queue.label);
        let (lanes, more) = lanes(&queue.rows);
        narrow += more;
        for rows in lanes {
            out.lane(Lane::Queue(&name))?;
            for row in rows {
                slice(shared, row, out)?;
            }
        }
        counters(shared.start, &name, queue, out)?;
    }
    out.tally.skipped += narrow;
    let unknown = plan.queues.iter().fold(0, |sum: u64, queue| sum.saturating_add(queue.unknown));
    let left_out = [
        (plan.left_out.tasks, "tasks have no arrow and no slice in their queue"),
        (narrow, "queued tasks are left out, since too many were queued at once"),
        (plan.left_out.waits, "waits for tasks or threads have no arrow"),
        (plan.left_out.queues, "executors and handlers have no track and no counter"),
        (plan.work.dropped, "steps of concurrent work are left out, the oldest ones"),
        (unknown, "tasks are not counted as queued, since the recording does not show whether they started"),
    ];
    for (count, what) in left_out.into_iter().filter(|(count, _)| *count > 0) {
        out.log(shared.start, Level::Info, &format!("concurrent work: {count} {what}"))?;
    }
    Ok(())
}

fn slice<K: Sink>(shared: &Shared<'_>, row: &Row, out: &mut TallySink<'_, K>) -> Result<(), ExportError> {
    let text = shared.task_text(row.task);
    let begin = row.begin.max(shared.start);
    let end = row.end.max(begin);
    let mut args: Vec<Arg<'_>> = row.flows.iter().map(|flow| Arg::flow(*flow)).collect();
    args.push(Arg::new("task", Value::Text(&text.name)));
    args.extend(text.submitted(false));
    out.begin(begin, &format!("queued: {}", text.short()), &args)?;
    let mut marks = row.marks.clone();
    marks.sort_unstable();
    for (at, thread, flow) in marks {
        let name = format!("awaited by {}", thread_name(&shared.process.threads, thread));
        out.instant(at.clamp(begin, end), &name, &[Arg::flow(flow)])?;
    }
    out.tally.incomplete += u64::from(row.incomplete);
    let args = [Arg::new("queued_ms", Value::Millis(end - begin)), Arg::new("incomplete", Value::Bool(true))];
    out.end(end, if row.incomplete { &args } else { &args[..1] })
}

fn counters<K: Sink>(
    start: u64,
    name: &str,
    queue: &Queue,
    out: &mut TallySink<'_, K>,
) -> Result<(), ExportError> {
    let length = format!("{name}: length");
    for (at, tasks) in &queue.lengths {
        out.counter((*at).max(start), &length, Unit::Sign("tasks"), *tasks as f64)?;
    }
    let delay = format!("{name}: delay");
    for (at, queued) in &queue.delays {
        out.counter((*at).max(start), &delay, Unit::Sign("ms"), *queued as f64 / 1e6)?;
    }
    Ok(())
}
