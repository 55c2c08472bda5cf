//! The subcommands, options and files that the docs name exist.

use std::collections::BTreeSet;

use crate::docs::files::walk;
use crate::docs::markdown::pages;
use crate::docs::repository;
use test_support::program::run;

/// Options of other programs that the docs name, with the program.
const FOREIGN: &[(&str, &str)] = &[
    ("--cfg", "rustc"),
    ("--configuration-cache", "gradle"),
    ("--info", "gradle"),
    ("--latency", "dumpsys"),
    ("--lib", "cargo"),
    ("--locked", "cargo"),
    ("--release", "cargo"),
    ("--repo", "gh"),
    ("--start-profiler", "am"),
    ("--sun-misc-unsafe-memory-access", "java"),
    ("--cases", "the rig"),
    ("--method", "content"),
    ("--uri", "content"),
];

/// The help of the program and of each of its subcommands.
pub(crate) fn helps() -> Vec<(String, String)> {
    let mut pending = vec![String::new()];
    let mut helps = Vec::new();
    while let Some(path) = pending.pop() {
        let words = path.split_whitespace().chain(["--help"]);
        let help = run(words).ok(&[]);
        let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
        for line in listed.take_while(|line| line.starts_with("  ")) {
            // A line that goes on stands further to the right.
            let name = line.strip_prefix("  ").filter(|line| !line.starts_with(' '));
            if let Some(name) =
                name.and_then(|line| line.split_whitespace().next()).filter(|name| *name != "help")
            {
                pending.push(format!("{path} {name}").trim().to_owned());
            }
        }
        helps.push((path, help));
    }
    helps.sort();
    helps
}

/// The options in a text.
fn options(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| c.is_whitespace() || "[]()|,`='\"".contains(c));
    words.filter(|word| {
        word.strip_prefix("--").is_some_and(|name| {
            name.starts_with(|c: char| c.is_ascii_lowercase())
                && name.chars().all(|c| c.is_ascii_lowercase() || c == '-' || c.is_ascii_digit())
        })
    })
}

/// Whether a word where a command is expected names a file: `anrscope FILE`.
fn is_file(word: &str) -> bool {
    word == "FILE" || word.contains('.')
}

#[test]
fn every_subcommand_and_option_is_one() {
    let helps = helps();
    assert!(helps.len() > 15, "{} pages of help", helps.len());
    let known: BTreeSet<&str> = helps.iter().flat_map(|(_, help)| options(help)).collect();
    let mut scripts = String::new();
    for entry in walk("scripts").into_iter().chain(walk("scripts/tools/src")) {
        scripts.push_str(&String::from_utf8_lossy(&std::fs::read(repository().join(entry)).unwrap()));
    }
    let of_scripts: BTreeSet<&str> = options(&scripts).collect();
    let mut foreign = BTreeSet::new();
    for page in pages() {
        for (line, span) in page.code_spans() {
            let place = format!("{}:{line}: `{span}`", page.path);
            for option in options(&span) {
                let other = FOREIGN.iter().any(|(known, _)| *known == option);
                if other {
                    foreign.insert(option.to_owned());
                }
                assert!(
                    other || known.contains(option) || of_scripts.contains(option),
                    "{place}: nothing has the option {option}"
                );
            }
            let Some(rest) = span.strip_prefix("anrscope ") else { continue };
            let words: Vec<&str> = rest.split_whitespace().collect();
            let depth = if words[0] == "device" && words.len() > 1 { 2 } else { 1 };
            if words[0].starts_with('-') || is_file(words[0]) {
                continue;
            }
            let path = words[..depth.min(words.len())].join(" ");
            let help = helps.iter().find(|(known, _)| *known == path);
            let (_, help) = help.unwrap_or_else(|| panic!("{place}: there is no anrscope {path}"));
            // What stands behind -- is another program's.
            for option in options(rest.split(" -- ").next().unwrap()) {
                assert!(
                    options(help).any(|known| known == option),
                    "{place}: anrscope {path} has no {option}"
                );
            }
        }
    }
    for (option, program) in FOREIGN {
        assert!(foreign.contains(*option), "no page names {option} of {program}");
    }
}

#[test]
fn every_file_of_the_repository_is_there() {
    let root = repository();
    let top: BTreeSet<String> = std::fs::read_dir(&root)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "target" && name != "anrscope-out")
        .collect();
    let mut checked = 0;
    for page in pages() {
        for (line, span) in page.code_spans() {
            let path = span.split_whitespace().next().unwrap_or_default();
            let path =
                path.split("::").next().unwrap().split(':').next().unwrap().trim_end_matches(['.', '/']);
            let is_ours = path.split_once('/').is_some_and(|(first, _)| top.contains(first));
            if !is_ours || path.contains(['*', '{', '<', '…']) {
                continue;
            }
            assert!(root.join(path).exists(), "{}:{line}: there is no {path}", page.path);
            checked += 1;
        }
    }
    assert!(checked > 60, "{checked} paths");
}

/// javac takes sources to be written in the encoding of the locale, which may have no more than ASCII.
#[test]
fn java_sources_are_ascii() {
    let mut checked = 0;
    for directory in ["android", "cli", "exporter", "instrumenter"] {
        for file in walk(directory).iter().filter(|file| file.ends_with(".java")) {
            assert!(std::fs::read(repository().join(file)).unwrap().is_ascii(), "{file}");
            checked += 1;
        }
    }
    assert!(checked > 100, "{checked} sources");
}

#[test]
fn every_help_has_an_example_and_its_exit_status() {
    for (path, help) in helps() {
        for text in ["Usage: anrscope", "Examples:\n", "Exit status:"] {
            assert!(help.contains(text), "{path}: {text:?} is not in\n{help}");
        }
        let example = format!("anrscope {path}");
        let examples = help.split("Examples:\n").nth(1).unwrap().split("Exit status:").next().unwrap();
        assert!(examples.contains(example.trim()), "{path}: no example of it in\n{help}");
        let status = help.split("Exit status:").nth(1).unwrap();
        // That of `jvm` is the one of the program that it runs.
        assert!(status.contains('0') || status.contains("The program's own"), "{path}: no exit status 0");
        assert!(status.contains('1') && status.contains('2'), "{path}: no exit status 1 or 2");
    }
}

/// The examples of the help use only subcommands and options that exist.
#[test]
fn the_examples_of_the_help_have_only_options_that_are_there() {
    let helps = helps();
    for (path, help) in &helps {
        for line in help.lines().map(str::trim).filter(|line| line.starts_with("anrscope ")) {
            let line = line.split("  ").next().unwrap().split(" -- ").next().unwrap();
            let words: Vec<&str> = line.split_whitespace().skip(1).collect();
            if is_file(words[0]) {
                continue;
            }
            let depth = if words[0] == "device" { 2 } else { 1 };
            let of = words[..depth.min(words.len())].join(" ");
            let Some((_, own)) = helps.iter().find(|(known, _)| *known == of) else {
                panic!("anrscope {path} --help: {line}: there is no anrscope {of}")
            };
            for option in options(line) {
                assert!(
                    options(own).any(|known| known == option),
                    "anrscope {path} --help: {line}: {option}"
                );
            }
        }
    }
}

/// The options of TraceCanary: the flags of `TraceConfig.Builder`, the keys of `IDynamicConfig`, the constants.
const MATRIX: &[&str] = &[
    "enableFPS",
    "enableEvilMethodTrace",
    "enableAnrTrace",
    "enableSignalAnrTrace",
    "enableStartup",
    "enableIdleHandlerTrace",
    "enableTouchEventTrace",
    "enableHistoryMsgRecorder",
    "enableDenseMsgTracer",
    "enableAppMethodBeat",
    "isDebug",
    "isDevEnv",
    "isHasActivity",
    "splashActivities",
    "anrTracePath",
    "printTracePath",
    "looperPrinterStackStyle",
    "setIdleHandlerThreshold",
    "setTouchEventThreshold",
    "clicfg_matrix_trace_care_scene_set",
    "clicfg_matrix_trace_fps_time_slice",
    "clicfg_matrix_trace_evil_method_threshold",
    "clicfg_matrix_trace_app_start_up_threshold",
    "clicfg_matrix_trace_warm_app_start_up_threshold",
    "clicfg_matrix_fps_dropped_normal",
    "clicfg_matrix_trace_fps_report_threshold",
    "clicfg_matrix_trace_load_activity_threshold",
    "clicfg_matrix_trace_splash_activity_name",
    "BUFFER_SIZE",
    "BUFFER_TMP_SIZE",
    "TIME_UPDATE_CYCLE_MS",
    "FILTER_STACK_MAX_COUNT",
    "FILTER_STACK_KEY_ALL_PERCENT",
    "FILTER_STACK_KEY_PATENT_PERCENT",
    "MAX_LIMIT_ANALYSE_STACK_KEY_NUM",
    "DEFAULT_INPUT_EXPIRED_TIME",
    "LIMIT_WARM_THRESHOLD_MS",
    "DEFAULT_EVIL_METHOD_THRESHOLD_MS",
    "DEFAULT_FPS_TIME_SLICE_ALIVE_MS",
    "DEFAULT_ANR",
    "DEFAULT_ANR_INVALID",
    "DEFAULT_NORMAL_LAG",
    "DEFAULT_IDLE_HANDLER_LAG",
    "DEFAULT_TOUCH_EVENT_LAG",
    "DEFAULT_FRAME_DURATION",
    "DEFAULT_DROPPED_NORMAL",
    "DEFAULT_STARTUP_THRESHOLD_MS_COLD",
    "DEFAULT_RELEASE_BUFFER_DELAY",
    "TARGET_EVIL_METHOD_STACK",
    "METHOD_ID_MAX",
    "METHOD_ID_DISPATCH",
    "LooperMonitor",
    "SignalAnrTracer",
    "StartupTracer",
];

#[test]
fn every_option_of_matrix_is_in_the_migration_and_each_answer_is_an_option() {
    let page = |name: &str| pages().into_iter().find(|page| page.path == name).unwrap();
    let (migration, configuration) = (page("docs/migration.md"), page("docs/configuration.md"));
    let named: BTreeSet<String> = migration.code_spans().into_iter().map(|(_, span)| span).collect();
    for option in MATRIX {
        assert!(named.contains(*option), "docs/migration.md says nothing of {option}");
    }
    // The keys with Matrix's words in the table of options are in the migration as well.
    let options: BTreeSet<String> = configuration
        .prose()
        .iter()
        .filter_map(|(_, line)| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned()))
        .collect();
    assert!(options.len() > 40, "{options:?}");
    let tables =
        migration.text.split("### Each flag").nth(1).unwrap().split("### Each constant").next().unwrap();
    let mut answers = 0;
    for row in tables.lines().filter(|row| row.starts_with("| `")) {
        let answer = row.split(" | ").nth(1).unwrap();
        for span in answer.split('`').skip(1).step_by(2).filter(|span| !span.contains('.')) {
            assert!(options.contains(span), "docs/migration.md: there is no option {span}: {row}");
            answers += 1;
        }
    }
    assert!(answers > 20, "{answers}");
}
