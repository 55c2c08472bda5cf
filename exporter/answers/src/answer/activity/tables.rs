//! The tables of [`super::classify`]: which method or function shows what a thread does. In each table the first row that
//! matches a frame counts.

use super::frame_view::{ANY, Calls};
use crate::answer::id::CauseId;
use CauseId as C;

/// Java classes and methods that show what a thread does. Names of AOSP's libcore and frameworks/base
/// (Android 5 to 16), androidx.sqlite, Dalvik, OpenJDK 8 to 25 and kotlinx-coroutines 1.x.
pub(super) const JAVA_METHODS: &[(CauseId, Calls)] = &[
    (C::SharedPreferences, ("android.app.", &["QueuedWork"], &["waitToFinish", "processPendingWork"])),
    (C::SharedPreferences, ("android.app.", &["SharedPreferencesImpl"], ANY)),
    (C::SharedPreferences, ("android.app.", &["ContextImpl$SharedPreferencesImpl"], ANY)),
    (C::SharedPreferences, ("android.content.", &["SharedPreferences"], ANY)),
    (C::SqlitePool, ("android.database.sqlite.", &["SQLiteConnectionPool"], &["waitForConnection"])),
    (C::SqlitePool, ("androidx.room.coroutines.", &["ConnectionPoolImpl"], &["acquire"])),
    (C::Sqlite, ("", &["android.database.sqlite.", "androidx.sqlite.", "net.sqlcipher."], ANY)),
    (C::Sqlite, ("", &["net.zetetic.database.sqlcipher.", "io.requery.android.database.sqlite."], ANY)),
    (C::Sqlite, ("org.sqlite.", ANY, ANY)),
    (C::WebView, ("", &["android.webkit.", "com.android.webview.chromium.", "WebViewChromium", "J.N"], ANY)),
    (C::WebView, ("org.chromium.", ANY, ANY)),
    (C::Gc, ("java.lang.", &["Runtime", "System"], &["gc"])),
    (C::Gc, ("dalvik.system.", &["VMRuntime"], &["gc"])),
    (C::RunBlocking, ("kotlinx.coroutines.", &["BlockingCoroutine"], ANY)),
    (C::RunBlocking, ("kotlinx.coroutines.", &["BuildersKt"], &["runBlocking"])),
    (C::ProcessWait, ("java.lang.", &["Process", "UNIXProcess"], &["waitFor"])),
    (C::ProcessWait, ("java.lang.", &["ProcessImpl$ProcessPipeInputStream"], ANY)),
    (C::ProcessWait, ("java.lang.", &["UNIXProcess$ProcessPipeInputStream"], ANY)),
    (C::NetworkIo, ("jdk.internal.net.http.", &["HttpClientImpl", "HttpClientFacade"], &["send"])),
    (C::NetworkIo, ("jdk.internal.net.http.", &["ResponseSubscribers$HttpResponseInputStream"], &["read"])),
    (C::FutureWait, ("java.util.concurrent.", &["Future", "ScheduledFuture"], &["get"])),
    (C::FutureWait, ("android.os.", &["AsyncTask"], &["get"])),
    (C::FutureWait, ("java.util.concurrent.", &["FutureTask", "CompletableFuture", "SynchronousQueue"], ANY)),
    (C::FutureWait, ("java.util.concurrent.", &["ForkJoinTask", "TransferQueue", "DelayQueue"], ANY)),
    (C::FutureWait, ("java.util.concurrent.", &["Phaser", "ArrayBlockingQueue", "LinkedTransferQueue"], ANY)),
    (C::FutureWait, ("java.util.concurrent.", &["Exchanger"], ANY)),
    (C::FutureWait, ("java.util.concurrent.", &["ExecutorCompletionService", "PriorityBlockingQueue"], ANY)),
    (C::FutureWait, ("java.util.concurrent.", &["ExecutorService", "BlockingQueue", "BlockingDeque"], ANY)),
    (C::FutureWait, ("java.util.concurrent.", &["LinkedBlockingQueue", "LinkedBlockingDeque"], ANY)),
    (C::FutureWait, ("com.google.common.util.concurrent.", ANY, ANY)),
    (C::FutureWait, ("", &["androidx.concurrent.futures.", "io.reactivex.internal.observers.Blocking"], ANY)),
    (C::FutureWait, ("io.reactivex.rxjava3.internal.observers.", &["Blocking"], ANY)),
    (
        C::FutureWait,
        ("java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject", ANY, &["await"]),
    ),
    (C::FutureWait, ("java.util.concurrent.locks.", &["Condition"], &["await"])),
    (C::FutureWait, ("java.util.concurrent.", &["CountDownLatch"], &["await"])),
    (C::FutureWait, ("com.google.android.gms.tasks.", &["Tasks"], &["await"])),
    (C::FutureWait, ("java.util.concurrent.", &["CyclicBarrier"], &["await", "dowait"])),
    (C::FutureWait, ("java.util.concurrent.", &["CompletionService"], &["take"])),
    (C::FutureWait, ("java.util.concurrent.", &["ThreadPoolExecutor"], &["awaitTermination"])),
    (C::FutureWait, ("java.util.concurrent.", &["AbstractExecutorService"], &["invoke"])),
    (C::FutureWait, ("java.util.concurrent.", &["ForkJoinPool"], &["awaitTermination", "invoke"])),
    (C::FutureWait, ("io.reactivex.", ANY, &["blocking"])),
    (C::FutureWait, ("android.os.", &["ConditionVariable"], &["block"])),
    (C::PermitWait, ("java.util.concurrent.", &["Semaphore"], &["acquire", "tryAcquire"])),
    (C::LockWait, ("java.util.concurrent.locks.", &["Lock"], &["lock", "tryLock"])),
    (C::LockWait, ("java.util.concurrent.locks.", &["ReentrantLock", "ReentrantReadWriteLock"], ANY)),
    (C::LockWait, ("java.util.concurrent.locks.", &["StampedLock"], ANY)),
    (C::LockWait, ("java.util.concurrent.locks.", &["AbstractQueuedSynchronizer"], &["acquire"])),
    (C::LockWait, ("java.util.concurrent.locks.", &["AbstractQueuedLongSynchronizer"], &["acquire"])),
    (C::ThreadJoin, ("java.lang.", &["Thread"], &["join"])),
    (C::Sleep, ("java.lang.", &["Thread", "VMThread"], &["sleep"])),
    (C::Sleep, ("", &["android.os.SystemClock", "java.util.concurrent.TimeUnit"], &["sleep"])),
    (C::ObjectWait, ("java.lang.", &["Object"], &["wait"])),
    (C::YieldSpin, ("java.lang.", &["Thread"], &["yield", "onSpinWait"])),
    (C::BinderCall, ("android.os.", &["Binder", "IBinder"], &["transact"])),
    (C::RenderThread, ("android.graphics.", &["HardwareRenderer"], &["n", "syncAndDrawFrame"])),
    (C::RenderThread, ("android.view.", &["ThreadedRenderer"], &["n"])),
    (C::RenderThread, ("android.view.", &["GLES20Canvas"], ANY)),
    (C::NetworkIo, ("java.net.", &["Socket", "AbstractPlainSocketImpl", "PlainDatagramSocketImpl"], ANY)),
    (C::NetworkIo, ("java.net.", &["ServerSocket", "AddressCache"], ANY)),
    (C::NetworkIo, ("java.net.", &["PlainSocketImpl", "DatagramSocket", "Inet", "HttpURLConnection"], ANY)),
    (C::NetworkIo, ("java.nio.channels.", &["DatagramChannel", "ServerSocketChannel", "SocketChannel"], ANY)),
    (C::NetworkIo, ("sun.nio.ch.", &["Net", "Socket", "KQueue", "WEPoll", "SelectorImpl", "Datagram"], ANY)),
    (C::NetworkIo, ("sun.nio.ch.", &["Nio", "EPoll"], ANY)),
    (C::NetworkIo, ("", &["com.android.org.conscrypt.", "org.conscrypt.", "sun.security.ssl."], ANY)),
    (C::NetworkIo, ("javax.net.ssl.", ANY, ANY)),
    (C::NetworkIo, ("java.nio.channels.", &["Selector"], &["select"])),
    (C::NetworkIo, ("okhttp3.", &["Call"], &["execute"])),
    (C::NetworkIo, ("libcore.io.", ANY, &["connect", "accept", "getaddrinfo", "android_getaddrinfo"])),
    (C::NetworkIo, ("libcore.io.", ANY, &["recv", "send", "poll"])),
    (C::NetworkIo, ("libcore.io.", &["IoBridge"], &["isConnected"])),
    (C::Fsync, ("", &["java.io.FileDescriptor", "android.os.FileUtils"], &["sync"])),
    (C::Fsync, ("libcore.io.", ANY, &["fsync", "fdatasync"])),
    (C::Fsync, ("android.system.", &["Os"], &["fsync", "fdatasync"])),
    (C::Fsync, ("sun.nio.ch.", &["FileChannelImpl", "FileDispatcherImpl"], &["force"])),
    (C::Fsync, ("java.nio.channels.", &["FileChannel"], &["force"])),
    (C::ClassLoading, ("dalvik.system.", &["DexFile", "BaseDexClassLoader", "DelegateLastClassLoader"], ANY)),
    (C::ClassLoading, ("dalvik.system.", &["DexPathList"], ANY)),
    (C::ClassLoading, ("", &["java.lang.VMClassLoader", "java.net.URLClassLoader"], ANY)),
    (C::ClassLoading, ("jdk.internal.loader.", ANY, ANY)),
    (C::ClassLoading, ("java.lang.", &["ClassLoader"], &["loadClass", "defineClass"])),
    (C::ClassLoading, ("java.lang.", &["Class"], &["classForName", "forName"])),
    (C::DiskIo, ("java.io.", &["File"], &["list"])),
    (C::DiskIo, ("java.io.", &["FileInputStream"], &["<init>", "read", "open", "skip", "available"])),
    (C::DiskIo, ("java.io.", &["FileOutputStream", "RandomAccessFile", "WinNTFileSystem"], ANY)),
    (C::DiskIo, ("java.io.", &["UnixFileSystem", "FileCleanable"], ANY)),
    (C::DiskIo, ("sun.nio.ch.", &["FileDispatcherImpl", "UnixFileDispatcherImpl", "FileChannelImpl"], ANY)),
    (C::DiskIo, ("", &["libcore.io.", "android.system.Os", "java.nio.channels.FileChannel"], ANY)),
    (C::DiskIo, ("sun.nio.fs.", ANY, ANY)),
    (C::DiskIo, ("android.content.res.", &["AssetManager"], &["native", "open"])),
    (C::DiskIo, ("java.nio.file.", &["Files"], &["read", "walk", "write"])),
    (C::DiskIo, ("java.util.zip.", &["ZipFile"], &["open"])),
    (C::BinderCall, ("android.content.", &["ContentResolver", "ContentProvider"], ANY)),
    (C::BinderCall, ("android.content.", &["Context"], &["bindService", "startService"])),
    (C::BinderCall, ("android.content.", &["Context"], &["registerReceiver", "sendBroadcast"])),
    (C::BinderCall, ("android.content.pm.", &["PackageManager"], &["getApplicationInfo", "resolveActivity"])),
    (C::BinderCall, ("android.content.pm.", &["PackageManager"], &["getInstalled", "queryIntentActivities"])),
    (C::BinderCall, ("android.content.pm.", &["PackageManager"], &["getPackageInfo"])),
    (C::BinderCall, ("android.app.", &["ActivityManager"], &["get"])),
    (C::BinderCall, ("android.app.", &["NotificationManager"], &["notify"])),
    (C::BinderCall, ("android.net.", &["ConnectivityManager"], &["getActiveNetwork"])),
    (C::BinderCall, ("android.net.wifi.", &["WifiManager"], &["getConnectionInfo"])),
    (C::BinderCall, ("android.location.", &["Geocoder"], &["getFromLocation"])),
    (C::BinderCall, ("android.location.", &["LocationManager"], &["getLastKnownLocation"])),
    (C::BinderCall, ("android.os.", &["Messenger"], &["send"])),
    (C::BinderCall, ("android.telephony.", &["TelephonyManager"], &["getDeviceId"])),
    (C::NetworkIo, ("java.net.", ANY, ANY)),
    (C::Park, ("", &["java.util.concurrent.locks.LockSupport", "jdk.internal.misc.Unsafe"], &["park"])),
    (C::Park, ("sun.misc.", &["Unsafe"], &["park"])),
    (C::Park, ("java.lang.", &["Thread"], &["parkFor"])),
];

/// Engines by their classes and libraries.
pub(super) const ENGINES: &[(&str, &[&str])] = &[
    ("Flutter", &["io.flutter.", "libflutter.so"]),
    ("Unity", &["com.unity3d.", "libunity.so", "libil2cpp.so", "libmonobdwgc", "libmain.so"]),
    ("React Native", &["com.facebook.react.", "com.facebook.jni.", "com.facebook.hermes.", "com.swmansion."]),
    ("React Native", &["libreact", "libhermes", "libjsc.so", "libjscexecutor", "libfbjni.so", "libyoga.so"]),
    ("React Native", &["libfabricjni", "libturbomodule"]),
    ("Unreal", &["com.epicgames.", "libUE4.so", "libUnreal.so"]),
    ("Rive", &["app.rive.", "librive"]),
    ("Cocos", &["org.cocos2dx.", "com.cocos.", "libcocos"]),
    ("Godot", &["org.godotengine.", "libgodot"]),
    ("libGDX", &["com.badlogic.gdx.", "libgdx.so"]),
    ("Mono", &["mono.android.", "crc64", "libmonosgen", "libmonodroid", "libxamarin"]),
];

/// Parts of native functions that show what a thread does. AOSP: frameworks/native libs/binder and libs/input,
/// frameworks/base core/jni and libs/hwui, art/runtime (Android 5 to 16).
pub(super) const NATIVE_FUNCTIONS: &[(CauseId, &[&str])] = &[
    (C::Gc, &["WaitForGcToComplete", "CollectGarbage", "AllocateInternalWithGc"]),
    (C::Gc, &["IncrementDisableThreadFlip", "art::gc::collector"]),
    (C::ClassLoading, &["ClassLinker", "MethodVerifier", "ClassVerifier", "art::DexFile", "OatFileManager"]),
    (C::ClassLoading, &["VdexFile"]),
    (C::RenderThread, &["DrawFrameTask", "uirenderer", "RenderProxy", "eglSwapBuffers", "dequeueBuffer"]),
    (C::RenderThread, &["glDraw"]),
    (C::BinderCall, &["IPCThreadState::talkWithDriver", "IPCThreadState::waitForResponse"]),
    (C::BinderCall, &["IPCThreadState::transact", "BpBinder::transact", "IPCThreadState14talkWithDriver"]),
    (C::BinderCall, &["IPCThreadState15waitForResponse", "BpBinder8transact"]),
    (C::Input, &["NativeInputEventReceiver", "InputConsumer", "InputChannel::receiveMessage"]),
    (C::Vsync, &["DisplayEventDispatcher", "DisplayEventReceiver", "dispatchVsync"]),
    (C::Sqlite, &["sqlite3"]),
];

/// Native functions by their full names: bionic's system calls.
pub(super) const SYSTEM_CALLS: &[(CauseId, &[&str])] = &[
    (C::Fsync, &["fsync", "fdatasync", "__fsync", "__fdatasync", "msync"]),
    (C::NetworkIo, &["connect", "__connect", "recvfrom", "__recvfrom", "recvmsg", "sendto", "__sendto"]),
    (C::NetworkIo, &["sendmsg", "accept4", "getaddrinfo", "android_getaddrinfofornet"]),
    (C::NetworkIo, &["android_getaddrinfo_proxy", "__netdClientDispatch"]),
    (C::DiskIo, &["read", "pread", "pread64", "readv", "__read_chk", "write", "pwrite", "pwrite64"]),
    (C::DiskIo, &["writev", "open", "openat", "__openat", "open64", "stat", "fstat", "fstatat", "fstatat64"]),
    (C::DiskIo, &["lstat", "access", "faccessat", "rename", "renameat", "unlink", "unlinkat", "ftruncate"]),
    (C::DiskIo, &["ftruncate64", "fallocate64", "getdents64", "sendfile64"]),
    (C::Sleep, &["nanosleep", "__nanosleep", "clock_nanosleep", "__clock_nanosleep", "usleep", "sleep"]),
];

/// Libraries that only carry out what their caller asks: bionic, glibc, musl, the C++ and the compiler's libraries, the dynamic
/// linkers, the vDSO. The starts of their names.
pub(super) const C_LIBRARIES: &[&[&str]] = &[
    &["libc.so", "libc-", "libc.musl", "ld-", "ld64", "linker", "libm.so", "libdl.so", "libpthread"],
    &["librt.so", "libc++", "libstdc++", "libgcc_s", "[vdso]", "[vvar]"],
];

/// The same for functions that are linked into the app's own libraries.
pub(super) const STANDARD_FUNCTIONS: &[&[&str]] = &[
    &["std::", "core::", "alloc::", "__gnu_cxx::", "operator new", "operator delete", "pthread_"],
    &["__pthread_", "__libc_", "syscall"],
];

/// Kernel functions.
pub(super) const KERNEL_FUNCTIONS: &[(CauseId, &[&str])] = &[
    (C::Frozen, &["do_freezer_trap", "refrigerator", "get_signal_to_deliver_freezer"]),
    (C::BinderCall, &["binder_thread_read", "binder_ioctl", "binder_wait_for_work"]),
    (C::MemoryPressure, &["try_to_free_pages", "shrink_", "throttle_direct_reclaim"]),
    (C::MemoryPressure, &["__alloc_pages_slowpath", "do_swap_page", "swap_readpage", "zram_"]),
    (C::MemoryPressure, &["congestion_wait", "mem_cgroup_handle_over_high"]),
    (C::Fsync, &["do_fsync", "vfs_fsync", "_sync_file", "filemap_fdatawait", "file_write_and_wait"]),
    (C::UninterruptibleIo, &["io_schedule", "wait_on_page", "folio_wait", "fuse_request", "rwsem_down_"]),
    (C::UninterruptibleIo, &["wait_on_buffer", "submit_bio_wait", "filemap_fault", "request_wait_answer"]),
    (C::UninterruptibleIo, &["jbd2_", "f2fs_", "ext4_", "erofs_", "dm_", "blk_mq_", "lock_page"]),
    (C::NetworkIo, &["inet_stream_connect", "tcp_recvmsg", "sk_wait_data", "unix_stream_read"]),
    (C::NetworkIo, &["inet_csk_accept"]),
];

/// Native functions that wait for a mutex, a condition or a semaphore (bionic).
pub(super) const MUTEX_FUNCTIONS: &[&[&str]] = &[
    &["pthread_mutex_lock", "MutexLockWithTimeout", "pthread_cond_", "futex_wait", "sem_wait"],
    &["sem_timedwait", "pthread_rwlock_", "pthread_join", "std::__1::condition_variable"],
    &["std::__ndk1::condition_variable", "condition_variable::wait", "parking_lot", "mutex::lock"],
];

/// Frames of ART that stop a thread for the dump only.
pub(super) const DUMP_FUNCTIONS: &[&[&str]] = &[
    &["FullSuspendCheck", "GoToRunnable", "TransitionFromSuspendedToRunnable", "WaitForFlipFunction"],
    &["CheckSuspend", "art_quick_test_suspend", "JniMethodEnd", "artQuickGenericJniEndTrampoline"],
    &["ThreadSuspend", "RunCheckpointFunction", "WaitHoldingLocks"],
];
