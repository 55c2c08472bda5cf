#!/usr/bin/env python3
"""Writes the table of docs/evidence/reliability.md from the results in DIR: pages.py DIR [--quick].

A row whose proof has no new result keeps its figure and gets its age anew. Quick results go to DIR/reliability.md and never into docs."""
import functools, json, os, re, subprocess, sys

directory, quick = sys.argv[1], "--quick" in sys.argv[2:]
PROOFS = "scripts/prove.d"
BEGIN = "<!-- Written by `scripts/prove pages`. -->\n"
END = "<!-- Up to here. -->\n"
HEAD = "| proof | claim | figure | run | age |\n| --- | --- | --- | --- | ---: |\n"
# Older rows are marked.
MAX_AGE = 100
NOT_RUN = "**none yet**", "-"


def results():
    suffix = ".quick.json" if quick else ".json"
    for file in sorted(os.listdir(directory)) if os.path.isdir(directory) else []:
        if file.endswith(suffix) and (quick or not file.endswith(".quick.json")):
            with open(os.path.join(directory, file)) as text:
                yield json.load(text)


def described(name):
    """The claim of a proof, and the directories that it covers: its first comment line, and the one that begins with `covers:`."""
    with open(os.path.join(PROOFS, name)) as proof:
        lines = proof.read().splitlines()
    covers = next(line for line in lines if line.startswith("# covers: "))
    return lines[0].lstrip("# "), tuple(path + "/" for path in covers.split()[2:])


@functools.cache
def changes(commit):
    """The changed files of each commit since `commit`, newest first, or None if `commit` is not in this history."""
    git = lambda *words: subprocess.run(["git", *words], capture_output=True, text=True)
    if git("merge-base", "--is-ancestor", commit, "HEAD").returncode:
        return None
    log = git("log", "-M", "-l5000", "--format=%x00", "--name-status", commit + "..HEAD")
    return [[line.split("\t")[1:] for line in one.splitlines() if line] for one in log.stdout.split("\0")[1:]]


def age(commit, directories):
    """Counts the commits since `commit` that touch the directories. A renamed file counts under its former name, too."""
    since, former, count = changes(commit), set(), 0
    for files in since or []:
        ours = [paths for paths in files if (paths[-1] + "/").startswith(directories) or paths[-1] in former]
        former.update(paths[0] for paths in ours)
        count += bool(ours)
    return None if since is None else count


def aged(run, directories):
    """The age of a row: that of the oldest commit which its run names."""
    ages = [age(commit, directories) for commit in re.findall(r"\b[0-9a-f]{7,}\b", run)]
    if not ages or None in ages:
        return "**unknown**"
    return "**%d, old**" % max(ages) if max(ages) > MAX_AGE else str(max(ages))


def cell(text):
    return text.replace("|", "\\|")


def where(r):
    """The machine in short, such as "AMD EPYC": two cores are usual here."""
    cpu, cores = r["machine"].split(", ")[:2]
    cpu = re.sub(r"\(\w+\)", "", " ".join(cpu.split()[:2]))
    return cpu if cores == "2 cores" else cpu + ", " + cores


def table(old):
    rows = {}
    for line in old.splitlines():
        if line.startswith("| `"):
            name, _, kept, run, _ = line.strip("| ").split(" | ")
            rows[name.strip("`")] = kept, run
    for r in results():
        kept = ("" if r["holds"] else "**FAILED**: ") + cell(r["result"])
        rows[r["name"]] = kept, "%s, %s, %s" % (r["date"], r["commit"], where(r))
    lines = []
    for name in sorted(name for name in os.listdir(PROOFS) if "." not in name):
        claim, directories = described(name)
        kept, run = rows.get(name, NOT_RUN)
        row_age = "-" if run == "-" else aged(run, directories)
        lines.append("| `%s` | %s | %s | %s | %s |\n" % (name, cell(claim), kept, run, row_age))
    return HEAD + "".join(lines)


if quick:
    path = os.path.join(directory, "reliability.md")
    page = "Quick: a fraction of each proof.\n\n" + table("")
else:
    path = "docs/evidence/reliability.md"
    with open(path) as text:
        page = text.read()
    begin, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    page = page[:begin] + table(page[begin:end]) + page[end:]
with open(path, "w") as text:
    text.write(page)
print("written: " + path)
