//! Threads of a JVM that runs already: which one runs `main`, and one of our own to work on.

use std::ffi::c_void;
use std::fs;
use std::ptr::null_mut;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::Builder;
use std::time::Duration;

use jni::sys::{JNI_OK, JavaVMAttachArgs};

use crate::client::started;
use crate::java::{Java, Vm};
use crate::jvmti::VERSION_JNI_1_6;

/// The kernel's id of the thread that runs `main`.
///
/// The launcher of OpenJDK creates a thread for it first of all, and then waits; neither has a name of its own, so both
/// are called like the program. Where there is no such second thread, another program has created the JVM on its first
/// thread.
pub(crate) fn main_tid() -> u32 {
    let pid = std::process::id();
    let name = |tid: u32| fs::read(format!("/proc/self/task/{tid}/comm")).ok();
    let first = name(pid);
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let tids = tasks.filter_map(|task| task.file_name().to_str()?.parse::<u32>().ok());
    let created = |tid: &u32| *tid != pid && name(*tid) == first;
    // Ids may start anew, so the time of the start decides.
    let stat = |tid: u32| fs::read_to_string(format!("/proc/self/task/{tid}/stat")).unwrap_or_default();
    tids.filter(created).min_by_key(|tid| (started(&stat(*tid)).unwrap_or(u64::MAX), *tid)).unwrap_or(pid)
}

/// Runs `work` on a thread of its own that the JVM knows, and waits for it.
///
/// # Errors
/// As `work`, or if there is no such thread, or it panicked.
pub(crate) fn on_own_thread(
    vm: Vm,
    work: impl FnOnce(Java) -> Result<(), String> + Send,
) -> Result<(), String> {
    let done = std::thread::scope(|scope| {
        named().spawn_scoped(scope, move || attached(vm, work)).ok()?.join().ok().flatten()
    });
    done.unwrap_or_else(|| Err("the agent had a fault".to_owned()))
}

/// A thread that the JVM knows, which does one job after the other.
#[derive(Debug)]
pub(crate) struct Helper<J, R> {
    jobs: Sender<J>,
    results: Receiver<R>,
}

impl<J: Send + 'static, R: Send + 'static> Helper<J, R> {
    /// Starts the thread, which calls `work` for each job. It ends when the helper is dropped, after the job that it is at.
    /// `None` if there is no such thread.
    pub(crate) fn start(vm: Vm, work: impl Fn(Java, J) -> R + Send + 'static) -> Option<Self> {
        let (jobs, to_do) = mpsc::channel();
        let (done, results) = mpsc::channel();
        let body = move |java| to_do.into_iter().try_for_each(|job| done.send(work(java, job)));
        named().spawn(move || attached(vm, body)).ok()?;
        Some(Self { jobs, results })
    }

    /// Has it do a job, and waits no longer than `limit` for the result. `None` if it takes longer, and then it goes on by
    /// itself; or if it panicked.
    pub(crate) fn within(self, limit: Duration, job: J) -> Option<(Self, R)> {
        self.jobs.send(job).ok()?;
        let result = self.results.recv_timeout(limit).ok()?;
        Some((self, result))
    }
}

fn named() -> Builder {
    Builder::new().name("anrscope-agent".into())
}

/// Attaches this thread to the JVM as a daemon, runs `work` on it, and detaches it.
pub(crate) fn attached<R>(vm: Vm, work: impl FnOnce(Java) -> R) -> Option<R> {
    let vm = vm.table();
    let mut env: *mut c_void = null_mut();
    let mut arguments = JavaVMAttachArgs {
        version: VERSION_JNI_1_6,
        name: c"anrscope-agent".as_ptr().cast_mut(),
        group: null_mut(),
    };
    // SAFETY: the JVM's own table; the function writes one pointer and reads the arguments.
    let status =
        unsafe { ((**vm).v1_4.AttachCurrentThreadAsDaemon)(vm, &raw mut env, (&raw mut arguments).cast()) };
    if status != JNI_OK {
        return None;
    }
    // SAFETY: the environment is this thread's until it detaches.
    let result = unsafe { Java::new(env.cast()) }.map(work);
    // SAFETY: the thread is attached, and uses nothing of the JVM after this.
    unsafe { ((**vm).v1_2.DetachCurrentThread)(vm) };
    result
}
