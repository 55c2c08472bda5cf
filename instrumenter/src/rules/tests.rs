use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

fn rules(text: &str) -> Rules {
    Rules::parse(Path::new("rules.txt"), text).unwrap()
}

fn subject<'a>(class: &'a str, name: &'a str) -> Subject<'a> {
    Subject { class, class_annotations: &[], name, descriptor: "()V", annotations: &[], size: 20 }
}

#[test]
fn the_last_rule_that_fits_decides() {
    let rules = rules(
        "exclude class **   # nothing, but\r\n\
         include package com.acme\n\n\
         exclude package com/acme/quiet/\n\
         always class com.acme.quiet.Start* method run\n\
         include package -\n",
    );
    let mut used = HashSet::new();
    for (class, name, verb) in [
        ("org/x/Y", "a", Verb::Exclude),
        ("com/acme/A", "a", Verb::Include),
        ("com/acmeother/A", "a", Verb::Exclude),
        ("com/acme/quiet/A", "a", Verb::Exclude),
        ("com/acme/quietly/A", "a", Verb::Include),
        ("com/acme/quiet/Starter$1", "run", Verb::Always),
        ("com/acme/quiet/Starter", "walk", Verb::Exclude),
        ("Unnamed", "a", Verb::Include),
    ] {
        let (decided, line) = rules.decide(&subject(class, name)).unwrap();
        assert_eq!(decided, verb, "{class}.{name}");
        used.insert(line);
    }
    assert_eq!(rules.unused(&used).count(), 0);
    assert_eq!(Rules::default().decide(&subject("a/B", "c")), None);
}

#[test]
fn class_only_does_not_match_nested_classes() {
    let rules =
        rules("exclude class-only com.acme.Node method get()V # 1,000 calls\nalways class-only com.*.X\n");
    let decided = |class, name| rules.decide(&subject(class, name)).map(|(verb, _)| verb);
    assert_eq!(decided("com/acme/Node", "get"), Some(Verb::Exclude));
    assert_eq!(decided("com/acme/Node$Leaf", "get"), None);
    assert_eq!(decided("com/acme/Node", "set"), None);
    assert_eq!(decided("com/acme/X", "set"), Some(Verb::Always));
    assert_eq!(decided("com/acme/X$1", "set"), None);
}

#[test]
fn annotations_methods_and_sizes_are_matched() {
    let rules = rules(
        "exclude annotation @dagger.internal.*\nexclude method get*\nexclude method run(I)V\n\
         include size >=40\nexclude annotation a.Big size <100\nexclude size < 3\n",
    );
    let names = |name: &str| vec![name.to_owned()];
    let (dagger, big) = (names("dagger/internal/Generated"), names("a/Big"));
    let plain = || subject("x/Y", "go");
    for (subject, verb) in [
        (plain(), None),
        (Subject { class_annotations: &dagger, ..plain() }, Some(Verb::Exclude)),
        (Subject { annotations: &dagger, ..plain() }, Some(Verb::Exclude)),
        (subject("x/Y", "getX"), Some(Verb::Exclude)),
        (subject("x/Y", "run"), None),
        (Subject { descriptor: "(I)V", ..subject("x/Y", "run") }, Some(Verb::Exclude)),
        (Subject { size: 40, ..plain() }, Some(Verb::Include)),
        (Subject { size: 39, ..plain() }, None),
        (Subject { size: 99, annotations: &big, ..plain() }, Some(Verb::Exclude)),
        (Subject { size: 100, annotations: &big, ..plain() }, Some(Verb::Include)),
        (Subject { size: 2, ..plain() }, Some(Verb::Exclude)),
    ] {
        let what = format!("{} {} {}", subject.name, subject.descriptor, subject.size);
        assert_eq!(rules.decide(&subject).map(|(verb, _)| verb), verb, "{what}");
    }
    assert!(rules.ask_for_annotations());
    assert!(!self::rules("exclude size < 9").ask_for_annotations());
}

#[test]
fn rules_that_match_nothing_are_reported() {
    let rules = rules("exclude class gone.A\nexclude method a\nexclude method a\n");
    let (_, line) = rules.decide(&subject("x/Y", "a")).unwrap();
    // The second is never asked, because the third matches the same methods.
    assert_eq!(rules.unused(&HashSet::from([line])).map(|(_, line)| line).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn an_invalid_rule_is_reported_with_its_line_and_a_cure() {
    for (text, line, part) in [
        ("# fine\n\nskip class a.B", 3, "start the line with exclude"),
        ("exclude", 1, "`class **` matches every class"),
        ("exclude class", 1, "name the class"),
        ("exclude klass a", 1, "the conditions are"),
        ("exclude size 40", 1, "not a comparison"),
        ("exclude size < many", 1, "not a number of bytes"),
        ("exclude size < 0", 1, "a size that no method has"),
        ("exclude size >", 1, "size without a value"),
        ("exclude size > 4294967295", 1, "no method has"),
        ("exclude package a.*", 1, "class com.acme.**"),
        ("exclude package ..", 1, "package -"),
        ("exclude method a.B#c", 1, "class NAME method NAME"),
        ("\u{FEFF}exclude class a.B\n-keepclass a/B", 2, "--block-list"),
    ] {
        let error = Rules::parse(Path::new("rules.txt"), text).unwrap_err().to_string();
        assert!(error.starts_with(&format!("rules.txt:{line}: ")), "{error}");
        assert!(error.contains(part), "{error}");
    }
    let many = "exclude class a\n".repeat(10_001);
    let error = Rules::parse(Path::new("r"), &many).unwrap_err().to_string();
    assert!(error.starts_with("r:10001: "), "{error}");
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = Rules::parse(Path::new("r"), &String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn words_in_any_order_are_read_or_refused(
        words in proptest::collection::vec(
            prop_oneof![
                Just("exclude"), Just("include"), Just("always"), Just("class"), Just("package"),
                Just("size"), Just("<"), Just(">= 4"), Just("method"), Just("annotation"), Just("**"),
                Just("a.B"), Just("-"), Just("\n"), Just("#"), Just("()"),
            ],
            0..30,
        ),
    ) {
        if let Ok(rules) = Rules::parse(Path::new("r"), &words.join(" ")) {
            let _ = rules.decide(&subject("a/B", "c"));
        }
    }
}
