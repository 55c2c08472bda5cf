//! Breakpad's symbol files (`dump_syms`), as text.
//!
//! ```text
//! MODULE Linux arm64 4FE9C1D9A26E1D4A7C8FA02D4B22D4D30 libexample.so
//! INFO CODE_ID D9C1E94F6EA24A1D7C8FA02D4B22D4D3AABBCCDD
//! FILE 3 /src/decode.cpp
//! INLINE_ORIGIN 7 SkCodec::getPixels(SkImageInfo const&)
//! FUNC [m] c184 30 0 SkImage::decode(char const*)          address, size, size of the parameters
//! INLINE 0 45 3 7 c190 8 c1a0 4                            depth, line and file of the call, origin, ranges
//! c184 7 41 3                                              address, size, line, file
//! PUBLIC [m] 2160 0 __cxa_throw
//! ```
//! Numbers are hexadecimal, but for depths, lines and files. Addresses count from the address at which the file is loaded, which is 0 in
//! the numbering of nearly every shared library. Lines of another form are skipped.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use trace_format::hex::unhex;

use super::demangle::{MAX_MANGLED, demangle, placed, shortened};
use super::{MAX_INLINED, Named};

/// Most functions, files and origins of a file.
const MAX_ROWS: usize = 8 << 20;
/// How many bytes of functions' lines are read, beside as many times the file's length: a function may have a million lines, and a hang
/// asks for it a thousand times. Beyond that, functions have no lines.
const MIN_READ: usize = 64 << 20;
const MAX_READS: usize = 64;
/// How many functions before an address are searched for the one that contains it.
const MAX_STEPS: usize = 64;

/// What a module is called by Breakpad: the id, and the build id if the file has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Identity {
    /// The module's id.
    pub(super) id: String,
    /// The build id.
    pub(super) code_id: Option<Vec<u8>>,
    /// The file's name.
    pub(super) name: String,
}

/// The identity from the first lines of a file.
pub(super) fn identity(head: &[u8]) -> Option<Identity> {
    let mut lines = head.split(|byte| *byte == b'\n').map(|line| String::from_utf8_lossy(line));
    let module = lines.next()?;
    let mut fields = module.trim_end().strip_prefix("MODULE ")?.splitn(4, ' ');
    let (_os, _machine, id, name) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let info = lines.next();
    let code = info.as_deref().and_then(|line| line.strip_prefix("INFO CODE_ID "));
    let code = code.and_then(|rest| unhex(rest.split_whitespace().next()?));
    Some(Identity { id: id.to_ascii_uppercase(), code_id: code, name: name.to_owned() })
}

/// The module's id for a build id: its first 16 bytes as a GUID, and a zero.
pub(super) fn id_of(build_id: &[u8]) -> String {
    let mut bytes = [0; 16];
    let len = build_id.len().min(16);
    bytes[..len].copy_from_slice(&build_id[..len]);
    // The first three fields are numbers, written from the highest digit on.
    bytes[..4].reverse();
    bytes[4..6].reverse();
    bytes[6..8].reverse();
    trace_format::hex::hex(&bytes).to_ascii_uppercase() + "0"
}

#[derive(Clone, Copy, Debug)]
struct Function {
    start: u64,
    /// 0 for a PUBLIC symbol, whose end is unknown.
    size: u64,
    /// Where its name begins in the text.
    name: usize,
}

/// A symbol file.
pub(super) struct SymbolFile {
    text: Arc<[u8]>,
    functions: Vec<Function>,
    /// Where the names of files begin.
    files: HashMap<u64, usize>,
    /// Where the names of inlined functions begin.
    origins: HashMap<u64, usize>,
    /// Bytes of lines that may still be read.
    left: Cell<usize>,
}

impl SymbolFile {
    /// Reads where things are; the lines of a function are read when they are asked for.
    pub(super) fn new(text: Arc<[u8]>) -> Self {
        let (mut functions, mut files, mut origins) = (Vec::new(), HashMap::new(), HashMap::new());
        let mut at = 0;
        while at < text.len() {
            let end = line_end(&text, at);
            let line = &text[at..end];
            if functions.len() < MAX_ROWS {
                functions.extend(function(line, at));
            }
            numbered(line, at, b"FILE ", &mut files);
            numbered(line, at, b"INLINE_ORIGIN ", &mut origins);
            at = end + 1;
        }
        // Functions before public symbols of the same address.
        functions.sort_by_key(|function| (function.start, function.size != 0));
        let left = Cell::new(text.len().saturating_mul(MAX_READS).saturating_add(MIN_READ));
        Self { text, functions, files, origins, left }
    }

    /// How much memory it uses.
    pub(super) fn bytes(&self) -> usize {
        self.text.len()
            + self.functions.len() * size_of::<Function>()
            + (self.files.len() + self.origins.len()) * 2 * size_of::<(u64, usize)>()
    }

    /// The functions at an address, innermost first.
    pub(super) fn at(&self, address: u64) -> Vec<Named> {
        let end = self.functions.partition_point(|function| function.start <= address);
        let before = &self.functions[..end];
        let covers = |function: &&Function| address - function.start < function.size;
        if let Some(function) = before.iter().rev().take(MAX_STEPS).find(covers) {
            return self.within(function, address);
        }
        let Some(public) = before.last().filter(|function| function.size == 0) else { return Vec::new() };
        let function = placed(&self.text_at(public.name), address - public.start);
        vec![Named { function, file: None, line: 0, inlined: false }]
    }

    /// The functions at an address within this one.
    fn within(&self, function: &Function, address: u64) -> Vec<Named> {
        let mut at = line_end(&self.text, function.name) + 1;
        let mut place: Option<(u64, u64)> = None;
        // The calls around the address, by depth: line, file, origin.
        let mut calls: Vec<Option<(u64, u64, u64)>> = Vec::new();
        while at < self.text.len() {
            let end = line_end(&self.text, at);
            let Some(left) = self.left.get().checked_sub(end - at + 1) else { break };
            self.left.set(left);
            let line = std::str::from_utf8(&self.text[at..end]).unwrap_or_default();
            at = end + 1;
            if let Some(rest) = line.strip_prefix("INLINE ") {
                if let Some((depth, call)) = inline(rest, address)
                    && depth < MAX_INLINED
                {
                    if calls.len() <= depth {
                        calls.resize(depth + 1, None);
                    }
                    calls[depth] = Some(call);
                }
            } else if let Some((start, size, number, file)) = row(line) {
                if address.checked_sub(start).is_some_and(|into| into < size) {
                    place = Some((number, file));
                    break;
                }
            } else {
                break;
            }
        }
        let named = |function: String, place: Option<(u64, u64)>, inlined| Named {
            function,
            file: place.and_then(|(_, file)| Some(shortened(&self.text_at(*self.files.get(&file)?)))),
            line: place.and_then(|(line, _)| u32::try_from(line).ok()).unwrap_or(0),
            inlined,
        };
        let mut frames = Vec::new();
        // A depth that is missing ends the chain from the outermost on.
        let known: Vec<_> = calls.into_iter().map_while(|call| call).collect();
        for &(line, file, origin) in known.iter().rev() {
            let name = self.origins.get(&origin).map(|at| demangle(&self.text_at(*at)));
            frames.push(named(name.unwrap_or_else(|| "an inlined function".to_owned()), place, true));
            place = Some((line, file));
        }
        frames.push(named(demangle(&self.text_at(function.name)), place, false));
        frames
    }

    fn text_at(&self, at: usize) -> String {
        let text = &self.text[..self.text.len().min(at + MAX_MANGLED + 1)];
        let line = &text[at..line_end(text, at)];
        String::from_utf8_lossy(line).trim_end().to_owned()
    }
}

/// Where the line ends that `at` is in.
fn line_end(text: &[u8], at: usize) -> usize {
    memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |len| at + len)
}

fn hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

/// `FUNC [m] ADDRESS SIZE PARAMETERS NAME` and `PUBLIC [m] ADDRESS PARAMETERS NAME`; `at` is where the line begins.
fn function(line: &[u8], at: usize) -> Option<Function> {
    let (rest, sized) = match line.strip_prefix(b"FUNC ") {
        Some(rest) => (rest, true),
        None => (line.strip_prefix(b"PUBLIC ")?, false),
    };
    let rest = std::str::from_utf8(rest).ok()?;
    let rest = rest.strip_prefix("m ").unwrap_or(rest);
    let (start, rest) = rest.split_once(' ')?;
    let (size, rest) = if sized { rest.split_once(' ')? } else { ("0", rest) };
    let (_parameters, name) = rest.split_once(' ')?;
    let size = hex(size)?;
    if sized && size == 0 {
        return None;
    }
    Some(Function { start: hex(start)?, size, name: at + line.len() - name.len() })
}

/// `FILE NUMBER NAME` and `INLINE_ORIGIN NUMBER NAME`.
fn numbered(line: &[u8], at: usize, keyword: &[u8], into: &mut HashMap<u64, usize>) {
    if let Some(rest) = line.strip_prefix(keyword)
        && let Ok(rest) = std::str::from_utf8(rest)
        && let Some((number, name)) = rest.split_once(' ')
        && let Ok(number) = number.parse()
        && into.len() < MAX_ROWS
    {
        into.insert(number, at + line.len() - name.len());
    }
}

/// `DEPTH CALL_LINE CALL_FILE ORIGIN ADDRESS SIZE [ADDRESS SIZE]...`, if a range contains the address.
fn inline(text: &str, address: u64) -> Option<(usize, (u64, u64, u64))> {
    let mut fields = text.split_ascii_whitespace();
    let mut number = || fields.next()?.parse::<u64>().ok();
    let (depth, line, file, origin) = (number()?, number()?, number()?, number()?);
    while let (Some(start), Some(size)) = (fields.next(), fields.next()) {
        if address.checked_sub(hex(start)?).is_some_and(|into| hex(size).is_some_and(|size| into < size)) {
            return Some((usize::try_from(depth).ok()?, (line, file, origin)));
        }
    }
    None
}

/// `ADDRESS SIZE LINE FILE`.
fn row(text: &str) -> Option<(u64, u64, u64, u64)> {
    let mut fields = text.split_ascii_whitespace();
    let (start, size) = (hex(fields.next()?)?, hex(fields.next()?)?);
    Some((start, size, fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}
