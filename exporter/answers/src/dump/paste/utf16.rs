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
    /// A byte or unit whose second half has not been read yet.
    byte: Option<u8>,
    high: Option<u16>,
    /// Output that has not been returned yet.
    made: Vec<u8>,
    given: usize,
    ended: bool,
}

impl<R: Read> Utf8<R> {
    pub(in crate::dump) fn new(input: R, order: Order) -> Self {
        Self { input, order, byte: None, high: None, made: Vec::new(), given: 0, ended: false }
    }

    fn push(&mut self, character: char) {
        if character != '\u{feff}' {
            self.made.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }

    fn unit(&mut self, unit: u16) {
        if let Some(high) = self.high.take() {
            if let Some(Ok(character)) = char::decode_utf16([high, unit]).next() {
                self.push(character);
                return;
            }
            self.push(char::REPLACEMENT_CHARACTER);
        }
        match char::decode_utf16([unit]).next() {
            Some(Ok(character)) => self.push(character),
            _ if (0xd800..0xdc00).contains(&unit) => self.high = Some(unit),
            _ => self.push(char::REPLACEMENT_CHARACTER),
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        self.made.clear();
        self.given = 0;
        let mut bytes = [0; 8 << 10];
        while self.made.is_empty() && !self.ended {
            let read = self.input.read(&mut bytes)?;
            self.ended = read == 0;
            for &byte in &bytes[..read] {
                match self.byte.take() {
                    None => self.byte = Some(byte),
                    Some(first) if self.order == Order::Little => {
                        self.unit(u16::from_le_bytes([first, byte]))
                    }
                    Some(first) => self.unit(u16::from_be_bytes([first, byte])),
                }
            }
            if self.ended && (self.byte.take().is_some() | self.high.take().is_some()) {
                self.push(char::REPLACEMENT_CHARACTER);
            }
        }
        Ok(())
    }
}

impl<R: Read> Read for Utf8<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.made.len() {
            self.fill()?;
        }
        let given = buffer.len().min(self.made.len() - self.given);
        buffer[..given].copy_from_slice(&self.made[self.given..self.given + given]);
        self.given += given;
        Ok(given)
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
