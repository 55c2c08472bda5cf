//! Who posted a Looper's message.
//!
//! A message names its handler, its callback's class and, if it was read, the callback's identity, but as a rule not when
//! it was due. Without an identity the post is known only if one alone may be meant: by the object whose code runs first in the
//! message, or because one post of this class to this handler waits. What was posted and removed again waits forever, and so makes
//! those after it ambiguous instead of wrong.

use std::collections::{HashMap, VecDeque};

use trace_format::TextId;

use super::ConcurrentWork;
use super::around::Dispatched;
use super::tasks::Task;

/// Maximum number of posts to a handler that wait, the newest ones.
const MAX_PENDING: usize = 1 << 10;
/// Maximum time from a post to the moment at which its message is due, ns: the clock is read after the step.
const MAX_DUE: u64 = 50_000_000;
/// The unit of due times, ns.
const DUE_UNIT: u64 = 1_000_000;
/// The class of what is posted without a callback.
const MESSAGE: &str = "android.os.Message";

/// A message's post.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Posted {
    /// Index among the tasks.
    pub(crate) task: usize,
    /// Whether it is this very post; otherwise only thread and place are known, which all possible ones have in common.
    pub(crate) exact: bool,
}

/// The posts of messages.
#[derive(Debug, Default)]
pub(crate) struct Posts {
    by_message: HashMap<(usize, u64), Posted>,
    /// When a task was dispatched, on which thread, and whether it was exactly this one.
    dispatched: HashMap<usize, (u64, usize, bool)>,
    /// The thread of each handler that had a message.
    threads: HashMap<u32, usize>,
}

impl ConcurrentWork {
    /// Returns who posted the messages of handlers. `text` is the text of a class.
    pub(crate) fn posts<'t>(&self, text: impl Fn(TextId) -> &'t str) -> Posts {
        Posts::of(self.tasks(), self.around.messages.as_slice(), text)
    }
}

impl Posts {
    /// `tasks` and `messages` are by time, `text` is that of a class.
    fn of<'t>(tasks: &[Task], messages: &[Dispatched], text: impl Fn(TextId) -> &'t str) -> Self {
        let mut posts = Self::default();
        for message in messages {
            posts.threads.entry(message.message.handler).or_insert(message.thread);
        }
        let mut coming: HashMap<u32, Vec<usize>> = HashMap::new();
        for (index, task) in tasks.iter().enumerate() {
            if posts.threads.contains_key(&task.queue) {
                coming.entry(task.queue).or_default().push(index);
            }
        }
        for of_handler in coming.values_mut() {
            // The next one last.
            of_handler.sort_by_key(|index| std::cmp::Reverse((tasks[*index].submitted.at, *index)));
        }
        let mut pending: HashMap<u32, VecDeque<usize>> = HashMap::new();
        for message in messages {
            let Some(coming) = coming.get_mut(&message.message.handler) else { continue };
            let pending = pending.entry(message.message.handler).or_default();
            while let Some(index) = coming.pop_if(|index| tasks[*index].submitted.at <= message.at) {
                if pending.len() == MAX_PENDING {
                    pending.pop_front();
                }
                pending.push_back(index);
            }
            let fits = |index: &&usize| fits(&tasks[**index], message, &text);
            let mut possible = pending.iter().filter(fits).copied();
            let Some(first) = possible.next() else { continue };
            let rest: Vec<usize> = possible.collect();
            let site = |index: usize| {
                let submitted = &tasks[index].submitted;
                (submitted.thread, submitted.method, submitted.line)
            };
            let exact = rest.is_empty();
            if rest.iter().all(|other| site(*other) == site(first)) {
                let posted = Posted { task: first, exact };
                posts.by_message.insert((message.thread, message.number), posted);
            }
            // Of several any one: each post has one message at most.
            posts.dispatched.insert(first, (message.at, message.thread, exact));
            pending.retain(|index| *index != first);
        }
        posts
    }

    /// All messages whose post is known: thread, number, and post.
    pub(crate) fn all(&self) -> impl Iterator<Item = (usize, u64, Posted)> {
        self.by_message.iter().map(|((thread, number), posted)| (*thread, *number, *posted))
    }

    /// When the message of a task was dispatched, by which thread, and whether it was exactly this one's.
    pub(crate) fn dispatched(&self, task: usize) -> Option<(u64, usize, bool)> {
        self.dispatched.get(&task).copied()
    }

    /// The thread that dispatches a handler's messages, if it dispatched any.
    pub(crate) fn thread(&self, handler: u32) -> Option<usize> {
        self.threads.get(&handler).copied()
    }
}

/// Whether the message may be this post's.
fn fits<'t>(task: &Task, message: &Dispatched, text: impl Fn(TextId) -> &'t str) -> bool {
    let (class, callback, due) = (text(task.class), text(message.message.callback), message.message.due);
    let submitted = task.submitted.at;
    let in_time = due == 0
        || due.saturating_add(DUE_UNIT) >= submitted
            && (task.is_scheduled || due <= submitted.saturating_add(MAX_DUE));
    if callback.is_empty() {
        // Others may send messages to this handler too: only the time shows that it is this one.
        return class == MESSAGE && due > 0 && in_time;
    }
    let object = if message.message.object == 0 { message.object } else { message.message.object };
    class == callback && in_time && (object == 0 || object == task.object)
}

#[cfg(test)]
mod tests {
    use trace_format::Recording;
    use trace_format::event::{Concurrency, ConcurrencyStep, Message};
    use trace_format::synth::RecordingBuilder;

    use super::super::Step;
    use super::super::tasks::{TaskCodes, TaskIndex};
    use super::*;

    const HANDLER: u32 = 7;
    const RUNNABLE: TextId = TextId(1);
    const PLAIN: TextId = TextId(2);

    fn text(id: TextId) -> &'static str {
        match id {
            RUNNABLE => "com.example.Row$1",
            PLAIN => MESSAGE,
            _ => "",
        }
    }

    /// The tasks of these posts: time, object, class, line, and whether it is for later.
    fn posted(posts: &[(u64, u32, TextId, u16, bool)]) -> Vec<Task> {
        let step = |(at, object, class, line, later): &(u64, u32, TextId, u16, bool)| Step {
            at: *at,
            thread: 1,
            what: Concurrency {
                step: if *later { ConcurrencyStep::Scheduled } else { ConcurrencyStep::Submitted },
                line: *line,
                method: 5,
                object: *object,
                other: HANDLER,
                class: *class,
                other_class: TextId(0),
            },
        };
        let steps: Vec<Step> = posts.iter().map(step).collect();
        let recording = Recording::open(RecordingBuilder::new(1, "p").build()).unwrap();
        TaskIndex::of(&steps, &[], &TaskCodes::default(), &recording).tasks
    }

    /// The posts of messages: time, class of the callback, object that ran in it, and due time.
    fn found(tasks: &[Task], messages: &[(u64, TextId, u32, u64)]) -> Vec<Option<(u64, bool)>> {
        let dispatched =
            |(number, (at, callback, object, due)): (usize, &(u64, TextId, u32, u64))| Dispatched {
                thread: 0,
                number: number as u64,
                at: *at,
                message: Message { callback: *callback, handler: HANDLER, due: *due, ..Message::default() },
                object: *object,
            };
        posts_of(tasks, messages.iter().enumerate().map(dispatched).collect())
    }

    fn posts_of(tasks: &[Task], all: Vec<Dispatched>) -> Vec<Option<(u64, bool)>> {
        let posts = Posts::of(tasks, &all, text);
        let of = |wanted: u64| {
            let (_, _, posted) = posts.all().find(|(_, number, _)| *number == wanted)?;
            Some((tasks[posted.task].submitted.at, posted.exact))
        };
        (0..all.len() as u64).map(of).collect()
    }

    #[test]
    fn a_post_that_alone_may_be_meant_is_the_messages() {
        let tasks = posted(&[(10, 100, RUNNABLE, 1, false), (20, 200, RUNNABLE, 2, false)]);
        // The object whose code runs decides.
        assert_eq!(
            found(&tasks, &[(30, RUNNABLE, 200, 0), (40, RUNNABLE, 100, 0)]),
            [Some((20, true)), Some((10, true))]
        );
        // Without it two may be meant, and then the other one.
        assert_eq!(found(&tasks, &[(30, RUNNABLE, 0, 0), (40, RUNNABLE, 0, 0)])[0], None);
        assert_eq!(found(&tasks, &[(15, RUNNABLE, 0, 0)]), [Some((10, true))], "the second comes later");
        assert_eq!(found(&tasks, &[(30, TextId(9), 0, 0), (30, RUNNABLE, 300, 0)]), [None, None]);
    }

    #[test]
    fn the_identity_of_the_callback_decides() {
        let tasks = posted(&[(10, 100, RUNNABLE, 1, false), (20, 200, RUNNABLE, 2, false)]);
        let message = |object| Message { callback: RUNNABLE, handler: HANDLER, object, ..Message::default() };
        let dispatched = |number: u64, object| Dispatched {
            thread: 0,
            number,
            at: 30 + number,
            message: message(object),
            object: 0,
        };
        // The third was posted by what is not recorded.
        let all = vec![dispatched(0, 200), dispatched(1, 100), dispatched(2, 300)];
        assert_eq!(posts_of(&tasks, all), [Some((20, true)), Some((10, true)), None]);
    }

    #[test]
    fn posts_of_one_place_have_the_place_and_no_time() {
        let tasks = posted(&[(10, 100, RUNNABLE, 1, true), (20, 100, RUNNABLE, 1, true)]);
        // Either was removed, or both wait.
        assert_eq!(found(&tasks, &[(30, RUNNABLE, 100, 0)]), [Some((10, false))]);
    }

    #[test]
    fn a_message_without_a_callback_needs_its_due_time() {
        let ms = DUE_UNIT;
        let tasks = posted(&[(100 * ms, 100, PLAIN, 1, false), (900 * ms, 200, PLAIN, 2, false)]);
        assert_eq!(found(&tasks, &[(950 * ms, TextId(0), 0, 0)]), [None]);
        assert_eq!(found(&tasks, &[(950 * ms, TextId(0), 0, 901 * ms)]), [Some((900 * ms, true))]);
        assert_eq!(
            found(&tasks, &[(950 * ms, TextId(0), 0, 500 * ms)]),
            [None],
            "sent by what is not recorded"
        );
    }
}
