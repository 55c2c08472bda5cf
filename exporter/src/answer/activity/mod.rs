//! What a thread does, read from its stack: the first table row that matches one of the frames between the
//! innermost one and the app's own code.
//!
//! Frames further out only called the app. The order of the rows is the precedence: what was requested
//! (`QueuedWork.waitToFinish`) is more specific than how it waits (`CountDownLatch.await`, which parks).

use super::id::CauseId;
use super::own::{is_own, is_own_library};

/// A frame of a stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FrameView<'a> {
    /// Java or Kotlin code.
    Java {
        /// The class with its package.
        class: &'a str,
        /// The method's name.
        method: &'a str,
        /// Whether it is implemented in native code.
        native: bool,
    },
    /// Native code.
    Native {
        /// The function; empty if unknown.
        symbol: &'a str,
        /// The mapped file, with its path.
        library: &'a str,
    },
    /// A function of the kernel.
    Kernel(&'a str),
}

impl<'a> FrameView<'a> {
    /// Reads `a.b.C.d(C.java:7)`, as Java's `StackTraceElement` writes it; a recorded method's name has no parenthesis.
    pub(crate) fn java(line: &'a str) -> Self {
        let (name, place) = line.split_once('(').unwrap_or((line, ""));
        let (class, method) = parts(name);
        Self::Java { class, method, native: place.starts_with("Native") }
    }
}

/// Class and method of `a.b.C.d`.
pub(crate) fn parts(name: &str) -> (&str, &str) {
    name.rsplit_once('.').unwrap_or(("", name))
}

/// What a thread does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) enum Activity {
    /// One of the causes.
    Of(CauseId),
    /// A thread of a binder pool that waits for a call.
    BinderPool,
    /// Running Java code.
    Java,
    /// State and stack do not show it.
    Unclear,
}

impl Activity {
    /// In words, for a lock's owner.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Of(cause) => cause.name(),
            Self::BinderPool => "waiting for binder calls",
            Self::Java => "running",
            Self::Unclear => "unclear",
        }
    }
}

/// Maximum number of frames examined.
const MAX_FRAMES: usize = 128;
/// Number of innermost native frames that show how the thread waits.
const WAITING_FRAMES: usize = 6;

/// Classes and methods of Java that say what a thread does: the class's start, the method's start. Names of AOSP's libcore and
/// frameworks/base (Android 5 to 16), androidx.sqlite, Dalvik, OpenJDK 8 to 25 and kotlinx-coroutines 1.x.
const JAVA_METHODS: &[(CauseId, &[(&str, &str)])] = {
    use CauseId as C;
    &[
        (
            C::SharedPreferences,
            &[
                ("android.app.QueuedWork", "waitToFinish"),
                ("android.app.QueuedWork", "processPendingWork"),
                ("android.app.SharedPreferencesImpl", ""),
                ("android.app.ContextImpl$SharedPreferencesImpl", ""),
            ],
        ),
        (
            C::SqlitePool,
            &[
                ("android.database.sqlite.SQLiteConnectionPool", "waitForConnection"),
                ("androidx.room.coroutines.ConnectionPoolImpl", "acquire"),
            ],
        ),
        (
            C::Sqlite,
            &[
                ("android.database.sqlite.", ""),
                ("androidx.sqlite.", ""),
                ("net.sqlcipher.", ""),
                ("net.zetetic.database.sqlcipher.", ""),
                ("io.requery.android.database.sqlite.", ""),
                ("org.sqlite.", ""),
            ],
        ),
        (
            C::WebView,
            &[
                ("android.webkit.", ""),
                ("com.android.webview.chromium.", ""),
                ("WebViewChromium", ""),
                ("J.N", ""),
                ("org.chromium.", ""),
            ],
        ),
        (
            C::RunBlocking,
            &[("kotlinx.coroutines.BlockingCoroutine", ""), ("kotlinx.coroutines.BuildersKt", "runBlocking")],
        ),
        (
            C::FutureWait,
            &[
                ("java.util.concurrent.FutureTask", ""),
                ("java.util.concurrent.CompletableFuture", ""),
                ("java.util.concurrent.ForkJoinTask", ""),
                ("java.util.concurrent.CountDownLatch", "await"),
                ("java.util.concurrent.CyclicBarrier", "await"),
                ("java.util.concurrent.CyclicBarrier", "dowait"),
                ("java.util.concurrent.Phaser", ""),
                ("java.util.concurrent.Exchanger", ""),
                ("java.util.concurrent.ExecutorCompletionService", ""),
                ("java.util.concurrent.ThreadPoolExecutor", "awaitTermination"),
                ("java.util.concurrent.AbstractExecutorService", "invoke"),
                ("java.util.concurrent.ForkJoinPool", "awaitTermination"),
                ("java.util.concurrent.ArrayBlockingQueue", ""),
                ("java.util.concurrent.LinkedBlockingQueue", ""),
                ("java.util.concurrent.LinkedBlockingDeque", ""),
                ("java.util.concurrent.PriorityBlockingQueue", ""),
                ("java.util.concurrent.DelayQueue", ""),
                ("java.util.concurrent.SynchronousQueue", ""),
                ("java.util.concurrent.LinkedTransferQueue", ""),
                ("java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject", "await"),
                ("com.google.android.gms.tasks.Tasks", "await"),
                ("com.google.common.util.concurrent.", ""),
                ("androidx.concurrent.futures.", ""),
                ("io.reactivex.", "blocking"),
                ("io.reactivex.internal.observers.Blocking", ""),
                ("io.reactivex.rxjava3.internal.observers.Blocking", ""),
                ("android.os.AsyncTask", "get"),
                ("android.os.ConditionVariable", "block"),
            ],
        ),
        (
            C::LockWait,
            &[
                ("java.util.concurrent.locks.ReentrantLock", ""),
                ("java.util.concurrent.locks.ReentrantReadWriteLock", ""),
                ("java.util.concurrent.locks.StampedLock", ""),
                ("java.util.concurrent.Semaphore", "acquire"),
                ("java.util.concurrent.locks.AbstractQueuedSynchronizer", "acquire"),
                ("java.util.concurrent.locks.AbstractQueuedLongSynchronizer", "acquire"),
            ],
        ),
        (C::ThreadJoin, &[("java.lang.Thread", "join")]),
        (
            C::Sleep,
            &[
                ("java.lang.Thread", "sleep"),
                ("java.lang.VMThread", "sleep"),
                ("android.os.SystemClock", "sleep"),
                ("java.util.concurrent.TimeUnit", "sleep"),
            ],
        ),
        (C::ObjectWait, &[("java.lang.Object", "wait")]),
        (C::YieldSpin, &[("java.lang.Thread", "yield"), ("java.lang.Thread", "onSpinWait")]),
        (C::BinderCall, &[("android.os.BinderProxy", "transact"), ("android.os.Binder", "transact")]),
        (
            C::RenderThread,
            &[
                ("android.graphics.HardwareRenderer", "n"),
                ("android.graphics.HardwareRenderer", "syncAndDrawFrame"),
                ("android.view.ThreadedRenderer", "n"),
                ("android.view.GLES20Canvas", ""),
            ],
        ),
        (
            C::NetworkIo,
            &[
                ("java.net.Socket", ""),
                ("java.net.ServerSocket", ""),
                ("java.net.PlainSocketImpl", ""),
                ("java.net.AbstractPlainSocketImpl", ""),
                ("java.net.PlainDatagramSocketImpl", ""),
                ("java.net.DatagramSocket", ""),
                ("java.net.InetAddress", ""),
                ("java.net.Inet", ""),
                ("java.net.AddressCache", ""),
                ("java.net.HttpURLConnection", ""),
                ("libcore.io.", "connect"),
                ("libcore.io.", "recv"),
                ("libcore.io.", "send"),
                ("libcore.io.", "poll"),
                ("libcore.io.", "accept"),
                ("libcore.io.", "getaddrinfo"),
                ("libcore.io.", "android_getaddrinfo"),
                ("libcore.io.IoBridge", "isConnected"),
                ("com.android.org.conscrypt.", ""),
                ("org.conscrypt.", ""),
                ("sun.nio.ch.Net", ""),
                ("sun.nio.ch.Nio", ""),
                ("sun.nio.ch.Socket", ""),
                ("sun.nio.ch.EPoll", ""),
                ("sun.nio.ch.KQueue", ""),
                ("sun.nio.ch.WEPoll", ""),
                ("sun.nio.ch.SelectorImpl", ""),
                ("sun.nio.ch.Datagram", ""),
                ("sun.security.ssl.", ""),
                ("javax.net.ssl.", ""),
            ],
        ),
        (
            C::Fsync,
            &[
                ("java.io.FileDescriptor", "sync"),
                ("libcore.io.", "fsync"),
                ("libcore.io.", "fdatasync"),
                ("android.os.FileUtils", "sync"),
                ("android.system.Os", "fsync"),
                ("android.system.Os", "fdatasync"),
                ("sun.nio.ch.FileChannelImpl", "force"),
                ("sun.nio.ch.FileDispatcherImpl", "force"),
            ],
        ),
        (
            C::ClassLoading,
            &[
                ("dalvik.system.DexFile", ""),
                ("dalvik.system.DexPathList", ""),
                ("dalvik.system.BaseDexClassLoader", ""),
                ("dalvik.system.DelegateLastClassLoader", ""),
                ("java.lang.VMClassLoader", ""),
                ("java.lang.ClassLoader", "loadClass"),
                ("java.lang.ClassLoader", "defineClass"),
                ("java.lang.Class", "classForName"),
                ("java.lang.Class", "forName"),
                ("jdk.internal.loader.", ""),
                ("java.net.URLClassLoader", ""),
            ],
        ),
        (
            C::DiskIo,
            &[
                ("java.io.FileInputStream", "read"),
                ("java.io.FileInputStream", "open"),
                ("java.io.FileInputStream", "skip"),
                ("java.io.FileInputStream", "available"),
                ("java.io.FileOutputStream", ""),
                ("java.io.RandomAccessFile", ""),
                ("java.io.UnixFileSystem", ""),
                ("java.io.WinNTFileSystem", ""),
                ("java.io.FileCleanable", ""),
                ("libcore.io.", "open"),
                ("libcore.io.", "read"),
                ("libcore.io.", "write"),
                ("libcore.io.", "pread"),
                ("libcore.io.", "pwrite"),
                ("libcore.io.", "stat"),
                ("libcore.io.", "lstat"),
                ("libcore.io.", "fstat"),
                ("libcore.io.", "access"),
                ("libcore.io.", "rename"),
                ("libcore.io.", "remove"),
                ("libcore.io.", "unlink"),
                ("libcore.io.", "mkdir"),
                ("libcore.io.", "ftruncate"),
                ("libcore.io.", "sendfile"),
                ("libcore.io.", "realpath"),
                ("libcore.io.", ""),
                ("android.system.Os", ""),
                ("android.content.res.AssetManager", "native"),
                ("java.util.zip.ZipFile", "open"),
                ("sun.nio.ch.FileDispatcherImpl", ""),
                ("sun.nio.ch.UnixFileDispatcherImpl", ""),
                ("sun.nio.ch.FileChannelImpl", ""),
                ("sun.nio.fs.", ""),
            ],
        ),
        (C::BinderCall, &[("android.content.ContentResolver", ""), ("android.content.ContentProvider", "")]),
        (C::NetworkIo, &[("java.net.", "")]),
        // A monitor, a condition or a future that no row above names.
        (
            C::FutureWait,
            &[
                ("java.util.concurrent.locks.LockSupport", "park"),
                ("sun.misc.Unsafe", "park"),
                ("jdk.internal.misc.Unsafe", "park"),
                ("java.lang.Thread", "parkFor"),
            ],
        ),
    ]
};

/// Engines by their classes and libraries.
const ENGINES: &[(&str, &[&str])] = &[
    ("Flutter", &["io.flutter.", "libflutter.so"]),
    ("Unity", &["com.unity3d.", "libunity.so", "libil2cpp.so", "libmonobdwgc", "libmain.so"]),
    (
        "React Native",
        &[
            "com.facebook.react.",
            "com.facebook.jni.",
            "com.facebook.hermes.",
            "com.swmansion.",
            "libreact",
            "libhermes",
            "libjsc.so",
            "libjscexecutor",
            "libfbjni.so",
            "libyoga.so",
            "libfabricjni",
            "libturbomodule",
        ],
    ),
    ("Unreal", &["com.epicgames.", "libUE4.so", "libUnreal.so"]),
    ("Rive", &["app.rive.", "librive"]),
    ("Cocos", &["org.cocos2dx.", "com.cocos.", "libcocos"]),
    ("Godot", &["org.godotengine.", "libgodot"]),
    ("libGDX", &["com.badlogic.gdx.", "libgdx.so"]),
    ("Mono", &["mono.android.", "crc64", "libmonosgen", "libmonodroid", "libxamarin"]),
];

/// The engine that a frame belongs to.
pub(crate) fn engine(frame: FrameView<'_>) -> Option<&'static str> {
    let fits = |sign: &str| match frame {
        FrameView::Java { class, native, .. } => {
            native && !sign.starts_with("lib") && class.starts_with(sign)
        }
        FrameView::Native { library, .. } => {
            sign.starts_with("lib")
                && library.rsplit(['/', '!']).next().is_some_and(|name| name.starts_with(sign))
        }
        FrameView::Kernel(_) => false,
    };
    ENGINES.iter().find(|(_, signs)| signs.iter().any(|sign| fits(sign))).map(|(name, _)| *name)
}

/// Parts of native functions that say what a thread does. AOSP: frameworks/native libs/binder and libs/input,
/// frameworks/base core/jni and libs/hwui, art/runtime (Android 5 to 16).
const NATIVE_FUNCTIONS: &[(CauseId, &[&str])] = {
    use CauseId as C;
    &[
        (
            C::Gc,
            &[
                "WaitForGcToComplete",
                "CollectGarbage",
                "AllocateInternalWithGc",
                "IncrementDisableThreadFlip",
                "art::gc::collector",
            ],
        ),
        (
            C::ClassLoading,
            &["ClassLinker", "MethodVerifier", "ClassVerifier", "art::DexFile", "OatFileManager", "VdexFile"],
        ),
        (
            C::RenderThread,
            &["DrawFrameTask", "uirenderer", "RenderProxy", "eglSwapBuffers", "dequeueBuffer", "glDraw"],
        ),
        (
            C::BinderCall,
            &[
                "IPCThreadState::talkWithDriver",
                "IPCThreadState::waitForResponse",
                "IPCThreadState::transact",
                "BpBinder::transact",
                "IPCThreadState14talkWithDriver",
                "IPCThreadState15waitForResponse",
                "BpBinder8transact",
            ],
        ),
        (C::Input, &["NativeInputEventReceiver", "InputConsumer", "InputChannel::receiveMessage"]),
        (
            C::Vsync,
            &[
                "NativeDisplayEventReceiver",
                "DisplayEventDispatcher",
                "DisplayEventReceiver",
                "dispatchVsync",
            ],
        ),
        (C::Sqlite, &["sqlite3"]),
    ]
};

/// Native functions by their full names: bionic's system calls.
const SYSTEM_CALLS: &[(CauseId, &[&str])] = {
    use CauseId as C;
    &[
        (C::Fsync, &["fsync", "fdatasync", "__fsync", "__fdatasync", "msync"]),
        (
            C::NetworkIo,
            &[
                "connect",
                "__connect",
                "recvfrom",
                "__recvfrom",
                "recvmsg",
                "sendto",
                "__sendto",
                "sendmsg",
                "accept4",
                "getaddrinfo",
                "android_getaddrinfofornet",
                "android_getaddrinfo_proxy",
                "__netdClientDispatch",
            ],
        ),
        (
            C::DiskIo,
            &[
                "read",
                "pread",
                "pread64",
                "readv",
                "__read_chk",
                "write",
                "pwrite",
                "pwrite64",
                "writev",
                "open",
                "openat",
                "__openat",
                "open64",
                "stat",
                "fstat",
                "fstatat",
                "fstatat64",
                "lstat",
                "access",
                "faccessat",
                "rename",
                "renameat",
                "unlink",
                "unlinkat",
                "ftruncate",
                "ftruncate64",
                "fallocate64",
                "getdents64",
                "sendfile64",
            ],
        ),
    ]
};

/// Kernel functions.
const KERNEL_FUNCTIONS: &[(CauseId, &[&str])] = {
    use CauseId as C;
    &[
        (C::Frozen, &["do_freezer_trap", "refrigerator", "get_signal_to_deliver_freezer"]),
        (C::BinderCall, &["binder_thread_read", "binder_ioctl", "binder_wait_for_work"]),
        (
            C::MemoryPressure,
            &[
                "try_to_free_pages",
                "shrink_",
                "throttle_direct_reclaim",
                "__alloc_pages_slowpath",
                "do_swap_page",
                "swap_readpage",
                "zram_",
                "congestion_wait",
                "mem_cgroup_handle_over_high",
            ],
        ),
        (C::Fsync, &["do_fsync", "vfs_fsync", "_sync_file", "filemap_fdatawait", "file_write_and_wait"]),
        (
            C::UninterruptibleIo,
            &[
                "io_schedule",
                "wait_on_page",
                "folio_wait",
                "wait_on_buffer",
                "submit_bio_wait",
                "filemap_fault",
                "jbd2_",
                "f2fs_",
                "ext4_",
                "erofs_",
                "fuse_request",
                "request_wait_answer",
                "dm_",
                "blk_mq_",
                "rwsem_down_",
                "lock_page",
            ],
        ),
        (
            C::NetworkIo,
            &["inet_stream_connect", "tcp_recvmsg", "sk_wait_data", "unix_stream_read", "inet_csk_accept"],
        ),
    ]
};

/// Native functions that wait for a mutex, a condition or a semaphore (bionic).
const MUTEX_FUNCTIONS: &[&str] = &[
    "pthread_mutex_lock",
    "MutexLockWithTimeout",
    "pthread_cond_",
    "__futex_wait",
    "futex_wait",
    "sem_wait",
    "sem_timedwait",
    "pthread_rwlock_",
    "pthread_join",
    "std::__1::condition_variable",
    "std::__ndk1::condition_variable",
    "condition_variable::wait",
    "parking_lot",
    "mutex::lock",
];

/// Frames of ART that stop a thread for the dump only.
const DUMP_FUNCTIONS: &[&str] = &[
    "FullSuspendCheck",
    "GoToRunnable",
    "TransitionFromSuspendedToRunnable",
    "WaitForFlipFunction",
    "CheckSuspend",
    "art_quick_test_suspend",
    "JniMethodEnd",
    "GenericJniMethodEnd",
    "artQuickGenericJniEndTrampoline",
    "ThreadSuspend",
    "RunCheckpointFunction",
    "WaitHoldingLocks",
];

/// Classifies a stack, innermost frame first, together with the VM's thread state if it is known.
pub(crate) fn classify<'a>(frames: impl Iterator<Item = FrameView<'a>>, state: &str) -> Activity {
    let mut inner: Vec<FrameView<'a>> = Vec::new();
    let mut own = None;
    let mut library = false;
    for frame in frames.take(MAX_FRAMES) {
        if let FrameView::Java { class, .. } = frame
            && is_own(class)
        {
            own = Some(frame);
            break;
        }
        library |= matches!(frame, FrameView::Native { library, .. } if is_own_library(library));
        inner.push(frame);
    }
    if let Some(found) = by_state(state) {
        return found;
    }
    let native = |parts: &[&str]| {
        inner.iter().any(|frame| match frame {
            FrameView::Native { symbol, .. } => parts.iter().any(|part| symbol.contains(part)),
            _ => false,
        })
    };
    if native(&["joinThreadPool"]) {
        return Activity::BinderPool;
    }
    let is_java = |frame: &&FrameView<'_>| matches!(frame, FrameView::Java { .. });
    // Input and frames are dispatched from within the poll: main waits there only if the poll is the innermost
    // frame.
    let polls = inner.iter().find(is_java).is_some_and(|frame| is_poll(*frame));
    if let Some(cause) = in_java(&inner) {
        // The kernel's function is more specific about file I/O than the call.
        let kernel = in_kernel(&inner, &[CauseId::Fsync, CauseId::UninterruptibleIo]);
        return Activity::Of(kernel.filter(|_| cause == CauseId::DiskIo).unwrap_or(cause));
    }
    if !polls && inner.iter().chain(&own).any(|frame| engine(*frame).is_some()) {
        return Activity::Of(CauseId::NativeEngine);
    }
    if let Some(cause) = in_kernel(&inner, &[CauseId::Frozen, CauseId::MemoryPressure, CauseId::BinderCall]) {
        return Activity::Of(cause);
    }
    let found = NATIVE_FUNCTIONS.iter().find(|(_, parts)| native(parts)).map(|(cause, _)| *cause);
    if let Some(cause) = found.filter(|cause| polls || !matches!(cause, CauseId::Input | CauseId::Vsync)) {
        return Activity::Of(cause);
    }
    if polls {
        return Activity::Of(if native(DUMP_FUNCTIONS) { CauseId::StoppedByDump } else { CauseId::Idle });
    }
    if let Some(cause) = in_kernel(&inner, &[CauseId::Fsync, CauseId::NetworkIo]).or_else(|| in_call(&inner))
    {
        return Activity::Of(cause);
    }
    let natives = || inner.iter().filter(|frame| matches!(frame, FrameView::Native { .. }));
    let has_native = natives().next().is_some();
    // Only among the functions that main is in, not among its callers.
    let art = natives().take(WAITING_FRAMES).any(|frame| is_art(*frame));
    if !art
        && natives()
            .take(WAITING_FRAMES)
            .any(|f| matches!(f, FrameView::Native { symbol, .. } if is_mutex(symbol)))
    {
        return Activity::Of(CauseId::NativeLock);
    }
    let runs = ["runnable", "suspended"].iter().any(|word| state.eq_ignore_ascii_case(word));
    let stopped = native(DUMP_FUNCTIONS);
    let java = inner.iter().find(is_java).or(own.as_ref()).copied();
    let is_native = state.eq_ignore_ascii_case("native");
    let polled = |frame: &FrameView<'_>| matches!(frame, FrameView::Native { symbol, .. } if symbol.contains("epoll_"));
    match java {
        None if has_native && stopped && runs => Activity::Of(CauseId::StoppedByDump),
        None if natives().next().is_some_and(polled) => Activity::Of(CauseId::Idle),
        // A system call without a known reason.
        None if natives().all(
            |frame| matches!(frame, FrameView::Native { library, .. } if library.ends_with("libc.so")),
        ) =>
        {
            Activity::Unclear
        }
        None => Activity::Of(CauseId::NativeCode),
        // Returned from native code, where the dump stopped it.
        Some(_) if stopped => Activity::Java,
        Some(_) if (library || has_native && !art) && (is_native || has_native) => {
            Activity::Of(CauseId::NativeCode)
        }
        // ART runs short native methods of the platform without leaving `Runnable`.
        Some(FrameView::Java { native: true, .. }) if state != "Runnable" => {
            Activity::Of(CauseId::NativeCode)
        }
        Some(_) if is_native => Activity::Unclear,
        _ => Activity::Java,
    }
}

/// Thread states of ART, Dalvik and HotSpot that alone show what the thread does (art/runtime/thread_state.h).
fn by_state(state: &str) -> Option<Activity> {
    let lower = state.to_ascii_lowercase();
    let found = match lower.as_str() {
        "blocked" | "monitor" => CauseId::LockWait,
        "waitingforgctocomplete" | "waitingperforminggc" | "waitingforgcthreadflip" => CauseId::Gc,
        "waitingforclassloading" => CauseId::ClassLoading,
        lower if lower.starts_with("blocked (") => CauseId::LockWait,
        lower if lower.starts_with("waiting for monitor entry") => CauseId::LockWait,
        _ => return None,
    };
    Some(Activity::Of(found))
}

/// Whether a frame is the main queue's poll for its next message.
pub(crate) fn is_poll(frame: FrameView<'_>) -> bool {
    matches!(frame, FrameView::Java { class: "android.os.MessageQueue", method, .. }
        if matches!(method, "nativePollOnce" | "next" | "nextLegacy" | "nextConcurrent"))
}

fn in_java(inner: &[FrameView<'_>]) -> Option<CauseId> {
    let fits = |frame: &FrameView<'_>, (of, name): &(&str, &str)| matches!(frame, FrameView::Java { class, method, .. } if class.starts_with(of) && method.starts_with(name));
    JAVA_METHODS
        .iter()
        .find(|(_, rows)| inner.iter().any(|frame| rows.iter().any(|row| fits(frame, row))))
        .map(|(cause, _)| *cause)
}

fn in_kernel(inner: &[FrameView<'_>], wanted: &[CauseId]) -> Option<CauseId> {
    let has = |parts: &[&str]| {
        inner.iter().any(|frame| match frame {
            FrameView::Kernel(symbol) => parts.iter().any(|part| symbol.contains(part)),
            _ => false,
        })
    };
    KERNEL_FUNCTIONS
        .iter()
        .filter(|(cause, _)| wanted.contains(cause))
        .find(|(_, parts)| has(parts))
        .map(|(cause, _)| *cause)
}

/// Whether the kernel frames are an uninterruptible wait for a disk.
pub(crate) fn is_uninterruptible<'a>(frames: impl Iterator<Item = FrameView<'a>>) -> bool {
    let inner: Vec<_> =
        frames.take(MAX_FRAMES).take_while(|frame| !matches!(frame, FrameView::Java { .. })).collect();
    in_kernel(&inner, &[CauseId::UninterruptibleIo]).is_some()
}

fn in_call(inner: &[FrameView<'_>]) -> Option<CauseId> {
    let called = |names: &[&str]| {
        inner
            .iter()
            .take(WAITING_FRAMES)
            .any(|frame| matches!(frame, FrameView::Native { symbol, .. } if names.contains(symbol)))
    };
    SYSTEM_CALLS.iter().find(|(_, names)| called(names)).map(|(cause, _)| *cause)
}

fn is_art(frame: FrameView<'_>) -> bool {
    matches!(frame, FrameView::Native { symbol, library } if symbol.contains("art::") || symbol.starts_with("_ZN3art")
        || library.ends_with("libart.so"))
}

fn is_mutex(symbol: &str) -> bool {
    MUTEX_FUNCTIONS.iter().any(|part| symbol.contains(part))
}

/// `IPackageManager.getPackageInfo`, where a frame is the client's side of an interface that the AIDL compiler made.
pub(crate) fn remote_call<'a>(frames: impl Iterator<Item = FrameView<'a>>) -> Option<String> {
    frames.take(MAX_FRAMES).find_map(|frame| match frame {
        FrameView::Java { class, method, .. } => {
            let interface = class.strip_suffix("$Stub$Proxy")?;
            let interface = interface.rsplit('.').next().unwrap_or(interface);
            Some(format!("{interface}.{method}"))
        }
        _ => None,
    })
}
