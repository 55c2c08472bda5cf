# The names of a target in other systems: `. scripts/packages/platforms.sh; platform TARGET`
# shellcheck shell=bash disable=SC2034
platform() {
    # A static program runs with every libc; the library inside it needs glibc 2.17. zig links for macOS 13 and later.
    case $1 in
        x86_64-unknown-linux-musl) wheel=manylinux_2_17_x86_64.musllinux_1_1_x86_64 os=linux cpu=x64 exe= ;;
        aarch64-unknown-linux-musl) wheel=manylinux_2_17_aarch64.musllinux_1_1_aarch64 os=linux cpu=arm64 exe= ;;
        x86_64-pc-windows-gnu) wheel=win_amd64 os=win32 cpu=x64 exe=.exe ;;
        x86_64-apple-darwin) wheel=macosx_13_0_x86_64 os=darwin cpu=x64 exe= ;;
        aarch64-apple-darwin) wheel=macosx_13_0_arm64 os=darwin cpu=arm64 exe= ;;
        *) echo "no package for $1" >&2; return 1 ;;
    esac
}
