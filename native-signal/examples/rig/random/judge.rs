//! The judge of a drawn situation: sends, waits until all is quiet, and does the sums.
//!
//! # How signals are counted
//!
//! SIGQUIT is a standard signal: the kernel drops one that comes while another is pending (man 7 signal), and says
//! nothing. So the number sent is not the number that must arrive. Two rules decide.
//!
//! *By bursts, always.* A burst begins when all is quiet: nothing pending for the process or any of its takers, no
//! handler at work, the catcher back in sigwait. So what arrives before the next quiet is of this burst. A burst of one
//! must arrive exactly once, for there is nothing that it could have been merged with. Of a larger one at least one
//! must arrive *after the last was sent* (the last was merged only if another was then pending, and that other arrives
//! later), and no more than were sent. What is missing in between counts as merged.
//!
//! *One by one, where every taker can read the number.* Signals sent by sigqueue carry a number. The taker (the catcher
//! in sigwait, or one of the rig's handlers) writes down number and time. A number that no taker wrote down
//! was merged only if the kernel had one pending when it was sent: an earlier number, taken later than that. If no
//! such number exists, it is lost. Not done where our rescue took one (it is re-sent by tgkill and loses its number),
//! nor where the only handler is ours.

use super::super::page::{Page, nap};
use super::draw::{After, Before, Draw, Leader, Random};
use super::simulate::answer;
use super::{NO_FORK, Outcome, SIMULATE, WITHHOLD};
use native_signal::boottime_ns;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long something may take that must come; far more than any machine under load needs.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How long a lost signal is waited for where losses are expected.
const SHORT_TIMEOUT: Duration = Duration::from_secs(1);

struct Judge<'a> {
    page: &'static Page,
    draw: &'a Draw,
    child: Child,
    timeout: Duration,
    sent_ns: Vec<u64>,
    /// Arrivals up to the end of the last burst.
    accounted: u64,
    /// How many of the last burst count as merged.
    merged_of_last: u64,
    outcome: Outcome,
}

/// Simulates and judges one situation.
pub(crate) fn judge(seed: u64, draw: &Draw, withhold: bool, no_fork: bool) -> Outcome {
    let (path, page) = Page::create(&format!("random-{seed}"));
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([SIMULATE, &seed.to_string()]).arg(&path);
    command.args(withhold.then_some(WITHHOLD)).args(no_fork.then_some(NO_FORK));
    let ignored = draw.before == Before::Ignored;
    // SAFETY: only calls that are safe in a signal handler, on the child's own state.
    unsafe {
        command.pre_exec(move || {
            libc::signal(libc::SIGQUIT, if ignored { libc::SIG_IGN } else { libc::SIG_DFL });
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
            Ok(())
        });
    }
    let child = command.spawn().unwrap();
    let timeout = if withhold { SHORT_TIMEOUT } else { TIMEOUT };
    let mut judge = Judge {
        page,
        draw,
        child,
        timeout,
        sent_ns: Vec::new(),
        accounted: 0,
        merged_of_last: 0,
        outcome: Outcome::default(),
    };
    judge.run(Random::new(!seed));
    let _ = judge.child.kill();
    let _ = judge.child.wait();
    let _ = fs::remove_file(path);
    judge.outcome
}

impl Judge<'_> {
    fn run(&mut self, mut random: Random) {
        if !self.step(1) {
            return;
        }
        let mut whole = true;
        for burst in &self.draw.bursts {
            // At any moment of what the leader does.
            nap(random.below(2000));
            if !self.burst(burst.count, burst.gap_us) {
                whole = false;
                break;
            }
        }
        self.page.allowed.store(2, Ordering::SeqCst);
        if !self.step(2) {
            return;
        }
        self.outcome.by_catcher = self.page.catcher.count();
        self.outcome.by_handler = self.page.previous.count();
        self.outcome.captured = self.page.answered(answer::CAPTURED) as u64;
        self.outcome.wrong_captures = self.page.answered(answer::WRONG_CAPTURES) as u64;
        self.outcome.sensed = self.page.answered(answer::SENSED) as u64;
        self.outcome.rescued = self.page.answered(answer::RESCUED) as u64;
        if whole {
            self.late(self.outcome.by_catcher + self.outcome.by_handler);
            self.one_by_one();
        }
        self.page.allowed.store(u64::MAX, Ordering::SeqCst);
        match self.ended() {
            Some(status) if status.success() => {}
            Some(status) => self.crashed(status),
            None => self.hangs("to end"),
        }
    }

    fn crashed(&mut self, status: ExitStatus) {
        self.outcome.crashes += 1;
        self.outcome.say(&format!("the simulated app ended: {status}"));
    }

    fn hangs(&mut self, what: &str) {
        self.outcome.hangs += 1;
        self.outcome.say(&format!("waited too long for {what}"));
    }

    /// Waits for the simulated app's step; false if it does not come.
    fn step(&mut self, step: u64) -> bool {
        let give_up = Instant::now() + TIMEOUT;
        while self.page.reached.load(Ordering::SeqCst) < step {
            if let Ok(Some(status)) = self.child.try_wait() {
                self.crashed(status);
                return false;
            }
            if Instant::now() > give_up {
                self.hangs(&format!("step {step}"));
                return false;
            }
            nap(500);
        }
        true
    }

    fn ended(&mut self) -> Option<ExitStatus> {
        let give_up = Instant::now() + TIMEOUT;
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            if Instant::now() > give_up {
                return None;
            }
            nap(500);
        }
    }

    fn received(&self) -> u64 {
        self.page.catcher.count() + self.page.previous.count()
    }

    /// What came after its burst was quiet (the sensor searches up to a second for a catcher that ended) still belongs to
    /// that burst: one that counted as merged, else a second arrival.
    fn late(&mut self, received: u64) {
        let late = received - self.accounted;
        let first = late.min(self.merged_of_last);
        self.merged_of_last -= first;
        self.outcome.merged -= first;
        if late > first {
            self.outcome.twice += late - first;
            self.outcome.say(&format!("{} received after all was quiet", late - first));
        }
    }

    fn last_received(&self) -> u64 {
        self.page.catcher.last().max(self.page.previous.last())
    }

    /// Sends a burst and waits until all is quiet; false if a signal is lost.
    fn burst(&mut self, count: u64, gap_us: u64) -> bool {
        let before = self.received();
        self.late(before);
        for index in 0..count {
            if index > 0 {
                pause(gap_us);
            }
            self.sent_ns.push(boottime_ns());
            self.send(self.sent_ns.len() - 1);
        }
        self.outcome.sent += count;
        let last_ns = *self.sent_ns.last().unwrap();

        let give_up = Instant::now() + self.timeout;
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                self.crashed(status);
                return false;
            }
            if self.last_received() >= last_ns && self.is_quiet() {
                break;
            }
            if Instant::now() > give_up {
                if self.last_received() >= last_ns {
                    self.hangs("quiet");
                } else {
                    self.outcome.lost += 1;
                    self.outcome.merged += count - 1 - (self.received() - before).min(count - 1);
                    self.outcome.say(&format!("lost: the last of a burst of {count}"));
                }
                return false;
            }
            nap(100);
        }
        self.accounted = self.received();
        let received = self.accounted - before;
        self.outcome.twice += received.saturating_sub(count);
        self.merged_of_last = count.saturating_sub(received);
        self.outcome.merged += self.merged_of_last;
        if received > count {
            self.outcome.say(&format!("{received} received of a burst of {count}"));
        }
        if count == 1 {
            self.outcome.alone += 1;
        }
        true
    }

    fn send(&self, number: usize) {
        let pid = self.child.id() as i32;
        if !self.draw.queued {
            // SAFETY: two integers.
            unsafe { libc::kill(pid, libc::SIGQUIT) };
            return;
        }
        let queued = Queued {
            signo: libc::SIGQUIT,
            errno: 0,
            code: libc::SI_QUEUE,
            padding: [0; size_of::<usize>() / 4 - 1],
            pid: std::process::id() as i32,
            // SAFETY: no arguments.
            uid: unsafe { libc::getuid() },
            value: number,
            rest: [0; 24],
        };
        // SAFETY: what `sigqueue` calls; the structure is as long as the kernel's siginfo at least.
        unsafe { libc::syscall(libc::SYS_rt_sigqueueinfo, pid, libc::SIGQUIT, &raw const queued) };
    }

    /// Whether nothing is under way: read in the order in which a signal travels, so that one that was at an earlier
    /// place when that place was read is seen at the next.
    fn is_quiet(&self) -> bool {
        let pid = self.child.id();
        let open = self.page.answered(answer::OPEN) == 1;
        // Pending for the process, or in a handler on the leader.
        if !at_rest(&format!("/proc/{pid}/status"), open) {
            return false;
        }
        // Taken by the rescue and not yet sent on: it runs then.
        if self.draw.leader == Leader::Vfork && !ours_sleep(pid) {
            return false;
        }
        // Pending on the catcher, or in its dump.
        let catcher = self.page.catcher_tid.load(Ordering::SeqCst);
        catcher != 0 && at_rest(&format!("/proc/{pid}/task/{catcher}/status"), true)
    }

    fn one_by_one(&mut self) {
        let named = self.draw.queued
            && self.outcome.rescued == 0
            && self.draw.leader != Leader::Vfork
            && self.draw.leader != Leader::ComesAndGoes
            && (self.page.answered(answer::INSTALLED) == 0
                || self.draw.before == Before::HandlerKeeps
                || self.draw.before == Before::HandlerForwards
                || self.draw.after != After::Nothing);
        if !named {
            return;
        }
        let mut latest_ns = 0;
        for (number, &sent_ns) in self.sent_ns.iter().enumerate() {
            match self.page.taken_ns[number].load(Ordering::SeqCst) {
                0 if latest_ns < sent_ns => {
                    self.outcome.lost += 1;
                    self.outcome.merged -= 1;
                    self.outcome.say(&format!("lost: number {number}, with none pending when it was sent"));
                }
                0 => {}
                taken_ns => latest_ns = latest_ns.max(taken_ns),
            }
            self.outcome.one_by_one += 1;
        }
        // Those that showed as more than were sent are counted; the others hid behind a merged one.
        let hidden = self.page.taken_again.load(Ordering::SeqCst).saturating_sub(self.outcome.twice);
        self.outcome.twice += hidden;
        self.outcome.merged += hidden;
    }
}

/// Whether a thread has nothing pending, and (if it must) has SIGQUIT open. A thread in sigwait reads as open.
fn at_rest(status: &str, must_be_open: bool) -> bool {
    let Ok(text) = fs::read_to_string(status) else { return false };
    let has = |field: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(field))
            .and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
            .is_none_or(|set| set & 1 << (libc::SIGQUIT - 1) != 0)
    };
    !(has("SigPnd:") || has("ShdPnd:") || must_be_open && has("SigBlk:"))
}

/// Whether the sensors' own threads sleep.
fn ours_sleep(pid: u32) -> bool {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return false };
    tasks.flatten().all(|task| {
        let stat = fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        !stat.contains("(anrscope-signal)") || stat.contains(") S ")
    })
}

/// Waits between two signals; sleeping takes longer than it is asked to.
fn pause(gap_us: u64) {
    if gap_us > 300 {
        nap(gap_us - 60);
    } else if gap_us > 0 {
        let until = boottime_ns() + gap_us * 1000;
        while boottime_ns() < until {
            std::hint::spin_loop();
        }
    }
}

/// The kernel's siginfo of a queued signal (`include/uapi/asm-generic/siginfo.h`): the union begins where a pointer may.
#[repr(C)]
struct Queued {
    signo: i32,
    errno: i32,
    code: i32,
    padding: [i32; size_of::<usize>() / 4 - 1],
    pid: i32,
    uid: u32,
    value: usize,
    rest: [usize; 24],
}
