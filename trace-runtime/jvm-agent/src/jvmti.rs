//! JVM TI, as far as the agent needs it: numbers and shapes of the specification "JVM Tool Interface", which are the
//! same since version 1.2 (Java 6).
//!
//! The function table has a slot for each function. The specification's list "Function Table" numbers them from 1; slot
//! `n` is at index `n - 1`. All numbers here are from that list and from the list "Event Index".

use std::ffi::{c_char, c_uchar, c_void};

use jni::sys::{JNIEnv, jboolean, jclass, jint, jlong, jmethodID, jobject};

/// A `java.lang.Thread`.
#[allow(non_camel_case_types, reason = "as in jni::sys")]
pub(crate) type jthread = jobject;

/// The version that is asked of `GetEnv`: 1.2, with which every later JVM answers ("Retrieving the JVM TI Environment").
pub(crate) const VERSION_1_2: jint = 0x3001_0200;

/// `JNI_VERSION_1_6`.
pub(crate) const VERSION_JNI_1_6: jint = 0x0001_0006;

/// `JVMTI_ERROR_NONE`.
pub(crate) const NONE: jint = 0;

/// `JVMTI_ENABLE` of `SetEventNotificationMode`.
pub(crate) const ENABLE: jint = 1;
/// `JVMTI_DISABLE`.
pub(crate) const DISABLE: jint = 0;

/// Events by their numbers.
pub(crate) mod event {
    use super::jint;

    pub(crate) const VM_INIT: jint = 50;
    pub(crate) const VM_DEATH: jint = 51;
    pub(crate) const CLASS_FILE_LOAD_HOOK: jint = 54;
    pub(crate) const CLASS_PREPARE: jint = 56;
    pub(crate) const MONITOR_CONTENDED_ENTER: jint = 75;
    pub(crate) const MONITOR_CONTENDED_ENTERED: jint = 76;
    pub(crate) const GARBAGE_COLLECTION_START: jint = 81;
    pub(crate) const GARBAGE_COLLECTION_FINISH: jint = 82;
}

/// A function with other parameters than those that are needed here.
type Unused = *const c_void;

/// A JVM TI environment: a pointer to its function table.
pub(crate) type Env = *const Functions;

/// The function table up to slot 152.
#[repr(C)]
pub(crate) struct Functions {
    slots_1: [Unused; 1],
    /// Slot 2. The function is variadic; no further arguments are defined.
    pub(crate) set_event_notification_mode: unsafe extern "C" fn(*mut Env, jint, jint, jthread, ...) -> jint,
    slots_3_to_8: [Unused; 6],
    /// Slot 9.
    pub(crate) get_thread_info: unsafe extern "system" fn(*mut Env, jthread, *mut ThreadInfo) -> jint,
    slots_10: [Unused; 1],
    /// Slot 11.
    pub(crate) get_current_contended_monitor:
        unsafe extern "system" fn(*mut Env, jthread, *mut jobject) -> jint,
    /// Slot 12.
    pub(crate) run_agent_thread:
        unsafe extern "system" fn(*mut Env, jthread, StartFunction, *const c_void, jint) -> jint,
    /// Slot 13.
    pub(crate) get_top_thread_groups:
        unsafe extern "system" fn(*mut Env, *mut jint, *mut *mut jobject) -> jint,
    slots_14_to_17: [Unused; 4],
    /// Slot 18.
    pub(crate) get_current_thread: unsafe extern "system" fn(*mut Env, *mut jthread) -> jint,
    /// Slot 19.
    pub(crate) get_frame_location:
        unsafe extern "system" fn(*mut Env, jthread, jint, *mut jmethodID, *mut jlong) -> jint,
    slots_20_to_30: [Unused; 11],
    /// Slot 31.
    pub(crate) create_raw_monitor:
        unsafe extern "system" fn(*mut Env, *const c_char, *mut RawMonitor) -> jint,
    slots_32: [Unused; 1],
    /// Slot 33.
    pub(crate) raw_monitor_enter: unsafe extern "system" fn(*mut Env, RawMonitor) -> jint,
    /// Slot 34.
    pub(crate) raw_monitor_exit: unsafe extern "system" fn(*mut Env, RawMonitor) -> jint,
    /// Slot 35.
    pub(crate) raw_monitor_wait: unsafe extern "system" fn(*mut Env, RawMonitor, jlong) -> jint,
    slots_36_to_44: [Unused; 9],
    /// Slot 45.
    pub(crate) is_modifiable_class: unsafe extern "system" fn(*mut Env, jclass, *mut u8) -> jint,
    /// Slot 46.
    pub(crate) allocate: unsafe extern "system" fn(*mut Env, jlong, *mut *mut c_uchar) -> jint,
    /// Slot 47.
    pub(crate) deallocate: unsafe extern "system" fn(*mut Env, *mut c_uchar) -> jint,
    /// Slot 48.
    pub(crate) get_class_signature:
        unsafe extern "system" fn(*mut Env, jclass, *mut *mut c_char, *mut *mut c_char) -> jint,
    /// Slot 49.
    pub(crate) get_class_status: unsafe extern "system" fn(*mut Env, jclass, *mut jint) -> jint,
    /// Slot 50.
    pub(crate) get_source_file_name: unsafe extern "system" fn(*mut Env, jclass, *mut *mut c_char) -> jint,
    slots_51_to_56: [Unused; 6],
    /// Slot 57.
    pub(crate) get_class_loader: unsafe extern "system" fn(*mut Env, jclass, *mut jobject) -> jint,
    /// Slot 58.
    pub(crate) get_object_hash_code: unsafe extern "system" fn(*mut Env, jobject, *mut jint) -> jint,
    /// Slot 59.
    pub(crate) get_object_monitor_usage:
        unsafe extern "system" fn(*mut Env, jobject, *mut MonitorUsage) -> jint,
    slots_60_to_63: [Unused; 4],
    /// Slot 64.
    pub(crate) get_method_name: unsafe extern "system" fn(
        *mut Env,
        jmethodID,
        *mut *mut c_char,
        *mut *mut c_char,
        *mut *mut c_char,
    ) -> jint,
    /// Slot 65.
    pub(crate) get_method_declaring_class:
        unsafe extern "system" fn(*mut Env, jmethodID, *mut jclass) -> jint,
    /// Slot 66.
    pub(crate) get_method_modifiers: unsafe extern "system" fn(*mut Env, jmethodID, *mut jint) -> jint,
    slots_67_to_69: [Unused; 3],
    /// Slot 70.
    pub(crate) get_line_number_table:
        unsafe extern "system" fn(*mut Env, jmethodID, *mut jint, *mut *mut LineNumber) -> jint,
    slots_71_to_77: [Unused; 7],
    /// Slot 78.
    pub(crate) get_loaded_classes: unsafe extern "system" fn(*mut Env, *mut jint, *mut *mut jclass) -> jint,
    slots_79_to_99: [Unused; 21],
    /// Slot 100.
    pub(crate) get_all_stack_traces:
        unsafe extern "system" fn(*mut Env, jint, *mut *mut StackInfo, *mut jint) -> jint,
    slots_101_to_103: [Unused; 3],
    /// Slot 104.
    pub(crate) get_stack_trace:
        unsafe extern "system" fn(*mut Env, jthread, jint, jint, *mut Frame, *mut jint) -> jint,
    slots_105: [Unused; 1],
    /// Slot 106.
    pub(crate) get_tag: unsafe extern "system" fn(*mut Env, jobject, *mut jlong) -> jint,
    /// Slot 107.
    pub(crate) set_tag: unsafe extern "system" fn(*mut Env, jobject, jlong) -> jint,
    slots_108_to_113: [Unused; 6],
    /// Slot 114.
    pub(crate) get_objects_with_tags: unsafe extern "system" fn(
        *mut Env,
        jint,
        *const jlong,
        *mut jint,
        *mut *mut jobject,
        *mut *mut jlong,
    ) -> jint,
    slots_115_to_121: [Unused; 7],
    /// Slot 122.
    pub(crate) set_event_callbacks: unsafe extern "system" fn(*mut Env, *const Callbacks, jint) -> jint,
    slots_123_to_130: [Unused; 8],
    /// Slot 131.
    pub(crate) get_system_property:
        unsafe extern "system" fn(*mut Env, *const c_char, *mut *mut c_char) -> jint,
    slots_132_to_136: [Unused; 5],
    /// Slot 137.
    pub(crate) get_thread_cpu_time: unsafe extern "system" fn(*mut Env, jthread, *mut jlong) -> jint,
    slots_138_to_139: [Unused; 2],
    /// Slot 140.
    pub(crate) get_potential_capabilities: unsafe extern "system" fn(*mut Env, *mut Capabilities) -> jint,
    slots_141: [Unused; 1],
    /// Slot 142.
    pub(crate) add_capabilities: unsafe extern "system" fn(*mut Env, *const Capabilities) -> jint,
    slots_143_to_151: [Unused; 9],
    /// Slot 152.
    pub(crate) retransform_classes: unsafe extern "system" fn(*mut Env, jint, *const jclass) -> jint,
}

/// A method's identity, `jmethodID`, which is valid as long as its class is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub(crate) struct MethodId(pub(crate) jmethodID);

// SAFETY: JNI: "method IDs" are no references to objects; any thread may use them.
unsafe impl Send for MethodId {}
// SAFETY: as above.
unsafe impl Sync for MethodId {}

/// `jvmtiFrameInfo`: a frame of Java code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
pub(crate) struct Frame {
    pub(crate) method: MethodId,
    /// The index of the instruction; -1 in a native method.
    pub(crate) location: jlong,
}

/// `jvmtiStackInfo`: the stack of a thread, innermost call first.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct StackInfo {
    pub(crate) thread: jthread,
    /// Bits of [`thread_state`].
    pub(crate) state: jint,
    pub(crate) frames: *const Frame,
    pub(crate) frame_count: jint,
}

/// `jvmtiThreadInfo`.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct ThreadInfo {
    /// To be deallocated.
    pub(crate) name: *mut c_char,
    pub(crate) priority: jint,
    pub(crate) is_daemon: jboolean,
    pub(crate) thread_group: jobject,
    pub(crate) context_class_loader: jobject,
}

/// `jrawMonitorID`.
pub(crate) type RawMonitor = *mut c_void;

/// `jvmtiMonitorUsage`.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct MonitorUsage {
    pub(crate) owner: jthread,
    pub(crate) entry_count: jint,
    pub(crate) waiter_count: jint,
    /// To be deallocated.
    pub(crate) waiters: *mut jthread,
    pub(crate) notify_waiter_count: jint,
    /// To be deallocated.
    pub(crate) notify_waiters: *mut jthread,
}

/// `jvmtiLineNumberEntry`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct LineNumber {
    pub(crate) start_location: jlong,
    pub(crate) line_number: jint,
}

/// The body of a thread of the agent, with the pointer that was given at its start.
pub(crate) type StartFunction =
    unsafe extern "system" fn(jvmti: *mut Env, jni: *mut JNIEnv, argument: *mut c_void);

/// `JVMTI_THREAD_NORM_PRIORITY`.
pub(crate) const NORM_PRIORITY: jint = 5;

/// Bits of `GetThreadState`.
pub(crate) mod thread_state {
    use super::jint;

    /// `JVMTI_THREAD_STATE_TERMINATED`.
    pub(crate) const TERMINATED: jint = 0x2;
    /// `JVMTI_THREAD_STATE_WAITING_WITH_TIMEOUT`.
    pub(crate) const WITH_TIMEOUT: jint = 0x20;
    /// `JVMTI_THREAD_STATE_SLEEPING`.
    pub(crate) const SLEEPING: jint = 0x40;
    /// `JVMTI_THREAD_STATE_WAITING`.
    pub(crate) const WAITING: jint = 0x80;
    /// `JVMTI_THREAD_STATE_IN_OBJECT_WAIT`.
    pub(crate) const IN_OBJECT_WAIT: jint = 0x100;
    /// `JVMTI_THREAD_STATE_PARKED`.
    pub(crate) const PARKED: jint = 0x200;
    /// `JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER`.
    pub(crate) const BLOCKED: jint = 0x400;
    /// `JVMTI_THREAD_STATE_RUNNABLE`.
    pub(crate) const RUNNABLE: jint = 0x4;
}

/// The event `ClassFileLoadHook`.
pub(crate) type ClassFileLoadHook = unsafe extern "system" fn(
    jvmti: *mut Env,
    jni: *mut JNIEnv,
    class_being_redefined: jclass,
    loader: jobject,
    name: *const c_char,
    protection_domain: jobject,
    class_data_len: jint,
    class_data: *const c_uchar,
    new_class_data_len: *mut jint,
    new_class_data: *mut *mut c_uchar,
);

/// The event `VMInit`.
pub(crate) type ThreadEvent = unsafe extern "system" fn(jvmti: *mut Env, jni: *mut JNIEnv, thread: jthread);

/// The event `VMDeath`.
pub(crate) type VmDeath = unsafe extern "system" fn(jvmti: *mut Env, jni: *mut JNIEnv);

/// The event `ClassPrepare`.
pub(crate) type ClassPrepare =
    unsafe extern "system" fn(jvmti: *mut Env, jni: *mut JNIEnv, thread: jthread, class: jclass);

/// The events `MonitorContendedEnter` and `MonitorContendedEntered`.
pub(crate) type MonitorEvent =
    unsafe extern "system" fn(jvmti: *mut Env, jni: *mut JNIEnv, thread: jthread, object: jobject);

/// The events `GarbageCollectionStart` and `GarbageCollectionFinish`. All threads are stopped, so the callback may use neither
/// JNI nor locks.
pub(crate) type Collection = unsafe extern "system" fn(jvmti: *mut Env);

/// The callbacks of events 50 to 82. The JVM takes those beyond as absent, since it gets the size.
#[derive(Default)]
#[repr(C)]
pub(crate) struct Callbacks {
    /// Event 50.
    pub(crate) vm_init: Option<ThreadEvent>,
    /// Event 51.
    pub(crate) vm_death: Option<VmDeath>,
    /// Events 52 and 53.
    pub(crate) unused_52_to_53: [Option<unsafe extern "system" fn()>; 2],
    /// Event 54.
    pub(crate) class_file_load_hook: Option<ClassFileLoadHook>,
    /// Event 55.
    pub(crate) unused_55: Option<unsafe extern "system" fn()>,
    /// Event 56.
    pub(crate) class_prepare: Option<ClassPrepare>,
    /// Events 57 to 74.
    pub(crate) unused_57_to_74: [Option<unsafe extern "system" fn()>; 18],
    /// Event 75.
    pub(crate) monitor_contended_enter: Option<MonitorEvent>,
    /// Event 76.
    pub(crate) monitor_contended_entered: Option<MonitorEvent>,
    /// Events 77 to 80.
    pub(crate) unused_77_to_80: [Option<unsafe extern "system" fn()>; 4],
    /// Event 81.
    pub(crate) garbage_collection_start: Option<Collection>,
    /// Event 82.
    pub(crate) garbage_collection_finish: Option<Collection>,
}

const _: () =
    assert!(core::mem::offset_of!(Callbacks, garbage_collection_finish) == (82 - 50) * size_of::<usize>());

/// Bits of `GetClassStatus`.
pub(crate) mod class_status {
    use super::jint;

    /// `JVMTI_CLASS_STATUS_PREPARED`: the class is linked, and can be redefined.
    pub(crate) const PREPARED: jint = 2;
    /// `JVMTI_CLASS_STATUS_ERROR`.
    pub(crate) const ERROR: jint = 8;
    /// `JVMTI_CLASS_STATUS_ARRAY`.
    pub(crate) const ARRAY: jint = 16;
    /// `JVMTI_CLASS_STATUS_PRIMITIVE`.
    pub(crate) const PRIMITIVE: jint = 32;
}

/// What an agent may do. The specification declares single bits in this order, and compilers for little-endian machines,
/// the only ones that we build for, fill words from the lowest bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Capabilities([u32; 4]);

/// Capabilities by their position in `jvmtiCapabilities`.
pub(crate) mod capability {
    /// `can_tag_objects`.
    pub(crate) const TAG_OBJECTS: usize = 0;
    /// `can_get_current_contended_monitor`.
    pub(crate) const CURRENT_CONTENDED_MONITOR: usize = 6;
    /// `can_get_monitor_info`.
    pub(crate) const MONITOR_INFO: usize = 7;
    /// `can_get_source_file_name`.
    pub(crate) const SOURCE_FILE_NAME: usize = 11;
    /// `can_get_line_numbers`.
    pub(crate) const LINE_NUMBERS: usize = 12;
    /// `can_get_thread_cpu_time`.
    pub(crate) const THREAD_CPU_TIME: usize = 23;
    /// `can_generate_all_class_hook_events`.
    pub(crate) const ALL_CLASS_HOOK_EVENTS: usize = 26;
    /// `can_generate_monitor_events`.
    pub(crate) const MONITOR_EVENTS: usize = 28;
    /// `can_generate_garbage_collection_events`.
    pub(crate) const GARBAGE_COLLECTION_EVENTS: usize = 31;
    /// `can_retransform_classes`.
    pub(crate) const RETRANSFORM_CLASSES: usize = 37;
}

impl Capabilities {
    /// The capabilities with these positions.
    pub(crate) fn of(positions: &[usize]) -> Self {
        let mut all = Self::default();
        for position in positions {
            all.0[position / 32] |= 1 << (position % 32);
        }
        all
    }

    /// Whether all of `wanted` are among these.
    pub(crate) fn has(&self, wanted: &Self) -> bool {
        self.0.iter().zip(wanted.0).all(|(have, wanted)| have & wanted == wanted)
    }
}

#[cfg(test)]
mod tests {
    use core::mem::offset_of;

    use super::*;

    #[test]
    fn capabilities_are_bits_from_the_lowest() {
        let all = Capabilities::of(&[capability::TAG_OBJECTS, capability::RETRANSFORM_CLASSES]);
        assert_eq!(all.0, [1, 1 << 5, 0, 0]);
        assert!(all.has(&Capabilities::of(&[0])) && !all.has(&Capabilities::of(&[0, 26])));
    }

    #[test]
    fn functions_are_at_the_slots_of_the_specification() {
        // Numbered from 1.
        macro_rules! at {
            ($($name:ident $number:literal)*) => {
                $(assert_eq!(offset_of!(Functions, $name), ($number - 1) * size_of::<*const c_void>(), stringify!($name));)*
            };
        }
        at! {
            set_event_notification_mode 2
            get_thread_info 9
            get_current_contended_monitor 11
            run_agent_thread 12
            get_top_thread_groups 13
            get_current_thread 18
            get_frame_location 19
            create_raw_monitor 31
            raw_monitor_enter 33
            raw_monitor_exit 34
            raw_monitor_wait 35
            is_modifiable_class 45
            get_source_file_name 50
            get_object_hash_code 58
            get_object_monitor_usage 59
            get_method_modifiers 66
            get_line_number_table 70
            get_thread_cpu_time 137
            allocate 46
            get_class_status 49
            get_loaded_classes 78
            get_class_loader 57
            get_method_name 64
            get_all_stack_traces 100
            get_stack_trace 104
            get_tag 106
            get_objects_with_tags 114
            set_event_callbacks 122
            get_system_property 131
            get_potential_capabilities 140
            add_capabilities 142
            retransform_classes 152
        }
    }
}
