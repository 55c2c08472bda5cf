//! Futures of Guava.

use super::pools::{get, runs};
use crate::chains::code::{Code, Pool};
use crate::chains::label::Culprit;

/// Nothing sets the future.
pub(super) fn never_set(code: &mut Code, variant: usize) {
    let future = code.any_field(
        "com.google.common.util.concurrent.SettableFuture<Object>",
        "com.google.common.util.concurrent.SettableFuture.create()",
    );
    if variant.is_multiple_of(2) {
        let pool = code.pool(1);
        let ends =
            code.submitted(&pool, &[format!("if ({future}.isDone()) {{\n    {future}.set(\"late\");\n}}")]);
        code.line(format!("{}.get();", ends.code));
    }
    get(code, &future, &["com.google.common.util.concurrent.AbstractFuture.get"]);
    code.label.causes = vec!["never-completed"];
    code.label.culprits = vec![Culprit::default()];
    code.alone = true;
}

/// A slow task of a listening executor.
pub(super) fn listening(code: &mut Code, variant: usize) {
    let pool = code.pool(1 + variant % 3);
    let field = code.any_field(
        "com.google.common.util.concurrent.ListeningExecutorService",
        &format!("com.google.common.util.concurrent.MoreExecutors.listeningDecorator({})", pool.field),
    );
    let worker = pool.workers[0].clone();
    let slow = code.slow();
    let task = code.submitted(&Pool { field, ..pool }, slow.only());
    code.line(format!("Future<?> result = {};", task.code));
    get(code, "result", &["com.google.common.util.concurrent.AbstractFuture.get"]);
    code.label.causes = vec!["slow-task"];
    code.label.culprits = vec![task.on(&worker)];
    runs(code, &worker, &task, &slow);
}
