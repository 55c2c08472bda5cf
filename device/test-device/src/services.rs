//! The services of the device: `shell,v2`, `shell`, `exec`, `sync`.

use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use crate::directory::DeviceDirectory;
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
    Sync,
}

fn service(name: &str, old_shell: bool) -> Option<Service<'_>> {
    if name == "sync:" {
        return Some(Service::Sync);
    }
    let (kind, command) = name.split_once(':')?;
    let mut words = kind.split(',');
    match words.next()? {
        "shell" if words.any(|word| word == "v2") => (!old_shell).then_some(Service::ShellV2(command)),
        "shell" | "exec" => Some(Service::Raw(command)),
        _ => None,
    }
}

/// Returns whether the device has the service `name`.
pub(crate) fn known(name: &str, old_shell: bool) -> bool {
    service(name, old_shell).is_some()
}

/// Serves one stream to its end.
pub(crate) fn run(files: &DeviceDirectory, name: &str, stream: Stream) {
    let Some(service) = service(name, false) else { return };
    let Stream { input, output } = stream;
    let output = Arc::new(Mutex::new(output));
    // An error means that the connection is closed, which the other side notices.
    let _ = match service {
        Service::ShellV2(command) => shell_v2(files, command, input, &output),
        Service::Raw(command) => raw(files, command, &output),
        Service::Sync => sync::serve(files, input, &output),
    };
    output.lock().unwrap_or_else(PoisonError::into_inner).close();
}

fn spawn(files: &DeviceDirectory, command: &str) -> io::Result<Child> {
    let root = files.root();
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command).current_dir(root).env_clear();
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
    let mut child = spawn(files, command)?;
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

/// Sends the program's output as raw bytes, without an exit code.
fn raw(files: &DeviceDirectory, command: &str, output: &Mutex<Output>) -> io::Result<()> {
    let mut child = spawn(files, &format!("{{ {command}\n}} 2>&1"))?;
    drop(child.stdin.take());
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
