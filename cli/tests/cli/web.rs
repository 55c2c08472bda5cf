//! The page's answers, from its module built for this machine, are what the program prints. `scripts/prove web` compares the module itself, in a
//! browser.

use std::path::{Path, PathBuf};

use web::Session;

use test_support::program::command;

fn recordings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../exporter/tests/data")
}

fn dumps() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../exporter/answers/tests/data")
}

/// What the program prints, run in the directory of the files, and what the page shows.
fn both(subcommand: &str, file: &Path, options: &[(&str, &str)]) -> (Option<String>, Result<String, String>) {
    let mut command = command();
    command.current_dir(file.parent().unwrap()).arg(subcommand).arg(file.file_name().unwrap());
    for (option, name) in options {
        command.args([option, name]);
    }
    let printed = command.output().unwrap();
    let printed = printed.status.success().then(|| String::from_utf8(printed.stdout).unwrap());
    let mut session = Session::default();
    let names = options.iter().map(|(_, name)| file.with_file_name(name)).chain([file.to_owned()]);
    for path in names {
        let bytes = std::fs::read(&path).unwrap();
        if let Err(refusal) = session.add(path.file_name().unwrap().to_str().unwrap(), bytes) {
            return (printed, Err(refusal.to_string()));
        }
    }
    let answer = session.answer().map_err(|refusal| refusal.to_string());
    let text = answer.map(|answer| {
        let parts = answer["parts"].as_array().unwrap();
        parts.iter().map(|part| part["text"].as_str().unwrap()).collect()
    });
    (printed, text)
}

#[test]
fn the_pages_answer_to_every_dump_is_what_the_program_prints() {
    let mut files = vec![dumps().join("bugreport.zip")];
    for directory in ["dump", "deadlock"] {
        files.extend(std::fs::read_dir(dumps().join(directory)).unwrap().map(|entry| entry.unwrap().path()));
    }
    let mut equal = 0;
    for file in files.iter().filter(|file| !file.to_str().unwrap().contains("mapping")) {
        let (printed, shown) = both("dump", file, &[]);
        assert_eq!(printed, shown.clone().ok(), "{}: {shown:?}", file.display());
        equal += usize::from(printed.is_some());
    }
    assert!(equal >= 30, "{equal} dumps");
    let (printed, shown) =
        both("dump", &dumps().join("dump/obfuscated.txt"), &[("--mapping", "mapping-r8.txt")]);
    assert_eq!(printed, shown.ok());
}

#[test]
fn the_pages_answer_to_a_recording_is_what_the_program_prints() {
    let directory = test_support::temp_dir::TempDir::new();
    for name in ["app-life", "shop"] {
        let packed = std::fs::read(recordings().join(format!("{name}.anrscope.gz"))).unwrap();
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(packed.as_slice()), &mut bytes).unwrap();
        let recording = directory.file(&format!("{name}.anrscope"), bytes);
        let mut names = Vec::new();
        if name == "shop" {
            directory.file("methods.map", std::fs::read(recordings().join("shop.map")).unwrap());
            names.push(("--method-map", "methods.map"));
        }
        let (printed, shown) = both("report", Path::new(&recording), &names);
        assert!(printed.is_some());
        assert_eq!(printed, shown.ok(), "{name}");
    }
}
