//! The families of programs. A function writes a program and its label from the same parameters.

mod chained;
mod coroutines;
mod cycles;
mod handlers;
mod libraries;
mod locks;
mod pools;
mod queues;
mod rx;
mod signals;
mod stages;

use crate::chains::code::Code;
use crate::chains::kotlin::Kotlin;
use crate::chains::label::Program;

/// Writes the variant of a family.
type Write = fn(&mut Code, usize);

/// A family of Java programs.
struct Family {
    name: &'static str,
    write: Write,
    /// True if the programs use Android's classes.
    on_android: bool,
}

const fn on_jvm(name: &'static str, write: Write) -> Family {
    Family { name, write, on_android: false }
}

const fn on_android(name: &'static str, write: Write) -> Family {
    Family { name, write, on_android: true }
}

/// Programs of a family.
const VARIANTS: usize = 7;

/// The families that need only the JDK.
const FAMILIES: &[Family] = &[
    on_jvm("slow-task", pools::slow_task),
    on_jvm("busy-pool", pools::busy_pool),
    on_jvm("behind-one", pools::behind_one),
    on_jvm("storm", pools::storm),
    on_jvm("nested-get", pools::nested_get),
    on_jvm("own-executor", pools::own_executor),
    on_jvm("nested-invoke-all", pools::nested_invoke_all),
    on_jvm("invoke-all", pools::invoke_all),
    on_jvm("await-termination", pools::await_termination),
    on_jvm("scheduled", pools::scheduled),
    on_jvm("behind-scheduled", pools::behind_scheduled),
    on_jvm("same-body", pools::same_body),
    on_jvm("fork-join", stages::fork_join),
    on_jvm("fork-join-child", stages::fork_join_child),
    on_jvm("first-stage", stages::first_stage),
    on_jvm("second-stage", stages::second_stage),
    on_jvm("default-executor", stages::default_executor),
    on_jvm("never-completed", stages::never_completed),
    on_jvm("slow-completer", stages::slow_completer),
    on_jvm("future-task", stages::future_task),
    on_jvm("join", stages::join),
    on_jvm("lock-of-task", locks::lock_of_task),
    on_jvm("lock-of-thread", locks::lock_of_thread),
    on_jvm("lock-interruptibly", locks::lock_interruptibly),
    on_jvm("leaked-lock", locks::leaked_lock),
    on_jvm("read-behind-writer", locks::read_behind_writer),
    on_jvm("write-behind-reader", locks::write_behind_reader),
    on_jvm("stamped-lock", locks::stamped_lock),
    on_jvm("monitor", locks::monitor),
    on_jvm("semaphore", locks::semaphore),
    on_jvm("latch-returned-early", signals::latch_returned_early),
    on_jvm("latch-task-threw", signals::latch_task_threw),
    on_jvm("latch-slow-task", signals::latch_slow_task),
    on_jvm("latch-slow-second", signals::latch_slow_second),
    on_jvm("condition-no-signal", signals::condition_no_signal),
    on_jvm("condition-lost-signal", signals::condition_lost_signal),
    on_jvm("object-lost-notify", signals::object_lost_notify),
    on_jvm("barrier", signals::barrier),
    on_jvm("phaser", signals::phaser),
    on_jvm("take-no-producer", queues::take_no_producer),
    on_jvm("take-slow-producer", queues::take_slow_producer),
    on_jvm("put-slow-consumer", queues::put_slow_consumer),
    on_jvm("exchanger", queues::exchanger),
    on_jvm("completion-service", queues::completion_service),
    on_jvm("cycle-lock-future", cycles::lock_and_future),
    on_jvm("cycle-monitor-future", cycles::monitor_and_future),
    on_jvm("cycle-lock-latch", cycles::lock_and_latch),
    on_jvm("cycle-monitor-join", cycles::monitor_and_join),
    on_jvm("cycle-two-locks", cycles::two_locks),
    on_jvm("cycle-of-three", cycles::of_three),
    on_jvm("future-lock", chained::future_then_lock),
    on_jvm("future-future", chained::future_then_future),
    on_jvm("latch-future", chained::latch_then_future),
    on_jvm("lock-monitor", chained::lock_then_monitor),
];

/// Writes the variant of a family in Kotlin.
type WriteKotlin = fn(&mut Kotlin, usize);

/// Those in Kotlin, with kotlinx.coroutines.
const COROUTINES: &[(&str, WriteKotlin)] = &[
    ("co-with-context", coroutines::with_context),
    ("co-on-dispatcher", coroutines::on_dispatcher),
    ("co-async-await", coroutines::async_await),
    ("co-launch-join", coroutines::launch_join),
    ("co-same-body", coroutines::same_body),
    ("co-long-queue", coroutines::long_queue),
    ("co-main-loop", coroutines::main_loop),
    ("co-nested", coroutines::nested),
    ("co-never-completed", coroutines::never_completed),
    ("co-mutex", coroutines::mutex),
    ("co-channel-empty", coroutines::channel_empty),
    ("co-slow-sender", coroutines::slow_sender),
    ("co-delayed", coroutines::delayed),
    ("co-functions", coroutines::functions),
    ("co-lock-cycle", coroutines::lock_cycle),
    ("co-latch", coroutines::latch),
    ("co-future-inside", coroutines::future_inside),
];

/// Those with Guava, RxJava and Android's classes, and those that came after labels had been given: the order decides
/// the names in a program.
const LIBRARIES: &[Family] = &[
    on_jvm("guava-never-set", libraries::never_set),
    on_jvm("guava-listening", libraries::listening),
    on_jvm("fair-queue", locks::fair_queue),
    on_jvm("fair-reader", locks::fair_reader),
    on_android("handler-slow-message", handlers::slow_message),
    on_android("handler-slow-itself", handlers::slow_itself),
    on_android("handler-storm", handlers::storm),
    on_jvm("rx-blocking", rx::blocking),
    on_jvm("rx-to-future", rx::to_future),
    on_jvm("rx-direct", rx::direct),
];

/// All programs, the same in each run.
pub(crate) fn all() -> Vec<Program> {
    let mut all = Vec::new();
    for (family, Family { name, write, on_android }) in FAMILIES.iter().chain(LIBRARIES).enumerate() {
        for variant in 0..VARIANTS {
            let seed = (family * 100 + variant) as u64;
            let mut code = Code::new(seed, format!("com.example.chains.f{family}v{variant}"));
            // The activities in turn.
            code.activity = family + variant * 5;
            // Declared first, so that the number in the name of a thread varies.
            code.decoys(variant % 4);
            write(&mut code, variant);
            all.push(Program { on_android: *on_android, ..code.finish(name, variant) });
        }
    }
    for (family, (name, write)) in COROUTINES.iter().enumerate() {
        for variant in 0..VARIANTS {
            let seed = 100_000 + (family * 100 + variant) as u64;
            let mut code = Kotlin::new(seed, format!("com.example.chains.k{family}v{variant}"));
            code.decoys(variant % 4);
            write(&mut code, variant);
            all.push(code.finish(name, variant));
        }
    }
    all
}
