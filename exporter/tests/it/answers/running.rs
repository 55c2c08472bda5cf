//! Dumps of programs that run: `tests/data/java/Stuck.java` on this machine's JDK, each in the hang that its label names.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use test_support::jdk::{self, Running};

use crate::answers::found;
use crate::answers::truth::{Compared, Outcome, Truth};

/// Programs at once.
const JOBS: usize = 3;

/// Runs the program until its threads stand still, and returns the dump of jstack.
fn dump(classes: &Path, program: &str) -> String {
    let mut java = Command::new("java");
    java.args(["-Xmx64m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]);
    // On a machine with one core the common pool has no threads of its own.
    java.arg("-Djava.util.concurrent.ForkJoinPool.common.parallelism=3");
    java.arg("-cp").arg(classes).args(["Stuck", program]).stdout(Stdio::piped());
    let mut running = Running(java.spawn().expect("java"));
    let out = BufReader::new(running.0.stdout.take().unwrap());
    let pid = out.lines().map_while(Result::ok).find_map(|line| Some(line.strip_prefix("pid ")?.to_owned()));
    let pid = pid.unwrap_or_else(|| panic!("{program} ended"));
    String::from_utf8(jdk::finish(jdk::tool("jstack").args(["-l", &pid]))).unwrap()
}

#[test]
fn programs_that_hang_are_answered_by_their_dumps() {
    let classes = std::env::temp_dir().join(format!("anrscope-stuck-{}", std::process::id()));
    std::fs::create_dir_all(&classes).unwrap();
    let source: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/java/Stuck.java");
    jdk::finish(jdk::tool("javac").args(["-nowarn", "--release", "11", "-d"]).arg(&classes).arg(source));
    let programs: Mutex<Vec<(String, Truth)>> = Mutex::new(super::labels("program"));
    assert!(programs.lock().unwrap().len() > 30);
    let differ = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..JOBS {
            scope.spawn(|| {
                loop {
                    let Some((program, truth)) = programs.lock().unwrap().pop() else { break };
                    let text = dump(&classes, &program);
                    let answer = found::of_dump(&super::read(&program, &text));
                    if truth.judge(&answer) != Outcome::Right {
                        let found = Compared::of(&answer);
                        differ
                            .lock()
                            .unwrap()
                            .push(format!("{program}: `{truth}`, answered `{found}`\n{text}"));
                    }
                }
            });
        }
    });
    std::fs::remove_dir_all(&classes).unwrap();
    let differ = differ.into_inner().unwrap();
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
