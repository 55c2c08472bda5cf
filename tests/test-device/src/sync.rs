//! The file service, version 1: STAT, LIST, RECV, SEND, QUIT.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, PoisonError};

use crate::directory::DeviceDirectory;
use crate::stream::{Input, Output};

const MAX_PATH: u32 = 1024;
const MAX_DATA: u32 = 64 << 10;

pub(crate) fn serve(files: &DeviceDirectory, mut input: Input, output: &Mutex<Output>) -> io::Result<()> {
    let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let mut head = [0; 8];
        match input.read_exact(&mut head) {
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            other => other?,
        }
        let length = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
        if length > MAX_PATH {
            return fail(&mut output, "path too long");
        }
        let mut path = vec![0; length as usize];
        input.read_exact(&mut path)?;
        let path = String::from_utf8_lossy(&path).into_owned();
        match &head[..4] {
            b"STAT" => stat(files, &path, &mut output)?,
            b"LIST" => list(files, &path, &mut output)?,
            b"RECV" => receive(files, &path, &mut output)?,
            b"SEND" => send(files, &path, &mut input, &mut output)?,
            b"QUIT" => return Ok(()),
            _ => return fail(&mut output, "unknown command"),
        }
    }
}

fn words(id: &[u8; 4], words: &[u32]) -> Vec<u8> {
    let mut bytes = id.to_vec();
    for word in words {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    bytes
}

fn fail(output: &mut Output, message: &str) -> io::Result<()> {
    let mut bytes = words(b"FAIL", &[message.len() as u32]);
    bytes.extend_from_slice(message.as_bytes());
    output.write_all(&bytes)
}

fn facts(meta: &fs::Metadata) -> [u32; 3] {
    [meta.mode(), meta.size() as u32, meta.mtime() as u32]
}

fn stat(files: &DeviceDirectory, path: &str, output: &mut Output) -> io::Result<()> {
    // A file that does not exist has mode 0.
    let facts = fs::symlink_metadata(files.path(path)).map_or([0; 3], |meta| facts(&meta));
    output.write_all(&words(b"STAT", &facts))
}

fn list(files: &DeviceDirectory, path: &str, output: &mut Output) -> io::Result<()> {
    for entry in fs::read_dir(files.path(path)).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        let [mode, size, time] = entry.metadata().map_or([0; 3], |meta| facts(&meta));
        let mut bytes = words(b"DENT", &[mode, size, time, name.len() as u32]);
        bytes.extend_from_slice(name);
        output.write_all(&bytes)?;
    }
    output.write_all(&words(b"DONE", &[0; 4]))
}

fn receive(files: &DeviceDirectory, path: &str, output: &mut Output) -> io::Result<()> {
    let mut file = match fs::File::open(files.path(path)) {
        Ok(file) => file,
        Err(error) => return fail(output, &format!("open failed: {error}")),
    };
    let mut buffer = vec![0; 8 << 10];
    loop {
        let n = file.read(&mut buffer)?;
        if n == 0 {
            return output.write_all(&words(b"DONE", &[0]));
        }
        let mut bytes = words(b"DATA", &[n as u32]);
        bytes.extend_from_slice(&buffer[..n]);
        output.write_all(&bytes)?;
    }
}

fn send(files: &DeviceDirectory, spec: &str, input: &mut Input, output: &mut Output) -> io::Result<()> {
    let (path, _mode) = spec.rsplit_once(',').unwrap_or((spec, "420"));
    let target = files.path(path);
    let mut file = if files.is_full() {
        Err(io::Error::from(io::ErrorKind::StorageFull))
    } else {
        target.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::File::create(&target))
    };
    loop {
        let mut head = [0; 8];
        input.read_exact(&mut head)?;
        let length = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
        match &head[..4] {
            b"DONE" => break,
            b"DATA" if length <= MAX_DATA => {}
            _ => return fail(output, "not DATA and not DONE"),
        }
        let mut bytes = vec![0; length as usize];
        input.read_exact(&mut bytes)?;
        // The host reads the answer only after it has sent everything.
        if let Ok(open) = &mut file
            && let Err(error) = open.write_all(&bytes)
        {
            file = Err(error);
        }
    }
    match file {
        Ok(_) => output.write_all(&words(b"OKAY", &[0])),
        Err(error) => fail(output, &format!("couldn't create file: {error}")),
    }
}
