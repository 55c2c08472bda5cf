//! Pairs the ends of messages with their begins.
//!
//! Two things break the simple order. A *nested loop* (a dialog that runs its own `Looper.loop()` inside of a message)
//! begins messages inside of a message. A *lost end*: libraries that catch every exception around `Looper.loop()` continue
//! with the next message, and the one that threw never ends. Both look alike, a begin inside of a begin; the stack
//! distinguishes them. A nested loop is deeper on the stack than the outer loop, and a loop that
//! continues has the same depth as before.

/// The most nested loops that are tracked. Messages of deeper ones are ignored.
pub const MAX_NESTED: usize = 8;

/// A begin that is deeper on the stack than the one before by fewer bytes than this comes from the same loop: a compiled method
/// that replaces an interpreted one moves its callees by some bytes. A nested loop has at least `dispatchMessage`,
/// the callback, `loop` and `println` in between.
pub const SAME_LOOP_BYTES: usize = 256;

/// The target of a message. Texts are the embedder's ids; 0 is "none".
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tag {
    /// The handler's class.
    pub target: u32,
    /// The callback's class.
    pub callback: u32,
    /// `Message.what`. An end lacks it and is matched without.
    pub what: i32,
}

/// The length from which on a message is slow, ms (Matrix `DEFAULT_EVIL_METHOD_THRESHOLD_MS`).
pub const SLOW_MS: u32 = 700;

impl Tag {
    fn same_but_what(self, other: Tag) -> bool {
        (self.target, self.callback) == (other.target, other.callback)
    }
}

/// The result of a begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Begun {
    /// How many messages are around it: 0 outside of nested loops.
    pub nested: u8,
    /// Messages of the same loop, and of loops in them, whose end did not come. They are over and their length is not known.
    pub lost: u8,
}

/// A message that ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ended {
    /// Its target.
    pub tag: Tag,
    /// When it began, ns.
    pub begun_ns: u64,
    /// When it ended, ns.
    pub ended_ns: u64,
    /// Its length without the time from the first begin to the last end of a nested loop, in which the thread
    /// processed messages and was not stalled.
    pub own_ns: u64,
    /// How many messages were around it.
    pub nested: u8,
    /// Messages inside of it whose end did not come.
    pub lost: u8,
}

impl Ended {
    /// Returns its own time in whole milliseconds if it is slow: 699.999 ms are 699.
    #[inline]
    #[must_use]
    pub fn slow_ms(&self, threshold_ms: u64) -> Option<u64> {
        Some(self.own_ns / 1_000_000).filter(|own_ms| *own_ms >= threshold_ms)
    }
}

#[derive(Clone, Copy, Default)]
struct Open {
    tag: Tag,
    begun_ns: u64,
    stack: usize,
    /// First start and last end of messages inside; 0 without such messages.
    inner_from_ns: u64,
    inner_to_ns: u64,
}

/// Pairs ends with begins, of one thread, in fixed memory.
#[derive(Default)]
pub struct Pairing {
    open: [Open; MAX_NESTED],
    depth: usize,
    /// Begins beyond [`MAX_NESTED`] that are open.
    beyond: u32,
}

impl Pairing {
    /// How many open messages lost their end, if a message begins at this stack address: [`Begun::lost`] before
    /// [`Pairing::begin`] is called, so that the caller can record those ends first.
    #[inline]
    #[must_use]
    pub fn lost_at(&self, stack: usize) -> u8 {
        let over = |open: &&Open| {
            stack != 0 && open.stack != 0 && stack >= open.stack.saturating_sub(SAME_LOOP_BYTES)
        };
        self.open[..self.depth].iter().rev().take_while(over).count() as u8
    }

    /// How many messages are around the one that an end closes; `None` if it closes none, or one beyond
    /// [`MAX_NESTED`]. Changes nothing.
    ///
    /// A loop reports both bounds of a message from the same stack address, so `stack` (as of [`Pairing::begin`]) finds it, even if
    /// ends inside of it were lost or the end has another tag: a callback may describe itself differently than when
    /// the message began. Without a stack, or if none is near enough, the tag decides.
    #[inline]
    #[must_use]
    pub fn fits(&self, tag: Option<Tag>, stack: usize) -> Option<u8> {
        if self.beyond > 0 {
            return None;
        }
        let same_loop = |open: &Open| stack != 0 && stack.abs_diff(open.stack) < SAME_LOOP_BYTES;
        let open = &self.open[..self.depth];
        let place = match tag {
            Some(tag) => {
                let fits = |open: &Open| open.tag.same_but_what(tag);
                let both = open.iter().rposition(|open| same_loop(open) && fits(open));
                both.or_else(|| open.iter().rposition(same_loop)).or_else(|| open.iter().rposition(fits))
            }
            None => self.depth.checked_sub(1),
        };
        place.map(|at| at as u8)
    }

    /// A message begins. `stack` is any address on the stack of the call that reports it, 0 if it is not known; then every
    /// begin inside of a message counts as a nested loop's.
    #[inline]
    pub fn begin(&mut self, at_ns: u64, tag: Tag, stack: usize) -> Begun {
        let mut lost = 0;
        // The stack grows downwards.
        while self.depth > 0 && stack != 0 {
            let around = self.open[self.depth - 1].stack;
            if around == 0 || stack < around.saturating_sub(SAME_LOOP_BYTES) {
                break;
            }
            lost += 1;
            self.depth -= 1;
            self.beyond = 0;
        }
        if self.depth == MAX_NESTED {
            self.beyond += 1;
            return Begun { nested: MAX_NESTED as u8, lost };
        }
        if self.depth > 0 {
            let around = &mut self.open[self.depth - 1];
            if around.inner_from_ns == 0 {
                around.inner_from_ns = at_ns.max(1);
            }
        }
        self.open[self.depth] = Open { tag, begun_ns: at_ns, stack, inner_from_ns: 0, inner_to_ns: 0 };
        self.depth += 1;
        Begun { nested: (self.depth - 1) as u8, lost }
    }

    /// A message ends. `tag`, if the end has one, finds the message; messages inside of it have lost their ends. An
    /// end without an open message changes nothing and returns `None`.
    #[inline]
    pub fn end(&mut self, at_ns: u64, tag: Option<Tag>) -> Option<Ended> {
        if self.beyond > 0 {
            self.beyond -= 1;
            return None;
        }
        let fits = |open: &Open| tag.is_none_or(|tag| open.tag.same_but_what(tag));
        let at = self.open[..self.depth].iter().rposition(fits)?;
        Some(self.end_at(at_ns, at))
    }

    /// Ends the message that [`Pairing::fits`] found. `None` if no message has so many around it.
    #[inline]
    pub fn end_of(&mut self, at_ns: u64, nested: u8) -> Option<Ended> {
        let at = usize::from(nested);
        (at < self.depth).then(|| self.end_at(at_ns, at))
    }

    #[inline]
    fn end_at(&mut self, at_ns: u64, at: usize) -> Ended {
        let lost = (self.depth - 1 - at) as u8;
        self.depth = at;
        let open = self.open[at];
        // A lost message inside lasted until here at most.
        let inner_to_ns = if lost > 0 { at_ns } else { open.inner_to_ns };
        let inner_ns = match open.inner_from_ns {
            0 => 0,
            from => inner_to_ns.saturating_sub(from),
        };
        if let Some(around) = at.checked_sub(1) {
            self.open[around].inner_to_ns = at_ns;
        }
        let took_ns = at_ns.saturating_sub(open.begun_ns);
        Ended {
            tag: open.tag,
            begun_ns: open.begun_ns,
            ended_ns: at_ns,
            own_ns: took_ns.saturating_sub(inner_ns),
            nested: at as u8,
            lost,
        }
    }

    /// How many messages are open.
    #[must_use]
    pub fn open(&self) -> usize {
        self.depth
    }

    /// Whether the next end belongs to a message beyond [`MAX_NESTED`].
    #[must_use]
    pub fn is_beyond(&self) -> bool {
        self.beyond > 0
    }
}
