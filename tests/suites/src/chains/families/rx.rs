//! Main waits for a source of RxJava 3 that a scheduler's thread works on.

use super::pools::runs;
use crate::chains::code::{Code, Interface, Pool, Task};

/// The schedulers, and the names of their threads.
const SCHEDULERS: [(&str, &str); 4] = [
    ("io", "RxCachedThreadScheduler-#"),
    ("computation", "RxComputationThreadPool-#"),
    ("newThread", "RxNewThreadScheduler-#"),
    ("single", "RxSingleScheduler-#"),
];

fn scheduler(code: &mut Code, variant: usize) -> (String, String) {
    match SCHEDULERS.get(variant % 5) {
        Some((method, threads)) => {
            (format!("io.reactivex.rxjava3.schedulers.Schedulers.{method}()"), (*threads).to_owned())
        }
        None => {
            let pool = code.pool(1);
            let code = format!("io.reactivex.rxjava3.schedulers.Schedulers.from({})", pool.field);
            (code, pool.workers[0].clone())
        }
    }
}

/// A call whose first line is marked: the place of the call.
fn marked(call: &str, mark: &str) -> String {
    match call.split_once('\n') {
        Some((first, rest)) => format!("{first}{mark}\n{rest}"),
        None => format!("{call}{mark}"),
    }
}

/// Main waits for the value of a source, behind operators.
pub(super) fn blocking(code: &mut Code, variant: usize) {
    let (on, thread) = scheduler(code, variant);
    let slow = code.slow();
    let entry = code.entry.clone();
    let (kind, by, more) = [
        ("Single", "blockingGet", ".map(value -> value)"),
        ("Observable", "blockingFirst", ".map(value -> value).doOnNext(value -> { })"),
        ("Flowable", "blockingLast", ".timeout(2, TimeUnit.MINUTES)"),
        ("Maybe", "blockingGet", ""),
        ("Completable", "blockingAwait", ".doFinally(() -> { })"),
    ][(variant + variant / 5) % 5];
    let of = if kind == "Completable" { Interface::Runnable } else { Interface::Callable };
    let from = if kind == "Completable" { "fromRunnable" } else { "fromCallable" };
    let task = code.task(of, &entry, slow.only());
    let (mark, site) = code.site();
    let task = Task { site, ..task };
    let class = format!("io.reactivex.rxjava3.core.{kind}");
    let value = if kind == "Completable" { class.clone() } else { format!("{class}<Object>") };
    code.line(marked(&format!("{value} source = {class}.{from}({});", task.code), &mark));
    code.line(format!("{value} result = source.subscribeOn({on}){more};"));
    code.wait(&format!("result.{by}();"), &["future"], &[&format!("{class}.{by}")]);
    code.label.causes = vec!["slow-task"];
    code.label.culprits = vec![task.on(&thread)];
    runs(code, &thread, &task, &slow);
}

/// As a future of the JDK.
pub(super) fn to_future(code: &mut Code, variant: usize) {
    let (on, thread) = scheduler(code, variant);
    let slow = code.slow();
    let entry = code.entry.clone();
    let task = code.task(Interface::Callable, &entry, slow.only());
    let (mark, site) = code.site();
    let task = Task { site, ..task };
    let class = "io.reactivex.rxjava3.core.Single";
    code.line(marked(&format!("{class}<Object> source = {class}.fromCallable({});", task.code), &mark));
    code.line(format!("Future<Object> result = source.observeOn({on}).subscribeOn({on}).toFuture();"));
    code.wait("result.get();", &["future"], &["io.reactivex.rxjava3.internal.observers.Future*.get"]);
    code.label.causes = vec!["slow-task"];
    code.label.culprits = vec![task.on(&thread)];
    runs(code, &thread, &task, &slow);
}

/// Tasks that are handed to a scheduler directly: the one that counts down is slow, or behind a slow one.
pub(super) fn direct(code: &mut Code, variant: usize) {
    let thread = "RxSingleScheduler-#".to_owned();
    let field = code.any_field(
        "io.reactivex.rxjava3.core.Scheduler",
        "io.reactivex.rxjava3.schedulers.Schedulers.single()",
    );
    let pool = Pool { field, workers: vec![thread.clone()] };
    let slow = code.slow();
    let latch = code.any_field("CountDownLatch", "new CountDownLatch(1)");
    let mut body = vec!["Stage.did(\"first\");".to_owned(), slow.call.clone()];
    if variant % 2 == 1 {
        body.push(format!("{latch}.countDown();"));
    }
    let first = code.handed(&pool, Interface::Runnable, "scheduleDirect", "", &body);
    code.line(format!("{};", first.code));
    code.line("Stage.until(\"first\");");
    if variant.is_multiple_of(2) {
        let last =
            code.handed(&pool, Interface::Runnable, "scheduleDirect", "", &[format!("{latch}.countDown();")]);
        code.line(format!("{};", last.code));
    }
    code.wait(&format!("{latch}.await();"), &["latch"], &["java.util.concurrent.CountDownLatch.await"]);
    code.label.causes = vec!["long-queue", "slow-task"];
    code.label.culprits = vec![first.on(&thread)];
    runs(code, &thread, &first, &slow);
}
