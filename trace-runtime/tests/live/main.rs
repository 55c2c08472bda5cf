//! The library in JVMs with fakes of Android around it, and what surrounds it. Cases that need a process of their own are in `process`.

mod android_host;
mod configuration;
mod java_classes;
mod java_events;
mod matrix_ring;
mod threads;
