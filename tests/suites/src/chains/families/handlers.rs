//! Main waits for a message of a HandlerThread, whose looper is busy (fakes of AOSP's `android.os`).

use super::pools::runs;
use crate::chains::code::{Code, Interface, Pool};

/// A HandlerThread that runs, and a handler of it.
fn handler(code: &mut Code) -> (Pool, String) {
    let (field, name) = (code.noun().to_uppercase(), code.thread_name());
    let start = format!("start{}Thread", code.noun());
    code.method(
        &format!("android.os.HandlerThread {start}()"),
        &[
            format!("android.os.HandlerThread thread = new android.os.HandlerThread(\"{name}\");"),
            "thread.start();".to_owned(),
            "return thread;".to_owned(),
        ],
    );
    code.field("android.os.HandlerThread", &field, &format!("{start}()"));
    (Pool { field: another(code, &field), workers: vec![name] }, field)
}

/// A handler of its own of the thread's looper.
fn another(code: &mut Code, thread: &str) -> String {
    code.any_field("android.os.Handler", &format!("new android.os.Handler({thread}.getLooper())"))
}

/// A task's code that is recorded: a body that only returns a constant is not.
fn sums(code: &mut Code) -> [String; 1] {
    let store = code.any_field("AtomicInteger", "new AtomicInteger()");
    [format!("for (int i = 0; i < 40; i++) {{\n    {store}.addAndGet(i);\n}}")]
}

/// A slow message is before the one that main waits for.
pub(super) fn slow_message(code: &mut Code, variant: usize) {
    let (pool, thread) = handler(code);
    let slow = code.slow();
    let body = ["Stage.did(\"first\");".to_owned(), slow.call.clone()];
    let first = code.handed(&pool, Interface::Runnable, "post", "", &body);
    code.line(format!("{};", first.code));
    code.line("Stage.until(\"first\");");
    let field = if variant % 2 == 1 { another(code, &thread) } else { pool.field.clone() };
    if variant.is_multiple_of(3) {
        let latch = code.any_field("CountDownLatch", "new CountDownLatch(1)");
        let other = Pool { field, workers: pool.workers.clone() };
        let last = code.handed(&other, Interface::Runnable, "post", "", &[format!("{latch}.countDown();")]);
        code.line(format!("{};", last.code));
        code.wait(&format!("{latch}.await();"), &["latch"], &["java.util.concurrent.CountDownLatch.await"]);
    } else {
        let entry = code.entry.clone();
        let body = sums(code);
        let task = code.task(Interface::Callable, &entry, &body);
        code.line(format!("FutureTask<Object> result = new FutureTask<>({});", task.code));
        code.line(format!("{field}.post(result);"));
        code.wait("result.get();", &["future"], &["java.util.concurrent.FutureTask.get"]);
    }
    code.label.causes = vec!["long-queue", "slow-task"];
    code.label.culprits = vec![first.on(&pool.workers[0])];
    runs(code, &pool.workers[0], &first, &slow);
}

/// The message that main waits for is slow itself.
pub(super) fn slow_itself(code: &mut Code, variant: usize) {
    let (pool, _) = handler(code);
    let slow = code.slow();
    let latch = code.any_field("CountDownLatch", "new CountDownLatch(1)");
    let body = [slow.call.clone(), format!("{latch}.countDown();")];
    let by = ["post", "postAtFrontOfQueue"][variant % 2];
    let task = code.handed(&pool, Interface::Runnable, by, "", &body);
    code.line(format!("{};", task.code));
    code.wait(&format!("{latch}.await();"), &["latch"], &["java.util.concurrent.CountDownLatch.await"]);
    code.label.causes = vec!["slow-task"];
    code.label.culprits = vec![task.on(&pool.workers[0])];
    runs(code, &pool.workers[0], &task, &slow);
}

/// Thousands of short messages are before the one that main waits for.
pub(super) fn storm(code: &mut Code, variant: usize) {
    let (pool, _) = handler(code);
    let step = code.any_field("AtomicInteger", "new AtomicInteger()");
    let nap = crate::chains::code::quiet(&[format!("Thread.sleep(2 + {step}.incrementAndGet() % 2);")]);
    let short = code.handed(&pool, Interface::Runnable, "post", "", &[nap]);
    code.line(format!("for (int i = 0; i < {}; i++) {{", 4_000 + 500 * variant));
    code.line(format!("    {};", short.code));
    code.line("}");
    let entry = code.entry.clone();
    let body = sums(code);
    let task = code.task(Interface::Callable, &entry, &body);
    let (mark, site) = code.site();
    code.line(format!("FutureTask<Object> result = new FutureTask<>({});", task.code));
    code.line(format!("{}.post(result);{mark}", pool.field));
    let task = crate::chains::code::Task { site, ..task };
    code.wait("result.get();", &["future"], &["java.util.concurrent.FutureTask.get"]);
    let worker = &pool.workers[0];
    code.label.causes = vec!["long-queue"];
    code.label.culprits = vec![
        short.owner(worker),
        crate::chains::label::Culprit {
            thread: crate::chains::label::Part::optional(worker),
            ..task.nowhere()
        },
    ];
    code.fact(worker, &["android.os.Looper.loop".to_owned()]);
}
