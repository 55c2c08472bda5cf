//! A class file with calls in it.

use crate::class::class_file::{ClassFile, Method};
use crate::class::code::Code;
use crate::class::constant_pool::Appended;
use crate::error::SkipReason;
use crate::options::Exits;
use crate::splice::emit::{Calls, PushId};
use crate::splice::method::{self, Scratch, Target};

/// What [`rewrite_class`] made of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// The new class file, or `None` if the old one stays.
    pub bytes: Option<Vec<u8>>,
    /// The methods that were to be traced and are not: their index in the class, and why.
    pub skipped: Vec<(usize, SkipReason)>,
}

/// Puts the calls of `call_class` into the methods of a class file.
///
/// `ids` holds an id for each method of the class, in the order of the file; 0, or none, leaves a
/// method as it is. The ids must be below 2^31.
///
/// ```
/// # use instrumenter::{Exits, SkipReason, rewrite_class};
/// let not_a_class = rewrite_class(b"PK", &[1], "dev/anrscope/MethodBeat", Exits::All);
/// assert!(matches!(not_a_class, Err(SkipReason::Malformed(_))));
/// ```
///
/// # Errors
///
/// A class that is broken, of a version that is not known yet, instrumented already, or without
/// room in its constant pool. It is to be copied as it is.
pub fn rewrite_class(
    bytes: &[u8],
    ids: &[u32],
    call_class: &str,
    exits: Exits,
) -> Result<Rewritten, SkipReason> {
    let class = ClassFile::read(bytes)?;
    let mut rewritten = Rewritten { bytes: None, skipped: Vec::new() };
    if ids.iter().all(|&id| id == 0) {
        return Ok(rewritten);
    }
    let mut pool = Appended::behind(&class.pool);
    let target = target(&class, call_class.as_bytes(), exits, &mut pool)?;
    let mut scratch = Scratch::default();
    // Everything behind the pool; the pool's final size is only known afterwards.
    let mut body = Vec::with_capacity(bytes.len() - class.pool_end + 64 * ids.len());
    let mut copied = class.pool_end;
    let mut changed = false;
    for (index, (method, &id)) in class.methods.iter().zip(ids).enumerate() {
        let Some(range) = method.code.clone().filter(|_| id != 0) else { continue };
        body.extend_from_slice(bytes.get(copied..range.start).unwrap_or_default());
        copied = range.start;
        let start = body.len();
        match rewrite_method(&class, method, id, &target, &mut pool, &mut scratch, &mut body) {
            Ok(()) => {
                copied = range.end;
                changed = true;
            }
            Err(reason) => {
                body.truncate(start);
                rewritten.skipped.push((index, reason));
            }
        }
    }
    if !changed {
        return Ok(rewritten);
    }
    body.extend_from_slice(bytes.get(copied..).unwrap_or_default());

    let mut out = Vec::with_capacity(class.pool_end + pool.bytes().len() + body.len());
    // Magic and version, the new count, the old pool, the new entries, the rest.
    out.extend_from_slice(bytes.get(..8).unwrap_or_default());
    out.extend_from_slice(&pool.count().to_be_bytes());
    out.extend_from_slice(bytes.get(10..class.pool_end).unwrap_or_default());
    out.extend_from_slice(pool.bytes());
    out.extend_from_slice(&body);
    rewritten.bytes = Some(out);
    Ok(rewritten)
}

fn rewrite_method(
    class: &ClassFile<'_>,
    method: &Method<'_>,
    id: u32,
    target: &Target,
    pool: &mut Appended,
    scratch: &mut Scratch,
    body: &mut Vec<u8>,
) -> Result<(), SkipReason> {
    let Some(code) = Code::of(class, method)? else { return Ok(()) };
    let push = PushId::new(id, |id| pool.integer(id))?;
    method::rewrite(class, method, &code, push, target, scratch, body)
}

/// Appends what the calls of all methods share, using the texts that the class has already.
fn target(
    class: &ClassFile<'_>,
    call_class: &[u8],
    exits: Exits,
    pool: &mut Appended,
) -> Result<Target, SkipReason> {
    const THROWABLE: &[u8] = b"java/lang/Throwable";
    const FRAMES: &[u8] = b"StackMapTable";
    let wanted: [&[u8]; 6] = [b"i", b"o", b"(I)V", call_class, THROWABLE, FRAMES];
    let found = class.pool.find_texts(wanted);
    let mut texts = [0; 6];
    for ((slot, text), found) in texts.iter_mut().zip(wanted).zip(found) {
        *slot = match found {
            Some(index) => index,
            None => pool.utf8(text)?,
        };
    }
    let [i, o, descriptor, call_class, throwable, stack_map_name] = texts;
    let call_class = pool.class(call_class)?;
    Ok(Target {
        calls: Calls {
            enter: pool.method(call_class, i, descriptor)?,
            exit: pool.method(call_class, o, descriptor)?,
        },
        throwable: pool.class(throwable)?,
        stack_map_name,
        exits,
    })
}

/// Whether a method of the class calls `call_class` already.
pub(crate) fn calls_already(class: &ClassFile<'_>, call_class: &str) -> bool {
    (0..class.pool.count()).any(|index| {
        u16::try_from(index)
            .is_ok_and(|index| class.pool.class_name(index).is_ok_and(|name| name == call_class.as_bytes()))
    })
}
