#!/bin/sh
# The fit of benchmarks/refit.py finds the constants of made data, and asks for no change without a reason.
#   fit.sh SOURCE_DIR
set -eu
command -v python3 >/dev/null || { echo "SKIPPED: python3 is not installed, the fit was not tested"; exit 77; }
cd "$1/benchmarks"
python3 -B -m unittest harness.fit_selftest
