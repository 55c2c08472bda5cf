//! The numbers of calls that block.
//!
//! An instrumented class has the number of the call at the call, so that recording it costs neither memory nor time. Names come
//! from this list when a recording is read.

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

/// The calls, from number 1 on. A number is never reused, so new ones come at the end.
const CALLS: [&str; 265] = [
    "java.lang.Object.wait",
    "java.lang.Thread.sleep",
    "java.lang.Thread.join",
    "java.lang.Process.waitFor",
    "java.util.concurrent.locks.LockSupport.park",
    "java.util.concurrent.locks.LockSupport.parkNanos",
    "java.util.concurrent.locks.LockSupport.parkUntil",
    "java.util.concurrent.locks.Lock.lock",
    "java.util.concurrent.locks.Lock.lockInterruptibly",
    "java.util.concurrent.locks.Lock.tryLock",
    "java.util.concurrent.locks.ReentrantLock.lock",
    "java.util.concurrent.locks.ReentrantLock.lockInterruptibly",
    "java.util.concurrent.locks.ReentrantLock.tryLock",
    "java.util.concurrent.locks.ReentrantReadWriteLock$ReadLock.lock",
    "java.util.concurrent.locks.ReentrantReadWriteLock$WriteLock.lock",
    "java.util.concurrent.locks.StampedLock.readLock",
    "java.util.concurrent.locks.StampedLock.writeLock",
    "java.util.concurrent.locks.Condition.await",
    "java.util.concurrent.locks.Condition.awaitNanos",
    "java.util.concurrent.locks.Condition.awaitUninterruptibly",
    "java.util.concurrent.locks.Condition.awaitUntil",
    "java.util.concurrent.Future.get",
    "java.util.concurrent.FutureTask.get",
    "java.util.concurrent.CompletableFuture.get",
    "java.util.concurrent.CompletableFuture.join",
    "java.util.concurrent.ForkJoinTask.get",
    "java.util.concurrent.ForkJoinTask.join",
    "java.util.concurrent.ForkJoinTask.invoke",
    "java.util.concurrent.ForkJoinPool.invoke",
    "java.util.concurrent.ScheduledFuture.get",
    "com.google.common.util.concurrent.ListenableFuture.get",
    "com.google.common.util.concurrent.AbstractFuture.get",
    "com.google.common.util.concurrent.SettableFuture.get",
    "java.util.concurrent.CountDownLatch.await",
    "java.util.concurrent.CyclicBarrier.await",
    "java.util.concurrent.Phaser.awaitAdvance",
    "java.util.concurrent.Phaser.arriveAndAwaitAdvance",
    "java.util.concurrent.Exchanger.exchange",
    "java.util.concurrent.Semaphore.acquire",
    "java.util.concurrent.Semaphore.acquireUninterruptibly",
    "java.util.concurrent.Semaphore.tryAcquire",
    "java.util.concurrent.ExecutorService.awaitTermination",
    "java.util.concurrent.ExecutorService.invokeAll",
    "java.util.concurrent.ExecutorService.invokeAny",
    "java.util.concurrent.ThreadPoolExecutor.awaitTermination",
    "java.util.concurrent.CompletionService.take",
    "java.util.concurrent.ExecutorCompletionService.take",
    "java.util.concurrent.BlockingQueue.take",
    "java.util.concurrent.BlockingQueue.put",
    "java.util.concurrent.BlockingQueue.poll",
    "java.util.concurrent.BlockingQueue.offer",
    "java.util.concurrent.BlockingDeque.take",
    "java.util.concurrent.BlockingDeque.takeFirst",
    "java.util.concurrent.BlockingDeque.takeLast",
    "java.util.concurrent.BlockingDeque.put",
    "java.util.concurrent.BlockingDeque.putFirst",
    "java.util.concurrent.BlockingDeque.putLast",
    "java.util.concurrent.LinkedBlockingQueue.take",
    "java.util.concurrent.LinkedBlockingQueue.put",
    "java.util.concurrent.LinkedBlockingQueue.poll",
    "java.util.concurrent.LinkedBlockingDeque.take",
    "java.util.concurrent.LinkedBlockingDeque.put",
    "java.util.concurrent.ArrayBlockingQueue.take",
    "java.util.concurrent.ArrayBlockingQueue.put",
    "java.util.concurrent.ArrayBlockingQueue.poll",
    "java.util.concurrent.PriorityBlockingQueue.take",
    "java.util.concurrent.PriorityBlockingQueue.poll",
    "java.util.concurrent.SynchronousQueue.take",
    "java.util.concurrent.SynchronousQueue.put",
    "java.util.concurrent.SynchronousQueue.poll",
    "java.util.concurrent.DelayQueue.take",
    "java.util.concurrent.LinkedTransferQueue.take",
    "java.util.concurrent.TransferQueue.transfer",
    "java.io.InputStream.read",
    "java.io.InputStream.readAllBytes",
    "java.io.InputStream.readNBytes",
    "java.io.InputStream.transferTo",
    "java.io.FileInputStream.<init>",
    "java.io.FileInputStream.read",
    "java.io.FileOutputStream.<init>",
    "java.io.FileOutputStream.write",
    "java.io.FileDescriptor.sync",
    "java.io.RandomAccessFile.<init>",
    "java.io.RandomAccessFile.read",
    "java.io.RandomAccessFile.readFully",
    "java.io.RandomAccessFile.write",
    "java.io.BufferedReader.readLine",
    "java.io.File.listFiles",
    "java.io.File.list",
    "java.nio.channels.FileChannel.force",
    "java.nio.channels.FileChannel.lock",
    "java.nio.channels.FileChannel.read",
    "java.nio.channels.FileChannel.write",
    "java.nio.channels.FileChannel.transferTo",
    "java.nio.channels.FileChannel.transferFrom",
    "java.nio.channels.Selector.select",
    "java.nio.channels.SocketChannel.connect",
    "java.nio.channels.SocketChannel.read",
    "java.nio.channels.SocketChannel.write",
    "java.nio.channels.ServerSocketChannel.accept",
    "java.nio.channels.DatagramChannel.receive",
    "java.nio.file.Files.readAllBytes",
    "java.nio.file.Files.readAllLines",
    "java.nio.file.Files.readString",
    "java.nio.file.Files.write",
    "java.nio.file.Files.writeString",
    "java.nio.file.Files.copy",
    "java.nio.file.Files.walkFileTree",
    "java.net.Socket.<init>",
    "java.net.Socket.connect",
    "java.net.ServerSocket.accept",
    "java.net.DatagramSocket.receive",
    "java.net.DatagramSocket.send",
    "java.net.InetAddress.getByName",
    "java.net.InetAddress.getAllByName",
    "java.net.InetAddress.getLocalHost",
    "java.net.InetAddress.getCanonicalHostName",
    "java.net.InetAddress.getHostName",
    "java.net.InetAddress.isReachable",
    "java.net.URL.openStream",
    "java.net.URL.getContent",
    "java.net.URLConnection.connect",
    "java.net.URLConnection.getInputStream",
    "java.net.HttpURLConnection.connect",
    "java.net.HttpURLConnection.getInputStream",
    "java.net.HttpURLConnection.getOutputStream",
    "java.net.HttpURLConnection.getResponseCode",
    "javax.net.ssl.HttpsURLConnection.connect",
    "javax.net.ssl.HttpsURLConnection.getInputStream",
    "javax.net.ssl.HttpsURLConnection.getOutputStream",
    "javax.net.ssl.HttpsURLConnection.getResponseCode",
    "java.net.http.HttpClient.send",
    "okhttp3.Call.execute",
    "java.sql.Statement.execute",
    "java.sql.Statement.executeQuery",
    "java.sql.Statement.executeUpdate",
    "java.sql.PreparedStatement.execute",
    "java.sql.PreparedStatement.executeQuery",
    "java.sql.PreparedStatement.executeUpdate",
    "java.sql.DriverManager.getConnection",
    "android.database.sqlite.SQLiteDatabase.openDatabase",
    "android.database.sqlite.SQLiteDatabase.openOrCreateDatabase",
    "android.database.sqlite.SQLiteDatabase.beginTransaction",
    "android.database.sqlite.SQLiteDatabase.beginTransactionNonExclusive",
    "android.database.sqlite.SQLiteDatabase.endTransaction",
    "android.database.sqlite.SQLiteDatabase.execSQL",
    "android.database.sqlite.SQLiteDatabase.rawQuery",
    "android.database.sqlite.SQLiteDatabase.query",
    "android.database.sqlite.SQLiteDatabase.insert",
    "android.database.sqlite.SQLiteDatabase.insertOrThrow",
    "android.database.sqlite.SQLiteDatabase.insertWithOnConflict",
    "android.database.sqlite.SQLiteDatabase.replace",
    "android.database.sqlite.SQLiteDatabase.update",
    "android.database.sqlite.SQLiteDatabase.updateWithOnConflict",
    "android.database.sqlite.SQLiteDatabase.delete",
    "android.database.sqlite.SQLiteStatement.execute",
    "android.database.sqlite.SQLiteStatement.executeInsert",
    "android.database.sqlite.SQLiteStatement.executeUpdateDelete",
    "android.database.sqlite.SQLiteStatement.simpleQueryForLong",
    "android.database.sqlite.SQLiteOpenHelper.getReadableDatabase",
    "android.database.sqlite.SQLiteOpenHelper.getWritableDatabase",
    "android.database.Cursor.moveToFirst",
    "android.database.Cursor.getCount",
    "androidx.sqlite.db.SupportSQLiteDatabase.query",
    "androidx.sqlite.db.SupportSQLiteDatabase.execSQL",
    "androidx.sqlite.db.SupportSQLiteDatabase.beginTransaction",
    "androidx.sqlite.db.SupportSQLiteDatabase.endTransaction",
    "androidx.sqlite.db.SupportSQLiteStatement.executeInsert",
    "androidx.sqlite.db.SupportSQLiteStatement.executeUpdateDelete",
    "android.os.IBinder.transact",
    "android.os.Binder.transact",
    "android.os.Messenger.send",
    "android.os.ConditionVariable.block",
    "android.os.HandlerThread.getLooper",
    "android.os.AsyncTask.get",
    "android.os.SystemClock.sleep",
    "android.content.SharedPreferences.getAll",
    "android.content.SharedPreferences.getString",
    "android.content.SharedPreferences.getStringSet",
    "android.content.SharedPreferences.getInt",
    "android.content.SharedPreferences.getLong",
    "android.content.SharedPreferences.getFloat",
    "android.content.SharedPreferences.getBoolean",
    "android.content.SharedPreferences.contains",
    "android.content.SharedPreferences.edit",
    "android.content.SharedPreferences$Editor.commit",
    "android.content.ContentResolver.query",
    "android.content.ContentResolver.insert",
    "android.content.ContentResolver.update",
    "android.content.ContentResolver.delete",
    "android.content.ContentResolver.bulkInsert",
    "android.content.ContentResolver.applyBatch",
    "android.content.ContentResolver.call",
    "android.content.ContentResolver.getType",
    "android.content.ContentResolver.openInputStream",
    "android.content.ContentResolver.openOutputStream",
    "android.content.ContentResolver.openFileDescriptor",
    "android.content.ContentProviderClient.query",
    "android.content.ContentProviderClient.call",
    "android.content.Context.bindService",
    "android.content.Context.startService",
    "android.content.Context.sendBroadcast",
    "android.content.Context.registerReceiver",
    "android.content.pm.PackageManager.getInstalledPackages",
    "android.content.pm.PackageManager.getInstalledApplications",
    "android.content.pm.PackageManager.getPackageInfo",
    "android.content.pm.PackageManager.getApplicationInfo",
    "android.content.pm.PackageManager.queryIntentActivities",
    "android.content.pm.PackageManager.resolveActivity",
    "android.content.res.AssetManager.open",
    "android.app.ActivityManager.getRunningAppProcesses",
    "android.app.ActivityManager.getRunningTasks",
    "android.app.ActivityManager.getMemoryInfo",
    "android.app.NotificationManager.notify",
    "android.net.ConnectivityManager.getActiveNetworkInfo",
    "android.net.ConnectivityManager.getActiveNetwork",
    "android.net.wifi.WifiManager.getConnectionInfo",
    "android.location.LocationManager.getLastKnownLocation",
    "android.location.Geocoder.getFromLocation",
    "android.telephony.TelephonyManager.getDeviceId",
    "android.media.MediaPlayer.prepare",
    "android.media.MediaPlayer.stop",
    "android.media.MediaPlayer.release",
    "android.media.MediaPlayer.reset",
    "android.media.MediaPlayer.create",
    "android.media.MediaCodec.dequeueInputBuffer",
    "android.media.MediaCodec.dequeueOutputBuffer",
    "android.media.MediaMetadataRetriever.setDataSource",
    "android.media.MediaMetadataRetriever.getFrameAtTime",
    "android.media.AudioTrack.write",
    "android.media.AudioRecord.read",
    "android.media.SoundPool.load",
    "android.hardware.Camera.open",
    "android.graphics.BitmapFactory.decodeFile",
    "android.graphics.BitmapFactory.decodeStream",
    "android.graphics.BitmapFactory.decodeResource",
    "com.google.android.gms.tasks.Tasks.await",
    "kotlinx.coroutines.BuildersKt.runBlocking",
    "kotlinx.coroutines.BuildersKt.runBlocking$default",
    "io.reactivex.rxjava3.core.Single.blockingGet",
    "io.reactivex.rxjava3.core.Maybe.blockingGet",
    "io.reactivex.rxjava3.core.Completable.blockingAwait",
    "io.reactivex.rxjava3.core.Observable.blockingFirst",
    "io.reactivex.rxjava3.core.Observable.blockingLast",
    "io.reactivex.rxjava3.core.Observable.blockingSingle",
    "io.reactivex.rxjava3.core.Observable.blockingForEach",
    "io.reactivex.rxjava3.core.Observable.blockingSubscribe",
    "io.reactivex.rxjava3.core.Flowable.blockingFirst",
    "io.reactivex.rxjava3.core.Flowable.blockingLast",
    "io.reactivex.rxjava3.core.Flowable.blockingSingle",
    "io.reactivex.rxjava3.core.Flowable.blockingForEach",
    "io.reactivex.rxjava3.core.Flowable.blockingSubscribe",
    "io.reactivex.Single.blockingGet",
    "io.reactivex.Maybe.blockingGet",
    "io.reactivex.Completable.blockingAwait",
    "io.reactivex.Observable.blockingFirst",
    "io.reactivex.Observable.blockingLast",
    "io.reactivex.Observable.blockingSingle",
    "io.reactivex.Observable.blockingForEach",
    "io.reactivex.Observable.blockingSubscribe",
    "io.reactivex.Flowable.blockingFirst",
    "io.reactivex.Flowable.blockingLast",
    "io.reactivex.Flowable.blockingSingle",
    "io.reactivex.Flowable.blockingForEach",
    "io.reactivex.Flowable.blockingSubscribe",
];

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
