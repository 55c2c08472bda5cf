//! The numbers of calls that block.
//!
//! An instrumented class has the number of the call at the call, so that recording it costs neither memory nor time. Names come
//! from this list when a recording is read.

use crate::ids;

/// The number of a call that a wait is in; 0 if it is not known, as for calls that a user has added to the list.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct CallId(pub u32);

impl CallId {
    /// The greatest number that [`CallId::with_kind`] has room for: a class pushes 15 bits without a constant of its own.
    pub const MAX: u32 = (1 << (15 - KIND_BITS)) - 1;

    /// The number of the call of `method` by the name of `class`, with dots or slashes; 0 if it has none.
    ///
    /// ```
    /// use trace_format::event::CallId;
    ///
    /// let call = CallId::of("java/io/BufferedReader", "readLine");
    /// assert_eq!(call.name(), Some("java.io.BufferedReader.readLine"));
    /// assert_eq!(CallId::of("com/acme/Bus", "call").name(), None);
    /// ```
    #[must_use]
    pub fn of(class: &str, method: &str) -> Self {
        let dotted = |byte: u8| if byte == b'/' { b'.' } else { byte };
        let is_it = |name: &&str| {
            name.rsplit_once('.').is_some_and(|(of, called)| {
                called == method && of.len() == class.len() && of.bytes().eq(class.bytes().map(dotted))
            })
        };
        CALLS.iter().position(is_it).map_or(Self(0), |at| Self(at as u32 + 1))
    }

    /// The call that a word with this id stands for: see [`ids`]. `None` for other words.
    #[must_use]
    pub const fn of_word(id: u32) -> Option<Self> {
        if id >= ids::CALL_FIRST && id < ids::EVENT_FIRST { Some(Self(id - ids::CALL_FIRST)) } else { None }
    }

    /// Class and method as in the program's source, where the class may be a super type of the one that was called: for example
    /// `java.io.InputStream.read` of a socket. `None` for 0 and for numbers of a later version.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        CALLS.get((self.0 as usize).checked_sub(1)?).copied()
    }

    /// Returns the number that instrumented code pushes for a wait in this call. `kind` is the kind's number, which is below 16.
    #[must_use]
    pub const fn with_kind(self, kind: u8) -> u16 {
        let call = if self.0 > Self::MAX { 0 } else { self.0 as u16 };
        call << KIND_BITS | kind as u16
    }

    /// The kind's number and the call, of what [`CallId::with_kind`] has made.
    #[must_use]
    pub const fn split(pushed: u32) -> (u32, Self) {
        (pushed & ((1 << KIND_BITS) - 1), Self(pushed >> KIND_BITS))
    }
}

/// Bits of the kind below a call's number. Java's `MethodBeat` has the same.
const KIND_BITS: u32 = 4;

const _: () = assert!(ids::CALL_FIRST + CallId::MAX < ids::EVENT_FIRST);

/// Joins the name of each class with the names of its methods.
macro_rules! calls {
    ($($class:literal: $($method:literal)*;)*) => { &[$($(concat!($class, ".", $method)),*),*] };
}

/// The calls, from number 1 on. A number is never reused, so new ones come at the end.
const CALLS: &[&str] = calls! {
    "java.lang.Object": "wait";
    "java.lang.Thread": "sleep" "join";
    "java.lang.Process": "waitFor";
    "java.util.concurrent.locks.LockSupport": "park" "parkNanos" "parkUntil";
    "java.util.concurrent.locks.Lock": "lock" "lockInterruptibly" "tryLock";
    "java.util.concurrent.locks.ReentrantLock": "lock" "lockInterruptibly" "tryLock";
    "java.util.concurrent.locks.ReentrantReadWriteLock$ReadLock": "lock";
    "java.util.concurrent.locks.ReentrantReadWriteLock$WriteLock": "lock";
    "java.util.concurrent.locks.StampedLock": "readLock" "writeLock";
    "java.util.concurrent.locks.Condition": "await" "awaitNanos" "awaitUninterruptibly" "awaitUntil";
    "java.util.concurrent.Future": "get";
    "java.util.concurrent.FutureTask": "get";
    "java.util.concurrent.CompletableFuture": "get" "join";
    "java.util.concurrent.ForkJoinTask": "get" "join" "invoke";
    "java.util.concurrent.ForkJoinPool": "invoke";
    "java.util.concurrent.ScheduledFuture": "get";
    "com.google.common.util.concurrent.ListenableFuture": "get";
    "com.google.common.util.concurrent.AbstractFuture": "get";
    "com.google.common.util.concurrent.SettableFuture": "get";
    "java.util.concurrent.CountDownLatch": "await";
    "java.util.concurrent.CyclicBarrier": "await";
    "java.util.concurrent.Phaser": "awaitAdvance" "arriveAndAwaitAdvance";
    "java.util.concurrent.Exchanger": "exchange";
    "java.util.concurrent.Semaphore": "acquire" "acquireUninterruptibly" "tryAcquire";
    "java.util.concurrent.ExecutorService": "awaitTermination" "invokeAll" "invokeAny";
    "java.util.concurrent.ThreadPoolExecutor": "awaitTermination";
    "java.util.concurrent.CompletionService": "take";
    "java.util.concurrent.ExecutorCompletionService": "take";
    "java.util.concurrent.BlockingQueue": "take" "put" "poll" "offer";
    "java.util.concurrent.BlockingDeque": "take" "takeFirst" "takeLast" "put" "putFirst" "putLast";
    "java.util.concurrent.LinkedBlockingQueue": "take" "put" "poll";
    "java.util.concurrent.LinkedBlockingDeque": "take" "put";
    "java.util.concurrent.ArrayBlockingQueue": "take" "put" "poll";
    "java.util.concurrent.PriorityBlockingQueue": "take" "poll";
    "java.util.concurrent.SynchronousQueue": "take" "put" "poll";
    "java.util.concurrent.DelayQueue": "take";
    "java.util.concurrent.LinkedTransferQueue": "take";
    "java.util.concurrent.TransferQueue": "transfer";
    "java.io.InputStream": "read" "readAllBytes" "readNBytes" "transferTo";
    "java.io.FileInputStream": "<init>" "read";
    "java.io.FileOutputStream": "<init>" "write";
    "java.io.FileDescriptor": "sync";
    "java.io.RandomAccessFile": "<init>" "read" "readFully" "write";
    "java.io.BufferedReader": "readLine";
    "java.io.File": "listFiles" "list";
    "java.nio.channels.FileChannel": "force" "lock" "read" "write" "transferTo" "transferFrom";
    "java.nio.channels.Selector": "select";
    "java.nio.channels.SocketChannel": "connect" "read" "write";
    "java.nio.channels.ServerSocketChannel": "accept";
    "java.nio.channels.DatagramChannel": "receive";
    "java.nio.file.Files": "readAllBytes" "readAllLines" "readString" "write" "writeString" "copy"
        "walkFileTree";
    "java.net.Socket": "<init>" "connect";
    "java.net.ServerSocket": "accept";
    "java.net.DatagramSocket": "receive" "send";
    "java.net.InetAddress": "getByName" "getAllByName" "getLocalHost" "getCanonicalHostName" "getHostName"
        "isReachable";
    "java.net.URL": "openStream" "getContent";
    "java.net.URLConnection": "connect" "getInputStream";
    "java.net.HttpURLConnection": "connect" "getInputStream" "getOutputStream" "getResponseCode";
    "javax.net.ssl.HttpsURLConnection": "connect" "getInputStream" "getOutputStream" "getResponseCode";
    "java.net.http.HttpClient": "send";
    "okhttp3.Call": "execute";
    "java.sql.Statement": "execute" "executeQuery" "executeUpdate";
    "java.sql.PreparedStatement": "execute" "executeQuery" "executeUpdate";
    "java.sql.DriverManager": "getConnection";
    "android.database.sqlite.SQLiteDatabase": "openDatabase" "openOrCreateDatabase" "beginTransaction"
        "beginTransactionNonExclusive" "endTransaction" "execSQL" "rawQuery" "query" "insert" "insertOrThrow"
        "insertWithOnConflict" "replace" "update" "updateWithOnConflict" "delete";
    "android.database.sqlite.SQLiteStatement": "execute" "executeInsert" "executeUpdateDelete"
        "simpleQueryForLong";
    "android.database.sqlite.SQLiteOpenHelper": "getReadableDatabase" "getWritableDatabase";
    "android.database.Cursor": "moveToFirst" "getCount";
    "androidx.sqlite.db.SupportSQLiteDatabase": "query" "execSQL" "beginTransaction" "endTransaction";
    "androidx.sqlite.db.SupportSQLiteStatement": "executeInsert" "executeUpdateDelete";
    "android.os.IBinder": "transact";
    "android.os.Binder": "transact";
    "android.os.Messenger": "send";
    "android.os.ConditionVariable": "block";
    "android.os.HandlerThread": "getLooper";
    "android.os.AsyncTask": "get";
    "android.os.SystemClock": "sleep";
    "android.content.SharedPreferences": "getAll" "getString" "getStringSet" "getInt" "getLong" "getFloat"
        "getBoolean" "contains" "edit";
    "android.content.SharedPreferences$Editor": "commit";
    "android.content.ContentResolver": "query" "insert" "update" "delete" "bulkInsert" "applyBatch" "call"
        "getType" "openInputStream" "openOutputStream" "openFileDescriptor";
    "android.content.ContentProviderClient": "query" "call";
    "android.content.Context": "bindService" "startService" "sendBroadcast" "registerReceiver";
    "android.content.pm.PackageManager": "getInstalledPackages" "getInstalledApplications" "getPackageInfo"
        "getApplicationInfo" "queryIntentActivities" "resolveActivity";
    "android.content.res.AssetManager": "open";
    "android.app.ActivityManager": "getRunningAppProcesses" "getRunningTasks" "getMemoryInfo";
    "android.app.NotificationManager": "notify";
    "android.net.ConnectivityManager": "getActiveNetworkInfo" "getActiveNetwork";
    "android.net.wifi.WifiManager": "getConnectionInfo";
    "android.location.LocationManager": "getLastKnownLocation";
    "android.location.Geocoder": "getFromLocation";
    "android.telephony.TelephonyManager": "getDeviceId";
    "android.media.MediaPlayer": "prepare" "stop" "release" "reset" "create";
    "android.media.MediaCodec": "dequeueInputBuffer" "dequeueOutputBuffer";
    "android.media.MediaMetadataRetriever": "setDataSource" "getFrameAtTime";
    "android.media.AudioTrack": "write";
    "android.media.AudioRecord": "read";
    "android.media.SoundPool": "load";
    "android.hardware.Camera": "open";
    "android.graphics.BitmapFactory": "decodeFile" "decodeStream" "decodeResource";
    "com.google.android.gms.tasks.Tasks": "await";
    "kotlinx.coroutines.BuildersKt": "runBlocking" "runBlocking$default";
    "io.reactivex.rxjava3.core.Single": "blockingGet";
    "io.reactivex.rxjava3.core.Maybe": "blockingGet";
    "io.reactivex.rxjava3.core.Completable": "blockingAwait";
    "io.reactivex.rxjava3.core.Observable": "blockingFirst" "blockingLast" "blockingSingle" "blockingForEach"
        "blockingSubscribe";
    "io.reactivex.rxjava3.core.Flowable": "blockingFirst" "blockingLast" "blockingSingle" "blockingForEach"
        "blockingSubscribe";
    "io.reactivex.Single": "blockingGet";
    "io.reactivex.Maybe": "blockingGet";
    "io.reactivex.Completable": "blockingAwait";
    "io.reactivex.Observable": "blockingFirst" "blockingLast" "blockingSingle" "blockingForEach"
        "blockingSubscribe";
    "io.reactivex.Flowable": "blockingFirst" "blockingLast" "blockingSingle" "blockingForEach"
        "blockingSubscribe";
    "java.io.DataInputStream": "readFully" "readUTF";
    "java.io.ObjectInputStream": "readObject";
    "java.util.Scanner": "hasNextLine" "nextLine";
};

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_number_has_one_name_and_each_name_one_number() {
        assert_eq!(CALLS.iter().collect::<HashSet<_>>().len(), CALLS.len());
        for number in 1..=CALLS.len() as u32 {
            let name = CallId(number).name().unwrap();
            let (class, method) = name.rsplit_once('.').unwrap();
            assert_eq!(CallId::of(class, method), CallId(number), "{name}");
            assert_eq!(CallId::of(&class.replace('.', "/"), method), CallId(number), "{name}");
        }
        for unknown in [0, CALLS.len() as u32 + 1, u32::MAX] {
            assert_eq!(CallId(unknown).name(), None);
        }
        assert!(CALLS.len() as u32 <= CallId::MAX);
    }

    #[test]
    fn calls_keep_their_numbers() {
        let names = [
            (1, "java.lang.Object.wait"),
            (87, "java.io.BufferedReader.readLine"),
            (265, "io.reactivex.Flowable.blockingSubscribe"),
        ];
        assert!(names.iter().all(|(number, name)| CallId(*number).name() == Some(name)));
    }

    #[test]
    fn kind_and_call_are_pushed_as_one_number() {
        for call in [0, 1, 127, CallId::MAX] {
            for kind in 0..16 {
                let pushed = CallId(call).with_kind(kind);
                assert!(i16::try_from(pushed).is_ok());
                assert_eq!(CallId::split(pushed.into()), (u32::from(kind), CallId(call)));
            }
        }
        assert_eq!(CallId(CallId::MAX + 1).with_kind(6), 6);
    }
}
