//! Damages a large recording at random and checks what the reader makes of it.
//!
//! What precedes the damage must be read: the place of every event in the file is known here from the
//! drawing in `trace_format::layout`, not from the reader.

use std::fmt::Write as _;
use std::ops::Range;

use trace_format::event::{CallId, Clocks, Event, Message, Stage, TextId, Wait, WaitKind};
use trace_format::section::SectionKind;
use trace_format::synth::{RecordingBuilder, ThreadBuilder};
use trace_format::{Item, Recording};

const BLOCK: usize = 8192;
const BLOCK_HEADER: usize = 64;
const WORDS: usize = 1016;
const HEADER: usize = 4096;
const SECTION_HEADER: usize = 32;

/// SplitMix64 (Steele, Lea, Flood 2014): a seed names the whole run.
#[derive(Clone, Copy)]
pub struct Random(u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

/// A thread as it was built.
struct Built {
    uid: u32,
    /// Time, event, and the word behind it, counted over the blocks of the thread.
    events: Vec<(u64, Event, usize)>,
    /// Where its blocks start in the file.
    first_block: usize,
}

/// A whole recording, and where everything is in it.
pub struct Sample {
    bytes: Vec<u8>,
    threads: Vec<Built>,
    /// Text and where its entry ends.
    texts: Vec<(String, usize)>,
    /// Payload and where it ends.
    sections: Vec<(Vec<u8>, usize)>,
    /// Length of the mapped part.
    fixed: usize,
}

/// What a run found.
#[derive(Debug, Default)]
pub struct Tally {
    pub cases: u64,
    /// Not openable any more: the header was hit.
    pub refused: u64,
    /// Threads whose events were compared.
    pub threads: u64,
    /// Events that lay before the damage and were read.
    pub events: u64,
    /// Threads not compared, because a damaged block claims to belong to them.
    pub claimed: u64,
}

fn fill(thread: &mut ThreadBuilder, log: &mut Vec<(u64, Event, usize)>, count: usize, random: &mut Random) {
    let mut now = 1_000_000 + random.below(1_000) as u64;
    let mut word = 0;
    for _ in 0..count {
        now += random.below(50_000) as u64;
        let id = 1 + random.below(5_000) as u32;
        let text = TextId(1 + random.below(300) as u32);
        let event = match random.below(16) {
            0 => Event::MessageBegin(Message {
                target: text,
                callback: text,
                what: id as i32,
                handler: id,
                due: now,
                object: id % 3,
            }),
            1 => Event::MessageEnd,
            2 => Event::StageBegin(Stage::ALL[random.below(5)]),
            3 => Event::Counter(text, id.into()),
            4 => Event::WaitBegin(Wait {
                owner: id,
                lock: random.next(),
                class: text,
                call: CallId(id),
                ..Wait::new(WaitKind::Monitor)
            }),
            n if n % 2 == 0 => Event::Enter(id),
            _ => Event::Exit(id),
        };
        let needed = 1 + event.encode().payload().len();
        if word % WORDS + needed > WORDS {
            word = (word / WORDS + 1) * WORDS;
        }
        word += needed;
        thread.event(now, event);
        log.push((now, event, word));
    }
}

impl Sample {
    /// Builds the sample of this seed: `events` on main, a third of that on each of three other threads.
    pub fn build(seed: u64, events: usize) -> Self {
        let mut random = Random(seed);
        let mut builder = RecordingBuilder::new(77, "com.example.damaged");
        let mut texts: Vec<(String, usize)> = Vec::new();
        let mut at = 0;
        for i in 0..300 {
            let mut text = format!("com.example.Class{i}");
            let _ = write!(text, "${:x}", random.next() >> random.below(64));
            builder.text(&text);
            at += (8 + text.len()).next_multiple_of(4);
            texts.push((text, at));
        }
        let mut logs = Vec::new();
        for i in 0..4 {
            let mut log = Vec::new();
            let count = if i == 0 { events } else { events / 3 };
            let fill = |t: &mut ThreadBuilder| fill(t, &mut log, count, &mut random);
            builder = if i == 0 {
                builder.main("main", fill)
            } else {
                builder.thread(&format!("worker {i}"), 77 + i, fill)
            };
            logs.push((i + 1, log));
        }
        builder = builder.service(|t| {
            t.event(1_000, Event::Clock(Clocks { boottime: 1_000, monotonic: 900, realtime: 5 }));
        });
        let mut payloads = Vec::new();
        for kind in [SectionKind::Process, SectionKind::DumpText, SectionKind::Verdict] {
            let payload: Vec<u8> =
                (0..random.below(events.min(20_000))).map(|_| random.next() as u8).collect();
            builder = builder.section(kind, &payload);
            payloads.push(payload);
        }
        let bytes = builder.build();

        // From here on: the drawing. Regions follow the header in the order main, pool, service, threads,
        // strings, each from a multiple of 4096; sections behind a multiple of 16384.
        let mut region = HEADER;
        let mut threads = Vec::new();
        let blocks = |events: &[(u64, Event, usize)]| events.last().map_or(0, |e| e.2.div_ceil(WORDS));
        for (i, (uid, events)) in logs.into_iter().enumerate() {
            let length = blocks(&events) * BLOCK;
            threads.push(Built { uid, events, first_block: region });
            // Main's ring has one thread, the pool the other three; both are of whole pages.
            assert!(i > 0 || length.is_multiple_of(4096));
            region += length;
        }
        region += BLOCK;
        region += (4 * 64_usize).next_multiple_of(4096);
        for text in &mut texts {
            text.1 += region + 16;
        }
        region += (16 + at).next_multiple_of(4096);
        let fixed = region.next_multiple_of(16384);
        let mut end = fixed;
        let mut sections = Vec::new();
        for payload in payloads {
            end += SECTION_HEADER;
            sections.push((payload.clone(), end + payload.len()));
            end += payload.len().next_multiple_of(8);
        }
        assert_eq!(end, bytes.len(), "the drawing and the builder disagree");
        Self { bytes, threads, texts, sections, fixed }
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// One case: damages the sample and reads it. Panics, naming the case, where the reader fails.
    pub fn damage_and_read(&self, case: u64, scratch: &mut Vec<u8>, tally: &mut Tally) {
        let mut random = Random(case.wrapping_mul(0xD134_2543_DE82_EF95));
        scratch.clear();
        scratch.extend_from_slice(&self.bytes);
        let mut damage: Vec<Range<usize>> = Vec::new();
        for _ in 0..1 + random.below(3) {
            damage.push(hit(scratch, &mut random));
        }
        // What was hit and kept its value is whole.
        damage.retain(|d| scratch.get(d.clone()) != self.bytes.get(d.clone()));
        tally.cases += 1;
        self.check(case, scratch, &damage, tally);
    }

    /// One case: the file ends after `length` bytes. The reader must report what is missing.
    pub fn cut_and_read(&self, length: usize, tally: &mut Tally) {
        tally.cases += 1;
        let cut = &self.bytes[..length];
        let missing = length..self.bytes.len();
        self.check(length as u64, cut, std::slice::from_ref(&missing), tally);
        let Ok(recording) = Recording::open(cut) else { return };
        let boundary = length == self.fixed
            || self.sections.iter().any(|(_, e)| (*e..=e.next_multiple_of(8)).contains(&length));
        assert!(boundary || !recording.faults().0.is_empty(), "cut at {length}, and nothing is said");
        // A section that is cut still gives what is there.
        let torn = self.sections.iter().find(|(p, end)| (end - p.len()..*end).contains(&length));
        let Some((payload, end)) = torn else { return };
        let read = recording.torn_section().map(|s| recording.payload(s).unwrap().unwrap());
        let there = &payload[..length - (end - payload.len())];
        assert_eq!(read.as_deref(), Some(there), "cut at {length}");
    }

    fn check(&self, case: u64, damaged: &[u8], damage: &[Range<usize>], tally: &mut Tally) {
        let header_hit = damage.iter().any(|d| d.start < HEADER);
        let recording = match Recording::open(damaged) {
            Ok(recording) => recording,
            Err(error) => {
                assert!(header_hit, "case {case}: a whole header is refused: {error}");
                tally.refused += 1;
                return;
            }
        };
        let clocks = recording.clocks().expect("memory does not fail");
        assert!(clocks.len() <= 1 + damaged.len() / 32, "case {case}");
        for section in recording.sections().iter().chain(recording.torn_section()) {
            let _ = recording.payload(section).expect("memory does not fail");
        }
        let first = damage.iter().map(|d| d.start).min().unwrap_or(damaged.len());
        let mut items = 0;
        for thread in recording.threads() {
            let Some(built) = self.threads.iter().find(|t| t.uid == thread.uid) else { continue };
            let expected = if header_hit { None } else { built.expected(damaged, damage, self.rings()) };
            tally.claimed += u64::from(expected.is_none() && !header_hit);
            tally.threads += u64::from(expected.is_some());
            let (count, last_may_be_early) = expected.unwrap_or_default();
            let (mut read, mut last) = (0, 0);
            for item in recording.events(thread) {
                items += 1;
                assert!(items <= damaged.len() / 8 + 64, "case {case}: more items than words");
                let Item::Event { time, event } = item.expect("memory does not fail") else { continue };
                assert!(time >= last, "case {case}: time runs back in thread {}", thread.uid);
                last = time;
                if read < count {
                    let (wanted_time, wanted, _) = built.events[read];
                    let early = last_may_be_early && read + 1 == count && time < wanted_time;
                    assert_eq!(event, wanted, "case {case}, thread {}, event {read}", thread.uid);
                    assert!(time == wanted_time || early, "case {case}, thread {}, event {read}", thread.uid);
                    read += 1;
                }
            }
            assert_eq!(
                read, count,
                "case {case}, thread {}: events before the damage are missing",
                thread.uid
            );
            tally.events += count as u64;
        }
        if header_hit {
            return;
        }
        for built in &self.threads {
            let needed = built.expected(damaged, damage, self.rings()).is_some_and(|(count, _)| count > 0);
            let there = recording.threads().iter().any(|t| t.uid == built.uid);
            assert!(there || !needed, "case {case}: thread {} is missing", built.uid);
        }
        for (i, (text, end)) in self.texts.iter().enumerate() {
            if *end <= first {
                assert_eq!(recording.texts().get(TextId(i as u32 + 1)), Some(text.as_str()), "case {case}");
            }
        }
        for ((payload, end), read) in self.sections.iter().zip(recording.sections()) {
            if *end <= first {
                assert_eq!(recording.payload(read).unwrap().as_ref(), Some(payload), "case {case}");
            }
        }
        let whole = self.sections.iter().filter(|(_, end)| *end <= first).count();
        assert!(recording.sections().len() >= whole, "case {case}: a section before the damage is missing");
    }

    /// Offset of the first block of all.
    fn rings(&self) -> usize {
        self.threads.iter().map(|t| t.first_block).min().unwrap_or(HEADER)
    }
}

impl Built {
    fn end(&self) -> usize {
        let words = self.events.last().map_or(0, |e| e.2);
        self.first_block + words.div_ceil(WORDS) * BLOCK
    }

    /// How many of its events lie before the first damage to it; `None` if a damaged block of another thread
    /// claims to be one of this. The flag says that the header of a block was hit: the last time before it
    /// may then be reported too early, by less than the gap before it.
    fn expected(&self, damaged: &[u8], damage: &[Range<usize>], rings: usize) -> Option<(usize, bool)> {
        let own = self.first_block..self.end();
        for d in damage {
            let block = |at: usize| at.saturating_sub(rings) / BLOCK;
            for header in (block(d.start)..=block(d.end - 1)).map(|n| rings + n * BLOCK) {
                let claims = damaged.get(header + 4..header + 8).is_some_and(|b| b == self.uid.to_le_bytes());
                if claims && !own.contains(&header) {
                    return None;
                }
            }
        }
        let hits = damage.iter().filter(|d| d.start < own.end && d.end > own.start);
        let Some(first) = hits.map(|d| d.start.max(own.start)).min() else {
            return Some((self.events.len(), false));
        };
        let whole = self.events.partition_point(|(_, _, end)| {
            let block = self.first_block + (end - 1) / WORDS * BLOCK;
            let file_end = block + BLOCK_HEADER + ((end - 1) % WORDS + 1) * 8;
            file_end <= first && block + BLOCK_HEADER <= first
        });
        Some((whole, (first - own.start) % BLOCK < BLOCK_HEADER))
    }
}

/// Damages one place and says where.
fn hit(bytes: &mut Vec<u8>, random: &mut Random) -> Range<usize> {
    let length = bytes.len();
    let at = random.below(length);
    let longest = 1 << random.below(15);
    let run = 1 + random.below(longest);
    let range = at..(at + run).min(length);
    match random.below(8) {
        0 => {
            bytes[at] ^= 1 << random.below(8);
            at..at + 1
        }
        1 => {
            bytes[at] = random.next() as u8;
            at..at + 1
        }
        2 => {
            bytes[range.clone()].fill_with(|| random.next() as u8);
            range
        }
        3 => {
            bytes[range.clone()].fill(if random.below(2) == 0 { 0 } else { 0xFF });
            range
        }
        4 => {
            // A page that never reached the disk.
            let page = at / 4096 * 4096..(at / 4096 * 4096 + 4096).min(length);
            bytes[page.clone()].fill(0);
            page
        }
        5 => {
            // Bytes of somewhere else.
            let from = random.below(length - range.len() + 1);
            bytes.copy_within(from..from + range.len(), at);
            range
        }
        6 if length >= HEADER + BLOCK => {
            // A field of a block header: any plausible small number.
            let block = HEADER + random.below((length - HEADER) / BLOCK) * BLOCK;
            let field = block + random.below(10) * 4;
            let value = (random.next() >> (32 + random.below(32))) as u32;
            bytes[field..field + 4].copy_from_slice(&value.to_le_bytes());
            field..field + 4
        }
        _ => {
            bytes.truncate(at.max(1));
            // All that is behind the end is missing.
            bytes.len()..length
        }
    }
}
