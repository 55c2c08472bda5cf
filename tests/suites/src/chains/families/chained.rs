//! Main waits for a thread that waits itself: the last one must move.

use super::pools::{get, runs, slow_in};
use crate::chains::code::{Code, quiet};

const FUTURE: &[&str] = &["java.util.concurrent.FutureTask.get"];

/// The task that main waits for waits for a lock, whose owner is slow.
pub(super) fn future_then_lock(code: &mut Code, variant: usize) {
    let lock = code.any_field("ReentrantLock", "new ReentrantLock()");
    let slow = code.slow();
    let name = code.thread_name();
    let owner = code.thread(
        &name,
        &[
            format!("{lock}.lock();"),
            "Stage.did(\"taken\");".to_owned(),
            slow.call.clone(),
            format!("{lock}.unlock();"),
        ],
    );
    let pool = code.pool(1 + variant % 2);
    let task = code.submitted(&pool, &[format!("{lock}.lock();"), format!("{lock}.unlock();")]);
    code.line(format!("{};", owner.code));
    code.line("Stage.until(\"taken\");");
    code.line(format!("Future<?> result = {};", task.code));
    get(code, "result", FUTURE);
    code.label.causes = vec!["lock-held"];
    code.label.culprits = vec![owner.owner(&name)];
    runs(code, &name, &owner, &slow);
    code.fact(&pool.workers[0], std::slice::from_ref(&task.name));
}

/// The task that main waits for waits for a task of another pool, which is slow.
pub(super) fn future_then_future(code: &mut Code, variant: usize) {
    let (front, back) = (code.pool(1 + variant % 2), code.pool(1 + variant % 3));
    let (last, slow) = slow_in(code, &back, "last");
    let task = code.submitted(&front, &[quiet(&[format!("{}.get();", last.code)])]);
    code.line(format!("Future<?> result = {};", task.code));
    get(code, "result", FUTURE);
    code.label.causes = vec!["slow-task"];
    code.label.culprits = vec![last.on(&back.workers[0])];
    runs(code, &back.workers[0], &last, &slow);
    code.fact(&front.workers[0], &[task.name.clone(), FUTURE[0].to_owned()]);
}

/// Main waits for a latch that a task counts down after it has waited for the future of another.
pub(super) fn latch_then_future(code: &mut Code, variant: usize) {
    let latch = code.any_field("CountDownLatch", "new CountDownLatch(1)");
    let (front, back) = (code.pool(1), code.pool(1 + variant % 3));
    let (last, slow) = slow_in(code, &back, "last");
    let task =
        code.submitted(&front, &[quiet(&[format!("{}.get();", last.code)]), format!("{latch}.countDown();")]);
    code.line(format!("{};", task.code));
    code.wait(&format!("{latch}.await();"), &["latch"], &["java.util.concurrent.CountDownLatch.await"]);
    code.label.causes = vec!["slow-task"];
    code.label.culprits = vec![last.on(&back.workers[0])];
    runs(code, &back.workers[0], &last, &slow);
    code.fact(&front.workers[0], std::slice::from_ref(&task.name));
}

/// Main waits for a lock whose owner waits for a monitor, whose owner is slow.
pub(super) fn lock_then_monitor(code: &mut Code, variant: usize) {
    let lock = code.any_field("ReentrantLock", &format!("new ReentrantLock({})", variant.is_multiple_of(2)));
    let monitor = code.any_field("Object", "new StringBuilder()");
    let slow = code.slow();
    let (one, two) = (code.thread_name(), code.thread_name());
    let last = code.thread(
        &two,
        &[format!("synchronized ({monitor}) {{\n    Stage.did(\"monitor\");\n    {}\n}}", slow.call)],
    );
    let first = code.thread(
        &one,
        &[
            format!("{lock}.lock();"),
            "Stage.did(\"lock\");".to_owned(),
            format!("synchronized ({monitor}) {{\n    {lock}.unlock();\n}}"),
        ],
    );
    code.line(format!("{};", last.code));
    code.line("Stage.until(\"monitor\");");
    code.line(format!("{};", first.code));
    code.line("Stage.until(\"lock\");");
    code.wait(
        &format!("{lock}.lock();"),
        &["lock"],
        &["java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire*"],
    );
    code.label.causes = vec!["lock-held"];
    code.label.culprits = vec![last.owner(&two)];
    runs(code, &two, &last, &slow);
    code.fact(&one, std::slice::from_ref(&first.name));
}
