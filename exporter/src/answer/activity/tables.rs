//! The tables of [`super::classify`]: which method or function shows what a thread does. In each table the first row that
//! matches a frame counts.

use crate::answer::id::CauseId;

/// Java classes and methods that show what a thread does: the class's start, the method's start. Names of
/// AOSP's libcore and frameworks/base (Android 5 to 16), androidx.sqlite, Dalvik, OpenJDK 8 to 25 and
/// kotlinx-coroutines 1.x.
pub(super) const JAVA_METHODS: &[(CauseId, &[(&str, &str)])] = {
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
pub(super) const ENGINES: &[(&str, &[&str])] = &[
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

/// Parts of native functions that show what a thread does. AOSP: frameworks/native libs/binder and libs/input,
/// frameworks/base core/jni and libs/hwui, art/runtime (Android 5 to 16).
pub(super) const NATIVE_FUNCTIONS: &[(CauseId, &[&str])] = {
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
        (C::Vsync, &["DisplayEventDispatcher", "DisplayEventReceiver", "dispatchVsync"]),
        (C::Sqlite, &["sqlite3"]),
    ]
};

/// Native functions by their full names: bionic's system calls.
pub(super) const SYSTEM_CALLS: &[(CauseId, &[&str])] = {
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
        (C::Sleep, &["nanosleep", "__nanosleep", "clock_nanosleep", "__clock_nanosleep", "usleep", "sleep"]),
    ]
};

/// Libraries that only carry out what their caller asks: bionic, glibc, musl, the C++ and the compiler's libraries, the dynamic
/// linkers, the vDSO. The starts of their names.
pub(super) const C_LIBRARIES: &[&str] = &[
    "libc.so",
    "libc-",
    "libc.musl",
    "ld-",
    "ld64",
    "linker",
    "libm.so",
    "libdl.so",
    "libpthread",
    "librt.so",
    "libc++",
    "libstdc++",
    "libgcc_s",
    "[vdso]",
    "[vvar]",
];

/// The same for functions that are linked into the app's own libraries.
pub(super) const STANDARD_FUNCTIONS: &[&str] = &[
    "std::",
    "core::",
    "alloc::",
    "__gnu_cxx::",
    "operator new",
    "operator delete",
    "pthread_",
    "__pthread_",
    "__libc_",
    "syscall",
];

/// Kernel functions.
pub(super) const KERNEL_FUNCTIONS: &[(CauseId, &[&str])] = {
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
pub(super) const MUTEX_FUNCTIONS: &[&str] = &[
    "pthread_mutex_lock",
    "MutexLockWithTimeout",
    "pthread_cond_",
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
pub(super) const DUMP_FUNCTIONS: &[&str] = &[
    "FullSuspendCheck",
    "GoToRunnable",
    "TransitionFromSuspendedToRunnable",
    "WaitForFlipFunction",
    "CheckSuspend",
    "art_quick_test_suspend",
    "JniMethodEnd",
    "artQuickGenericJniEndTrampoline",
    "ThreadSuspend",
    "RunCheckpointFunction",
    "WaitHoldingLocks",
];
