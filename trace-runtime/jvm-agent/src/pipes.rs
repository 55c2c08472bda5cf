//! Asks the kernel what the threads of this process read: `/proc/self/task/TID/syscall` has the call that a thread is in and the
//! descriptor that it reads (man 5 proc). Which Java thread has which id is not known here.

use std::fs;
use std::path::Path;

use nix::libc::SYS_read;

/// True if all that other threads of this process wait to read is pipes without a name: then a file's stream is the output of
/// another program. Sockets have classes of their own, and do not count.
pub(crate) fn are_all_that_is_read() -> bool {
    let own = nix::unistd::gettid().to_string();
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let read = tasks.filter(|task| task.file_name() != own.as_str()).filter_map(|task| read_by(&task.path()));
    let targets = read.filter_map(|fd| Some((fd, fs::read_link(format!("/proc/self/fd/{fd}")).ok()?)));
    let is_pipe = targets.filter_map(|(fd, target)| is_pipe(fd, &target.to_string_lossy()));
    is_pipe.reduce(|all, one| all && one).unwrap_or(false)
}

/// True for a pipe that is not the console, which has the descriptors up to 2; false for another file; `None` for a socket.
fn is_pipe(fd: u32, target: &str) -> Option<bool> {
    (!target.starts_with("socket:")).then(|| fd > 2 && target.starts_with("pipe:"))
}

/// The descriptor that a thread waits to read; `None` if it is in another system call, or in none.
fn read_by(task: &Path) -> Option<u32> {
    let call = fs::read_to_string(task.join("syscall")).ok()?;
    let mut words = call.split_whitespace();
    let is_read = words.next()?.parse() == Ok(SYS_read);
    u32::from_str_radix(words.next().filter(|_| is_read)?.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;
    use std::os::fd::AsRawFd as _;

    #[test]
    fn readers_of_pipes_are_told_by_their_system_call() {
        let (mut end, begin) = std::io::pipe().unwrap();
        let fd = end.as_raw_fd() as u32;
        std::thread::scope(|scope| {
            let (tell, told) = std::sync::mpsc::channel();
            scope.spawn(move || {
                tell.send(nix::unistd::gettid()).unwrap();
                end.read_to_end(&mut Vec::new()).unwrap();
            });
            let task = format!("/proc/self/task/{}", told.recv().unwrap());
            let waits = || read_by(Path::new(&task)) == Some(fd);
            while !waits() {
                std::thread::yield_now();
            }
            drop(begin);
        });
        let targets = [(7, "pipe:[81]"), (0, "pipe:[81]"), (7, "/tmp/fifo"), (7, "socket:[4]")];
        assert_eq!(
            targets.map(|(fd, target)| is_pipe(fd, target)),
            [Some(true), Some(false), Some(false), None]
        );
    }
}
