//! `anrscope dump`, on the samples of the exporter's tests.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use trace_format::synth::RecordingBuilder;

use test_support::program::{Shown, command, run};
use test_support::temp_dir::TempDir;

fn sample(name: &str) -> String {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../exporter/answers/tests/data/dump");
    data.join(name).to_str().unwrap().to_owned()
}

#[test]
fn the_page_begins_with_the_cause() {
    let page = run(["dump", &sample("art14-deadlock.txt")]).ok(&[]);
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text:?} is not in\n{page}"));
    let places =
        ["Subject: ", "MAIN \"main\"", "is owned by", "DEADLOCK of 2 threads", "OTHER THREADS", "HEAD"]
            .map(place);
    assert!(places.is_sorted(), "{page}");
    assert!(!page.contains("SyncService.java"));
}

#[test]
fn json_has_the_documented_form() {
    let files = [sample("art14-deadlock.txt"), sample("art8-holder-not-named.txt")];
    let shown = run(["dump", "--json", &files[0], &files[1]]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(shown.stderr.contains("warning: ") && shown.stderr.contains("the text ends within"), "{shown:?}");
    let json: Value = serde_json::from_str(&shown.stdout).unwrap();
    let sections = json["sections"].as_array().unwrap();
    assert_eq!((sections.len(), json["files"].as_array().unwrap().len()), (4, 2));
    let first = &sections[0];
    assert_eq!((first["pid"].as_u64(), first["cmdline"].as_str()), (Some(4242), Some("com.acme.shop")));
    assert_eq!(first["file"].as_str(), Some(files[0].as_str()));
    let main = &first["threads"][0];
    for (key, expected) in [("name", "\"main\""), ("tid", "1"), ("sys_tid", "4242"), ("state", "\"Blocked\"")]
    {
        assert_eq!(main[key].to_string(), expected, "{key}");
    }
    assert_eq!(first["lock_edges"][0]["from"], 1);
    assert_eq!(first["lock_edges"][0]["to"], 12);
    assert_eq!(first["lock_edges"][0]["lock_class"], "com.acme.shop.PriceStore");
    assert_eq!(first["deadlocks"].to_string(), "[[1,12]]");
    assert_eq!(sections[2]["lock_edges"].to_string(), "[]");
    assert_eq!(sections[2]["inferred_lock_edges"][0]["to"], 9);
    assert_eq!(json["files"][0]["subject"]["kind"], "input_dispatching");
    // One thread of them.
    let one = run(["dump", "--json", &files[0], "--thread", "SyncWorker"]).ok(&[]);
    let one: Value = serde_json::from_str(&one).unwrap();
    assert_eq!(one["sections"][0]["threads"].as_array().unwrap().len(), 1);
}

#[test]
fn stdin_is_read() {
    let mut child = command()
        .args(["dump", "-", "--thread", "main"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&std::fs::read(sample("play-console.txt")).unwrap()).unwrap();
    let page = Shown::from(child.wait_with_output().unwrap()).ok(&[]);
    assert!(
        page.contains("\"main\" (tid 1) is Blocked") && page.contains("is owned by\n\"SyncWorker\""),
        "{page}"
    );
}

#[test]
fn directories_and_bug_reports_are_read_and_grouped() {
    let directory = TempDir::new();
    let main = |method: &str, line: u32| {
        format!(
            "----- pid 7 at 2026-01-0{line} 00:00:00 -----\nCmd line: com.acme\n\n\"main\" prio=5 tid=1 Native\n  at a.B.{method}(B.java:{line})\n\n----- end 7 -----\n"
        )
    };
    directory.file("one.txt", main("often", 1));
    directory.file("two.txt", main("often", 2));
    directory.file("three.txt", main("once", 3));
    directory.file("notes.md", "what a day\n");
    let directory = directory.name("");
    let page = run(["dump", &directory]).ok(&["skipped 1 file: not a thread dump"]);
    assert_eq!(page.matches("MAIN \"main\"").count(), 3, "{page}");
    let page = run(["dump", "--group", &directory]).ok(&["skipped 1 file: not a thread dump"]);
    assert!(page.starts_with("3 texts, 2 groups of equal main stacks\n\n     2  66.7 %  com.acme: main is in native code\n        cause: unknown, in a.B.often (B.java:1)\n        at a.B.often\n"), "{page}");
    assert!(page.contains("newest: ") && page.contains("two.txt (2026-01-02 00:00:00)"), "{page}");
    let shown = run(["dump", "--group", "--json", &directory]);
    let json: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!((json["texts"].as_u64(), json["others"].as_u64()), (Some(3), Some(1)));
    assert_eq!(json["groups"][0]["count"], 2);
    assert_eq!(json["groups"][1]["stack"][0], "a.B.once");
    let report = sample("../bugreport.zip");
    let page = run(["dump", &report]).ok(&["warning: "]);
    let newest = page.find("FS/data/anr/anr_2026-01-01").unwrap();
    assert!(newest < page.find("FS/data/anr/anr_2025-12-31").unwrap(), "{page}");
    run(["dump", "--group", "--all", &report]).failed(2, &["--all"]);
}

#[test]
fn names_from_before_r8_and_the_mapping_of_another_build() {
    let directory = TempDir::new();
    let mapping = sample("mapping-r8.txt");
    let page = run(["dump", &sample("obfuscated.txt"), "--mapping", &mapping]).ok(&[]);
    assert!(page.contains("at com.acme.shop.Table.find(Table.kt:12)  [inlined]"), "{page}");
    let of = |id: &str| format!("\"main\" prio=5 tid=1 Runnable\n  at a.b.c(r8-map-id-{id}:2)\n");
    let same = directory.file("same.txt", of("5eed5eed0011"));
    assert!(run(["dump", &same, "--mapping", &mapping]).ok(&[]).contains("PriceStore.cached(Prices.kt:31)"));
    let other = directory.file("other.txt", of("0bad0bad"));
    let page = run(["dump", &other, "--mapping", &mapping]).ok(&["warning: ", "0bad0bad", "was ignored"]);
    assert!(page.contains("at a.b.c("), "{page}");
}

#[test]
fn files_that_are_not_dumps_or_mappings_are_errors() {
    let directory = TempDir::new();
    let dump = sample("art14-deadlock.txt");
    let text = directory.file("text.txt", "\nwhat a day\n");
    let (empty, missing, itself) =
        (directory.file("empty.txt", ""), directory.name("missing.txt"), directory.name("."));
    for (input, place) in
        [(&text, "offset 1"), (&empty, "is empty"), (&missing, "No such file"), (&itself, "directory")]
    {
        run(["dump", input]).failed(1, &[input, place]);
        // The other dump is not shown either.
        run(["dump", &dump, input]).failed(1, &[input, place]);
    }
    run(["dump", &dump, "--mapping", &text]).failed(1, &[&format!("{text}:2"), "mapping.txt"]);
    run(["dump", &dump, "--mapping", &missing]).failed(1, &[&missing, "No such file"]);
    run(["dump", &dump, "--thread", "nosuch"]).failed(1, &["\"nosuch\""]);
}

#[test]
fn reports_and_traces_take_the_mapping_too() {
    let directory = TempDir::new();
    let bytes = RecordingBuilder::new(42, "com.example")
        .main("main", |t| {
            t.enter(2_000, 1);
        })
        .build();
    let input = directory.file("app.anrscope", bytes);
    directory.file("methodMapping.txt", "1,1,a.b g (I)V\n");
    let (mapping, out) = (sample("mapping-r8.txt"), directory.name("t.pftrace"));
    run(["export", &input, "-o", &out, "--level", "0", "--mapping", &mapping]).ok(&["1 slice"]);
    let trace = String::from_utf8_lossy(&std::fs::read(&out).unwrap()).into_owned();
    assert!(trace.contains("com.acme.shop.PriceStore.second") && !trace.contains("a.b.g"));
    run(["report", &input, "--mapping", &out]).failed(1, &[&out]);
}

/// A library of C, unstripped, and a dump of main in its innermost function.
fn native_dump(directory: &TempDir) -> (String, String) {
    let source = "#include <unistd.h>\n\
        extern int read_rows(int rows);\n\
        static inline __attribute__((always_inline)) int decode_rows(int rows) {\n\
        \x20   return read_rows(rows) + 1;\n\
        }\n\
        __attribute__((noinline)) int read_rows(int rows) { return rows + (int)sleep((unsigned)rows); }\n\
        __attribute__((noinline)) static int decode_image(int rows) {\n\
        \x20   return decode_rows(rows) * 3;\n\
        }\n\
        int Java_com_acme_shop_Photo_nativeDecode(void *env, void *self, int rows) { return decode_image(rows) - 1; }\n";
    let (file, library) = (directory.name("photo.c"), directory.name("symbols/obj/libphoto.so"));
    std::fs::create_dir_all(directory.path().join("symbols/obj")).unwrap();
    std::fs::write(&file, source).unwrap();
    let tool = |program: &str, arguments: &[&str]| {
        let output = std::process::Command::new(program).args(arguments).output().unwrap();
        assert!(output.status.success(), "{program}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let flags = [
        "-O1",
        "-g",
        "-fno-optimize-sibling-calls",
        "-shared",
        "-fPIC",
        "-Wl,--build-id",
        &file,
        "-o",
        &library,
    ];
    tool("cc", &flags);
    let id = tool("readelf", &["-n", &library]);
    let id = id.split("Build ID: ").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    // Return addresses, less one, as the system writes them: behind the last call of each function.
    let code = tool("objdump", &["-d", "--no-show-raw-insn", &library]);
    let behind_call = |function: &str| {
        let body = code.split(&format!("<{function}>:\n")).nth(1).unwrap().split("\n\n").next().unwrap();
        let mut lines = body.lines().skip_while(|line| !line.contains("call") && !line.contains("\tbl\t"));
        let next = lines.nth(1).unwrap().trim();
        u64::from_str_radix(next.split_once(':').unwrap().0, 16).unwrap() - 1
    };
    let app = "/data/app/~~a==/com.acme.shop-b==/lib/arm64/libphoto.so";
    let frames = ["read_rows", "decode_image", "Java_com_acme_shop_Photo_nativeDecode"].map(behind_call);
    let [read, decode, java] = frames;
    let dump = format!(
        "----- pid 7 at 2026-01-01 00:00:00 -----\nCmd line: com.acme.shop\n\nDALVIK THREADS (1):\n\
         \"main\" prio=5 tid=1 Native\n  | sysTid=7 nice=-10\n\
         \x20 native: #00 pc 00000000000b81f4  /apex/com.android.runtime/lib64/bionic/libc.so (nanosleep+4) (BuildId: a87908b48b368e6282bcc9f34bcfc28c)\n\
         \x20 native: #01 pc {read:016x}  {app} (BuildId: {id})\n\
         \x20 native: #02 pc {decode:016x}  {app} (BuildId: {id})\n\
         \x20 native: #03 pc {java:016x}  {app} (Java_com_acme_shop_Photo_nativeDecode+8) (BuildId: {id})\n\
         \x20 native: #04 pc 0000000000377c45  /data/app/x/base.odex (BuildId: {id})\n\
         \x20 at com.acme.shop.Photo.nativeDecode(Native method)\n\
         \x20 at com.acme.shop.PhotoActivity.onClick(PhotoActivity.java:41)\n\n----- end 7 -----\n"
    );
    let text = directory.name("traces.txt");
    std::fs::write(&text, dump).unwrap();
    (text, directory.name("symbols"))
}

#[test]
fn native_frames_are_named_by_symbols() {
    let directory = TempDir::new();
    let (text, symbols) = native_dump(&directory);
    let named = run(["dump", &text, "--symbols", &symbols]);
    assert_eq!(named.code, Some(0), "{named:?}");
    let page = &named.stdout;
    let lines: Vec<&str> = page.lines().map(str::trim).collect();
    let first = lines.iter().position(|line| line.starts_with("native: nanosleep [libc.so]")).expect(page);
    assert_eq!(
        lines[first + 1..first + 6],
        [
            "native: read_rows [libphoto.so] (photo.c:6)",
            "native: decode_rows [libphoto.so] (photo.c:4)  [inlined]",
            "native: decode_image [libphoto.so] (photo.c:8)",
            "native: Java_com_acme_shop_Photo_nativeDecode [libphoto.so] (photo.c:10)",
            "native: pc 0x377c45 [base.odex]",
        ],
        "{page}"
    );
    // The library's innermost frame is the app's own.
    assert!(
        lines.iter().any(|line| line.starts_with("In ") && line.contains("read_rows (photo.c:6)")),
        "{page}"
    );
    assert_eq!(
        named.stderr,
        "warning: no symbols for 1 frame of /apex/com.android.runtime/lib64/bionic/libc.so \
         (build id a87908b48b368e6282bcc9f34bcfc28c): no file with this build id\n"
    );
    // JSON has the whole path, and the build's own line numbers.
    let json = run(["dump", "--json", &text, "--symbols", &symbols]);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    let frames = json["sections"][0]["threads"][0]["frames"].as_array().unwrap();
    assert_eq!(frames.len(), 8);
    let inlined = &frames[2];
    assert_eq!((inlined["symbol"].as_str(), inlined["line"].as_u64()), (Some("decode_rows"), Some(4)));
    assert_eq!((inlined["inlined"].as_bool(), inlined["number"].as_u64()), (Some(true), Some(2)));
    assert!(inlined["file"].as_str().unwrap().ends_with("/photo.c"), "{inlined}");
    assert_eq!(frames[0]["file"], Value::Null);
    // Without symbols, and with those of another build, a frame stays what the device wrote.
    let plain = run(["dump", &text]).ok(&[]);
    assert!(plain.contains("native: pc 0x") && !plain.contains("photo.c"), "{plain}");
    let other = directory.name("other");
    std::fs::create_dir_all(&other).unwrap();
    let bytes = std::fs::read(format!("{symbols}/obj/libphoto.so")).unwrap();
    let id = bytes.windows(8).position(|part| part == b"\x03\0\0\0GNU\0").unwrap() + 8;
    let mut changed = bytes.clone();
    changed[id] ^= 1;
    std::fs::write(format!("{other}/libphoto.so"), changed).unwrap();
    let shown = run(["dump", &text, "--symbols", &other]);
    assert!(!shown.stdout.contains("photo.c"), "{shown:?}");
    assert!(shown.stderr.contains("libphoto.so is of another build ("), "{shown:?}");
    // Both directories, and groups.
    let grouped = run(["dump", "--group", &text, "--symbols", &other, "--symbols", &symbols]);
    assert_eq!(grouped.code, Some(0), "{grouped:?}");
    assert!(grouped.stdout.contains("in read_rows (photo.c:6)"), "{grouped:?}");
}

#[test]
fn symbols_need_a_directory() {
    let shown = run(["dump", &sample("art14-deadlock.txt"), "--symbols", "no-such-directory"]);
    assert_eq!(shown.code, Some(1), "{shown:?}");
    assert!(shown.stderr.contains("--symbols no-such-directory: no such directory"), "{shown:?}");
}
