use super::*;
use proptest::prelude::*;

fn any_event() -> impl Strategy<Value = Event> {
    let text = || any::<u32>().prop_map(TextId);
    let stage = || prop::sample::select(Stage::ALL);
    prop_oneof![
        (1..=ids::METHOD_LAST).prop_map(Event::Enter),
        (1..=ids::METHOD_LAST).prop_map(Event::Exit),
        Just(Event::Enter(ids::DISPATCH)),
        any::<u64>().prop_map(Event::Time),
        (text(), text(), any::<i32>(), any::<u64>()).prop_map(|(target, callback, what, due)| {
            Event::MessageBegin(Message {
                target,
                callback,
                what,
                handler: due as u32,
                due,
                object: what as u32 / 2,
            })
        }),
        Just(Event::MessageEnd),
        (any::<u64>(), any::<u64>(), any::<u64>()).prop_map(|(vsync, intended, interval)| {
            Event::FrameBegin(Frame { vsync, intended, interval, estimated: vsync % 2 == 1 })
        }),
        Just(Event::FrameEnd),
        Just(Event::FrameSkipped),
        stage().prop_map(Event::StageBegin),
        stage().prop_map(Event::StageEnd),
        (any::<u32>().prop_map(|n| WaitKind::from(n % 9)), any::<u32>(), any::<u64>(), text(), any::<u32>())
            .prop_map(|(kind, owner, lock, class, call)| {
                Event::WaitBegin(Wait { kind, owner, lock, class, call: CallId(call) })
            }),
        Just(Event::WaitEnd),
        text().prop_map(Event::Mark),
        text().prop_map(Event::SpanBegin),
        Just(Event::SpanEnd),
        text().prop_map(Event::IdleBegin),
        Just(Event::IdleEnd),
        (text(), -1e300..1e300).prop_map(|(t, v)| Event::Counter(t, v)),
        (text(), any::<bool>()).prop_map(|(t, g)| Event::Focus(t, g)),
        any::<[u64; 13]>().prop_map(|w| {
            Event::FrameMetrics(FrameMetrics {
                intended: w[0],
                vsync: w[1],
                delay: w[2],
                input: w[3],
                animation: w[4],
                layout: w[5],
                draw: w[6],
                sync: w[7],
                command: w[8],
                swap: w[9],
                total: w[10],
                gpu: w[11],
                deadline: w[12],
            })
        }),
        prop_oneof![Just(LostEnd::Wait), Just(LostEnd::Any), (1..=ids::METHOD_LAST).prop_map(LostEnd::Exit)]
            .prop_map(Event::LostEnd),
        any::<[u64; 3]>().prop_map(|[intended, oldest, newest]| {
            Event::InputEvents(InputEvents { intended, oldest, newest })
        }),
        (0..1u32 << 24, 0..1u32 << 24, prop::collection::vec(1..=ids::METHOD_LAST, 0..=OpenCalls::MAX_IDS))
            .prop_map(|(depth, first, ids)| Event::OpenCalls(OpenCalls::new(depth, first, &ids))),
        (any::<[u64; 2]>(), prop::collection::vec((1..=ids::METHOD_LAST, any::<u32>()), 0..=4)).prop_map(
            |([calls, since], named)| {
                let mut hot = [(0, 0); 4];
                hot[..named.len()].copy_from_slice(&named);
                Event::Folded(Folded { calls, since, hot })
            }
        ),
        (any::<[u32; 6]>(), any::<u16>()).prop_map(
            |([step, method, object, other, class, other_class], line)| Event::Concurrency(Concurrency {
                step: ConcurrencyStep::from(step % 20),
                line,
                method,
                object,
                other,
                class: TextId(class),
                other_class: TextId(other_class),
            })
        ),
        any::<[u64; 2]>().prop_map(|[since, until]| Event::Standstill(Standstill { since, until })),
        (any::<u64>(), any::<u64>(), any::<u64>()).prop_map(|(boottime, monotonic, realtime)| {
            Event::Clock(Clocks { boottime, monotonic, realtime })
        }),
        (
            any::<u64>(),
            any::<i32>(),
            any::<u32>(),
            any::<u32>(),
            any::<u32>().prop_map(|n| Forward::from(n % 9))
        )
            .prop_map(|(sensed, si_code, si_pid, si_uid, forward)| Event::Sigquit(Sigquit {
                sensed,
                si_code,
                si_pid,
                si_uid,
                forward,
                stuck_since: sensed / 2,
            })),
        any::<u64>().prop_map(|stuck_since| Event::Stall(Stall { stuck_since })),
        any::<u64>().prop_map(|stuck_since| Event::Recovered(Stall { stuck_since })),
        text().prop_map(Event::Notice),
        (any::<u32>().prop_map(|n| Change::from(n % 9)), any::<u32>(), any::<u64>())
            .prop_map(|(change, method, rate)| Event::Control(Control { change, method, rate })),
        (any::<u32>(), any::<u8>(), any::<u64>(), any::<u64>(), any::<u32>(), any::<u32>()).prop_map(
            |(tid, state, ran, waited, voluntary, involuntary)| {
                Event::Usage(Usage { tid, state, ran, waited, voluntary, involuntary })
            }
        ),
    ]
}

proptest! {
    #[test]
    fn events_round_trip(event in any_event()) {
        let e = event.encode();
        prop_assert_eq!(payload_len(e.id), e.payload().len());
        prop_assert_eq!(Event::decode(e.begin, e.id, e.payload()), event);
    }

    #[test]
    fn any_id_and_payload_decode_to_something(begin: bool, id in 0..=0xF_FFFFu32, payload: Vec<u64>) {
        let _ = Event::decode(begin, id, &payload);
        prop_assert!(payload_len(id) <= MAX_PAYLOAD);
    }
}

#[test]
fn ids_outside_the_typed_range_have_no_payload() {
    for id in [1, ids::METHOD_LAST, ids::DISPATCH, ids::INVALID] {
        assert_eq!(payload_len(id), 0);
    }
}

#[test]
fn words_of_calls_are_waits() {
    let read = CallId::of("java.io.InputStream", "read");
    let word = ids::CALL_FIRST + read.0;
    let wait = Wait { call: read, ..Wait::new(WaitKind::Blocking) };
    assert_eq!(Event::decode(true, word, &[]), Event::WaitBegin(wait));
    assert_eq!(Event::decode(false, word, &[]), Event::WaitEnd);
    assert_eq!(Event::decode(true, ids::METHOD_LAST, &[]), Event::Enter(ids::METHOD_LAST));
    assert_eq!(CallId::of_word(ids::EVENT_FIRST), None);
}

#[test]
fn work_of_main_from_no_queue_differs_from_every_handlers_message() {
    let input = Message { handler: Message::NOT_QUEUED, ..Message::default() };
    let event = Event::MessageBegin(input).encode();
    assert_eq!(Event::decode(event.begin, event.id, event.payload()), Event::MessageBegin(input));
    assert!(!input.is_queued());
    // The greatest identity hash codes of HotSpot and of ART, and the number of an unknown handler.
    for handler in [i32::MAX as u32, (1 << 28) - 1, 0] {
        assert!(Message { handler, ..Message::default() }.is_queued());
    }
}

#[test]
fn numbers_of_a_later_version_stay_visible() {
    let wait = Event::WaitBegin(Wait { call: CallId(u32::MAX), ..Wait::new(WaitKind::Unknown(77)) });
    let sigquit = Event::Sigquit(Sigquit {
        sensed: 5,
        si_code: 0,
        si_pid: 1,
        si_uid: 1000,
        forward: Forward::Unknown(u32::MAX),
        stuck_since: 0,
    });
    let control = Event::Control(Control { change: Change::Unknown(0), method: 9, rate: 1 });
    for event in [wait, sigquit, control] {
        let e = event.encode();
        assert_eq!(Event::decode(e.begin, e.id, e.payload()), event);
    }
    for known in WaitKind::ALL {
        assert_eq!(WaitKind::from_number(known.number()), Some(*known));
    }
    assert_eq!(
        (WaitKind::from_number(7), Forward::from_number(0), Change::from_number(8)),
        (None, None, None)
    );
}
