//! The lines that a Looper passes to its Printer.

/// The bound of a message that a line reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// `>>>>> Dispatching to Handler (class) {hash} callback: what`
    Begin,
    /// `<<<<< Finished to Handler (class) {hash} callback`
    End,
}

/// Whether a Looper's lines have the known form. Decided once, by the first line: on a system that begins its lines differently
/// every line would be an end (Matrix's rule and reason).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Lines {
    /// No line was seen yet.
    #[default]
    Unseen,
    /// They begin with `>` and `<`.
    Known,
    /// They do not: this Printer is ignored from now on.
    Foreign,
}

impl Lines {
    /// The bound that a line with this first character reports; `None` if the Printer is ignored.
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
    fn an_unknown_first_line_disables_the_printer() {
        let mut lines = Lines::default();
        assert_eq!(lines.bound(u16::from(b'#')), None);
        assert_eq!(lines.bound(u16::from(b'>')), None, "for good");

        let mut empty = Lines::default();
        assert_eq!((empty.bound(0), empty), (None, Lines::Foreign));
    }

    #[test]
    fn the_first_line_may_be_an_end() {
        let mut lines = Lines::default();
        assert_eq!(lines.bound(u16::from(b'<')), Some(Bound::End));
        assert_eq!(lines.bound(u16::from(b'>')), Some(Bound::Begin));
    }
}
