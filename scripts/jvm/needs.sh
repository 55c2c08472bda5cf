# Shared parts of the proofs of `anrscope jvm`: `. scripts/jvm/needs.sh`
# shellcheck shell=bash disable=SC2034
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
target=${CARGO_TARGET_DIR:-$PWD/target}
data=${ANRSCOPE_TEST_DATA:-$PWD/target/test-data}
export ANRSCOPE_PROGRAM=${ANRSCOPE_PROGRAM:-$target/release/anrscope}
if [ "$ANRSCOPE_PROGRAM" = "$target/release/anrscope" ]; then cargo build --release --quiet -p anrscope; fi

# Installs those of these packages that are missing.
install() {
    local missing=() root=() package
    for package in "$@"; do
        dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" -ne 0 ]; then root=(sudo); fi
    echo "installing ${missing[*]}" >&2
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}
