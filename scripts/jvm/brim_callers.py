"""Looks in a trace for callers that a program did not have (brim.py)."""
import collections, json


def ended_callers(trace, allowed, known=lambda name: name if "." in name else None):
    """Callers in a Chrome trace that the program did not have, and the number of calls that were checked. `known` gives a call's name in `allowed`."""
    with open(trace, encoding="utf-8") as file:
        slices = [event for event in json.load(file)["traceEvents"] if event.get("ph") == "X"]
    slices.sort(key=lambda event: (event["ts"], -event["dur"]))
    stacks, wrong, calls = collections.defaultdict(list), collections.Counter(), 0
    for event in slices:
        stack = stacks[event["tid"]]
        while stack and stack[-1]["ts"] + stack[-1]["dur"] <= event["ts"] + 5e-4:
            stack.pop()
        name = event["known"] = known(event["name"])
        if name in allowed:
            calls += 1
            wrong.update((name, caller["known"]) for caller in stack if caller["known"] and caller["known"] not in allowed[name])
        stack.append(event)
    return wrong, calls
