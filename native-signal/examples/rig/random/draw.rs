//! One situation drawn from a seed: the same seed gives the same situation in judge and simulated app.

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators").
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub(crate) fn one_in(&mut self, chances: u64) -> bool {
        self.below(chances) == 0
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

/// What SIGQUIT did before the sensor came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    Default,
    /// Inherited over `exec`, as a shell's background job does.
    Ignored,
    /// A handler that keeps the signal, as HotSpot's.
    HandlerKeeps,
    /// A handler that sends it to the catcher, as another crash reporter's.
    HandlerForwards,
}

/// What is put before the sensor once it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    Nothing,
    Chains,
    Keeps,
}

/// What the leader does while signals come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leader {
    Nanosleep,
    Read,
    Futex,
    Loop,
    /// Uninterruptible, again and again.
    Vfork,
    /// Installs and uninstalls.
    ComesAndGoes,
}

/// What the Signal Catcher is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    Plain,
    /// Renamed once the sensor knows it.
    RenamedLater,
    /// Never called so: the sensor must stay out.
    Other,
}

/// How the catcher's SigBlk reads when the sensor looks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mask {
    /// 0x1000: in sigwait.
    Waiting,
    /// 0x5000: in sigwait, with a vendor's further signal.
    WaitingVendor,
    /// 0x1204: in a dump.
    Dumping,
}

/// When the process has no file descriptor left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Descriptors {
    Enough,
    NoneAtInstall,
    NoneLater,
}

/// A second copy of the library in the same process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Second {
    None,
    InstalledFirst,
    InstalledLast,
}

/// Signals one after another; then the judge waits until all is quiet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Burst {
    pub(crate) count: u64,
    pub(crate) gap_us: u64,
}

/// The situation.
#[derive(Clone, Debug)]
pub(crate) struct Draw {
    pub(crate) before: Before,
    pub(crate) after: After,
    pub(crate) leader: Leader,
    pub(crate) name: Name,
    pub(crate) mask: Mask,
    /// How long the catcher dumps.
    pub(crate) dump_us: u64,
    /// It ends after so many signals, and another comes; 0: it never does.
    pub(crate) lives: u64,
    /// How long until that other comes.
    pub(crate) reborn_us: u64,
    /// Its dump interrupts the leader's system calls, as ART's does.
    pub(crate) interrupts: bool,
    /// Sent by sigqueue, each with a number, rather than by kill.
    pub(crate) queued: bool,
    pub(crate) second: Second,
    pub(crate) forks: bool,
    pub(crate) descriptors: Descriptors,
    pub(crate) no_altstack: bool,
    pub(crate) threads: u64,
    pub(crate) bursts: Vec<Burst>,
    /// Another thread captures the leader's stack all the time.
    pub(crate) captures: bool,
}

impl Draw {
    pub(crate) fn of(seed: u64, has_second: bool) -> Draw {
        let r = &mut Random::new(seed);
        let mut draw = Draw {
            before: r.of(&[
                Before::Default,
                Before::Default,
                Before::Default,
                Before::Ignored,
                Before::HandlerKeeps,
                Before::HandlerForwards,
            ]),
            after: r.of(&[After::Nothing, After::Nothing, After::Nothing, After::Chains, After::Keeps]),
            leader: r.of(&[
                Leader::Nanosleep,
                Leader::Read,
                Leader::Futex,
                Leader::Loop,
                Leader::Vfork,
                Leader::ComesAndGoes,
            ]),
            name: r.of(&[
                Name::Plain,
                Name::Plain,
                Name::Plain,
                Name::Plain,
                Name::RenamedLater,
                Name::Other,
            ]),
            mask: r.of(&[Mask::Waiting, Mask::WaitingVendor, Mask::Dumping]),
            dump_us: r.of(&[0, 0, 100, 1000, 10_000]),
            lives: if r.one_in(5) { 1 + r.below(3) } else { 0 },
            reborn_us: r.below(30_000),
            interrupts: r.one_in(3),
            queued: r.one_in(2),
            second: r.of(&[Second::None, Second::None, Second::InstalledFirst, Second::InstalledLast]),
            forks: r.one_in(4),
            descriptors: r.of(&[
                Descriptors::Enough,
                Descriptors::Enough,
                Descriptors::Enough,
                Descriptors::NoneAtInstall,
                Descriptors::NoneLater,
            ]),
            no_altstack: r.one_in(3),
            threads: if r.one_in(25) { 500 } else { 0 },
            bursts: Vec::new(),
            captures: false,
        };
        if !has_second {
            draw.second = Second::None;
        }
        draw.bursts = bursts(r, &draw);
        draw.captures = r.one_in(2);
        draw.reconcile();
        draw
    }

    /// Takes out what would mean nothing together.
    fn reconcile(&mut self) {
        if self.lives != 0 {
            // A handler of the rig's that forwards knows no better than to send to a catcher that is just ending: one at
            // a time then, so that it is alive. Ours must see to it that each burst's last one arrives.
            let most = if self.before == Before::HandlerForwards { 1 } else { 50 };
            self.bursts.iter_mut().for_each(|burst| burst.count = burst.count.min(most));
            // A new catcher is found by reading /proc.
            self.descriptors = Descriptors::Enough;
            if self.leader == Leader::ComesAndGoes {
                self.leader = Leader::Nanosleep;
            }
            if self.name == Name::RenamedLater {
                self.name = Name::Plain;
            }
        }
        if self.leader == Leader::ComesAndGoes {
            // Without a descriptor it would not come again, and "open again" would never be.
            self.descriptors = Descriptors::Enough;
            // Nor a catcher of its name.
            if self.name == Name::RenamedLater {
                self.name = Name::Plain;
            }
        }
        if self.name == Name::Other {
            // Nothing is installed, and nothing may be put before it.
            self.after = After::Nothing;
        }
        if self.descriptors == Descriptors::NoneAtInstall {
            self.after = After::Nothing;
        }
    }

    /// The same for ThreadSanitizer: without `fork` and `vfork`, with a leader that calls the C library now and then
    /// (only there it lets a handler run), and with descriptors for its reports.
    pub(crate) fn without_children(mut self) -> Draw {
        self.forks = false;
        self.captures = false;
        self.descriptors = Descriptors::Enough;
        if matches!(self.leader, Leader::Vfork | Leader::Loop | Leader::Futex | Leader::Read) {
            self.leader = Leader::Nanosleep;
        }
        self
    }

    /// The same for a sensor that withholds: only where it is the one that forwards.
    pub(crate) fn withheld(mut self) -> Draw {
        self.before = Before::Default;
        self.after = After::Nothing;
        self.name = Name::Plain;
        self.second = Second::None;
        self.descriptors = Descriptors::Enough;
        self.lives = 0;
        if self.leader == Leader::ComesAndGoes {
            self.leader = Leader::Nanosleep;
        }
        self
    }
}

fn bursts(r: &mut Random, draw: &Draw) -> Vec<Burst> {
    let slow = draw.leader == Leader::Vfork || draw.dump_us > 1000;
    let number = 1 + r.below(if slow { 3 } else { 8 });
    let mut left_us: u64 = 250_000;
    (0..number)
        .map(|_| {
            let kind = r.below(8);
            let count = match kind {
                // One at a time.
                0..=3 => 1,
                // Doubles.
                4 | 5 => 2,
                // A storm: 1 to 10,000, each size as likely as its half.
                _ => (1 << r.below(14)) + r.below(1000),
            }
            .min(10_000);
            // As fast as it goes, or up to 10 kHz.
            let gap_us = if r.one_in(3) { 0 } else { 100 + r.below(2000) };
            let count = count.min(left_us.checked_div(gap_us).map_or(10_000, |fit| 1 + fit));
            left_us -= (count * gap_us).min(left_us);
            Burst { count, gap_us }
        })
        .collect()
}
