#!/usr/bin/env python3
"""Which public names and signatures a revision has lost or gained: what a release's notes must speak of.

    python3 packaging/api_changes.py OLD [NEW]      revisions of git; NEW is what is checked out

It compares the tables that the tests keep equal to the headers: docs/operators.md (operators, cells, losses,
optimizers, metrics, callbacks), docs/signatures.md, and the settings of docs/context.md. Exit status 1: a name is gone,
and no line that is new in CHANGELOG.md names it.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TABLES = ("docs/operators.md", "docs/signatures.md", "docs/context.md")


def text_of(path, revision):
    if revision is None:
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            return file.read()
    done = subprocess.run(["git", "-C", ROOT, "show", f"{revision}:{path}"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{revision} has no {path}: {done.stderr.strip()}")
    return done.stdout


def names(path, revision):
    """What stands in backticks in the first cell of each row."""
    found = set()
    for line in text_of(path, revision).splitlines():
        if line.startswith("| `"):
            cell = re.split(r"(?<!\\)\|", line)[1]
            found.update(re.findall(r"`([^`]+)`", cell))
    return found


def main():
    if not 2 <= len(sys.argv) <= 3 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    old, new = sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else None
    before = set(text_of("CHANGELOG.md", old).splitlines())
    changes = "\n".join(line for line in text_of("CHANGELOG.md", new).splitlines() if line not in before)
    unsaid = []
    for path in TABLES:
        old_names, new_names = names(path, old), names(path, new)
        for name in sorted(old_names - new_names):
            print(f"- {path}: {name}")
            if re.match(r"[\w:]+", name)[0] not in changes:
                unsaid.append(name)
        for name in sorted(new_names - old_names):
            print(f"+ {path}: {name}")
    if unsaid:
        sys.exit("CHANGELOG.md does not name what is gone: " + ", ".join(unsaid))


if __name__ == "__main__":
    main()
