//! HotSpot's own deadlock report, after the threads:
//!
//! ```text
//! Found one Java-level deadlock:
//! =============================
//! "main":
//!   waiting to lock monitor 0x00007ff69c0d20b0 (object 0x00000000ffd184a0, a java.lang.Object),
//!   which is held by "SyncWorker"
//! "Left":
//!   waiting for ownable synchronizer 0x00000000ffd185f8, (a java.util.concurrent.locks.ReentrantLock$NonfairSync),
//!   which is held by "Right"
//!
//! Java stack information for the threads listed above:
//! ```
//! (HotSpot `services/threadService.cpp`, `DeadlockCycle::print_on_with`, JDK 8 to 25.) It is the only place where a dump
//! without `-l` names the owner of a `java.util.concurrent` lock. After the second title the stacks are repeated.

use crate::dump::limits;

/// One thread that waits for another, by name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::dump) struct Wait {
    pub(in crate::dump) waiter: String,
    pub(in crate::dump) address: u64,
    pub(in crate::dump) owner: String,
}

/// Parses the report line by line.
#[derive(Clone, Debug, Default)]
pub(in crate::dump) struct Deadlocks {
    waiter: Option<String>,
    address: Option<u64>,
    pub(in crate::dump) waits: Vec<Wait>,
}

/// Whether the report starts here.
pub(in crate::dump) fn begins(text: &str) -> bool {
    text.starts_with("Found one Java-level deadlock") || text.starts_with("Found a total of ")
}

impl Deadlocks {
    /// Takes a line.
    pub(in crate::dump) fn take(&mut self, text: &str) {
        if let Some(name) = text.strip_prefix('"').and_then(|text| text.strip_suffix("\":")) {
            self.waiter = Some(name.to_owned());
            self.address = None;
        } else if let Some(rest) = text.strip_prefix("waiting to lock monitor ") {
            self.address = rest.split_once("(object ").and_then(|(_, object)| address(object));
        } else if let Some(rest) = text.strip_prefix("waiting for ownable synchronizer ") {
            self.address = address(rest);
        } else if let Some(owner) =
            text.strip_prefix("which is held by \"").and_then(|text| text.strip_suffix('"'))
            && let (Some(waiter), Some(address)) = (self.waiter.take(), self.address.take())
            && self.waits.len() < limits::FRAMES
        {
            self.waits.push(Wait { waiter, address, owner: owner.to_owned() });
        }
    }
}

fn address(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x")?;
    let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
    u64::from_str_radix(&digits[..end], 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_read_and_the_repeated_stacks_are_not() {
        let text = "\"main\":\n  waiting to lock monitor 0x7f (object 0x0ffa, a java.lang.Object),\n  which is held by \"a \"b\"\"\n\
            \"R\":\n  waiting for ownable synchronizer 0xb1, (a x.Sync),\n  which is held by \"main\"\n\
            Java stack information for the threads listed above:\n\"main\":\n\tat a.b(C.java:1)\n\"x\":\nwhich is held by \"y\"\n";
        let mut block = Deadlocks::default();
        assert!(begins("Found one Java-level deadlock:") && !begins("Found 2 deadlocks."));
        text.lines().for_each(|line| block.take(line.trim()));
        let wait =
            |waiter: &str, address, owner: &str| Wait { waiter: waiter.into(), address, owner: owner.into() };
        assert_eq!(block.waits, [wait("main", 0xffa, "a \"b\""), wait("R", 0xb1, "main")]);
    }
}
