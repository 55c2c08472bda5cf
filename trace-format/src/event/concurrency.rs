//! Steps of concurrent work: who handed which task to whom, and who ran, completed, or released it.
//!
//! Together with [`super::Wait`] they answer why a wait is not over: the wait's identity is that of a future, a lock, or a
//! latch, and the steps say which task works on it, where it was submitted, and on which thread it runs.

use super::{TextId, halves, lower, upper};

numbered! {
    /// What happened to [`Concurrency::object`].
    ConcurrencyStep {
        /// A task was created: its code is the method in [`Concurrency::method`], such as the body of a lambda.
        Created = 1 "created",
        /// A task was handed to the queue [`Concurrency::other`]: an executor, a handler, a dispatcher; 0 if it is a default.
        Submitted = 2 "submitted",
        /// As [`ConcurrencyStep::Submitted`], for a later time: it does not wait in the queue yet.
        Scheduled = 3 "scheduled",
        /// The object is the future of the task [`Concurrency::other`].
        Future = 4 "future",
        /// The calling thread begins to run the task. Without an object, the task whose code is [`Concurrency::method`]. Of
        /// a coroutine, it begins or goes on: [`Concurrency::other`] is what it resumes when it has ended.
        Started = 5 "started",
        /// The calling thread has run the task, by return or exception. Of a coroutine, [`Concurrency::other`] is the result
        /// or the exception; its class shows whether the coroutine was suspended ([`Concurrency::SUSPENDED`]).
        Finished = 6 "finished",
        /// A future was completed or cancelled by a call.
        Completed = 7 "completed",
        /// The calling thread took a permit of a semaphore.
        Acquired = 8 "acquired",
        /// The calling thread gave a permit back.
        Released = 9 "released",
        /// A latch was counted down, or a thread arrived at a barrier or phaser.
        CountedDown = 10 "counted-down",
        /// Waiters at a condition or monitor were notified.
        Signalled = 11 "signalled",
        /// The object belongs to [`Concurrency::other`]: a condition to its lock, a read or write lock to its pair.
        PartOf = 12 "part-of",
        /// An element was put into a queue.
        Put = 13 "put",
        /// An element was taken out of a queue.
        Taken = 14 "taken",
        /// A thread was started; the class is its name, and [`Concurrency::other`] its Runnable if that is known.
        ThreadStarted = 15 "thread-started",
        /// A coroutine called a function that may suspend it, to wait for the object. [`Concurrency::other`] is what the
        /// call returned; its class shows whether the coroutine was suspended ([`Concurrency::SUSPENDED`]).
        Awaited = 16 "awaited",
    }
}

/// A step of concurrent work. Identities are those of `System.identityHashCode`; 0 stands for no object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Concurrency {
    /// What happened.
    pub step: ConcurrencyStep,
    /// Source line of the call, 0 if unknown. Its file is that of [`Concurrency::method`]. For [`ConcurrencyStep::Created`]
    /// and [`ConcurrencyStep::Started`] what the task's code does: [`Concurrency::COUNTS_DOWN`], [`Concurrency::PUTS`].
    pub line: u16,
    /// Method id of the call's method; for [`ConcurrencyStep::Created`], [`ConcurrencyStep::Started`] and
    /// [`ConcurrencyStep::Finished`] the method that is the task's code. 0 if unknown.
    pub method: u32,
    /// What it happened to.
    pub object: u32,
    /// The second object of the step.
    pub other: u32,
    /// Class of the object.
    pub class: TextId,
    /// Class of the second object.
    pub other_class: TextId,
}

impl Concurrency {
    /// In the line of [`ConcurrencyStep::Created`] and [`ConcurrencyStep::Started`]: the task's code counts a latch down, or arrives at a barrier.
    pub const COUNTS_DOWN: u16 = 1;
    /// In the line of the same steps: the task's code puts elements into a blocking queue.
    pub const PUTS: u16 = 2;
    /// Class of what a call returns that has suspended its coroutine (Kotlin's `COROUTINE_SUSPENDED`).
    pub const SUSPENDED: &str = "kotlin.coroutines.intrinsics.CoroutineSingletons";

    /// The payload: step and line (16 bits each), method; both objects; both classes.
    #[must_use]
    pub fn to_words(&self) -> [u64; 3] {
        [
            halves(self.step.number() << 16 | u32::from(self.line), self.method),
            halves(self.object, self.other),
            halves(self.class.0, self.other_class.0),
        ]
    }

    /// The step whose payload is `words`, as `MethodBeat` packs them.
    #[must_use]
    pub fn from_words([head, objects, classes]: [u64; 3]) -> Self {
        Self {
            step: ConcurrencyStep::from(upper(head) >> 16),
            line: upper(head) as u16,
            method: lower(head),
            object: upper(objects),
            other: lower(objects),
            class: TextId(upper(classes)),
            other_class: TextId(lower(classes)),
        }
    }
}
