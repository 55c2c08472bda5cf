#!/usr/bin/env python3
"""Compares the page with the program: web.py ANRSCOPE WEB OUT WEB_DIST.

WEB has anrscope.html and its sample, OUT million/million.anrscope, a recording of a million events. Gives the page good, bad and hostile files
(scripts/browser/web.mjs), runs the program on the good ones, and prints the figures. Ends with 1 if anything differs."""
import glob, gzip, hashlib, json, os, random, re, shutil, subprocess, sys, zipfile

anrscope, web, out, ui = [os.path.abspath(argument) for argument in sys.argv[1:5]]
data = "exporter/tests/data"
dumps = "exporter/answers/tests/data"
problems = []


def put(name, content):
    path = os.path.join(out, name)
    with open(path, "wb") as file:
        file.write(content)
    return path


def read(path):
    with open(path, "rb") as file:
        return file.read()


# Good files: what is dropped, and how the program is run in the directory of the first.
good = {}
for path in [dumps + "/bugreport.zip"] + sorted(glob.glob(dumps + "/dump/*") + glob.glob(dumps + "/deadlock/*")):
    if "mapping" not in path and "expected" not in path:
        good[path] = ["dump", os.path.basename(path)]
good[dumps + "/dump/obfuscated.txt," + dumps + "/dump/mapping-r8.txt"] = ["dump", "obfuscated.txt", "--mapping", "mapping-r8.txt"]
good[put("obfuscated.txt.gz", gzip.compress(read(dumps + "/dump/obfuscated.txt")))] = ["dump", "obfuscated.txt.gz"]
for name in ["app-life", "shop"]:
    recording = put("%s.anrscope" % name, gzip.decompress(read("%s/%s.anrscope.gz" % (data, name))))
    good[recording] = ["report", os.path.basename(recording)]
shutil.copy(data + "/shop.map", os.path.join(out, "named.map"))
shutil.copy(data + "/shop.map.lines", os.path.join(out, "named.map.lines"))
good[",".join(os.path.join(out, name) for name in ["shop.anrscope", "named.map", "named.map.lines"])] = [
    "report", "shop.anrscope", "--method-map", "named.map"]
million_file = os.path.join(out, "million/million.anrscope")
million = million_file + "," + os.path.join(out, "million/methodMapping.txt")
good[million] = ["report", "million.anrscope"]
# As the text of a whole device: process after process.
process = read(dumps + "/dump/art14-deadlock.txt").decode()
large = ""
while len(large) < 4_000_000:
    pid = str(10_000 + len(large) // 1000)
    large += re.sub(r"\b4242\b", pid, process).replace("com.acme.shop", "com.acme.shop" + pid) + "\n"
large = put("large.txt", large.encode())
good[large] = ["dump", "large.txt"]
hostile_name = process.replace('"SyncWorker"', '"<img src=https://example.com/x onerror=fetch(1)><script>console.error(1)</script>"')
markup = put("markup.txt", hostile_name.encode())
good[markup] = ["dump", "markup.txt"]

# Bad files, with a part of what the page must say.
random.seed(2026)
noise = random.randbytes(1_000_000)
million_bytes = read(million_file)
sparse = os.path.join(out, "sparse.anrscope")
with open(sparse, "wb") as file:
    file.write(million_bytes[:4096])
    file.truncate(2 << 30)
bomb = os.path.join(out, "bomb.zip")
with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
    with archive.open("zeros.txt", "w", force_zip64=True) as entry:
        for _ in range(600):
            entry.write(b"0" * (1 << 20))
os.makedirs(os.path.join(out, "directory"), exist_ok=True)
bad = {
    put("noise.bin", noise): "no thread dump",
    put("noise.anrscope", million_bytes[:8] + noise): "Cannot read noise.anrscope",
    put("cut.anrscope", million_bytes[:3000]): "Cannot read cut.anrscope",
    put("cut.zip", read(dumps + "/bugreport.zip")[:5000]): "as a zip archive",
    put("cut.anrscope.gz", gzip.compress(million_bytes)[:5000]): "cannot be unpacked",
    put("empty.txt", b""): "is empty",
    put("x.pftrace", b"\x0a\x12\x40\x01\x52"): "ui.perfetto.dev",
    bomb: "unpacks to more than",
    sparse: "this page reads at most 1024 MiB",
    os.path.join(out, "directory"): "files of a directory",
}
# A recording that is damaged in the middle has an answer all the same.
torn = bytearray(million_bytes)
for at in range(0, len(torn), 5000):
    torn[at + 4100 if at + 4100 < len(torn) else -1] ^= 0xFF
good[put("torn.anrscope", bytes(torn))] = ["report", "torn.anrscope"]

# After each bad file comes a good one, which shows that the page is alive.
drops = ["demo", dumps + "/bugreport.zip", put("note.txt", b"Dear all,\n"), large, million]
bad[os.path.join(out, "note.txt")] = "no thread dump"
for path in bad:
    drops += [path, dumps + "/dump/art14-deadlock.txt"]
# Names that are dropped after their dump: it is analysed again.
mapping = dumps + "/dump/mapping-r8.txt"
drops += [dumps + "/dump/obfuscated.txt", mapping]
drops += [drop for drop in good if drop not in drops]
good[mapping] = ["dump", "obfuscated.txt", "--mapping", "mapping-r8.txt"]
script = ["node", "scripts/browser/web.mjs", os.path.join(web, "anrscope.html"), "--ui", ui]
pictures = os.environ.get("ANRSCOPE_PICTURES")
shown = subprocess.run(script + (["--pictures", pictures] if pictures else []) + drops, stdout=subprocess.PIPE, check=True)
seen = json.loads(shown.stdout)
problems += seen["problems"]
if len(seen["drops"]) != len(drops):
    problems.append("%d drops of %d" % (len(seen["drops"]), len(drops)))


def program(directory, arguments):
    return subprocess.run([anrscope] + arguments, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout


texts = traces = refusals = 0
figures = {}
sample = os.path.join(web, "sample")
good["demo"] = ["report", "demo.anrscope"]
for drop in seen["drops"]:
    name = drop["drop"]
    if name in bad:
        refusals += 1
        if drop["text"] is not None or bad[name] not in (drop["refused"] or ""):
            problems.append("%s: %s" % (name, drop["refused"] or "has an answer"))
        continue
    directory = sample if name == "demo" else os.path.dirname(name.split(",")[0])
    expected = program(directory, good[name]).decode()
    texts += 1
    if drop["text"] != expected:
        problems.append("%s: the page shows %r, the program prints %r" % (name, (drop["text"] or drop["refused"])[:300], expected[:300]))
    if good[name][0] == "report":
        target = os.path.join(out, "expected.pftrace")
        program(directory, ["export", "--quiet"] + good[name][1:] + ["-o", target])
        traces += 1
        if drop["trace"] != hashlib.sha256(read(target)).hexdigest():
            problems.append("%s: its trace is not the program's" % name)
        if drop["report"] != expected.split("\n")[0]:
            problems.append("%s: its HTML report begins with %r" % (name, drop["report"]))
    figures[name] = drop["ms"]
if not seen["arrived"] or not seen["arrived"]["slices"]:
    problems.append("the demo's trace did not arrive in the real UI: %s" % seen["arrived"])

demo = ",".join(os.path.join(sample, name) for name in ["demo.anrscope", "methodMapping.txt"])
measured = subprocess.run(["node", "scripts/browser/module.mjs", os.path.join(web, "anrscope.html"), demo, million, large, dumps + "/bugreport.zip"],
                          stdout=subprocess.PIPE, check=True)
for run in json.loads(measured.stdout):
    path = run["drop"].split(",")[0]
    trace = "" if run["trace_ms"] is None else ", its trace after %d ms more and in %.0f MB" % (run["trace_ms"], run["trace_memory"] / 1e6)
    print("%-16s %5.1f MB: in Chromium %.2f s from the drop to the answer; CPU time %d ms to start and %d ms to the answer, in %.0f MB%s" % (
        os.path.basename(path), os.path.getsize(path) / 1e6, figures["demo" if run["drop"] == demo else run["drop"]] / 1000, run["start_ms"],
        run["answer_ms"], run["memory"] / 1e6, trace))
print("the page: %.2f MB" % (os.path.getsize(os.path.join(web, "anrscope.html")) / 1e6))
for problem in problems:
    print("PROBLEM: " + problem, file=sys.stderr)
print("%d answers and %d traces are the program's, byte for byte; %d bad files are refused, each with the page alive after it; %d windows of 390, 820 "
      "and 1440 pixels without a fault; %s slices in the real UI" % (texts, traces, refusals, seen["looks"], (seen["arrived"] or {}).get("slices")))
sys.exit(1 if problems else 0)
