#!/usr/bin/env python3
"""Makes App Bundles of APKs, traces them, and compares what bundletool makes of both forms.

bundles.py --bundletool DIR --runtime ZIP --key KEYSTORE NAME=BASE.apk[+FEATURE.apk]...

DIR has bundletool and aapt2. FEATURE.apk's dex files become a dynamic feature. Prints a row of a Markdown table for each bundle, and what is wrong.
Status 1 if something is. The environment names the programs: ANRSCOPE_PROGRAM and ANRSCOPE_DEX_VERIFY.

As a control, the first traced bundle is made into APKs without its `native.pb`: the check of the libraries must complain.
"""
import argparse, json, os, re, shutil, subprocess, sys, tempfile, zipfile

FRAMEWORK = "/usr/share/android-framework-res/framework-res.apk"
# The JAR signature of this bundletool, a native image, has no content type, in any bundle.
WITHOUT_V1 = "24"
LIBRARY = re.compile(r"lib/([^/]+)/libanrscope\.so")
SIGNATURE = re.compile(r"META-INF/[^/]+\.(SF|RSA|DSA|EC|MF)")
FEATURE = """<manifest xmlns:android="http://schemas.android.com/apk/res/android" xmlns:dist="http://schemas.android.com/apk/distribution"
    package="%s" android:versionCode="%s" split="more" android:isFeatureSplit="true">
  <uses-sdk android:minSdkVersion="%s"/>
  <dist:module><dist:delivery><dist:install-time/></dist:delivery><dist:fusing dist:include="true"/></dist:module>
  <application android:hasCode="true"/>
</manifest>
"""


class Wrong(Exception):
    pass


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode:
        raise Wrong("%s: status %d: %s" % (" ".join(command[:2]), done.returncode, done.stdout.strip()[:800]))
    return done.stdout


class Tools:
    def __init__(self, options, work):
        self.options, self.work = options, work
        self.aapt2 = os.path.join(options.bundletool, "aapt2")

    def bundletool(self, command, *arguments):
        return run(os.path.join(self.options.bundletool, "bundletool"), command, *arguments)

    def module(self, apk, out):
        """Writes an APK in protobuf as bundletool takes a module."""
        with zipfile.ZipFile(apk) as source, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as module:
            for name in source.namelist():
                if SIGNATURE.fullmatch(name):
                    continue
                if name == "AndroidManifest.xml":
                    path = "manifest/" + name
                elif name == "resources.pb" or name.startswith(("res/", "lib/", "assets/")):
                    path = name
                else:
                    path = ("dex/" if re.fullmatch(r"classes\d*\.dex", name) else "root/") + name
                module.writestr(path, source.read(name))

    def bundle(self, name, base, feature):
        proto, bundle = os.path.join(self.work, "proto.apk"), os.path.join(self.work, name + ".aab")
        modules = [os.path.join(self.work, "base.zip")]
        run(self.aapt2, "convert", "--output-format", "proto", "-o", proto, base)
        self.module(proto, modules[0])
        if feature:
            facts = run("aapt", "dump", "badging", base)
            facts = re.search("package: name='([^']*)' versionCode='([^']*)'", facts).groups() + re.search("sdkVersion:'([^']*)'", facts).groups()
            manifest = os.path.join(self.work, "AndroidManifest.xml")
            with open(manifest, "w") as file:
                file.write(FEATURE % facts)
            run(self.aapt2, "link", "--proto-format", "-o", proto, "-I", FRAMEWORK, "--manifest", manifest)
            # Without resources: this bundletool, a native image, cannot merge those of modules.
            with zipfile.ZipFile(proto) as linked:
                manifest = linked.read("AndroidManifest.xml")
            with zipfile.ZipFile(feature) as source, zipfile.ZipFile(proto, "w") as target:
                target.writestr("AndroidManifest.xml", manifest)
                for entry in source.namelist():
                    if re.fullmatch(r"classes\d*\.dex", entry):
                        target.writestr(entry, source.read(entry))
            modules.append(os.path.join(self.work, "more.zip"))
            self.module(proto, modules[1])
        self.bundletool("build-bundle", "--modules=" + ",".join(modules), "--output=" + bundle)
        return bundle

    def apks(self, bundle, mode):
        """Returns the directory of the APKs that bundletool makes of a bundle."""
        out = "%s-%s" % (bundle[:-4], mode)
        self.bundletool("build-apks", "--aapt2=" + self.aapt2, "--bundle=" + bundle, "--output=%s.apks" % out, "--mode=" + mode, "--ks=" + self.options.key,
                        "--ks-pass=pass:android", "--ks-key-alias=key", "--key-pass=pass:android")
        shutil.rmtree(out, ignore_errors=True)
        with zipfile.ZipFile(out + ".apks") as archive:
            archive.extractall(out)
        return out


def splits(directory):
    """The APKs for systems with splits, by name."""
    directory = os.path.join(directory, "splits")
    return {name: os.path.join(directory, name) for name in sorted(os.listdir(directory))}


def abi_of(split):
    found = re.search(r"-(arm64_v8a|armeabi_v7a|x86_64|x86)(_\d+)?\.apk$", split)
    return found and {"arm64_v8a": "arm64-v8a", "armeabi_v7a": "armeabi-v7a"}.get(found[1], found[1])


def files(apk):
    with zipfile.ZipFile(apk) as archive:
        return {entry.filename: entry.CRC for entry in archive.infolist()}


def check_libraries(traced, abis):
    """Each ABI has its library in an APK of its own, and no other APK has one."""
    found = set()
    for name, apk in traced.items():
        inside = {match[1] for match in map(LIBRARY.fullmatch, files(apk)) if match}
        own = abi_of(name)
        if inside != ({own} if own else set()):
            raise Wrong("%s has the library for %s" % (name, ", ".join(sorted(inside)) or "no ABI"))
        found |= inside
    if found != set(abis):
        raise Wrong("the library is there for %s, and not for %s" % (sorted(found), sorted(abis)))


def check_files(plain, traced):
    """Every other file is as it was."""
    def kept(splits_of):
        # bundletool makes an APK again, with a number, for systems that run libraries from the APK.
        return {(re.sub(r"_\d+\.apk$", ".apk", name), path): crc for name, apk in splits_of.items() for path, crc in files(apk).items()
                if not SIGNATURE.fullmatch(path) and not path.endswith(".dex") and path not in ("AndroidManifest.xml", "resources.arsc")
                and not LIBRARY.fullmatch(path) and not path.startswith("assets/dexopt/")}
    before, after = kept(plain), kept(traced)
    # A split for an ABI that only the runtime has is new, and has a manifest only.
    changed = [key for key, crc in before.items() if after.get(key) != crc]
    if changed or any(key not in before for key in after):
        raise Wrong("%d files changed or went, such as %s" % (len(changed), (changed or sorted(set(after) - set(before)))[:3]))
    return len(before)


def check(tools, name, base, feature, row):
    bundle = tools.bundle(name, base, feature)
    traced = bundle[:-4] + "-traced.aab"
    done = json.loads(subprocess.run([os.environ["ANRSCOPE_PROGRAM"], "apk", bundle, "--out", traced, "--runtime", tools.options.runtime, "--json"], check=True,
                                     stdout=subprocess.PIPE, text=True).stdout)
    package = done["packages"][0]
    tools.bundletool("validate", "--bundle=" + traced)
    plain, after = splits(tools.apks(bundle, "default")), splits(tools.apks(traced, "default"))
    master = after["base-master.apk"]
    check_libraries(after, package["abis"])
    row["files as they were"] = check_files(plain, after)
    for apk in after.values():
        run("apksigner", "verify", "--min-sdk-version", WITHOUT_V1, apk)
    if "dev.anrscope.StartProvider" not in run("aapt", "dump", "xmltree", master, "AndroidManifest.xml"):
        raise Wrong("the base's manifest has nothing of the runtime")
    if not 0 < package["dexes"]["after"] == sum(path.endswith(".dex") for split in after.values() if "master" in split for path in files(split)) / max(1, sum(
            split == "base-master.apk" or re.fullmatch(r"base-master_\d+\.apk", split) is not None for split in after)):
        raise Wrong("dex files are missing")
    for split in plain:
        if split.endswith("master.apk"):
            run(os.environ["ANRSCOPE_DEX_VERIFY"], "--compare", plain[split], after[split])
    universal = os.path.join(tools.apks(traced, "universal"), "universal.apk")
    run("apksigner", "verify", "--min-sdk-version", WITHOUT_V1, universal)
    inside = sorted(match[1] for match in map(LIBRARY.fullmatch, files(universal)) if match)
    if inside != sorted(package["abis"]):
        raise Wrong("the universal APK has the library for %s" % inside)
    row.update({"MB": "%.1f" % (package["bytes"]["before"] / 1e6), "traced": "%.1f" % (package["bytes"]["after"] / 1e6), "methods traced": done["traced"],
                "APKs": len(after), "ABIs": ", ".join(package["abis"])})
    return traced


def control(tools, traced):
    """Returns whether the check of the libraries complains about a bundle without `native.pb`."""
    without = os.path.join(tools.work, "control.aab")
    with zipfile.ZipFile(traced) as source, zipfile.ZipFile(without, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as target:
        for name in source.namelist():
            if name != "base/native.pb":
                target.writestr(name, source.read(name))
    try:
        check_libraries(splits(tools.apks(without, "default")), ["arm64-v8a", "armeabi-v7a", "x86_64"])
    except Wrong as wrong:
        print("control: a bundle without native.pb: %s" % wrong)
        return True
    print("control: A BUNDLE WITHOUT native.pb IS NOT SEEN")
    return False


def main():
    parser = argparse.ArgumentParser()
    for option in "bundletool", "runtime", "key":
        parser.add_argument("--" + option, required=True)
    parser.add_argument("apps", nargs="+")
    options = parser.parse_args()
    columns = ["bundle", "MB", "traced", "methods traced", "ABIs", "APKs", "files as they were"]
    print("| %s |\n|%s" % (" | ".join(columns), " --- |" * len(columns)), flush=True)
    wrong, seen, apks = 0, True, 0
    for number, app in enumerate(options.apps):
        name, inputs = app.split("=", 1)
        base, _, feature = inputs.partition("+")
        row = {"bundle": name}
        with tempfile.TemporaryDirectory() as work:
            tools = Tools(options, work)
            try:
                traced = check(tools, name, base, feature, row)
                print("| %s |" % " | ".join(str(row[column]) for column in columns), flush=True)
                apks += row["APKs"]
                if number == 0:
                    seen = control(tools, traced)
            except Wrong as reason:
                print("%s: %s" % (name, reason), flush=True)
                wrong += 1
    print("%d App Bundles traced: %d wrong; bundletool accepts them and makes %d split APKs of them and a universal one each, all signed, with the library for each ABI "
          "in the APK of that ABI and all other files as they were; a bundle without native.pb is %s" % (len(options.apps), wrong, apks, "seen" if seen else "NOT SEEN"))
    sys.exit(1 if wrong or not seen else 0)


if __name__ == "__main__":
    main()
