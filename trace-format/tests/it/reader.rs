//! The reader against recordings that the synthetic builder made, whole and damaged.

use proptest::prelude::*;
use trace_format::event::{Clocks, Frame, Message, Stage, Wait, WaitKind};
use trace_format::section::SectionKind;
use trace_format::synth::{RecordingBuilder, ThreadBuilder};
use trace_format::{Event, Fault, Item, MapId, ReadError, Recording, Source, TextId, Thread, compact};

fn events<S: Source>(recording: &Recording<S>, thread: &Thread) -> Vec<(u64, Event)> {
    recording
        .events(thread)
        .filter_map(|item| match item.expect("memory does not fail") {
            Item::Event { time, event } => Some((time, event)),
            Item::Lost { .. } | Item::Fault(_) => None,
        })
        .collect()
}

/// A recording with something of everything.
fn rich() -> Vec<u8> {
    let mut b = RecordingBuilder::new(4242, "com.example.app").map_id(MapId(0xabc)).last_alive(900_000);
    let (target, callback, lock) = (b.text("android.os.Handler"), b.text("com.example.Sync"), b.text("Lock"));
    b.main("main", |t| {
        t.event(
            2_000,
            Event::MessageBegin(Message { target, callback, what: -3, due: 1_500, ..Message::default() }),
        )
        .event(
            2_100,
            Event::FrameBegin(Frame { vsync: 9, intended: 2_050, interval: 16_666_667, ..Frame::default() }),
        )
        .stage(Stage::Input, 2_200, 2_300)
        .stage(Stage::Traversal, 2_400, 2_500)
        .event(2_600, Event::FrameEnd)
        .enter(3_000, 77)
        .event(
            3_100,
            Event::WaitBegin(Wait { owner: 2, lock: 5, class: lock, ..Wait::new(WaitKind::Monitor) }),
        );
    })
    .thread("worker", 4243, |t| {
        t.enter(1_500, 1).enter(1_600, 2).exit(1_700, 2);
    })
    .service(|t| {
        t.event(1_000, Event::Clock(Clocks { boottime: 1_000, monotonic: 900, realtime: 5 }));
    })
    .section(SectionKind::Process, b"abi=x86_64\nsdk=34\n")
    .section(SectionKind::DumpText, "\"main\" prio=5".as_bytes())
    .build()
}

#[test]
fn everything_that_was_built_is_read_back() {
    let recording = Recording::open(rich()).unwrap();
    assert_eq!(recording.faults(), (&[][..], 0));
    let header = recording.header();
    assert_eq!((header.pid, header.map_id, header.last_alive), (4242, MapId(0xabc), 900_000));
    assert_eq!(header.process_name, "com.example.app");

    let [main, worker] = recording.threads() else { panic!("two threads") };
    assert!(main.main && !worker.main);
    assert_eq!((main.name.as_deref(), main.tid), (Some("main"), 4242));
    assert_eq!((worker.name.as_deref(), worker.tid, worker.started), (Some("worker"), 4243, 1_500));
    let on_main = events(&recording, main);
    assert_eq!(on_main.len(), 9);
    assert_eq!(on_main[7], (3_000, Event::Enter(77)));
    let Event::WaitBegin(wait) = on_main[8].1 else { panic!("{:?}", on_main[8]) };
    assert_eq!((wait.owner, recording.texts().get(wait.class)), (2, Some("Lock")));
    let Event::MessageBegin(message) = on_main[0].1 else { panic!("{:?}", on_main[0]) };
    assert_eq!(recording.texts().get(message.callback), Some("com.example.Sync"));
    assert_eq!((message.what, message.due), (-3, 1_500));
    assert_eq!(recording.clocks().unwrap().len(), 2);
    let kinds: Vec<_> = recording.sections().iter().map(|s| s.kind.unwrap()).collect();
    assert_eq!(kinds, [SectionKind::Process, SectionKind::DumpText]);
    let process = recording.payload(&recording.sections()[0]).unwrap().unwrap();
    assert_eq!(process, b"abi=x86_64\nsdk=34\n");
}

#[test]
fn a_wrapped_ring_is_read_in_order_with_the_count_of_overwritten_words() {
    let fill = |t: &mut ThreadBuilder| {
        t.overwritten(3);
        for i in 0..5_000 {
            t.enter(10_000 + i, 1 + i as u32);
        }
    };
    let mut recording = RecordingBuilder::new(1, "p");
    recording.main_ring_blocks = 2;
    let bytes = recording.main("main", fill).build();
    let recording = Recording::open(bytes).unwrap();
    let main = &recording.threads()[0];
    assert_eq!((main.overwritten(), main.words(), main.written()), (3 * 1016, 5_000, 3 * 1016 + 5_000));
    let ids: Vec<_> = events(&recording, main)
        .into_iter()
        .map(|(_, e)| if let Event::Enter(id) = e { id } else { 0 })
        .collect();
    assert_eq!(ids, (1..=5_000).collect::<Vec<_>>());
}

#[test]
fn a_payload_is_never_split_from_its_event() {
    let mut times = Vec::new();
    let bytes = RecordingBuilder::new(1, "p")
        .main("main", |t| {
            for i in 0..2_000_u64 {
                times.push(100 + i);
                t.event(100 + i, Event::Counter(TextId(7), i as f64));
            }
        })
        .build();
    let recording = Recording::open(bytes).unwrap();
    let read = events(&recording, &recording.threads()[0]);
    assert_eq!(read.iter().map(|(t, _)| *t).collect::<Vec<_>>(), times);
    assert!(read.iter().enumerate().all(|(i, (_, e))| *e == Event::Counter(TextId(7), i as f64)));
}

#[test]
fn a_gap_longer_than_the_time_field_is_kept_exact() {
    let day = 86_400_000_000_000;
    let bytes = RecordingBuilder::new(1, "p")
        .main("main", |t| {
            t.enter(1_000, 1).exit(1_000 + day, 1).enter(1_000 + 3 * day, 2);
        })
        .build();
    let recording = Recording::open(bytes).unwrap();
    let times: Vec<_> = events(&recording, &recording.threads()[0])
        .into_iter()
        .filter(|(_, e)| !matches!(e, Event::Time(_)))
        .map(|(t, _)| t)
        .collect();
    assert_eq!(times, [1_000, 1_000 + day, 1_000 + 3 * day]);
}

#[test]
fn an_invalid_file_has_a_named_error() {
    assert!(matches!(Recording::open(vec![]), Err(ReadError::TooShort { length: 0 })));
    assert!(matches!(Recording::open(b"PK\x03\x04 a zip".to_vec()), Err(ReadError::NotARecording)));
    assert!(matches!(Recording::open(vec![b'x'; 9_000]), Err(ReadError::NotARecording)));
    assert!(matches!(Recording::open(rich()[..100].to_vec()), Err(ReadError::TooShort { length: 100 })));
    let newer = RecordingBuilder::new(1, "p").version(2, 0).build();
    assert!(matches!(Recording::open(newer), Err(ReadError::NewerVersion { major: 2 })));
}

#[test]
fn a_greater_minor_version_is_read() {
    let later = RecordingBuilder::new(1, "p").version(1, 9).main("main", |t| {
        t.enter(1_000, 1);
    });
    assert_eq!(Recording::open(later.build()).unwrap().threads().len(), 1);
}

#[test]
fn a_block_reused_after_the_index_was_read_is_lost_not_wrong() {
    struct Changing(std::cell::RefCell<Vec<u8>>);
    impl Source for Changing {
        fn len(&self) -> u64 {
            self.0.borrow().as_slice().len() as u64
        }
        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.0.borrow().as_slice().read_at(offset, buffer)
        }
    }
    let bytes = RecordingBuilder::new(1, "p")
        .main("main", |t| {
            t.enter(1_000, 1).new_block(2_000).enter(2_000, 2);
        })
        .build();
    let recording = Recording::open(Changing(bytes.into())).unwrap();
    let main = recording.threads()[0].clone();
    // The writer reuses the first block: the main ring follows the header directly.
    recording.source().0.borrow_mut()[4096 + 16] = 9;
    let items: Vec<_> = recording.events(&main).map(Result::unwrap).collect();
    assert!(matches!(items[0], Item::Lost { words: 1 }), "{items:?}");
    assert!(matches!(items[1], Item::Event { event: Event::Enter(2), .. }), "{items:?}");
}

/// Reads everything. What matters is that reading ends, and what precedes the damage.
fn read_all(bytes: &[u8]) -> Option<Vec<Vec<(u64, Event)>>> {
    let recording = Recording::open(bytes).ok()?;
    let _ = recording.clocks().unwrap();
    for section in recording.sections() {
        let _ = recording.payload(section).unwrap();
    }
    Some(recording.threads().iter().map(|t| events(&recording, t)).collect())
}

#[test]
fn every_prefix_is_read_as_far_as_it_goes() {
    let whole = rich();
    let all = read_all(&whole).unwrap();
    for length in (0..whole.len()).rev() {
        let Some(threads) = read_all(&whole[..length]) else {
            assert!(length < 4096, "a recording cut at {length} still has its header");
            continue;
        };
        for (cut, full) in threads.iter().zip(&all) {
            assert!(full.starts_with(cut), "cut at {length}: {cut:?}");
        }
        let recording = Recording::open(&whole[..length]).unwrap();
        let fixed = recording.header().sections_at;
        let truncated = recording.faults().0.iter().any(|f| matches!(f, Fault::Truncated { .. }));
        assert_eq!(truncated, (length as u64) < fixed, "cut at {length}");
    }
}

proptest! {
    #[test]
    fn damage_anywhere_never_panics_and_time_never_runs_back(
        hits in prop::collection::vec((0..60_000usize, any::<u8>()), 1..40)
    ) {
        let mut bytes = rich();
        for (at, value) in hits {
            let n = bytes.len();
            bytes[at % n] = value;
        }
        for thread in read_all(&bytes).unwrap_or_default() {
            prop_assert!(thread.windows(2).all(|w| w[0].0 <= w[1].0));
        }
    }

    #[test]
    fn random_bytes_behind_a_good_header_never_panic(noise in prop::collection::vec(any::<u8>(), 0..40_000)) {
        let mut bytes = rich();
        bytes.truncate(4096);
        bytes.extend_from_slice(&noise);
        let _ = read_all(&bytes);
    }

    #[test]
    fn threads_round_trip(
        gaps in prop::collection::vec(prop::collection::vec((0..5_000_000_000_000u64, 1..0xFE7FFu32, any::<bool>()), 0..1_500), 1..4)
    ) {
        let mut builder = RecordingBuilder::new(7, "p");
        let mut expected = Vec::new();
        for (i, gaps) in gaps.iter().enumerate() {
            let mut log = Vec::new();
            let fill = |t: &mut ThreadBuilder| {
                let mut now = 1_000;
                for (gap, id, enter) in gaps {
                    now += gap;
                    let event = if *enter { Event::Enter(*id) } else { Event::Exit(*id) };
                    t.event(now, event);
                    log.push((now, event));
                }
            };
            builder = if i == 0 { builder.main("main", fill) } else { builder.thread("t", 10 + i as u32, fill) };
            // A living thread is listed although it has no events; main never loses its own.
            if i > 0 || !log.is_empty() {
                expected.push(log);
            }
        }
        let recording = Recording::open(builder.build()).unwrap();
        let read: Vec<_> = recording
            .threads()
            .iter()
            .map(|t| events(&recording, t).into_iter().filter(|(_, e)| !matches!(e, Event::Time(_))).collect::<Vec<_>>())
            .collect();
        prop_assert_eq!(read, expected);
    }
}

fn compacted(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let length = compact(&bytes, &mut out).unwrap();
    assert_eq!(length, out.len() as u64);
    out
}

/// All that a reader finds, but for where in the file it is.
fn found(bytes: &[u8]) -> impl PartialEq + std::fmt::Debug + use<> {
    let recording = Recording::open(bytes).unwrap();
    let mut header = recording.header().clone();
    header.sections_at = 0;
    let threads: Vec<_> = recording.service().into_iter().chain(recording.threads()).collect();
    let streams: Vec<_> = threads
        .iter()
        .map(|t| {
            let of = (t.uid, t.tid, t.name.clone(), t.main, t.started, t.ended, t.overwritten(), t.written());
            let items = recording.events(t).map(|item| match item.unwrap() {
                Item::Fault(_) => Item::Fault(Fault::BadBlock { offset: 0 }),
                other => other,
            });
            (of, items.collect::<Vec<_>>())
        })
        .collect();
    let sections: Vec<_> =
        recording.sections().iter().map(|s| (s.kind, s.version, recording.payload(s).unwrap())).collect();
    let texts: Vec<_> = (0..8).map(|n| recording.texts().get(TextId(n)).map(str::to_owned)).collect();
    (header, streams, sections, texts, recording.faults().0.len())
}

/// `bytes` as a recorder makes it: with room behind the blocks of each ring and behind both tables.
fn with_room(bytes: &[u8], blocks: usize) -> Vec<u8> {
    let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let regions = u32::from_le_bytes(bytes[20..24].try_into().unwrap()) as usize;
    let mut out = bytes[..4096].to_vec();
    for entry in (0..regions).map(|i| 128 + i * 32) {
        let (offset, length) = (u64_at(entry + 8) as usize, u64_at(entry + 16) as usize);
        let at = out.len() as u64;
        out.extend_from_slice(&bytes[offset..offset + length]);
        out.resize(out.len() + blocks * 8192, 0);
        let length = out.len() as u64 - at;
        out.resize(out.len().next_multiple_of(8192), 0);
        out[entry + 8..entry + 16].copy_from_slice(&at.to_le_bytes());
        out[entry + 16..entry + 24].copy_from_slice(&length.to_le_bytes());
    }
    let fixed = out.len() as u64;
    out[24..32].copy_from_slice(&fixed.to_le_bytes());
    out.extend_from_slice(&bytes[u64_at(24) as usize..]);
    out
}

#[test]
fn a_compacted_recording_has_the_same_content_in_less_space() {
    let whole = with_room(&rich(), 1_000);
    let small = compacted(&whole);
    assert_eq!(found(&small), found(&whole));
    assert!(small.len() < 50_000 && whole.len() > 30_000_000, "{} of {}", small.len(), whole.len());
    assert_eq!(compacted(&small), small, "there is nothing more to leave out");
}

#[test]
fn a_cut_recording_stays_cut_and_an_invalid_file_is_refused() {
    let whole = with_room(&rich(), 3);
    let cut = &whole[..whole.len() / 2];
    assert_eq!(compacted(cut), cut);
    assert!(compact(&b"no recording".as_slice(), &mut Vec::new()).is_err());
    assert!(compact(&&whole[..100], &mut Vec::new()).is_err());
}

proptest! {
    #[test]
    fn a_compacted_recording_keeps_any_content(
        lengths in proptest::collection::vec(0_u64..3_000, 1..5),
        coarse: bool,
        room in 0_usize..4,
        damage in proptest::collection::vec((4096_usize..60_000, any::<u8>()), 0..6),
    ) {
        let mut builder = RecordingBuilder::new(7, "p");
        let text = builder.text("a text");
        for (n, length) in lengths.iter().enumerate() {
            let fill = |t: &mut ThreadBuilder| {
                if coarse {
                    t.coarse();
                }
                for i in 0..*length {
                    t.enter(1_000 + i * 10, 1 + i as u32 % 9).exit(1_005 + i * 10, 1 + i as u32 % 9);
                }
                t.event(1_000_000, Event::Mark(text));
            };
            builder = if n == 0 { builder.main("main", fill) } else { builder.thread("t", 100 + n as u32, fill) };
        }
        let mut bytes = with_room(&builder.section(SectionKind::Process, b"a=b").build(), room);
        for (at, byte) in damage {
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
        }
        prop_assert_eq!(found(&compacted(&bytes)), found(&bytes));
    }
}
