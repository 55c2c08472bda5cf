//! A second copy of the library in the process, as two class loaders make one: a shared library that holds all of the
//! crate once more, with statics of its own (`examples/copy.rs`).

use std::ffi::CString;
use std::path::PathBuf;

/// The copy, loaded. It is never unloaded.
#[derive(Clone, Copy)]
pub(crate) struct Second {
    install: extern "C" fn() -> i32,
    uninstall: extern "C" fn() -> i32,
    sensed: extern "C" fn() -> u64,
    rescued: extern "C" fn() -> u64,
}

/// Path of the copy: beside the program or where Cargo puts examples; `None` if it was not built.
pub(crate) fn path() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let directory = program.parent()?;
    [directory.join("libcopy.so"), directory.join("../examples/libcopy.so")]
        .into_iter()
        .find(|path| path.exists())
}

impl Second {
    pub(crate) fn load() -> Second {
        let path = path().expect("libcopy.so: build it with `cargo build -p anrscope-signal --examples`");
        let path = CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: a path; the library's constructors are Rust's and do nothing of note.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        assert!(!library.is_null(), "libcopy.so does not load");
        let find = |name: &std::ffi::CStr| {
            // SAFETY: a loaded library and a name.
            let symbol = unsafe { libc::dlsym(library, name.as_ptr()) };
            assert!(!symbol.is_null(), "{name:?}");
            symbol
        };
        type Number = extern "C" fn() -> u64;
        type Answer = extern "C" fn() -> i32;
        // SAFETY: `examples/copy.rs` defines the four with these signatures.
        unsafe {
            Second {
                install: std::mem::transmute::<*mut libc::c_void, Answer>(find(c"copy_install")),
                uninstall: std::mem::transmute::<*mut libc::c_void, Answer>(find(c"copy_uninstall")),
                sensed: std::mem::transmute::<*mut libc::c_void, Number>(find(c"copy_sensed")),
                rescued: std::mem::transmute::<*mut libc::c_void, Number>(find(c"copy_rescued")),
            }
        }
    }

    /// 0 passive, 1 beside the catcher, 2 before a previous handler, -1 refused.
    pub(crate) fn install(self) -> i32 {
        (self.install)()
    }

    /// 0 restored, 1 passes through, 2 nothing was there.
    pub(crate) fn uninstall(self) -> i32 {
        (self.uninstall)()
    }

    /// How many its observer got.
    pub(crate) fn sensed(self) -> u64 {
        (self.sensed)()
    }

    /// How many it took from a leader that did not run.
    pub(crate) fn rescued(self) -> u64 {
        (self.rescued)()
    }
}
