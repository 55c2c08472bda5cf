//! The rig as a program, for a device: without arguments it runs every case, with names only those that contain one.

#[path = "../tests/rig/main.rs"]
mod rig;

fn main() {
    rig::main();
}
