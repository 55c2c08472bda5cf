use proptest::prelude::*;

use super::*;

fn original(mapping: &Mapping, class: &str, name: &str, descriptor: &str) -> String {
    let found = mapping.method(class, name, descriptor, None);
    format!("{}{}{}", if found.ambiguous { "?" } else { "" }, found.name, found.descriptor)
}

#[test]
fn overloads_arrays_and_inlined_frames() {
    let mapping = Mapping::parse(
        b"# compiler: R8\r\ncom.acme.Foo -> a:\r\n    int count -> x\r\n\
          \x20   1:1:void com.acme.Inlined.leaf(int):7:7 -> c\r\n\
          \x20   1:1:void com.acme.Inlined.middle(int):9 -> c\r\n\
          \x20   1:1:void work(com.acme.Foo):20 -> c\r\n\
          \x20   2:4:void work(com.acme.Foo):22:24 -> c\r\n\
          \x20   5:9:int[] sum(java.lang.String[][],long):30:34 -> c\r\n\
          \x20   void leaf(boolean) -> c\r\n",
    );
    assert_eq!(mapping.unread, None);
    assert_eq!(mapping.class("a"), Some("com/acme/Foo"));
    for (descriptor, expected) in [
        ("(La;)V", "work(Lcom/acme/Foo;)V"),
        ("([[Ljava/lang/String;J)[I", "sum([[Ljava/lang/String;J)[I"),
        ("(Z)V", "leaf(Z)V"),
        // Nothing fits, and there are several names: not guessed.
        ("(I)V", "?c(I)V"),
        ("([La;)La;", "?c([Lcom/acme/Foo;)Lcom/acme/Foo;"),
    ] {
        assert_eq!(original(&mapping, "a", "c", descriptor), expected);
    }
    assert_eq!(original(&mapping, "a", "d", "()V"), "d()V");
    assert_eq!(original(&mapping, "b", "c", "(La;)V"), "c(Lcom/acme/Foo;)V");
    let line = |line| mapping.method("a", "c", "(La;)V", Some(line)).line;
    assert_eq!((line(1), line(3), line(99)), (Some(20), Some(23), Some(99)));
}

#[test]
fn a_changed_signature_is_found_by_residual_signature_or_by_its_only_name() {
    let mapping = Mapping::parse(
        b"A -> a:\n    1:1:void one(int,A):3:3 -> b\n\
          \x20     # {\"id\":\"com.android.tools.r8.residualsignature\",\"signature\":\"(La;)V\"}\n\
          \x20   2:2:void two(int):4:4 -> b\n\
          \x20   void three(int,long) -> c\n",
    );
    assert_eq!(original(&mapping, "a", "b", "(La;)V"), "one(ILA;)V");
    assert_eq!(original(&mapping, "a", "b", "(I)V"), "two(I)V");
    // What has a residual signature has no other, so this can only be the rest.
    assert_eq!(original(&mapping, "a", "b", "()V"), "two()V");
    assert_eq!(original(&mapping, "a", "c", "(La;)V"), "three(LA;)V");
}

#[test]
fn classes_without_a_package_before_and_after() {
    let mapping = Mapping::parse(b"com.acme.Foo -> a:\nBar -> b.c:\n    void x(Bar) -> y\n");
    assert_eq!(mapping.class("a"), Some("com/acme/Foo"));
    assert_eq!(mapping.class("b/c"), Some("Bar"));
    assert_eq!(original(&mapping, "b/c", "y", "(Lb/c;)V"), "x(LBar;)V");
    assert_eq!(mapping.found(["a", "a", "q"].into_iter()), (2, 1));
}

#[test]
fn r8_tells_source_files() {
    let mapping = Mapping::parse(
        b"a.B -> c:\n# {\"id\":\"sourceFile\",\"fileName\":\"B.kt\"}\n    1:4:void <init>():7:7 -> <init>\n",
    );
    assert_eq!(mapping.source_file("c"), Some("B.kt"));
    assert_eq!(mapping.method("c", "<init>", "()V", Some(2)).line, Some(7));
}

#[test]
fn a_file_that_maps_nothing_is_an_error() {
    let path = std::env::temp_dir().join(format!("anrscope-mapping-{}.txt", std::process::id()));
    std::fs::write(&path, "# nothing\nhere\n").unwrap();
    let error = Mapping::read(&path).unwrap_err().to_string();
    std::fs::remove_file(&path).unwrap();
    assert!(error.contains(":2: this file maps no class"), "{error}");
}

proptest! {
    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..500)) {
        let mapping = Mapping::parse(&bytes);
        mapping.method("a", "b", "(La;)V", Some(3));
    }

    #[test]
    fn lines_in_any_order_are_read(
        lines in proptest::collection::vec(
            prop_oneof![
                Just("A -> a:"), Just("    1:1:void x(int):3:3 -> b"), Just("    1:1:void y(A):4 -> b"),
                Just("    0:65535:void z():0:0 -> b"), Just("    void w() -> b"), Just("    int f -> b"),
                Just("      # {\"id\":\"com.android.tools.r8.residualsignature\",\"signature\":\"(La;)V\"}"),
                Just("# {\"id\":\"sourceFile\",\"fileName\":\"B.kt\"}"), Just("\r"), Just("junk"),
                Just("    1:18446744073709551615:void v():1:18446744073709551615 -> b"),
            ],
            0..40,
        ),
        line in any::<u16>(),
    ) {
        let mapping = Mapping::parse(lines.join("\n").as_bytes());
        for descriptor in ["()V", "(La;)V", "(I)V", "(L", "L;", ")"] {
            mapping.method("a", "b", descriptor, Some(line));
        }
    }

    #[test]
    fn descriptors_without_mapped_classes_stay(text in "[()VIJL;\\[a/]{0,20}") {
        prop_assert_eq!(Mapping::default().descriptor(&text), text);
    }
}
