//! Every use of a recording.

use std::io::{self, Write};
use std::path::Path;
use std::sync::LazyLock;

use exporter::diff::{DurationTable, compare};
use exporter::fleet::{Row, groups, write_csv, write_json_lines};
use exporter::matrix::{IssueOptions, issues};
use exporter::{ExportInput, ExportOptions, Format, MethodMap, Report, Selection, export};
use trace_format::{Item, Recording};
use trace_rules::Rules;

/// A writer that only counts the bytes.
#[derive(Default)]
struct Counted(u64);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

static MAP: LazyLock<MethodMap> = LazyLock::new(|| {
    let lines: String =
        (1..40).map(|id| format!("{id},1,com.acme.Klass{} method{id} (I)V\n", id % 7)).collect();
    MethodMap::parse(Path::new("map"), lines.into_bytes()).expect("a map")
});

fn forms() -> [ExportOptions; 4] {
    let part = Selection {
        from: Some(1_000_000_000),
        to: Some(3_000_000_000),
        min_duration: 1_000,
        threads: vec!["main".to_owned(), "7".to_owned()],
    };
    [
        ExportOptions { stdlib_anr: false, merge_safe: true, ..ExportOptions::new(Format::Perfetto, 0) },
        ExportOptions { selection: part, ..ExportOptions::new(Format::Perfetto, 1) },
        ExportOptions::new(Format::ChromeJson, 0),
        ExportOptions { sorted: true, ..ExportOptions::new(Format::ChromeJson, 0) },
    ]
}

/// A use of a recording besides reading all of its events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// Export it in one of the forms.
    Export(u8),
    /// Report it as text, JSON, a page and a row of a table.
    Report,
    /// Report it in Matrix's form.
    MatrixReport,
    /// Compare it with itself.
    Compare,
    /// All of these.
    All,
}

impl Use {
    /// Returns the use that this byte chooses. One use at a time allows many more inputs per second.
    #[must_use]
    pub fn chosen(byte: u8) -> Self {
        match byte % 8 {
            form @ 0..4 => Self::Export(form),
            4 => Self::Report,
            5 => Self::MatrixReport,
            6 => Self::Compare,
            _ => Self::All,
        }
    }

    fn includes(self, other: Self) -> bool {
        self == other || self == Self::All
    }
}

/// Opens `bytes` and, if they are a recording, reads its events and uses it.
///
/// # Panics
/// If a step fails or returns a wrong figure.
pub fn read(bytes: &[u8], chosen: Use) {
    let Ok(recording) = Recording::open(bytes) else { return };
    let file = Path::new("x");
    for thread in recording.threads() {
        let mut before = 0;
        for item in recording.events(thread) {
            if let Item::Event { time, .. } = item.expect("memory can be read") {
                assert!(before <= time, "times do not decrease");
                before = time;
            }
        }
    }
    let input = ExportInput { file, recording: &recording, map: &MAP };
    for (n, options) in (0..).zip(forms()) {
        if chosen.includes(Use::Export(n)) {
            let mut out = Counted::default();
            let summary = export(&[input, input], &options, &mut out).expect("memory can be read");
            assert_eq!(summary.bytes, out.0);
        }
    }
    if chosen.includes(Use::Report) {
        let report = Report::build(file, &recording, &MAP).expect("memory can be read");
        assert!(!report.to_string().is_empty());
        assert!(report.to_json("x").is_object());
        let chart = report.chart(file, &recording, &MAP).expect("memory can be read");
        assert!(report.to_html("x", &chart, None).ends_with("</html>\n"));
        let rows = [Row::of("x", &recording, &report)];
        assert_eq!(groups(&rows).len(), 1);
        let (mut lines, mut csv) = (Vec::new(), Vec::new());
        write_json_lines(&rows, &mut lines).expect("memory can be written");
        write_csv(&rows, &mut csv).expect("memory can be written");
        let line: serde_json::Value = serde_json::from_slice(&lines).expect("one object");
        assert_eq!((line["file"].as_str(), line["pid"].as_u64()), (Some("x"), Some(rows[0].pid.into())));
        assert!(csv.ends_with(b"\r\n"));
    }
    if chosen.includes(Use::MatrixReport) {
        for rules in [None, Some(Rules::Matrix), Some(Rules::Anrscope)] {
            let how = IssueOptions { rules, slow_ms: 10, ..IssueOptions::default() };
            let lines = issues(file, &recording, &MAP, &how).expect("memory can be read").lines;
            assert!(lines.iter().all(|issue| !issue.contains('\n')), "one line each");
        }
    }
    if chosen.includes(Use::Compare) {
        let mut durations = DurationTable::default();
        durations.add(file, &recording, &MAP).expect("memory can be read");
        let durations = durations.finish();
        for row in compare(&durations, &durations) {
            assert!(!row.is_slower(0.0, 0) && row.to_json().is_object());
        }
    }
}
