//! The lines that a Looper gives its Printer.

/// Which bound of a message a line tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// `>>>>> Dispatching to Handler (class) {hash} callback: what`
    Begin,
    /// `<<<<< Finished to Handler (class) {hash} callback`
    End,
}

/// Whether a Looper's lines are what we know. Decided once, by the first: a system that begins its lines otherwise would
/// make every line an end (Matrix's rule and reason).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Lines {
    /// None was seen.
    #[default]
    Unseen,
    /// They begin with `>` and `<`.
    Known,
    /// They do not: nothing is taken from this Printer ever again.
    Foreign,
}

impl Lines {
    /// What the line that begins with this character tells; `None` for a line of a Printer that is not understood.
    /// `first` is the line's first UTF-16 unit, 0 for an empty one.
    pub fn bound(&mut self, first: u16) -> Option<Bound> {
        let begin = first == u16::from(b'>');
        if *self == Lines::Unseen {
            *self = if begin || first == u16::from(b'<') { Lines::Known } else { Lines::Foreign };
        }
        match self {
            Lines::Known if begin => Some(Bound::Begin),
            Lines::Known => Some(Bound::End),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn item_8_a_first_line_of_another_form_ends_it_for_good() {
        let mut lines = Lines::default();
        assert_eq!(lines.bound(u16::from(b'#')), None);
        assert_eq!(lines.bound(u16::from(b'>')), None, "for good");

        let mut empty = Lines::default();
        assert_eq!((empty.bound(0), empty), (None, Lines::Foreign));
    }

    #[test]
    fn item_8_a_first_line_may_be_an_end() {
        let mut lines = Lines::default();
        assert_eq!(lines.bound(u16::from(b'<')), Some(Bound::End));
        assert_eq!(lines.bound(u16::from(b'>')), Some(Bound::Begin));
    }
}
