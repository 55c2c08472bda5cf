//! A trace as the other decoder reads it, in the form of the model.

use std::collections::HashMap;
use std::io::Read;

use exporter::model::{Jank, ProcessInfo, ThreadInfo};
use perfetto_protos::counter_descriptor::counter_descriptor::BuiltinCounterType;
use perfetto_protos::debug_annotation::{DebugAnnotation, debug_annotation};
use perfetto_protos::frame_timeline_event::FrameTimelineEvent;
use perfetto_protos::interned_data::InternedData;
use perfetto_protos::trace::Trace;
use perfetto_protos::trace_packet::TracePacket;
use perfetto_protos::track_descriptor::TrackDescriptor;
use perfetto_protos::track_event::{TrackEvent, track_event};
use protobuf::Message;
use trace_format::sections::process::Process;

use test_support::recordings::collect::{ChartSlice, Collected, number};

const BOOTTIME: u32 = 6;
const PRIVATE: u32 = 64;
/// The synthetic process that carries ANRs, see `perfetto/writer.rs`.
const SYSTEM_SERVER_PID: i32 = (1 << 24) - 1;

type Args = Vec<(String, String)>;

/// The declarations of a packet sequence.
#[derive(Default)]
struct Sequence {
    now: u64,
    track: u64,
    clock: u32,
    names: HashMap<u64, String>,
    keys: HashMap<u64, String>,
    values: HashMap<u64, String>,
    functions: HashMap<u64, String>,
    frames: HashMap<u64, u64>,
    stacks: HashMap<u64, Vec<u64>>,
    open: Vec<(u64, String, Args)>,
}

/// A track.
enum Place {
    /// Of slices: a tid, or its name.
    Named(String),
    /// Of a counter: its name, and whether it is the process's.
    Counter(String, bool),
    /// Of a thread's CPU time, which slices carry.
    ThreadTime,
    Process(i32),
}

#[derive(Default)]
struct Decoder {
    out: Collected,
    process: Option<ProcessInfo>,
    /// Threads from here on only have stacks.
    events: bool,
    sequences: HashMap<u32, Sequence>,
    places: HashMap<u64, Place>,
    /// Uid and parent of processes, by pid.
    owners: HashMap<i32, (u32, u32)>,
    /// ANRs by their identity, with their time.
    subjects: HashMap<String, u64>,
    /// Frames that have begun, by cookie: start, and the jank of an actual one.
    begun: HashMap<i64, (i64, u64, Option<Jank>)>,
    /// Expected starts, by token.
    expected: HashMap<i64, u64>,
}

fn packets(bytes: &[u8], out: &mut Vec<TracePacket>) -> Result<(), String> {
    for packet in Trace::parse_from_bytes(bytes).map_err(|e| e.to_string())?.packet {
        if packet.has_compressed_packets() {
            let mut inside = Vec::new();
            let block = packet.compressed_packets();
            flate2::read::ZlibDecoder::new(block).read_to_end(&mut inside).map_err(|e| e.to_string())?;
            packets(&inside, out)?;
        } else {
            out.push(packet);
        }
    }
    Ok(())
}

/// The model of a trace of one process.
pub(crate) fn decode(bytes: &[u8]) -> Result<Collected, String> {
    let mut all = Vec::new();
    packets(bytes, &mut all)?;
    let mut decoder = Decoder::default();
    for packet in &all {
        decoder.packet(packet)?;
    }
    if decoder.sequences.values().any(|s| !s.open.is_empty()) {
        return Err("slices are left open".to_owned());
    }
    let mut out = decoder.out;
    out.process = decoder.process;
    if let Some(process) = &mut out.process {
        let (uid, parent) =
            decoder.owners.get(&(process.pid as i32)).ok_or("a process that is in no tree")?;
        process.uid = *uid;
        process.system.parent_pid = Some(*parent).filter(|pid| *pid > 0);
    }
    out.slices.sort();
    Ok(out)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Decoder {
    fn packet(&mut self, packet: &TracePacket) -> Result<(), String> {
        let at = packet.timestamp();
        if packet.has_track_descriptor() {
            if packet.has_trusted_packet_sequence_id() {
                return Err("a descriptor is on a sequence".to_owned());
            }
            return self.describe(packet.track_descriptor());
        }
        if packet.has_frame_timeline_event() {
            return self.frame(at, packet.frame_timeline_event());
        }
        if packet.has_android_log() {
            for event in &packet.android_log().events {
                // The exporter's own line belongs to main, under its tag.
                let ours = event.tag() == "anrscope" && event.tid() == event.pid();
                let source = (!ours).then(|| (event.tid() as u32, event.tag().to_owned()));
                self.out.logs.push((at, source, event.message().to_owned()));
            }
            return Ok(());
        }
        if packet.has_process_tree() {
            for process in &packet.process_tree().processes {
                self.owners.insert(process.pid(), (process.uid() as u32, process.ppid() as u32));
            }
            return Ok(());
        }
        if !packet.has_trusted_packet_sequence_id() {
            return Ok(());
        }
        let id = packet.trusted_packet_sequence_id();
        if packet.sequence_flags() == 1 {
            let defaults = &packet.trace_packet_defaults;
            let mut fresh = Sequence {
                clock: defaults.timestamp_clock_id(),
                track: defaults.track_event_defaults.track_uuid(),
                ..Sequence::default()
            };
            if fresh.clock == PRIVATE {
                let clocks = &packet.clock_snapshot().clocks;
                let time = |id| clocks.iter().find(|c| c.clock_id() == id).ok_or("a head without its clocks");
                let own = time(PRIVATE)?;
                if (own.timestamp(), own.is_incremental(), own.unit_multiplier_ns()) != (0, true, 1) {
                    return Err(format!("a clock of another kind: {own:?}"));
                }
                fresh.now = time(BOOTTIME)?.timestamp();
            }
            return match self.sequences.insert(id, fresh) {
                Some(_) => Err(format!("sequence {id} begins twice")),
                None => Ok(()),
            };
        }
        let sequence = self.sequences.get_mut(&id).ok_or("a sequence without a head")?;
        if let Some(data) = packet.interned_data.as_ref() {
            sequence.learn(data);
        }
        let clock =
            if packet.has_timestamp_clock_id() { packet.timestamp_clock_id() } else { sequence.clock };
        let at = match clock {
            PRIVATE => {
                sequence.now += at;
                sequence.now
            }
            BOOTTIME => at,
            other => return Err(format!("clock {other}")),
        };
        self.events = true;
        if packet.has_track_event() {
            self.event(id, at, packet.track_event())
        } else if packet.has_perf_sample() {
            let sample = packet.perf_sample();
            let stack = sequence.stacks.get(&sample.callstack_iid()).ok_or("an unknown stack")?;
            let function = |frame: &u64| sequence.functions.get(sequence.frames.get(frame)?).cloned();
            let functions = stack.iter().map(function).collect::<Option<_>>().ok_or("an unknown function")?;
            self.out.stacks.push((at, sample.tid(), functions));
            Ok(())
        } else {
            Ok(())
        }
    }

    fn describe(&mut self, track: &TrackDescriptor) -> Result<(), String> {
        let place = if let Some(process) = track.process.as_ref() {
            if process.pid() != SYSTEM_SERVER_PID {
                self.process = Some(ProcessInfo {
                    pid: process.pid() as u32,
                    uid: 0,
                    name: process.process_name().to_owned(),
                    started: process.start_timestamp_ns() as u64,
                    description: None,
                    system: Process::default(),
                    plain_tids: Default::default(),
                    threads: Vec::new(),
                });
                if process.cmdline != [process.process_name().to_owned()] {
                    return Err(format!("another command line: {process:?}"));
                }
            }
            Place::Process(process.pid())
        } else if let Some(thread) = track.thread.as_ref() {
            let (tid, name) = (thread.tid() as u32, thread.thread_name.clone());
            if !self.events {
                let process = self.process.as_mut().ok_or("a thread of no process")?;
                process.threads.push(ThreadInfo { tid, recorded_tid: tid, name, main: false, rank: 0 });
            }
            Place::Named(tid.to_string())
        } else if track.counter.is_some() {
            let thread_time = track.counter.type_() == BuiltinCounterType::COUNTER_THREAD_TIME_NS;
            match self.places.get(&track.parent_uuid()) {
                Some(Place::Process(pid)) if !thread_time => {
                    Place::Counter(track.name().to_owned(), *pid != SYSTEM_SERVER_PID)
                }
                Some(Place::Named(_)) if thread_time => Place::ThreadTime,
                _ => return Err(format!("a counter of nothing: {track:?}")),
            }
        } else {
            Place::Named(track.name().to_owned())
        };
        match self.places.insert(track.uuid(), place) {
            Some(_) => Err(format!("track {} is described twice", track.uuid())),
            None => Ok(()),
        }
    }

    fn event(&mut self, id: u32, at: u64, event: &TrackEvent) -> Result<(), String> {
        let Self { out, sequences, places, subjects, .. } = self;
        let sequence = sequences.get_mut(&id).ok_or("a sequence without a head")?;
        let track = event.track_uuid.unwrap_or(sequence.track);
        let place = places.get(&track).ok_or_else(|| format!("an unknown track {track}"))?;
        for flow in &event.flow_ids {
            out.flows.push((*flow, at));
        }
        if event.extra_counter_track_uuids.len() != event.extra_counter_values.len() {
            return Err(format!("counters without a value: {event:?}"));
        }
        for (track, ns) in event.extra_counter_track_uuids.iter().zip(&event.extra_counter_values) {
            let Some(Place::ThreadTime) = places.get(track) else {
                return Err(format!("a counter beside an event that is no thread's time: {event:?}"));
            };
            out.thread_times.push((at, *ns as u64));
        }
        let args = event.debug_annotations.iter().map(|a| sequence.arg(a)).collect::<Result<Args, _>>()?;
        let name = || match &event.name_field {
            Some(track_event::Name_field::NameIid(iid)) => {
                sequence.names.get(iid).cloned().ok_or("an unknown name")
            }
            Some(track_event::Name_field::Name(name)) => Ok(name.clone()),
            _ => Err("no name"),
        };
        match (event.type_(), place) {
            (track_event::Type::TYPE_SLICE_BEGIN, Place::Named(_)) => {
                let name = name()?;
                sequence.open.push((at, name, args));
            }
            (track_event::Type::TYPE_SLICE_END, Place::Named(place)) => {
                let (ts, name, mut all) = sequence.open.pop().ok_or("an end without a begin")?;
                let incomplete = args.iter().any(|(key, _)| key == "incomplete");
                all.extend(args);
                all.sort();
                let (place, depth) = (place.clone(), sequence.open.len() as u64);
                out.slices.push(ChartSlice { place, ts, dur: at - ts, depth, name, incomplete, args: all });
            }
            (track_event::Type::TYPE_INSTANT, Place::Named(place)) => {
                out.instants.push((place.clone(), at, name()?));
                out.instant_args.push({
                    let mut args = args;
                    args.sort();
                    args
                });
            }
            (track_event::Type::TYPE_COUNTER, Place::Counter(name, true)) => {
                out.counters.push((at, name.clone(), event.double_counter_value()));
            }
            (track_event::Type::TYPE_COUNTER, Place::Counter(name, false)) => {
                if let Some(error) = name.strip_prefix("ErrorId:") {
                    subjects.insert(error.rsplit_once('#').ok_or("no number")?.1.to_owned(), at);
                } else {
                    let rest = name.strip_prefix("Subject(for ErrorId ").ok_or("no subject")?;
                    let (error, subject) = rest.split_once("):").ok_or("no subject")?;
                    if subjects.get(error) != Some(&at) {
                        return Err(format!("{name} without its error"));
                    }
                    out.anrs.push((at, subject.to_owned()));
                }
            }
            (kind, _) => return Err(format!("{kind:?} on another kind of track")),
        }
        Ok(())
    }

    fn frame(&mut self, at: u64, event: &FrameTimelineEvent) -> Result<(), String> {
        if event.has_expected_surface_frame_start() {
            let frame = event.expected_surface_frame_start();
            self.begun.insert(frame.cookie(), (frame.token(), at, None));
            self.expected.insert(frame.token(), at);
        } else if event.has_actual_surface_frame_start() {
            let frame = event.actual_surface_frame_start();
            let jank = match (frame.jank_type(), frame.jank_severity_type() as i32) {
                (1, 1) => Jank::None,
                (64, 2) => Jank::Late,
                (64, 3) => Jank::Frozen,
                other => return Err(format!("jank {other:?}")),
            };
            if frame.on_time_finish() != (jank == Jank::None) {
                return Err(format!("on time and {jank:?}"));
            }
            self.begun.insert(frame.cookie(), (frame.token(), at, Some(jank)));
        } else if event.has_frame_end() {
            let begun =
                self.begun.remove(&event.frame_end().cookie()).ok_or("a frame's end without its start")?;
            if let (token, begin, Some(jank)) = begun {
                self.out.frames.push((begin, at, self.expected.remove(&token), jank));
            }
        }
        Ok(())
    }
}

impl Sequence {
    fn learn(&mut self, data: &InternedData) {
        self.names.extend(data.event_names.iter().map(|n| (n.iid(), n.name().to_owned())));
        self.keys.extend(data.debug_annotation_names.iter().map(|n| (n.iid(), n.name().to_owned())));
        self.values.extend(data.debug_annotation_string_values.iter().map(|v| (v.iid(), text(v.str()))));
        self.functions.extend(data.function_names.iter().map(|f| (f.iid(), text(f.str()))));
        self.frames.extend(data.frames.iter().map(|f| (f.iid(), f.function_name_id())));
        self.stacks.extend(data.callstacks.iter().map(|s| (s.iid(), s.frame_ids.clone())));
    }

    fn arg(&self, arg: &DebugAnnotation) -> Result<(String, String), String> {
        let key = match &arg.name_field {
            Some(debug_annotation::Name_field::NameIid(iid)) => self.keys.get(iid).ok_or("an unknown key")?,
            Some(debug_annotation::Name_field::Name(name)) => name,
            _ => return Err("no key".to_owned()),
        };
        let value = match &arg.value {
            Some(debug_annotation::Value::BoolValue(yes)) => u8::from(*yes).to_string(),
            Some(debug_annotation::Value::UintValue(n)) => n.to_string(),
            Some(debug_annotation::Value::IntValue(n)) => n.to_string(),
            Some(debug_annotation::Value::DoubleValue(n)) => number(*n),
            Some(debug_annotation::Value::StringValue(text)) => text.clone(),
            Some(debug_annotation::Value::StringValueIid(iid)) => {
                self.values.get(iid).ok_or("an unknown text")?.clone()
            }
            other => return Err(format!("{other:?} of {key}")),
        };
        Ok((key.clone(), value))
    }
}
