//! Main waits for coroutines of kotlinx.coroutines, in `runBlocking`.

use crate::chains::code::lines;
use crate::chains::kotlin::{Body, Dispatcher, Kotlin};
use crate::chains::label::{Culprit, Fact};

/// The body of `withContext` is slow.
pub(super) fn with_context(code: &mut Kotlin, variant: usize) {
    let on = code.dispatcher(variant);
    let slow = code.slow();
    let (mark, site) = code.mark();
    let body = code.inner(2, site);
    code.run_blocking("", &[format!("withContext({}) {{{mark}\n    {}\n}}", on.code, slow.call)], "");
    named(code, "slow-task", body.on(&on.threads));
    code.runs(&on.threads, &body, &slow);
}

/// `runBlocking` itself is on a dispatcher.
pub(super) fn on_dispatcher(code: &mut Kotlin, variant: usize) {
    let on = code.dispatcher(variant);
    let slow = code.slow();
    let (mark, site) = code.mark();
    let body = code.inner(1, site);
    let own = on.code.clone();
    code.run_blocking(&own, std::slice::from_ref(&slow.call), &mark);
    named(code, "slow-task", body.on(&on.threads));
    code.runs(&on.threads, &body, &slow);
}

pub(super) fn async_await(code: &mut Kotlin, variant: usize) {
    let on = code.dispatcher(variant);
    let slow = code.slow();
    let (mark, site) = code.mark();
    let begin = format!("val result = async({}) {{{mark}\n    {}\n}}", on.code, slow.call);
    let mut body = code.inner(1, site);
    body.name = body.name.replace(".invoke", "$result$#.invoke");
    let mut all = vec![begin, "result.await()".to_owned()];
    if variant % 3 == 1 {
        // Another one, which is done at once.
        all.insert(0, "val quick = async(Dispatchers.Default) { 1 }".to_owned());
        all.push("quick.await()".to_owned());
    }
    code.run_blocking("", &all, "");
    named(code, "slow-task", body.on(&on.threads));
    code.runs(&on.threads, &body, &slow);
}

pub(super) fn launch_join(code: &mut Kotlin, variant: usize) {
    let on = code.dispatcher(variant);
    let slow = code.slow();
    let scope = code.scope();
    let (call, body) = code.launched(&scope, &on.code, "launch", std::slice::from_ref(&slow.call));
    code.line(format!("val job = {call}"));
    code.run_blocking("", &lines(["job.join()"]), "");
    named(code, "slow-task", body.on(&on.threads));
    code.runs(&on.threads, &body, &slow);
}

/// Several coroutines with the same body; main waits for the one that is slow.
pub(super) fn same_body(code: &mut Kotlin, variant: usize) {
    let on = code.dispatcher([0, 1, 4][variant % 3]);
    let slow = code.slow();
    let scope = code.scope();
    let start = format!("start{}", code.code.noun());
    let (mark, site) = code.mark();
    let count = 2 + variant % 3;
    code.member(format!(
        "fun {start}(n: Int) = {scope}.async({}) {{{mark}\n        if (n == {}) {} else n\n    }}",
        on.code,
        variant % count,
        slow.call
    ));
    code.line(format!("val all = (0 until {count}).map {{ {start}(it) }}"));
    code.run_blocking("", &lines(["all.forEach { it.await() }"]), "");
    let name = format!("{}${start}$#.invokeSuspend", code.code.main);
    let body = Body { name, site };
    named(code, "slow-task", body.on(&on.threads));
    code.runs(&on.threads, &body, &slow);
}

/// The dispatcher's only thread is in a slow coroutine, and others wait before main's.
pub(super) fn long_queue(code: &mut Kotlin, variant: usize) {
    let on = code.single(variant);
    let slow = code.slow();
    let scope = code.scope();
    let (call, first) = code.launched(&scope, &on.code, "launch", &began(&slow.call));
    code.line(call);
    code.line("chains.Stage.until(\"began\")");
    for _ in 0..variant % 3 {
        let (between, _) = code.launched(&scope, &on.code, "launch", &lines(["Math.abs(-2)"]));
        code.line(between);
    }
    code.run_blocking("", &[format!("withContext({}) {{\n    Math.abs(-1)\n}}", on.code)], "");
    code.code.label.causes = vec!["long-queue", "slow-task"];
    code.code.label.culprits = vec![first.on(&on.threads)];
    code.runs(&on.threads, &first, &slow);
}

/// Main waits for a coroutine that only main's own loop can run.
pub(super) fn main_loop(code: &mut Kotlin, variant: usize) {
    let main_loop = format!("{}Loop", code.code.noun());
    code.member(format!(
        "object {main_loop} : CoroutineDispatcher() {{\n        private val queue = java.util.concurrent.LinkedBlockingQueue<Runnable>()\n        override fun dispatch(context: kotlin.coroutines.CoroutineContext, block: Runnable) {{\n            queue.put(block)\n        }}\n        fun turn() = queue.take().run()\n    }}"
    ));
    // It has run on main before, as an app's does.
    let scope = code.scope();
    for _ in 0..=variant % 2 {
        let (call, _) = code.launched(&scope, &main_loop, "launch", &lines(["Math.abs(-3)"]));
        code.line(call);
        code.line(format!("{main_loop}.turn()"));
    }
    let (mark, site) = code.mark();
    let body = code.inner(2, site);
    code.run_blocking("", &[format!("withContext({main_loop}) {{{mark}\n    Math.abs(-1)\n}}")], "");
    code.code.label.causes = vec!["self-made-deadlock"];
    code.code.label.cycle = true;
    code.code.label.culprits = vec![body.on("main")];
}

/// All threads of a dispatcher are in `runBlocking` for coroutines of the same dispatcher.
pub(super) fn nested(code: &mut Kotlin, variant: usize) {
    let size = 1 + variant % 2;
    let on = match (variant % 3, size) {
        (0, 1) => code.single(variant),
        (1, _) => {
            let value = code.value(&format!("Dispatchers.IO.limitedParallelism({size})"));
            Dispatcher { code: value, threads: "DefaultDispatcher-worker-#".to_owned() }
        }
        _ => {
            let name = code.code.noun().to_lowercase();
            let value = code.value(&format!("newFixedThreadPoolContext({size}, \"{name}\")"));
            let threads = if size == 1 { name } else { format!("{name}-#") };
            Dispatcher { code: value, threads }
        }
    };
    let scope = code.scope();
    let mut culprits = Vec::new();
    for at in 0..size {
        let inner = format!("runBlocking {{\n    withContext({}) {{ Math.abs(-1) }}\n}}", on.code);
        let body =
            [format!("chains.Stage.did(\"outer {at}\")"), "chains.Stage.until(\"all\")".to_owned(), inner];
        let (call, outer) = code.launched(&scope, &on.code, "launch", &body);
        code.line(if at == 0 { format!("val job = {call}") } else { call });
        code.line(format!("chains.Stage.until(\"outer {at}\")"));
        let joins = "kotlinx.coroutines.BlockingCoroutine.joinBlocking".to_owned();
        code.code.fact(&on.threads, &[outer.name.clone(), joins]);
        culprits.push(outer.on(&on.threads));
    }
    code.line("chains.Stage.did(\"all\")");
    code.run_blocking("", &lines(["job.join()"]), "");
    code.code.label.causes =
        if size == 1 { vec!["pool-exhausted", "self-made-deadlock"] } else { vec!["pool-exhausted"] };
    code.code.label.culprits = culprits;
}

pub(super) fn never_completed(code: &mut Kotlin, variant: usize) {
    let later = code.value("CompletableDeferred<Int>()");
    if variant % 2 == 1 {
        // Of another one.
        let other = code.value("CompletableDeferred<Int>()");
        code.line(format!("{other}.complete(1)"));
        code.line(format!("runBlocking {{ {other}.await() }}"));
    }
    let by = if variant.is_multiple_of(3) { "join" } else { "await" };
    code.run_blocking("", &[format!("{later}.{by}()")], "");
    named(code, "never-completed", Culprit::default());
}

/// Another coroutine has the mutex, and is slow or waits for a time.
pub(super) fn mutex(code: &mut Kotlin, variant: usize) {
    let on = code.dispatcher(variant);
    let mutex = code.value("Mutex()");
    let scope = code.scope();
    let delays = variant % 3 == 2;
    let slow = code.slow();
    let held = if delays { "delay(60_000)" } else { &slow.call };
    let body = [format!("{mutex}.withLock {{\n    chains.Stage.did(\"began\")\n    {held}\n}}")];
    let (call, owner) = code.launched(&scope, &on.code, "launch", &body);
    code.line(call);
    code.line("chains.Stage.until(\"began\")");
    code.run_blocking("", &[format!("{mutex}.withLock {{ Math.abs(-1) }}")], "");
    let culprit = if delays { owner.nowhere() } else { owner.on(&on.threads) };
    named(code, "lock-held", culprit);
    if !delays {
        code.runs(&on.threads, &owner, &slow);
    }
}

pub(super) fn channel_empty(code: &mut Kotlin, variant: usize) {
    let channel =
        code.value(["Channel<Int>()", "Channel<Int>(4)", "Channel<Int>(Channel.UNLIMITED)"][variant % 3]);
    if variant % 2 == 1 {
        let other = code.value("Channel<Int>(1)");
        code.line(format!("runBlocking {{ {other}.send(1) }}"));
    }
    code.run_blocking("", &[format!("{channel}.receive()")], "");
    named(code, "empty-queue", Culprit::default());
}

/// The sender has sent elements, and is slow before the next.
pub(super) fn slow_sender(code: &mut Kotlin, variant: usize) {
    let on = code.dispatcher(variant);
    let channel = code.value(["Channel<Int>()", "Channel<Int>(4)"][variant % 2]);
    let slow = code.slow();
    let scope = code.scope();
    let body = [format!("{channel}.send(1)"), slow.call.clone(), format!("{channel}.send(2)")];
    let (call, sender) = code.launched(&scope, &on.code, "launch", &body);
    code.line(call);
    code.run_blocking("", &[format!("{channel}.receive()"), format!("{channel}.receive()")], "");
    named(code, "slow-task", sender.on(&on.threads));
    code.runs(&on.threads, &sender, &slow);
}

/// A coroutine that waits for a time, without a thread.
pub(super) fn delayed(code: &mut Kotlin, variant: usize) {
    let scope = code.scope();
    let on = code.dispatcher(variant / 2);
    let (mark, site) = code.mark();
    let body = match variant % 2 {
        0 => {
            let (call, body) = code.launched(&scope, &on.code, "launch", &lines(["delay(60_000)"]));
            code.line(format!("val job = {call}"));
            code.run_blocking("", &lines(["job.join()"]), "");
            body
        }
        _ => {
            let body = code.inner(1, site);
            code.run_blocking("", &lines(["delay(60_000)"]), &mark);
            body
        }
    };
    named(code, "slow-task", body.nowhere());
}

/// Suspending functions between `runBlocking` and `withContext`, some of which have been suspended before.
pub(super) fn functions(code: &mut Kotlin, variant: usize) {
    let on = code.dispatcher(variant);
    let slow = code.slow();
    let [outer, inner] = [code.code.noun(), code.code.noun()];
    let (mark, site) = code.mark();
    let before = if variant.is_multiple_of(2) { "delay(2)" } else { "yield()" };
    code.member(format!(
        "suspend fun load{outer}(n: Int): Int {{\n        {before}\n        return find{inner}(n) + n\n    }}"
    ));
    code.member(format!(
        "suspend fun find{inner}(n: Int): Int = withContext({}) {{{mark}\n        {} + n\n    }}",
        on.code, slow.call
    ));
    let call = format!("load{outer}(3)");
    let all = match variant % 3 {
        0 => vec![call],
        1 => vec![format!("coroutineScope {{\n    {call}\n}}")],
        _ => vec![format!("val result = async {{ {call} }}"), "result.await()".to_owned()],
    };
    code.run_blocking("", &all, "");
    let name = format!("{}$find{inner}$#.invokeSuspend", code.code.main);
    let body = Body { name, site };
    named(code, "slow-task", body.on(&on.threads));
    code.runs(&on.threads, &body, &slow);
}

/// The coroutine needs a lock that main owns.
pub(super) fn lock_cycle(code: &mut Kotlin, variant: usize) {
    let on = code.dispatcher(variant);
    let lock = code.value("java.util.concurrent.locks.ReentrantLock()");
    code.line(format!("{lock}.lock()"));
    let (mark, site) = code.mark();
    let body = code.inner(2, site);
    let takes = format!("withContext({}) {{{mark}\n    {lock}.lock()\n}}", on.code);
    code.run_blocking("", &[takes], "");
    code.code.label.causes = vec!["self-made-deadlock"];
    code.code.label.cycle = true;
    code.code.label.culprits = vec![body.on(&on.threads)];
    let waits = "java.util.concurrent.locks.ReentrantLock.lock".to_owned();
    code.code.fact(&on.threads, &[waits, body.name.clone()]);
}

/// A coroutine counts the latch down, and is slow before.
pub(super) fn latch(code: &mut Kotlin, variant: usize) {
    let on = code.dispatcher(variant);
    let latch = code.value("java.util.concurrent.CountDownLatch(1)");
    let slow = code.slow();
    let scope = code.scope();
    let mut body = began(&slow.call).to_vec();
    body.push(format!("{latch}.countDown()"));
    let (call, counter) = code.launched(&scope, &on.code, "launch", &body);
    code.line(call);
    code.line("chains.Stage.until(\"began\")");
    code.line("chains.Stage.hangs()");
    code.line(format!("{latch}.await()"));
    code.code.label.waits_for = vec!["latch"];
    let frames = vec!["java.util.concurrent.CountDownLatch.await".to_owned(), code.own()];
    code.code.facts.push(Fact { thread: "main".to_owned(), frames });
    named(code, "slow-task", counter.on(&on.threads));
    code.runs(&on.threads, &counter, &slow);
}

/// The coroutine waits for a task of an executor.
pub(super) fn future_inside(code: &mut Kotlin, variant: usize) {
    let on = code.dispatcher([0, 1, 2, 4][variant % 4]);
    let pool = code.value("java.util.concurrent.Executors.newFixedThreadPool(1)");
    let slow = code.slow();
    let class = format!("{}Task", code.code.noun());
    code.member(format!(
        "class {class} : java.util.concurrent.Callable<Int> {{\n        override fun call(): Int = {}\n    }}",
        slow.call
    ));
    let (mark, site) = code.mark();
    let gets = format!("withContext({}) {{\n    {pool}.submit({class}()).get(){mark}\n}}", on.code);
    code.run_blocking("", &[gets], "");
    let name = format!("{}${class}.call", code.code.main);
    let task = Body { name, site };
    named(code, "slow-task", task.on("pool-#-thread-1"));
    code.runs("pool-#-thread-1", &task, &slow);
}

fn began(call: &str) -> [String; 2] {
    ["chains.Stage.did(\"began\")".to_owned(), call.to_owned()]
}

fn named(code: &mut Kotlin, cause: &'static str, culprit: Culprit) {
    code.code.label.causes = vec![cause];
    code.code.label.culprits = vec![culprit];
}
