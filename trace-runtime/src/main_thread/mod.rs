//! The main thread: its Looper's messages (`looper`), the timer that watches them (`watch`) and what it does when
//! one does not end (`late`), marks in its record, what it used of the processor (`usage`), and whether it waits for messages (`poll`).

pub(crate) mod late;
pub(crate) mod looper;
pub(crate) mod poll;
pub(crate) mod usage;
pub(crate) mod watch;
