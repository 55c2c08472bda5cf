#!/usr/bin/env python3
"""How far back main's recording reaches: table.py DIRECTORY SECONDS WAY..., from DIRECTORY/WAY.json (the tool `coverage`)."""
import json, os, sys

RING = 1_000_000  # words of 8 bytes: the default of main's ring
directory, seconds, ways = sys.argv[1], float(sys.argv[2]), sys.argv[3:]
reached = 0
shortest = None
print(f"{'way':<12} {'reaches back':>12} {'of':>8} {'words left':>11} {'overwritten':>13} {'words/s':>11} {'in 8 MB':>10} {'covered':>8}")
for way in ways:
    try:
        with open(os.path.join(directory, way + ".json")) as file:
            threads = json.load(file)["threads"]
    except (OSError, ValueError):
        print(f"{way:<12} NO RECORDING")
        continue
    main = next(thread for thread in threads if thread["main"])
    # Main's lifetime: from its first event ever to its last.
    lived = (main["last_ns"] - (main["started_ns"] or main["first_ns"])) / 1e9
    back = (main["last_ns"] - main["first_ns"]) / 1e9
    rate = main["written"] / lived if lived else 0
    fits = "all" if main["overwritten"] == 0 else f"{back:.1f} s"
    if main["overwritten"] == 0 and rate:
        fits = f"{min(RING / rate, 86400):.0f} s"
    # Share of the time in which a method was open.
    covered = main["covered_ns"] / max(main["last_ns"] - main["first_ns"], 1)
    # It must cover half of the time that main was busy.
    good = back >= seconds / 2 and main["kept"] <= RING * 1.1
    reached += good
    shortest = back if shortest is None else min(shortest, back)
    print(f"{way:<12} {back:>10.2f} s {lived:>6.1f} s {main['kept']:>11,} {main['overwritten']:>13,} {rate:>11,.0f} {fits:>10} "
          f"{covered:>8.1%} {'' if good else 'TOO SHORT'}")
print(f"{reached} of {len(ways)} ways reach back {seconds / 2:g} s or more of {seconds:g} s; the shortest {shortest or 0:.2f} s")
sys.exit(reached != len(ways))
