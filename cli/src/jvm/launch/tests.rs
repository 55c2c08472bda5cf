use super::*;
use crate::scratch::Scratch;
use proptest::prelude::*;

/// The plan in one line: `kind | options | main`.
fn read(arguments: &[&str], variable: Option<&str>, version: u32) -> String {
    let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
    match plan(&arguments, variable.map(OsStr::new), version) {
        None => "NoProgram".to_owned(),
        Some(launch) => {
            let kind = match &launch.main {
                Main::Class(_) => "class",
                Main::Jar(_) => "jar",
                Main::Module(_) => "module",
                Main::SourceFile(_) => "source",
            };
            let options: Vec<&str> = launch.options.iter().map(|word| word.to_str().unwrap()).collect();
            format!("{kind} | {} | {}", options.join(" "), launch.main.name().to_str().unwrap())
        }
    }
}

#[test]
fn command_lines_are_parsed_as_the_launcher_parses_them() {
    let cases: &[(&[&str], &str)] = &[
        (&["Main"], "class |  | Main"),
        (&["Main", "-cp", "x", "@y"], "class |  | Main"),
        (&["-cp", "a.jar:b", "Main", "1"], "class | -cp a.jar:b | Main"),
        (&["-classpath", "a.jar", "Main"], "class | -classpath a.jar | Main"),
        (&["--class-path", "a.jar", "Main"], "class | --class-path a.jar | Main"),
        (&["--class-path=a.jar", "Main"], "class | --class-path=a.jar | Main"),
        (&["-cp", "a", "-cp", "b", "Main"], "class | -cp a -cp b | Main"),
        (&["-cp", "", "Main"], "class | -cp  | Main"),
        (&["-Djava.class.path=p", "Main"], "class | -Djava.class.path=p | Main"),
        (&["-Djava.class.path=p", "-cp", "a", "Main"], "class | -Djava.class.path=p -cp a | Main"),
        (&["-Xmx1g", "-Dx=y", "-cp", "a", "-ea", "Main"], "class | -Xmx1g -Dx=y -cp a -ea | Main"),
        (&["-jar", "app.jar", "a", "-b"], "jar |  | app.jar"),
        (&["-cp", "ignored", "-jar", "app.jar"], "jar | -cp ignored | app.jar"),
        (&["-jar", "-Dx=y", "-cp", "z", "app.jar", "-c"], "jar | -Dx=y -cp z | app.jar"),
        (
            &["--add-opens", "java.base/java.lang=ALL-UNNAMED", "-cp", "a", "Main"],
            "class | --add-opens java.base/java.lang=ALL-UNNAMED -cp a | Main",
        ),
        (
            &["--add-opens=java.base/java.lang=ALL-UNNAMED", "Main"],
            "class | --add-opens=java.base/java.lang=ALL-UNNAMED | Main",
        ),
        (&["--add-modules", "java.sql", "Main"], "class | --add-modules java.sql | Main"),
        (&["-p", "mods", "-cp", "a", "Main"], "class | -p mods -cp a | Main"),
        (&["--module-path=mods", "Main"], "class | --module-path=mods | Main"),
        (&["--enable-preview", "Main"], "class | --enable-preview | Main"),
        (
            &["-XX:SharedArchiveFile=x.jsa", "-Xlog:gc", "Main"],
            "class | -XX:SharedArchiveFile=x.jsa -Xlog:gc | Main",
        ),
        (
            &["-agentlib:jdwp=a=b", "-javaagent:x.jar=y", "Main"],
            "class | -agentlib:jdwp=a=b -javaagent:x.jar=y | Main",
        ),
        (&["-showversion", "Main"], "class | -showversion | Main"),
        (&["Missing.java"], "class |  | Missing.java"),
        (&["-m", "mod/Main", "x"], "module |  | mod/Main"),
        (&["-p", "mods", "--module", "mod"], "module | -p mods | mod"),
        (&["--module=mod/Main", "-x"], "module |  | mod/Main"),
        (&["--source", "17", "Main.jsh"], "source | --source 17 | Main.jsh"),
        (&["--source=17", "Main.jsh", "y"], "source | --source=17 | Main.jsh"),
        (&[], "NoProgram"),
        (&["-version"], "NoProgram"),
        (&["--version"], "NoProgram"),
        (&["-version", "Main"], "NoProgram"),
        (&["-version", "-m", "mod/Main"], "NoProgram"),
        (&["-cp", "a", "-help"], "NoProgram"),
        (&["--list-modules"], "NoProgram"),
        (&["-d", "java.base"], "NoProgram"),
        (&["--dry-run", "Main"], "NoProgram"),
        (&["-Xshare:dump"], "NoProgram"),
        (&["-cp"], "NoProgram"),
        (&["-cp", "-jar", "x"], "NoProgram"),
        (&["-jar"], "NoProgram"),
        (&["@/no/such/file", "Main"], "NoProgram"),
        (&["@", "x"], "class |  | @"),
        (&["@@x", "y"], "class |  | @x"),
    ];
    for (arguments, expected) in cases {
        assert_eq!(read(arguments, None, 17), *expected, "java {arguments:?}");
    }
}

#[test]
fn java_8_has_fewer_options() {
    let variable = Some("-cp 'open");
    assert_eq!(read(&["-cp", "a", "Main"], variable, 8), "class | -cp a | Main");
    assert_eq!(read(&["-p", "x"], variable, 8), "class | -p | x");
    assert_eq!(read(&["@file", "x"], variable, 8), "class |  | @file");
}

#[test]
fn the_launchers_variable_has_options_and_no_program() {
    assert_eq!(read(&["Main"], Some("-Dx='y z' -cp 'op tions'"), 17), "class |  | Main");
    assert_eq!(read(&["-jar", "a.jar"], Some("-cp a"), 17), "jar |  | a.jar");
    for refused in ["-cp 'open", "Main", "@/no/such/file"] {
        assert_eq!(read(&["Main"], Some(refused), 17), "NoProgram", "{refused}");
    }
}

#[test]
fn source_files_are_known_by_their_name_and_existence() {
    let scratch = Scratch::new();
    let file = scratch.file("Hello.java", b"class Hello {}");
    let file = file.to_str().unwrap();
    assert_eq!(read(&[file, "x"], None, 17), format!("source |  | {file}"));
    assert_eq!(read(&["-cp", "a", file], None, 17), format!("source | -cp a | {file}"));
    assert_eq!(read(&["-jar", file], None, 17), format!("jar |  | {file}"));
    assert_eq!(read(&[file], None, 8), format!("class |  | {file}"));
}

#[test]
fn argument_files_are_read_in_place() {
    let scratch = Scratch::new();
    let file = |name: &str, text: &str| format!("@{}", scratch.file(name, text.as_bytes()).to_str().unwrap());
    let options = file("options", "-Xmx1g # heap\n-cp \"my libs/a.jar:\\\n   b.jar\"\n");
    assert_eq!(
        read(&[&options, "Main", &options], None, 17),
        "class | -Xmx1g -cp my libs/a.jar:b.jar | Main"
    );
    let all = file("all", "-cp a Main 'one two' @literal");
    assert_eq!(read(&[&all, "three", &all], None, 17), "class | -cp a | Main");
    let path = file("path", "a:b");
    assert_eq!(read(&["-cp", &path, "Main", "x"], None, 17), "class | -cp a:b | Main");
    let jar = file("jar", "app.jar");
    assert_eq!(read(&["-jar", &jar, &jar], None, 17), "jar |  | app.jar");
    assert_eq!(
        read(&["--disable-@files", &options, "x"], None, 17),
        format!("class | --disable-@files | {options}")
    );
    assert_eq!(read(&["Main"], Some(&options), 17), "class |  | Main");
}

proptest! {
    #[test]
    fn any_words_are_read_without_a_panic(
        words in proptest::collection::vec("[-@=*:/a-z ]{0,10}|-cp|-jar|-m|--module-path|--source", 0..8),
        variable in proptest::option::of("[-@=\"'a-z ]{0,20}"),
        version in 8u32..30,
    ) {
        let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
        plan(&words, variable.as_deref().map(OsStr::new), version);
    }

    #[test]
    fn words_after_the_main_class_are_unchanged(tail in proptest::collection::vec("[ -~]{0,10}", 0..5)) {
        let mut words = vec![OsString::from("-cp"), "a".into(), "Main".into()];
        words.extend(tail.iter().map(OsString::from));
        prop_assert_eq!(without_archives(&words, 17), words);
    }
}
