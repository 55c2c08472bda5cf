//! Recordings: the reader, the model, every writer, every report. The first byte chooses what is done with one; the rest of the
//! input is folded, see `src/folded.rs`.
#![no_main]

use fuzz::recording::{Done, read};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((done, folded)) = bytes.split_first() else { return };
    let file = fuzz::folded::unfold(folded);
    fuzz::bounded(file.len(), 64, || read(&file, Done::chosen(*done)));
});
