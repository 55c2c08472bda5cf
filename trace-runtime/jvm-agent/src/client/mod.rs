//! Loads an agent into a JVM that runs already, by HotSpot's attach protocol. It needs no JDK.
//!
//! ```text
//! client: creates .attach_pid<pid> in the JVM's working directory, and sends SIGQUIT
//! JVM:    sees the file, and listens on the socket /tmp/.java_pid<pid>, instead of printing a thread dump
//! client: one connection for each command: "1" NUL command NUL argument NUL argument NUL argument NUL
//! JVM:    a number, 0 for success, on a line; then the command's text, to the end
//! ```
//! (OpenJDK, `attachListener_posix.cpp` and `VirtualMachineImpl.java`, of 8 to 25. `<pid>` is the JVM's pid in its own
//! namespace, and `/tmp` is that of its mount namespace.)
//!
//! Anybody may put a file of these names into a `/tmp` first. So the socket must be this user's alone, as the JDK's own tools
//! ask, and the process that listens on it must be the target.

mod dir;
mod protocol;
mod target;

pub use dir::{Dir, PathError};
pub(crate) use target::started;
pub use target::{AttachError, Loaded, Target};
