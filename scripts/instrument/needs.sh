# Shared parts of the instrumenter's proofs: sourced by the scripts in this directory.

data=${ANRSCOPE_TEST_DATA:-$PWD/target/test-data}/instrument
corpus=$PWD/scripts/instrument/corpus
method_beat=$PWD/android/method-beat/classes
# ANRSCOPE_PROGRAM: a build of the program other than this tree's.
anrscope=${ANRSCOPE_PROGRAM:-${CARGO_TARGET_DIR:-$PWD/target}/release/anrscope}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

build() {
    [ -n "${ANRSCOPE_PROGRAM:-}" ] || cargo build --release --quiet
    mkdir -p "$work/proof"
}

# compile SOURCE CLASS-PATH: a Java program of instrumenter/proof
compile() { javac -nowarn -d "$work/proof" -cp "$2" "instrumenter/proof/$1"; }

# All but Android's stubs, which are a library here: their bodies are empty.
archives() { awk '!/^(#|$)/ && $1 != "android.jar" { print $1 }' "$corpus"; }

# java_for NAME: the JVM for an archive. Class files of this one are newer than Java 17.
java_for() { if [ "$1" = closure-2026.jar ]; then echo "$data/jdk-25/bin/java"; else echo java; fi; }

# has FLAG: whether this program's `instrument` takes the flag
has() { "$anrscope" instrument --help | grep -q -- "$1"; }

# The class path after an archive, so that as little as possible is missing.
libraries() {
    local name
    for name in android support-v4 kotlin-stdlib kotlin-coroutines kotlin-annotations kotlin-compiler guava \
        commons-lang3 asm scala-2.11; do
        echo "$data/$name.jar"
    done
}

# number KEY <json: the number at the first such key
number() { sed -n "s/^ *\"$1\": \([0-9]*\).*/\1/p" | head -1; }

seconds_since() { awk -v a="$1" -v b="$(date +%s%N)" 'BEGIN { printf "%.1f", (b - a) / 1e9 }'; }

# need COMMAND PACKAGE: installs Debian's package if the command is missing
need() { command -v "$1" >/dev/null || scripts/apt-install "$2"; }
