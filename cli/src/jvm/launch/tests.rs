use super::*;
use crate::scratch::Scratch;
use proptest::prelude::*;

/// The plan in one line: `kind | options | class path | main | arguments`, and whether there are modules.
fn read(arguments: &[&str], environment: &Environment, version: u32) -> String {
    let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
    let show = |words: &[OsString]| {
        words.iter().map(|word| word.to_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
    };
    match plan(&arguments, environment, version) {
        Plan::NoProgram => "NoProgram".to_owned(),
        Plan::Program(launch) => {
            let (kind, what) = match &launch.main {
                Main::Class(name) => ("class", name),
                Main::Jar(name) => ("jar", name),
                Main::Module(name) => ("module", name),
                Main::SourceFile(name) => ("source", name),
            };
            let what = what.to_str().unwrap();
            let path = class_path::join(&launch.class_path);
            let path = path.to_str().unwrap();
            let modules = if launch.module_path { " | modules" } else { "" };
            let (options, arguments) = (show(&launch.options), show(&launch.arguments));
            format!("{kind} | {options} | {path} | {what} | {arguments}{modules}")
        }
    }
}

#[test]
fn command_lines_are_parsed_as_the_launcher_parses_them() {
    let nothing = Environment::default();
    let cases: &[(&[&str], &str)] = &[
        (&["Main"], "class |  | . | Main | "),
        (&["Main", "-cp", "x", "@y"], "class |  | . | Main | -cp x @y"),
        (&["-cp", "a.jar:b", "Main", "1"], "class |  | a.jar:b | Main | 1"),
        (&["-classpath", "a.jar", "Main"], "class |  | a.jar | Main | "),
        (&["--class-path", "a.jar", "Main"], "class |  | a.jar | Main | "),
        (&["--class-path=a.jar", "Main"], "class |  | a.jar | Main | "),
        (&["-cp", "a", "-cp", "b", "Main"], "class |  | b | Main | "),
        (&["-cp", "", "Main"], "class |  | . | Main | "),
        (&["-Djava.class.path=p", "Main"], "class |  | p | Main | "),
        (&["-Djava.class.path=p", "-cp", "a", "Main"], "class |  | a | Main | "),
        (&["-Xmx1g", "-Dx=y", "-cp", "a", "-ea", "Main"], "class | -Xmx1g -Dx=y -ea | a | Main | "),
        (&["-jar", "app.jar", "a", "-b"], "jar |  | app.jar | app.jar | a -b"),
        (&["-cp", "ignored", "-jar", "app.jar"], "jar |  | app.jar | app.jar | "),
        (&["-jar", "-Dx=y", "-cp", "z", "app.jar", "-c"], "jar | -Dx=y | app.jar | app.jar | -c"),
        (
            &["--add-opens", "java.base/java.lang=ALL-UNNAMED", "-cp", "a", "Main"],
            "class | --add-opens java.base/java.lang=ALL-UNNAMED | a | Main | ",
        ),
        (
            &["--add-opens=java.base/java.lang=ALL-UNNAMED", "Main"],
            "class | --add-opens=java.base/java.lang=ALL-UNNAMED | . | Main | ",
        ),
        (&["--add-modules", "java.sql", "Main"], "class | --add-modules java.sql | . | Main | "),
        (&["-p", "mods", "-cp", "a", "Main"], "class | -p mods | a | Main |  | modules"),
        (&["--module-path=mods", "Main"], "class | --module-path=mods | . | Main |  | modules"),
        (&["--enable-preview", "Main"], "class | --enable-preview | . | Main | "),
        (&["-XX:SharedArchiveFile=x.jsa", "-Xlog:gc", "Main"], "class | -Xlog:gc | . | Main | "),
        (
            &["-agentlib:jdwp=a=b", "-javaagent:x.jar=y", "Main"],
            "class | -agentlib:jdwp=a=b -javaagent:x.jar=y | . | Main | ",
        ),
        (&["-showversion", "Main"], "class | -showversion | . | Main | "),
        (&["Missing.java"], "class |  | . | Missing.java | "),
        (&["-m", "mod/Main", "x"], "module |  |  | mod/Main | x"),
        (&["-p", "mods", "--module", "mod"], "module | -p mods |  | mod |  | modules"),
        (&["--module=mod/Main", "-x"], "module |  |  | mod/Main | -x"),
        (&["--source", "17", "Main.jsh"], "source | --source 17 |  | Main.jsh | "),
        (&["--source=17", "Main.jsh", "y"], "source | --source=17 |  | Main.jsh | y"),
        (&[], "NoProgram"),
        (&["-version"], "NoProgram"),
        (&["--version"], "NoProgram"),
        (&["-version", "Main"], "NoProgram"),
        (&["-cp", "a", "-help"], "NoProgram"),
        (&["--list-modules"], "NoProgram"),
        (&["-d", "java.base"], "NoProgram"),
        (&["--dry-run", "Main"], "NoProgram"),
        (&["-Xshare:dump"], "NoProgram"),
        (&["-cp"], "NoProgram"),
        (&["-cp", "-jar", "x"], "NoProgram"),
        (&["-jar"], "NoProgram"),
        (&["@/no/such/file", "Main"], "NoProgram"),
        (&["@", "x"], "class |  | . | @ | x"),
        (&["@@x", "y"], "class |  | . | @x | y"),
    ];
    for (arguments, expected) in cases {
        assert_eq!(read(arguments, &nothing, 17), *expected, "java {arguments:?}");
    }
}

#[test]
fn java_8_has_fewer_options() {
    let environment = Environment { options: Some("-cp ignored".into()), ..Environment::default() };
    assert_eq!(read(&["-cp", "a", "Main"], &environment, 8), "class |  | a | Main | ");
    assert_eq!(read(&["-p", "x"], &environment, 8), "class | -p | . | x | ");
    assert_eq!(read(&["@file", "x"], &environment, 8), "class |  | . | @file | x");
}

#[test]
fn the_environment_gives_a_class_path_that_options_replace() {
    let environment = Environment { class_path: Some("env".into()), options: None };
    assert_eq!(read(&["Main"], &environment, 17), "class |  | env | Main | ");
    assert_eq!(read(&["-cp", "a", "Main"], &environment, 17), "class |  | a | Main | ");
    assert_eq!(read(&["-jar", "a.jar"], &environment, 17), "jar |  | a.jar | a.jar | ");
    let environment =
        Environment { class_path: Some("env".into()), options: Some("-Dx='y z' -cp 'op tions'".into()) };
    assert_eq!(read(&["Main"], &environment, 17), "class |  | op tions | Main | ");
    assert_eq!(read(&["-cp", "a", "Main"], &environment, 17), "class |  | a | Main | ");
    for refused in ["-cp 'open", "Main", "@/no/such/file"] {
        let environment = Environment { class_path: None, options: Some(refused.into()) };
        assert_eq!(read(&["Main"], &environment, 17), "NoProgram", "{refused}");
    }
}

#[test]
fn source_files_are_known_by_their_name_and_existence() {
    let scratch = Scratch::new();
    let file = scratch.file("Hello.java", b"class Hello {}");
    let file = file.to_str().unwrap();
    let nothing = Environment::default();
    assert_eq!(read(&[file, "x"], &nothing, 17), format!("source |  |  | {file} | x"));
    assert_eq!(read(&["-cp", "a", file], &nothing, 17), format!("source |  |  | {file} | "));
    assert_eq!(read(&["-jar", file], &nothing, 17), format!("jar |  | {file} | {file} | "));
    assert_eq!(read(&[file], &nothing, 8), format!("class |  | . | {file} | "));
}

#[test]
fn argument_files_are_read_in_place() {
    let scratch = Scratch::new();
    let file = |name: &str, text: &str| format!("@{}", scratch.file(name, text.as_bytes()).to_str().unwrap());
    let nothing = Environment::default();
    let options = file("options", "-Xmx1g # heap\n-cp \"my libs/a.jar:\\\n   b.jar\"\n");
    assert_eq!(
        read(&[&options, "Main", &options], &nothing, 17),
        format!("class | -Xmx1g | my libs/a.jar:b.jar | Main | {options}")
    );
    let all = file("all", "-cp a Main 'one two' @literal");
    assert_eq!(
        read(&[&all, "three", &all], &nothing, 17),
        format!("class |  | a | Main | one two @literal three {all}")
    );
    let path = file("path", "a:b");
    assert_eq!(read(&["-cp", &path, "Main", "x"], &nothing, 17), "class |  | a:b | Main | x");
    let jar = file("jar", "app.jar");
    assert_eq!(read(&["-jar", &jar, &jar], &nothing, 17), format!("jar |  | app.jar | app.jar | {jar}"));
    assert_eq!(
        read(&["--disable-@files", &options, "x"], &nothing, 17),
        format!("class | --disable-@files | . | {options} | x")
    );
    let environment = Environment { options: Some(options.clone().into()), ..Environment::default() };
    assert_eq!(read(&["Main"], &environment, 17), "class |  | my libs/a.jar:b.jar | Main | ");
}

proptest! {
    #[test]
    fn any_words_are_read_without_a_panic(
        words in proptest::collection::vec("[-@=*:/a-z ]{0,10}|-cp|-jar|-m|--module-path|--source", 0..8),
        options in proptest::option::of("[-@=\"'a-z ]{0,20}"),
        version in 8u32..30,
    ) {
        let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
        plan(&words, &Environment { class_path: None, options: options.map(OsString::from) }, version);
    }

    #[test]
    fn words_after_the_main_class_are_unchanged(tail in proptest::collection::vec("[ -~]{0,10}", 0..5)) {
        let mut words = vec![OsString::from("-cp"), "a".into(), "Main".into()];
        words.extend(tail.iter().map(OsString::from));
        match plan(&words, &Environment::default(), 17) {
            Plan::Program(launch) => prop_assert_eq!(&launch.arguments, &words[3..]),
            other => prop_assert!(false, "{:?}", other),
        }
    }
}
