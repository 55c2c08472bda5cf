# Shared parts of the proofs about apps: sourced by the scripts in this directory.
# shellcheck shell=bash disable=SC2034

target=${CARGO_TARGET_DIR:-$PWD/target}
data=${ANRSCOPE_TEST_DATA:-$PWD/target/test-data}
# ANRSCOPE_PROGRAM, ANRSCOPE_DEX_VERIFY: builds other than this tree's.
export ANRSCOPE_PROGRAM=${ANRSCOPE_PROGRAM:-$target/release/anrscope}
export ANRSCOPE_DEX_VERIFY=${ANRSCOPE_DEX_VERIFY:-$target/release/dex-verify}
d8_jar=$data/instrument/d8.jar
android_jar=$data/instrument/android.jar
method_beat=$PWD/android/method-beat/classes
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

build() {
    [ -x "$ANRSCOPE_PROGRAM" ] && [ "$ANRSCOPE_PROGRAM" != "$target/release/anrscope" ] || cargo build --release --quiet -p anrscope
    [ -x "$ANRSCOPE_DEX_VERIFY" ] && [ "$ANRSCOPE_DEX_VERIFY" != "$target/release/dex-verify" ] ||
        cargo build --release --quiet -p anrscope-dex-verifier
}

# need COMMAND PACKAGE: installs Debian's package if the command is missing
need() { command -v "$1" >/dev/null || scripts/apt-install "$2"; }

d8() { java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx8g -cp "$d8_jar" com.android.tools.r8.D8 --lib "$android_jar" "$@"; }

# Sets `runtime` to the Android runtime of this tree if scripts/build-android has made it. Else to one with the class that apps call and an
# empty library, which serves wherever the app is not run.
find_runtime() {
    runtime=$target/android/anrscope-runtime.zip
    [ ! -e "$runtime" ] || return 0
    echo "scripts/build-android has not run: with a runtime of MethodBeat and an empty library" >&2
    local staged=$work/runtime
    mkdir -p "$staged/lib/arm64-v8a"
    d8 --release --min-api 21 --output "$staged" "$method_beat"/dev/anrscope/*.class "$method_beat"/com/tencent/matrix/trace/core/*.class 2>"$work/d8.log" ||
        { cat "$work/d8.log" >&2; return 1; }
    cp android/aar/AndroidManifest.xml "$staged/"
    : >"$staged/lib/arm64-v8a/libanrscope.so"
    runtime=$work/anrscope-runtime.zip
    (cd "$staged" && python3 -m zipfile -c "$runtime" classes.dex AndroidManifest.xml lib)
}
