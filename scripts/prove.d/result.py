#!/usr/bin/env python3
"""Saves the result of a proof: result.py DIR NAME STATUS SECONDS COMMIT QUICK."""
import datetime, json, os, platform, re, sys

directory, name, status, seconds, commit, quick = sys.argv[1:]


def machine():
    cpu = memory = "?"
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            cpu = line.split(":", 1)[1].strip()
    for line in open("/proc/meminfo"):
        if line.startswith("MemTotal:"):
            memory = "%.0f GB" % (int(line.split()[1]) / 1e6)
    return "%s, %d cores, %s, %s %s" % (cpu, os.cpu_count(), memory, platform.system(), platform.release())


def load(seconds):
    """The machine's load while the proof ran: the kernel keeps averages of one, five and fifteen minutes."""
    return os.getloadavg()[0 if seconds < 180 else 1 if seconds < 600 else 2]


with open(os.path.join(directory, name + ".log"), errors="replace") as log:
    lines = log.read().splitlines()
proofs = [line[len("proof: "):] for line in lines if line.startswith("proof: ")]
# Programs begin their last line with their own name.
proofs = [re.sub(r"^[a-z-]+: ", "", proof) for proof in proofs]
result = {
    "name": name,
    "holds": status == "0",
    "result": re.sub(r"\s+", " ", "; ".join(proofs)) or "no result",
    "seconds": int(seconds),
    "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
    "commit": commit,
    "machine": machine(),
    "load": "%.0f" % load(int(seconds)),
    "quick": bool(quick),
}
with open(os.path.join(directory, name + (".quick" if quick else "") + ".json"), "w") as out:
    json.dump(result, out, indent=1)
