#!/bin/sh
# Every C++ block of README.md, CONTRIBUTING.md, and the pages in docs/ is compiled, and programs and tests among them
# are run. The blocks of a page in docs/ are one program: what it returns is looked at. (What other blocks of
# docs/consuming.md say is done by tests/consumer/page.sh.)
#   snippets.sh SOURCE_DIR CXX [LIBRARY OPTION...]   the compiled part, and its options
set -eu
source=$1
cxx=$2
part=${3:-}
[ $# -lt 3 ] || shift
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Writes block N of a file's C++ blocks to $work/NAME-N.
blocks() {
  awk -v out="$work/$(basename "$1" .md)" '
    /^```cpp$/ { inside = 1; ++n; file = out "-" n; next }
    /^```$/ { if (inside) { inside = 0; close(file) } next }
    inside { print > file }
    END { print n + 0 }' "$source/$1"
}
echo "README.md: $(blocks README.md) blocks, CONTRIBUTING.md: $(blocks CONTRIBUTING.md) blocks"

# README: block 1 is a program. It trains, so its output is looked at.
mv "$work/README-1" "$work/readme.cpp"
"$cxx" -std=c++20 -O2 -march=native -Wall -Wextra -Werror -I"$source/include" "$work/readme.cpp" -o "$work/readme" \
  -lpthread
"$work/readme" | tail -n 1 | tee "$work/readme.txt"
awk '$1 == "accuracy" && $2 > 0.95 { good = 1 } END { exit !good }' "$work/readme.txt"

# Pages of docs: all blocks of a page, in their order. What they run is short: a compiler that optimizes nothing takes
# two thirds of the time, and half of that where tenon.hpp is parsed once for all pages and its definitions are in the
# compiled part. Tools that observe a program have a part of their own, so their pages do without.
flags='-std=c++20 -O0 -Wall -Wextra -Werror'
if [ -n "$part" ]; then
  printf '#include <tenon/tenon.hpp>\n' >"$work/all.hpp"
  # shellcheck disable=SC2086  # several words
  "$cxx" $flags "$@" -I"$source/include" -x c++-header "$work/all.hpp" -o "$work/all.hpp.gch"
fi
for page in "$source"/docs/*.md; do
  name=$(basename "$page" .md)
  [ "$(blocks "docs/$name.md")" -gt 0 ] || continue
  echo "docs/$name.md"
  ls "$work/$name"-* | sort -t - -k 2 -n | xargs cat >"$work/$name.cpp"
  libraries=$(sed -n 's|^// linked with ||p' "$work/$name.cpp")
  [ -z "$libraries" ] || "$cxx" -std=c++20 -E -I"$source/include" "$work/$name.cpp" >"$work/$name.txt" 2>&1 ||
    { echo "SKIPPED: docs/$name.md: $libraries is not installed"; continue; }
  if [ -z "$part" ] || grep -Eq '<tenon/debug/|^#define' "$work/$name.cpp" ||
    ! grep -q '<tenon/tenon.hpp>' "$work/$name.cpp"
  then
    # shellcheck disable=SC2086  # several words
    "$cxx" $flags -I"$source/include" "$work/$name.cpp" -o "$work/$name" -lpthread $libraries
  else
    # shellcheck disable=SC2086  # several words
    "$cxx" $flags "$@" -I"$source/include" -include "$work/all.hpp" -Winvalid-pch "$work/$name.cpp" \
      -o "$work/$name" "$part" -lz -lpthread $libraries
  fi
  (cd "$work" && "./$name" >"$name.txt") || { cat "$work/$name.txt"; echo "docs/$name.md: its program fails"; exit 1; }
done

# CONTRIBUTING: headers go beside the library, in the place that their text names.
overlay="$work/include/tenon"
mkdir -p "$overlay/ops" "$overlay/backend/cpu/optimizer" "$overlay/nn/optim" "$overlay/nn/loss" "$overlay/nn/metric" \
  "$overlay/train/callback" "$overlay/io" "$overlay/dataset/operation" "$work/tests/ops" "$work/tests/support"
cp -R "$source"/tests/support/* "$work/tests/support/"
for block in "$work"/CONTRIBUTING-*; do
  if grep -q 'struct Hardtanh ' "$block"; then mv "$block" "$overlay/ops/hardtanh.hpp"
  elif grep -q 'struct Scale ' "$block"; then mv "$block" "$overlay/nn/scale.hpp"
  elif grep -q 'TEST_CASE("scale' "$block"; then mv "$block" "$work/tests/ops/scale.cpp"
  elif grep -q 'TEST_CASE("stop at step' "$block"; then mv "$block" "$work/tests/ops/stop_at_step.cpp"
  elif grep -q 'TEST_CASE("hardtanh' "$block"; then mv "$block" "$work/tests/ops/hardtanh.cpp"
  elif grep -q 'struct StopAtStep' "$block"; then mv "$block" "$overlay/train/callback/stop_at_step.hpp"
  elif grep -q 'struct UpdateLoop<ops::ApplyLion> ' "$block"; then
    mv "$block" "$overlay/backend/cpu/optimizer/lion.hpp"
  elif grep -q 'struct ApplyLion ' "$block"; then mv "$block" "$overlay/nn/optim/lion.hpp"
  elif grep -q 'struct LogCoshLoss ' "$block"; then mv "$block" "$overlay/nn/loss/log_cosh.hpp"
  elif grep -q 'struct MeanAbsoluteError ' "$block"; then mv "$block" "$overlay/nn/metric/mean_absolute_error.hpp"
  elif grep -q 'struct ThinMaker ' "$block"; then mv "$block" "$overlay/dataset/operation/every.hpp"
  elif grep -q 'TEST_CASE("lion' "$block"; then mv "$block" "$work/tests/ops/lion.cpp"
  elif grep -q 'TEST_CASE("log cosh' "$block"; then mv "$block" "$work/tests/ops/log_cosh.cpp"
  elif grep -q 'TEST_CASE("mean absolute' "$block"; then mv "$block" "$work/tests/ops/mean_absolute_error.cpp"
  elif grep -q 'TEST_CASE("every' "$block"; then mv "$block" "$work/tests/ops/every.cpp"
  elif grep -q 'long lines_of' "$block"; then mv "$block" "$overlay/io/lines.hpp"
  else echo "CONTRIBUTING.md has a C++ block that this test does not know:"; cat "$block"; exit 1; fi
done
cat >"$work/tests/ops/all.cpp" <<'END'
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <tenon/tenon.hpp>
#include <tenon/ops/hardtanh.hpp>
#include <tenon/dataset/operation/every.hpp>
#include <tenon/io/lines.hpp>
#include <tenon/nn/loss/log_cosh.hpp>
#include <tenon/backend/cpu/optimizer/lion.hpp>
#include <tenon/nn/optim/lion.hpp>
#include <tenon/nn/metric/mean_absolute_error.hpp>
#include <tenon/nn/scale.hpp>
#include <tenon/train/callback/stop_at_step.hpp>
#include "hardtanh.cpp"
#include "log_cosh.cpp"
#include "lion.cpp"
#include "mean_absolute_error.cpp"
#include "scale.cpp"
#include "every.cpp"
#include "stop_at_step.cpp"

struct Net : nn::Cell<Net> {
  nn::Scale<4> scale;
  nn::Dense<4, 2> dense;
  constexpr auto construct(auto x) const { return dense(hardtanh(scale(x))); }
};

TEST_CASE("a network of the documented cell and operator trains, with the documented callback") {
  const std::vector<float> x(40, 0.5f);
  const std::vector<std::int32_t> y(10, 1);
  const auto data = dataset::from_arrays(dataset::column<Shape<4>>(x), dataset::column<Shape<>>(y)) | dataset::batch(5);
  Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.1f, .momentum = 0.9f},
              nn::Loss{}};
  const double before = model.eval(data)["loss"];
  model.train(5, data, StopAtStep{60});
  CHECK(model.eval(data)["loss"] < before);
  CHECK(net.parameters_dict()["scale.factor"].view().count() == 4);
}

TEST_CASE("the documented function counts lines") {
  io::write_file("three.txt", "a\nb\nc\n");
  CHECK(io::lines_of("three.txt") == 3);
}
END
"$cxx" -std=c++20 -O1 -Wall -Wextra -Werror -I"$work" -I"$work/include" -I"$source/include" "$work/tests/ops/all.cpp" \
  -o "$work/all" -lpthread
(cd "$work" && ./all)
# Its header only declares, in a unit that takes the compiled part.
printf '#include <tenon/io/lines.hpp>\nlong lines = tenon::io::lines_of("a");\n' >"$work/lines.cpp"
"$cxx" -std=c++20 -O1 -Wall -Wextra -Werror -DTENON_COMPILED -I"$work/include" -I"$source/include" \
  -c "$work/lines.cpp" -o "$work/lines.o"
if nm -C "$work/lines.o" | grep -q ' [TW] .*lines_of'; then echo "lines_of is defined with TENON_COMPILED"; exit 1; fi
