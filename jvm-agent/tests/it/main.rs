//! The agent in real JVMs: programs behave as without it, and are recorded.

#![cfg(target_os = "linux")]

mod attach;
mod classes;
mod programs;
mod support;
