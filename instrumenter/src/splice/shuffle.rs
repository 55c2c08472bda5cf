//! Accesses an object below other arguments on the stack, and restores the stack.
//!
//! Instructions can rearrange the top four words of the stack. For deeper objects each argument would need a local
//! variable; such a wait is recorded without its object.

use crate::class::opcodes::{DUP_X2, DUP2_X1, DUP2_X2, POP, POP2, SWAP};

/// Returns the instructions that move the object below these arguments (their sizes in words) to the top, and those
/// that move it back. Both need at most two additional words.
pub(crate) fn below(sizes: &[usize]) -> Option<(&'static [u8], &'static [u8])> {
    Some(match sizes {
        [] => (&[], &[]),
        // r a -> a r
        [1] => (&[SWAP], &[SWAP]),
        // r a b -> a b r, and the same with a long
        [2] | [1, 1] => (&[DUP2_X1, POP2], &[DUP_X2, POP]),
        // r L a -> r a L -> L r a -> L a r; back: L r a -> r a L -> r L a
        [2, 1] => (&[DUP_X2, POP, DUP2_X2, POP2, SWAP], &[SWAP, DUP2_X2, POP2, DUP2_X1, POP2]),
        // r a b c -> b c r a -> b c a r; the same with a long for b c
        [1, 2] | [1, 1, 1] => (&[DUP2_X2, POP2, SWAP], &[SWAP, DUP2_X2, POP2]),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The instructions as in chapter 6.5 of the JVM specification, on words. The halves of a long are distinct, so
    /// that an instruction that splits one fails.
    fn run(stack: &mut Vec<&'static str>, code: &[u8]) {
        for &opcode in code {
            let insert = |stack: &mut Vec<&'static str>, count: usize, below: usize| {
                let at = stack.len() - count - below;
                assert!(!stack[at].ends_with('2') && !stack[stack.len() - count].ends_with('2'), "split");
                let words = stack[stack.len() - count..].to_vec();
                stack.splice(at..at, words);
            };
            match opcode {
                SWAP => {
                    let [a, b] = [stack.pop().unwrap(), stack.pop().unwrap()];
                    assert!(!a.ends_with('2') && !b.ends_with('2'));
                    stack.extend([a, b]);
                }
                DUP_X2 => insert(stack, 1, 2),
                DUP2_X1 => insert(stack, 2, 1),
                DUP2_X2 => insert(stack, 2, 2),
                POP => assert!(!stack.pop().unwrap().ends_with('2')),
                POP2 => {
                    let [a, b] = [stack.pop().unwrap(), stack.pop().unwrap()];
                    assert_eq!(a.ends_with('2'), b.ends_with('1'), "split");
                }
                _ => unreachable!(),
            }
        }
    }

    #[test]
    fn the_object_is_moved_to_the_top_and_back() {
        for sizes in [&[][..], &[1], &[2], &[1, 1], &[2, 1], &[1, 2], &[1, 1, 1]] {
            let names = [["a1", "a2"], ["b1", "b2"], ["c1", "c2"]];
            let mut stack = vec!["below", "object"];
            for (&size, name) in sizes.iter().zip(names) {
                stack.extend(if size == 2 { &name[..] } else { &["w"] });
            }
            let before = stack.clone();
            let (up, down) = below(sizes).unwrap();
            run(&mut stack, up);
            assert_eq!(stack.last(), Some(&"object"), "{sizes:?}");
            assert_eq!(stack.first(), Some(&"below"));
            run(&mut stack, down);
            assert_eq!(stack, before, "{sizes:?}");
        }
        assert_eq!(below(&[2, 2]), None);
        assert_eq!(below(&[1, 1, 1, 1]), None);
    }
}
