//! The report as a self-contained HTML page: no network access, light and dark.

use std::fmt::Write as _;

use serde_json::json;

use super::chart::Chart;
use super::findings::Report;
use super::open_item::OpenItemKind;

const PAGE: &str = include_str!("page.html");
/// Maximum length of a trace embedded in the page, so that its button can pass it to Perfetto; the user picks a
/// longer one.
pub const MAX_EMBEDDED: usize = 8 << 20;

impl Report {
    /// The page. `name` is the name of the trace, `trace` its content if it is embedded. With an empty name the page
    /// does not offer to open a trace.
    #[must_use]
    pub fn to_html(&self, name: &str, chart: &Chart, trace: Option<&[u8]>) -> String {
        let kinds = [
            OpenItemKind::Method,
            OpenItemKind::Message,
            OpenItemKind::Frame,
            OpenItemKind::Wait,
            OpenItemKind::Span,
        ];
        let slices = chart.slices.iter().map(|s| {
            // Units outside of messages are drawn and listed like messages.
            let kind = if s.kind == OpenItemKind::Unit { OpenItemKind::Message } else { s.kind };
            let kind = kinds.iter().position(|known| *known == kind).unwrap_or(0);
            json!([s.depth, s.begin - chart.from, s.end - chart.from, kind, s.name, u8::from(s.open)])
        });
        let data = json!({
            "report": self.to_json(name),
            "headline": self.headline(),
            "cause": self.answer.cause_title(),
            "advice": self.answer.advice(),
            "chart": {
                "from_ns": chart.from,
                "to_ns": chart.to,
                "names": chart.names,
                "left_out": chart.left_out,
                "slices": slices.collect::<serde_json::Value>(),
            },
            "trace": trace.filter(|trace| trace.len() <= MAX_EMBEDDED).map(base64),
            "name": name,
        });
        // Texts must not end the element that contains the data, or start a comment in it.
        PAGE.replacen("@DATA@", &data.to_string().replace('<', "\\u003c"), 1)
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group =
            chunk.iter().fold(0_u32, |sum, byte| sum << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for i in 0..4 {
            let digit = if i <= chunk.len() { DIGITS[(group >> (18 - 6 * i)) as usize & 63] } else { b'=' };
            let _ = out.write_char(char::from(digit));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        for (text, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(text.as_bytes()), coded);
        }
    }
}
