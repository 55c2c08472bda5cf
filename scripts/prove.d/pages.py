#!/usr/bin/env python3
"""Writes the tables of docs/evidence/reliability.md and docs/evidence/performance.md, and docs/evidence/prove-all.txt: pages.py DIR [--quick].

Rows whose proof has no new result stay as they are. Quick results go to DIR/reliability.md and never into docs."""
import json, os, re, sys

directory, quick = sys.argv[1], "--quick" in sys.argv[2:]
BEGIN = "<!-- Written by `scripts/prove pages`. -->\n"
END = "<!-- Up to here. -->\n"


def results():
    suffix = ".quick.json" if quick else ".json"
    for file in sorted(os.listdir(directory)) if os.path.isdir(directory) else []:
        if file.endswith(suffix) and (quick or not file.endswith(".quick.json")):
            with open(os.path.join(directory, file)) as text:
                yield json.load(text)


def claim(name):
    with open(os.path.join("scripts/prove.d", name)) as proof:
        return proof.readline().lstrip("# ").strip()


def cell(text):
    return text.replace("|", "\\|")


def row(r):
    held = cell(r["result"]) if r["holds"] else "**FAILED**: " + cell(r["result"])
    return "| `%s` | %s | %s | %d s | %s, %s | %s, load %s |" % (
        r["name"], cell(claim(r["name"])), held, r["seconds"], r["date"], r["commit"], cell(r["machine"]), r["load"])


def replace(page, new):
    begin, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    return page[:begin] + new(page[begin:end]) + page[end:]


HEAD = "| proof | claim | result | took | when, commit | where |\n| --- | --- | --- | --- | --- | --- |\n"


def table(old):
    rows = dict(re.findall(r"(?m)^\| `([^`]+)` (\|.*)$", old))
    rows = {name: "| `%s` %s" % (name, rest) for name, rest in rows.items()}
    for r in results():
        if not r["name"].startswith("bench-"):
            rows[r["name"]] = row(r)
    known = {name for name in rows if os.path.exists(os.path.join("scripts/prove.d", name))}
    return HEAD + "".join(rows[name] + "\n" for name in sorted(known))


def measured(old):
    parts = dict(re.findall(r"(?ms)^### (bench-[a-z]+)\n(.*?)(?=^### |\Z)", old))
    for r in results():
        if not r["name"].startswith("bench-") or not r["holds"]:
            continue
        with open(os.path.join(directory, r["name"] + ".log"), errors="replace") as log:
            # Paths of this machine are left out.
            lines = [line for line in log.read().splitlines()
                     if not line.startswith("proof: ") and os.getcwd() not in line]
        parts[r["name"]] = "\n%s, %s, %s, load %s:\n\n```\n%s\n```\n\n" % (
            r["date"], r["commit"], r["machine"], r["load"], "\n".join(lines).replace("```", "'''"))
    return "".join("### %s\n%s" % (name, parts[name]) for name in sorted(parts))


def as_on_a_terminal(text):
    """The text as a terminal shows it after lines were overwritten, without this machine's paths."""
    lines = [line.split("\r")[-1].rstrip() for line in text.split("\n")]
    return "\n".join(lines).replace(os.getcwd() + "/", "").replace(os.getcwd(), ".")


if quick:
    with open(os.path.join(directory, "reliability.md"), "w") as out:
        out.write("Quick: a fraction of each proof.\n\n" + table("") + "\n" + measured(""))
    print("quick results: " + os.path.join(directory, "reliability.md"))
else:
    for path, new in ("docs/evidence/reliability.md", table), ("docs/evidence/performance.md", measured):
        with open(path) as text:
            page = text.read()
        page = replace(page, new)
        with open(path, "w") as text:
            text.write(page)
        print("written: " + path)
    whole = os.path.join(directory, "all.log")
    if os.path.exists(whole):
        with open(whole, errors="replace", newline="") as log, open("docs/evidence/prove-all.txt", "w") as out:
            out.write(as_on_a_terminal(log.read()))
        print("written: docs/evidence/prove-all.txt")
