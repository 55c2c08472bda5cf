//! ART's long running methods in the binary form of newer builds (AOSP `art/runtime/trace_profile.cc`,
//! `DumpLongRunningMethodBuffer` and `DumpThreadMethodInfo`), which the head of the dump has in base64:
//!
//! ```text
//! LongRunningMethods: AhI0...
//!
//! 02 thread:4 records:3 length:4  { time * 2 + left, as SLEB128 from the one before
//!                                   method, as SLEB128 from the one before, where one was entered }
//! 00 thread:4 length:2 name                        (left out by some builds)
//! 01 method:8 length:2 class<tab>method<tab>signature<tab>file
//! 03 16 bytes                                      (a summary, of builds to come)
//! ```
//! Numbers are little-endian, times are ns. Builds in between wrote the same blocks as they are, without base64 and with
//! ticks of a counter for times: without the counter's rate they are meaningless, so they are skipped with a warning.

use std::collections::HashMap;
use std::iter;

use base64ct::{Base64, Encoding as _};

use super::long_methods::{LongMethods, Runs};

/// Parses the text after the title.
///
/// # Errors
/// The reason why it cannot be read, as the end of a sentence.
pub(super) fn read(text: &str) -> Result<LongMethods, &'static str> {
    let text = text.trim();
    if text.chars().any(char::is_control) {
        return Err("are in a form whose times have no unit, and are left out");
    }
    let bytes = base64(text).ok_or("are in a form that is not known, and are left out")?;
    let mut rest = Bytes(&bytes);
    let mut runs = Runs::default();
    let mut open: HashMap<u32, Vec<usize>> = HashMap::new();
    // A truncated line is read as far as possible.
    while block(&mut rest, &mut runs, &mut open).is_some() {}
    Ok(runs.finish())
}

fn block(rest: &mut Bytes<'_>, runs: &mut Runs, open: &mut HashMap<u32, Vec<usize>>) -> Option<()> {
    match rest.number(1)? {
        0 => {
            let (thread, length) = (rest.number(4)?, rest.number(2)?);
            let name = String::from_utf8_lossy(rest.take(length)?);
            runs.name_thread(u32::try_from(thread).ok()?, &name);
        }
        1 => {
            let (method, length) = (rest.number(8)?, rest.number(2)?);
            let line = String::from_utf8_lossy(rest.take(length)?);
            runs.name_method(&format!("{method:#x}"), line.trim_end());
        }
        2 => {
            let (thread, records, length) = (rest.number(4)?, rest.number(3)?, rest.number(4)?);
            let thread = u32::try_from(thread).ok()?;
            let mut events = Bytes(rest.up_to(length));
            let (mut time, mut method) = (0_u64, 0_u64);
            let open = open.entry(thread).or_default();
            for _ in 0..records {
                time = time.wrapping_add_signed(events.signed()?);
                let at_us = (time >> 1) / 1000;
                if time & 1 == 1 {
                    runs.leave(open, at_us);
                } else {
                    method = method.wrapping_add_signed(events.signed()?);
                    runs.enter(thread, &format!("{method:#x}"), open, at_us);
                }
            }
        }
        3 => {
            rest.take(16)?;
        }
        _ => return None,
    }
    Some(())
}

/// The remaining bytes.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    /// Up to `length` bytes, or what is left.
    fn up_to(&mut self, length: u64) -> &'a [u8] {
        let length = usize::try_from(length).unwrap_or(usize::MAX).min(self.0.len());
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        taken
    }

    fn number(&mut self, length: u64) -> Option<u64> {
        let bytes = self.take(length)?;
        Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// A signed LEB128.
    fn signed(&mut self) -> Option<i64> {
        let mut value = 0_i64;
        for shift in (0..64).step_by(7) {
            let byte = self.number(1)?;
            value |= ((byte & 0x7F) as i64) << shift;
            if byte & 0x80 == 0 {
                let negative = byte & 0x40 != 0 && shift + 7 < 64;
                return Some(if negative { value | -1 << (shift + 7) } else { value });
            }
        }
        None
    }
}

/// Decodes base64, also without padding. A line that was cut within a group of four digits gives the bytes that are whole.
/// `None` if the text is not base64.
fn base64(text: &str) -> Option<Vec<u8>> {
    let mut digits = text.trim_end_matches('=').to_owned();
    let whole = digits.len() / 4 * 3 + digits.len() % 4 * 6 / 8;
    // `A` is the digit zero, so these add bits and change none.
    digits.extend(iter::repeat_n('A', digits.len().next_multiple_of(4) - digits.len()));
    let mut bytes = Base64::decode_vec(&digits).ok()?;
    bytes.truncate(whole);
    (!bytes.is_empty()).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dump::LongRun;
    use proptest::prelude::*;
    use trace_format::time::SECOND;

    fn sleb(mut value: i64, out: &mut Vec<u8>) {
        loop {
            let byte = (value & 0x7F) as u8;
            value >>= 7;
            let last = (value == 0 && byte & 0x40 == 0) || (value == -1 && byte & 0x40 != 0);
            out.push(if last { byte } else { byte | 0x80 });
            if last {
                return;
            }
        }
    }

    /// `Some` enters a method, `None` leaves one.
    fn events(thread: u32, events: &[(u64, Option<u64>)]) -> Vec<u8> {
        let mut data = Vec::new();
        let (mut time, mut method) = (0, 0);
        for (at, entered) in events {
            let now = at << 1 | u64::from(entered.is_none());
            sleb(now.wrapping_sub(time) as i64, &mut data);
            time = now;
            if let Some(entered) = entered {
                sleb(entered.wrapping_sub(method) as i64, &mut data);
                method = *entered;
            }
        }
        let mut block = vec![2];
        block.extend(thread.to_le_bytes());
        block.extend(&(events.len() as u32).to_le_bytes()[..3]);
        block.extend((data.len() as u32).to_le_bytes());
        [block, data].concat()
    }

    fn method(id: u64, line: &str) -> Vec<u8> {
        [&[1][..], &id.to_le_bytes(), &(line.len() as u16).to_le_bytes(), line.as_bytes()].concat()
    }

    fn section() -> Vec<u8> {
        let main = [
            (5 * SECOND, Some(0x7f3a_1000_0010)),
            (5 * SECOND + 200_000, Some(0x7f3a_0fff_0000)),
            (6 * SECOND, None),
            (6 * SECOND + 1, None),
        ];
        let name = b"\x00\x0d\x00\x00\x00\x06\x00pool 1";
        [
            events(12, &main),
            events(13, &[(7 * SECOND, Some(0x7f3a_1000_0010))]),
            vec![3; 17],
            // A run that an earlier flush reported continues.
            events(13, &[(8 * SECOND, None)]),
            name.to_vec(),
            method(0x7f3a_1000_0010, "com.acme.Main\twork\t()V\tMain.kt\n"),
            method(0x7f3a_0fff_0000, "Lcom/acme/Store;\tload\t()V\tStore.kt\n"),
        ]
        .concat()
    }

    #[test]
    fn runs_nest_over_blocks_and_get_their_names() {
        let long = read(&Base64::encode_string(&section())).unwrap();
        let run = |sys_tid, thread: Option<&str>, method: &str, depth, begin_us, end_us| LongRun {
            sys_tid,
            thread: thread.map(str::to_owned),
            method: method.to_owned(),
            depth,
            begin_us,
            end_us: Some(end_us),
        };
        assert_eq!(
            long.runs,
            [
                run(12, None, "com.acme.Main.work", 0, 5_000_000, 6_000_000),
                run(12, None, "com.acme.Store.load", 1, 5_000_200, 6_000_000),
                run(13, Some("pool 1"), "com.acme.Main.work", 0, 7_000_000, 8_000_000),
            ]
        );
        assert_eq!(long.dropped, 0);
        assert!(read("\u{2}\u{c}").unwrap_err().contains("no unit"));
        assert!(read("not base64!").unwrap_err().contains("not known"));
    }

    proptest! {
        #[test]
        fn a_cut_or_damaged_text_is_read_as_far_as_it_goes(
            length in 0..200usize,
            hits in prop::collection::vec((0..200usize, any::<u8>()), 0..4),
        ) {
            let mut bytes = section();
            for (at, value) in hits {
                let n = bytes.len();
                bytes[at % n] = value;
            }
            let text = Base64::encode_string(&bytes);
            let cut = &text[..length.min(text.len())];
            if let Ok(long) = read(cut) {
                prop_assert!(long.runs.len() <= bytes.len());
            }
        }

        #[test]
        fn any_bytes_in_base64_come_back(bytes in prop::collection::vec(any::<u8>(), 1..50)) {
            prop_assert_eq!(base64(&Base64::encode_string(&bytes)), Some(bytes));
        }

        #[test]
        fn a_cut_text_gives_its_whole_bytes(bytes in prop::collection::vec(any::<u8>(), 3..50), cut in 2..64usize) {
            let text = Base64::encode_string(&bytes);
            let cut = cut.min(text.trim_end_matches('=').len());
            prop_assert_eq!(base64(&text[..cut]), Some(bytes[..cut * 6 / 8].to_vec()));
        }
    }
}
