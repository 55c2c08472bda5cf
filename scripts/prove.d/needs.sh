# For the proofs: `. scripts/prove.d/needs.sh`
# shellcheck shell=bash disable=SC2034
set -euo pipefail
target=${CARGO_TARGET_DIR:-$PWD/target}
data=${ANRSCOPE_TEST_DATA:-$PWD/target/test-data}

# whole_or_quick WHOLE QUICK: how much of it.
whole_or_quick() { if [ -n "${ANRSCOPE_QUICK:-}" ]; then echo "$2"; else echo "$1"; fi; }

# The line that goes into docs/evidence/reliability.md.
proved() { echo "proof: $*"; }

# proved_by COMMAND...: its last line is the result.
proved_by() {
    local log
    log=$(mktemp)
    "$@" 2>&1 | tee "$log"
    proved "$(grep -v '^ *$' "$log" | tail -1)"
    rm -f "$log"
}

host() { rustc -vV | sed -n 's/^host: //p'; }

# Sanitizers are unstable: a stable compiler is told to take them, which is what a nightly one does by itself.
unstable() { RUSTC_BOOTSTRAP=1 "$@"; }

# tests COMMAND...: cargo test; how many passed.
tests() {
    local log
    log=$(mktemp)
    "$@" 2>&1 | tee "$log"
    proved "$(awk '/^test result:/ { passed += $4; failed += $6 } END { printf "%d tests passed, %d failed", passed, failed }' "$log")"
    ! grep -q '^test result: ok. 0 passed.*filtered out' <(tail -3 "$log") || { echo "no test ran" >&2; return 1; }
    rm -f "$log"
}
