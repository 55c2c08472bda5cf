//! The families of programs. A function writes a program and its label from the same parameters.

mod chained;
mod cycles;
mod libraries;
mod locks;
mod pools;
mod queues;
mod signals;
mod stages;

use crate::code::Code;
use crate::label::Program;

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

/// Those that need Guava's jar.
const GUAVA: &[(&str, Write)] =
    &[("guava-never-set", libraries::never_set), ("guava-listening", libraries::listening)];

/// All programs, the same in each run.
pub(crate) fn all() -> Vec<Program> {
    let mut all = Vec::new();
    for (family, (name, write)) in FAMILIES.iter().chain(GUAVA).enumerate() {
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
    all
}
