//! The exporter for a page in a browser: bytes in, bytes out, nothing imported.
//!
//! A module instance analyses one input. The page writes a file and its name where [`input`] says, and calls [`add`]; after the last
//! file it calls [`answer`], and then [`html`] or [`trace`] if they are asked for. Each returns 0 and leaves its result at [`output`],
//! or returns 1 and leaves a sentence there that says what to do. After a panic, [`output`] has its text.
//!
//! The same functions run natively in the tests.
#![deny(unsafe_code)]

mod session;

use std::cell::RefCell;

pub use session::{MAX_FILE, Refusal, Role, Session};

#[derive(Debug, Default)]
struct State {
    session: Session,
    input: Vec<u8>,
    output: Vec<u8>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

fn with(run: impl FnOnce(&mut Session) -> Result<Vec<u8>, Refusal>) -> u32 {
    panics::keep();
    STATE.with_borrow_mut(|state| {
        let result = run(&mut state.session);
        let failed = result.is_err();
        state.output = result.unwrap_or_else(|refusal| refusal.to_string().into_bytes());
        u32::from(failed)
    })
}

/// Where to write the next file: its content and then its name, `length` bytes together. Null if there is not enough memory.
// SAFETY: no other crate of the module exports this name, which is not one of the linker's or of Rust's library.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn input(length: u32) -> *mut u8 {
    STATE.with_borrow_mut(|state| {
        state.input = Vec::new();
        if state.input.try_reserve_exact(length as usize).is_err() {
            return std::ptr::null_mut();
        }
        state.input.resize(length as usize, 0);
        state.input.as_mut_ptr()
    })
}

/// Takes the file at [`input`], whose last `name_length` bytes are its name. The output is its role.
// SAFETY: as for `input`.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn add(name_length: u32) -> u32 {
    let mut bytes = STATE.with_borrow_mut(|state| std::mem::take(&mut state.input));
    let name = bytes.split_off(bytes.len().saturating_sub(name_length as usize));
    let name = String::from_utf8_lossy(&name);
    with(|session| Ok(session.add(&name, bytes)?.word().into()))
}

/// Analyses the input. The output is the answer as JSON.
// SAFETY: as for `input`.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> u32 {
    with(|session| Ok(session.answer()?.to_string().into_bytes()))
}

/// Makes the HTML report of a recording.
// SAFETY: as for `input`.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn html() -> u32 {
    with(|session| Ok(session.html()?.into_bytes()))
}

/// Makes the Perfetto trace of a recording.
// SAFETY: as for `input`.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn trace() -> u32 {
    with(|session| session.trace())
}

/// Where the last result is; valid until the next call.
// SAFETY: as for `input`.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    panics::text().map_or_else(|| STATE.with_borrow(|state| state.output.as_ptr()), |text| text.as_ptr())
}

/// The length of the last result.
// SAFETY: as for `input`.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn output_length() -> u32 {
    let length =
        panics::text().map_or_else(|| STATE.with_borrow(|state| state.output.len()), |text| text.len());
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// Keeps the text of a panic, which ends the module with a trap that has none.
mod panics {
    use std::sync::OnceLock;

    static TEXT: OnceLock<String> = OnceLock::new();

    /// The text, after a panic.
    pub(super) fn text() -> Option<&'static str> {
        TEXT.get().map(String::as_str)
    }

    /// From now on, a panic leaves its text. A test's own panics are left alone.
    pub(super) fn keep() {
        #[cfg(target_family = "wasm")]
        std::panic::set_hook(Box::new(|panic| {
            let _ = TEXT.set(panic.to_string());
        }));
    }
}
