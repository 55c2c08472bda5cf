//! Puts calls of `MethodBeat.i(id)` and `MethodBeat.o(id)` into the methods of compiled classes, and
//! writes the map that says which id is which method.
//!
//! **What it is.** A rewriter of class files of its own, over jars, aars and directories. The input is
//! code that verifies; so is the output. What it cannot do right it leaves as it was, and says so
//! with a named reason ([`SkipReason`]): a class is never dropped, and broken or hostile input leads
//! to an entry in [`Summary::skipped`] or an [`Error`], not to a panic.
//!
//! **What it is not for.** It infers no stack map frames, and what it puts into a body neither branches
//! nor leaves something on the stack. It does not rewrite the classes of the JDK. It does not obfuscate,
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
//! | `StackMapTable` | moved, short forms promoted; one frame more for the handler, and for each stub that ends a wait; written out in full where a lock needs a local of ours |
//! | `LineNumberTable` | moved; the first line begins at the call of `i` |
//! | `LocalVariableTable`, `LocalVariableTypeTable` | moved; arguments live from the call of `i` on |
//! | `RuntimeVisibleTypeAnnotations`, `RuntimeInvisibleTypeAnnotations` | moved; rows of the exception table by their new number |
//! | any other, such as `CharacterRangeTable` | dropped: it may hold positions, and they would lie |
//!
//! With [`Options::waits`] the monitors and the blocking calls of traced methods are told too, see
//! [`Catalogue`] and `docs/instrumenter-code.md`; without it not a byte is different.
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
//! Whatever is not a changed class is copied as it is compressed. Order, times, attributes, comments and
//! extra fields are kept. Signature files are dropped once a class has changed, and listed among the
//! [warnings](Summary::warnings); so are jars inside a jar, which are copied untraced. The first
//! output of a run has the generated class `dev/anrscope/MapId`, by which a running program tells
//! which map belongs to it.
//!
//! # Incremental runs
//!
//! With [`Options::cache`] a run redoes only what has changed since the last one: see there, and
//! [`Summary::classes_cached`].

#![forbid(unsafe_code)]

mod archive;
mod base_map;
mod block_list;
mod cache;
mod class;
mod class_facts;
mod class_path;
mod scan;
mod cost;
mod error;
mod explain;
mod explained;
mod filter;
mod focus;
mod class_directory;
mod hierarchy;
mod map_id_class;
mod map_text;
mod mapping;
mod matrix;
pub mod method_map;
mod options;
mod outline;
mod outputs;
mod read_file;
mod regular;
mod report;
mod rewrite;
pub mod rules;
mod run;
mod selection;
mod session;
mod source;
mod splice;
mod staged;
mod stamp;
mod summary;
mod tally;
mod update;
mod waits;
mod zip;

pub use error::{Error, Malformed, SkipReason};
pub use explained::{Decision, ExplainedClass, ExplainedMethod, FocusCall};
pub use filter::Filter;
pub use options::{CALL_CLASS, Compat, DEFAULT_SHORT, Exits, Input, MATRIX_CALL_CLASS, MapPaths, Options};
pub use outputs::outputs_in;
pub use rewrite::{Rewritten, rewrite_class, rewrite_class_with_waits};
pub use run::instrument;
pub use splice::report::{Inserted, Purpose};
pub use summary::{MappingUse, Progress, Skip, Stale, StaleReason, Summary, Times, Warning};
pub use waits::{Catalogue, CatalogueError};
