//! The process that hangs: a small app with a Looper, 60 Hz frames and workers, whose main thread waits for a lock that a worker
//! never releases.
//!
//! It behaves like ART where the recorder depends on it: every thread blocks SIGQUIT, and a thread named "Signal Catcher" takes it
//! with sigwait (AOSP `art/runtime/signal_catcher.cc`). The parent acts as the system: it answers when the app asks for the list of
//! processes that do not respond.

use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use clap::Args;
use nix::sys::signal::{SigSet, Signal};
use trace_format::event::{CallId, Frame, Message, Stage, Wait, WaitKind};
use trace_format::{MapId, TextId};
use trace_runtime::{Config, Destination, ProcessInError, boottime};

use super::log::Log;
use super::methods::Method::*;

const VSYNC_INTERVAL: u64 = 16_666_667;
const FRAMES_BEFORE_THE_HANG: u64 = 150;
const PRICES_LOCK: u64 = 0x9A_1CE5;
/// The system's word for an app that does not respond.
pub(super) const NOT_RESPONDING: &str = "NOT_RESPONDING";

/// The child's command line, set by the parent.
#[derive(Args, Debug)]
pub(crate) struct Options {
    recording: PathBuf,
    log: PathBuf,
    map_id: MapId,
    #[arg(long)]
    hang: bool,
}

/// Runs until it is killed.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    SigSet::from(Signal::SIGQUIT).thread_block()?;
    start_signal_catcher(&options.log)?;

    let mut config = Config::new(Destination::File(options.recording.clone()), "com.example.shop");
    config.recording.map_id = options.map_id;
    trace_runtime::start(&config)?;
    // It draws frames.
    trace_runtime::set_foreground(true);
    trace_runtime::set_error_state_source(Some(Box::new(listen_to_the_system()?)));

    let prices = Arc::new(Mutex::new(()));
    start_image_loader(&options.log, "ImageLoader-1", 3)?;
    start_image_loader(&options.log, "ImageLoader-2", 7)?;
    let sync = start_sync(&options.log, prices.clone())?;

    let messages = MESSAGES.map(message);
    let mut main = Main { log: Log::open(&options.log, "main")?, vsync: 0, messages };
    let mut looper = Looper::new(FRAMES_BEFORE_THE_HANG);
    // Without a hang the app runs until the parent ends it.
    while let Some(message) = looper.next() {
        if options.hang && message == Work::Pay {
            sync.recv()?;
            writeln!(crate::terminal::stdout(), "pay")?;
            main.handle(Work::Pay, &prices);
        } else if message != Work::Pay {
            main.handle(message, &prices);
        }
    }
    Ok(())
}

/// A message of the app.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Work {
    Frame { intended: u64 },
    Click,
    Bind { row: u32 },
    Pay,
}

/// A queue of messages by time, as android.os.Looper has one: frames at vsync, others in between.
#[derive(Debug)]
struct Looper {
    next_vsync: u64,
    posted: VecDeque<Work>,
    frames: u64,
    pay_at_frame: u64,
}

impl Looper {
    fn new(pay_at_frame: u64) -> Self {
        Self { next_vsync: boottime() + VSYNC_INTERVAL, posted: VecDeque::new(), frames: 0, pay_at_frame }
    }

    /// Returns the next message that is due; sleeps until then.
    fn next(&mut self) -> Option<Work> {
        if let Some(work) = self.posted.pop_front() {
            return Some(work);
        }
        let intended = self.next_vsync;
        thread::sleep(Duration::from_nanos(intended.saturating_sub(boottime())));
        self.next_vsync = intended + VSYNC_INTERVAL;
        self.frames += 1;
        match self.frames {
            n if n == self.pay_at_frame => self.posted.push_back(Work::Pay),
            n if n % 30 == 0 => self.posted.push_back(Work::Click),
            n if n % 10 == 0 => {
                self.posted.extend((0..3).map(|row| Work::Bind { row }));
            }
            _ => {}
        }
        Some(Work::Frame { intended })
    }
}

/// Target, callback and `what` of a message of each kind of [`Work`].
const MESSAGES: [(&str, Option<&str>, i32); 4] = [
    (
        "android.view.Choreographer$FrameHandler",
        Some("android.view.Choreographer$FrameDisplayEventReceiver"),
        0,
    ),
    ("android.view.ViewRootImpl$ViewRootHandler", Some("android.view.View$PerformClick"), 0),
    ("com.example.shop.RowAdapter$H", None, 3),
    ("android.os.Handler", Some("com.example.shop.CheckoutActivity$PayTask"), 0),
];

/// A message with its name in the log. Its texts are interned once, as the Android shims do.
fn message((target, callback, what): (&str, Option<&str>, i32)) -> (String, Message) {
    let name = match callback {
        Some(callback) => format!("{target}: {callback}"),
        None => format!("{target}: #{what}"),
    };
    let target = trace_runtime::text(target);
    let callback = callback.map_or(TextId(0), trace_runtime::text);
    (name, Message { target, callback, what, ..Message::default() })
}

/// State of the main thread.
struct Main {
    log: Log,
    vsync: u64,
    messages: [(String, Message); 4],
}

impl Main {
    fn handle(&mut self, work: Work, prices: &Mutex<()>) {
        let number = match work {
            Work::Frame { .. } => 0,
            Work::Click => 1,
            Work::Bind { .. } => 2,
            Work::Pay => 3,
        };
        let (name, message) = self.messages[number].clone();
        self.log.note('B', &name, || trace_runtime::message_begin(&message));
        match work {
            Work::Frame { intended } => self.frame(intended),
            Work::Click => self.log.method(OnClick, |_| spend(400)),
            Work::Bind { row } => self.log.method(BindRow, |_| spend(u64::from(row) * 100 + 50)),
            Work::Pay => self.pay(prices),
        }
        self.log.note('E', &name, trace_runtime::message_end);
    }

    fn frame(&mut self, intended: u64) {
        self.vsync += 1;
        let frame = Frame { vsync: self.vsync, intended, interval: VSYNC_INTERVAL, ..Frame::default() };
        let name = format!("Choreographer#doFrame {}", self.vsync);
        // Every fortieth frame is janky.
        let slow = if self.vsync.is_multiple_of(40) { 40_000 } else { 0 };
        self.log.slice(
            &name,
            || trace_runtime::frame_begin(&frame),
            trace_runtime::frame_end,
            |log| {
                stage(log, Stage::Input, |log| log.method(OnInput, |_| spend(150)));
                stage(log, Stage::Animation, |log| {
                    log.method(Animate, |log| log.method(Interpolate, |_| spend(100)));
                });
                stage(log, Stage::Traversal, |log| {
                    log.method(Traverse, |log| {
                        log.method(Measure, |_| spend(300));
                        log.method(Layout, |_| spend(200));
                        log.method(Draw, |_| spend(900 + slow));
                    });
                });
            },
        );
    }

    /// Hangs: the worker that holds the prices' lock waits for a reply that never comes.
    fn pay(&mut self, prices: &Mutex<()>) {
        let class = trace_runtime::text("com.example.shop.PriceStore");
        self.log.method(Pay, |log| {
            log.method(CartTotal, |log| {
                log.method(PriceOf, |log| {
                    begin_wait(log, Wait { lock: PRICES_LOCK, class, ..Wait::new(WaitKind::Monitor) });
                    drop(prices.lock());
                });
            });
        });
    }
}

fn stage(log: &mut Log, stage: Stage, body: impl FnOnce(&mut Log)) {
    log.slice(stage.word(), || trace_runtime::stage_begin(stage), || trace_runtime::stage_end(stage), body);
}

fn begin_wait(log: &mut Log, wait: Wait) {
    log.note('B', "wait", || trace_runtime::wait_begin(wait));
}

/// Burns CPU for about this many microseconds.
fn spend(micros: u64) {
    let end = boottime() + micros * 1_000;
    while boottime() < end {
        std::hint::spin_loop();
    }
}

fn start_signal_catcher(log: &Path) -> anyhow::Result<()> {
    let mut log = Log::open(log, "Signal Catcher")?;
    let (named, ready) = channel();
    thread::Builder::new().name("Signal Catcher".to_owned()).spawn(move || {
        // A thread sets its own name; the recorder identifies it by that.
        let _ = named.send(());
        let sigquit = SigSet::from(Signal::SIGQUIT);
        while let Ok(signal) = sigquit.wait() {
            log.note('I', signal.as_str(), || ());
        }
    })?;
    ready.recv()?;
    Ok(())
}

/// Returns the source of error states: it reads one line from the system once this process does not respond. In an app this is
/// `ActivityManager.getProcessesInErrorState()`.
fn listen_to_the_system() -> io::Result<impl FnMut() -> Vec<ProcessInError> + Send> {
    let is_listed = Arc::new(AtomicBool::new(false));
    let not_responding = is_listed.clone();
    thread::Builder::new().name("system".to_owned()).spawn(move || {
        for line in io::stdin().lines().map_while(Result::ok) {
            if line == NOT_RESPONDING {
                is_listed.store(true, Ordering::Release);
            }
        }
        // The parent died without ending this process: it ends itself.
        let _ = nix::sys::signal::raise(Signal::SIGKILL);
    })?;
    let (pid, uid) = (std::process::id() as i32, nix::unistd::getuid().as_raw());
    Ok(move || {
        let listed = not_responding.load(Ordering::Acquire);
        listed.then_some(ProcessInError { pid, uid, not_responding: true }).into_iter().collect()
    })
}

/// Starts a worker that decodes images forever, in nested methods.
fn start_image_loader(log: &Path, name: &'static str, rows: u32) -> anyhow::Result<()> {
    let mut log = Log::open(log, name)?;
    thread::Builder::new().name(name.to_owned()).spawn(move || {
        loop {
            log.method(Decode, |log| {
                for row in 0..rows {
                    log.method(DecodeRow, |_| spend(100 + u64::from(row) * 20));
                }
            });
            thread::sleep(Duration::from_millis(8));
        }
    })?;
    Ok(())
}

/// Starts a worker that takes the prices' lock and then waits for a reply. Returns a channel that signals when it has the lock.
fn start_sync(log: &Path, prices: Arc<Mutex<()>>) -> anyhow::Result<Receiver<()>> {
    let mut log = Log::open(log, "SyncWorker")?;
    let (holding, is_held) = channel();
    // No thread writes to the other end.
    let (mut socket, silent) = UnixStream::pair()?;
    thread::Builder::new().name("SyncWorker".to_owned()).spawn(move || -> io::Result<()> {
        let _silent = silent;
        log.method(Sync, |log| {
            let class = trace_runtime::text("com.example.shop.PriceStore");
            begin_wait(log, Wait { lock: PRICES_LOCK, class, ..Wait::new(WaitKind::Monitor) });
            let held = prices.lock();
            log.note('E', "wait", || trace_runtime::wait_end(WaitKind::Monitor, PRICES_LOCK));
            let _ = holding.send(());
            let read = log.method(Upload, |log| {
                let class = trace_runtime::text("java.net.SocketInputStream");
                let call = CallId::of("java.io.InputStream", "read");
                begin_wait(log, Wait { class, call, ..Wait::new(WaitKind::Blocking) });
                socket.read(&mut [0; 1])
            });
            drop(held);
            read.map(drop)
        })
    })?;
    Ok(is_held)
}
