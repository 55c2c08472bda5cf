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

/// Programs of a family.
const VARIANTS: usize = 7;

/// The families that need only the JDK.
const FAMILIES: &[(&str, Write)] = &[
    ("slow-task", pools::slow_task),
    ("busy-pool", pools::busy_pool),
    ("behind-one", pools::behind_one),
    ("storm", pools::storm),
    ("nested-get", pools::nested_get),
    ("own-executor", pools::own_executor),
    ("nested-invoke-all", pools::nested_invoke_all),
    ("invoke-all", pools::invoke_all),
    ("await-termination", pools::await_termination),
    ("scheduled", pools::scheduled),
    ("behind-scheduled", pools::behind_scheduled),
    ("same-body", pools::same_body),
    ("fork-join", stages::fork_join),
    ("fork-join-child", stages::fork_join_child),
    ("first-stage", stages::first_stage),
    ("second-stage", stages::second_stage),
    ("default-executor", stages::default_executor),
    ("never-completed", stages::never_completed),
    ("slow-completer", stages::slow_completer),
    ("future-task", stages::future_task),
    ("join", stages::join),
    ("lock-of-task", locks::lock_of_task),
    ("lock-of-thread", locks::lock_of_thread),
    ("lock-interruptibly", locks::lock_interruptibly),
    ("leaked-lock", locks::leaked_lock),
    ("read-behind-writer", locks::read_behind_writer),
    ("write-behind-reader", locks::write_behind_reader),
    ("stamped-lock", locks::stamped_lock),
    ("monitor", locks::monitor),
    ("semaphore", locks::semaphore),
    ("latch-returned-early", signals::latch_returned_early),
    ("latch-task-threw", signals::latch_task_threw),
    ("latch-slow-task", signals::latch_slow_task),
    ("latch-slow-second", signals::latch_slow_second),
    ("condition-no-signal", signals::condition_no_signal),
    ("condition-lost-signal", signals::condition_lost_signal),
    ("object-lost-notify", signals::object_lost_notify),
    ("barrier", signals::barrier),
    ("phaser", signals::phaser),
    ("take-no-producer", queues::take_no_producer),
    ("take-slow-producer", queues::take_slow_producer),
    ("put-slow-consumer", queues::put_slow_consumer),
    ("exchanger", queues::exchanger),
    ("completion-service", queues::completion_service),
    ("cycle-lock-future", cycles::lock_and_future),
    ("cycle-monitor-future", cycles::monitor_and_future),
    ("cycle-lock-latch", cycles::lock_and_latch),
    ("cycle-monitor-join", cycles::monitor_and_join),
    ("cycle-two-locks", cycles::two_locks),
    ("cycle-of-three", cycles::of_three),
    ("future-lock", chained::future_then_lock),
    ("future-future", chained::future_then_future),
    ("latch-future", chained::latch_then_future),
    ("lock-monitor", chained::lock_then_monitor),
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
const LIBRARIES: &[(&str, Write)] = &[
    ("guava-never-set", libraries::never_set),
    ("guava-listening", libraries::listening),
    ("fair-queue", locks::fair_queue),
    ("fair-reader", locks::fair_reader),
    ("handler-slow-message", handlers::slow_message),
    ("handler-slow-itself", handlers::slow_itself),
    ("handler-storm", handlers::storm),
    ("rx-blocking", rx::blocking),
    ("rx-to-future", rx::to_future),
    ("rx-direct", rx::direct),
];

/// All programs, the same in each run.
pub(crate) fn all() -> Vec<Program> {
    let mut all = Vec::new();
    for (family, (name, write)) in FAMILIES.iter().chain(LIBRARIES).enumerate() {
        for variant in 0..VARIANTS {
            let seed = (family * 100 + variant) as u64;
            let mut code = Code::new(seed, format!("com.example.chains.f{family}v{variant}"));
            // The activities in turn.
            code.activity = family + variant * 5;
            // Declared first, so that the number in the name of a thread varies.
            code.decoys(variant % 4);
            write(&mut code, variant);
            all.push(code.finish(name, variant));
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
