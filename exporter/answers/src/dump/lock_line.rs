//! Lock lines: `- waiting to lock <0x0b7a434d> (a java.lang.String) held by thread 3`.
//!
//! A JVM's are those of HotSpot's `javaVFrame::print_lock_info_on` (`runtime/vframe.cpp`, JDK 8 to 25), and of
//! `jdk.internal.vm.ThreadDumper` (JDK 25), which writes `<java.lang.Object@799c5f73>, owner #12` instead of an address.

use serde::Serialize;

use super::address;

/// The relation between a thread and a monitor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LockKind {
    /// It is in `Object.wait()`.
    WaitingOn,
    /// It is in `Thread.sleep()`.
    SleepingOn,
    /// It waits for the monitor, which another thread owns.
    WaitingToLock,
    /// Waiting until another thread has initialised the class.
    WaitingForClass,
    /// It entered the monitor in this frame.
    Locked,
    /// It is parked for this lock, condition or future of `java.util.concurrent` (a JVM's dump).
    ParkingFor,
    /// It owns this lock of `java.util.concurrent` (a JVM's dump with `-l`).
    Owned,
}

/// One lock line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LockLine {
    /// The relation.
    pub kind: LockKind,
    /// The object, by ART's identity hash or Dalvik's address; `None` for `an unknown object`.
    #[serde(rename = "lock", serialize_with = "address::serialize")]
    pub address: Option<u64>,
    /// The object's class.
    pub class: Option<String>,
    /// The tid of the owner, if ART knew it.
    pub owner: Option<u32>,
    /// The index of the frame in [`super::Thread::frames`] below which the line is.
    pub frame: Option<usize>,
}

impl LockLine {
    /// A wait for another thread that initialises `class`, if it is known which.
    pub(super) fn for_class(class: Option<&str>, owner: Option<u32>) -> Self {
        let of = class.map_or_else(String::new, |class| format!("<{class}>"));
        let class = Some(format!("java.lang.Class{of}"));
        Self { kind: LockKind::WaitingForClass, address: None, class, owner, frame: None }
    }

    /// The class that another thread initialises.
    pub(super) fn initialised(&self) -> Option<&str> {
        let class = self.class.as_deref().filter(|_| self.kind == LockKind::WaitingForClass)?;
        class.strip_prefix("java.lang.Class<")?.strip_suffix('>')
    }
}

impl std::fmt::Display for LockLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.kind {
            LockKind::WaitingOn => "- waiting on",
            LockKind::SleepingOn => "- sleeping on",
            LockKind::WaitingToLock => "- waiting to lock",
            LockKind::WaitingForClass => "- waiting for the initialisation of",
            LockKind::Locked => "- locked",
            LockKind::ParkingFor => "- parking to wait for",
            LockKind::Owned => "- owns",
        })?;
        match self.address {
            _ if self.kind == LockKind::WaitingForClass => {}
            Some(address) => write!(f, " <0x{address:08x}>")?,
            None => f.write_str(" an unknown object")?,
        }
        if let Some(class) = &self.class {
            write!(f, " (a {class})")?;
        }
        self.owner.map_or(Ok(()), |owner| write!(f, " held by thread {owner}"))
    }
}

/// Parses `- <0x00000000ffd185f8> (a x.Sync)`, below `Locked ownable synchronizers:`.
pub(crate) fn owned(text: &str) -> Option<LockLine> {
    let object = text.strip_prefix("- ").filter(|object| object.starts_with('<'))?;
    let line = parse(&format!("- locked {object}"))?;
    Some(LockLine { kind: LockKind::Owned, ..line })
}

/// Parses `waiting for Worker@501 to release lock on <0x1f6> (a java.lang.Object)`, which Android Studio writes
/// above the frames: returns the owner's name and the lock.
pub(crate) fn of_debugger(text: &str) -> Option<(&str, LockLine)> {
    let (owner, object) = text.strip_prefix("waiting for ")?.split_once(" to release lock on ")?;
    Some((owner, parse(&format!("- waiting to lock {object}"))?))
}

/// Parses a lock line without its indentation.
pub(crate) fn parse(text: &str) -> Option<LockLine> {
    let rest = text.strip_prefix("- ")?;
    if let Some(class) = rest.strip_prefix("waiting on the Class initialization monitor for ") {
        return Some(LockLine::for_class(Some(class.trim()), None));
    }
    let kinds = [
        ("waiting to lock ", LockKind::WaitingToLock),
        ("waiting to re-lock in wait() ", LockKind::WaitingToLock),
        ("parking to wait for ", LockKind::ParkingFor),
        ("waiting on ", LockKind::WaitingOn),
        ("sleeping on ", LockKind::SleepingOn),
        ("locked ", LockKind::Locked),
    ];
    let (kind, mut rest) = kinds.iter().find_map(|(word, kind)| Some((*kind, rest.strip_prefix(word)?)))?;
    let mut line = LockLine { kind, address: None, class: None, owner: None, frame: None };
    if let Some(after) = rest.trim_start().strip_prefix('<') {
        let (object, after) = after.split_once('>')?;
        let (class, address) =
            object.trim().split_once('@').map_or((None, object.trim()), |(c, a)| (Some(c), a));
        line.address = u64::from_str_radix(address.strip_prefix("0x").unwrap_or(address), 16).ok();
        if let Some(class) = class {
            line.class = Some(class.to_owned());
            line.owner = after.trim().strip_prefix(", owner #").and_then(|owner| owner.parse().ok());
            return Some(line);
        }
        rest = after;
    }
    let (object, owner) = rest.split_once(" held by ").map_or((rest, None), |(object, h)| (object, Some(h)));
    line.owner = owner.and_then(|owner| {
        let number = ["thread ", "tid=", "threadid="].iter().find_map(|word| owner.strip_prefix(word))?;
        let digits = number.bytes().take_while(u8::is_ascii_digit).count();
        number[..digits].parse().ok()
    });
    // `(a java.lang.Object)`; a class's own monitor is `(a java.lang.Class<a.b.C>)`.
    line.class = object
        .split_once("(a ")
        .map(|(_, class)| class.trim_end().strip_suffix(')').unwrap_or(class).to_owned())
        .filter(|class| !class.is_empty());
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_lines_of_art_and_dalvik() {
        use LockKind::{Locked, SleepingOn, WaitingForClass, WaitingOn, WaitingToLock};
        for (text, kind, address, class, owner) in [
            (
                "- waiting to lock <0x0b7a434d> (a java.lang.String) held by thread 3",
                WaitingToLock,
                Some(0x0b7a_434d),
                Some("java.lang.String"),
                Some(3),
            ),
            (
                "- waiting to lock <0x0f0984ff> (a android.os.MessageQueue)",
                WaitingToLock,
                Some(0x0f09_84ff),
                Some("android.os.MessageQueue"),
                None,
            ),
            ("- waiting to lock an unknown object", WaitingToLock, None, None, None),
            (
                "- waiting on <0x0a7b4950> (a java.lang.Class<a.B>)",
                WaitingOn,
                Some(0x0a7b_4950),
                Some("java.lang.Class<a.B>"),
                None,
            ),
            (
                "- waiting on <0x951db0e8> (a java.lang.VMThread) held by tid=57 (pool-2-thread-1)",
                WaitingOn,
                Some(0x951d_b0e8),
                Some("java.lang.VMThread"),
                Some(57),
            ),
            ("- waiting on <0x0abc> ", WaitingOn, Some(0xabc), None, None),
            (
                "- waiting on the Class initialization monitor for a.B$C",
                WaitingForClass,
                None,
                Some("java.lang.Class<a.B$C>"),
                None,
            ),
            ("- sleeping on <0x1> (a java.lang.Object)", SleepingOn, Some(1), Some("java.lang.Object"), None),
            ("- locked <0x2> (a b.C)", Locked, Some(2), Some("b.C"), None),
            ("- locked <nonsense> (a b.C", Locked, None, Some("b.C"), None),
        ] {
            let expected = LockLine { kind, address, class: class.map(str::to_owned), owner, frame: None };
            assert_eq!(parse(text), Some(expected), "{text}");
        }
        for text in ["- ", "-", "- waiting", "- locked <0x1", "locked <0x1>"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
