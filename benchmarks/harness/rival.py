"""A rival as a process of its own: `python -m harness.rival GROUP RIVAL THREADS FOLDER` answers as run/serve.hpp says.

A file of harness/rivals/ has `works(rival, group, threads, folder)`, which returns a function from a work's name to a
pair: check(), which returns the numbers, and call(), which is timed; if calls return before they are done, `wait()`,
which waits for them; and `isa(rival)`, which reports in one line what instruction set
it uses.
"""

import importlib
import os
import statistics
import sys
import time


def isa_of(module, rival):
    try:
        return module.isa(rival)
    except Exception as error:  # another version that has no such question: its times count all the same
        return "not known: " + repr(error).replace("\n", " ")[:200]


def main():
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # frameworks print what they like
    group_name, rival, threads, folder = sys.argv[1:5]
    group = importlib.import_module("groups." + group_name).GROUP
    from harness.rivals import MODULES
    try:
        module = importlib.import_module("harness.rivals." + MODULES[rival])
        make = module.works(rival, group, int(threads), folder)
    except ImportError as error:
        print("missing", str(error).splitlines()[0], file=answers)
        return
    wait = getattr(module, "wait", lambda: None)
    print("ready", file=answers)
    known = {}
    for line in sys.stdin:
        order, work, _, *counts = line.split()
        if order == "isa":
            print(isa_of(module, rival), file=answers)
            continue
        try:
            if work not in known:
                known[work] = make(work)
            check, call = known[work]
            if order == "check":
                print(*(f"{float(value):.9g}" for value in check()), file=answers)
            else:
                blocks, calls = map(int, counts)
                times = []
                for _ in range(blocks):
                    start = time.perf_counter()
                    for _ in range(calls):
                        call()
                    wait()
                    times.append((time.perf_counter() - start) / calls * 1e6)
                print(f"{statistics.median(times):.6g} {min(times):.6g}", file=answers)
        except Exception as error:  # the other side must hear of it
            print("error", repr(error).replace("\n", " ")[:300], file=answers)
            raise


if __name__ == "__main__":
    main()
