//! Writes a thread dump like HotSpot, from a short description (`tests/data/answers/README.md`).
//!
//! The forms are those of `src/hotspot/share/runtime/thread.cpp` (`JavaThread::print_on`), `services/threadService.cpp`
//! (`DeadlockCycle::print_on_with`) and `classes/java/lang/Thread.java` of JDK 8 to 25.

use std::fmt::Write as _;

/// Writes the dump that `lines` describe.
pub(crate) fn dump(lines: &[String]) -> String {
    let release: u32 = lines[0].strip_prefix("jdk ").expect(&lines[0]).parse().unwrap();
    let owns = lines.iter().any(|line| line.starts_with("owns "));
    let mut out = format!(
        "2026-01-01 10:00:00\nFull thread dump OpenJDK 64-Bit Server VM ({} mixed mode, sharing):\n\n",
        if release == 8 { "25.392-b08".to_owned() } else { format!("{release}.0.2+9") }
    );
    let mut blocks = lines[1..].split_inclusive_threads();
    for block in &mut blocks {
        thread(&mut out, release, block, owns);
    }
    let _ = writeln!(
        out,
        "\"VM Thread\" os_prio=0 cpu=1.00ms elapsed=9.00s tid=0x00007f5a1c06e000 nid=0x2a12 runnable\n\nJNI global references: 5\n"
    );
    if let Some(names) = lines.iter().find_map(|line| line.strip_prefix("deadlock ")) {
        deadlock(&mut out, &names.split('>').collect::<Vec<_>>(), lines);
    }
    out
}

/// The lines of one thread each, with the thread's own first.
trait Threads {
    fn split_inclusive_threads(&self) -> std::vec::IntoIter<&[String]>;
}

impl Threads for [String] {
    fn split_inclusive_threads(&self) -> std::vec::IntoIter<&[String]> {
        let starts: Vec<usize> = (0..self.len()).filter(|&i| self[i].starts_with("thread ")).collect();
        let ends = starts.iter().skip(1).copied().chain([self.len()]);
        let blocks: Vec<&[String]> = starts.iter().zip(ends).map(|(&from, to)| &self[from..to]).collect();
        blocks.into_iter()
    }
}

fn thread(out: &mut String, release: u32, lines: &[String], owns: bool) {
    let words: Vec<&str> = lines[0].splitn(5, ' ').collect();
    let [_, number, name, state, doing] = words[..] else { panic!("{}", lines[0]) };
    let times = if release == 8 { "" } else { "cpu=42.57ms elapsed=17.16s " };
    let id = if release >= 21 { format!("[{number}0] ") } else { String::new() };
    let tid: u32 = number.parse().unwrap();
    let nid = if release >= 21 { format!("{tid}0") } else { format!("0x{:x}", 0x1160 + tid) };
    let inside = match doing {
        _ if state == "RUNNABLE" => "",
        "waiting for monitor entry" => " (on object monitor)",
        "in Object.wait()" => " (on object monitor)",
        "sleeping" => " (sleeping)",
        _ if lines.iter().any(|line| line.starts_with("parks ")) => " (parking)",
        _ if state == "TIMED_WAITING" => " (sleeping)",
        _ => "",
    };
    let doing = if doing == "sleeping" { "waiting on condition" } else { doing };
    let _ = write!(
        out,
        "\"{}\" #{number} {id}prio=5 os_prio=0 {times}tid=0x00007f5a1c0{tid:05x} nid={nid} {doing}  [0x00007f5a22d4e000]\n   \
         java.lang.Thread.State: {state}{inside}\n",
        name.replace('~', " ")
    );
    let mut synchronizers = String::new();
    for line in &lines[1..] {
        let (word, rest) = line.split_once(' ').unwrap();
        let locked =
            || rest.split_once(' ').map(|(address, class)| format!("<0x{address}> (a {class})")).unwrap();
        let _ = match word {
            "at" => writeln!(out, "\tat {rest}"),
            "locked" => writeln!(out, "\t- locked {}", locked()),
            "wants" => writeln!(out, "\t- waiting to lock {}", locked()),
            "waits" => writeln!(out, "\t- waiting on {}", locked()),
            "parks" => writeln!(out, "\t- parking to wait for  {}", locked()),
            "initialises" => writeln!(out, "\t- waiting on the Class initialization monitor for {rest}"),
            "owns" => writeln!(synchronizers, "\t- {}", locked()),
            "deadlock" => Ok(()),
            _ => panic!("cannot write {line:?}"),
        };
    }
    if owns {
        let none = if synchronizers.is_empty() { "\t- None\n" } else { "" };
        let _ = write!(out, "\n   Locked ownable synchronizers:\n{synchronizers}{none}");
    }
    out.push('\n');
}

/// HotSpot's deadlock report for the threads `names`, each of which waits for a monitor of the next one.
fn deadlock(out: &mut String, names: &[&str], lines: &[String]) {
    out.push_str("\nFound one Java-level deadlock:\n=============================\n");
    for (i, name) in names.iter().enumerate() {
        let at = lines.iter().position(|line| line.split(' ').nth(2) == Some(name)).expect(name);
        let wanted = lines[at..].iter().find_map(|line| line.strip_prefix("wants ")).expect(name);
        let (address, class) = wanted.split_once(' ').unwrap();
        let owner = names[(i + 1) % names.len()];
        let _ = write!(
            out,
            "\"{name}\":\n  waiting to lock monitor 0x00007ff69c0d20b0 (object 0x{address}, a {class}),\n  which is held by \"{owner}\"\n"
        );
    }
    out.push_str("\nFound 1 deadlock.\n");
}
