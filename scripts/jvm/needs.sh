# Shared parts of the proofs of `anrscope jvm`: `. scripts/jvm/needs.sh`
# shellcheck shell=bash disable=SC2034
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
target=${CARGO_TARGET_DIR:-$PWD/target}
data=${ANRSCOPE_TEST_DATA:-$PWD/target/test-data}
export ANRSCOPE_PROGRAM=${ANRSCOPE_PROGRAM:-$target/release/anrscope}
if [ "$ANRSCOPE_PROGRAM" = "$target/release/anrscope" ]; then cargo build --release --quiet -p anrscope; fi
