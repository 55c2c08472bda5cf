//! The client through the real adb server, against a fake device.
#![cfg(unix)]

mod bench;
mod doctor;
mod install;
mod pull;
mod wire;
