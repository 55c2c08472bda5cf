//! Situations drawn by seed: what the system, the sender, the catcher and other people's code may do, in any
//! combination.

mod draw;
mod judge;
mod simulate;

use super::{page::Page, second};
use draw::Draw;
use std::ops::AddAssign;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// First argument of a simulated app of a drawn situation; then seed, page, and flags.
pub(crate) const SIMULATE: &str = "--simulate-random";
const WITHHOLD: &str = "--withhold";
const NO_FORK: &str = "--no-fork";

/// The sums of one situation, or of many.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    sent: u64,
    /// Dropped by the kernel, since one was pending.
    merged: u64,
    by_catcher: u64,
    by_handler: u64,
    twice: u64,
    lost: u64,
    hangs: u64,
    crashes: u64,
    /// Bursts of one: they must arrive exactly once.
    alone: u64,
    /// Signals whose number was asked for.
    one_by_one: u64,
    sensed: u64,
    rescued: u64,
    /// Stacks of the leader.
    captured: u64,
    wrong_captures: u64,
    notes: Vec<String>,
}

impl Outcome {
    fn say(&mut self, note: &str) {
        self.notes.push(note.to_owned());
    }

    fn failures(&self) -> u64 {
        self.lost + self.hangs + self.crashes + self.wrong_captures
    }
}

impl AddAssign<&Outcome> for Outcome {
    fn add_assign(&mut self, other: &Outcome) {
        self.sent += other.sent;
        self.merged += other.merged;
        self.by_catcher += other.by_catcher;
        self.by_handler += other.by_handler;
        self.twice += other.twice;
        self.lost += other.lost;
        self.hangs += other.hangs;
        self.crashes += other.crashes;
        self.alone += other.alone;
        self.one_by_one += other.one_by_one;
        self.sensed += other.sensed;
        self.rescued += other.rescued;
        self.captured += other.captured;
        self.wrong_captures += other.wrong_captures;
    }
}

/// What to run.
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) cases: u64,
    /// How many at a time; they sleep most of the time.
    pub(crate) jobs: u64,
    /// Sense signals and forward none of them: the judge must notice it.
    pub(crate) withhold: bool,
    /// Leave out what forks: a sanitizer may not follow into a child.
    pub(crate) no_fork: bool,
    pub(crate) verbose: bool,
}

impl Default for Plan {
    fn default() -> Self {
        Plan { seed: 1, cases: 2000, jobs: 4, withhold: false, no_fork: false, verbose: false }
    }
}

impl Plan {
    /// From the words after `random`; `Err` says what is wrong with them.
    pub(crate) fn parse(words: &[String]) -> Result<Plan, String> {
        let mut plan = Plan::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut number = || {
                let value = words.next().and_then(|value| value.parse().ok());
                value.ok_or_else(|| format!("{word} needs a number"))
            };
            match word.as_str() {
                "--seed" => plan.seed = number()?,
                "--cases" => plan.cases = number()?,
                "--jobs" => plan.jobs = number()?.max(1),
                WITHHOLD => plan.withhold = true,
                NO_FORK => plan.no_fork = true,
                "--verbose" => plan.verbose = true,
                other => return Err(format!("unknown: {other}")),
            }
        }
        Ok(plan)
    }
}

fn draw(seed: u64, withhold: bool, no_fork: bool) -> Draw {
    let mut draw = Draw::of(seed, second::path().is_some());
    if no_fork {
        draw = draw.without_children();
    }
    if withhold { draw.withheld() } else { draw }
}

/// Simulates one situation: the simulated app's side.
pub(crate) fn run_one(words: &[String]) {
    let [seed, page, rest @ ..] = words else { panic!("seed and page") };
    let [withhold, no_fork] = [WITHHOLD, NO_FORK].map(|flag| rest.iter().any(|word| word == flag));
    simulate::run(Page::open(page), &draw(seed.parse().unwrap(), withhold, no_fork), withhold);
}

/// Runs a plan and prints the sums; true if all went as it must.
pub(crate) fn run(plan: &Plan) -> bool {
    let begin = Instant::now();
    let next = AtomicU64::new(0);
    let total = Mutex::new((Outcome::default(), 0, Vec::new()));
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= plan.cases {
                return;
            }
            let seed = plan.seed.wrapping_add(index);
            let draw = draw(seed, plan.withhold, plan.no_fork);
            let outcome = judge::judge(seed, &draw, plan.withhold, plan.no_fork);
            if plan.verbose || !plan.withhold && outcome.failures() > 0 {
                println!("seed {seed}: {outcome:?}\n  {draw:?}");
            }
            let mut total = total.lock().unwrap();
            total.0 += &outcome;
            total.1 += u64::from(outcome.failures() > 0);
            if outcome.twice > 0 {
                total.2.push(seed);
            }
        }
    };
    std::thread::scope(|scope| {
        let jobs: Vec<_> = (0..plan.jobs).map(|_| scope.spawn(work)).collect();
        // One by one: ThreadSanitizer sees pthread_join, and not how a scope waits for the rest.
        jobs.into_iter().for_each(|job| job.join().unwrap());
    });
    let (sum, failed, twice) = total.into_inner().unwrap();
    print_sums(plan, &sum, failed, begin);
    if !twice.is_empty() {
        println!("  delivered twice in the cases of seed {twice:?}");
    }
    // What was sent is where it went. (ThreadSanitizer holds handlers back where the judge cannot see them, so that one burst's
    // signal may be counted with the next.)
    let adds_up =
        plan.no_fork || sum.sent + sum.twice == sum.merged + sum.by_catcher + sum.by_handler + sum.lost;
    if sum.hangs + sum.crashes == 0 && !adds_up {
        println!("  the sums do not add up");
    }
    match plan.withhold {
        true => sum.lost > 0 && sum.hangs + sum.crashes == 0,
        false => failed == 0 && adds_up,
    }
}

fn print_sums(plan: &Plan, sum: &Outcome, failed: u64, begin: Instant) {
    let what = if plan.withhold { ", forwarding switched off" } else { "" };
    println!(
        "{} drawn cases from seed {}{what}, in {:.0} s, {} at a time{}",
        plan.cases,
        plan.seed,
        begin.elapsed().as_secs_f64(),
        plan.jobs,
        if second::path().is_some() { "" } else { " (no libcopy.so: without a second instance)" },
    );
    for (name, number) in [
        ("signals sent", sum.sent),
        ("merged by the kernel with a pending one", sum.merged),
        ("delivered to the catcher", sum.by_catcher),
        ("delivered to another handler", sum.by_handler),
        ("delivered twice", sum.twice),
        ("lost", sum.lost),
        ("hangs", sum.hangs),
        ("crashes", sum.crashes),
        ("cases with one of these three, or a wrong capture", failed),
        ("sent alone, and arrived exactly once unless said otherwise", sum.alone),
        ("followed one by one, by number", sum.one_by_one),
        ("reported to an observer", sum.sensed),
        ("rescued from a leader that did not run", sum.rescued),
        ("captures of the leader's stack meanwhile", sum.captured),
        ("wrong captures", sum.wrong_captures),
    ] {
        println!("  {number:>9}  {name}");
    }
}
