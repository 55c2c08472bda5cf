//! A no-op class with the name that instrumented code calls.
//!
//! A program may start a JVM on its own class path, which is then the instrumented one. That JVM has no recorder on its boot class
//! path and needs none, but the calls must resolve. The recorder's own class would not do: from Java 24 on its attempt to load the
//! library prints a warning.

/// The methods, each with its descriptor and the number of words of its arguments.
const METHODS: [(&str, &str, u16); 8] = [
    ("i", "(I)V", 1),
    ("o", "(I)V", 1),
    ("at", "(Landroid/app/Activity;Z)V", 2),
    ("wb", "(ILjava/lang/Object;)V", 2),
    ("we", "(ILjava/lang/Object;)V", 2),
    ("wr", "(Ljava/lang/Object;)V", 1),
    ("wt", "(ZLjava/lang/Object;)V", 2),
    ("c", "(Ljava/lang/Object;Ljava/lang/Object;II)V", 4),
];

/// The fields in which a handler notes that a call has overflowed the stack, each with its descriptor. The array is made by the class.
const FIELDS: [(&str, &str); 2] = [("lost", "I"), ("LOST_ENDS", "[I")];

/// The length of the array.
const LOST_ENDS_LENGTH: u8 = 16;

/// Version of the class file: that of Java 5, which every JVM loads without stack maps.
const VERSION: u16 = 49;

/// `public static`, and for the class `public final super`.
const PUBLIC_STATIC: u16 = 0x9;
const PUBLIC_FINAL: u16 = 0x31;
const STATIC: u16 = 0x8;

/// Builds the class file.
pub(crate) fn class_file() -> Vec<u8> {
    let mut pool = Pool::default();
    let this = pool.class(instrumenter::CALL_CLASS);
    let object = pool.class("java/lang/Object");
    let code = pool.utf8("Code");
    let fields = FIELDS.map(|(name, descriptor)| (pool.utf8(name), pool.utf8(descriptor)));
    let ends = pool.field(this, fields[1]);
    let initializer = (pool.utf8("<clinit>"), pool.utf8("()V"));
    let methods = METHODS.map(|(name, descriptor, words)| (pool.utf8(name), pool.utf8(descriptor), words));

    let mut out = vec![0xca, 0xfe, 0xba, 0xbe];
    put(&mut out, &[0, VERSION, pool.entries + 1]);
    out.append(&mut pool.bytes);
    // No interfaces.
    put(&mut out, &[PUBLIC_FINAL, this, object, 0, FIELDS.len() as u16]);
    for (name, descriptor) in fields {
        put(&mut out, &[PUBLIC_STATIC, name, descriptor, 0]);
    }
    put(&mut out, &[1 + METHODS.len() as u16]);
    // One word of the stack, no variables, eight bytes of code: bipush 16, newarray int, putstatic, return.
    let [high, low] = ends.to_be_bytes();
    put(&mut out, &[STATIC, initializer.0, initializer.1, 1, code, 0, 20, 1, 0, 0, 8]);
    out.extend_from_slice(&[0x10, LOST_ENDS_LENGTH, 0xbc, 10, 0xb3, high, low, 0xb1, 0, 0, 0, 0]);
    for (name, descriptor, words) in methods {
        // One attribute, Code, of 13 bytes: no stack, the arguments, one byte of code...
        put(&mut out, &[PUBLIC_STATIC, name, descriptor, 1, code, 0, 13, 0, words, 0, 1]);
        // ...which is `return`; no handlers, no attributes.
        out.extend_from_slice(&[0xb1, 0, 0, 0, 0]);
    }
    put(&mut out, &[0]);
    out
}

fn put(out: &mut Vec<u8>, numbers: &[u16]) {
    out.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
}

#[derive(Default)]
struct Pool {
    bytes: Vec<u8>,
    entries: u16,
}

impl Pool {
    fn utf8(&mut self, text: &str) -> u16 {
        self.bytes.push(1);
        put(&mut self.bytes, &[text.len() as u16]);
        self.bytes.extend_from_slice(text.as_bytes());
        self.entries += 1;
        self.entries
    }

    fn class(&mut self, name: &str) -> u16 {
        let name = self.utf8(name);
        self.bytes.push(7);
        put(&mut self.bytes, &[name]);
        self.entries += 1;
        self.entries
    }

    fn field(&mut self, class: u16, (name, descriptor): (u16, u16)) -> u16 {
        self.bytes.push(12);
        put(&mut self.bytes, &[name, descriptor]);
        self.bytes.push(9);
        put(&mut self.bytes, &[class, self.entries + 1]);
        self.entries += 2;
        self.entries
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    /// The methods of a class that instrumented code calls: their names have one or two letters.
    fn called(source: &str) -> BTreeSet<String> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(source);
        let text = std::fs::read_to_string(path).unwrap();
        let names =
            text.lines().filter_map(|line| line.trim().strip_prefix("public static void ")?.split_once('('));
        names.map(|(name, _)| name.to_owned()).filter(|name| name.len() <= 2).collect()
    }

    #[test]
    fn every_form_of_the_class_has_the_methods_that_instrumented_code_calls() {
        let methods = called("android/method-beat/dev/anrscope/MethodBeat.java");
        assert!(methods.len() >= 8, "{methods:?}");
        assert_eq!(METHODS.map(|(name, _, _)| name.to_owned()).into_iter().collect::<BTreeSet<_>>(), methods);
        for other in [
            "android/aar/no-op/java/dev/anrscope/MethodBeat.java",
            "instrumenter/tests/java/dev/anrscope/MethodBeat.java",
        ] {
            assert_eq!(called(other), methods, "{other}");
        }
        // The proof runs programs without activities.
        let mut counted = called("instrumenter/proof/CountingMethodBeat.java");
        counted.insert("at".to_owned());
        assert_eq!(counted, methods);
    }

    /// A handler stores there where a call has overflowed the stack: without the fields the program would get an error that is not its own.
    #[test]
    fn a_handler_of_instrumented_code_finds_the_fields_that_it_stores_to() {
        let directory = std::env::temp_dir().join(format!("anrscope-no-op-{}", std::process::id()));
        let file = directory.join(instrumenter::CALL_CLASS).with_extension("class");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, class_file()).unwrap();
        let source = directory.join("Check.java");
        let check = "import dev.anrscope.MethodBeat; class Check { public static void main(String[] none) { MethodBeat.o(7); \
                     MethodBeat.LOST_ENDS[MethodBeat.lost & 15] = 7; MethodBeat.lost++; \
                     System.out.print(MethodBeat.LOST_ENDS.length + MethodBeat.lost); } }";
        std::fs::write(&source, check).unwrap();
        let shown =
            std::process::Command::new("java").arg("-cp").arg(&directory).arg(&source).output().unwrap();
        std::fs::remove_dir_all(&directory).unwrap();
        assert_eq!(String::from_utf8_lossy(&shown.stdout), "17", "{shown:?}");
        for source in [
            "android/method-beat/dev/anrscope/MethodBeat.java",
            "android/aar/no-op/java/dev/anrscope/MethodBeat.java",
            "instrumenter/tests/java/dev/anrscope/MethodBeat.java",
            "instrumenter/proof/CountingMethodBeat.java",
        ] {
            let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(source))
                .unwrap();
            for (name, _) in FIELDS {
                assert!(
                    text.lines().any(|line| line.contains(&format!(" {name}"))),
                    "{source} has no {name}"
                );
            }
        }
    }
}
