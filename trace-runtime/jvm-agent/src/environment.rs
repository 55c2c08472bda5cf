//! The JVM TI environment of the agent, with results in place of error numbers.

use std::collections::HashSet;
use std::ffi::{CStr, CString, OsString, c_char, c_uchar};
use std::fmt;
use std::os::unix::ffi::OsStringExt as _;
use std::ptr::{null, null_mut};
use std::time::Duration;

use jni::sys::{JavaVM, jclass, jint, jlong, jobject};

use crate::jvmti::{
    self, Callbacks, Capabilities, DISABLE, ENABLE, Env, LineNumber, NONE, StackInfo, VERSION_1_2,
};
pub(crate) use crate::jvmti::{Frame, MethodId};

/// The error of a JVM TI function, by its number in the specification's list "Error Codes".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failed {
    function: &'static str,
    number: jint,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} answers error {} of JVM TI", self.function, self.number)
    }
}

fn checked(function: &'static str, number: jint) -> Result<(), Failed> {
    if number == NONE { Ok(()) } else { Err(Failed { function, number }) }
}

/// The agent's environment. It is valid until the JVM ends: the agent never disposes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Environment(*mut Env);

// SAFETY: JVM TI functions may be called on any thread that is attached to the JVM ("Environments are ... shared among
// threads").
unsafe impl Send for Environment {}
// SAFETY: as above.
unsafe impl Sync for Environment {}

/// A thread with its stack.
#[derive(Debug)]
pub(crate) struct Stack {
    /// A local reference.
    pub(crate) thread: jobject,
    /// Bits of [`thread_state`].
    pub(crate) state: jint,
    /// Innermost call first.
    pub(crate) frames: Vec<Frame>,
}

/// A monitor that only the agent uses.
#[derive(Debug)]
pub(crate) struct RawMonitor(jvmti::RawMonitor);

/// A thread as the program has named it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ThreadInfo {
    pub(crate) name: String,
    pub(crate) priority: jint,
    pub(crate) daemon: bool,
}

/// The first instruction of a line, and the line.
pub(crate) type Line = (jlong, jint);

/// The frames of a stack that are read at a time.
const FRAMES: jint = 1024;

impl Environment {
    /// Returns the methods of all frames of all threads, but not of virtual threads, and the number of threads. Stops all threads
    /// for that. The frames of a stack beyond [`FRAMES`] are of a moment later. Creates a local reference for every thread.
    pub(crate) fn methods_on_stacks(&self) -> Result<(HashSet<MethodId>, usize), Failed> {
        let mut methods = HashSet::new();
        let stacks = self.stacks(FRAMES)?;
        let threads = stacks.len();
        for Stack { thread, mut frames, .. } in stacks {
            let mut depth = 0;
            while !frames.is_empty() {
                methods.extend(frames.iter().map(|frame| frame.method));
                if frames.len() < FRAMES as usize {
                    break;
                }
                depth += FRAMES;
                frames = self.deeper(thread, depth);
            }
        }
        Ok((methods, threads))
    }

    /// Returns up to [`FRAMES`] frames of a thread that have `depth` frames above them; none if there are no more, or the
    /// thread has ended.
    fn deeper(&self, thread: jobject, depth: jint) -> Vec<Frame> {
        let mut frames = vec![Frame { method: MethodId(null_mut()), location: 0 }; FRAMES as usize];
        let first = frames.as_mut_ptr();
        // SAFETY: the caller has the thread from the JVM; the function writes as many frames as there is room for, and a number.
        let count = self.get("GetStackTrace", |f, count| unsafe {
            (f.get_stack_trace)(self.0, thread, depth, FRAMES, first, count)
        });
        frames.truncate(count.map_or(0, |count| usize::try_from(count).unwrap_or(0)));
        frames
    }

    /// Returns the innermost `most` frames of all threads, from one moment. Stops all threads for that. Creates a local
    /// reference for every thread.
    pub(crate) fn stacks(&self, most: jint) -> Result<Vec<Stack>, Failed> {
        let stack = |stack: &StackInfo| {
            // SAFETY: the JVM has filled that many, which are a part of the list.
            let frames = unsafe { elements(stack.frames, stack.frame_count) };
            Stack { thread: stack.thread, state: stack.state, frames: frames.to_vec() }
        };
        // SAFETY: the function writes a pointer and a number.
        let call = |f: &jvmti::Functions, first, count| unsafe {
            (f.get_all_stack_traces)(self.0, most, first, count)
        };
        self.list("GetAllStackTraces", call, |all| all.iter().map(stack).collect())
    }

    /// Returns the calling thread as a local reference.
    pub(crate) fn current_thread(&self) -> Result<jobject, Failed> {
        // SAFETY: the function writes one reference.
        self.get("GetCurrentThread", |f, thread| unsafe { (f.get_current_thread)(self.0, thread) })
    }

    /// Returns a thread's name, priority and kind. Creates two local references.
    pub(crate) fn thread_info(&self, thread: jobject) -> Result<ThreadInfo, Failed> {
        // SAFETY: the caller has the thread from the JVM; the function fills the structure.
        let info: jvmti::ThreadInfo =
            self.get("GetThreadInfo", |f, info| unsafe { (f.get_thread_info)(self.0, thread, info) })?;
        let name = self.text(info.name).unwrap_or_default();
        Ok(ThreadInfo { name, priority: info.priority, daemon: info.is_daemon })
    }

    /// Returns the CPU time that a thread has used, ns.
    pub(crate) fn cpu_time(&self, thread: jobject) -> Result<u64, Failed> {
        // SAFETY: the caller has the thread from the JVM; the function writes one number.
        let nanos = self
            .get("GetThreadCpuTime", |f, nanos| unsafe { (f.get_thread_cpu_time)(self.0, thread, nanos) })?;
        Ok(u64::try_from(nanos).unwrap_or(0))
    }

    /// Returns the object whose monitor a thread waits for, to enter it or in `Object.wait`, as a local reference; null if
    /// there is none. From Java 25 on a thread that waits to be notified has none.
    pub(crate) fn contended_monitor(&self, thread: jobject) -> Result<jobject, Failed> {
        // SAFETY: the caller has the thread from the JVM; the function writes one reference.
        self.get("GetCurrentContendedMonitor", |f, monitor| unsafe {
            (f.get_current_contended_monitor)(self.0, thread, monitor)
        })
    }

    /// Returns the thread that owns an object's monitor, as a local reference, null if none does; and how many local
    /// references were created, since each thread that waits for the monitor has one.
    pub(crate) fn monitor_owner(&self, object: jobject) -> Result<(jobject, usize), Failed> {
        // SAFETY: the caller has the object from the JVM; the function fills the structure.
        let usage: jvmti::MonitorUsage = self.get("GetObjectMonitorUsage", |f, usage| unsafe {
            (f.get_object_monitor_usage)(self.0, object, usage)
        })?;
        self.give_back(usage.waiters);
        self.give_back(usage.notify_waiters);
        let references = [1, usage.waiter_count, usage.notify_waiter_count];
        Ok((usage.owner, references.into_iter().filter_map(|count| usize::try_from(count).ok()).sum()))
    }

    /// Returns an object's identity hash code.
    pub(crate) fn hash_code(&self, object: jobject) -> Result<u32, Failed> {
        // SAFETY: the caller has the object from the JVM; the function writes one number.
        let hash = self
            .get("GetObjectHashCode", |f, hash| unsafe { (f.get_object_hash_code)(self.0, object, hash) })?;
        Ok(hash.cast_unsigned())
    }

    /// Returns the name of a class's source file; `None` if the class does not state one.
    pub(crate) fn source_file(&self, class: jclass) -> Option<String> {
        // SAFETY: the caller has the class from the JVM; the function writes one pointer.
        let text =
            self.get("GetSourceFileName", |f, text| unsafe { (f.get_source_file_name)(self.0, class, text) });
        self.text(text.ok()?)
    }

    /// Returns the lines of a method, in the order of the class file; empty if the class does not state them.
    pub(crate) fn lines(&self, method: MethodId) -> Vec<Line> {
        let line = |entry: &LineNumber| (entry.start_location, entry.line_number);
        // SAFETY: the method is from the JVM; the function writes a number and a pointer.
        let call = |f: &jvmti::Functions, first, count| unsafe {
            (f.get_line_number_table)(self.0, method.0, count, first)
        };
        self.list("GetLineNumberTable", call, |all| all.iter().map(line).collect()).unwrap_or_default()
    }

    /// Returns the JVM's outermost thread groups as local references; HotSpot has one, `system`.
    pub(crate) fn top_thread_groups(&self) -> Result<Vec<jobject>, Failed> {
        // SAFETY: the function writes a number and a pointer.
        let call =
            |f: &jvmti::Functions, first, count| unsafe { (f.get_top_thread_groups)(self.0, count, first) };
        self.list("GetTopThreadGroups", call, <[jobject]>::to_vec)
    }

    /// Creates a monitor of the agent, which no other thread waits for.
    pub(crate) fn raw_monitor(&self, name: &CStr) -> Result<RawMonitor, Failed> {
        // SAFETY: the function copies the name and writes one pointer.
        let monitor = self.get("CreateRawMonitor", |f, monitor| unsafe {
            (f.create_raw_monitor)(self.0, name.as_ptr(), monitor)
        });
        monitor.map(RawMonitor)
    }

    /// Sleeps as a thread that is blocked in the JVM. A thread that sleeps in native code makes HotSpot wait for it for 300 ms
    /// when the program ends (`VM_Exit::wait_for_threads_in_native_to_block`).
    pub(crate) fn sleep(&self, on: &RawMonitor, duration: Duration) -> Result<(), Failed> {
        let ms = jlong::try_from(duration.as_millis()).unwrap_or(jlong::MAX).max(1);
        let functions = self.functions();
        // SAFETY: the monitor is one of this environment, and is never destroyed.
        checked("RawMonitorEnter", unsafe { (functions.raw_monitor_enter)(self.0, on.0) })?;
        // SAFETY: this thread has entered the monitor.
        let waited = checked("RawMonitorWait", unsafe { (functions.raw_monitor_wait)(self.0, on.0, ms) });
        // SAFETY: as above; the wait has entered it again.
        checked("RawMonitorExit", unsafe { (functions.raw_monitor_exit)(self.0, on.0) })?;
        waited
    }

    /// Runs `body` on a daemon thread with this `java.lang.Thread`, which was not started. The program does not see the
    /// thread among its own.
    pub(crate) fn run_thread(&self, thread: jobject, body: jvmti::StartFunction) -> Result<(), Failed> {
        // SAFETY: the thread is from the JVM, and the body takes no argument.
        checked("RunAgentThread", unsafe {
            (self.functions().run_agent_thread)(self.0, thread, body, null(), jvmti::NORM_PRIORITY)
        })
    }

    /// The class that declares a method, as a local reference.
    pub(crate) fn class_of(&self, method: MethodId) -> Result<jclass, Failed> {
        // SAFETY: the method is from the JVM; the function writes one reference.
        self.get("GetMethodDeclaringClass", |f, class| unsafe {
            (f.get_method_declaring_class)(self.0, method.0, class)
        })
    }

    /// The name of a method and its descriptor, such as `()V`.
    pub(crate) fn name_and_descriptor(&self, method: MethodId) -> Result<(String, String), Failed> {
        let mut descriptor = null_mut();
        // SAFETY: the method is from the JVM; the function writes two pointers, and the third may be null.
        let name = self.get("GetMethodName", |f, name| unsafe {
            (f.get_method_name)(self.0, method.0, name, &raw mut descriptor, null_mut())
        })?;
        Ok((self.text(name).unwrap_or_default(), self.text(descriptor).unwrap_or_default()))
    }

    /// Returns the innermost frame of the calling thread.
    pub(crate) fn own_frame(&self) -> Result<Frame, Failed> {
        let mut method = MethodId(null_mut());
        // SAFETY: null stands for the calling thread; the function writes a method and a number.
        let location = self.get("GetFrameLocation", |f, location| unsafe {
            (f.get_frame_location)(self.0, null_mut(), 0, &raw mut method.0, location)
        })?;
        Ok(Frame { method, location })
    }

    /// Returns the modifiers of a method, as in its class file.
    pub(crate) fn modifiers(&self, method: MethodId) -> Result<jint, Failed> {
        // SAFETY: the method is from the JVM; the function writes one number.
        self.get("GetMethodModifiers", |f, modifiers| unsafe {
            (f.get_method_modifiers)(self.0, method.0, modifiers)
        })
    }

    /// Calls a function that writes a value in place of an empty one.
    fn get<T: Default>(
        &self,
        function: &'static str,
        call: impl FnOnce(&jvmti::Functions, *mut T) -> jint,
    ) -> Result<T, Failed> {
        let mut value = T::default();
        checked(function, call(self.functions(), &raw mut value))?;
        Ok(value)
    }

    /// Calls a function that writes the place of a list and its length, and reads the list before it is given back.
    fn list<T, R>(
        &self,
        function: &'static str,
        call: impl FnOnce(&jvmti::Functions, *mut *mut T, *mut jint) -> jint,
        read: impl FnOnce(&[T]) -> R,
    ) -> Result<R, Failed> {
        let mut count = 0;
        let first = self.get(function, |f, first| call(f, first, &raw mut count))?;
        // SAFETY: the JVM has filled that many, which are ours until they are given back.
        let result = read(unsafe { elements(first, count) });
        self.give_back(first);
        Ok(result)
    }

    /// Gives memory back that the JVM has allocated for a result, or null.
    fn give_back<T>(&self, memory: *mut T) {
        // SAFETY: the JVM has allocated it, or it is null, which the function accepts.
        unsafe { (self.functions().deallocate)(self.0, memory.cast()) };
    }

    /// A text of the JVM, which is given back; `None` for null.
    fn taken(&self, text: *mut c_char) -> Option<CString> {
        if text.is_null() {
            return None;
        }
        // SAFETY: the text ends with a zero, and is ours until it is given back.
        let taken = unsafe { CStr::from_ptr(text) }.to_owned();
        self.give_back(text);
        Some(taken)
    }

    fn text(&self, text: *mut c_char) -> Option<String> {
        self.taken(text).map(|text| text.to_string_lossy().into_owned())
    }

    /// Creates an environment; `None` if the JVM has no JVM TI.
    ///
    /// # Safety
    /// `vm` must be the JVM that has called the agent.
    pub(crate) unsafe fn create(vm: *mut JavaVM) -> Option<Self> {
        let mut env = null_mut();
        // SAFETY: the caller's promise; the function writes one pointer.
        let result = unsafe { ((**vm).v1_2.GetEnv)(vm, &raw mut env, VERSION_1_2) };
        (result == jni::sys::JNI_OK && !env.is_null()).then_some(Self(env.cast()))
    }

    fn functions(&self) -> &jvmti::Functions {
        // SAFETY: the JVM returned the environment, which points to its table; neither is ever freed.
        unsafe { &**self.0 }
    }

    /// Asks for capabilities; returns whether the JVM has all of them to give.
    pub(crate) fn add_capabilities(&self, wanted: &Capabilities) -> Result<bool, Failed> {
        // SAFETY: the function fills the structure.
        let potential = self.get("GetPotentialCapabilities", |f, all| unsafe {
            (f.get_potential_capabilities)(self.0, all)
        })?;
        if !potential.has(wanted) {
            return Ok(false);
        }
        // SAFETY: the function reads the structure.
        checked("AddCapabilities", unsafe { (self.functions().add_capabilities)(self.0, wanted) })?;
        Ok(true)
    }

    /// Sets the callbacks of all events.
    pub(crate) fn set_callbacks(&self, callbacks: &Callbacks) -> Result<(), Failed> {
        // SAFETY: the function copies the given number of bytes.
        checked("SetEventCallbacks", unsafe {
            (self.functions().set_event_callbacks)(self.0, callbacks, size_of::<Callbacks>() as jint)
        })
    }

    /// Switches an event on or off, for all threads.
    pub(crate) fn notify(&self, event: jint, on: bool) -> Result<(), Failed> {
        let mode = if on { ENABLE } else { DISABLE };
        // SAFETY: null stands for all threads.
        checked("SetEventNotificationMode", unsafe {
            (self.functions().set_event_notification_mode)(self.0, mode, event, null_mut())
        })
    }

    /// Copies bytes into memory that the JVM frees. `None` if the JVM is out of memory.
    pub(crate) fn allocated(&self, bytes: &[u8]) -> Option<*mut c_uchar> {
        // SAFETY: the function writes one pointer.
        let memory =
            self.get("Allocate", |f, memory| unsafe { (f.allocate)(self.0, bytes.len() as jlong, memory) });
        let memory = memory.ok().filter(|memory| !memory.is_null())?;
        // SAFETY: the memory is fresh and has room for as many bytes.
        unsafe { memory.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Some(memory)
    }

    /// A system property of the JVM; `None` if it is not set.
    pub(crate) fn property(&self, name: &CStr) -> Option<OsString> {
        // SAFETY: the function reads the name and writes one pointer.
        let text = self.get("GetSystemProperty", |f, text| unsafe {
            (f.get_system_property)(self.0, name.as_ptr(), text)
        });
        Some(OsString::from_vec(self.taken(text.ok()?)?.into_bytes()))
    }

    /// The loader of a class as a local reference; null for the boot loader.
    pub(crate) fn loader(&self, class: jclass) -> Result<jobject, Failed> {
        // SAFETY: the caller has the class from the JVM; the function writes one reference.
        self.get("GetClassLoader", |f, loader| unsafe { (f.get_class_loader)(self.0, class, loader) })
    }

    /// The internal name of a class, such as `com/example/Main`; `None` for an array or a primitive type.
    pub(crate) fn class_name(&self, class: jclass) -> Option<String> {
        Some(self.signature(class)?.strip_prefix('L')?.strip_suffix(';')?.to_owned())
    }

    /// Returns the signature of a class, such as `Lcom/example/Main;` or `[I`.
    pub(crate) fn signature(&self, class: jclass) -> Option<String> {
        // SAFETY: the function writes one pointer; the second may be null.
        let text = self.get("GetClassSignature", |f, text| unsafe {
            (f.get_class_signature)(self.0, class, text, null_mut())
        });
        self.text(text.ok()?)
    }

    /// The tag of an object, 0 without one. Tags of other agents are not seen. Loaders, code sources, classes and threads have
    /// tags; the modules that set them know what they mean.
    pub(crate) fn tag(&self, object: jobject) -> jlong {
        // SAFETY: the caller has the object from the JVM; the function writes one number.
        self.get("GetTag", |f, tag| unsafe { (f.get_tag)(self.0, object, tag) }).unwrap_or(0)
    }

    /// Tags an object.
    pub(crate) fn set_tag(&self, object: jobject, tag: jlong) {
        // SAFETY: the caller has the object from the JVM. Out of memory, the tag stays as it was.
        unsafe { (self.functions().set_tag)(self.0, object, tag) };
    }

    /// The status of a class: bits of [`jvmti::class_status`].
    pub(crate) fn status(&self, class: jclass) -> jint {
        // SAFETY: the caller has the class from the JVM; the function writes one number.
        let status =
            self.get("GetClassStatus", |f, status| unsafe { (f.get_class_status)(self.0, class, status) });
        status.unwrap_or(0)
    }

    /// Whether the JVM lets a class be redefined.
    pub(crate) fn is_modifiable(&self, class: jclass) -> bool {
        // SAFETY: as above.
        let is_modifiable =
            self.get("IsModifiableClass", |f, is| unsafe { (f.is_modifiable_class)(self.0, class, is) });
        is_modifiable.is_ok_and(|is| is != 0)
    }

    /// All loaded classes, as local references.
    pub(crate) fn loaded_classes(&self) -> Result<Vec<jclass>, Failed> {
        // SAFETY: the function writes a number and a pointer.
        let call =
            |f: &jvmti::Functions, first, count| unsafe { (f.get_loaded_classes)(self.0, count, first) };
        self.list("GetLoadedClasses", call, <[jobject]>::to_vec)
    }

    /// The objects that have one of these tags, as local references.
    pub(crate) fn tagged(&self, tags: &[jlong]) -> Result<Vec<jobject>, Failed> {
        // SAFETY: the function reads the given number of tags, and writes a number and a pointer; it writes no tags to null.
        let call = |f: &jvmti::Functions, first, count| unsafe {
            (f.get_objects_with_tags)(self.0, tags.len() as jint, tags.as_ptr(), count, first, null_mut())
        };
        self.list("GetObjectsWithTags", call, <[jobject]>::to_vec)
    }

    /// Has the JVM ask for the bytes of these classes again, and replace their methods.
    pub(crate) fn retransform(&self, classes: &[jclass]) -> Result<(), Failed> {
        let first = if classes.is_empty() { null() } else { classes.as_ptr() };
        // SAFETY: the function reads the given number of references.
        checked("RetransformClasses", unsafe {
            (self.functions().retransform_classes)(self.0, classes.len() as jint, first)
        })
    }
}

/// The elements of a list of the JVM; none if its place is null.
///
/// # Safety
/// The JVM must have filled `count` elements at `first`, and they must not be given back before the last use of the
/// result.
unsafe fn elements<'a, T>(first: *const T, count: jint) -> &'a [T] {
    match first.is_null() {
        true => &[],
        // SAFETY: the caller's promise.
        false => unsafe { std::slice::from_raw_parts(first, usize::try_from(count).unwrap_or(0)) },
    }
}
