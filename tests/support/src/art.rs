//! Writes a thread dump like ART on a version of Android, from a short description (`tests/data/answers/README.md`).
//!
//! What differs by version, from AOSP:
//! * `art/runtime/thread.cc`, `Thread::DumpState`: `sCount dsCount obj` to API 25, `flags` from 26, `ucsCount`
//!   for `dsCount` from 31.
//! * `art/runtime/signal_catcher.cc`, `SignalCatcher::HandleSigQuit`: nanoseconds in the time from API 31.
//! * `art/runtime/runtime.cc`, `Runtime::DumpForSigQuit`: threads come before classes and heap from API 34.
//! * `art/runtime/native_stack_dump.cc`: mangled names to API 25, `BuildId` from 33, no parameters and short
//!   addresses from 34.
//! * `art/runtime/thread_list.cc`: `DumpLatencyMs` below each thread from API 35.
//! * `art/runtime/thread.cc`, `ShouldShowNativeStack`: native frames only where the current method is native or
//!   ART itself waits. The cases keep to it.
//! * `libcore` `Thread.parkFor$` below `Unsafe.park` to API 28, `jdk.internal.misc.Unsafe` from 33; `!` marks
//!   fast natives to API 25.
//! * `services/core/.../StackTracesDumpHelper.java`: subject and critical events from API 31, memory from 33,
//!   `dumping pid` from 34.

use std::fmt::Write as _;

/// Process id of every written dump.
pub const PID: u32 = 4242;

/// A version of Android, with its API level.
#[derive(Clone, Copy)]
struct Version {
    api: u32,
    arm: bool,
}

const LEVELS: [(&str, u32); 16] = [
    ("5", 21),
    ("5.1", 22),
    ("6", 23),
    ("7", 24),
    ("7.1", 25),
    ("8", 26),
    ("8.1", 27),
    ("9", 28),
    ("10", 29),
    ("11", 30),
    ("12", 31),
    ("13", 33),
    ("14", 34),
    ("15", 35),
    ("16", 36),
    ("17", 37),
];

/// A dump and its facts.
pub struct Art {
    /// The text.
    pub text: String,
    /// The process's name.
    pub process: String,
    /// Whether main is in a message, according to its stack: its Java frames do not include `nativePollOnce`.
    pub in_message: bool,
}

struct Thread<'a> {
    tid: u32,
    name: String,
    state: &'a str,
    kernel: &'a str,
    body: Vec<String>,
    natives: u32,
}

/// Writes the dump that `lines` describe.
pub fn dump(lines: &[String]) -> Art {
    let mut version = Version { api: 0, arm: false };
    let mut release = "";
    let (mut process, mut subject, mut heap, mut gc) = ("com.acme.shop", None, ("48", "6912KB/13MB"), None);
    let (mut pressure, mut channels) = (Vec::new(), None);
    let mut threads: Vec<Thread<'_>> = Vec::new();
    for line in lines {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let words: Vec<&str> = rest.split(' ').collect();
        match word {
            "android" => {
                release = rest;
                version.api = LEVELS.iter().find(|(name, _)| *name == rest).expect(line).1;
            }
            "abi" => version.arm = rest == "arm",
            "process" => process = rest,
            "subject" => subject = Some(rest),
            "heap" => heap = (words[0], words[1]),
            "gc" => gc = Some((words[0], words[1], words[2])),
            "psi" => pressure.push((words[0], words[1], words[2])),
            "channels" => channels = Some(rest),
            "main" => threads.push(thread(1, "main", words[0], words[1])),
            "thread" => threads.push(thread(words[0].parse().expect(line), words[1], words[2], words[3])),
            _ => threads.last_mut().expect("a thread comes first").line(version, word, rest),
        }
    }
    assert!(version.api > 0, "no version in {lines:?}");
    let in_message = threads.first().is_some_and(|main| {
        !main.body.iter().any(|line| line.contains("nativePollOnce")) && !main.body.is_empty()
    });
    let mut text = head(version, subject, &pressure);
    if channels.is_none() {
        let stacks = stacks(version, threads);
        let _ = write!(text, "----- pid {PID} at {} -----\nCmd line: {process}\n", time(version));
        let _ = write!(
            text,
            "Build fingerprint: 'acme/phone/phone:{release}/AP1A.1/7:user/release-keys'\nABI: '{}'\nBuild type: optimized\n",
            if version.arm { "arm" } else { "arm64" }
        );
        let facts = facts(version, heap, gc);
        if version.api >= 34 {
            let _ = write!(text, "{stacks}{facts}");
        } else {
            let _ = write!(text, "{facts}{stacks}");
        }
        let _ = write!(text, "\n----- end {PID} -----\n");
    }
    if let Some(symbol) = channels {
        let _ = write!(
            text,
            "libdebuggerd_client: failed to read status response from tombstoned: timeout reached?\n\n\
             ----- Waiting Channels: pid {PID} at {} -----\nCmd line: {process}\n\n",
            time(version)
        );
        for tid in PID..PID + 12 {
            let _ = writeln!(text, "sysTid={tid:<9} {symbol}");
        }
        let _ = write!(text, "\n----- end {PID} -----\n");
    }
    Art { text, process: process.to_owned(), in_message }
}

fn thread<'a>(tid: u32, name: &str, state: &'a str, kernel: &'a str) -> Thread<'a> {
    Thread { tid, name: name.replace('~', " "), state, kernel, body: Vec::new(), natives: 0 }
}

fn time(version: Version) -> &'static str {
    if version.api >= 31 { "2026-01-01 11:00:00.456000000+0100" } else { "2026-01-01 11:00:00" }
}

/// The part that the system writes before the process's own text.
fn head(version: Version, subject: Option<&str>, pressure: &[(&str, &str, &str)]) -> String {
    let mut out = String::new();
    if let Some(subject) = subject {
        let _ = writeln!(out, "Subject: {subject}");
        if version.api >= 33 {
            out.push_str(
                "RssHwmKb: 204800\nRssKb: 199680\nRssAnonKb: 102400\nRssShmemKb: 2048\nVmSwapKb: 512\n\n",
            );
        }
    }
    for (of, some, full) in pressure {
        let _ = write!(
            out,
            "----- Output from /proc/pressure/{of} -----\nsome avg10={some} avg60=20.00 avg300=5.00 total=5100000\n\
             full avg10={full} avg60=9.00 avg300=2.00 total=2000000\n----- End output from /proc/pressure/{of} -----\n"
        );
    }
    if subject.is_some() && version.api >= 31 {
        out.push_str(
            "\n--- CriticalEventLog ---\ncapacity: 20\ntimestamp_ms: 1767261600456\nwindow_ms: 300000\n\n",
        );
    }
    if version.api >= 34 {
        let _ = write!(out, "----- dumping pid: {PID} at 88001240\n\n");
    }
    out
}

/// Classes, heap and JNI.
fn facts(version: Version, (free, used): (&str, &str), gc: Option<(&str, &str, &str)>) -> String {
    let classes = if version.api >= 24 {
        "Zygote loaded classes=24859 post zygote classes=938"
    } else {
        "Loaded classes: 3829 allocated classes"
    };
    let (total, count, blocking) = gc.unwrap_or(("9.879ms", "1", "2.500ms"));
    format!(
        "{classes}\nIntern table: 46149 strong; 1039 weak\nJNI: CheckJNI is off; globals=397 (plus 116 weak)\n\
         Libraries: libandroid.so libjavacore.so libopenjdk.so (3)\nHeap: {free}% free, {used}; 188251 objects\n\
         Total number of allocations 188251\nTotal time spent in GC: {total}\nFree memory until OOME 185MB\n\
         Total GC count: {count}\nTotal GC time: {total}\nTotal blocking GC count: {count}\nTotal blocking GC time: {blocking}\n\n"
    )
}

/// The threads of the case and those of every app.
fn stacks(version: Version, mut threads: Vec<Thread<'_>>) -> String {
    let mut catcher = thread(3, "Signal~Catcher", "Runnable", "R");
    catcher.line(version, "native", "libart.so art::DumpNativeStack(std::__1::basic_ostream<char>&, int)");
    catcher.line(version, "native", "libart.so art::SignalCatcher::HandleSigQuit()");
    let mut finalizer = thread(5, "FinalizerDaemon", "Waiting", "S");
    finalizer.line(version, "+wait", "0000f1f1 java.lang.Object");
    finalizer.line(version, "at", "java.lang.ref.ReferenceQueue.remove(ReferenceQueue.java:190)");
    finalizer.line(version, "locked", "0000f1f1 java.lang.Object");
    finalizer.line(version, "at", "java.lang.Daemons$FinalizerDaemon.runInternal(Daemons.java:309)");
    let mut binder =
        thread(8, &format!("Binder{}{PID}_1", if version.api >= 24 { ":" } else { "_" }), "Native", "S");
    for line in [
        "libc.so __ioctl",
        "libbinder.so android::IPCThreadState::talkWithDriver(bool)",
        "libbinder.so android::IPCThreadState::getAndExecuteCommand()",
        "libbinder.so android::IPCThreadState::joinThreadPool(bool)",
    ] {
        binder.line(version, "native", line);
    }
    let at = usize::from(!threads.is_empty());
    threads.splice(at..at, [catcher, finalizer, binder]);
    let mut out = format!(
        "suspend all histogram:\tSum: 269us 99% C.I. 0.098us-74us Avg: 9.962us Max: 74us\nDALVIK THREADS ({}):\n",
        threads.len()
    );
    for thread in &threads {
        out.push_str(&thread.written(version));
    }
    out
}

impl Thread<'_> {
    fn written(&self, version: Version) -> String {
        let stopped = u32::from(self.state != "Runnable");
        let daemon = if [3, 5].contains(&self.tid) { " daemon" } else { "" };
        let counts = match version.api {
            ..26 => format!("sCount={stopped} dsCount=0"),
            26..31 => format!("sCount={stopped} dsCount=0 flags={stopped}"),
            _ => format!("sCount={stopped} ucsCount=0 flags={stopped}"),
        };
        let group = if self.tid == 1 { ("top-app", -10) } else { ("top-app", 0) };
        let cgroup = match version.api {
            ..23 => "apps",
            23..31 => "default",
            _ => group.0,
        };
        let stack = match (self.tid, version.api) {
            (1, ..29) => "8MB",
            (1, 29..31) => "8192KB",
            (1, _) => "8188KB",
            _ => "1039KB",
        };
        let mutexes = if self.state == "Runnable" { " \"mutator lock\"(shared held)" } else { "" };
        let sys_tid = PID + self.tid - 1;
        let mut out = format!(
            "\"{}\"{daemon} prio=5 tid={} {}\n  | group=\"main\" {counts} obj=0x720000{:02x} self=0xb4000070000{:05x}\n  \
             | sysTid={sys_tid} nice={} cgrp={cgroup} sched=0/0 handle=0x7f0000{:04x}\n  \
             | state={} schedstat=( 900000000 50000000 1200 ) utm=80 stm=10 core=2 HZ=100\n  \
             | stack=0x7ff0000000-0x7ff0002000 stackSize={stack}\n  | held mutexes={mutexes}\n",
            self.name, self.tid, self.state, self.tid, self.tid, group.1, self.tid, self.kernel
        );
        for line in &self.body {
            out.push_str(line);
            out.push('\n');
        }
        if !self.body.iter().any(|line| line.starts_with("  at ")) {
            out.push_str("  (no managed stack frames)\n");
        }
        let java = self.body.iter().find(|line| line.starts_with("  at "));
        let shows_native = java.is_none_or(|line| line.ends_with("(Native method)"));
        let waits = self.state.starts_with("WaitingForGc") || self.state == "WaitingPerformingGc";
        assert!(self.natives == 0 || shows_native || waits, "ART shows no native frames above {java:?}");
        if version.api >= 35 {
            out.push_str("DumpLatencyMs: 2.47\n");
        }
        out.push('\n');
        out
    }

    fn push(&mut self, line: impl Into<String>) {
        self.body.push(line.into());
    }

    fn frames(&mut self, version: Version, frames: &[&str]) {
        for frame in frames {
            self.line(version, "at", frame);
        }
    }

    /// A line of the description below a thread.
    fn line(&mut self, version: Version, word: &str, rest: &str) {
        let address = || {
            let (address, class) = rest.split_once(' ').unwrap();
            (address.to_owned(), class.to_owned())
        };
        match word {
            "kernel" => {
                let offset = if rest.contains('+') { "" } else { "+0x90/0x120" };
                self.push(format!("  kernel: {rest}{offset}"));
            }
            "native" => {
                let (library, function) = rest.split_once(' ').unwrap();
                let line = native(version, self.natives, library, function);
                self.natives += 1;
                self.push(line);
            }
            "at" => {
                // The mark of a fast native method comes from the runtime, not the method.
                let fast = version.api < 26
                    && [
                        "java.lang.Object.wait(",
                        "java.lang.Thread.sleep(",
                        "java.lang.reflect.Method.invoke(",
                    ]
                    .iter()
                    .any(|name| rest.starts_with(name))
                    && rest.ends_with("(Native method)");
                self.push(format!(
                    "  at {}",
                    if fast { rest.replace("(Native", "!(Native") } else { rest.to_owned() }
                ));
            }
            "locked" => {
                let (address, class) = address();
                self.push(format!("  - locked <0x{address}> (a {class})"));
            }
            "waits" => {
                let (address, class) = address();
                self.push(format!("  - waiting on <0x{address}> (a {class})"));
            }
            "wants-unknown" => self.push("  - waiting to lock an unknown object"),
            "wants" => {
                let words: Vec<&str> = rest.split(' ').collect();
                let owner = words.get(2).map_or(String::new(), |tid| format!(" held by thread {tid}"));
                self.push(format!("  - waiting to lock <0x{}> (a {}){owner}", words[0], words[1]));
            }
            _ => self.platform(version, word, rest),
        }
    }

    /// Frames of the platform, in the version's form.
    fn platform(&mut self, version: Version, word: &str, rest: &str) {
        let api = version.api;
        match word {
            "+poll" => {
                for line in [
                    "libc.so __epoll_pwait",
                    if api < 26 {
                        "libutils.so _ZN7android6Looper9pollInnerEi"
                    } else {
                        "libutils.so android::Looper::pollInner(int)"
                    },
                ] {
                    self.line(version, "native", line);
                }
                self.poll_outer(version);
            }
            "+poll-outer" => {
                self.line(
                    version,
                    "native",
                    if api < 26 {
                        "libutils.so _ZN7android6Looper9pollInnerEi"
                    } else {
                        "libutils.so android::Looper::pollInner(int)"
                    },
                );
                self.poll_outer(version);
            }
            "+input-from-poll" => {
                self.frames(
                    version,
                    &[
                        "android.view.View.dispatchPointerEvent(View.java:12752)",
                        "android.view.ViewRootImpl$ViewPostImeInputStage.processPointerEvent(ViewRootImpl.java:5122)",
                        "android.view.ViewRootImpl$WindowInputEventReceiver.onInputEvent(ViewRootImpl.java:7080)",
                        "android.view.InputEventReceiver.dispatchInputEvent(InputEventReceiver.java:194)",
                        "android.os.MessageQueue.nativePollOnce(Native method)",
                        "android.os.MessageQueue.next(MessageQueue.java:336)",
                    ],
                );
                self.line(version, "+loop", "");
            }
            "+loop" => {
                if api >= 31 {
                    self.line(version, "at", "android.os.Looper.loopOnce(Looper.java:162)");
                }
                self.frames(
                    version,
                    &[
                        "android.os.Looper.loop(Looper.java:294)",
                        "android.app.ActivityThread.main(ActivityThread.java:8177)",
                        "java.lang.reflect.Method.invoke(Native method)",
                        match api {
                            ..26 => "com.android.internal.os.ZygoteInit$MethodAndArgsCaller.run(ZygoteInit.java:865)",
                            26 | 27 => "com.android.internal.os.Zygote$MethodAndArgsCaller.run(Zygote.java:245)",
                            _ => "com.android.internal.os.RuntimeInit$MethodAndArgsCaller.run(RuntimeInit.java:552)",
                        },
                        "com.android.internal.os.ZygoteInit.main(ZygoteInit.java:971)",
                    ],
                );
            }
            "+message" => {
                self.frames(
                    version,
                    &[
                        "android.app.ActivityThread$H.handleMessage(ActivityThread.java:2210)",
                        "android.os.Handler.dispatchMessage(Handler.java:106)",
                    ],
                );
                self.line(version, "+loop", "");
            }
            "+post" => {
                self.frames(
                    version,
                    &[
                        "android.os.Handler.handleCallback(Handler.java:958)",
                        "android.os.Handler.dispatchMessage(Handler.java:99)",
                    ],
                );
                self.line(version, "+loop", "");
            }
            "+click" => {
                self.frames(
                    version,
                    &[
                        "android.view.View.performClick(View.java:7659)",
                        "android.view.View$PerformClick.run(View.java:30211)",
                    ],
                );
                self.line(version, "+post", "");
            }
            "+frame" => {
                self.frames(
                    version,
                    &[
                        "android.view.Choreographer$CallbackRecord.run(Choreographer.java:1337)",
                        "android.view.Choreographer.doCallbacks(Choreographer.java:952)",
                        "android.view.Choreographer.doFrame(Choreographer.java:882)",
                        "android.view.Choreographer$FrameDisplayEventReceiver.run(Choreographer.java:1322)",
                    ],
                );
                self.line(version, "+post", "");
            }
            "+receiver" => {
                self.line(
                    version,
                    "at",
                    "android.app.ActivityThread.handleReceiver(ActivityThread.java:4400)",
                );
                self.line(version, "+message", "");
            }
            "+service" => {
                self.line(
                    version,
                    "at",
                    "android.app.ActivityThread.handleServiceArgs(ActivityThread.java:4869)",
                );
                self.line(version, "+message", "");
            }
            "+create" => {
                self.frames(
                    version,
                    &[
                        "android.app.Activity.performCreate(Activity.java:8595)",
                        "android.app.Instrumentation.callActivityOnCreate(Instrumentation.java:1456)",
                        "android.app.ActivityThread.performLaunchActivity(ActivityThread.java:3764)",
                        "android.app.ActivityThread.handleLaunchActivity(ActivityThread.java:3922)",
                    ],
                );
                self.line(version, "+message", "");
            }
            "+application" => {
                self.frames(
                    version,
                    &[
                        "android.app.Instrumentation.callApplicationOnCreate(Instrumentation.java:1316)",
                        "android.app.ActivityThread.handleBindApplication(ActivityThread.java:6998)",
                    ],
                );
                self.line(version, "+message", "");
            }
            "+park" | "+park-nanos" => {
                let lock_support = if word == "+park" {
                    "java.util.concurrent.locks.LockSupport.park(LockSupport.java:190)"
                } else {
                    "java.util.concurrent.locks.LockSupport.parkNanos(LockSupport.java:230)"
                };
                match api {
                    ..29 => {
                        self.line(version, "at", "java.lang.Object.wait(Native method)");
                        self.line(version, "waits", "0000abc1 java.lang.Object");
                        self.line(version, "at", "java.lang.Thread.parkFor$(Thread.java:2137)");
                        self.line(version, "locked", "0000abc1 java.lang.Object");
                        self.line(version, "at", "sun.misc.Unsafe.park(Unsafe.java:358)");
                    }
                    _ => {
                        let class = if api < 33 { "sun.misc" } else { "jdk.internal.misc" };
                        self.line(version, "at", &format!("{class}.Unsafe.park(Native method)"));
                        self.push("  - waiting on an unknown object");
                    }
                }
                self.line(version, "at", lock_support);
            }
            "+sleep" => {
                self.line(version, "at", "java.lang.Thread.sleep(Native method)");
                self.push("  - sleeping on <0x0f43a1f1> (a java.lang.Object)");
                self.line(version, "at", "java.lang.Thread.sleep(Thread.java:450)");
                self.line(version, "locked", "0f43a1f1 java.lang.Object");
                self.line(version, "at", "java.lang.Thread.sleep(Thread.java:355)");
            }
            "+wait" => {
                self.line(version, "at", "java.lang.Object.wait(Native method)");
                self.line(version, "waits", rest);
            }
            "+transact" => {
                for line in [
                    "libc.so __ioctl",
                    "libc.so ioctl",
                    "libbinder.so android::IPCThreadState::talkWithDriver(bool)",
                    "libbinder.so android::IPCThreadState::waitForResponse(android::Parcel*, int*)",
                    "libbinder.so android::IPCThreadState::transact(int, unsigned int, android::Parcel const&, android::Parcel*, unsigned int)",
                    "libbinder.so android::BpBinder::transact(unsigned int, android::Parcel const&, android::Parcel*, unsigned int)",
                    "libandroid_runtime.so android_os_BinderProxy_transact(_JNIEnv*, _jobject*, int, _jobject*, _jobject*, int)",
                ] {
                    self.line(version, "native", line);
                }
                let file = if api < 28 { "Binder.java:764" } else { "BinderProxy.java:571" };
                self.line(version, "at", "android.os.BinderProxy.transactNative(Native method)");
                self.line(version, "at", &format!("android.os.BinderProxy.transact({file})"));
            }
            "+binder" => {
                self.line(version, "+transact", "");
                let class = rest.split('$').next().unwrap();
                let file = class.rsplit('.').next().unwrap();
                self.line(version, "at", &format!("{rest}({file}.java:1180)"));
            }
            "+pool-task" => self.frames(
                version,
                &[
                    "java.util.concurrent.ThreadPoolExecutor.runWorker(ThreadPoolExecutor.java:1145)",
                    "java.util.concurrent.ThreadPoolExecutor$Worker.run(ThreadPoolExecutor.java:644)",
                    "java.lang.Thread.run(Thread.java:1012)",
                ],
            ),
            "+pool-idle" => {
                self.line(version, "+park", "");
                self.frames(
                    version,
                    &[
                        "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject.await(AbstractQueuedSynchronizer.java:2081)",
                        "java.util.concurrent.LinkedBlockingQueue.take(LinkedBlockingQueue.java:433)",
                        "java.util.concurrent.ThreadPoolExecutor.getTask(ThreadPoolExecutor.java:1092)",
                    ],
                );
                self.line(version, "+pool-task", "");
            }
            _ => panic!("cannot write {word:?} {rest:?}"),
        }
    }

    /// The frames outside of pollOnce.
    fn poll_outer(&mut self, version: Version) {
        let names = if version.api < 26 {
            [
                "libutils.so _ZN7android6Looper8pollOnceEiPiS1_PPv",
                "libandroid_runtime.so _ZN7android18NativeMessageQueue8pollOnceEP7_JNIEnvP8_jobjecti",
            ]
        } else {
            [
                "libutils.so android::Looper::pollOnce(int, int*, int*, void**)",
                "libandroid_runtime.so android::android_os_MessageQueue_nativePollOnce(_JNIEnv*, _jobject*, long, int)",
            ]
        };
        for name in names {
            self.line(version, "native", name);
        }
        self.frames(
            version,
            &[
                "android.os.MessageQueue.nativePollOnce(Native method)",
                "android.os.MessageQueue.next(MessageQueue.java:335)",
            ],
        );
        self.line(version, "+loop", "");
    }
}

/// A native frame.
fn native(version: Version, number: u32, library: &str, function: &str) -> String {
    let api = version.api;
    let lib = if version.arm { "lib" } else { "lib64" };
    let path = match library {
        "libc.so" | "libdl.so" | "libm.so" if api >= 29 => {
            format!("/apex/com.android.runtime/{lib}/bionic/{library}")
        }
        "libart.so" | "libjavacore.so" | "libopenjdk.so" if api >= 30 => {
            format!("/apex/com.android.art/{lib}/{library}")
        }
        "libart.so" if api == 29 => format!("/apex/com.android.runtime/{lib}/{library}"),
        "libssl.so" if api >= 29 => format!("/apex/com.android.conscrypt/{lib}/{library}"),
        "libc.so"
        | "libdl.so"
        | "libart.so"
        | "libjavacore.so"
        | "libopenjdk.so"
        | "libssl.so"
        | "libutils.so"
        | "libbinder.so"
        | "libandroid_runtime.so"
        | "libandroidfw.so"
        | "libgui.so"
        | "libinput.so"
        | "libhwui.so"
        | "libsqlite.so"
        | "libz.so"
        | "libaudioclient.so"
        | "libwebviewchromium_loader.so" => {
            format!("/system/{lib}/{library}")
        }
        "libwebviewchromium.so" => format!("/system/app/WebViewGoogle/lib/arm64/{library}"),
        "libmonochrome_64.so" => {
            format!(
                "/data/app/~~q==/com.google.android.trichromelibrary_563512033-w==/base.apk!{library} (offset 0x2a4000)"
            )
        }
        _ if api >= 30 => format!("/data/app/~~x==/com.acme.shop-y==/base.apk!{library} (offset 0x1000)"),
        _ => format!("/data/app/com.acme.shop-1/lib/arm64/{library}"),
    };
    let short = function.split_once('(').filter(|_| api >= 34).map_or(function, |(name, _)| name);
    // An anonymous namespace is not a list of parameters.
    let function = if short.ends_with("::") { function } else { short };
    let function =
        if function == "???" { function.to_owned() } else { format!("{function}+{}", 28 + number * 4) };
    let pc = 0x4_c35c + u64::from(number) * 0x1010;
    let pc = if api >= 34 || version.arm { format!("{pc:08x}") } else { format!("{pc:016x}") };
    let build = if api >= 33 { " (BuildId: 00112233445566778899aabbccddeeff)" } else { "" };
    format!("  native: #{number:02} pc {pc}  {path} ({function}){build}")
}
