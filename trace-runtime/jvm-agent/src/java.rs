//! Calls of Java through JNI, as few as the agent needs. An exception counts as a failure and is cleared.

use std::ffi::CStr;
use std::ptr::null_mut;

use jni::sys::{
    JNI_OK, JNIEnv, JNINativeMethod, JavaVM, jclass, jfieldID, jlong, jmethodID, jobject, jvalue,
};
use trace_runtime::NativeMethod;

/// The calling thread's JNI environment, for the duration of an event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Java(*mut JNIEnv);

/// -Xcheck:jni of HotSpot counts on 32 references, and ignores an announcement of fewer (jniCheck.cpp): it then forgets the
/// references of the frames around, which it counts all the same.
const LEAST_ROOM: i32 = 33;

/// Calls a function of the JNI table that exists since JNI 1.2.
macro_rules! call {
    ($java:expr, $version:ident . $function:ident ( $($argument:expr),* )) => {
        // SAFETY: the environment is the calling thread's and valid during the event, and every argument comes from the
        // JVM or is a text that ends with a zero.
        unsafe { ((**$java.0).$version.$function)($java.0, $($argument),*) }
    };
}

impl Java {
    /// # Safety
    /// `env` must be the environment that the JVM has passed to the event on this thread, and the result must not be used
    /// after the event.
    pub(crate) unsafe fn new(env: *mut JNIEnv) -> Option<Self> {
        (!env.is_null()).then_some(Self(env))
    }

    /// True if an exception of the program is pending: then JNI allows few calls.
    pub(crate) fn is_throwing(self) -> bool {
        call!(self, v1_2.ExceptionCheck())
    }

    /// Clears a pending exception; returns whether there was one.
    fn failed(self) -> bool {
        let pending = self.is_throwing();
        if pending {
            call!(self, v1_2.ExceptionClear());
        }
        pending
    }

    /// `result`, an object or the id of a method or field, if it is not null and there is no exception.
    fn found<T>(self, result: *mut T) -> Option<*mut T> {
        (!self.failed() && !result.is_null()).then_some(result)
    }

    /// A class that the system's class loader finds, by its internal name.
    pub(crate) fn class(self, name: &CStr) -> Option<jclass> {
        self.found(call!(self, v1_2.FindClass(name.as_ptr())))
    }

    /// The class of an object.
    pub(crate) fn class_of(self, object: jobject) -> jclass {
        call!(self, v1_2.GetObjectClass(object))
    }

    /// Defines a class in the boot loader.
    pub(crate) fn define(self, name: &CStr, bytes: &[u8]) -> Option<jclass> {
        let length = bytes.len() as i32;
        self.found(call!(self, v1_2.DefineClass(name.as_ptr(), null_mut(), bytes.as_ptr().cast(), length)))
    }

    /// Registers the native methods of a class.
    pub(crate) fn register(self, class: jclass, methods: &[NativeMethod]) -> bool {
        let methods: Vec<JNINativeMethod> = methods
            .iter()
            .map(|method| JNINativeMethod {
                name: method.name.as_ptr().cast_mut(),
                signature: method.descriptor.as_ptr().cast_mut(),
                fnPtr: method.function.cast_mut().cast(),
            })
            .collect();
        let result = call!(self, v1_2.RegisterNatives(class, methods.as_ptr(), methods.len() as i32));
        !self.failed() && result == JNI_OK
    }

    /// A method of a class, declared or inherited.
    pub(crate) fn method(self, class: jclass, name: &CStr, descriptor: &CStr) -> Option<jmethodID> {
        self.found(call!(self, v1_2.GetMethodID(class, name.as_ptr(), descriptor.as_ptr())))
    }

    /// A static method of a class.
    pub(crate) fn static_method(self, class: jclass, name: &CStr, descriptor: &CStr) -> Option<jmethodID> {
        self.found(call!(self, v1_2.GetStaticMethodID(class, name.as_ptr(), descriptor.as_ptr())))
    }

    /// Calls a static method that returns an object.
    pub(crate) fn call_static(
        self,
        class: jclass,
        name: &CStr,
        descriptor: &CStr,
        arguments: &[jvalue],
    ) -> Option<jobject> {
        let method = self.static_method(class, name, descriptor)?;
        self.call_static_method(class, method, arguments)
    }

    /// Calls a static method of this class that returns an object.
    pub(crate) fn call_static_method(
        self,
        class: jclass,
        method: jmethodID,
        arguments: &[jvalue],
    ) -> Option<jobject> {
        self.found(call!(self, v1_2.CallStaticObjectMethodA(class, method, arguments.as_ptr())))
    }

    /// Calls a static method without parameters that returns a boolean; `None` if it throws.
    pub(crate) fn call_static_boolean(self, class: jclass, name: &CStr) -> Option<bool> {
        let method = self.static_method(class, name, c"()Z")?;
        let result = call!(self, v1_2.CallStaticBooleanMethodA(class, method, [].as_ptr()));
        (!self.failed()).then_some(result)
    }

    /// Calls a method without parameters that returns an object.
    pub(crate) fn call(self, object: jobject, name: &CStr, descriptor: &CStr) -> Option<jobject> {
        let method = self.method(self.class_of(object), name, descriptor)?;
        self.found(call!(self, v1_2.CallObjectMethodA(object, method, [].as_ptr())))
    }

    /// The value of a field with an object.
    pub(crate) fn field(self, object: jobject, name: &CStr, descriptor: &CStr) -> Option<jobject> {
        let field = self.field_of(self.class_of(object), name, descriptor)?;
        Some(self.object_in(object, field))
    }

    /// Finds a field of a class, declared or inherited.
    pub(crate) fn field_of(self, class: jclass, name: &CStr, descriptor: &CStr) -> Option<Field> {
        self.found(call!(self, v1_2.GetFieldID(class, name.as_ptr(), descriptor.as_ptr()))).map(Field)
    }

    /// The value of this field with an object, as a local reference.
    pub(crate) fn object_in(self, object: jobject, field: Field) -> jobject {
        call!(self, v1_2.GetObjectField(object, field.0))
    }

    /// The value of this field with a long number.
    pub(crate) fn long_in(self, object: jobject, field: Field) -> jlong {
        call!(self, v1_2.GetLongField(object, field.0))
    }

    /// The elements of an array of objects, as local references.
    pub(crate) fn elements(self, array: jobject) -> Vec<jobject> {
        let length = call!(self, v1_2.GetArrayLength(array));
        self.reserve_above(usize::try_from(length).unwrap_or(0));
        (0..length).map(|index| call!(self, v1_2.GetObjectArrayElement(array, index))).collect()
    }

    /// True if an object is one of this class or of a subclass.
    pub(crate) fn is_instance(self, object: jobject, class: jclass) -> bool {
        call!(self, v1_2.IsInstanceOf(object, class))
    }

    /// Creates an object with this constructor's descriptor. Runs Java code.
    pub(crate) fn create(self, class: jclass, descriptor: &CStr, arguments: &[jvalue]) -> Option<jobject> {
        let constructor = self.method(class, c"<init>", descriptor)?;
        self.found(call!(self, v1_2.NewObjectA(class, constructor, arguments.as_ptr())))
    }

    fn static_field_id(self, class: jclass, name: &CStr, descriptor: &CStr) -> Option<jfieldID> {
        self.found(call!(self, v1_2.GetStaticFieldID(class, name.as_ptr(), descriptor.as_ptr())))
    }

    /// The value of a static field with an object.
    pub(crate) fn static_field(self, class: jclass, name: &CStr, descriptor: &CStr) -> Option<jobject> {
        let field = self.static_field_id(class, name, descriptor)?;
        self.found(call!(self, v1_2.GetStaticObjectField(class, field)))
    }

    /// Makes a static boolean field true; returns whether there is such a field.
    pub(crate) fn set_static_boolean(self, class: jclass, name: &CStr) -> bool {
        let Some(field) = self.static_field_id(class, name, c"Z") else { return false };
        call!(self, v1_2.SetStaticBooleanField(class, field, true));
        !self.failed()
    }

    /// The characters of a Java string.
    pub(crate) fn text(self, string: jobject) -> Option<String> {
        if string.is_null() {
            return None;
        }
        let length = call!(self, v1_2.GetStringLength(string));
        let mut units = vec![0; usize::try_from(length).ok()?];
        call!(self, v1_2.GetStringRegion(string, 0, length, units.as_mut_ptr()));
        (!self.failed()).then(|| String::from_utf16_lossy(&units))
    }

    /// Creates a Java string.
    pub(crate) fn string(self, text: &str) -> Option<jobject> {
        let units: Vec<u16> = text.encode_utf16().collect();
        let length = i32::try_from(units.len()).ok()?;
        self.found(call!(self, v1_2.NewString(units.as_ptr(), length)))
    }

    /// Whether two references are to the same object.
    pub(crate) fn is_same(self, one: jobject, other: jobject) -> bool {
        call!(self, v1_2.IsSameObject(one, other))
    }

    /// Makes room for this many local references in addition to those that there are. A failure is no fault: the JVM may have
    /// room all the same.
    ///
    /// Each event that uses JNI begins with it. Under -Xcheck:jni, HotSpot counts the references of the frames around the event
    /// as well, and would report them at the event's first call.
    pub(crate) fn reserve(self, references: i32) {
        call!(self, v1_2.EnsureLocalCapacity(references.max(LEAST_ROOM)));
        self.failed();
    }

    /// Makes room for more local references after a function of JVM TI has created so many in this frame: -Xcheck:jni counts
    /// them at the next call of JNI.
    pub(crate) fn reserve_above(self, references: usize) {
        self.reserve(i32::try_from(references).unwrap_or(i32::MAX).saturating_add(64));
    }

    /// Begins a frame with room for this many local references, all of which are given back when the result is dropped.
    pub(crate) fn frame(self, references: i32) -> Frame {
        let is_pushed = call!(self, v1_2.PushLocalFrame(references.max(LEAST_ROOM))) == JNI_OK;
        self.failed();
        Frame { java: self, is_pushed }
    }

    /// The JVM.
    pub(crate) fn vm(self) -> Option<Vm> {
        let mut vm = null_mut();
        (call!(self, v1_2.GetJavaVM(&raw mut vm)) == JNI_OK).then_some(Vm(vm))
    }

    /// Gives a global reference back, which is not used any more.
    pub(crate) fn forget_global(self, object: Global) {
        call!(self, v1_2.DeleteGlobalRef(object.0));
    }

    /// A reference that lasts beyond the event.
    pub(crate) fn global(self, object: jobject) -> Option<Global> {
        let global = call!(self, v1_2.NewGlobalRef(object));
        (!global.is_null()).then_some(Global(global))
    }
}

/// A frame of local references: see [`Java::frame`].
#[must_use = "the references are given back when it is dropped"]
#[derive(Debug)]
pub(crate) struct Frame {
    java: Java,
    /// False if the JVM was out of memory. Then the references last as long as those around the frame.
    is_pushed: bool,
}

impl Drop for Frame {
    fn drop(&mut self) {
        if self.is_pushed {
            call!(self.java, v1_2.PopLocalFrame(null_mut()));
        }
    }
}

/// A field that is not static. It is valid as long as its class is loaded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field(jfieldID);

// SAFETY: JNI: field ids are no references to objects; any thread may use them.
unsafe impl Send for Field {}
// SAFETY: as above.
unsafe impl Sync for Field {}

/// A reference that is valid until it is given back, which few are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Global(pub(crate) jobject);

// SAFETY: a global reference is valid on every thread (JNI specification, "Global and Local References").
unsafe impl Send for Global {}
// SAFETY: as above.
unsafe impl Sync for Global {}

/// The JVM of this process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vm(*mut JavaVM);

// SAFETY: a JVM's invocation interface may be used on every thread (JNI specification, "The Invocation API").
unsafe impl Send for Vm {}

impl Vm {
    /// # Safety
    /// `vm` must be the JVM that has called the agent.
    pub(crate) unsafe fn new(vm: *mut JavaVM) -> Self {
        Self(vm)
    }

    /// Its table of functions, which is valid until the JVM ends.
    pub(crate) fn table(self) -> *mut JavaVM {
        self.0
    }
}
