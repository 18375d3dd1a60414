#!/bin/sh
# The arithmetic of benchmarks/simulate.py: steps whose times can be added up by hand.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
command -v python3 >/dev/null || { echo "SKIPPED: there is no python3"; exit 77; }
[ -f "$root/benchmarks/simulate.py" ] || { echo "SKIPPED: there is no benchmarks/simulate.py"; exit 77; }
python3 -B - "$root/benchmarks" <<'END_OF_SCRIPT'
import sys

sys.path.insert(0, sys.argv[1])
from simulate import Link, step_seconds

failed = False


def check(what, seconds, expected):
    global failed
    if abs(seconds - expected) > 1e-9:
        failed = True
        print(f"FAILED: {what}: {seconds} s, not {expected} s")


def bucket(ready, add=0.25):
    return {"ready": ready, "messages": 2, "bytes": 100, "add": add, "sum_messages": 2, "sum_bytes": 100}


# 100 bytes take 0.1 s, and every message 0.1 s more
link = Link(0.1, 1000.0, 0.0)
one = {"agreed_messages": 0, "agreed_bytes": 0, "computed": 1.0, "end": 1.5, "polls": [], "buckets": [bucket(0.5)]}
# slices arrive at 0.7, are added when all is computed, 1.0 to 1.25; sums arrive at 1.45; the update takes 0.25
check("one bucket", step_seconds(one, link), 1.7)
# slices start at 1.0, arrive at 1.2; added at 1.45; sums at 1.65
check("without overlap", step_seconds(one, link, overlap=False), 1.9)
# seen at 0.8: added until 1.05; sums arrive at 1.25, when the rest is computed
check("a poll", step_seconds(dict(one, polls=[0.8]), link), 1.5)
check("a poll before it has arrived", step_seconds(dict(one, polls=[0.6]), link), 1.7)
# 8 messages of 0.01 s each, two rounds of 0.1 s, 40 bytes: 0.32 s before all else; 4 messages of 0.01 s
agreed = dict(one, agreed_messages=8, agreed_bytes=40)
# start at 0.82, 0.84 with their messages; arrive at 1.02; computed at 1.34; added at 1.59; sums start, arrive at 1.79
check("an agreement", step_seconds(agreed, link._replace(message=0.01)), 1.79 + 0.25)
# the second waits for the first on the link: slices arrive at 0.7 and 0.8, sums start at 1.25 and 1.5, arrive at 1.7
two = dict(one, end=1.75, buckets=[bucket(0.5), bucket(0.5)])
check("two buckets", step_seconds(two, link), 1.7 + 0.25)
# on a slower link, 1 s for 100 bytes: slices at 1.6 and 2.6; sums follow the slices: 3.6, 4.6
check("a slow link", step_seconds(two, Link(0.1, 100.0, 0.0)), 4.6 + 0.25)
alone = {"agreed_messages": 0, "agreed_bytes": 0, "computed": 0.0, "end": 1.5, "polls": [], "buckets": []}
check("one rank", step_seconds(alone, link), 1.5)
sys.exit(failed)
END_OF_SCRIPT
