//! The agent in a JVM: the recorder, and an instrumenter that changes classes as they are loaded.
//!
//! `java -agentpath:/path/libjvm_agent.so=/path/settings -jar app.jar` records the program; [`settings`](Settings)
//! describes the file. The program keeps its class path, its jars and their signatures. The classes of every loader are
//! traced, those of modules too, and the JDK's own by choice; hidden classes are not, which JVM TI shows to no agent.
//!
//! | module | contents |
//! | --- | --- |
//! | `jvmti` | numbers and shapes of JVM TI's specification |
//! | `environment` | the functions of JVM TI that the agent calls |
//! | `java` | the functions of JNI that it calls |
//! | [`client`] | loads an agent into a JVM that runs already |
//! | `settings` | the settings file |
//! | `notices` | what it has to say |
//! | `runtime_classes` | the classes that rewritten code calls, in the boot loader |
//! | `jdk` | which of the JDK's own classes are traced |
//! | `code_source` | where the classes of a loader come from |
//! | `loaders` | which class loaders find them |
//! | `loaded` | classes that are loaded already, and wait while a thread is in them |
//! | `virtual_threads` | the classes with a frame of a virtual thread |
//! | `unsafe_access` | `sun.misc.Unsafe` in a JVM that warns of it |
//! | `threads` | threads of a JVM that runs already |
//! | `thread_dump` | a dump of all threads in HotSpot's form |
//! | [`connections`] | whether the connections of a process end in it |
//! | `pipes` | whether what threads read is other programs' output |
//! | `stuck_threads` | which threads do not go on, from samples of their stacks |
//! | `agent` | its state, and what it does with a class |
//! | `contended` | waits for monitors, by the JVM's events |
//! | `stall_watch` | takes these samples, and a dump when a thread is stuck or the program ends in a hang |
//! | `attached` | a program that runs already: start and stop |
//! | `client_watch` | notices that the process which has attached is gone |
//! | `entry` | what the JVM calls |

#![cfg(target_os = "linux")]

mod agent;
mod attached;
pub mod client;
mod client_watch;
mod code_source;
pub mod connections;
mod contended;
mod entry;
mod environment;
mod java;
mod jdk;
mod jvmti;
mod loaded;
mod loaders;
mod notices;
mod pipes;
mod runtime_classes;
mod settings;
mod stall_watch;
mod stuck_threads;
mod thread_dump;
mod threads;
mod unsafe_access;
mod virtual_threads;

pub use attached::{NOT_RESTORED, NOT_TRACED};
pub use jdk::{JdkClasses, JdkError};
pub use runtime_classes::CLASSES;
pub use settings::{Settings, SettingsError, Waits};
