//! The report as a self-contained HTML page: no network access, light and dark.

use base64ct::{Base64, Encoding as _};
use serde_json::json;

use super::{Chart, OpenItemKind, Report};

const PAGE: &str = include_str!("page.html");
/// Maximum length of a trace embedded in the page, so that its button can pass it to Perfetto; the user picks a
/// longer one.
pub const MAX_EMBEDDED: usize = 8 << 20;

impl Report {
    /// The page. `name` is the name of the trace, `trace` its content if it is embedded. With an empty name the page
    /// does not offer to open a trace.
    #[must_use]
    pub fn to_html(&self, name: &str, chart: &Chart, trace: Option<&[u8]>) -> String {
        let slices = chart.slices.iter().map(|s| {
            let kind = match s.kind {
                OpenItemKind::Method => 0,
                // Units outside of messages are drawn and listed like messages.
                OpenItemKind::Message | OpenItemKind::Unit => 1,
                OpenItemKind::Frame => 2,
                OpenItemKind::Wait => 3,
                OpenItemKind::Span => 4,
            };
            json!([s.depth, s.begin - chart.from, s.end - chart.from, kind, s.name, u8::from(s.open)])
        });
        let data = json!({
            "report": self.to_json(name),
            "headline": self.headline(),
            "cause": self.answer.cause_title(),
            "place": self.answer.place(),
            "advice": self.answer.advice(),
            "chart": {
                "from_ns": chart.from,
                "to_ns": chart.to,
                "names": chart.names,
                "left_out": chart.left_out,
                "slices": slices.collect::<serde_json::Value>(),
            },
            "trace": trace.filter(|trace| trace.len() <= MAX_EMBEDDED).map(Base64::encode_string),
            "name": name,
        });
        // Texts must not end the element that contains the data, or start a comment in it.
        PAGE.replacen("@DATA@", &data.to_string().replace('<', "\\u003c"), 1)
    }
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
            assert_eq!(Base64::encode_string(text.as_bytes()), coded);
        }
    }
}
