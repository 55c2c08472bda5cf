//! Main waits for the future of a task: it is slow, or it is in the queue of an executor whose threads are busy.

use crate::chains::code::{Code, Interface, Pool, Slow, Task, lines, quiet};
use crate::chains::label::{Culprit, Part};

const GET: &[&str] = &["java.util.concurrent.FutureTask.get"];

/// Main waits for a future by `get`, with or without a limit.
pub(super) fn get(code: &mut Code, future: &str, frames: &[&str]) {
    let statement = match code.random.below(3) {
        0 => format!("{future}.get(1, TimeUnit.MINUTES);"),
        _ => format!("{future}.get();"),
    };
    code.wait(&statement, &["future"], frames);
}

/// The thread is in the task and in its slow call.
pub(super) fn runs(code: &mut Code, thread: &str, task: &Task, slow: &Slow) {
    let frames: Vec<String> = slow.frames.iter().cloned().chain([task.name.clone()]).collect();
    code.fact(thread, &frames);
}

/// A task that takes a minute and says when it began.
pub(super) fn slow_in(code: &mut Code, pool: &Pool, what: &str) -> (Task, Slow) {
    let slow = code.slow();
    let task = code.submitted(pool, &[format!("Stage.did(\"{what}\");"), slow.call.clone()]);
    (task, slow)
}

/// A task that would be done at once.
pub(super) fn quick(code: &mut Code, pool: &Pool) -> Task {
    let store = code.any_field("AtomicInteger", "new AtomicInteger()");
    code.submitted(pool, &[format!("for (int i = 0; i < 40; i++) {{\n    {store}.addAndGet(i);\n}}")])
}

pub(super) fn slow_task(code: &mut Code, variant: usize) {
    let pool = code.pool(1 + variant % 3);
    let (task, slow) = slow_in(code, &pool, "slow");
    code.line(format!("Future<?> result = {};", task.code));
    get(code, "result", GET);
    code.label.causes = vec!["slow-task"];
    code.label.culprits = vec![task.on(&pool.workers[0])];
    runs(code, &pool.workers[0], &task, &slow);
}

/// All threads of the pool are in slow tasks.
pub(super) fn busy_pool(code: &mut Code, variant: usize) {
    let pool = code.pool(2 + variant % 2);
    let mut culprits = Vec::new();
    for (at, worker) in pool.workers.clone().iter().enumerate() {
        let (task, slow) = slow_in(code, &pool, &format!("busy {at}"));
        code.line(format!("{};", task.code));
        code.line(format!("Stage.until(\"busy {at}\");"));
        runs(code, worker, &task, &slow);
        culprits.push(task.on(worker));
    }
    let task = quick(code, &pool);
    code.line(format!("Future<?> result = {};", task.code));
    get(code, "result", GET);
    // Several threads could make room: the waiting task itself is the answer, too.
    culprits.push(task.nowhere());
    code.label.culprits = culprits;
    code.label.causes = vec!["pool-exhausted", "long-queue"];
}

/// A single thread is in a slow task, and others are in the queue before main's.
pub(super) fn behind_one(code: &mut Code, variant: usize) {
    let pool = code.pool(1);
    let (first, slow) = slow_in(code, &pool, "first");
    code.line(format!("{};", first.code));
    code.line("Stage.until(\"first\");");
    for _ in 0..variant % 4 {
        let between = quick(code, &pool);
        code.line(format!("{};", between.code));
    }
    let task = quick(code, &pool);
    code.line(format!("Future<?> result = {};", task.code));
    get(code, "result", GET);
    code.label.causes = vec!["long-queue", "slow-task", "pool-exhausted"];
    code.label.culprits = vec![first.on(&pool.workers[0])];
    runs(code, &pool.workers[0], &first, &slow);
}

/// Thousands of short tasks are in the queue before main's.
pub(super) fn storm(code: &mut Code, variant: usize) {
    let pool = code.pool(1);
    let step = code.any_field("AtomicInteger", "new AtomicInteger()");
    let nap = quiet(&[format!("Thread.sleep(2 + {step}.incrementAndGet() % 2);")]);
    let short = code.handed(&pool, Interface::Runnable, "submit", "", &[nap]);
    code.line(format!("for (int i = 0; i < {}; i++) {{", 4_000 + 500 * variant));
    code.line(format!("    {};", short.code));
    code.line("}");
    let task = quick(code, &pool);
    code.line(format!("Future<?> result = {};", task.code));
    get(code, "result", GET);
    let worker = &pool.workers[0];
    code.label.causes = vec!["long-queue"];
    code.label.culprits =
        vec![short.owner(worker), Culprit { thread: Part::optional(worker), ..task.nowhere() }];
    code.fact(worker, &lines(["java.util.concurrent.ThreadPoolExecutor.runWorker"]));
}

/// Each thread of the pool waits for a task that is in the pool's queue.
pub(super) fn nested_get(code: &mut Code, variant: usize) {
    exhausted(code, 2 + variant % 2);
}

/// A task waits for another of its own single thread.
pub(super) fn own_executor(code: &mut Code, _: usize) {
    exhausted(code, 1);
}

fn exhausted(code: &mut Code, size: usize) {
    let pool = code.pool(size);
    let inner = quick(code, &pool);
    let mut culprits = Vec::new();
    for (at, worker) in pool.workers.iter().enumerate() {
        let body = quiet(&[
            format!("Stage.did(\"outer {at}\");"),
            "Stage.until(\"all\");".to_owned(),
            format!("{}.get();", inner.code),
        ]);
        let outer = code.submitted(&pool, &[body]);
        let name = if at == 0 { "Future<?> result = " } else { "" };
        code.line(format!("{name}{};", outer.code));
        code.line(format!("Stage.until(\"outer {at}\");"));
        code.fact(worker, &[outer.name.clone(), GET[0].to_owned()]);
        culprits.push(outer.on(worker));
        culprits.push(Culprit { thread: Part::optional(worker), ..inner.nowhere() });
    }
    code.line("Stage.did(\"all\");");
    get(code, "result", GET);
    code.label.culprits = culprits;
    code.label.causes =
        if size == 1 { vec!["pool-exhausted", "self-made-deadlock"] } else { vec!["pool-exhausted"] };
}

/// Each thread of the pool is in `invokeAll` of the same pool.
pub(super) fn nested_invoke_all(code: &mut Code, variant: usize) {
    let size = 1 + variant % 2;
    let pool = code.pool(size);
    let mut culprits = Vec::new();
    for (at, worker) in pool.workers.iter().enumerate() {
        let start = format!("open{}", code.noun());
        let parts = code.task(Interface::Callable, &start, &[]);
        let all = format!("List<Callable<Object>> parts = Arrays.asList({}, () -> 1);", parts.code);
        code.method(
            &format!("void {start}() throws Exception"),
            &[all, format!("{}.invokeAll(parts);", pool.field)],
        );
        let body = quiet(&[
            format!("Stage.did(\"outer {at}\");"),
            "Stage.until(\"all\");".to_owned(),
            format!("{start}();"),
        ]);
        let outer = code.submitted(&pool, &[body]);
        let name = if at == 0 { "Future<?> result = " } else { "" };
        code.line(format!("{name}{};", outer.code));
        code.line(format!("Stage.until(\"outer {at}\");"));
        code.fact(
            worker,
            &[outer.name.clone(), "java.util.concurrent.AbstractExecutorService.invokeAll".to_owned()],
        );
        culprits.push(outer.on(worker));
    }
    code.line("Stage.did(\"all\");");
    get(code, "result", GET);
    code.label.culprits = culprits;
    code.label.causes = vec!["pool-exhausted", "self-made-deadlock"];
}

/// Main is in `invokeAll`: one of the tasks is slow.
pub(super) fn invoke_all(code: &mut Code, variant: usize) {
    let pool = code.pool(1 + variant % 2);
    let entry = code.entry.clone();
    let slow = code.slow();
    let task = code.task(Interface::Callable, &entry, slow.only());
    let (mark, site) = code.site();
    let task = Task { site, ..task };
    code.line("List<Callable<Object>> parts = new ArrayList<>();");
    code.line(format!("parts.add({});", task.code));
    let statement = format!("{}.invokeAll(parts);{mark}", pool.field);
    code.wait(
        &statement,
        &["executor", "future"],
        &["java.util.concurrent.AbstractExecutorService.invokeAll"],
    );
    code.label.causes = vec!["slow-task"];
    code.label.culprits = vec![Culprit { task: Part::needed(&task.name), ..task.owner(&pool.workers[0]) }];
    runs(code, &pool.workers[0], &task, &slow);
}

pub(super) fn await_termination(code: &mut Code, variant: usize) {
    let pool = code.pool(1 + variant % 2);
    let (task, slow) = slow_in(code, &pool, "slow");
    code.line(format!("{};", task.code));
    code.line(format!("{}.shutdown();", pool.field));
    let statement = format!("{}.awaitTermination(1, TimeUnit.MINUTES);", pool.field);
    code.wait(&statement, &["executor"], &["java.util.concurrent.ThreadPoolExecutor.awaitTermination"]);
    code.label.causes = vec!["slow-task"];
    code.label.culprits = vec![task.on(&pool.workers[0])];
    runs(code, &pool.workers[0], &task, &slow);
}

fn scheduler(code: &mut Code) -> Pool {
    let field = code.any_field("ScheduledExecutorService", "Executors.newScheduledThreadPool(1)");
    Pool { field, workers: code.default_workers(1) }
}

pub(super) fn scheduled(code: &mut Code, _: usize) {
    let pool = scheduler(code);
    let slow = code.slow();
    let task =
        code.handed(&pool, Interface::Callable, "schedule", ", 20, TimeUnit.MILLISECONDS", slow.only());
    code.line(format!("ScheduledFuture<?> result = {};", task.code));
    get(code, "result", GET);
    code.label.causes = vec!["slow-task"];
    code.label.culprits = vec![task.on(&pool.workers[0])];
    runs(code, &pool.workers[0], &task, &slow);
}

/// The scheduler's thread is in an earlier task.
pub(super) fn behind_scheduled(code: &mut Code, variant: usize) {
    let pool = scheduler(code);
    let (by, arguments) = match variant % 3 {
        0 => ("schedule", ", 1, TimeUnit.MILLISECONDS"),
        1 => ("scheduleAtFixedRate", ", 0, 5, TimeUnit.SECONDS"),
        _ => ("submit", ""),
    };
    let slow = code.slow();
    let body = ["Stage.did(\"first\");".to_owned(), slow.call.clone()];
    let first = code.handed(&pool, Interface::Runnable, by, arguments, &body);
    code.line(format!("{};", first.code));
    code.line("Stage.until(\"first\");");
    let done = code.any_field("AtomicInteger", "new AtomicInteger()");
    let task = code.handed(
        &pool,
        Interface::Runnable,
        "schedule",
        ", 1, TimeUnit.MILLISECONDS",
        &[format!("{done}.incrementAndGet();")],
    );
    code.line(format!("Future<?> result = {};", task.code));
    get(code, "result", GET);
    code.label.causes = vec!["long-queue", "slow-task", "pool-exhausted"];
    code.label.culprits = vec![first.on(&pool.workers[0])];
    runs(code, &pool.workers[0], &first, &slow);
}

/// Two tasks with the same code are in two pools: one has ended or is slow as well, and main waits for the other.
pub(super) fn same_body(code: &mut Code, variant: usize) {
    let (one, other) = (code.pool(1), code.pool(1));
    let slow = code.slow();
    let noun = code.noun();
    let ends = if variant.is_multiple_of(2) { "if (at == 0) {\n    return \"done\";\n}" } else { "" };
    let body = [ends.to_owned(), "Stage.did(\"began \" + at);".to_owned(), slow.call.clone()];
    let task = code.task_as(0, Interface::Callable, &format!("make{noun}"), &body);
    code.method(&format!("Callable<Object> make{noun}(int at)"), &[format!("return {};", task.code)]);
    let (mark, site) = code.site();
    let task = Task { site, ..task };
    code.method(
        &format!("Future<Object> start{noun}(ExecutorService pool, int at)"),
        &[format!("return pool.submit(make{noun}(at));{mark}")],
    );
    code.line(format!("Future<?> before = start{noun}({}, 0);", one.field));
    code.line(if variant.is_multiple_of(2) { "before.get();" } else { "Stage.until(\"began 0\");" });
    code.line(format!("Future<?> result = start{noun}({}, 1);", other.field));
    get(code, "result", GET);
    code.label.causes = vec!["slow-task"];
    code.label.culprits = vec![task.on(&other.workers[0])];
    runs(code, &other.workers[0], &task, &slow);
}
