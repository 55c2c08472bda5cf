//! The client through the real adb server, against a device that is played in a folder.
#![cfg(unix)]

mod bench;
mod doctor;
mod pull;
mod wire;
