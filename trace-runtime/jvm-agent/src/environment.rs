//! The JVM TI environment of the agent, with results in place of error numbers.

use std::collections::HashSet;
use std::ffi::{CStr, CString, OsString, c_char, c_uchar};
use std::fmt;
use std::os::unix::ffi::OsStringExt as _;
use std::ptr::{null, null_mut};
use std::time::Duration;

use jni::sys::{JavaVM, jclass, jint, jlong, jmethodID, jobject};

use crate::jvmti::{self, Callbacks, Capabilities, DISABLE, ENABLE, Env, FrameInfo, NONE, VERSION_1_2};

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

/// A method's identity, which is valid as long as its class is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MethodId(pub(crate) jmethodID);

// SAFETY: JNI: "method IDs" are no references to objects; any thread may use them.
unsafe impl Send for MethodId {}
// SAFETY: as above.
unsafe impl Sync for MethodId {}

/// A frame of Java code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Frame {
    pub(crate) method: MethodId,
    /// The index of the instruction; -1 in a native method.
    pub(crate) location: jlong,
}

impl Frame {
    fn of(info: &FrameInfo) -> Self {
        Self { method: MethodId(info.method), location: info.location }
    }
}

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
        let mut frames = vec![FrameInfo { method: null_mut(), location: 0 }; FRAMES as usize];
        let mut count = 0;
        // SAFETY: the caller has the thread from the JVM; the function writes as many frames as there is room for, and a number.
        let result = unsafe {
            (self.functions().get_stack_trace)(
                self.0,
                thread,
                depth,
                FRAMES,
                frames.as_mut_ptr(),
                &raw mut count,
            )
        };
        frames.truncate(if result == NONE { usize::try_from(count).unwrap_or(0) } else { 0 });
        frames.iter().map(Frame::of).collect()
    }

    /// Returns the innermost `most` frames of all threads, from one moment. Stops all threads for that. Creates a local
    /// reference for every thread.
    pub(crate) fn stacks(&self, most: jint) -> Result<Vec<Stack>, Failed> {
        let (mut first, mut count) = (null_mut(), 0);
        // SAFETY: the function writes a pointer and a number.
        checked("GetAllStackTraces", unsafe {
            (self.functions().get_all_stack_traces)(self.0, most, &raw mut first, &raw mut count)
        })?;
        let count = usize::try_from(count).unwrap_or(0);
        if first.is_null() {
            return Ok(Vec::new());
        }
        // SAFETY: it is not null, and the JVM has filled that many, which are ours until they are given back.
        let all = unsafe { std::slice::from_raw_parts(first, count) };
        let stacks = all.iter().map(|stack| {
            let count = usize::try_from(stack.frame_count).unwrap_or(0);
            let frames = match stack.frames.is_null() {
                true => &[][..],
                // SAFETY: as above; the frames are part of the same memory.
                false => unsafe { std::slice::from_raw_parts(stack.frames, count) },
            };
            let frames = frames.iter().map(Frame::of).collect();
            Stack { thread: stack.thread, state: stack.state, frames }
        });
        let stacks = stacks.collect();
        // SAFETY: the JVM has allocated it.
        unsafe { (self.functions().deallocate)(self.0, first.cast()) };
        Ok(stacks)
    }

    /// Returns the calling thread as a local reference.
    pub(crate) fn current_thread(&self) -> Result<jobject, Failed> {
        let mut thread = null_mut();
        // SAFETY: the function writes one reference.
        checked("GetCurrentThread", unsafe {
            (self.functions().get_current_thread)(self.0, &raw mut thread)
        })?;
        Ok(thread)
    }

    /// Returns a thread's name, priority and kind. Creates two local references.
    pub(crate) fn thread_info(&self, thread: jobject) -> Result<ThreadInfo, Failed> {
        let mut info = jvmti::ThreadInfo {
            name: null_mut(),
            priority: 0,
            is_daemon: false,
            thread_group: null_mut(),
            context_class_loader: null_mut(),
        };
        // SAFETY: the caller has the thread from the JVM; the function fills the structure.
        checked("GetThreadInfo", unsafe {
            (self.functions().get_thread_info)(self.0, thread, &raw mut info)
        })?;
        let name = match info.name.is_null() {
            true => String::new(),
            false => self.taken(info.name).to_string_lossy().into_owned(),
        };
        Ok(ThreadInfo { name, priority: info.priority, daemon: info.is_daemon })
    }

    /// Returns the CPU time that a thread has used, ns.
    pub(crate) fn cpu_time(&self, thread: jobject) -> Result<u64, Failed> {
        let mut nanos = 0;
        // SAFETY: the caller has the thread from the JVM; the function writes one number.
        checked("GetThreadCpuTime", unsafe {
            (self.functions().get_thread_cpu_time)(self.0, thread, &raw mut nanos)
        })?;
        Ok(u64::try_from(nanos).unwrap_or(0))
    }

    /// Returns the object whose monitor a thread waits for, to enter it or in `Object.wait`, as a local reference; null if
    /// there is none. From Java 25 on a thread that waits to be notified has none.
    pub(crate) fn contended_monitor(&self, thread: jobject) -> Result<jobject, Failed> {
        let mut monitor = null_mut();
        // SAFETY: the caller has the thread from the JVM; the function writes one reference.
        checked("GetCurrentContendedMonitor", unsafe {
            (self.functions().get_current_contended_monitor)(self.0, thread, &raw mut monitor)
        })?;
        Ok(monitor)
    }

    /// Returns the thread that owns an object's monitor, as a local reference, null if none does; and how many local
    /// references were created, since each thread that waits for the monitor has one.
    pub(crate) fn monitor_owner(&self, object: jobject) -> Result<(jobject, usize), Failed> {
        let mut usage = jvmti::MonitorUsage {
            owner: null_mut(),
            entry_count: 0,
            waiter_count: 0,
            waiters: null_mut(),
            notify_waiter_count: 0,
            notify_waiters: null_mut(),
        };
        // SAFETY: the caller has the object from the JVM; the function fills the structure.
        checked("GetObjectMonitorUsage", unsafe {
            (self.functions().get_object_monitor_usage)(self.0, object, &raw mut usage)
        })?;
        for threads in [usage.waiters, usage.notify_waiters] {
            // SAFETY: the JVM has allocated it, or it is null, which the function accepts.
            unsafe { (self.functions().deallocate)(self.0, threads.cast()) };
        }
        let references = [1, usage.waiter_count, usage.notify_waiter_count];
        Ok((usage.owner, references.into_iter().filter_map(|count| usize::try_from(count).ok()).sum()))
    }

    /// Returns an object's identity hash code.
    pub(crate) fn hash_code(&self, object: jobject) -> Result<u32, Failed> {
        let mut hash = 0;
        // SAFETY: the caller has the object from the JVM; the function writes one number.
        checked("GetObjectHashCode", unsafe {
            (self.functions().get_object_hash_code)(self.0, object, &raw mut hash)
        })?;
        Ok(hash.cast_unsigned())
    }

    /// Returns the name of a class's source file; `None` if the class does not state one.
    pub(crate) fn source_file(&self, class: jclass) -> Option<String> {
        let mut text = null_mut();
        // SAFETY: the caller has the class from the JVM; the function writes one pointer.
        let result = unsafe { (self.functions().get_source_file_name)(self.0, class, &raw mut text) };
        if result != NONE || text.is_null() {
            return None;
        }
        Some(self.taken(text).to_string_lossy().into_owned())
    }

    /// Returns the lines of a method, in the order of the class file; empty if the class does not state them.
    pub(crate) fn lines(&self, method: MethodId) -> Vec<Line> {
        let (mut count, mut first) = (0, null_mut());
        // SAFETY: the method is from the JVM; the function writes a number and a pointer.
        let result = unsafe {
            (self.functions().get_line_number_table)(self.0, method.0, &raw mut count, &raw mut first)
        };
        if result != NONE || first.is_null() {
            return Vec::new();
        }
        // SAFETY: the JVM has filled that many, which are ours until they are given back.
        let table = unsafe { std::slice::from_raw_parts(first, usize::try_from(count).unwrap_or(0)) };
        let lines = table.iter().map(|entry| (entry.start_location, entry.line_number)).collect();
        // SAFETY: the JVM has allocated it.
        unsafe { (self.functions().deallocate)(self.0, first.cast()) };
        lines
    }

    /// Returns the JVM's outermost thread groups as local references; HotSpot has one, `system`.
    pub(crate) fn top_thread_groups(&self) -> Result<Vec<jobject>, Failed> {
        let (mut count, mut groups) = (0, null_mut());
        // SAFETY: the function writes a number and a pointer.
        checked("GetTopThreadGroups", unsafe {
            (self.functions().get_top_thread_groups)(self.0, &raw mut count, &raw mut groups)
        })?;
        // SAFETY: as the function has answered.
        Ok(unsafe { self.references(groups, count) })
    }

    /// Creates a monitor of the agent, which no other thread waits for.
    pub(crate) fn raw_monitor(&self, name: &CStr) -> Result<RawMonitor, Failed> {
        let mut monitor = null_mut();
        // SAFETY: the function copies the name and writes one pointer.
        checked("CreateRawMonitor", unsafe {
            (self.functions().create_raw_monitor)(self.0, name.as_ptr(), &raw mut monitor)
        })?;
        Ok(RawMonitor(monitor))
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
        let mut class = null_mut();
        // SAFETY: the method is from the JVM; the function writes one reference.
        checked("GetMethodDeclaringClass", unsafe {
            (self.functions().get_method_declaring_class)(self.0, method.0, &raw mut class)
        })?;
        Ok(class)
    }

    /// The name of a method.
    pub(crate) fn name_of(&self, method: MethodId) -> Result<String, Failed> {
        self.name_and_descriptor(method).map(|(name, _)| name)
    }

    /// The name of a method and its descriptor, such as `()V`.
    pub(crate) fn name_and_descriptor(&self, method: MethodId) -> Result<(String, String), Failed> {
        let (mut name, mut descriptor) = (null_mut(), null_mut());
        // SAFETY: the method is from the JVM; the function writes two pointers, and the third may be null.
        checked("GetMethodName", unsafe {
            (self.functions().get_method_name)(
                self.0,
                method.0,
                &raw mut name,
                &raw mut descriptor,
                null_mut(),
            )
        })?;
        let text = |text| self.taken(text).to_string_lossy().into_owned();
        Ok((text(name), text(descriptor)))
    }

    /// Returns the innermost frame of the calling thread.
    pub(crate) fn own_frame(&self) -> Result<Frame, Failed> {
        let mut info = FrameInfo { method: null_mut(), location: 0 };
        // SAFETY: null stands for the calling thread; the function writes a method and a number.
        checked("GetFrameLocation", unsafe {
            let (method, location) = (&raw mut info.method, &raw mut info.location);
            (self.functions().get_frame_location)(self.0, null_mut(), 0, method, location)
        })?;
        Ok(Frame::of(&info))
    }

    /// Returns the modifiers of a method, as in its class file.
    pub(crate) fn modifiers(&self, method: MethodId) -> Result<jint, Failed> {
        let mut modifiers = 0;
        // SAFETY: the method is from the JVM; the function writes one number.
        checked("GetMethodModifiers", unsafe {
            (self.functions().get_method_modifiers)(self.0, method.0, &raw mut modifiers)
        })?;
        Ok(modifiers)
    }

    /// A text of the JVM, which is given back.
    fn taken(&self, text: *mut c_char) -> CString {
        // SAFETY: the text ends with a zero, and is ours until it is given back.
        let taken = unsafe { CStr::from_ptr(text) }.to_owned();
        // SAFETY: the JVM has allocated it.
        unsafe { (self.functions().deallocate)(self.0, text.cast()) };
        taken
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
        let mut potential = Capabilities::default();
        // SAFETY: the function fills the structure.
        let result = unsafe { (self.functions().get_potential_capabilities)(self.0, &raw mut potential) };
        checked("GetPotentialCapabilities", result)?;
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
        let result = unsafe {
            (self.functions().set_event_callbacks)(self.0, callbacks, size_of::<Callbacks>() as jint)
        };
        checked("SetEventCallbacks", result)
    }

    /// Switches an event on or off, for all threads.
    pub(crate) fn notify(&self, event: jint, on: bool) -> Result<(), Failed> {
        let mode = if on { ENABLE } else { DISABLE };
        // SAFETY: null stands for all threads.
        let result =
            unsafe { (self.functions().set_event_notification_mode)(self.0, mode, event, null_mut()) };
        checked("SetEventNotificationMode", result)
    }

    /// Copies bytes into memory that the JVM frees. `None` if the JVM is out of memory.
    pub(crate) fn allocated(&self, bytes: &[u8]) -> Option<*mut c_uchar> {
        let mut memory = null_mut();
        // SAFETY: the function writes one pointer.
        let result = unsafe { (self.functions().allocate)(self.0, bytes.len() as jlong, &raw mut memory) };
        if result != NONE || memory.is_null() {
            return None;
        }
        // SAFETY: the memory is fresh and has room for as many bytes.
        unsafe { memory.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Some(memory)
    }

    /// A system property of the JVM; `None` if it is not set.
    pub(crate) fn property(&self, name: &CStr) -> Option<OsString> {
        let mut text = null_mut();
        // SAFETY: the function reads the name and writes one pointer.
        let result = unsafe { (self.functions().get_system_property)(self.0, name.as_ptr(), &raw mut text) };
        if result != NONE || text.is_null() {
            return None;
        }
        Some(OsString::from_vec(self.taken(text).into_bytes()))
    }

    /// The loader of a class as a local reference; null for the boot loader.
    pub(crate) fn loader(&self, class: jclass) -> Result<jobject, Failed> {
        let mut loader = null_mut();
        // SAFETY: the caller has the class from the JVM; the function writes one reference.
        checked("GetClassLoader", unsafe {
            (self.functions().get_class_loader)(self.0, class, &raw mut loader)
        })?;
        Ok(loader)
    }

    /// The internal name of a class, such as `com/example/Main`; `None` for an array or a primitive type.
    pub(crate) fn class_name(&self, class: jclass) -> Option<String> {
        Some(self.signature(class)?.strip_prefix('L')?.strip_suffix(';')?.to_owned())
    }

    /// Returns the signature of a class, such as `Lcom/example/Main;` or `[I`.
    pub(crate) fn signature(&self, class: jclass) -> Option<String> {
        let mut text = null_mut();
        // SAFETY: the function writes one pointer; the second may be null.
        let result =
            unsafe { (self.functions().get_class_signature)(self.0, class, &raw mut text, null_mut()) };
        checked("GetClassSignature", result).ok()?;
        Some(self.taken(text).to_string_lossy().into_owned())
    }

    /// The tag of an object, 0 without one. Tags of other agents are not seen. Loaders, code sources, classes and threads have
    /// tags; the modules that set them know what they mean.
    pub(crate) fn tag(&self, object: jobject) -> jlong {
        let mut tag = 0;
        // SAFETY: the caller has the object from the JVM; the function writes one number.
        unsafe { (self.functions().get_tag)(self.0, object, &raw mut tag) };
        tag
    }

    /// Tags an object.
    pub(crate) fn set_tag(&self, object: jobject, tag: jlong) {
        // SAFETY: the caller has the object from the JVM. Out of memory, the tag stays as it was.
        unsafe { (self.functions().set_tag)(self.0, object, tag) };
    }

    /// The status of a class: bits of [`jvmti::class_status`].
    pub(crate) fn status(&self, class: jclass) -> jint {
        let mut status = 0;
        // SAFETY: the caller has the class from the JVM; the function writes one number.
        unsafe { (self.functions().get_class_status)(self.0, class, &raw mut status) };
        status
    }

    /// Whether the JVM lets a class be redefined.
    pub(crate) fn is_modifiable(&self, class: jclass) -> bool {
        let mut is_modifiable = 0;
        // SAFETY: as above.
        unsafe { (self.functions().is_modifiable_class)(self.0, class, &raw mut is_modifiable) };
        is_modifiable != 0
    }

    /// All loaded classes, as local references.
    pub(crate) fn loaded_classes(&self) -> Result<Vec<jclass>, Failed> {
        let (mut count, mut classes) = (0, null_mut());
        // SAFETY: the function writes a number and a pointer.
        let result =
            unsafe { (self.functions().get_loaded_classes)(self.0, &raw mut count, &raw mut classes) };
        checked("GetLoadedClasses", result)?;
        // SAFETY: as the function has answered.
        Ok(unsafe { self.references(classes, count) })
    }

    /// The objects that have one of these tags, as local references.
    pub(crate) fn tagged(&self, tags: &[jlong]) -> Result<Vec<jobject>, Failed> {
        let (mut count, mut objects) = (0, null_mut());
        // SAFETY: the function reads the given number of tags, and writes a number and a pointer; it writes no tags to null.
        checked("GetObjectsWithTags", unsafe {
            (self.functions().get_objects_with_tags)(
                self.0,
                tags.len() as jint,
                tags.as_ptr(),
                &raw mut count,
                &raw mut objects,
                null_mut(),
            )
        })?;
        // SAFETY: as the function has answered.
        Ok(unsafe { self.references(objects, count) })
    }

    /// References in memory of the JVM, which is given back.
    ///
    /// # Safety
    /// The JVM must have allocated `first` and filled `count` references, or it must be null.
    unsafe fn references(&self, first: *mut jobject, count: jint) -> Vec<jobject> {
        if first.is_null() {
            return Vec::new();
        }
        // SAFETY: the caller's promise; the memory is ours until it is given back.
        let all = unsafe { std::slice::from_raw_parts(first, usize::try_from(count).unwrap_or(0)) }.to_vec();
        // SAFETY: the JVM has allocated it.
        unsafe { (self.functions().deallocate)(self.0, first.cast()) };
        all
    }

    /// Has the JVM ask for the bytes of these classes again, and replace their methods.
    pub(crate) fn retransform(&self, classes: &[jclass]) -> Result<(), Failed> {
        let first = if classes.is_empty() { null() } else { classes.as_ptr() };
        // SAFETY: the function reads the given number of references.
        let result = unsafe { (self.functions().retransform_classes)(self.0, classes.len() as jint, first) };
        checked("RetransformClasses", result)
    }
}
