//! Main waits for something that another thread can only do after main has moved.

use super::pools::get;
use crate::chains::code::{Code, Task, quiet};
use crate::chains::label::{Culprit, Part};

const FUTURE: &[&str] = &["java.util.concurrent.FutureTask.get"];
const ACQUIRE: &str = "java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire*";

/// Each thread of a cycle is a correct answer.
fn cycle(code: &mut Code, others: &[(&Task, &str)]) {
    code.label.causes = vec!["self-made-deadlock"];
    code.label.cycle = true;
    let main = Culprit { thread: Part::needed("main"), ..Culprit::default() };
    code.label.culprits = others.iter().map(|(task, thread)| task.owner(thread)).chain([main]).collect();
}

/// Main owns a lock while it waits for the future of a task that wants the lock.
pub(super) fn lock_and_future(code: &mut Code, variant: usize) {
    let lock = code.any_field("ReentrantLock", &format!("new ReentrantLock({})", variant.is_multiple_of(2)));
    let pool = code.pool(1 + variant % 2);
    let by = if variant.is_multiple_of(3) {
        quiet(&[format!("{lock}.lockInterruptibly();")])
    } else {
        format!("{lock}.lock();")
    };
    let task = code.submitted(&pool, &[by, format!("{lock}.unlock();")]);
    let worker = &pool.workers[0];
    code.line(format!("{lock}.lock();"));
    code.line(format!("Future<?> result = {};", task.code));
    code.line(format!("Stage.waits(\"{worker}\");"));
    get(code, "result", FUTURE);
    cycle(code, &[(&task, worker)]);
    code.fact(worker, &[task.name.clone(), ACQUIRE.to_owned()]);
}

/// As [`lock_and_future`], with a block or a method that is synchronized.
pub(super) fn monitor_and_future(code: &mut Code, variant: usize) {
    let pool = code.pool(1 + variant % 2);
    let worker = pool.workers[0].clone();
    let lock = code.any_field("Object", "new StringBuilder()");
    let held = code.any_field("AtomicInteger", "new AtomicInteger()");
    let body = if variant.is_multiple_of(2) {
        format!("synchronized ({lock}) {{\n    {held}.incrementAndGet();\n}}")
    } else {
        let update = format!("update{}", code.noun());
        let add = format!("{held}.incrementAndGet();");
        code.method(&format!("void {update}()"), &[format!("synchronized ({lock}) {{\n    {add}\n}}")]);
        format!("{update}();")
    };
    let task = code.submitted(&pool, &[body]);
    code.line(format!("synchronized ({lock}) {{"));
    code.line(format!("Future<?> result = {};", task.code));
    code.line(format!("Stage.waits(\"{worker}\");"));
    get(code, "result", FUTURE);
    code.line("}");
    cycle(code, &[(&task, &worker)]);
    code.fact(&worker, std::slice::from_ref(&task.name));
}

/// Main owns a lock while it waits for a latch; the task wants the lock before it counts the latch down.
pub(super) fn lock_and_latch(code: &mut Code, variant: usize) {
    let lock = code.any_field("ReentrantLock", "new ReentrantLock()");
    let latch = code.any_field("CountDownLatch", "new CountDownLatch(1)");
    let pool = code.pool(1 + variant % 3);
    let worker = &pool.workers[0];
    let task = code.submitted(
        &pool,
        &[
            format!("{lock}.lock();"),
            format!("try {{\n    {latch}.countDown();\n}} finally {{\n    {lock}.unlock();\n}}"),
        ],
    );
    code.line(format!("{lock}.lock();"));
    code.line(format!("{};", task.code));
    code.line(format!("Stage.waits(\"{worker}\");"));
    code.wait(&format!("{latch}.await();"), &["latch"], &["java.util.concurrent.CountDownLatch.await"]);
    cycle(code, &[(&task, worker)]);
    code.fact(worker, &[task.name.clone(), ACQUIRE.to_owned()]);
}

/// Main joins a thread in a synchronized block that the thread wants to enter.
pub(super) fn monitor_and_join(code: &mut Code, variant: usize) {
    let lock = code.any_field("Object", "new StringBuilder()");
    let held = code.any_field("AtomicInteger", "new AtomicInteger()");
    let name = code.thread_name();
    let task = code.thread(&name, &[format!("synchronized ({lock}) {{\n    {held}.incrementAndGet();\n}}")]);
    code.line(format!("synchronized ({lock}) {{"));
    code.line(format!("Thread thread = {};", task.code));
    code.line(format!("Stage.waits(\"{name}\");"));
    let join = if variant.is_multiple_of(2) { "thread.join();" } else { "thread.join(60_000);" };
    code.wait(join, &["thread"], &["java.lang.Thread.join"]);
    code.line("}");
    cycle(code, &[(&task, &name)]);
    code.fact(&name, std::slice::from_ref(&task.name));
}

/// Two threads take two locks in different order; one of the locks may be a monitor.
pub(super) fn two_locks(code: &mut Code, variant: usize) {
    let first = code.any_field("ReentrantLock", "new ReentrantLock()");
    let second = code.any_field("ReentrantLock", "new ReentrantLock()");
    let name = code.thread_name();
    let monitor = variant % 2 == 1;
    let own = if monitor {
        format!(
            "synchronized ({second}) {{\n    Stage.did(\"second\");\n    Stage.until(\"first\");\n    {first}.lock();\n}}"
        )
    } else {
        format!("{second}.lock();\nStage.did(\"second\");\nStage.until(\"first\");\n{first}.lock();")
    };
    let task = code.thread(&name, &[own]);
    code.line(format!("{first}.lock();"));
    code.line("Stage.did(\"first\");");
    code.line(format!("{};", task.code));
    code.line("Stage.until(\"second\");");
    code.line(format!("Stage.waits(\"{name}\");"));
    if monitor {
        let wait = format!("synchronized ({second}) {{\n    {second}.lock();\n}}");
        code.wait(&wait, &["monitor", "lock"], &[]);
    } else {
        code.wait(&format!("{second}.lock();"), &["lock"], &[ACQUIRE]);
    }
    cycle(code, &[(&task, &name)]);
    code.fact(&name, &[task.name.clone(), ACQUIRE.to_owned()]);
}

/// Main waits for a lock whose owner waits for a monitor whose owner waits for a lock that main owns.
pub(super) fn of_three(code: &mut Code, variant: usize) {
    let mine = code.any_field("ReentrantLock", "new ReentrantLock()");
    let theirs = code.any_field("ReentrantLock", "new ReentrantLock()");
    let monitor = code.any_field("Object", "new StringBuilder()");
    let (one, two) = (code.thread_name(), code.thread_name());
    let first = code.thread(&one, &[
        format!("synchronized ({monitor}) {{\n    Stage.did(\"monitor\");\n    Stage.until(\"mine\");\n    {mine}.lock();\n}}"),
    ]);
    let body = [
        format!("{theirs}.lock();"),
        "Stage.did(\"theirs\");".to_owned(),
        "Stage.until(\"monitor\");".to_owned(),
        format!("synchronized ({monitor}) {{\n    {theirs}.unlock();\n}}"),
    ];
    let (second, two) = if variant.is_multiple_of(2) {
        (code.thread(&two, &body), two)
    } else {
        let pool = code.pool(1);
        (code.submitted(&pool, &body), pool.workers[0].clone())
    };
    code.line(format!("{mine}.lock();"));
    code.line("Stage.did(\"mine\");");
    for task in [&first, &second] {
        code.line(format!("{};", task.code));
    }
    code.line("Stage.until(\"theirs\");");
    for thread in [&one, &two] {
        code.line(format!("Stage.waits(\"{thread}\");"));
    }
    code.wait(&format!("{theirs}.lock();"), &["lock"], &[ACQUIRE]);
    cycle(code, &[(&first, &one), (&second, &two)]);
    code.fact(&one, &[first.name.clone(), ACQUIRE.to_owned()]);
    code.fact(&two, std::slice::from_ref(&second.name));
}
