//! The services of the device: `shell,v2`, `shell`, `exec`, `abb_exec`, `sync`.

use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use crate::directory::DeviceDirectory;
use crate::faults::Faults;
use crate::stream::{Input, Output, Stream};
use crate::sync;

const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const EXIT: u8 = 3;
const CLOSE_STDIN: u8 = 4;

enum Service<'a> {
    ShellV2(&'a str),
    Raw(&'a str),
    /// A call of a system service: its name and its arguments, separated by zero bytes.
    Abb(&'a str),
    Sync,
}

fn service(name: &str, faults: Faults) -> Option<Service<'_>> {
    if name == "sync:" {
        return Some(Service::Sync);
    }
    let (kind, command) = name.split_once(':')?;
    let mut words = kind.split(',');
    match words.next()? {
        "shell" if words.any(|word| word == "v2") => (!faults.old_shell).then_some(Service::ShellV2(command)),
        "abb_exec" => (!faults.old_shell && !faults.no_abb).then_some(Service::Abb(command)),
        "shell" | "exec" => Some(Service::Raw(command)),
        _ => None,
    }
}

/// Returns whether the device has the service `name`.
pub(crate) fn known(name: &str, faults: Faults) -> bool {
    service(name, faults).is_some()
}

/// Serves one stream to its end.
pub(crate) fn run(files: &DeviceDirectory, name: &str, stream: Stream) {
    let Some(service) = service(name, Faults::default()) else { return };
    let Stream { input, output } = stream;
    let output = Arc::new(Mutex::new(output));
    // An error means that the connection is closed, which the other side notices.
    let _ = match service {
        Service::ShellV2(command) => shell_v2(files, command, input, &output),
        Service::Raw(command) => raw(spawn(files, &format!("{{ {command}\n}} 2>&1"), &[]), input, &output),
        Service::Abb(words) => {
            let words: Vec<&str> = words.split('\0').collect();
            raw(spawn(files, "exec cmd \"$@\" 2>&1", &words), input, &output)
        }
        Service::Sync => sync::serve(files, input, &output),
    };
    output.lock().unwrap_or_else(PoisonError::into_inner).close();
}

/// Starts a shell that runs `command` with these positional parameters.
fn spawn(files: &DeviceDirectory, command: &str, parameters: &[&str]) -> io::Result<Child> {
    let root = files.root();
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command).arg("sh").args(parameters).current_dir(root).env_clear();
    let programs = root.join("system/bin");
    shell.env("PATH", format!("{}:/usr/bin:/bin", programs.display()));
    // The variables by which a real device's programs find their files.
    shell
        .env("ROOT", root)
        .env("ANDROID_DATA", root.join("data"))
        .env("ANDROID_STORAGE", root.join("storage"));
    shell.env("LC_ALL", "C");
    shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
}

/// Exchanges packets (kind, length, bytes); the last one to the host is the exit code.
fn shell_v2(
    files: &DeviceDirectory,
    command: &str,
    mut input: Input,
    output: &Arc<Mutex<Output>>,
) -> io::Result<()> {
    let mut child = spawn(files, command, &[])?;
    let mut stdin = child.stdin.take();
    std::thread::spawn(move || {
        let mut head = [0; 5];
        while input.read_exact(&mut head).is_ok() {
            let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
            let mut bytes = Vec::new();
            if (&mut input).take(u64::from(length)).read_to_end(&mut bytes).is_err() {
                return;
            }
            match (head[0], &mut stdin) {
                // The program may have closed its standard input.
                (STDIN, Some(stdin)) => drop(stdin.write_all(&bytes)),
                (CLOSE_STDIN, _) => stdin = None,
                _ => {}
            }
        }
    });
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let errors = {
        let output = Arc::clone(output);
        std::thread::spawn(move || stderr.map_or(Ok(()), |from| forward(from, STDERR, &output)))
    };
    let result = stdout.map_or(Ok(()), |from| forward(from, STDOUT, output));
    if result.is_err() {
        // The host does not read its output any more.
        let _ = child.kill();
    }
    let _ = errors.join();
    let code = child.wait()?.code().unwrap_or(255);
    result?;
    send(output, EXIT, &[code as u8])
}

fn forward(mut from: impl Read, kind: u8, to: &Mutex<Output>) -> io::Result<()> {
    let mut buffer = vec![0; 8 << 10];
    loop {
        let n = from.read(&mut buffer)?;
        if n == 0 {
            return Ok(());
        }
        send(to, kind, &buffer[..n])?;
    }
}

fn send(to: &Mutex<Output>, kind: u8, bytes: &[u8]) -> io::Result<()> {
    let mut packet = vec![kind];
    packet.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    packet.extend_from_slice(bytes);
    to.lock().unwrap_or_else(PoisonError::into_inner).write_all(&packet)
}

/// Exchanges raw bytes with the program, without an exit code. Its standard input ends with the stream only, as on a device.
fn raw(child: io::Result<Child>, mut input: Input, output: &Mutex<Output>) -> io::Result<()> {
    let mut child = child?;
    let mut stdin = child.stdin.take();
    std::thread::spawn(move || {
        // The program may end before it has read everything; the stream is then closed.
        let _ = stdin.as_mut().map_or(Ok(0), |stdin| io::copy(&mut input, stdin));
    });
    let mut buffer = vec![0; 8 << 10];
    let mut copy = |mut from: std::process::ChildStdout| -> io::Result<()> {
        loop {
            let n = from.read(&mut buffer)?;
            if n == 0 {
                return Ok(());
            }
            output.lock().unwrap_or_else(PoisonError::into_inner).write_all(&buffer[..n])?;
        }
    };
    let result = child.stdout.take().map_or(Ok(()), &mut copy);
    if result.is_err() {
        let _ = child.kill();
    }
    child.wait()?;
    result
}
