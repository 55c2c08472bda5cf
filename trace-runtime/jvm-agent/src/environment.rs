//! The JVM TI environment of the agent, with results in place of error numbers.

use std::ffi::{CStr, CString, OsString, c_char, c_uchar};
use std::fmt;
use std::os::unix::ffi::OsStringExt as _;
use std::ptr::{null, null_mut};

use jni::sys::{JavaVM, jclass, jint, jlong, jmethodID, jobject};

use crate::jvmti::{self, Callbacks, Capabilities, DISABLE, ENABLE, Env, NONE, VERSION_1_2, thread_state};

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

/// A thread that runs Java code.
#[derive(Debug)]
pub(crate) struct Running {
    /// A local reference.
    pub(crate) thread: jobject,
    /// What it is in, outermost call first.
    pub(crate) methods: Vec<MethodId>,
}

/// Deeper stacks are not read.
const MOST_FRAMES: jint = 1024;

impl Environment {
    /// The threads that run Java code now. Stops all of them for a moment. Creates a local reference for every thread.
    pub(crate) fn running(&self) -> Result<Vec<Running>, Failed> {
        let (mut first, mut count) = (null_mut(), 0);
        // SAFETY: the function writes a pointer and a number.
        checked("GetAllStackTraces", unsafe {
            (self.functions().get_all_stack_traces)(self.0, MOST_FRAMES, &raw mut first, &raw mut count)
        })?;
        let count = usize::try_from(count).unwrap_or(0);
        if first.is_null() {
            return Ok(Vec::new());
        }
        // SAFETY: it is not null, and the JVM has filled that many, which are ours until they are given back.
        let stacks = unsafe { std::slice::from_raw_parts(first, count) };
        let is_running = |stack: &&jvmti::StackInfo| {
            let state = stack.state & (thread_state::RUNNABLE | thread_state::IN_NATIVE);
            state == thread_state::RUNNABLE && (1..MOST_FRAMES).contains(&stack.frame_count)
        };
        let running = stacks.iter().filter(is_running).map(|stack| {
            let count = usize::try_from(stack.frame_count).unwrap_or(0);
            // SAFETY: as above; the frames are part of the same memory.
            let frames = unsafe { std::slice::from_raw_parts(stack.frames, count) };
            let methods = frames.iter().rev().map(|frame| MethodId(frame.method)).collect();
            Running { thread: stack.thread, methods }
        });
        let running = running.collect();
        // SAFETY: the JVM has allocated it.
        unsafe { (self.functions().deallocate)(self.0, first.cast()) };
        Ok(running)
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
        let mut text = null_mut();
        // SAFETY: the method is from the JVM; the function writes one pointer, and the others may be null.
        checked("GetMethodName", unsafe {
            (self.functions().get_method_name)(self.0, method.0, &raw mut text, null_mut(), null_mut())
        })?;
        Ok(self.taken(text).to_string_lossy().into_owned())
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
        let mut text = null_mut();
        // SAFETY: the function writes one pointer; the second may be null.
        let result =
            unsafe { (self.functions().get_class_signature)(self.0, class, &raw mut text, null_mut()) };
        checked("GetClassSignature", result).ok()?;
        let signature = self.taken(text).to_string_lossy().into_owned();
        Some(signature.strip_prefix('L')?.strip_suffix(';')?.to_owned())
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
