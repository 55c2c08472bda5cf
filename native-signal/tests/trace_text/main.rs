//! The copy of what the system writes as its trace text. The hook changes the whole process, so no other test shares it.

mod hook;
mod hotspot;
