//! Main waits for a lock or a permit that another thread has.

use super::pools::runs;
use crate::chains::code::{Code, Slow, Task, quiet};
use crate::chains::label::{Culprit, Part};

const AQS: &str = "java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire*";

/// Something that is taken, what takes and gives it back, and main's wait for it.
struct Taken {
    take: String,
    give: String,
    wait: String,
    waits_for: &'static [&'static str],
    frames: Vec<&'static str>,
}

/// A slow call between taking and giving back.
fn held(taken: &Taken, slow: &Slow) -> Vec<String> {
    vec![
        taken.take.clone(),
        "Stage.did(\"taken\");".to_owned(),
        format!("try {{\n    {}\n}} finally {{\n    {}\n}}", slow.call, taken.give),
    ]
}

/// The owner is a task of an executor or a thread.
fn owned(code: &mut Code, taken: &Taken, by_task: bool, variant: usize) -> (Task, String) {
    let slow = code.slow();
    let body = held(taken, &slow);
    let (task, thread) = if by_task {
        let pool = code.pool(1 + variant % 3);
        (code.submitted(&pool, &body), pool.workers[0].clone())
    } else {
        let name = code.thread_name();
        (code.thread(&name, &body), name)
    };
    code.line(format!("{};", task.code));
    code.line("Stage.until(\"taken\");");
    code.wait(&taken.wait, taken.waits_for, &taken.frames);
    code.label.causes = vec!["lock-held"];
    code.label.culprits = vec![task.owner(&thread)];
    runs(code, &thread, &task, &slow);
    (task, thread)
}

/// A ReentrantLock, fair or not.
fn lock(code: &mut Code, variant: usize, by: &str) -> Taken {
    let fair = if variant.is_multiple_of(2) { "" } else { "true" };
    let lock = code.any_field("Lock", &format!("new ReentrantLock({fair})"));
    Taken {
        take: format!("{lock}.lock();"),
        give: format!("{lock}.unlock();"),
        wait: format!("{lock}.{by};"),
        waits_for: &["lock"],
        frames: vec![AQS],
    }
}

pub(super) fn lock_of_task(code: &mut Code, variant: usize) {
    let taken = lock(code, variant, "lock()");
    owned(code, &taken, true, variant);
}

pub(super) fn lock_of_thread(code: &mut Code, variant: usize) {
    let taken = lock(code, variant, "lock()");
    owned(code, &taken, false, variant);
}

pub(super) fn lock_interruptibly(code: &mut Code, variant: usize) {
    let by = if variant.is_multiple_of(2) { "lockInterruptibly()" } else { "tryLock(1, TimeUnit.MINUTES)" };
    let mut taken = lock(code, variant, by);
    taken.frames = vec!["java.util.concurrent.locks.ReentrantLock.*ock*"];
    owned(code, &taken, variant.is_multiple_of(3), variant);
}

/// A thread has ended without giving its lock back.
pub(super) fn leaked_lock(code: &mut Code, variant: usize) {
    let taken = lock(code, variant, "lock()");
    let name = code.thread_name();
    let done = code.any_field("AtomicInteger", "new AtomicInteger()");
    let body = [taken.take.clone(), format!("if ({done}.incrementAndGet() > 1) {{\n    {}\n}}", taken.give)];
    let task = code.thread(&name, &body);
    code.line(format!("Stage.ended({});", task.code));
    code.wait(&taken.wait, taken.waits_for, &taken.frames);
    code.label.culprits = vec![task.owner(&name)];
    code.alone = true;
}

fn pair(code: &mut Code, variant: usize) -> String {
    let fair = if variant.is_multiple_of(2) { "" } else { "true" };
    code.any_field("ReentrantReadWriteLock", &format!("new ReentrantReadWriteLock({fair})"))
}

pub(super) fn read_behind_writer(code: &mut Code, variant: usize) {
    let pair = pair(code, variant);
    let taken = Taken {
        take: format!("{pair}.writeLock().lock();"),
        give: format!("{pair}.writeLock().unlock();"),
        wait: format!("{pair}.readLock().lock();"),
        waits_for: &["lock"],
        frames: vec![AQS],
    };
    owned(code, &taken, variant.is_multiple_of(3), variant);
}

pub(super) fn write_behind_reader(code: &mut Code, variant: usize) {
    let pair = pair(code, variant);
    let taken = Taken {
        take: format!("{pair}.readLock().lock();"),
        give: format!("{pair}.readLock().unlock();"),
        wait: format!("{pair}.writeLock().lock();"),
        waits_for: &["lock"],
        frames: vec![AQS],
    };
    owned(code, &taken, variant.is_multiple_of(3), variant);
}

/// A StampedLock has no owner.
pub(super) fn stamped_lock(code: &mut Code, variant: usize) {
    let lock = code.any_field("StampedLock", "new StampedLock()");
    let wait = if variant.is_multiple_of(2) { "readLock" } else { "writeLock" };
    let taken = Taken {
        take: format!("long stamp = {lock}.writeLock();"),
        give: format!("{lock}.unlockWrite(stamp);"),
        wait: format!("{lock}.{wait}();"),
        waits_for: &["lock"],
        frames: vec!["java.util.concurrent.locks.StampedLock.*"],
    };
    owned(code, &taken, variant.is_multiple_of(3), variant);
    code.label.may_be_silent = true;
}

/// A block or a method that is synchronized.
pub(super) fn monitor(code: &mut Code, variant: usize) {
    let slow = code.slow();
    let noun = code.noun();
    let (body, wait, frames): (Vec<String>, _, &[&str]) = if variant.is_multiple_of(2) {
        let lock = code.any_field("Object", "new StringBuilder()");
        let body = format!("synchronized ({lock}) {{\n    Stage.did(\"taken\");\n    {}\n}}", slow.call);
        (vec![body], format!("synchronized ({lock}) {{\n    System.out.println(1);\n}}"), &[])
    } else {
        code.class(
            &format!("{noun}Book"),
            &format!(
                "final class {noun}Book {{\n    synchronized int write() {{\n        Stage.did(\"taken\");\n        {}\n        return 1;\n    }}\n\n    synchronized int size() {{\n        return hashCode();\n    }}\n}}",
                slow.call
            ),
        );
        let book = code.any_field(&format!("{noun}Book"), &format!("new {noun}Book()"));
        (vec![format!("{book}.write();")], format!("{book}.size();"), &[])
    };
    let (task, thread) = if variant.is_multiple_of(3) {
        let pool = code.pool(1);
        (code.submitted(&pool, &body), pool.workers[0].clone())
    } else {
        let name = code.thread_name();
        (code.thread(&name, &body), name)
    };
    code.line(format!("{};", task.code));
    code.line("Stage.until(\"taken\");");
    code.wait(&wait, &["monitor", "lock"], frames);
    code.label.causes = vec!["lock-held"];
    code.label.culprits = vec![task.owner(&thread)];
    runs(code, &thread, &task, &slow);
}

/// Another thread has the permits; one that took a permit before has given it back.
pub(super) fn semaphore(code: &mut Code, variant: usize) {
    let permits = 1 + variant % 2;
    let semaphore = code.any_field("Semaphore", &format!("new Semaphore({permits})"));
    let before = code.thread_name();
    let earlier = code
        .thread(&before, &[quiet(&[format!("{semaphore}.acquire();"), format!("{semaphore}.release();")])]);
    code.line(format!("{}.join();", earlier.code));
    let count = if permits == 1 { String::new() } else { permits.to_string() };
    let taken = Taken {
        take: quiet(&[format!("{semaphore}.acquire({count});")]),
        give: format!("{semaphore}.release({count});"),
        wait: format!(
            "{semaphore}.{};",
            if variant % 3 == 1 { "acquireUninterruptibly()" } else { "acquire()" }
        ),
        waits_for: &["semaphore"],
        frames: vec!["java.util.concurrent.Semaphore.acquire*"],
    };
    let (task, thread) = owned(code, &taken, variant.is_multiple_of(2), variant);
    code.label.causes = vec!["lock-held", "permit-held", "semaphore-held"];
    code.label.culprits = vec![Culprit { thread: Part::needed(&thread), ..task.owner(&thread) }];
}

/// Others wait in the queue of a fair lock before main.
pub(super) fn fair_queue(code: &mut Code, variant: usize) {
    let (form, take, wait) = [
        ("ReentrantLock", "lock()", "lock()"),
        ("ReentrantReadWriteLock", "writeLock().lock()", "readLock().lock()"),
        ("ReentrantReadWriteLock", "readLock().lock()", "writeLock().lock()"),
    ][variant % 3];
    let lock = code.any_field(form, &format!("new {form}(true)"));
    let taken = Taken {
        take: format!("{lock}.{take};"),
        give: format!("{lock}.{};", take.replace("lock()", "unlock()")),
        wait: format!("{lock}.{wait};"),
        waits_for: &["lock"],
        frames: vec![AQS],
    };
    let others: Vec<String> = (0..1 + variant % 2).map(|_| code.thread_name()).collect();
    let between = if form == "ReentrantLock" { "lock()" } else { "writeLock().lock()" };
    let starts: Vec<String> = others
        .iter()
        .map(|other| {
            let waiter = code.thread(other, &[format!("{lock}.{between};")]);
            code.fact(other, &[AQS.to_owned()]);
            format!("{};\nStage.waits(\"{other}\");", waiter.code)
        })
        .collect();
    behind(code, &taken, variant, &starts);
}

/// A reader waits behind a writer that waits for another reader, as a fair lock has it.
pub(super) fn fair_reader(code: &mut Code, variant: usize) {
    let pair = code.any_field("ReentrantReadWriteLock", "new ReentrantReadWriteLock(true)");
    let taken = Taken {
        take: format!("{pair}.readLock().lock();"),
        give: format!("{pair}.readLock().unlock();"),
        wait: format!("{pair}.readLock().lock();"),
        waits_for: &["lock"],
        frames: vec![AQS],
    };
    let writer = code.thread_name();
    let waits = code.thread(&writer, &[format!("{pair}.writeLock().lock();")]);
    code.fact(&writer, &[AQS.to_owned()]);
    behind(code, &taken, variant, &[format!("{};\nStage.waits(\"{writer}\");", waits.code)]);
}

/// As [`owned`], with statements between the owner's start and main's wait.
fn behind(code: &mut Code, taken: &Taken, variant: usize, between: &[String]) {
    let slow = code.slow();
    let body = held(taken, &slow);
    let (task, thread) = if variant.is_multiple_of(2) {
        let pool = code.pool(1 + variant % 3);
        (code.submitted(&pool, &body), pool.workers[0].clone())
    } else {
        let name = code.thread_name();
        (code.thread(&name, &body), name)
    };
    code.line(format!("{};", task.code));
    code.line("Stage.until(\"taken\");");
    between.iter().for_each(|statement| code.line(statement.clone()));
    code.wait(&taken.wait, taken.waits_for, &taken.frames);
    code.label.causes = vec!["lock-held"];
    code.label.culprits = vec![task.owner(&thread)];
    runs(code, &thread, &task, &slow);
}
