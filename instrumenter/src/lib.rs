//! Puts calls of `MethodBeat.i(id)` and `MethodBeat.o(id)` into the methods of compiled classes, and
//! writes the map that says which id is which method.
//!
//! **What it is.** A rewriter of class files of its own, over jars, aars and folders. The input is
//! code that verifies; so is the output. What it cannot do right it leaves as it was, and says so
//! with a named reason ([`SkipReason`]): a class is never dropped, and broken or hostile input leads
//! to an entry in [`Summary::skipped`] or an [`Error`], not to a panic.
//!
//! **What it is not for.** It computes no stack map frames and cannot put in code that branches or
//! leaves something on the stack. It does not rewrite the classes of the JDK. It does not obfuscate,
//! shrink or merge, and it reads no `mapping.txt`.
//!
//! # How a class is rewritten
//!
//! ```text
//!   old                                    new
//!   magic, version                         the same
//!   constant pool                          the same, then our entries: no index changes
//!   fields, interfaces, most of methods    the same bytes
//!   Code of a traced method:               Code:
//!                                            i(id)
//!     body                                   body, every position in it moved
//!     xRETURN                                o(id); xRETURN
//!                                            o(id); athrow    <- catches all that leaves the body
//! ```
//!
//! Every `i` is followed by exactly one `o` of its id: before a return, or in the handler, which is
//! the last of the exception table and so sees only what leaves the method. A constructor is traced
//! from behind its super or this call, because before that the object may not pass a handler. If the
//! stack overflows inside `o` itself, that `o` is missing: readers of a recording pair by id.
//!
//! One forward pass gives each old position a new one; then code and tables are written along it:
//!
//! | attribute of `Code` | |
//! | --- | --- |
//! | `StackMapTable` | moved, short forms promoted; one frame more for the handler |
//! | `LineNumberTable` | moved; the first line begins at the call of `i` |
//! | `LocalVariableTable`, `LocalVariableTypeTable` | moved; arguments live from the call of `i` on |
//! | `RuntimeVisibleTypeAnnotations`, `RuntimeInvisibleTypeAnnotations` | moved |
//! | any other, such as `CharacterRangeTable` | dropped: it may hold positions, and they would lie |
//!
//! Class files from version 45 to 70 are rewritten, with preview features or without. Newer ones are
//! copied and listed.
//!
//! # What is traced
//!
//! See [`Filter`] for the classes and [`method_map`] for the numbers and the files. By default a
//! method without any call in it, or a constructor that only calls its super constructor and sets
//! fields, is not traced.
//!
//! # Jars
//!
//! Whatever is not a changed class is copied as it is compressed. Order, times and the archive's
//! comment are kept. Signature files are dropped once a class has changed, and listed among the
//! [warnings](Summary::warnings); so are jars inside a jar, which are copied untraced. The first
//! output of a run has the generated class `dev/anrscope/MapId`, by which a running program tells
//! which map belongs to it.

#![forbid(unsafe_code)]

mod archive;
mod base_map;
mod class;
mod collect;
mod error;
mod filter;
mod folder;
mod map_id_class;
pub mod method_map;
mod options;
mod rewrite;
mod run;
mod splice;
mod staged;
mod summary;

pub use error::{Error, Malformed, SkipReason};
pub use filter::Filter;
pub use options::{Exits, Input, MapPaths, Options};
pub use rewrite::{Rewritten, rewrite_class};
pub use run::{instrument, outputs_in};
pub use summary::{Progress, Skip, Summary, Times, Warning};

/// Internal name of the class whose `i` and `o` are called by default.
pub const CALL_CLASS: &str = "dev/anrscope/MethodBeat";
