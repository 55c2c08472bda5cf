//! Main waits for a ForkJoinTask, a CompletableFuture, a FutureTask of a thread, or a thread.

use super::pools::{get, runs};
use crate::chains::code::{Code, Interface, Task};
use crate::chains::label::{Culprit, Part};

const COMPLETABLE: &[&str] = &["java.util.concurrent.CompletableFuture.get"];

fn class_of_task(code: &mut Code, base: &str, body: &str) -> Task {
    let name = format!("{}Part", code.noun());
    let (head, result) =
        if base == "RecursiveAction" { ("void", "") } else { ("Object", "\n        return 1;") };
    let base = if base == "RecursiveAction" { base } else { "RecursiveTask<Object>" };
    code.class(
        &name,
        &format!(
            "final class {name} extends {base} {{\n    @Override\n    protected {head} compute() {{\n        {body}{result}\n    }}\n}}"
        ),
    );
    Task { code: format!("new {name}()"), name: format!("{name}.compute"), site: String::new() }
}

fn fork_join_pool(code: &mut Code, size: usize) -> (String, String) {
    (
        code.any_field("ForkJoinPool", &format!("new ForkJoinPool({size})")),
        "ForkJoinPool-1-worker-1".to_owned(),
    )
}

/// Main waits for a task of a ForkJoinPool by `get`, `join` or `invoke`.
pub(super) fn fork_join(code: &mut Code, variant: usize) {
    let (pool, worker) = fork_join_pool(code, 2);
    let slow = code.slow();
    let base = if variant.is_multiple_of(2) { "RecursiveTask" } else { "RecursiveAction" };
    let task = class_of_task(code, base, &slow.call);
    let task = submit_root(code, &pool, task, variant);
    code.label.causes = vec!["slow-task"];
    code.label.culprits = vec![task.on(&worker)];
    runs(code, &worker, &task, &slow);
}

fn submit_root(code: &mut Code, pool: &str, task: Task, variant: usize) -> Task {
    let (mark, site) = code.site();
    code.line(format!("ForkJoinTask<?> root = {};", task.code));
    match variant % 3 {
        0 => {
            code.line(format!("{pool}.submit(root);{mark}"));
            code.wait("root.join();", &["future"], &["java.util.concurrent.ForkJoinTask.join"]);
        }
        1 => {
            code.line(format!("{pool}.execute(root);{mark}"));
            code.wait("root.get();", &["future"], &["java.util.concurrent.ForkJoinTask.get"]);
        }
        _ => code.wait(
            &format!("{pool}.invoke(root);{mark}"),
            &["future", "executor"],
            &["java.util.concurrent.ForkJoinPool.invoke"],
        ),
    }
    Task { site, ..task }
}

/// The task of a pool with one thread has forked another, which is slow; the thread runs it in `join`.
pub(super) fn fork_join_child(code: &mut Code, variant: usize) {
    let (pool, worker) = fork_join_pool(code, 1);
    let slow = code.slow();
    let child = class_of_task(code, "RecursiveTask", &slow.call);
    let (mark, site) = code.site();
    let child = Task { site, ..child };
    let body = format!(
        "ForkJoinTask<?> child = {};\n        child.fork();{mark}\n        child.join();",
        child.code
    );
    let root = class_of_task(code, "RecursiveTask", &body);
    let root = submit_root(code, &pool, root, variant);
    code.label.causes = vec!["slow-task"];
    // The thread is in both.
    code.label.culprits = vec![child.on(&worker), root.on(&worker)];
    runs(code, &worker, &child, &slow);
    runs(code, &worker, &root, &slow);
}

/// `supplyAsync(...)` and what follows, each in a line of its own method; main waits for the last.
fn stages(code: &mut Code, slow_stage: usize, variant: usize) {
    let pool = code.pool(1 + variant % 2);
    let slow = code.slow();
    let start = format!("start{}", code.noun());
    let body = |at: usize| if at == slow_stage { vec![slow.call.clone()] } else { Vec::new() };
    let first = code.task(Interface::Supplier, &start, &body(0));
    let (mark, site) = code.site();
    let first = Task { site, ..first };
    let next = format!("follow{}", code.noun());
    let second = code.task(Interface::Function, &next, &body(1));
    let (second_mark, site) = code.site();
    let second = Task { site, ..second };
    code.method(
        &format!("CompletableFuture<Object> {start}()"),
        &[one_line(&format!("return CompletableFuture.supplyAsync({}, {});", first.code, pool.field), &mark)],
    );
    code.method(
        &format!("CompletableFuture<Object> {next}(CompletableFuture<Object> before)"),
        &[one_line(&format!("return before.thenApplyAsync({}, {});", second.code, pool.field), &second_mark)],
    );
    code.line(format!("CompletableFuture<Object> result = {next}({start}());"));
    if variant.is_multiple_of(3) {
        code.wait("result.join();", &["future"], &["java.util.concurrent.CompletableFuture.join"]);
    } else {
        get(code, "result", &["java.util.concurrent.CompletableFuture.get"]);
    }
    code.label.causes = vec!["slow-task"];
    let task = if slow_stage == 0 { first } else { second };
    // An executor with room starts a thread for each task.
    let worker = if slow_stage == 0 { &pool.workers[0] } else { pool.workers.last().unwrap() }.clone();
    code.label.culprits = vec![task.on(&worker)];
    runs(code, &worker, &task, &slow);
}

/// A mark at the end of the first line.
fn one_line(statement: &str, mark: &str) -> String {
    match statement.split_once('\n') {
        Some((first, rest)) => format!("{first}{mark}\n{rest}"),
        None => format!("{statement}{mark}"),
    }
}

pub(super) fn first_stage(code: &mut Code, variant: usize) {
    stages(code, 0, variant);
}

pub(super) fn second_stage(code: &mut Code, variant: usize) {
    stages(code, 1, variant);
}

/// `supplyAsync` or `runAsync` on the common pool.
pub(super) fn default_executor(code: &mut Code, variant: usize) {
    let slow = code.slow();
    let start = format!("start{}", code.noun());
    let (of, by) = if variant.is_multiple_of(2) {
        (Interface::Supplier, "supplyAsync")
    } else {
        (Interface::Runnable, "runAsync")
    };
    let task = code.task(of, &start, slow.only());
    let (mark, site) = code.site();
    let task = Task { site, ..task };
    let line = one_line(&format!("return CompletableFuture.{by}({});", task.code), &mark);
    code.method(&format!("CompletableFuture<?> {start}()"), &[line]);
    code.line(format!("CompletableFuture<?> result = {start}();"));
    get(code, "result", &["java.util.concurrent.CompletableFuture.get"]);
    code.label.causes = vec!["slow-task"];
    let worker = "ForkJoinPool.commonPool-worker-1";
    code.label.culprits = vec![task.on(worker)];
    runs(code, worker, &task, &slow);
}

/// Nothing completes the future; a task that was to do so has ended.
pub(super) fn never_completed(code: &mut Code, variant: usize) {
    let future = code.any_field("CompletableFuture<Object>", "new CompletableFuture<>()");
    if variant % 2 == 1 {
        let pool = code.pool(1);
        let ends = code.submitted(
            &pool,
            &[
                "Stage.did(\"asked\");".to_owned(),
                format!("if ({future}.isDone()) {{\n    {future}.complete(\"late\");\n}}"),
            ],
        );
        code.line(format!("{}.get();", ends.code));
        code.line("Stage.until(\"asked\");");
    }
    get(code, &future, COMPLETABLE);
    code.label.causes = vec!["never-completed"];
    code.label.culprits = vec![Culprit::default()];
    code.alone = true;
}

/// A task completes such futures, and is slow before the one that main waits for. What it is about to do is in no recording, unless it
/// completed one before.
pub(super) fn slow_completer(code: &mut Code, _: usize) {
    let (first, second) = (
        code.any_field("CompletableFuture<Object>", "new CompletableFuture<>()"),
        code.any_field("CompletableFuture<Object>", "new CompletableFuture<>()"),
    );
    let pool = code.pool(1);
    let slow = code.slow();
    let noun = code.noun();
    code.method(
        &format!("void answer{noun}(CompletableFuture<Object> one)"),
        &["one.complete(\"here\");".to_owned()],
    );
    let body = [format!("answer{noun}({first});"), slow.call.clone(), format!("answer{noun}({second});")];
    let task = code.submitted(&pool, &body);
    code.line(format!("{};", task.code));
    code.line(format!("{first}.get();"));
    get(code, &second, COMPLETABLE);
    let worker = &pool.workers[0];
    code.label.culprits = vec![task.owner(worker)];
    code.label.may_be_silent = true;
    runs(code, worker, &task, &slow);
}

/// A FutureTask that a thread runs.
pub(super) fn future_task(code: &mut Code, _: usize) {
    let slow = code.slow();
    let entry = code.entry.clone();
    let task = code.task(Interface::Callable, &entry, slow.only());
    let name = code.thread_name();
    let (mark, site) = code.site();
    let task = Task { site, ..task };
    code.line(format!("FutureTask<Object> result = new FutureTask<>({});", task.code));
    code.line(format!("Thread thread = new Thread(result, \"{name}\");"));
    code.line(format!("thread.start();{mark}"));
    get(code, "result", &["java.util.concurrent.FutureTask.get"]);
    code.label.causes = vec!["slow-task"];
    code.label.culprits = vec![Culprit {
        thread: Part::needed(&name),
        task: Part::needed(&task.name),
        // No executor: where the thread was started, or nothing.
        site: Part::optional(&task.site),
    }];
    runs(code, &name, &task, &slow);
}

pub(super) fn join(code: &mut Code, variant: usize) {
    let slow = code.slow();
    let name = code.thread_name();
    let task = code.thread(&name, slow.only());
    code.line(format!("Thread thread = {};", task.code));
    let statement = if variant.is_multiple_of(2) { "thread.join();" } else { "thread.join(60_000);" };
    code.wait(statement, &["thread"], &["java.lang.Thread.join"]);
    code.label.causes = vec!["slow-task", "slow-thread"];
    code.label.culprits = vec![task.owner(&name)];
    runs(code, &name, &task, &slow);
}
