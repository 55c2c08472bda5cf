//! Rewriting a class file.

use crate::class::class_file::{ClassFile, Method, access};
use crate::class::code::Code;
use crate::class::constant_pool::Appended;
use crate::class::overwrite;
use crate::error::SkipReason;
use crate::focus::split::split;
use crate::focus::{Change, Part};
use crate::hierarchy::Hierarchy;
use crate::options::{CALL_CLASS, Exits};
use crate::splice::context::{Context, Target};
use crate::splice::emit::PushId;
use crate::splice::guard::GuardPool;
use crate::splice::method::{self, Done, Scratch};
use crate::splice::report::Inserted;
use crate::splice::waits::ClassWaits;
use crate::waits::tasks::Tasks;
use crate::waits::{Catalogue, Monitors, Waits};

/// The result of [`rewrite_class`].
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// The new class file, or `None` if the class does not change.
    pub bytes: Option<Vec<u8>>,
    /// The methods that were to be traced and are not, or are traced without their waits ([`SkipReason::Waits`]):
    /// their index in the class, and the reason.
    pub skipped: Vec<(usize, SkipReason)>,
}

/// How classes are rewritten.
#[derive(Clone, Copy)]
pub(crate) struct Rewriting<'a> {
    /// Internal name of the class that is called.
    pub(crate) call_class: &'a str,
    pub(crate) exits: Exits,
    /// `None` records no waits.
    pub(crate) waits: Option<Waits<'a>>,
}

/// Inserts calls of `call_class` into the methods of a class file.
///
/// `ids` holds an id for each method of the class, in the order of the file. A method with id 0, or without an id,
/// does not change. The ids must be below 2^31. With `waits` it also records those calls and the monitors of traced
/// methods. It knows the super classes only from the class itself, while [`instrument`](crate::instrument) knows all
/// inputs.
///
/// ```
/// # use instrumenter::{Exits, SkipReason, rewrite_class};
/// let not_a_class = rewrite_class(b"PK", &[1], "dev/anrscope/MethodBeat", Exits::All, None);
/// assert!(matches!(not_a_class, Err(SkipReason::Malformed(_))));
/// ```
///
/// # Errors
///
/// A class that is broken, of an unknown version, already instrumented, or without room in its constant pool. Copy it
/// unchanged.
pub fn rewrite_class(
    bytes: &[u8],
    ids: &[u32],
    call_class: &str,
    exits: Exits,
    waits: Option<&Catalogue>,
) -> Result<Rewritten, SkipReason> {
    let hierarchy = &Hierarchy::default();
    let waits = waits.map(|catalogue| Waits { catalogue, hierarchy, monitors: Monitors::Inserted });
    rewrite(bytes, ids, Rewriting { call_class, exits, waits }, None)
}

/// Called for each rewritten method with its index, its new code attribute, and the inserted code.
pub(crate) type OnMethod<'t> = &'t mut dyn FnMut(usize, &[u8], &[Inserted]);

/// Like [`rewrite_class`], after applying `change`. If one of the two fails, returns the reason and does the other.
pub(crate) fn rewrite_with_focus(
    bytes: &[u8],
    ids: &[u32],
    change: Option<&Change>,
    how: Rewriting<'_>,
    on_method: Option<OnMethod<'_>>,
) -> (Rewritten, Option<SkipReason>) {
    let (split, failed) = match change.map(|change| split(bytes, change, how.call_class)) {
        None => (None, None),
        Some(Ok(split)) => (Some(split), None),
        // The class can still be traced. Second parts in subclasses that call this class are not affected.
        Some(Err(reason)) => (None, Some(SkipReason::Focus(Box::new(reason)))),
    };
    let moved;
    let ids = match change {
        Some(Change::Split { method, traced: Part::First, .. }) if split.is_some() => {
            moved = moved_to_the_end(ids, *method);
            &moved
        }
        _ => ids,
    };
    match rewrite(split.as_deref().unwrap_or(bytes), ids, how, on_method) {
        Ok(Rewritten { bytes, skipped }) => (Rewritten { bytes: bytes.or(split), skipped }, failed),
        Err(reason) => (Rewritten { bytes: split, skipped: Vec::new() }, Some(reason)),
    }
}

/// Returns `ids` with that of `method` moved to the end, where the first part is added.
fn moved_to_the_end(ids: &[u32], method: usize) -> Vec<u32> {
    let mut moved = ids.to_vec();
    let id = moved.get_mut(method).map(core::mem::take).unwrap_or_default();
    moved.push(id);
    moved
}

/// Like [`rewrite_class`]; with `on_method` it also reports the inserted code.
fn rewrite(
    bytes: &[u8],
    ids: &[u32],
    how: Rewriting<'_>,
    mut on_method: Option<OnMethod<'_>>,
) -> Result<Rewritten, SkipReason> {
    let mut scratch = Scratch::default();
    scratch.report = on_method.is_some().then(Vec::new);
    let class = ClassFile::read(bytes)?;
    let mut rewritten = Rewritten { bytes: None, skipped: Vec::new() };
    if ids.iter().all(|&id| id == 0) {
        return Ok(rewritten);
    }
    let mut pool = Appended::after(&class.pool);
    let has_guards = how.exits != Exits::Bare || how.waits.is_some();
    let (target, call_class) = target(&class, how.call_class.as_bytes(), (how.exits, has_guards), &mut pool)?;
    let mut waits = how.waits.map(|waits| ClassWaits::new(waits, call_class, Tasks::of(&class, ids, waits)));
    // Everything after the constant pool, whose final size is known only at the end.
    let mut body = Vec::with_capacity(bytes.len() - class.pool_end + 64 * ids.len());
    let mut copied = class.pool_end;
    let mut changed = false;
    for (index, (method, &id)) in class.methods.iter().zip(ids).enumerate() {
        let Some(range) = method.code.clone().filter(|_| id != 0) else { continue };
        body.extend_from_slice(bytes.get(copied..range.start).unwrap_or_default());
        copied = range.start;
        let start = body.len();
        let flags_at = start - (range.start - method.at);
        let context =
            Context { class: &class, number: index, target: &target, pool: &mut pool, waits: waits.as_mut() };
        match rewrite_method(context, method, id, &mut scratch, &mut body) {
            Ok((done, without_waits)) => {
                copied = range.end;
                changed = true;
                if done.unsynchronized {
                    let flags = method.access & !access::SYNCHRONIZED;
                    overwrite(&mut body, flags_at, &flags.to_be_bytes());
                }
                if let (Some(on_method), Some(inserted)) = (&mut on_method, &scratch.report) {
                    on_method(index, body.get(start..).unwrap_or_default(), inserted);
                }
                rewritten.skipped.extend(without_waits.map(|why| (index, SkipReason::Waits(Box::new(why)))));
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
    rewritten.bytes = Some(with_pool(&class, &pool, &body));
    Ok(rewritten)
}

/// The class file with the new constants, and `body` after them.
fn with_pool(class: &ClassFile<'_>, pool: &Appended, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(class.pool_end + pool.bytes().len() + body.len());
    // Magic and version, the new count, the old pool, the new entries, the rest.
    out.extend_from_slice(class.bytes.get(..8).unwrap_or_default());
    out.extend_from_slice(&pool.count().to_be_bytes());
    out.extend_from_slice(class.bytes.get(10..class.pool_end).unwrap_or_default());
    out.extend_from_slice(pool.bytes());
    out.extend_from_slice(body);
    out
}

/// Rewrites a method, without its waits if they cannot be recorded; then returns the reason too.
fn rewrite_method<'c>(
    context: Context<'c, '_>,
    method: &Method<'c>,
    id: u32,
    scratch: &mut Scratch,
    body: &mut Vec<u8>,
) -> Result<(Done, Option<SkipReason>), SkipReason> {
    let Context { class, number, target, pool, waits } = context;
    let Some(code) = Code::for_method(class, method)? else {
        return Ok((Done { unsynchronized: false }, None));
    };
    let push = PushId::new(id, |id| pool.integer(id))?;
    // Offsets are counted from the start of the code.
    let in_file = |reason: SkipReason| match reason {
        SkipReason::Malformed(broken) if broken.at < code.at => broken.offset_by(code.at).into(),
        other => other,
    };
    let start = body.len();
    let waited = waits.is_some();
    let first = Context { class, number, target, pool, waits };
    match method::rewrite(first, method, &code, push, scratch, body).map_err(in_file) {
        Ok(done) => Ok((done, None)),
        Err(why) if waited => {
            body.truncate(start);
            let again = Context { class, number, target, pool, waits: None };
            let done = method::rewrite(again, method, &code, push, scratch, body).map_err(in_file)?;
            Ok((done, Some(why)))
        }
        Err(why) => Err(why),
    }
}

/// Appends the constants that the calls of all methods share, reusing texts of the class; those of guards only for
/// methods that have some. Also returns the index of the class that is called.
fn target(
    class: &ClassFile<'_>,
    call_class_name: &[u8],
    (exits, has_guards): (Exits, bool),
    pool: &mut Appended,
) -> Result<(Target, u16), SkipReason> {
    let wanted: [&[u8]; 5] = [b"i", b"o", b"(I)V", call_class_name, b"StackMapTable"];
    let [i, o, descriptor, call_class, stack_map_name] = pool.texts(&class.pool, wanted)?;
    let call_class = pool.class(call_class)?;
    let enter = pool.method(call_class, i, descriptor)?;
    let exit = pool.method(call_class, o, descriptor)?;
    let guard = if has_guards {
        let notes = Some(call_class).filter(|_| call_class_name == CALL_CLASS.as_bytes());
        GuardPool::append(class, notes, pool)?
    } else {
        GuardPool::default()
    };
    Ok((Target { enter, exit, stack_map_name, exits, guard }, call_class))
}
