//! Native frames: `native: #01 pc 00446c30  /system/lib64/libart.so (art::Thread::Run()+12) (BuildId: d2)`.

use serde::Serialize;

use super::address;

/// A native frame.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct NativeFrame {
    /// Its number in the dump.
    pub number: u32,
    /// The program counter, relative to the map.
    #[serde(serialize_with = "address::serialize")]
    pub pc: u64,
    /// The mapped file, or the region's name; empty if not given.
    pub map: String,
    /// Offset of the library in the file (a library inside an APK).
    pub map_offset: Option<u64>,
    /// The function.
    pub symbol: Option<String>,
    /// Offset from the function's start, in bytes.
    pub symbol_offset: Option<u64>,
    /// The library's build id, in hexadecimal.
    pub build_id: Option<String>,
    /// The source file (only after naming with symbols).
    pub file: Option<String>,
    /// The line, from 1 (only after naming with symbols).
    pub line: Option<u32>,
    /// Whether this frame was inlined into the next one (only after naming with symbols).
    pub inlined: bool,
}

/// Parses a native frame; `Err` is the dump's text in place of a frame.
pub(crate) fn parse(text: &str) -> Option<Result<NativeFrame, String>> {
    let (text, prefixed) = match text.strip_prefix("native: ") {
        Some(rest) => (rest.trim_start(), true),
        None => (text, false),
    };
    let Some(rest) = text.strip_prefix('#') else {
        return prefixed.then(|| Err(text.trim_start_matches('(').trim_end_matches(')').to_owned()));
    };
    let (number, rest) = rest.split_once(' ')?;
    let number = number.parse().ok()?;
    let rest = rest.trim_start().strip_prefix("pc ")?.trim_start();
    let (pc, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let pc = u64::from_str_radix(pc.strip_prefix("0x").unwrap_or(pc), 16).ok()?;
    let mut rest = rest.trim();
    let mut frame = NativeFrame { number, pc, ..NativeFrame::default() };
    if let Some((before, id)) = rest.rsplit_once("(BuildId: ") {
        frame.build_id = Some(id.trim_end_matches(')').to_owned());
        rest = before.trim_end();
    }
    if let Some((map, after)) = rest.split_once(" (offset ") {
        frame.map = map.to_owned();
        let (offset, after) = after.split_once(')').unwrap_or((after, ""));
        frame.map_offset = u64::from_str_radix(offset.strip_prefix("0x").unwrap_or(offset), 16).ok();
        rest = after.trim();
    } else {
        // A symbol may contain parentheses and spaces: it starts at the first parenthesis after the map.
        let from = if let Some(at) = rest.find(" (deleted)") { at + 10 } else { 0 };
        let end = rest[from..].find(" (").map_or(rest.len(), |at| from + at);
        let begin = if rest.starts_with('(') { 0 } else { end };
        frame.map = rest[..begin].trim().to_owned();
        rest = rest[begin..].trim();
    }
    let symbol = rest.strip_prefix('(').map(|rest| rest.strip_suffix(')').unwrap_or(rest));
    if let Some(symbol) = symbol.filter(|symbol| !matches!(*symbol, "" | "???")) {
        let split = symbol.rsplit_once('+').and_then(|(name, offset)| Some((name, offset.parse().ok()?)));
        let (name, offset) = split.map_or((symbol, None), |(name, offset)| (name, Some(offset)));
        frame.symbol = Some(name.to_owned());
        frame.symbol_offset = offset;
    }
    Some(Ok(frame))
}

impl NativeFrame {
    /// The file's name without its directory.
    #[must_use]
    pub fn library(&self) -> &str {
        self.map.rsplit('/').next().unwrap_or_default()
    }

    /// The source file's name without its directory, as Java's frames have it.
    #[must_use]
    pub fn file_name(&self) -> Option<&str> {
        self.file.as_deref().map(|file| file.rsplit(['/', '\\']).next().unwrap_or(file))
    }
}

impl std::fmt::Display for NativeFrame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.symbol, self.library()) {
            (Some(symbol), "") => write!(f, "native: {symbol}"),
            (Some(symbol), library) => write!(f, "native: {symbol} [{library}]"),
            (None, "") => write!(f, "native: pc {:#x}", self.pc),
            (None, library) => write!(f, "native: pc {:#x} [{library}]", self.pc),
        }?;
        match (self.file_name(), self.line) {
            (Some(file), Some(line)) => write!(f, " ({file}:{line})"),
            (Some(file), None) => write!(f, " ({file})"),
            (None, _) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Short<'a> = (u32, u64, &'a str, Option<u64>, Option<&'a str>, Option<u64>, Option<&'a str>);

    #[test]
    fn every_form_of_a_native_frame() {
        let cases: [(&str, Short<'_>); 11] = [
            (
                "native: #00 pc 000b81f4  /apex/x/libc.so (recvfrom+4) (BuildId: a87)",
                (0, 0xb81f4, "/apex/x/libc.so", None, Some("recvfrom"), Some(4), Some("a87")),
            ),
            (
                "native: #06 pc 00383700  /x/libart.so (bool art::DoCall<true>(a::B*, int)+1960)",
                (
                    6,
                    0x383700,
                    "/x/libart.so",
                    None,
                    Some("bool art::DoCall<true>(a::B*, int)"),
                    Some(1960),
                    None,
                ),
            ),
            (
                "#00  pc 0x00000000000a1c88  /x/libc.so (__ioctl+8)",
                (0, 0xa1c88, "/x/libc.so", None, Some("__ioctl"), Some(8), None),
            ),
            ("#00 pc 0x377c45 libart.so", (0, 0x377c45, "libart.so", None, None, None, None)),
            (
                "native: #00 pc 4d820  /x/libc.so!libc.so (offset 3d000) (syscall+32)",
                (0, 0x4d820, "/x/libc.so!libc.so", Some(0x3d000), Some("syscall"), Some(32), None),
            ),
            (
                "native: #07 pc 60c8  /data/libx.so (offset 0x1000) (???) (BuildId: 1)",
                (7, 0x60c8, "/data/libx.so", Some(0x1000), None, None, Some("1")),
            ),
            (
                "native: #01 pc 00000010  [vdso] (__kernel_x+2)",
                (1, 0x10, "[vdso]", None, Some("__kernel_x"), Some(2), None),
            ),
            ("native: #01 pc 00000010  ???", (1, 0x10, "???", None, None, None, None)),
            ("native: #01 pc 00000010  (a.b.c+2)", (1, 0x10, "", None, Some("a.b.c"), Some(2), None)),
            (
                "native: #02 pc 10  /dev/ashmem/jit (deleted) (a.b.c+2)",
                (2, 0x10, "/dev/ashmem/jit (deleted)", None, Some("a.b.c"), Some(2), None),
            ),
            (
                "native: #02 pc 10  [anon:dalvik-x extracted in memory from /a/b.apk] (a.b+1)",
                (
                    2,
                    0x10,
                    "[anon:dalvik-x extracted in memory from /a/b.apk]",
                    None,
                    Some("a.b"),
                    Some(1),
                    None,
                ),
            ),
        ];
        for (text, expected) in cases {
            let f = parse(text).unwrap().unwrap();
            let seen = (
                f.number,
                f.pc,
                f.map.as_str(),
                f.map_offset,
                f.symbol.as_deref(),
                f.symbol_offset,
                f.build_id.as_deref(),
            );
            assert_eq!(seen, expected, "{text}");
        }
        let why = parse("native: (backtrace::Unwind failed for thread 3: no answer)").unwrap().unwrap_err();
        assert_eq!(why, "backtrace::Unwind failed for thread 3: no answer");
        for text in [
            "#",
            "#x pc 1",
            "#0 pc",
            "#0 pc z",
            "#0 x",
            "#99999999999 pc 1",
            "#1 java.lang.BootClassLoader: [], no parent",
        ] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
