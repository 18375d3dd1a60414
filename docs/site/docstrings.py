#!/usr/bin/env python3
"""Doxygen's view of a header: a page of its own, namespaces without their version, and a docstring's table as a list.

    /// x        [n, In]               - **x** [n, In]
    /// result   [n, Out], of          - **result** [n, Out], of the dtype of x
    ///          the dtype of x

Lines keep their numbers.
"""
import re
import sys


def lines_of(text):
    column = 0  # where the second column of the table begins; 0 outside a table
    for line in text.split("\n"):
        match = re.match(r"( *///) ?(.*)", line)
        if not match:
            column = 0
            yield re.sub(r"^namespace tenon::inline TENON_ABI", "namespace tenon", line)
            continue
        mark, words = match.groups()
        row = re.match(r"(\S+(?: \S+)*?)( {2,})(\S.*)", words)
        if column and words.startswith(" " * column):
            yield f"{mark}   {words.strip()}"
        elif row and not words.startswith(" ") and not row[1].endswith((":", ".")) and len(row[1]) < 40:
            column = len(row[1]) + len(row[2])
            yield f"{mark} - **{row[1]}** {row[3]}"
        else:
            column = 0
            yield line


with open(sys.argv[1], encoding="utf-8") as file:
    sys.stdout.write("/** @file */ " + "\n".join(lines_of(file.read())))
