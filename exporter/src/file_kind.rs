//! Detects what a file is by its first bytes, and which command takes it.

use std::io::{self, Read};
use std::path::Path;

use flate2::read::GzDecoder;

/// How much of a file is read, bytes. An `ANR in` block of logcat may have other lines before it.
const HEAD: u64 = 64 << 10;

/// What a file is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FileKind {
    /// A recording, as the library in the app writes it.
    Recording,
    /// A trace as Perfetto writes it (protobuf).
    PerfettoTrace,
    /// A trace in Chrome's JSON.
    ChromeTrace,
    /// A report of Tencent Matrix, as JSON.
    MatrixReport,
    /// A thread dump, or a log with one in it.
    ThreadDump,
    /// A method map of `anrscope instrument`.
    MethodMap,
    /// The mapping.txt of ProGuard or R8.
    Mapping,
    /// Java classes: a class file, or an archive whose extension is one of Java archives.
    Classes,
    /// Any other zip archive, such as a bugreport.
    Zip,
    /// A directory.
    Directory,
    /// An empty file.
    Empty,
    /// A pipe or a device, of which nothing was read.
    Special,
    /// Anything else.
    Other,
}

impl FileKind {
    /// Detects the kind of the file at `path`. For a file compressed with gzip: of its content.
    ///
    /// # Errors
    /// If it cannot be opened or read.
    pub fn of(path: &Path) -> io::Result<Self> {
        let metadata = path.metadata()?;
        if metadata.is_dir() {
            return Ok(Self::Directory);
        }
        // Opening a pipe waits for its writer, and bytes that are read here are lost for the command.
        if !metadata.is_file() {
            return Ok(Self::Special);
        }
        let mut head = Vec::new();
        trace_format::regular_file::open(path)?.0.take(HEAD).read_to_end(&mut head)?;
        Ok(Self::of_content(path, &head))
    }

    /// Detects the kind of a file with this name and content, of which the first 64 KiB count.
    #[must_use]
    pub fn of_content(path: &Path, content: &[u8]) -> Self {
        let archive = path.extension().and_then(|e| e.to_str()).is_some_and(|extension| {
            ["jar", "aar", "apk", "war", "jmod"].iter().any(|known| extension.eq_ignore_ascii_case(known))
        });
        match Self::of_bytes(&content[..content.len().min(HEAD as usize)]) {
            Self::Zip if archive => Self::Classes,
            kind => kind,
        }
    }

    fn of_bytes(head: &[u8]) -> Self {
        if !head.starts_with(&[0x1F, 0x8B]) {
            return Self::of_unpacked(head);
        }
        let mut inner = Vec::new();
        // The head may end in the middle of a block: what was unpacked before is enough.
        let _ = GzDecoder::new(head).take(HEAD).read_to_end(&mut inner);
        // Unpack once only: some files unpack to themselves.
        match Self::of_unpacked(&inner) {
            Self::Empty => Self::Other,
            kind => kind,
        }
    }

    fn of_unpacked(head: &[u8]) -> Self {
        match head {
            [] => Self::Empty,
            head if head.starts_with(&trace_format::layout::MAGIC) => Self::Recording,
            [b'P', b'K', 3 | 5, 4 | 6, ..] => Self::Zip,
            [0xCA, 0xFE, 0xBA, 0xBE, ..] => Self::Classes,
            // A `TracePacket` (field 1 of `Trace`), whose length and fields are not text.
            [0x0A, rest @ ..] if rest.iter().take(64).any(|byte| is_binary(*byte)) => Self::PerfettoTrace,
            head => Self::of_text(&text_of(head)),
        }
    }

    fn of_text(text: &str) -> Self {
        let start = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
        if start.starts_with(['{', '[']) {
            let has = |key: &str| text.contains(key);
            return match () {
                () if has("\"traceEvents\"") || has("\"ph\"") => Self::ChromeTrace,
                () if has("\"threadDump\"") || has("\"threadContainers\"") => Self::ThreadDump,
                () if has("\"tag\"") && (has("\"Trace_") || has("\"stackKey\"") || has("\"detail\"")) => {
                    Self::MatrixReport
                }
                () => Self::Other,
            };
        }
        let lines = || start.lines().take(2_000);
        let is_comment = |line: &str| line.starts_with('#') || line.trim().is_empty();
        if lines().find(|line| !is_comment(line)).is_some_and(is_map_line) {
            return Self::MethodMap;
        }
        if lines().any(is_mapping_line) {
            return Self::Mapping;
        }
        if lines().any(is_dump_line) { Self::ThreadDump } else { Self::Other }
    }

    /// The kind in words, with its article.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Recording => "a recording",
            Self::PerfettoTrace => "a Perfetto trace",
            Self::ChromeTrace => "a trace in Chrome's JSON",
            Self::MatrixReport => "a report of Tencent Matrix",
            Self::ThreadDump => "a thread dump",
            Self::MethodMap => "a method map",
            Self::Mapping => "a mapping.txt of ProGuard or R8",
            Self::Classes => "an archive of classes",
            Self::Zip => "a zip archive",
            Self::Directory => "a directory",
            Self::Empty => "empty",
            Self::Special => "a pipe or a device",
            Self::Other => "of an unknown kind",
        }
    }

    /// The command that takes such a file; `None` if there is no such command.
    #[must_use]
    pub fn command(self) -> Option<&'static str> {
        match self {
            Self::Recording | Self::MatrixReport => Some("report"),
            Self::ThreadDump | Self::Zip => Some("dump"),
            Self::PerfettoTrace | Self::ChromeTrace => Some("open"),
            _ => None,
        }
    }

    /// What to do with a file of this kind instead of giving it to the command `given`; `None` if that takes it, or there is no better
    /// command.
    #[must_use]
    pub fn instead_of(self, given: &str, path: &Path) -> Option<String> {
        let (name, path) = (self.name(), path.display());
        let cure = match self {
            Self::PerfettoTrace | Self::ChromeTrace if given != "open" => {
                format!("run `anrscope open {path}`, or name the recording (*.anrscope) that it was made of")
            }
            Self::MethodMap => format!("name a recording, and give this file with --method-map {path}"),
            Self::Mapping => format!("name what is to be read, and give this file with --mapping {path}"),
            Self::Classes => format!("run `anrscope instrument {path} --out OUT`"),
            Self::Directory => "name the files in it".to_owned(),
            Self::Empty => "name a file with content".to_owned(),
            _ => match self.command() {
                Some(command) if command != given => format!("run `anrscope {command} {path}`"),
                _ => return None,
            },
        };
        Some(format!("{path} is {name}: {cure}"))
    }
}

/// Whether it is a control character that no text has.
fn is_binary(byte: u8) -> bool {
    byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x1B)
}

/// Decodes UTF-8 or, with its byte order mark, UTF-16.
fn text_of(head: &[u8]) -> String {
    let wide = |of: fn([u8; 2]) -> u16, rest: &[u8]| {
        let units: Vec<u16> = rest.chunks_exact(2).map(|pair| of([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    match head {
        [0xFF, 0xFE, rest @ ..] => wide(u16::from_le_bytes, rest),
        [0xFE, 0xFF, rest @ ..] => wide(u16::from_be_bytes, rest),
        head => String::from_utf8_lossy(head).into_owned(),
    }
}

/// Matches `1,1,com.example.Main onCreate ()V`, or a map's line with its id.
fn is_map_line(line: &str) -> bool {
    let mut fields = line.splitn(3, ',');
    let mut number = || fields.next().is_some_and(|field| field.parse::<u32>().is_ok());
    number() && number() && fields.next().is_some_and(|method| method.split(' ').count() >= 2)
}

/// Matches `com.example.Main -> a.b:`
fn is_mapping_line(line: &str) -> bool {
    !line.starts_with([' ', '#']) && line.contains(" -> ") && line.trim_end().ends_with(':')
}

/// Matches a line that only a thread dump has, with any log prefix.
fn is_dump_line(line: &str) -> bool {
    const MARKS: [&str; 14] = [
        "----- pid ",
        "DALVIK THREADS",
        "Cmd line: ",
        "Full thread dump ",
        "java.lang.Thread.State: ",
        "*** *** ***",
        "ANR in ",
        "Subject: Input dispatching timed out",
        "Subject: Broadcast of Intent",
        " prio=",
        " sysTid=",
        "\tat ",
        "  at ",
        "#00 pc ",
    ];
    MARKS.iter().any(|mark| line.contains(mark)) || line.trim_start().starts_with("at ") && line.contains('(')
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    const CASES: &[(&[u8], FileKind)] = &[
        (b"", FileKind::Empty),
        (b"PK\x03\x04\x14\x00", FileKind::Zip),
        (b"\xca\xfe\xba\xbe\x00\x00\x00\x34", FileKind::Classes),
        (b"\x0a\x12\x40\x01\x52", FileKind::PerfettoTrace),
        (b"\n\n----- pid 7 at 2026-01-01 00:00:00 -----\n", FileKind::ThreadDump),
        (b"{\"traceEvents\":[]}", FileKind::ChromeTrace),
        (b"[{\"ph\":\"X\"}]", FileKind::ChromeTrace),
        (b"{\"tag\":\"Trace_EvilMethod\",\"stackKey\":\"1|\"}", FileKind::MatrixReport),
        (b"{\"threadDump\":{}}", FileKind::ThreadDump),
        (b"{\"a\":1}", FileKind::Other),
        (b"1,1,com.example.Main onCreate ()V\n", FileKind::MethodMap),
        (b"# a build\n\n1,1,com.example.Main onCreate ()V\n", FileKind::MethodMap),
        (b"com.example.Main -> a.b:\n    void run() -> a\n", FileKind::Mapping),
        (b"# compiler: R8\ncom.example.Main -> a.b:\n", FileKind::Mapping),
        (b"\"main\" prio=5 tid=1 Blocked\n  at a.B.c(B.java:1)\n", FileKind::ThreadDump),
        (b"01-01 00:00:00.000 E/ActivityManager(  7): ANR in com.example\n", FileKind::ThreadDump),
        (b"Dear all,\nplease look at this.\n", FileKind::Other),
        (b"\xff\xfe\"\0m\0\"\0 \0p\0r\0i\0o\0=\x005\0", FileKind::ThreadDump),
        (b"\x1f\x8b", FileKind::Other),
    ];

    #[test]
    fn a_file_is_recognised_by_its_first_bytes() {
        for (bytes, kind) in CASES {
            assert_eq!(FileKind::of_bytes(bytes), *kind, "{:?}", String::from_utf8_lossy(bytes));
        }
        assert_eq!(FileKind::of_bytes(&trace_format::layout::MAGIC), FileKind::Recording);
    }

    #[test]
    fn a_file_that_is_compressed_repeatedly_is_unpacked_once() {
        let pack = |bytes: &[u8]| {
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packed.write_all(bytes).unwrap();
            packed.finish().unwrap()
        };
        let twice = pack(&pack(b"{\"traceEvents\":[]}"));
        assert_eq!(FileKind::of_bytes(&twice), FileKind::Other);
    }

    #[test]
    fn the_kind_of_a_compressed_file_is_that_of_its_content() {
        for (bytes, kind) in CASES.iter().filter(|(bytes, _)| bytes.len() > 4) {
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packed.write_all(bytes).unwrap();
            assert_eq!(FileKind::of_bytes(&packed.finish().unwrap()), *kind);
        }
    }

    #[test]
    fn directories_archives_and_devices_are_recognised_by_their_names() {
        let directory = std::env::temp_dir().join(format!("anrscope-kind-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        assert_eq!(FileKind::of(&directory).unwrap(), FileKind::Directory);
        let kind = |name| {
            let path = directory.join(name);
            std::fs::write(&path, b"PK\x03\x04").unwrap();
            FileKind::of(&path).unwrap()
        };
        assert_eq!((kind("a.jar"), kind("bugreport.zip")), (FileKind::Classes, FileKind::Zip));
        #[cfg(unix)]
        assert_eq!(FileKind::of(Path::new("/dev/zero")).unwrap(), FileKind::Special);
        assert!(FileKind::of(&directory.join("missing")).is_err());
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn every_other_kind_has_a_cure_that_names_a_command_or_an_option() {
        let path = Path::new("x");
        let cure = |kind: FileKind, given| kind.instead_of(given, path);
        assert_eq!(
            cure(FileKind::ThreadDump, "report").unwrap(),
            "x is a thread dump: run `anrscope dump x`"
        );
        assert_eq!(cure(FileKind::ThreadDump, "dump"), None);
        assert_eq!(cure(FileKind::Other, "dump"), None);
        for kind in [FileKind::PerfettoTrace, FileKind::MethodMap, FileKind::Mapping, FileKind::Classes] {
            assert!(cure(kind, "report").unwrap().contains("x"), "{kind:?}");
        }
        assert!(cure(FileKind::PerfettoTrace, "export").unwrap().contains("anrscope open x"));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_have_a_kind(bytes: Vec<u8>) {
            let _ = FileKind::of_bytes(&bytes).instead_of("report", Path::new("x"));
        }
    }
}
