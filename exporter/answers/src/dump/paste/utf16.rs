//! Decodes UTF-16, which PowerShell's `>` and Notepad write.

use std::io::{self, Read};

/// The byte order if a text with this beginning is UTF-16: from its byte order mark, or from the NULs beside
/// its first letters.
pub(in crate::dump) fn order(begin: &[u8]) -> Option<Order> {
    match begin {
        [0xff, 0xfe, ..] => Some(Order::Little),
        [0xfe, 0xff, ..] => Some(Order::Big),
        _ => {
            let letters = begin.get(..16)?;
            let nul = |odd: usize| letters.iter().skip(odd).step_by(2).all(|&byte| byte == 0);
            let text = |odd: usize| letters.iter().skip(odd).step_by(2).all(|&byte| byte != 0 && byte < 0x80);
            if nul(1) && text(0) {
                Some(Order::Little)
            } else if nul(0) && text(1) {
                Some(Order::Big)
            } else {
                None
            }
        }
    }
}

/// The order of the two bytes of a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::dump) enum Order {
    /// The lower byte first, as on Windows.
    Little,
    /// The higher byte first.
    Big,
}

/// Reads UTF-16 as UTF-8 without its byte order mark; invalid units become U+FFFD.
#[derive(Debug)]
pub(in crate::dump) struct Utf8<R> {
    input: R,
    order: Order,
    /// The bytes of a character that has not been read whole.
    begun: Vec<u8>,
    /// Output that has not been returned yet.
    made: io::Cursor<Vec<u8>>,
    ended: bool,
}

impl<R: Read> Utf8<R> {
    pub(in crate::dump) fn new(input: R, order: Order) -> Self {
        Self { input, order, begun: Vec::new(), made: io::Cursor::default(), ended: false }
    }

    fn fill(&mut self) -> io::Result<()> {
        let mut bytes = [0; 8 << 10];
        let read = self.input.read(&mut bytes)?;
        if read == 0 {
            self.ended = true;
            let rest = if self.begun.is_empty() { "" } else { "\u{fffd}" };
            self.made = io::Cursor::new(rest.into());
            return Ok(());
        }
        self.begun.extend_from_slice(&bytes[..read]);
        let (pairs, _) = self.begun.as_chunks();
        let unit = |pair: &[u8; 2]| match self.order {
            Order::Little => u16::from_le_bytes(*pair),
            Order::Big => u16::from_be_bytes(*pair),
        };
        let mut units: Vec<u16> = pairs.iter().map(unit).collect();
        // The second half of such a character follows.
        units.pop_if(|unit| (0xd800..0xdc00).contains(unit));
        self.begun.drain(..2 * units.len());
        let characters = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
        let made: String = characters.filter(|c| *c != '\u{feff}').collect();
        self.made = io::Cursor::new(made.into_bytes());
        Ok(())
    }
}

impl<R: Read> Read for Utf8<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let given = self.made.read(buffer)?;
            if given > 0 || buffer.is_empty() || self.ended {
                return Ok(given);
            }
            self.fill()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8], order: Order) -> String {
        let mut text = String::new();
        Utf8::new(bytes, order).read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn the_byte_order_is_recognised_at_the_start() {
        let bytes =
            |order: fn(u16) -> [u8; 2]| "Subject: x".encode_utf16().flat_map(order).collect::<Vec<u8>>();
        assert_eq!(order(&bytes(u16::to_le_bytes)), Some(Order::Little));
        assert_eq!(order(&bytes(u16::to_be_bytes)), Some(Order::Big));
        assert_eq!((order(b"\xff\xfeS\0"), order(b"\xfe\xff\0S")), (Some(Order::Little), Some(Order::Big)));
        assert_eq!((order(b"Subject: Input dispatching"), order(&[0; 32]), order(b"")), (None, None, None));
        assert_eq!(read(b"a\0\0\xd8b\0c", Order::Little), "a\u{fffd}b\u{fffd}");
        assert_eq!(read(b"\0\xd8", Order::Little), "\u{fffd}");
    }

    proptest! {
        #[test]
        fn any_text_comes_back(text: String) {
            let bytes = |order: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(order).collect::<Vec<u8>>();
            let expected = text.replace('\u{feff}', "");
            prop_assert_eq!(read(&bytes(u16::to_le_bytes), Order::Little), expected.clone());
            prop_assert_eq!(read(&bytes(u16::to_be_bytes), Order::Big), expected);
        }
    }
}
