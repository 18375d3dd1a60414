#!/bin/sh
# A training has the same bits with the compiled part as from headers: `bits.sh PROGRAM PROGRAM`, the same source in
# both ways.
set -u
headers=$("$1") || { echo "FAILED: $1"; exit 1; }
part=$("$2") || { echo "FAILED: $2"; exit 1; }
[ -n "$headers" ] || { echo "FAILED: $1 prints nothing"; exit 1; }
[ "$headers" = "$part" ] || { echo "FAILED: from headers: $headers; with the compiled part: $part"; exit 1; }
echo "Equal, from headers and with the compiled part: $headers"
