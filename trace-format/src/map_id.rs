//! The identity of a method map, which ties a recording to its build.

use core::fmt;
use core::str::FromStr;

/// A 64-bit FNV-1a hash of the map's id lines, each without its line end and followed by `\n`, in
/// ascending order of id. Comments and blank lines do not count. The instrumenter puts it into the
/// generated class `dev/anrscope/MapId`, the runtime copies it into the recording, and every reader
/// compares it: a map of another build would give plausible but wrong names.
///
/// A map that grows while a JVM loads classes has no hash before the program ends. Its id is a random number, which its
/// first line states: see [`MapId::first_line`].
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub struct MapId(pub u64);

impl MapId {
    /// The id of a recording whose program has no map id.
    pub const UNKNOWN: Self = Self(0);

    /// Hashes `lines`, which must come in ascending order of id.
    pub fn from_lines<'a>(lines: impl IntoIterator<Item = &'a str>) -> Self {
        let mut hash = MapHash::default();
        for line in lines {
            hash.add(line.as_bytes());
            hash.add(b"\n");
        }
        hash.id()
    }

    /// The first line of a map that grows, without its line end. To readers that do not know it, it is a comment.
    ///
    /// ```
    /// use trace_format::MapId;
    ///
    /// let line = MapId(0x1234).first_line();
    /// assert_eq!(line, "# map id of this run: 0000000000001234");
    /// assert_eq!(MapId::of_first_line(&line), Some(MapId(0x1234)));
    /// ```
    #[must_use]
    pub fn first_line(self) -> String {
        format!("{FIRST_LINE}{self}")
    }

    /// The id that a map's first line states; `None` if the map's id is the hash of its lines.
    #[must_use]
    pub fn of_first_line(line: &str) -> Option<Self> {
        let id: Self = line.strip_prefix(FIRST_LINE)?.trim_end().parse().ok()?;
        (id != Self::UNKNOWN).then_some(id)
    }
}

/// What stands before the id in a map's first line.
const FIRST_LINE: &str = "# map id of this run: ";

/// Computes a [`MapId`] incrementally, for a map that is built piece by piece or of which only the end is new.
///
/// Add the text of the id lines, each with its `\n`. You can keep the state after a part of the text,
/// and continue from there with another end.
///
/// ```
/// use trace_format::{MapHash, MapId};
///
/// let mut hash = MapHash::default();
/// hash.add(b"1,1,a.B c ()V\n");
/// let kept = hash.state();
/// hash.add(b"2,1,a.B d ()V\n");
/// assert_eq!(hash.id(), MapId::from_lines(["1,1,a.B c ()V", "2,1,a.B d ()V"]));
///
/// let mut again = MapHash::behind(kept);
/// again.add(b"3,1,a.B e ()V\n");
/// assert_eq!(again.id(), MapId::from_lines(["1,1,a.B c ()V", "3,1,a.B e ()V"]));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MapHash(u64);

impl Default for MapHash {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl MapHash {
    /// Continues after the text whose [`state`](Self::state) this was.
    pub fn behind(state: u64) -> Self {
        Self(state)
    }

    /// Adds text.
    pub fn add(&mut self, text: &[u8]) {
        self.0 =
            text.iter().fold(self.0, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    }

    /// The current state, for [`behind`](Self::behind).
    pub fn state(self) -> u64 {
        self.0
    }

    /// The id of a map with the text that was added.
    pub fn id(self) -> MapId {
        // 0 is taken by UNKNOWN.
        MapId(self.0.max(1))
    }
}

impl fmt::Display for MapId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The text was not 1 to 16 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadMapId;

impl fmt::Display for BadMapId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map id is 1 to 16 hexadecimal digits")
    }
}

impl core::error::Error for BadMapId {}

impl FromStr for MapId {
    type Err = BadMapId;

    fn from_str(text: &str) -> Result<Self, BadMapId> {
        u64::from_str_radix(text, 16).map(Self).map_err(|_| BadMapId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_round_trips_and_lines_matter() {
        let a = MapId::from_lines(["1,1,a.B c ()V", "2,1,a.B d ()V"]);
        assert_eq!(a.to_string().parse(), Ok(a));
        assert_ne!(a, MapId::from_lines(["1,1,a.B c ()V2,1,a.B d ()V"]));
        assert_ne!(a, MapId::from_lines(["2,1,a.B d ()V", "1,1,a.B c ()V"]));
        assert_eq!("xyz".parse::<MapId>(), Err(BadMapId));
        for other in ["# a map", "1,1,a.B c ()V", "# map id of this run: ", "# map id of this run: 0"] {
            assert_eq!(MapId::of_first_line(other), None, "{other}");
        }
    }
}
