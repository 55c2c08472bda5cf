//! Main waits for a latch, a condition, a barrier or a phaser that does not open.

use super::pools::runs;
use crate::chains::code::{Code, Interface, Task, quiet};
use crate::chains::label::{Culprit, Part};

const LATCH: &[&str] = &["java.util.concurrent.CountDownLatch.await"];
const CONDITION: &[&str] = &["java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject.await"];

fn latch(code: &mut Code, count: usize) -> String {
    code.any_field("CountDownLatch", &format!("new CountDownLatch({count})"))
}

/// A task returned before it counted the latch down; another one has.
pub(super) fn latch_returned_early(code: &mut Code, variant: usize) {
    let latch = latch(code, 1 + variant % 2);
    let pool = code.pool(1 + variant % 2);
    let empty = code.any_field("List<String>", "new CopyOnWriteArrayList<>()");
    if variant % 2 == 1 {
        let good = code.submitted(&pool, &[format!("{latch}.countDown();")]);
        code.line(format!("{}.get();", good.code));
    }
    let task = code.handed(
        &pool,
        Interface::Runnable,
        "submit",
        "",
        &[
            format!("if ({empty}.isEmpty()) {{\n    Stage.did(\"returned\");\n    return;\n}}"),
            format!("{latch}.countDown();"),
        ],
    );
    code.line(format!("{};", task.code));
    code.line("Stage.until(\"returned\");");
    never_counted_down(code, &latch, &task, variant);
}

pub(super) fn latch_task_threw(code: &mut Code, variant: usize) {
    let latch = latch(code, 1);
    let pool = code.pool(1 + variant % 2);
    let empty = code.any_field("List<String>", "new CopyOnWriteArrayList<>()");
    let body = [
        "Stage.did(\"threw\");".to_owned(),
        format!("String first = {empty}.iterator().next();"),
        format!("if (first != null) {{\n    {latch}.countDown();\n}}"),
    ];
    let by = if variant % 3 == 2 { "execute" } else { "submit" };
    let task = code.handed(&pool, Interface::Runnable, by, "", &body);
    code.line(format!("{};", task.code));
    code.line("Stage.until(\"threw\");");
    never_counted_down(code, &latch, &task, variant);
}

fn never_counted_down(code: &mut Code, latch: &str, task: &Task, variant: usize) {
    let statement = if variant.is_multiple_of(3) { "await(1, TimeUnit.MINUTES)" } else { "await()" };
    code.wait(&format!("{latch}.{statement};"), &["latch"], LATCH);
    code.label.causes = vec!["latch-never-counted-down"];
    // No thread must move: the task that has ended may be named.
    code.label.culprits = vec![Culprit {
        thread: Part::optional("*"),
        task: Part::optional(&task.name),
        site: Part::optional(&task.site),
    }];
    code.alone = true;
}

/// A task is slow before it counts the latch down.
pub(super) fn latch_slow_task(code: &mut Code, variant: usize) {
    let latch = latch(code, 1);
    let pool = code.pool(1 + variant % 3);
    let slow = code.slow();
    let task = code.submitted(&pool, &[slow.call.clone(), format!("{latch}.countDown();")]);
    code.line(format!("{};", task.code));
    code.wait(&format!("{latch}.await();"), &["latch"], LATCH);
    code.label.causes = vec!["slow-task"];
    code.label.culprits = vec![task.on(&pool.workers[0])];
    runs(code, &pool.workers[0], &task, &slow);
}

/// Of some tasks with the same code, all but one have counted the latch down.
pub(super) fn latch_slow_second(code: &mut Code, variant: usize) {
    let count = 2 + variant % 3;
    let latch = latch(code, count);
    let pool = code.pool(1);
    let slow = code.slow();
    let noun = code.noun();
    let task = code.task_as(
        variant % 2,
        Interface::Runnable,
        &format!("start{noun}"),
        &[format!("if (last) {{\n    {}\n}}", slow.call), format!("{latch}.countDown();")],
    );
    let (mark, site) = code.site();
    let (first, rest) = task.code.split_once('\n').unwrap();
    let line = format!("{}.execute({first}{mark}\n{rest});", pool.field);
    code.method(&format!("void start{noun}(boolean last)"), &[line]);
    code.line(format!("for (int i = 1; i <= {count}; i++) {{"));
    code.line(format!("    start{noun}(i == {count});"));
    code.line("}");
    code.wait(&format!("{latch}.await();"), &["latch"], LATCH);
    let task = Task { site, ..task };
    code.label.causes = vec!["slow-task"];
    code.label.culprits = vec![task.on(&pool.workers[0])];
    runs(code, &pool.workers[0], &task, &slow);
}

/// No thread signals the condition.
pub(super) fn condition_no_signal(code: &mut Code, variant: usize) {
    let lock = code.any_field("ReentrantLock", "new ReentrantLock()");
    let condition = code.any_field("Condition", &format!("{lock}.newCondition()"));
    if variant % 2 == 1 {
        let pool = code.pool(1);
        let other = code.submitted(&pool, &[format!("{lock}.lock();"), format!("{lock}.unlock();")]);
        code.line(format!("{}.get();", other.code));
    }
    code.line(format!("{lock}.lock();"));
    code.wait(&format!("{condition}.await();"), &["condition"], CONDITION);
    code.label.causes = vec!["never-signalled", "never-completed"];
    code.label.culprits = vec![Culprit::default()];
    code.alone = true;
}

/// The condition was signalled before main waited for it.
pub(super) fn condition_lost_signal(code: &mut Code, variant: usize) {
    let lock = code.any_field("ReentrantLock", &format!("new ReentrantLock({})", variant % 2 == 1));
    let condition = code.any_field("Condition", &format!("{lock}.newCondition()"));
    let signal = if variant.is_multiple_of(3) { "signalAll" } else { "signal" };
    let pool = code.pool(1);
    let task = code.submitted(
        &pool,
        &[
            format!("{lock}.lock();"),
            format!("try {{\n    {condition}.{signal}();\n}} finally {{\n    {lock}.unlock();\n}}"),
        ],
    );
    code.line(format!("{}.get();", task.code));
    code.line(format!("{lock}.lock();"));
    code.wait(&format!("{condition}.await();"), &["condition"], CONDITION);
    lost(code, &task, &pool.workers[0]);
}

fn lost(code: &mut Code, task: &Task, thread: &str) {
    code.label.causes = vec!["lost-wake-up"];
    code.label.culprits = vec![Culprit { thread: Part::optional(thread), ..task.owner(thread) }];
    code.alone = true;
}

/// As [`condition_lost_signal`], for a monitor.
pub(super) fn object_lost_notify(code: &mut Code, variant: usize) {
    let lock = code.any_field("Object", "new StringBuilder()");
    let notify = if variant.is_multiple_of(3) { "notifyAll" } else { "notify" };
    let name = code.thread_name();
    let task = code.thread(&name, &[format!("synchronized ({lock}) {{\n    {lock}.{notify}();\n}}")]);
    code.line(format!("{}.join();", task.code));
    code.line(format!("synchronized ({lock}) {{"));
    code.wait(&format!("    {lock}.wait();"), &["condition", "monitor"], &["java.lang.Object.wait"]);
    code.line("}");
    lost(code, &task, &name);
}

/// One party of the barrier has arrived, another one is slow.
pub(super) fn barrier(code: &mut Code, variant: usize) {
    let barrier = code.any_field("CyclicBarrier", "new CyclicBarrier(3)");
    party(code, variant, &format!("{barrier}.await();"), &["java.util.concurrent.CyclicBarrier.await"]);
}

pub(super) fn phaser(code: &mut Code, variant: usize) {
    let phaser = code.any_field("Phaser", "new Phaser(3)");
    let arrive = format!("{phaser}.arriveAndAwaitAdvance();");
    party(code, variant, &arrive, &["java.util.concurrent.Phaser.arriveAndAwaitAdvance"]);
}

fn party(code: &mut Code, variant: usize, arrive: &str, frames: &[&str]) {
    let slow = code.slow();
    let pool = code.pool(2 + variant % 2);
    let first = code.submitted(&pool, &[quiet(&[arrive.to_owned()])]);
    let second = code.submitted(&pool, &[slow.call.clone(), quiet(&[arrive.to_owned()])]);
    code.line(format!("{};", first.code));
    code.line(format!("Stage.waits(\"{}\");", pool.workers[0]));
    code.line(format!("{};", second.code));
    code.wait(arrive, &["barrier"], frames);
    let worker = &pool.workers[1];
    code.label.culprits = vec![second.owner(worker)];
    // That the second task is to arrive is in no recording.
    code.label.may_be_silent = true;
    runs(code, worker, &second, &slow);
    let frames: Vec<String> = frames.iter().map(|frame| (*frame).to_owned()).collect();
    code.fact(&pool.workers[0], &frames);
}
