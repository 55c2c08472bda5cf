//! Recordings: the reader, the model, every writer, every report. The first byte chooses the use; the rest of the input is a
//! folded recording, see `src/folded.rs`.
#![no_main]

use fuzz::recording::{Use, read};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((chosen, folded)) = bytes.split_first() else { return };
    let file = fuzz::folded::unfold(folded);
    fuzz::bounded(file.len(), 64, || read(&file, Use::chosen(*chosen)));
});
