//! Full frames: the types of the locals and the stack at each position.
//!
//! Where only the start and the end of a method change, its own frames are moved unchanged. A guard inside of the method has
//! frames of its own between them, and a lock an additional local variable that every frame has to contain: then all frames
//! are written in full.

use std::collections::BTreeMap;

use super::stack_map::{self, Event, Type};
use crate::class::cursor::Cursor;
use crate::error::{Malformed, SkipReason};
use crate::splice::layout::Layout;

/// Bound on the bytes of the full frames of one method. A table of 65,535 short frames with 65,535 locals would take
/// gigabytes.
pub(crate) const MAX_BYTES: usize = 1 << 20;

const TOP: u8 = 0;
const DOUBLE: u8 = 3;
const LONG: u8 = 4;

/// Returns the type of an object of the class with this constant pool index.
pub(crate) fn object(class: u16) -> Type {
    (stack_map::OBJECT, class)
}

/// A frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) locals: Vec<Type>,
    pub(crate) stack: Vec<Type>,
}

/// Returns the frames of a `StackMapTable` by old position. `first` are the locals at the start of the method.
pub(crate) fn read(first: Vec<Type>, table: Cursor<'_>) -> Result<BTreeMap<u32, Frame>, SkipReason> {
    let mut reader = Reader { frame: Frame { locals: first, stack: Vec::new() }, ..Reader::default() };
    stack_map::walk(table, &mut |event| reader.take(event))?;
    reader.finish()?;
    Ok(reader.frames)
}

#[derive(Default)]
struct Reader {
    frame: Frame,
    /// The position of the frame, after the first one.
    pc: Option<u32>,
    /// Whether the next types are locals.
    in_locals: bool,
    /// The number of counts of the full frame so far.
    counts: u32,
    frames: BTreeMap<u32, Frame>,
    bytes: usize,
}

impl Reader {
    fn take(&mut self, event: Event) -> Result<(), SkipReason> {
        match event {
            Event::Frame { pc, kind } => {
                self.finish()?;
                self.pc = Some(pc);
                self.frame.stack.clear();
                self.counts = 0;
                self.in_locals = kind > stack_map::SAME_EXTENDED;
                match kind {
                    // chop_frame: 250, 249, 248 remove one, two, three locals.
                    248..stack_map::SAME_EXTENDED => {
                        let chopped = usize::from(stack_map::SAME_EXTENDED - kind);
                        let left = self.frame.locals.len().checked_sub(chopped);
                        let broken = Malformed { at: 0, what: "a frame removes locals that do not exist" };
                        self.frame.locals.truncate(left.ok_or(broken)?);
                    }
                    stack_map::FULL => self.frame.locals.clear(),
                    _ => {}
                }
            }
            Event::Count(_) => {
                self.counts += 1;
                self.in_locals = self.counts == 1;
            }
            Event::Type(kind) => {
                let types = if self.in_locals { &mut self.frame.locals } else { &mut self.frame.stack };
                types.push(kind);
            }
        }
        Ok(())
    }

    /// Keeps the frame that has just ended.
    fn finish(&mut self) -> Result<(), SkipReason> {
        let Some(pc) = self.pc.take() else { return Ok(()) };
        self.bytes += 3 * (self.frame.locals.len() + self.frame.stack.len());
        if self.bytes > MAX_BYTES {
            return Err(SkipReason::TableFull);
        }
        self.frames.insert(pc, self.frame.clone());
        Ok(())
    }
}

/// Sets a local variable in the types of a frame's locals, behind all that they state. Variables between are unset.
pub(crate) fn set_local(locals: &mut Vec<Type>, index: u16, kind: Type) -> Result<(), SkipReason> {
    let used: usize = locals.iter().map(|&(tag, _)| if matches!(tag, DOUBLE | LONG) { 2 } else { 1 }).sum();
    let broken = Malformed { at: 0, what: "a frame has more locals than the method" };
    let unset = usize::from(index).checked_sub(used).ok_or(broken)?;
    locals.resize(locals.len() + unset, (TOP, 0));
    locals.push(kind);
    Ok(())
}

/// Appends the types of `frame` in the form of a full frame: locals and stack, each after their count.
pub(crate) fn types(frame: &Frame, layout: &Layout, out: &mut Vec<u8>) -> Result<(), SkipReason> {
    for types in [&frame.locals, &frame.stack] {
        let count = u16::try_from(types.len()).map_err(|_| SkipReason::TableFull)?;
        out.extend_from_slice(&count.to_be_bytes());
        types.iter().try_for_each(|&kind| stack_map::push_type(kind, layout, out))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_frame_form_becomes_a_full_frame() {
        let table = [
            &[0, 6][..],
            &[252, 0, 1, 1],                         // at 1: append int
            &[64, 7, 0, 9],                          // at 2: same locals, an object on the stack
            &[250, 0, 0],                            // at 3: chop
            &[0],                                    // at 4: same
            &[255, 0, 0, 0, 2, 4, 2, 0, 1, 8, 0, 3], // at 5: long, float; stack: new of 3
            &[253, 0, 0, 1, 3],                      // at 6: append int, double
        ]
        .concat();
        let this = (7, 2);
        let frames = read(vec![this], Cursor::new(&table)).unwrap();
        let frame = |locals: &[Type], stack: &[Type]| Frame { locals: locals.into(), stack: stack.into() };
        let expected = [
            (1, frame(&[this, (1, 0)], &[])),
            (2, frame(&[this, (1, 0)], &[(7, 9)])),
            (3, frame(&[this], &[])),
            (4, frame(&[this], &[])),
            (5, frame(&[(4, 0), (2, 0)], &[(8, 3)])),
            (6, frame(&[(4, 0), (2, 0), (1, 0), (3, 0)], &[])),
        ];
        assert_eq!(frames.into_iter().collect::<Vec<_>>(), expected);
        assert!(read(vec![], Cursor::new(&[0, 1, 248, 0, 0])).is_err());
    }

    #[test]
    fn an_additional_local_follows_unset_ones() {
        let mut frame = Frame { locals: vec![(4, 0), (7, 5)], stack: vec![(1, 0)] };
        assert!(set_local(&mut frame.locals.clone(), 2, object(6)).is_err());
        set_local(&mut frame.locals, 5, object(6)).unwrap();
        let mut out = Vec::new();
        types(&frame, &Layout::default(), &mut out).unwrap();
        // long (two words), object, two unset, the additional local; the stack.
        assert_eq!(out, [0, 5, 4, 7, 0, 5, 0, 0, 7, 0, 6, 0, 1, 1]);
    }

    #[test]
    fn full_frames_are_bounded() {
        let first = vec![(1, 0); 30_000];
        let table = [&[0xFF, 0xFF][..], &[0; 0xFFFF]].concat();
        assert_eq!(read(first, Cursor::new(&table)), Err(SkipReason::TableFull));
    }
}
