//! Lines of the docs that cannot be run unchanged, each with its reason. A line that is in no page is an error.

/// Lines that are not run here.
pub(crate) const NOT_RUN: &[(&str, &str)] = &[
    ("scripts/test", "it runs this test"),
    ("scripts/build-android", "CI runs it by itself; it takes minutes"),
    ("scripts/build-android aarch64-linux-android", "a part of the line above it"),
    ("scripts/build-android --quick", "CI runs it by itself; it takes minutes"),
    ("scripts/build-android --check", "a part of the line above it"),
    (
        "scripts/release",
        "takes minutes for each platform, and fetches sources; docs/building.md says which ones were built",
    ),
    (
        "scripts/maven",
        "needs Debian's Gradle and the built aars; cli/tests/cli/maven.rs and scripts/prove maven run it",
    ),
    ("gradle -p instrumenter/gradle build", "needs Google's repository"),
    (
        "scripts/maven --plugin instrumenter/gradle/build/libs/anrscope-gradle-plugin-0.1.0.jar",
        "needs the jar of the line above it",
    ),
    ("scripts/web", "compiles Rust's library, which takes minutes; scripts/prove web runs it"),
    ("scripts/prove packages", "makes a release, in minutes"),
    ("sha256sum --check --ignore-missing SHA256SUMS", "needs a release; scripts/prove packages makes one"),
    (
        "tar -xzf anrscope-*-x86_64-unknown-linux-musl.tar.gz",
        "needs a release; scripts/prove packages runs it",
    ),
    (
        "anrscope-*-x86_64-unknown-linux-musl/anrscope dump anr.txt",
        "needs a release; scripts/prove packages runs it",
    ),
    ("python3 -m venv tools", "needs a release; scripts/prove packages runs it"),
    (
        "tools/bin/pip install --no-index --find-links . anrscope",
        "needs a release; scripts/prove packages runs it",
    ),
    ("tools/bin/anrscope dump anr.txt", "needs a release; scripts/prove packages runs it"),
    (
        "npm install --offline ./anrscope-[0-9]*.tgz ./anrscope-linux-x64-*.tgz",
        "needs a release; scripts/prove packages runs it",
    ),
    ("npx --offline anrscope dump anr.txt", "needs a release; scripts/prove packages runs it"),
    ("scripts/check-platforms", "takes minutes for each platform, and fetches sources"),
    ("rustup component add rust-src", "changes the machine's Rust"),
    ("ANDROID_NDK_HOME=/path/to/ndk scripts/build-android", "needs an NDK"),
    (
        "RUSTC_BOOTSTRAP=1 cargo ndk -t arm64-v8a rustc -Z build-std=std,panic_unwind -Z \
         build-std-features=panic-unwind,optimize_for_size -p anrscope-runtime --lib --release --crate-type cdylib -- -C \
         link-arg=-Wl,-soname,libanrscope.so -C link-arg=-Wl,-z,max-page-size=16384",
        "needs an NDK",
    ),
    ("adb push target/android/arm64-v8a/rig /data/local/tmp/", "needs a phone"),
    ("adb shell /data/local/tmp/rig", "needs a phone"),
    (
        "trace_processor query -f docs/queries/slow-messages.sql demo.pftrace",
        "Perfetto's program is not installed here; exporter/tests/perfetto_pages uses its engine",
    ),
    ("cargo install --locked --path cli", "builds the program again; scripts/release does so"),
    (
        "cargo run -p anrscope-test-device -- phone 0 com.example.shop",
        "the same device is started by this test itself",
    ),
];

/// Lines that are run in another form, with the reason.
pub(crate) const RUN_AS: &[(&str, &str, &str)] = &[
    ("cargo run --release -- demo", "anrscope demo", "the program under test, which cargo has built already"),
    (
        "anrscope attach 4711 --for 10s",
        // The process is no JVM before it has loaded one.
        "java -cp endless Endless & pid=$!; until anrscope attach $pid --for 1s; do kill -0 $pid || exit 1; done; kill $pid",
        "a process of the test",
    ),
];

/// Lines that end at Ctrl-C, and what they print before.
pub(crate) const INTERRUPTED: &[(&str, &str)] =
    &[("anrscope device watch com.example.shop -o anrs", "watching com.example.shop")];

/// Lines that end with another status than 0.
pub(crate) const FAILS: &[(&str, i32, &str)] = &[
    ("anrscope device doctor com.example.shop", 1, "the page shows what is bad"),
    ("anrscope device install release.apk", 1, "the page shows why a device refuses"),
    ("anrscope diff runs/main runs/branch --fail-above 20", 1, "the page shows a build that became slower"),
    ("anrscope device trigger com.example.shop -o now", 1, "no app runs on the simulated device"),
    (
        "anrscope device record com.example.shop -o scroll.pftrace --for 10 --system",
        1,
        "no app runs on the simulated device; cli/tests/end_to_end/on_device.rs records one",
    ),
];
