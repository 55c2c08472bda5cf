//! All that the program does with a recording.

use std::io::{self, Write};
use std::path::Path;
use std::sync::LazyLock;

use exporter::diff::{DurationTable, compare};
use exporter::fleet::{Row, groups, write_parquet};
use exporter::matrix::{IssueOptions, issues};
use exporter::{ExportInput, ExportOptions, Format, MethodMap, Report, Selection, export};
use trace_format::{Item, Recording};
use trace_rules::Rules;

/// What is written here is counted.
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

/// What is done with a recording beside reading all of its events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Done {
    /// Exported in one of the forms.
    Exported(u8),
    /// Reported: text, JSON, page, a row of a table.
    Reported,
    /// Told in Matrix's form.
    Told,
    /// Compared with itself.
    Compared,
    /// All of that.
    All,
}

impl Done {
    /// What this byte chooses. One thing at a time is many more inputs a second.
    #[must_use]
    pub fn chosen(byte: u8) -> Self {
        match byte % 8 {
            form @ 0..4 => Self::Exported(form),
            4 => Self::Reported,
            5 => Self::Told,
            6 => Self::Compared,
            _ => Self::All,
        }
    }

    fn is(self, other: Self) -> bool {
        self == other || self == Self::All
    }
}

/// Opens `bytes` and, if they are a recording, reads its events and does that with it.
///
/// # Panics
/// If a step fails, or says of itself what is not so.
pub fn read(bytes: &[u8], done: Done) {
    let Ok(recording) = Recording::open(bytes) else { return };
    let file = Path::new("x");
    for thread in recording.threads() {
        let mut before = 0;
        for item in recording.events(thread) {
            if let Item::Event { time, .. } = item.expect("memory can be read") {
                assert!(before <= time, "time runs back");
                before = time;
            }
        }
    }
    let input = ExportInput { file, recording: &recording, map: &MAP };
    for (n, options) in (0..).zip(forms()) {
        if done.is(Done::Exported(n)) {
            let mut out = Counted::default();
            let summary = export(&[input, input], &options, &mut out).expect("memory can be read");
            assert_eq!(summary.bytes, out.0);
        }
    }
    if done.is(Done::Reported) {
        let report = Report::build(file, &recording, &MAP).expect("memory can be read");
        assert!(!report.to_string().is_empty());
        assert!(report.to_json("x").is_object());
        let chart = report.chart(file, &recording, &MAP).expect("memory can be read");
        assert!(report.to_html("x", &chart, None).ends_with("</html>\n"));
        let rows = [Row::of("x", &recording, &report)];
        assert_eq!(groups(&rows).len(), 1);
        let mut table = Counted::default();
        write_parquet(&rows, &mut table).expect("nothing can fail here");
    }
    if done.is(Done::Told) {
        for rules in [None, Some(Rules::Matrix), Some(Rules::Anrscope)] {
            let how = IssueOptions { rules, slow_ms: 10, ..IssueOptions::default() };
            let told = issues(file, &recording, &MAP, &how).expect("memory can be read").lines;
            assert!(told.iter().all(|issue| !issue.contains('\n')), "one line each");
        }
    }
    if done.is(Done::Compared) {
        let mut durations = DurationTable::default();
        durations.add(file, &recording, &MAP).expect("memory can be read");
        let durations = durations.finish();
        for row in compare(&durations, &durations) {
            assert!(!row.is_slower(0.0, 0) && row.to_json().is_object());
        }
    }
}
