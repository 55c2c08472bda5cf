//! The agent in real JVMs: programs behave as without it, and are recorded.

#![cfg(target_os = "linux")]

mod classes;
mod programs;
mod support;
