//! The agent in real JVMs: programs behave as without it, and are recorded.

#![cfg(target_os = "linux")]

mod attach;
mod classes;
mod jdk;
mod programs;
mod support;
