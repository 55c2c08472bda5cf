//! The JDK's own classes, which are traced by choice.

use jvm_agent::{JdkClasses, Settings};

use crate::support::*;

fn chosen(names: &[&str]) -> JdkClasses {
    let mut classes = JdkClasses::default();
    names.iter().for_each(|name| classes.add(name).unwrap());
    classes
}

const CHECKS: [&str; 2] = ["-Xverify:all", "-Xcheck:jni"];

#[test]
fn chosen_packages_of_the_jdk_are_traced_and_the_program_runs_as_before() {
    let directory = directory("jdk");
    let classes = directory.join("classes");
    compile("jdk", &classes, &[]);
    let program = [&CHECKS[..], &["-cp", text(&classes), "plain.UsesJdk"]].concat();
    let plain = shown(java().args(&program));
    assert_eq!(plain.code, Some(0), "{plain:?}");
    for (names, traced) in [
        (&[][..], &[][..]),
        (
            // A class that the JVM has loaded before the agent ran, and packages.
            &["java.util.HashMap", "java.util.concurrent", "java.util.zip", "java.net"],
            &[
                "java.util.HashMap.computeIfAbsent",
                "java.util.concurrent.ThreadPoolExecutor.execute",
                "java.util.concurrent.LinkedBlockingQueue.take",
                "java.util.zip.GZIPOutputStream.write",
                "java.net.Socket.connect",
            ],
        ),
        (
            &["java", "javax", "jdk", "sun", "com"],
            &[
                "java.util.TreeMap.putAll",
                "java.util.regex.Matcher.find",
                "java.io.ObjectInputStream.readObject",
            ],
        ),
    ] {
        let settings = Settings { jdk: chosen(names), ..settings(&directory) };
        for left in std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()) {
            if left.is_file() {
                std::fs::remove_file(left).unwrap();
            }
        }
        let shown = shown(java().arg(agent(&directory, &settings)).args(&program));
        assert_eq!(shown, plain, "{names:?}");
        let calls = calls(&directory);
        assert!(calls.contains_key("main"), "{names:?} {calls:?} {:?}", recording(&directory).threads());
        for method in traced {
            assert!(calls["main"].contains_key(*method), "{method} with {names:?}: {:?}", calls["main"]);
        }
        let of_jdk = |name: &&String| !name.starts_with("plain.");
        let methods: Vec<&String> = calls.values().flat_map(|calls| calls.keys()).filter(of_jdk).collect();
        assert_eq!(methods.is_empty(), names.is_empty(), "{methods:?}");
        for method in methods {
            let class = method.rsplit_once('.').unwrap().0;
            assert!(settings.jdk.has(&class.replace('.', "/")), "{method}");
        }
        let balance = balance(&directory);
        assert_eq!(balance["main"], 0, "every call has its end: {balance:?}");
        assert_eq!(balance["answers"], 0, "{balance:?}");
    }
}
