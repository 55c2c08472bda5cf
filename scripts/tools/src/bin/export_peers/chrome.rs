//! Chrome's JSON by serde_json: complete events, like the exporter's.

use std::io::Write;

use serde::Serialize;

use super::{Call, Counted};

#[derive(Serialize)]
struct Complete<'a> {
    ph: &'a str,
    pid: u32,
    tid: u32,
    ts: f64,
    dur: f64,
    name: &'a str,
}

/// The length of a trace of these calls.
pub(crate) fn counted(calls: &[Call], names: &[String]) -> u64 {
    let mut out = Counted::default();
    let mut buffer = b"{\"traceEvents\":[\n".to_vec();
    let mut open = Vec::new();
    for (at, method) in calls {
        if let Some(id) = method {
            open.push((*at, *id));
            continue;
        }
        let (begin, id) = open.pop().expect("an end has a begin");
        let (ts, dur) = (begin as f64 / 1e3, (at - begin) as f64 / 1e3);
        let event = Complete { ph: "X", pid: 4242, tid: 4242, ts, dur, name: &names[id as usize] };
        serde_json::to_writer(&mut buffer, &event).expect("a Vec has room");
        buffer.extend_from_slice(b",\n");
        if buffer.len() >= 400 << 10 {
            out.write_all(&buffer).expect("nothing can fail here");
            buffer.clear();
        }
    }
    buffer.extend_from_slice(b"{}]}\n");
    out.write_all(&buffer).expect("nothing can fail here");
    out.0
}
