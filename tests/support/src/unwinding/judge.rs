//! Compares the frames that an unwinder found with the chain that the program recorded itself.

use std::collections::HashMap;

use object::{Object as _, ObjectSection as _, ObjectSymbol as _};
use trace_format::sections::native_modules::NativeModules;

/// Frames of libraries follow: one or more.
const LIBRARY: u64 = 1 << 32;
/// Frames of libraries follow: none or more.
const MAYBE: u64 = 2 << 32;
/// A signal interrupted the next function.
const SIGNAL: u64 = 3 << 32;
/// What a chain starts with: main, or the function of a thread.
const ROOTS: [u64; 2] = [0, 998];
/// The handlers in the middle of a chain.
const HANDLER: u64 = 997;

/// An entry of the recorded chain: a function and its return address, or one of the marks above.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The function's number, or a mark.
    pub id: u64,
    /// Its return address, or the address that a signal interrupted; 0 if it was not recorded.
    pub address: u64,
}

/// How a stack compares with the truth.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Verdict {
    /// All of it, to the root.
    Right,
    /// What is there is right, but the outer part is missing.
    Short,
    /// A frame that is not in the chain, or one left out.
    Wrong,
}

/// A verdict, the frame from which on it does not fit, and why.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// The first frame that is missing or wrong.
    pub at: usize,
    /// Why it is.
    pub why: String,
}

/// The functions of the program, and where code of libraries is.
pub struct Places {
    /// First address, address behind it, name.
    functions: Vec<(u64, u64, String)>,
    /// Names of addresses in libraries, for messages.
    code: Vec<(u64, u64, String)>,
}

impl Places {
    /// Of these mappings; `program` is the path of the generated program, and `bytes` its file.
    pub fn new(
        modules: &NativeModules,
        program: &str,
        bytes: &[u8],
        read: impl Fn(&str) -> Option<Vec<u8>>,
    ) -> Self {
        let mut functions = Vec::new();
        let mut code = Vec::new();
        let mut known: HashMap<String, Vec<(u64, u64, String)>> = HashMap::new();
        for mapping in &modules.mappings {
            let names = known.entry(mapping.path.clone()).or_insert_with(|| {
                let read = if mapping.path == program { Some(bytes.to_vec()) } else { read(&mapping.path) };
                read.as_deref().map(symbols).unwrap_or_default()
            });
            let mut all: Vec<_> = names
                .iter()
                .map(|(start, end, name)| {
                    (start.wrapping_add(mapping.bias), end.wrapping_add(mapping.bias), name.clone())
                })
                .filter(|(start, ..)| (mapping.start..mapping.end).contains(start))
                .collect();
            if mapping.path == program {
                functions.append(&mut all);
            } else {
                code.append(&mut all);
            }
            let file = mapping.path.rsplit('/').next().unwrap_or_default();
            code.push((mapping.start, mapping.end, file.to_owned()));
        }
        for (start, image) in &modules.images {
            // A handler may return to its first byte, of which the byte before is looked up.
            code.push((start - 1, start + image.len() as u64, "[image]".to_owned()));
        }
        functions.sort();
        Self { functions, code }
    }

    /// The generated function at an address.
    fn id(&self, address: u64) -> Option<u64> {
        let behind = self.functions.partition_point(|(start, ..)| *start <= address);
        // Aliases start at the same address: the one that is a generated function counts.
        self.functions[..behind].iter().rev().take(8).find_map(|(_, end, name)| {
            if address >= *end {
                return None;
            }
            if name == "main" {
                return Some(0);
            }
            let digits = name.strip_prefix("f_")?;
            let digits = digits.split('.').next()?;
            digits.parse().ok()
        })
    }

    /// Whether there is code at an address.
    fn is_code(&self, address: u64) -> bool {
        self.code.iter().any(|(start, end, _)| (*start..*end).contains(&address))
    }

    /// The name of what is at an address, for messages.
    pub fn name(&self, address: u64) -> String {
        let within = |all: &[(u64, u64, String)]| {
            let found = all.iter().filter(|(start, end, _)| (*start..*end).contains(&address));
            found
                .min_by_key(|(start, end, _)| end - start)
                .map(|(start, _, name)| format!("{name}+{:#x}", address - start))
        };
        within(&self.functions).or_else(|| within(&self.code)).unwrap_or_else(|| format!("{address:#x}"))
    }

    /// The same without the offset: to count causes.
    pub fn cause(&self, address: u64) -> String {
        let name = self.name(address);
        let name = name.split('+').next().unwrap_or_default();
        if name.starts_with("0x") {
            "unmapped".to_owned()
        } else if self.id(address).is_some() {
            "generated".to_owned()
        } else {
            name.to_owned()
        }
    }
}

fn symbols(bytes: &[u8]) -> Vec<(u64, u64, String)> {
    let Ok(file) = object::File::parse(bytes) else { return Vec::new() };
    let mut found: Vec<_> = file
        .symbols()
        .chain(file.dynamic_symbols())
        .filter(|symbol| symbol.kind() == object::SymbolKind::Text && symbol.size() > 0)
        // Bit 0 of an address says Thumb.
        .map(|symbol| {
            let thumb = u64::from(file.architecture() == object::Architecture::Arm);
            let start = symbol.address() & !thumb;
            (start, start + symbol.size(), symbol.name().unwrap_or_default().to_owned())
        })
        .collect();
    for section in file.sections() {
        if let Ok(name) = section.name()
            && name.starts_with(".plt")
        {
            found.push((section.address(), section.address() + section.size(), name.to_owned()));
        }
    }
    found
}

/// What is compared.
struct Walk<'a> {
    places: &'a Places,
    frames: &'a [u64],
    truth: &'a [Entry],
    at: usize,
    thumb: bool,
    loose: bool,
}

type Judged<T> = Result<T, Judgement>;

/// Compares frames, addresses to look up, innermost first, with the chain. `pc` is where the thread was interrupted; `thumb`: bit 0 of a
/// return address is no part of it. `loose`: an unwinder that does not tell an interrupted function from a caller may look up the byte before.
pub fn judge(
    places: &Places,
    frames: &[u64],
    truth: &[Entry],
    pc: u64,
    thumb: bool,
    loose: bool,
) -> Judgement {
    let mut walk = Walk { places, frames, truth, at: 0, thumb, loose };
    match walk.whole(pc) {
        Ok(()) => Judgement { verdict: Verdict::Right, at: frames.len(), why: String::new() },
        Err(judgement) => judgement,
    }
}

impl Walk<'_> {
    fn wrong<T>(&self, why: String) -> Judged<T> {
        Err(Judgement { verdict: Verdict::Wrong, at: self.at, why })
    }

    /// The next frame.
    fn next(&self) -> Judged<u64> {
        self.frames.get(self.at).copied().ok_or_else(|| Judgement {
            verdict: Verdict::Short,
            at: self.at,
            why: format!(
                "ends behind {}",
                self.frames.last().map_or("nothing".into(), |pc| self.places.cause(*pc))
            ),
        })
    }

    /// Whether a frame is at an address that a signal interrupted.
    fn is_at(&self, found: u64, interrupted: u64) -> bool {
        found == interrupted || self.loose && found == interrupted.wrapping_sub(1)
    }

    /// Skips frames of libraries; how many.
    fn libraries(&mut self) -> Judged<usize> {
        let begin = self.at;
        while self.at < self.frames.len() && self.places.id(self.frames[self.at]).is_none() {
            if !self.places.is_code(self.frames[self.at]) {
                return self.wrong(format!("no code, after {}", self.before()));
            }
            self.at += 1;
        }
        Ok(self.at - begin)
    }

    /// What is before the current frame, for messages.
    fn before(&self) -> String {
        self.at.checked_sub(1).map_or("nothing".into(), |at| self.places.cause(self.frames[at]))
    }

    /// What was interrupted at `pc`: a function that has not yet stored its number, or has already removed it, or a library.
    fn interrupted(&mut self, pc: u64, rest: &[Entry]) -> Judged<()> {
        let found = self.next()?;
        if !self.is_at(found, pc) {
            return self.wrong(format!(
                "{} instead of the interrupted {}",
                self.places.cause(found),
                self.places.cause(pc)
            ));
        }
        let top = rest.iter().map(|entry| entry.id).find(|id| !matches!(*id, LIBRARY | MAYBE));
        match self.places.id(pc) {
            Some(id) if Some(id) != top => self.at += 1,
            Some(_) => {}
            None => {
                self.libraries()?;
            }
        }
        Ok(())
    }

    fn whole(&mut self, pc: u64) -> Judged<()> {
        let truth = self.truth;
        self.interrupted(pc, truth)?;
        // The return address of the function before, if the next frame is to be compared with it.
        let mut return_address = 0;
        let mut inner = false;
        for (i, entry) in truth.iter().enumerate() {
            match entry.id {
                LIBRARY | MAYBE => {
                    self.returns(&mut return_address)?;
                    let count = self.libraries()?;
                    if entry.id == LIBRARY && inner && count == 0 {
                        self.next()?;
                        return self.wrong(format!("no library after {}", self.before()));
                    }
                }
                SIGNAL => {
                    // The code by which handlers return is not always shown.
                    return_address = 0;
                    while !self.is_at(self.next()?, entry.address) && self.places.id(self.next()?).is_none() {
                        if !self.places.is_code(self.next()?) {
                            return self.wrong(format!("no code, after {}", self.before()));
                        }
                        self.at += 1;
                    }
                    self.interrupted(entry.address, &truth[i + 1..])?;
                    inner = false;
                }
                id => {
                    let found = self.next()?;
                    if self.places.id(found) != Some(id) {
                        return self.wrong(format!("{} after {}", self.places.cause(found), self.before()));
                    }
                    self.returns(&mut return_address)?;
                    self.at += 1;
                    inner = true;
                    if id != HANDLER {
                        return_address = entry.address;
                    }
                    if ROOTS.contains(&id) {
                        self.returns(&mut return_address)?;
                        self.libraries()?;
                        if let Some(beyond) = self.frames.get(self.at) {
                            return self.wrong(format!("{} beyond the root", self.places.cause(*beyond)));
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The next frame, if there is one, is at this return address.
    fn returns(&self, address: &mut u64) -> Judged<()> {
        let expected = std::mem::take(address);
        let expected = if self.thumb { expected & !1 } else { expected };
        match self.frames.get(self.at) {
            Some(found) if expected != 0 && *found != expected - 1 => self.wrong(format!(
                "another return address: {} after {}",
                self.places.cause(*found),
                self.before()
            )),
            _ => Ok(()),
        }
    }
}
