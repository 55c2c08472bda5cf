//! Inserts calls of `MethodBeat.i(id)` and `MethodBeat.o(id)` into the methods of compiled classes, and writes the
//! map from ids to methods.
//!
//! **What it is.** A bytecode rewriter for jars, aars and directories of class files. Input that verifies stays
//! valid. What cannot be rewritten correctly is copied unchanged and reported with a reason ([`SkipReason`]): no
//! class is ever dropped, and broken or hostile input leads to an entry in [`Summary::skipped`] or an [`Error`], not
//! to a panic.
//!
//! **What it does not do.** It infers no stack map frames: inserted code has no branches and leaves the operand stack
//! as it was. It does not rewrite the classes of the JDK, and it does not obfuscate, shrink or merge. It can read the
//! `mapping.txt` of an obfuscator that ran before it ([`Options::mapping`]).
//!
//! ```
//! use instrumenter::{Input, MapPaths, Options, instrument};
//!
//! let jar = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/instr_fixture/in.jar");
//! let out = std::env::temp_dir().join(format!("anrscope-example-{}", std::process::id()));
//! let maps = MapPaths::beside(out.join("methodMapping.txt"));
//! let summary = instrument(&[Input::new(jar, out.join("in.jar"))], &maps, &Options::default(), &|_| {})?;
//! assert!(summary.traced > 0);
//! // Each line is `id,access flags,class method (descriptor)`.
//! assert!(std::fs::read_to_string(&maps.methods)?.starts_with("1,"));
//! # std::fs::remove_dir_all(out)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How a class is rewritten
//!
//! ```text
//!   old                                    new
//!   magic, version                         the same
//!   constant pool                          the same, then the new entries: no index changes
//!   fields, interfaces, most of methods    the same bytes
//!   Code of a traced method:               Code:
//!                                            i(id)
//!     body                                   body, with every position moved
//!     xRETURN                                o(id); xRETURN
//!                                            o(id); athrow    <- catches every exception that leaves the body
//! ```
//!
//! Every `i` is followed by exactly one `o` with the same id: before a return, or in the handler. The handler is the
//! last row of the exception table, so it runs only for exceptions that leave the method. A constructor is traced
//! from after its `super` or `this` call, because a handler may not cover the uninitialized object. If the stack
//! overflows inside `o` itself, that `o` is missing; readers of a recording pair calls by id.
//!
//! One forward pass maps each old position to a new one; then code and tables are written with the new positions:
//!
//! | attribute of `Code` | |
//! | --- | --- |
//! | `StackMapTable` | moved, short forms promoted; one more frame for the handler and for each stub that ends a wait; full frames where a lock needs an additional local |
//! | `LineNumberTable` | moved; the first line starts at the call of `i` |
//! | `LocalVariableTable`, `LocalVariableTypeTable` | moved; arguments are live from the call of `i` |
//! | `RuntimeVisibleTypeAnnotations`, `RuntimeInvisibleTypeAnnotations` | moved; rows of the exception table renumbered |
//! | any other, such as `CharacterRangeTable` | dropped, because it may hold positions, which would be wrong |
//!
//! With [`Options::waits`] the monitors and blocking calls of traced methods are recorded too; see [`Catalogue`] and
//! `docs/instrumenting.md`. Without it the output does not change by a byte.
//!
//! Class files of versions 45 to 70 are rewritten, with or without preview features. Newer ones are copied and
//! reported.
//!
//! # What is traced
//!
//! [`Filter`] selects the classes, and [`method_map`] describes ids and files. By default, methods without calls are
//! not traced, nor are constructors that only call their super constructor and set fields.
//!
//! # Jars
//!
//! Everything but a changed class is copied in its compressed form. Order, times, attributes, comments and extra
//! fields are kept. Signature files are dropped once a class has changed, and reported among the
//! [warnings](Summary::warnings); so are jars inside a jar, which are copied untraced. The first output of a run
//! contains the generated class `dev/anrscope/MapId`, which tells a running program the id of its map.
//!
//! # Incremental runs
//!
//! With [`Options::cache`] a run redoes only what has changed since the previous run; see also
//! [`Summary::classes_cached`].

#![forbid(unsafe_code)]

pub mod app;
mod archive;
mod base_map;
mod block_list;
mod cache;
mod class;
mod class_directory;
mod class_facts;
mod class_path;
mod cost;
mod error;
mod explain;
mod explained;
mod filter;
mod focus;
mod hierarchy;
#[cfg(unix)]
pub mod jar;
pub mod live;
mod map_id_class;
mod map_text;
mod mapping;
mod matrix;
pub mod method_map;
mod options;
mod outline;
mod outputs;
mod read_file;
mod report;
mod rewrite;
pub mod rules;
mod run;
mod scan;
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

pub use error::{Error, Malformed, SkipReason};
pub use explained::{Decision, ExplainedClass, ExplainedMethod, FocusCall};
pub use filter::Filter;
pub use options::{CALL_CLASS, Compat, DEFAULT_SHORT, Exits, Input, MATRIX_CALL_CLASS, MapPaths, Options};
pub use outputs::outputs_in;
pub use rewrite::{Rewritten, rewrite_class};
pub use run::instrument;
pub use splice::report::{Inserted, Purpose};
pub use summary::{MappingUse, Progress, Skip, Stale, StaleReason, Summary, Times, Warning};
pub use waits::{CallKind, Catalogue, CatalogueError};
