//! The cause that a single recorded wait is.

use trace_format::event::WaitKind;

use super::activity::{Activity, FrameView, classify, parts};
use super::id::CauseId;
use super::own::is_own;
use crate::waited::Waited;

/// Parts of the classes whose objects threads are parked for, and the cause.
const PARKED_FOR: &[(&[&str], CauseId)] = &[
    (&["kotlinx.coroutines.BlockingCoroutine"], CauseId::RunBlocking),
    (&["Semaphore"], CauseId::PermitWait),
    (&["Lock"], CauseId::LockWait),
    (&["$ConditionObject", "Future", "ForkJoin", "CountDownLatch", "CyclicBarrier"], CauseId::FutureWait),
    (&["Phaser", "Exchanger", "Queue", "Deque", "Executor", "Tasks"], CauseId::FutureWait),
];

/// The cause by what is recorded of a wait. A blocking call of which no table says what it waits for is no more than that.
pub fn of_recorded(wait: Waited<'_>) -> CauseId {
    match wait.kind {
        WaitKind::Monitor => CauseId::LockWait,
        WaitKind::Sleep => CauseId::Sleep,
        WaitKind::Join => CauseId::ThreadJoin,
        WaitKind::ObjectWait => CauseId::ObjectWait,
        WaitKind::Blocking => by_call(wait).unwrap_or(CauseId::BlockingCall),
        // Parked by a call that any queue or lock makes.
        _ => by_call(wait).filter(|cause| *cause != CauseId::Park).unwrap_or_else(|| parked_for(wait.class)),
    }
}

/// The two innermost frames of the call, as a dump has them: the method of the object's class, which the platform may implement,
/// and the method that the program calls. None if the call is not known.
pub(super) fn called(wait: Waited<'_>) -> impl Iterator<Item = FrameView<'_>> {
    let name = wait.call.name().map(parts);
    let frame = |class| name.map(|(_, method)| FrameView::Java { class, method, native: false });
    let object = wait.class.filter(|class| !is_own(class)).and_then(frame);
    object.into_iter().chain(name.and_then(|(class, _)| frame(class)))
}

fn by_call(wait: Waited<'_>) -> Option<CauseId> {
    match classify(called(wait), "") {
        Activity::Of(cause) if cause.kind().is_wait() => Some(cause),
        _ => None,
    }
}

fn parked_for(class: Option<&str>) -> CauseId {
    let class = class.unwrap_or_default();
    // `ReentrantLock$NonfairSync`, but not its condition.
    let condition = class.ends_with("$ConditionObject");
    let is_of = |parts: &[&str]| parts.iter().any(|part| class.contains(part));
    let row =
        PARKED_FOR.iter().find(|(parts, cause)| is_of(parts) && !(condition && *cause == CauseId::LockWait));
    row.map_or(CauseId::Park, |(_, cause)| *cause)
}

#[cfg(test)]
mod tests {
    use trace_format::event::CallId;

    use super::*;

    fn cause(kind: WaitKind, call: CallId, class: &str) -> CauseId {
        of_recorded(Waited { kind, call, class: Some(class).filter(|class| !class.is_empty()) })
    }

    fn blocking(call: &str, class: &str) -> CauseId {
        let call = parts(call);
        cause(WaitKind::Blocking, CallId::of(call.0, call.1), class)
    }

    #[test]
    fn streams_wait_for_what_their_class_reads() {
        let read = "java.io.InputStream.read";
        let line = "java.io.BufferedReader.readLine";
        for (call, class, expected) in [
            (read, "java.net.SocketInputStream", CauseId::NetworkIo),
            (read, "java.net.Socket$SocketInputStream", CauseId::NetworkIo),
            (read, "sun.security.ssl.SSLSocketImpl$AppInputStream", CauseId::NetworkIo),
            (read, "java.lang.ProcessImpl$ProcessPipeInputStream", CauseId::ProcessWait),
            (read, "java.io.FileInputStream", CauseId::DiskIo),
            (read, "java.io.BufferedInputStream", CauseId::BlockingCall),
            (read, "com.acme.Feed", CauseId::BlockingCall),
            (line, "java.io.BufferedReader", CauseId::BlockingCall),
            (line, "java.io.LineNumberReader", CauseId::BlockingCall),
            ("com.acme.Bus.call", "java.io.FileInputStream", CauseId::BlockingCall),
            ("com.acme.Bus.call", "java.net.Socket", CauseId::BlockingCall),
        ] {
            assert_eq!(blocking(call, class), expected, "{call} on {class}");
        }
    }

    #[test]
    fn calls_decide_where_the_class_is_the_apps_own() {
        for (call, class, expected) in [
            ("java.net.Socket.connect", "com.acme.Proxied", CauseId::NetworkIo),
            ("java.lang.Process.waitFor", "com.acme.Remote", CauseId::ProcessWait),
            ("java.io.FileDescriptor.sync", "java.io.FileDescriptor", CauseId::Fsync),
            (
                "android.content.SharedPreferences$Editor.commit",
                "com.acme.Encrypted$Editor",
                CauseId::SharedPreferences,
            ),
            ("android.os.IBinder.transact", "android.os.BinderProxy", CauseId::BinderCall),
            ("okhttp3.Call.execute", "com.acme.Traced", CauseId::NetworkIo),
        ] {
            assert_eq!(blocking(call, class), expected, "{call} on {class}");
        }
        let parked = |class: &str, method: &str, object: &str| {
            cause(WaitKind::Park, CallId::of(class, method), object)
        };
        assert_eq!(parked("java.util.concurrent.Future", "get", "com.acme.Promise"), CauseId::FutureWait);
        assert_eq!(parked("java.util.concurrent.locks.Lock", "lock", "com.acme.Guard"), CauseId::LockWait);
        let park = |object| parked("java.util.concurrent.locks.LockSupport", "park", object);
        assert_eq!(park("java.util.concurrent.Semaphore$NonfairSync"), CauseId::PermitWait);
        assert_eq!(park("com.acme.Gate"), CauseId::Park);
    }

    /// The calls of which the name alone does not say what they wait for.
    const UNSAID: &[&str] = &[
        "java.io.InputStream.read",
        "java.io.InputStream.readAllBytes",
        "java.io.InputStream.readNBytes",
        "java.io.InputStream.transferTo",
        "java.io.BufferedReader.readLine",
        "java.nio.file.Files.copy",
        "java.sql.Statement.execute",
        "java.sql.Statement.executeQuery",
        "java.sql.Statement.executeUpdate",
        "java.sql.PreparedStatement.execute",
        "java.sql.PreparedStatement.executeQuery",
        "java.sql.PreparedStatement.executeUpdate",
        "java.sql.DriverManager.getConnection",
        "android.database.Cursor.moveToFirst",
        "android.database.Cursor.getCount",
        "android.os.HandlerThread.getLooper",
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
        "java.io.DataInputStream.readFully",
        "java.io.DataInputStream.readUTF",
        "java.io.ObjectInputStream.readObject",
        "java.util.Scanner.hasNextLine",
        "java.util.Scanner.nextLine",
    ];

    #[test]
    fn each_call_has_a_cause_or_is_known_to_have_none() {
        let calls = (1..).map(CallId).take_while(|call| call.name().is_some());
        let unsaid: Vec<_> = calls
            .filter(|call| by_call(Waited { kind: WaitKind::Blocking, call: *call, class: None }).is_none())
            .filter_map(CallId::name)
            .collect();
        assert_eq!(unsaid, UNSAID);
    }
}
