//! The server's protocol. A request is `LLLLtext` (length in four hexadecimal digits), the answer `OKAY`, or `FAIL` and a text.

use std::io::{self, Read, Write};

use crate::connection::{Interrupt, is_timeout};
use crate::error::Fault;

/// The longest request, bytes: the largest length of four digits.
const MAX_REQUEST: usize = 0xFFFF;

/// Fills `buffer`. A timeout has no duration here; the caller that knows it adds it.
pub(crate) fn fill(from: &mut impl Read, buffer: &mut [u8]) -> Result<(), Fault> {
    from.read_exact(buffer).map_err(fault)
}

pub(crate) fn fault(error: io::Error) -> Fault {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        Fault::Ended
    } else if is_timeout(&error) {
        Fault::TimedOut(std::time::Duration::ZERO)
    } else if error.get_ref().is_some_and(|inner| inner.is::<Interrupt>()) {
        Fault::Interrupted
    } else {
        Fault::Io(error)
    }
}

/// Sends a request.
pub(crate) fn request(to: &mut impl Write, text: &str) -> Result<(), Fault> {
    if text.len() > MAX_REQUEST {
        return Err(Fault::Malformed("the request is longer than 65535 bytes"));
    }
    to.write_all(format!("{:04x}{text}", text.len()).as_bytes()).map_err(fault)
}

/// Reads whether the server accepted the request.
pub(crate) fn status(from: &mut impl Read) -> Result<(), Fault> {
    let mut status = [0; 4];
    fill(from, &mut status)?;
    match &status {
        b"OKAY" => Ok(()),
        b"FAIL" => Err(Fault::Refused(text(from)?)),
        _ => Err(Fault::Malformed("expected OKAY or FAIL")),
    }
}

/// Reads a text preceded by its length, at most 65535 bytes.
pub(crate) fn text(from: &mut impl Read) -> Result<String, Fault> {
    let mut digits = [0; 4];
    fill(from, &mut digits)?;
    // from_str_radix would accept a sign.
    let length = std::str::from_utf8(&digits)
        .ok()
        .filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .and_then(|text| usize::from_str_radix(text, 16).ok())
        .ok_or(Fault::Malformed("expected a length"))?;
    let mut bytes = vec![0; length];
    fill(from, &mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_request_starts_with_its_length_in_hexadecimal() {
        let mut sent = Vec::new();
        request(&mut sent, "host:version").unwrap();
        assert_eq!(sent, b"000chost:version");
        assert!(matches!(request(&mut sent, &"x".repeat(65_536)), Err(Fault::Malformed(_))));
    }

    #[test]
    fn a_refusal_contains_the_message_of_the_server() {
        assert!(status(&mut &b"OKAY"[..]).is_ok());
        let Err(Fault::Refused(said)) = status(&mut &b"FAIL0010device not found"[..]) else { panic!() };
        assert_eq!(said, "device not found");
    }

    #[test]
    fn an_answer_truncated_at_any_byte_is_reported_as_truncated() {
        let whole = b"FAIL0010device not found";
        for length in 0..whole.len() {
            assert!(matches!(status(&mut &whole[..length]), Err(Fault::Ended)), "{length}");
        }
    }

    #[test]
    fn a_length_is_exactly_four_hexadecimal_digits() {
        for length in [&b"+00c"[..], b"-001", b"00 c", b"HTTP", b"\0\0\0\0"] {
            assert!(matches!(text(&mut [length, &[b'x'; 64]].concat().as_slice()), Err(Fault::Malformed(_))));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_answer_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = status(&mut bytes.as_slice());
            if let Ok(text) = text(&mut bytes.as_slice()) {
                prop_assert!(bytes.len() >= 4 && text.len() <= 3 * (bytes.len() - 4));
            }
        }
    }
}
