# Shared parts of the proofs: `. scripts/prove.d/needs.sh`
# shellcheck shell=bash disable=SC2034
set -euo pipefail
target=${CARGO_TARGET_DIR:-$PWD/target}
data=${ANRSCOPE_TEST_DATA:-$PWD/target/test-data}

# whole_or_quick WHOLE QUICK: the amount of work.
whole_or_quick() { if [ -n "${ANRSCOPE_QUICK:-}" ]; then echo "$2"; else echo "$1"; fi; }

# Prints the result line for docs/evidence/reliability.md.
proved() { echo "proof: $*"; }

# proved_by COMMAND...: the last line of its output is the result.
proved_by() {
    local log
    log=$(mktemp)
    "$@" 2>&1 | tee "$log"
    proved "$(grep -v '^ *$' "$log" | tail -1)"
    rm -f "$log"
}

# proved_lines PATTERN COMMAND...: the lines of its output that match are the result.
proved_lines() {
    local pattern=$1 log
    log=$(mktemp)
    "${@:2}" 2>&1 | tee "$log"
    proved "$(grep -E "$pattern" "$log" | sed 's/^ *//; s/:$//; s/$/;/' | paste -sd' ' | sed 's/;$//')"
    rm -f "$log"
}

# suite NAME ARGUMENT...: one of the suites in tests/suites, which runs the program as it is built here.
suite() {
    cargo build --quiet -p anrscope
    cargo run --quiet -p anrscope-suites -- "$@"
}

host() { rustc -vV | sed -n 's/^host: //p'; }

# Sanitizers are unstable: this makes a stable compiler accept them, as a nightly one does.
unstable() { RUSTC_BOOTSTRAP=1 "$@"; }

# tests COMMAND...: cargo test; prints how many passed.
tests() {
    local log
    log=$(mktemp)
    "$@" 2>&1 | tee "$log"
    proved "$(awk '/^test result:/ { passed += $4; failed += $6 } END { printf "%d tests passed, %d failed", passed, failed }' "$log")"
    ! grep -q '^test result: ok. 0 passed.*filtered out' <(tail -3 "$log") || { echo "no test ran" >&2; return 1; }
    rm -f "$log"
}
