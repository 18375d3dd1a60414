#!/bin/sh
# docs/training.md names each callback, optimizer, and metric that the headers define, in the section about them, and
# tests/property/callbacks_resumed.cpp resumes trainings with each callback that has a state: `training.sh [project
# root]`.
set -u
root=$(cd "${1:-$(dirname "$0")/../..}" && pwd) || exit 1
page=$root/docs/training.md
cd "$root/include/tenon" || exit 1
failures=0

# classes MEMBER HEADER...: the classes for users in these headers that declare a member which matches the expression.
classes() {
  member=$1
  shift
  awk -v member="$member" '
    FNR == 1 { name = ""; hidden = 0 }
    /^namespace .*detail/ { hidden = 1 }
    /^}  .. namespace .*detail/ { hidden = 0 }
    !hidden && match($0, /^(struct|class) [A-Z][A-Za-z0-9]*/) { name = $2 }
    name != "" && $0 ~ member { print name; name = "" }' "$@" | LC_ALL=C sort -u
}
# demand TITLE LEAST NAMES: the section of the page names them all; of fewer than LEAST the test is blind.
demand() {
  awk -v title="## $1" '/^## / { inside = $0 == title } inside' "$page" >"$section"
  [ "$(echo "$3" | wc -l)" -ge "$2" ] || { echo "found too few for \"$1\": $3"; failures=$((failures + 1)); }
  for name in $3; do
    grep -qw -- "$name" "$section" || { echo "docs/training.md: \"$1\" lacks $name"; failures=$((failures + 1)); }
  done
}
section=$(mktemp) || exit 1
trap 'rm -f "$section"' EXIT

headers() { sed -n "s|^#include <tenon/\($2.*\)>\$|\1|p" "$1"; }
callbacks=$(headers train/callbacks.hpp train/callback/ | grep -v any_callback)
# shellcheck disable=SC2086  # several words
hooked=$(classes '^  void (on_train_|on_eval_)?((epoch_|step_)?(begin|end))[(]' $callbacks)
demand Callbacks 10 "$hooked"
# shellcheck disable=SC2046  # several words
demand 'Optimizers and learning rates' 10 "$(classes '^  static constexpr std::string_view name = "' \
  $(headers nn/nn.hpp nn/optim/) | sed 's/With$//')"  # MomentumWith<...> has the usual form Momentum
demand Metrics 15 "$(classes '^  static constexpr std::string_view name = "' nn/metric/*.hpp \
  nn/metric/surface/*.hpp)"
# the names of their numbers, of metrics that tenon.hpp has
# shellcheck disable=SC2046  # several words
for name in $(sed -n 's/^  static constexpr std::string_view name = \("[^"]*"\).*/\1/p' \
  $(headers nn/nn.hpp nn/metric/)); do
  grep -q "\`$name\`" "$section" || { echo "docs/training.md: \"Metrics\" lacks $name"; failures=$((failures + 1)); }
done

# shellcheck disable=SC2086  # several words
for name in $(classes '^  void state[(]CallbackState' $callbacks); do
  grep -q "\"$name\"" "$root/tests/property/callbacks_resumed.cpp" ||
    { echo "tests/property/callbacks_resumed.cpp: \`kinds\` lacks $name"; failures=$((failures + 1)); }
done
[ $failures -eq 0 ] && echo "docs/training.md names $(echo "$hooked" | wc -l) callbacks, all optimizers, all metrics."
