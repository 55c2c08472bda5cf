//! Any recording, well-formed or not: the model balances, and both writers agree with it, according to decoders
//! that share nothing with them (prost, serde_json).

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;
use test_support::recordings;

use exporter::model::Track;
use exporter::{ExportInput, ExportOptions, Format, Selection, export};
use proptest::prelude::*;
use prost::Message;
use test_support::recordings::collect::{ChartSlice, collect, collect_part};
use test_support::recordings::map;
use trace_format::event::{
    CallId, Change, Control, Folded, Frame, FrameMetrics, InputEvents, OpenCalls, Stage, Standstill, TextId,
    Usage, Wait, WaitKind,
};
use trace_format::section::SectionKind;
use trace_format::synth::RecordingBuilder;
use trace_format::{Event, Recording, ids};

/// The part of Perfetto's schema that traces use.
mod schema {
    use prost::Message;

    #[derive(Clone, PartialEq, Message)]
    pub(crate) struct Trace {
        #[prost(message, repeated, tag = "1")]
        pub(crate) packet: Vec<TracePacket>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(crate) struct TracePacket {
        #[prost(uint64, optional, tag = "8")]
        pub(crate) timestamp: Option<u64>,
        #[prost(uint32, optional, tag = "58")]
        pub(crate) timestamp_clock_id: Option<u32>,
        #[prost(uint32, optional, tag = "10")]
        pub(crate) sequence: Option<u32>,
        #[prost(uint32, optional, tag = "13")]
        pub(crate) sequence_flags: Option<u32>,
        #[prost(message, optional, tag = "12")]
        pub(crate) interned_data: Option<InternedData>,
        #[prost(message, optional, tag = "59")]
        pub(crate) defaults: Option<Defaults>,
        #[prost(message, optional, tag = "6")]
        pub(crate) clock_snapshot: Option<ClockSnapshot>,
        #[prost(message, optional, tag = "11")]
        pub(crate) track_event: Option<TrackEvent>,
        #[prost(message, optional, tag = "60")]
        pub(crate) track_descriptor: Option<TrackDescriptor>,
        #[prost(bytes = "vec", optional, tag = "50")]
        pub(crate) compressed_packets: Option<Vec<u8>>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(crate) struct InternedData {
        #[prost(message, repeated, tag = "2")]
        pub(crate) event_names: Vec<InternedText>,
        #[prost(message, repeated, tag = "3")]
        pub(crate) annotation_names: Vec<InternedText>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(crate) struct InternedText {
        #[prost(uint64, tag = "1")]
        pub(crate) iid: u64,
        #[prost(string, tag = "2")]
        pub(crate) text: String,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(crate) struct Defaults {
        #[prost(message, optional, tag = "11")]
        pub(crate) track_event: Option<TrackEvent>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(crate) struct ClockSnapshot {
        #[prost(message, repeated, tag = "1")]
        pub(crate) clocks: Vec<Clock>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(crate) struct Clock {
        #[prost(uint32, tag = "1")]
        pub(crate) id: u32,
        #[prost(uint64, tag = "2")]
        pub(crate) timestamp: u64,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(crate) struct TrackEvent {
        #[prost(uint32, optional, tag = "9")]
        pub(crate) ty: Option<u32>,
        #[prost(uint64, optional, tag = "10")]
        pub(crate) name_iid: Option<u64>,
        #[prost(string, optional, tag = "23")]
        pub(crate) name: Option<String>,
        #[prost(uint64, optional, tag = "11")]
        pub(crate) track: Option<u64>,
        #[prost(message, repeated, tag = "4")]
        pub(crate) annotations: Vec<Annotation>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(crate) struct Annotation {
        #[prost(uint64, tag = "1")]
        pub(crate) name_iid: u64,
        #[prost(bool, optional, tag = "2")]
        pub(crate) bool_value: Option<bool>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(crate) struct TrackDescriptor {
        #[prost(uint64, tag = "1")]
        pub(crate) uuid: u64,
        #[prost(string, optional, tag = "2")]
        pub(crate) name: Option<String>,
        #[prost(message, optional, tag = "4")]
        pub(crate) thread: Option<Thread>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(crate) struct Thread {
        #[prost(uint32, tag = "2")]
        pub(crate) tid: u32,
    }
}

/// A reader's state of one packet sequence.
#[derive(Default)]
struct Sequence {
    now: u64,
    track: u64,
    names: HashMap<u64, String>,
    keys: HashMap<u64, String>,
    open: Vec<(u64, String)>,
}

/// Packets in file order, including those in compressed blocks.
fn packets(bytes: &[u8], out: &mut Vec<schema::TracePacket>) {
    for packet in schema::Trace::decode(bytes).expect("a trace").packet {
        match &packet.compressed_packets {
            Some(block) => {
                let mut plain = Vec::new();
                flate2::read::ZlibDecoder::new(&block[..]).read_to_end(&mut plain).expect("zlib");
                assert!(plain.len() < 512 << 10, "a block of {} bytes", plain.len());
                packets(&plain, out);
            }
            None => out.push(packet),
        }
    }
}

/// The slices of a Perfetto trace.
fn perfetto_slices(bytes: &[u8]) -> Vec<ChartSlice> {
    let mut all = Vec::new();
    packets(bytes, &mut all);
    let mut places: HashMap<u64, String> = HashMap::new();
    let mut sequences: HashMap<u32, Sequence> = HashMap::new();
    let mut slices = Vec::new();
    for packet in all {
        if let Some(d) = packet.track_descriptor {
            assert_eq!(packet.sequence, None, "a descriptor is on no sequence");
            let place = d.thread.map(|t| t.tid.to_string()).or(d.name).unwrap_or_default();
            assert!(places.insert(d.uuid, place).is_none(), "track {} twice", d.uuid);
            continue;
        }
        let Some(id) = packet.sequence else { continue };
        if packet.sequence_flags == Some(1) {
            let clocks = packet.clock_snapshot.as_ref().expect("a head has clocks");
            let at = |id| clocks.clocks.iter().find(|c| c.id == id).expect("clock").timestamp;
            assert_eq!(at(64), 0);
            let track = packet.defaults.and_then(|d| d.track_event).and_then(|e| e.track).expect("a track");
            let fresh = Sequence { now: at(6), track, ..Sequence::default() };
            assert!(sequences.insert(id, fresh).is_none(), "sequence {id} begins twice");
            continue;
        }
        let s = sequences.get_mut(&id).expect("a head comes first");
        for (table, texts) in
            packet.interned_data.map(|d| [(0, d.event_names), (1, d.annotation_names)]).into_iter().flatten()
        {
            let table = if table == 0 { &mut s.names } else { &mut s.keys };
            for text in texts {
                assert!(text.iid > 0 && table.insert(text.iid, text.text).is_none());
            }
        }
        let Some(event) = packet.track_event else { continue };
        let at = match packet.timestamp_clock_id {
            Some(clock) => {
                assert_eq!(clock, 6);
                packet.timestamp.expect("a time")
            }
            None => {
                s.now += packet.timestamp.expect("a time, even if it is 0");
                s.now
            }
        };
        assert!(event.track.is_none_or(|t| places.contains_key(&t)), "an unknown track");
        match event.ty {
            Some(1) => {
                let name = event.name.or_else(|| s.names.get(&event.name_iid?).cloned());
                s.open.push((at, name.expect("a name")));
            }
            Some(2) => {
                let (ts, name) = s.open.pop().expect("an end has a begin");
                let incomplete = event
                    .annotations
                    .iter()
                    .any(|a| s.keys[&a.name_iid] == "incomplete" && a.bool_value == Some(true));
                let place = places[&s.track].clone();
                slices.push(ChartSlice {
                    place,
                    ts,
                    dur: at - ts,
                    depth: s.open.len() as u64,
                    name,
                    incomplete,
                    args: Vec::new(),
                });
            }
            Some(3 | 4) => {}
            other => panic!("type {other:?}"),
        }
    }
    assert!(sequences.values().all(|s| s.open.is_empty()), "slices left open");
    slices.sort();
    slices
}

/// Whether a track of this name does not belong to a thread.
fn is_no_threads(name: &str) -> bool {
    name.starts_with("locks of ")
        || Track::PLAIN.iter().any(|track| track.described().expect("a name").0 == name)
}

/// The slices of a JSON trace, without their depths, which it does not have.
fn json_slices(bytes: &[u8]) -> Vec<ChartSlice> {
    let document: serde_json::Value = serde_json::from_slice(bytes).expect("JSON");
    // After months of uptime, or what a damaged header mistakes for it, times are relative to the trace's
    // start.
    let base =
        document["metadata"]["anrscope.base_ns"].as_str().map_or(0, |ns| ns.parse().expect("a number"));
    // Times are parsed from the text, one event per line: a reader's doubles would lose digits.
    let ns = |line: &str, key: &str| {
        let text = line.split_once(key).expect("a time").1;
        let (us, rest) = text.split_once('.').expect("decimals");
        assert!(!rest.as_bytes()[3].is_ascii_digit());
        us.parse::<u64>().unwrap() * 1000 + rest[..3].parse::<u64>().unwrap()
    };
    let events = document["traceEvents"].as_array().expect("events");
    let plain: HashMap<String, &str> = events
        .iter()
        .filter(|e| e["ph"] == "M" && e["name"] == "thread_name")
        .filter_map(|e| Some((e["tid"].to_string(), e["args"]["name"].as_str()?)))
        .filter(|(_, name)| is_no_threads(name))
        .collect();
    let text = std::str::from_utf8(bytes).expect("UTF-8");
    let mut slices: Vec<ChartSlice> = text
        .lines()
        .filter(|line| line.starts_with("{\"ph\":\"X\""))
        .map(|line| {
            let e: serde_json::Value = serde_json::from_str(line.trim_end_matches(',')).expect("an event");
            let tid = e["tid"].to_string();
            ChartSlice {
                place: plain.get(&tid).map_or(tid, |name| (*name).to_owned()),
                ts: base + ns(line, "\"ts\":"),
                dur: ns(line, "\"dur\":"),
                depth: 0,
                name: e["name"].as_str().expect("a name").to_owned(),
                incomplete: e["args"]["incomplete"] == true,
                args: Vec::new(),
            }
        })
        .collect();
    assert_eq!(slices.len(), events.iter().filter(|e| e["ph"] == "X").count());
    slices.sort();
    slices
}

fn written(bytes: &[u8], format: Format, level: u32) -> Vec<u8> {
    let recording = Recording::open(bytes).unwrap();
    let map = map();
    let input = ExportInput { file: Path::new("test"), recording: &recording, map: &map };
    let mut out = Vec::new();
    let summary = export(&[input], &ExportOptions::new(format, level), &mut out).unwrap();
    assert_eq!(summary.bytes, out.len() as u64);
    out
}

fn agree(bytes: &[u8]) -> Result<(), TestCaseError> {
    let (mut model, _) = collect(bytes, &map());
    // Arguments are compared in the engine's own rows.
    model.slices.iter_mut().for_each(|s| s.args.clear());
    model.slices.sort();
    for level in [0, 6] {
        prop_assert_eq!(&perfetto_slices(&written(bytes, Format::Perfetto, level)), &model.slices);
    }
    let mut flat = model.slices;
    flat.iter_mut().for_each(|s| s.depth = 0);
    flat.sort();
    prop_assert_eq!(json_slices(&written(bytes, Format::ChromeJson, 0)), flat);
    Ok(())
}

fn any_event() -> impl Strategy<Value = Event> {
    let text = || (0..4u32).prop_map(TextId);
    let stage = || prop::sample::select(Stage::ALL);
    prop_oneof![
        8 => (1..8u32).prop_map(Event::Enter),
        8 => (1..8u32).prop_map(Event::Exit),
        1 => prop_oneof![Just(Event::Enter(ids::DISPATCH)), Just(Event::Exit(ids::DISPATCH))],
        1 => (text(), text(), any::<i32>(), any::<u64>()).prop_map(|(target, callback, what, due)| {
            Event::MessageBegin(trace_format::event::Message { target, callback, what, handler: due as u32, due, object: due as u32 })
        }),
        1 => Just(Event::MessageEnd),
        1 => (any::<u64>(), any::<u64>(), any::<u64>()).prop_map(|(vsync, intended, interval)| {
            Event::FrameBegin(Frame { vsync, intended, interval, estimated: vsync % 2 == 1 })
        }),
        1 => (10..12u64, 0..20_000_000u64, any::<u32>()).prop_map(|(s, interval, metrics)| {
            // Close enough to be a frame's vsync.
            let intended = s * recordings::S;
            if metrics % 3 == 0 {
                let total = u64::from(metrics);
                let metrics = FrameMetrics { intended, total, input: total, ..FrameMetrics::default() };
                return Event::FrameMetrics(metrics);
            }
            if metrics % 3 == 1 {
                let oldest = intended.saturating_sub(interval);
                return Event::InputEvents(InputEvents { intended, oldest, newest: intended });
            }
            Event::FrameBegin(Frame { vsync: 7, intended, interval, estimated: false })
        }),
        1 => Just(Event::FrameEnd),
        2 => stage().prop_map(Event::StageBegin),
        2 => stage().prop_map(Event::StageEnd),
        1 => (prop::sample::select(WaitKind::ALL), 0..4u32, any::<u64>(), text(), 0..300u32)
            .prop_map(|(kind, owner, lock, class, call)| {
                Event::WaitBegin(Wait { kind, owner, lock, class, call: CallId(call) })
            }),
        1 => Just(Event::WaitEnd),
        1 => text().prop_map(Event::Mark),
        1 => text().prop_map(Event::SpanBegin),
        1 => Just(Event::SpanEnd),
        1 => text().prop_map(Event::IdleBegin),
        1 => Just(Event::IdleEnd),
        1 => (text(), any::<f64>()).prop_map(|(t, v)| Event::Counter(t, v)),
        1 => (text(), any::<bool>()).prop_map(|(t, g)| Event::Focus(t, g)),
        1 => (0..9u32, 0..4u32, prop::collection::vec(1..8u32, 0..6))
            .prop_map(|(depth, first, ids)| Event::OpenCalls(OpenCalls::new(depth, first, &ids))),
        1 => (any::<u64>(), 0..14u64, any::<[(u32, u32); 4]>())
            .prop_map(|(calls, s, hot)| Event::Folded(Folded { calls, since: s * recordings::S, hot })),
        1 => (any::<u8>().prop_filter("unknown", |t| (0x30..0xF0).contains(t)), any::<bool>())
            .prop_map(|(ty, begin)| Event::Unknown { ty, begin }),
    ]
}

/// Events of the service ring. Times of signals and stalls are filled in.
fn any_service() -> impl Strategy<Value = Event> {
    let changes = [
        Change::Paused,
        Change::Resumed,
        Change::Coarse,
        Change::Precise,
        Change::MethodOff,
        Change::MethodOn,
        Change::OverBudget,
    ];
    prop_oneof![
        Just(Event::Stall(trace_format::event::Stall::default())),
        Just(Event::Sigquit(recordings::sigquit(0, 0))),
        (prop::sample::select(changes.to_vec()), 0..4u32, any::<u64>())
            .prop_map(|(change, method, rate)| Event::Control(Control { change, method, rate })),
        (0..20u64, 0..20u64).prop_map(|(since, until)| {
            Event::Standstill(Standstill { since: since * recordings::S, until: until * recordings::S })
        }),
        (any::<u8>(), any::<u64>(), any::<u64>(), any::<u32>()).prop_map(
            |(state, ran, waited, voluntary)| {
                // The synthetic main thread, if that is the process's id.
                Event::Usage(Usage { tid: 1, state, ran, waited, voluntary, involuntary: 0 })
            }
        ),
    ]
}

/// A file; printing it would be useless.
#[derive(Clone)]
struct Bytes(Vec<u8>);

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

fn any_recording() -> impl Strategy<Value = Bytes> {
    // Some threads have overwritten words, and lost words in the middle.
    let events = || {
        let all = prop::collection::vec((0..3_000_000_000u64, prop::bool::ANY, any_event()), 0..120);
        (all, 0..3u64, prop::collection::vec(0..120usize, 0..3))
    };
    let kept = prop::collection::vec((1..5_000_000_000u64, 0..4u64, any_service()), 0..12);
    let all =
        (prop::collection::vec(events(), 0..4), kept, prop_oneof![any::<u32>(), Just(1)], any::<bool>());
    all.prop_map(|(threads, service, pid, measured)| {
        let mut builder = RecordingBuilder::new(pid, "p\"q").start(recordings::clocks(10 * recordings::S));
        for text in ["one", "two \" \\", "three"] {
            builder.text(text);
        }
        let start = 10 * recordings::S;
        for (i, (events, overwritten, breaks)) in threads.into_iter().enumerate() {
            let fill = |t: &mut trace_format::synth::ThreadBuilder| {
                let mut now = start;
                t.overwritten(overwritten.saturating_sub(1)).checkpoints(3);
                for (i, (gap, still, event)) in events.into_iter().enumerate() {
                    now += if still { 0 } else { gap };
                    if breaks.contains(&i) {
                        t.new_block(now);
                    }
                    t.event(now, event);
                }
                if breaks.len() > 1 {
                    t.lose(1..2);
                }
            };
            builder = if i == 0 { builder.main("main", fill) } else { builder.thread("t", 5, fill) };
        }
        if measured {
            let lines = b"11000000000 cost 30 1000 4.5\n12000000000 off 3 90000\n13000000000 cost 1 1 99999\n14000000000 on 3\n";
            builder = builder.section(SectionKind::Overhead, lines);
            let text = b"clock=vDSO\nns_per_event_coarse=1e5\nns_per_event_precise=40.5\n";
            builder = builder.section(SectionKind::SelfMeasurement, text);
        }
        let file = builder
            .service(|t| {
                let mut now = start;
                for (gap, back, kind) in service {
                    now += gap;
                    let stuck_since = if back == 0 { 0 } else { now.saturating_sub(back * recordings::S) };
                    t.event(
                        now,
                        match kind {
                            Event::Stall(_) => Event::Stall(trace_format::event::Stall { stuck_since }),
                            Event::Sigquit(_) => Event::Sigquit(recordings::sigquit(now, stuck_since)),
                            other => other,
                        },
                    );
                }
            })
            .build();
        Bytes(file)
    })
}

#[test]
fn a_stall_is_read_by_other_decoders_as_it_was_meant() {
    agree(&recordings::stalled().build()).unwrap();
}

#[test]
fn compressed_blocks_stay_below_the_engines_limit_and_lose_nothing() {
    let bytes = RecordingBuilder::new(7, "big").main("main", |t| {
        for i in 0..60_000u64 {
            t.enter(recordings::S + i * 1_000_003, 1 + (i % 5) as u32)
                .exit(recordings::S + i * 1_000_003 + 7, 1 + (i % 5) as u32);
        }
    });
    agree(&bytes.build()).unwrap();
}

#[test]
fn a_header_with_impossible_counts_is_no_reason_to_stop() {
    let mut bytes = recordings::stalled().build();
    bytes[80..120].fill(0xFF);
    agree(&bytes).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn writers_say_what_the_model_says(bytes in any_recording()) {
        agree(&bytes.0)?;
    }

    #[test]
    fn a_part_has_what_is_within_its_time_and_lasts_long_enough(
        bytes in any_recording(),
        from in 0..40_000u64,
        length in 0..40_000u64,
        min in prop_oneof![Just(0), 0..2_000u64],
    ) {
        let (from, length, min) = (from * recordings::MS, length * recordings::MS, min * recordings::MS);
        let (whole, _) = collect(&bytes.0, &map());
        let selection = Selection { from: Some(from), to: Some(from + length), min_duration: min, threads: Vec::new() };
        let (part, _) = collect_part(&bytes.0, &map(), &selection);
        let start = whole.start;
        // A slice with a selected instant in it stays, however short it is.
        let marked = |s: &ChartSlice| part.instants.iter().any(|(place, at, _)| {
            *place == s.place && (s.ts..=s.ts + s.dur).contains(at)
        });
        let in_time = |s: &ChartSlice| s.ts + s.dur >= start + from && s.ts <= start + from + length;
        let long = |s: &ChartSlice| s.dur >= min || is_no_threads(&s.place);
        let sure: Vec<&ChartSlice> = whole.slices.iter().filter(|s| in_time(s) && long(s)).collect();
        let kept: Vec<&ChartSlice> = part.slices.iter().filter(|s| long(s)).collect();
        prop_assert_eq!(sure, kept);
        prop_assert!(part.slices.iter().filter(|s| !long(s)).all(marked));
    }

    #[test]
    fn damage_is_exported_as_far_as_it_can_be_read(
        bytes in any_recording(),
        hits in prop::collection::vec((0..60_000usize, any::<u8>()), 1..60),
    ) {
        let mut bytes = bytes.0;
        for (at, value) in hits {
            let n = bytes.len();
            // After the magic and the lengths, without which there is no recording.
            bytes[28 + at % (n - 28)] = value;
        }
        // Do not change the map's id: which names are used is not tested here.
        bytes[48..56].fill(0);
        if Recording::open(&bytes).is_ok() {
            agree(&bytes)?;
            let recording = Recording::open(&bytes).unwrap();
            let report = exporter::Report::build(Path::new("test"), &recording, &map()).unwrap();
            prop_assert!(report.to_string().lines().count() > 2);
        }
    }
}
