//! The classes with a frame of a virtual thread, by name.
//!
//! JVM TI shows virtual threads only to an agent with a capability that makes HotSpot tell JVM TI of each switch of each virtual
//! thread, for the rest of the program (`VirtualThread.notifyJvmtiMount`). So the stacks are read as `jcmd Thread.dump_to_file`
//! does it: from the containers of threads that the JDK keeps (`jdk.internal.vm.ThreadContainers`), each a moment after the
//! other. Runs Java code of the JDK.

use std::collections::HashSet;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use jni::sys::jobject;

use crate::java::{Field, Global, Java};

/// The class of virtual threads; `None` before Java 19.
static CLASS: OnceLock<Option<Global>> = OnceLock::new();

/// Finds the class of virtual threads, for [`is_virtual`].
pub(crate) fn find_class(java: Java) {
    CLASS.get_or_init(|| {
        let _frame = java.frame(16);
        java.class(c"java/lang/BaseVirtualThread").and_then(|class| java.global(class))
    });
}

/// True if a thread is virtual. Runs no Java code.
pub(crate) fn is_virtual(java: Java, thread: jobject) -> bool {
    CLASS.get().copied().flatten().is_some_and(|class| java.is_instance(thread, class.0))
}

/// The time after which no more threads are read. 10,000 of them with 14 frames each took 0.4 s.
const TAKES: Duration = Duration::from_millis(500);

/// Returns the names of classes with a frame of a virtual thread, such as `com/example/Main`; empty before Java 21. Threads
/// that the time does not suffice for are left out.
pub(crate) fn classes_on_stacks(java: Java) -> HashSet<String> {
    let _frame = java.frame(64);
    let mut names = HashSet::new();
    if let Some(reader) = Reader::new(java)
        && let Some(root) =
            java.call_static(reader.containers, c"root", c"()Ljdk/internal/vm/ThreadContainer;", &[])
    {
        reader.read(root, &mut names);
    }
    names
}

struct Reader {
    java: Java,
    containers: jobject,
    virtual_thread: jobject,
    declaring_class: Field,
    until: Instant,
}

impl Reader {
    fn new(java: Java) -> Option<Self> {
        let virtual_thread = java.class(c"java/lang/BaseVirtualThread")?;
        let element = java.class(c"java/lang/StackTraceElement")?;
        Some(Self {
            java,
            containers: java.class(c"jdk/internal/vm/ThreadContainers")?,
            virtual_thread,
            declaring_class: java.field_of(element, c"declaringClass", c"Ljava/lang/String;")?,
            until: Instant::now() + TAKES,
        })
    }

    /// Reads the threads of a container, and of the containers in it.
    fn read(&self, container: jobject, names: &mut HashSet<String>) {
        for thread in self.stream(container, c"threads") {
            if Instant::now() < self.until && self.java.is_instance(thread, self.virtual_thread) {
                self.read_thread(thread, names);
            }
        }
        for inner in self.stream(container, c"children") {
            let _frame = self.java.frame(64);
            self.read(inner, names);
        }
    }

    fn read_thread(&self, thread: jobject, names: &mut HashSet<String>) {
        let java = self.java;
        let _frame = java.frame(64);
        let stack = java.call(thread, c"getStackTrace", c"()[Ljava/lang/StackTraceElement;");
        for element in stack.map(|stack| java.elements(stack)).unwrap_or_default() {
            let name = java.text(java.object_in(element, self.declaring_class));
            names.extend(name.map(|name| name.replace('.', "/")));
        }
    }

    /// The objects of a stream that a container returns, as local references.
    fn stream(&self, container: jobject, name: &std::ffi::CStr) -> Vec<jobject> {
        let java = self.java;
        let stream = java.call(container, name, c"()Ljava/util/stream/Stream;");
        let array = stream.and_then(|stream| java.call(stream, c"toArray", c"()[Ljava/lang/Object;"));
        array.map(|array| java.elements(array)).unwrap_or_default()
    }
}
