//! Getting at an object that lies below other arguments on the stack, and putting all back.
//!
//! There are instructions that turn the top of the stack over down to four words. What lies deeper would
//! take a local variable for each argument; such a wait is told without its object.

use crate::class::opcodes::{DUP_X2, DUP2_X1, DUP2_X2, POP, POP2, SWAP};

/// Instructions that bring the object below these arguments (their sizes in words) to the top, and
/// those that put it back under them. Both need at most two words more than there are.
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

    /// The instructions as chapter 6.5 of the JVM specification has them, on words; halves of a long are
    /// told apart so that an instruction that splits one shows.
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
    fn the_object_comes_up_and_goes_back() {
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
