//! Main hands over or takes elements, and the other side does not move.

use super::pools::runs;
use crate::chains::code::{Code, Interface, Pool, quiet};
use crate::chains::label::{Culprit, Part};

const QUEUES: [&str; 4] = [
    "new LinkedBlockingQueue<>()",
    "new ArrayBlockingQueue<>(8)",
    "new LinkedBlockingDeque<>()",
    "new LinkedTransferQueue<>()",
];

pub(super) fn take_no_producer(code: &mut Code, variant: usize) {
    let queue = code.any_field("BlockingQueue<Object>", QUEUES[variant % 4]);
    if variant.is_multiple_of(2) {
        // Of another queue.
        let other = code.any_field("BlockingQueue<Object>", QUEUES[0]);
        let name = code.thread_name();
        let producer = code.thread(&name, &[format!("{other}.add(1);")]);
        code.line(format!("{}.join();", producer.code));
        code.line(format!("{other}.take();"));
    }
    let statement = if variant.is_multiple_of(3) { "poll(1, TimeUnit.MINUTES)" } else { "take()" };
    code.wait(&format!("{queue}.{statement};"), &["queue"], &[]);
    code.label.causes = vec!["never-completed", "no-producer", "empty-queue"];
    code.label.culprits = vec![Culprit::default()];
    code.alone = true;
}

/// The producer has put elements, and is slow before the next.
pub(super) fn take_slow_producer(code: &mut Code, variant: usize) {
    let queue = code.any_field("BlockingQueue<Object>", QUEUES[variant % 4]);
    let slow = code.slow();
    let by = ["put(1)", "offer(1)", "add(1)"][variant % 3];
    let put = quiet(&[format!("{queue}.{by};")]);
    let name = code.thread_name();
    let task = code.thread(&name, &[put.clone(), put.clone(), slow.call.clone(), put]);
    code.line(format!("{};", task.code));
    code.line(format!("{queue}.take();"));
    code.line(format!("{queue}.take();"));
    code.wait(&format!("{queue}.take();"), &["queue"], &[]);
    code.label.causes = vec!["slow-task", "slow-producer"];
    code.label.culprits = vec![task.owner(&name)];
    runs(code, &name, &task, &slow);
}

/// The queue is full; the consumer has taken an element, and is slow with it.
pub(super) fn put_slow_consumer(code: &mut Code, variant: usize) {
    let size = 1 + variant % 3;
    let form = ["ArrayBlockingQueue", "LinkedBlockingQueue"][variant % 2];
    let queue = code.any_field("BlockingQueue<Object>", &format!("new {form}<>({size})"));
    let slow = code.slow();
    let take = quiet(&[format!("{queue}.take();")]);
    let body = [take, "Stage.did(\"taken\");".to_owned(), slow.call.clone()];
    let (task, thread) = if variant.is_multiple_of(3) {
        let pool = code.pool(1);
        (code.submitted(&pool, &body), pool.workers[0].clone())
    } else {
        let name = code.thread_name();
        (code.thread(&name, &body), name)
    };
    code.line(format!("{};", task.code));
    code.line(format!("{queue}.put(0);"));
    code.line("Stage.until(\"taken\");");
    code.line(format!("for (int i = 0; i < {size}; i++) {{"));
    code.line(format!("    {queue}.put(i);"));
    code.line("}");
    code.wait(&format!("{queue}.put(9);"), &["queue"], &[]);
    code.label.causes = vec!["slow-task", "slow-consumer"];
    code.label.culprits = vec![task.owner(&thread)];
    runs(code, &thread, &task, &slow);
}

/// The partner of an exchange is slow. That it will exchange is in no recording.
pub(super) fn exchanger(code: &mut Code, _: usize) {
    let exchanger = code.any_field("Exchanger<Object>", "new Exchanger<>()");
    let slow = code.slow();
    let name = code.thread_name();
    let exchange = quiet(&[format!("{exchanger}.exchange(1);")]);
    let task = code.thread(&name, &[slow.call.clone(), exchange]);
    code.line(format!("{};", task.code));
    code.wait(
        &format!("{exchanger}.exchange(2);"),
        &["queue", "barrier"],
        &["java.util.concurrent.Exchanger.exchange"],
    );
    code.label.culprits = vec![Culprit { thread: Part::needed(&name), ..task.owner(&name) }];
    code.label.may_be_silent = true;
    runs(code, &name, &task, &slow);
}

/// Main takes the next result of an ExecutorCompletionService.
pub(super) fn completion_service(code: &mut Code, variant: usize) {
    let pool = code.pool(1 + variant % 2);
    let service = code
        .any_field("CompletionService<Object>", &format!("new ExecutorCompletionService<>({})", pool.field));
    let slow = code.slow();
    let over = Pool { field: service.clone(), workers: pool.workers.clone() };
    let task = code.handed(&over, Interface::Callable, "submit", "", slow.only());
    code.line(format!("{};", task.code));
    code.wait(
        &format!("{service}.take();"),
        &["queue", "future", "executor"],
        &["java.util.concurrent.ExecutorCompletionService.take"],
    );
    code.label.causes = vec!["slow-task"];
    code.label.culprits = vec![task.owner(&pool.workers[0])];
    code.label.may_be_silent = true;
    runs(code, &pool.workers[0], &task, &slow);
}
