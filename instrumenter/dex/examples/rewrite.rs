//! Reads every dex file of APKs, jars and dex files, writes it again, and compares both: by reading what was written, and by what
//! Debian's `dexdump`, which has ART's verifier of dex files, says of them.
//!
//! ```text
//! cargo run --release -p anrscope-dex --example rewrite -- [--no-dexdump] [--shift] FILE...
//! ```
//!
//! With `--shift` it also adds items that move all others, and compares without indices. A `const-string` that becomes wider moves the
//! addresses of its method, and is counted.
//!
//! Ends with 1 if a file differs.

use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use dex::{Class, Dex, MethodCode};

#[derive(Default)]
struct Totals {
    files: usize,
    classes: usize,
    methods: usize,
    with_code: usize,
    lines: usize,
    read_bytes: usize,
    written_bytes: usize,
    reading: Duration,
    writing: Duration,
    differences: usize,
    /// Members whose text is another after a shift.
    moved: usize,
}

fn main() -> ExitCode {
    let mut totals = Totals::default();
    let (mut dump, mut shift) = (true, false);
    for argument in std::env::args().skip(1) {
        if argument == "--no-dexdump" {
            dump = false;
            continue;
        }
        if argument == "--shift" {
            shift = true;
            continue;
        }
        let path = PathBuf::from(&argument);
        match dex_files(&path) {
            Ok(files) => {
                for (name, bytes) in files {
                    let name = format!("{}!{name}", path.display());
                    if let Err(error) = rewrite(&bytes, dump, shift, &mut totals) {
                        println!("{name}: {error}");
                        totals.differences += 1;
                    }
                }
            }
            Err(error) => {
                println!("{}: {error}", path.display());
                totals.differences += 1;
            }
        }
    }
    if let Ok(directory) = tempdir() {
        // It stays if something else removes it at the same time, which is no reason to fail.
        let _ = fs::remove_dir_all(directory);
    }
    let speed = |bytes: usize, time: Duration| bytes as f64 / 1e6 / time.as_secs_f64().max(1e-9);
    println!(
        "{} dex files, {} classes, {} methods, {} with code; {} bytes read ({:.0} MB/s), {} written ({:.0} MB/s); \
         {} lines of dexdump; {} members moved; {} differences",
        totals.files,
        totals.classes,
        totals.methods,
        totals.with_code,
        totals.read_bytes,
        speed(totals.read_bytes, totals.reading),
        totals.written_bytes,
        speed(totals.written_bytes, totals.writing),
        totals.lines,
        totals.moved,
        totals.differences,
    );
    if totals.differences == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A dex file's name in its archive, and its bytes.
type Named = (String, Vec<u8>);

fn dex_files(path: &Path) -> Result<Vec<Named>, Box<dyn Error>> {
    if path.extension().is_some_and(|end| end == "dex") {
        return Ok(vec![(String::new(), fs::read(path)?)]);
    }
    let mut archive = zip::ZipArchive::new(fs::File::open(path)?)?;
    let mut files = Vec::new();
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index)?;
        let name = entry.name()?.into_owned();
        if name.ends_with(".dex") {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes)?;
            files.push((name, bytes));
        }
    }
    Ok(files)
}

fn rewrite(bytes: &[u8], dump: bool, shift: bool, totals: &mut Totals) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let files = dex::read::all(bytes).map_err(|error| format!("cannot be read: {error:?}"))?;
    totals.reading += start.elapsed();
    totals.read_bytes += bytes.len();
    let single = files.len() == 1;
    for first in files {
        let start = Instant::now();
        let written = first.write().map_err(|error| format!("cannot be written: {error:?}"))?;
        totals.writing += start.elapsed();
        totals.written_bytes += written.len();
        totals.files += 1;
        totals.classes += first.classes.len();
        for class in &first.classes {
            totals.methods += class.methods().count();
            totals.with_code += class.methods().filter(|method| method.code.is_some()).count();
        }
        let second =
            Dex::read(&written).map_err(|error| format!("what was written cannot be read: {error:?}"))?;
        same_model(&first, &second)?;
        if second.write().as_deref() != Ok(&written) {
            return Err("what was written is written differently".into());
        }
        if dump {
            let directory = tempdir()?;
            let (old, new) = (directory.join("old.dex"), directory.join("new.dex"));
            fs::write(&new, &written)?;
            // dexdump knows no containers.
            fs::write(&old, if single && first.version < 41 { bytes } else { &written })?;
            totals.lines += same_text(&old, &new)?;
        }
        if shift {
            shifted(first, dump, totals)?;
        }
    }
    Ok(())
}

/// Moves every index, and compares the classes by what their indices refer to.
fn shifted(mut dex: Dex<'_>, dump: bool, totals: &mut Totals) -> Result<(), Box<dyn Error>> {
    let before = test_support::dex::classes(&dex);
    for number in 0..300 {
        dex.find_or_add_string(&format!("\u{1}{number}"));
    }
    let first = dex.find_or_add_type("LAAAA;");
    let proto = dex.find_or_add_proto(first, &[first]);
    let full = |size: usize| size >= 0x1_0000;
    if !full(dex.methods.len()) && !full(dex.fields.len()) {
        dex.find_or_add_method(first, "$method", proto);
        dex.find_or_add_field(first, "$field", first);
    }
    let written = dex.write().map_err(|error| format!("cannot be written with more items: {error}"))?;
    let read = Dex::read(&written).map_err(|error| format!("cannot be read with more items: {error}"))?;
    let after = test_support::dex::classes(&read);
    let mut differ = 0;
    for (name, lines) in &before {
        let same = after.get(name).ok_or_else(|| format!("{name} is missing"))?;
        differ += lines.iter().zip(same).filter(|(left, right)| left != right).count();
    }
    totals.moved += differ;
    if differ > 0 && dex.strings.len() <= 0x1_0000 {
        return Err(format!("{differ} members differ with more items").into());
    }
    if dump {
        let path = tempdir()?.join("shifted.dex");
        fs::write(&path, &written)?;
        let status =
            Command::new("dexdump").arg(&path).stdout(Stdio::null()).stderr(Stdio::inherit()).status()?;
        if !status.success() {
            return Err("dexdump refuses the file with more items".into());
        }
    }
    Ok(())
}

fn tempdir() -> std::io::Result<PathBuf> {
    let directory = std::env::temp_dir().join(format!("anrscope-rewrite-{}", std::process::id()));
    fs::create_dir_all(&directory)?;
    Ok(directory)
}

/// Compares files whose tables were sorted already, so that no index moves.
fn same_model(first: &Dex<'_>, second: &Dex<'_>) -> Result<(), Box<dyn Error>> {
    let tables = first.strings == second.strings
        && first.types == second.types
        && first.protos == second.protos
        && first.fields == second.fields
        && first.methods == second.methods
        && first.call_sites == second.call_sites
        && first.handles == second.handles;
    if !tables || first.classes.len() != second.classes.len() {
        return Err("the tables differ".into());
    }
    let (first, second) = (comparable(first), comparable(second));
    match first.iter().zip(&second).find(|(left, right)| left != right) {
        Some((left, _)) => Err(format!("the class of type {} differs", left.class).into()),
        None => Ok(()),
    }
}

/// The classes by type, their code without its place in the file.
fn comparable<'a>(dex: &Dex<'a>) -> Vec<Class<'a>> {
    let mut classes = dex.classes.clone();
    classes.sort_by_key(|class| class.class);
    for class in &mut classes {
        for method in class.direct_methods.iter_mut().chain(&mut class.virtual_methods) {
            if let Some(MethodCode::Read(code)) = &mut method.code {
                code.at = 0;
            }
        }
    }
    classes
}

fn dexdump(path: &Path) -> Result<Child, Box<dyn Error>> {
    let command = Command::new("dexdump")
        .args(["-d", "-a"])
        .arg(path)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn();
    Ok(command.map_err(|error| format!("cannot run dexdump: {error}"))?)
}

/// Compares what dexdump prints, without offsets in the file. Returns the number of lines.
fn same_text(old: &Path, new: &Path) -> Result<usize, Box<dyn Error>> {
    let (mut old, mut new) = (dexdump(old)?, dexdump(new)?);
    let lines = |child: &mut Child| child.stdout.take().map(|out| BufReader::new(out).split(b'\n'));
    let (Some(mut left), Some(mut right)) = (lines(&mut old), lines(&mut new)) else {
        return Err("dexdump has no output".into());
    };
    let mut count = 0;
    let mut difference = None;
    loop {
        let (left, right) = (left.next().transpose()?, right.next().transpose()?);
        // The first lines name the files.
        if count >= 2
            && difference.is_none()
            && left.as_deref().map(without_offset) != right.as_deref().map(without_offset)
        {
            let text = |line: &Option<Vec<u8>>| {
                line.as_deref().map(|line| String::from_utf8_lossy(line).into_owned())
            };
            difference = Some(format!("dexdump prints {:?} instead of {:?}", text(&right), text(&left)));
        }
        if left.is_none() && right.is_none() {
            break;
        }
        count += 1;
    }
    if !old.wait()?.success() || !new.wait()?.success() {
        return Err("dexdump refuses the file".into());
    }
    difference.map_or(Ok(count), |difference| Err(difference.into()))
}

/// Cuts `00070c: ` and `|[00070c] ` off, and what follows `Call site #0: // offset`.
fn without_offset(line: &[u8]) -> &[u8] {
    if line.starts_with(b"Call site #") {
        return line.split(|&byte| byte == b'/').next().unwrap_or_default();
    }
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let line = match line.get(digits..) {
        Some([b':', rest @ ..]) if digits >= 6 => rest,
        _ => line,
    };
    let start =
        line.iter().position(|&byte| byte == b'|').map_or(line, |bar| line.get(bar..).unwrap_or_default());
    match start {
        [b'|', b'[', rest @ ..] => rest.splitn(2, |&byte| byte == b']').nth(1).unwrap_or_default(),
        _ => line,
    }
}
