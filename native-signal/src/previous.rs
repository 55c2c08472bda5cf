//! The SIGQUIT action that was installed before ours: the previous handler, if it is one.

use nix::errno::Errno;
use std::ptr;

/// The signature of a handler installed with SA_SIGINFO.
pub(crate) type InfoHandler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
type PlainHandler = extern "C" fn(libc::c_int);

/// A SIGQUIT action, as the kernel stores it.
#[derive(Clone, Copy)]
pub(crate) struct Action(libc::sigaction);

impl Action {
    /// The action in force now.
    pub(crate) fn current() -> Result<Self, Errno> {
        exchange(ptr::null())
    }

    /// Our action, for `handler`, to be installed before `previous`.
    ///
    /// Beside the catcher: restart interrupted calls, run on the alternate stack if there is one, and block everything but
    /// faults (`crate::mask::all_but_faults` says why not those). Before a real handler: exactly the mask
    /// and the flags that it asked for, since it runs inside ours and must find the state that it expects. SIGQUIT itself
    /// is blocked in a running handler in any case.
    pub(crate) fn ours(handler: InfoHandler, previous: Option<&Action>) -> Self {
        // SAFETY: `sigaction` is integers, a set of bits and an optional function pointer: all zeroes is a value.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = handler as usize;
        match previous {
            Some(Action(previous)) => {
                action.sa_flags =
                    libc::SA_SIGINFO | (previous.sa_flags & (libc::SA_RESTART | libc::SA_ONSTACK));
                action.sa_mask = previous.sa_mask;
            }
            None => {
                action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
                action.sa_mask = *crate::mask::all_but_faults().as_ref();
            }
        }
        Action(action)
    }

    /// Installs this action and returns the one it replaced (man 2 sigaction).
    pub(crate) fn put(&self) -> Result<Self, Errno> {
        exchange(&self.0)
    }

    pub(crate) fn is_default(&self) -> bool {
        self.0.sa_sigaction == libc::SIG_DFL
    }

    pub(crate) fn is_ignore(&self) -> bool {
        self.0.sa_sigaction == libc::SIG_IGN
    }

    /// Whether it is a function to call, neither the default nor ignore.
    pub(crate) fn is_handler(&self) -> bool {
        !self.is_default() && !self.is_ignore()
    }

    /// Whether it has SA_RESETHAND: the kernel resets it after the first signal.
    pub(crate) fn is_one_shot(&self) -> bool {
        self.0.sa_flags & libc::SA_RESETHAND != 0
    }

    pub(crate) fn is(&self, handler: InfoHandler) -> bool {
        self.0.sa_sigaction == handler as usize
    }

    /// The handler's address; 0 for the default, 1 for ignore.
    pub(crate) fn address(&self) -> usize {
        self.0.sa_sigaction
    }

    /// Calls the handler as the kernel would. Nothing happens for the default and for ignore.
    ///
    /// # Safety
    ///
    /// The action came from the kernel and its handler is still loaded; `info` and `context` are what a SIGQUIT handler was
    /// given for a signal that it handles now, or null where the caller of that handler passed null.
    pub(crate) unsafe fn call(
        &self,
        signal: libc::c_int,
        info: *mut libc::siginfo_t,
        context: *mut libc::c_void,
    ) {
        if !self.is_handler() {
            return;
        }
        if self.0.sa_flags & libc::SA_SIGINFO != 0 {
            // SAFETY: the address came from the kernel as a handler with SA_SIGINFO, which has this signature.
            let handler: InfoHandler = unsafe { std::mem::transmute(self.0.sa_sigaction) };
            handler(signal, info, context);
        } else {
            // SAFETY: the address came from the kernel as a handler without SA_SIGINFO, which has this signature.
            let handler: PlainHandler = unsafe { std::mem::transmute(self.0.sa_sigaction) };
            handler(signal);
        }
    }
}

fn exchange(new: *const libc::sigaction) -> Result<Action, Errno> {
    // SAFETY: as in `Action::ours`.
    let mut old: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: `new` is null or a live sigaction, `old` is live and writable.
    let result = unsafe { libc::sigaction(libc::SIGQUIT, new, &mut old) };
    Errno::result(result).map(|_| Action(old))
}
