#!/bin/sh
# The pages in docs/contributing/ are followed, in a copy of the library: each C++ block is written into the first file
# that the text before it names. If this file exists, it is a list, and the lines are added to it. Then the checks of
# the layout run, and the tests of the pages.
#   contributing.sh SOURCE_DIR CXX
set -eu
source=$1
cxx=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree
mkdir -p "$tree/tests/docs" "$work/new" "$work/added"
cp -R "$source/include" "$source/compiled" "$source/docs" "$tree/"
cp -R "$source/tests/layout" "$source/tests/support" "$source/tests/graph" "$tree/tests/"
cp -R "$source/tests/docs" "$tree/tests/"

# Block N of a page becomes $work/new/NAME-N, whose first line is the page and the file that it is for.
for page in "$source"/docs/contributing/*.md; do
  awk -v out="$work/new/$(basename "$page" .md)" -v page="$(basename "$page")" '
    /^```(cpp|text)$/ {
      file = out "-" ++n
      if (place == "") { print page ": which file is block " n "?"; exit 1 }
      print page, place > file
      place = ""; inside = 1
      next
    }
    /^```/ { if (inside) { inside = 0; close(file) } else other = !other; next }
    inside { print > file; next }
    other { next }
    /^#/ { place = "" }
    place == "" && match($0, /`(include|tests|compiled)\/[a-z0-9_\/]+[.][a-z]+`/) {
      place = substr($0, RSTART + 1, RLENGTH - 2)
    }' "$page" || exit 1
done

# Lists get lines after their last line of the same kind; other files are new.
for block in "$work"/new/*; do
  read -r page place <"$block"
  if [ -e "$source/$place" ]; then
    sed 1d "$block" >"$work/lines"
    awk -v lines="$work/lines" '
      { text[NR] = $0 }
      FILENAME ~ /[.][ch]pp$/ ? /^#include </ : 1 { last = NR }
      END {
        for (k = 1; k <= NR; ++k) {
          print text[k]
          if (k == last) while ((getline line < lines) > 0) print line
        }
      }' "$tree/$place" >"$work/list"
    cp "$work/list" "$tree/$place"
  else
    [ ! -e "$tree/$place" ] || { echo "$page: another page has written $place"; exit 1; }
    mkdir -p "$tree/$(dirname "$place")"
    sed 1d "$block" >"$tree/$place"
    echo "$page $place" >>"$work/files"
  fi
done
echo "$(wc -l <"$work/files") files of $(ls "$source/docs/contributing" | wc -l) pages"

# The commands of a page name a test of this page or of the repository.
for page in "$source"/docs/contributing/*.md; do
  sed -n 's/^sh cmake\/test[.]sh \([a-z][a-z0-9_\/]*\).*/\1/p' "$page" | while read -r name; do
    test=${name#reference/}
    test=${test#logging/}
    if [ ! -e "$tree/tests/$test.cpp" ] && [ ! -e "$source/tests/$test.cpp" ] && [ ! -d "$source/tests/$test" ] &&
      ! grep -q "$test" "$source/tests/CMakeLists.txt"
    then
      echo "$(basename "$page"): there is no test $name"
      exit 1
    fi
  done
done

# What the layout tests say about the new files, and whether the tables of the pages can be written.
for check in direction names reachable files builtins; do
  sh "$tree/tests/layout/$check.sh" "$tree" >"$work/report" 2>&1 ||
    { cat "$work/report"; echo "layout/$check refuses what the pages write"; exit 1; }
done
sh "$tree/tests/docs/operators.sh" "$tree" --write
sh "$tree/tests/docs/kernels.sh" "$tree" "$cxx" --write
if command -v clang-format-19 >/dev/null; then
  cp "$source/.clang-format" "$tree/"
  (cd "$tree" && cut -d ' ' -f 2 "$work/files" | grep -E '[.](hpp|cpp)$' | xargs clang-format-19 --dry-run -Werror)
fi

# The tests of the pages. Those that include tenon.hpp are one program; one that includes less, chooses targets, or has
# flags is a program by itself.
cat >"$tree/all.cpp" <<'END'
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <tenon/tenon.hpp>
END
alone=
for test in $(cut -d ' ' -f 2 "$work/files" | grep '^tests/.*[.]cpp$'); do
  if ! grep -q '<tenon/tenon.hpp>' "$tree/$test" || grep -Eq '^(#define TENON_|// flags: )' "$tree/$test"
  then alone="$alone $test"
  else echo "#include \"$test\"" >>"$tree/all.cpp"; fi
done
cat >>"$tree/all.cpp" <<'END'

struct OfPages : nn::Cell<OfPages> {
  nn::Scale<4> scale;
  nn::Dense<4, 2> dense;
  constexpr auto construct(auto x) const { return dense(unit_clip(rotate<1>(scale(x)))); }
};

TEST_CASE("what the pages add works together") {
  const std::vector<float> x(40, 0.5f), y(20, 1.0f);
  const auto data =
      dataset::from_arrays(dataset::column<Shape<4>>(x), dataset::column<Shape<2>>(y)) | dataset::batch(5);
  OfPages net;
  Model model{net, nn::LogCoshLoss{}, nn::Lion{.learning_rate = 0.01f}, nn::MeanAbsoluteError{}};
  const double before = model.eval(data)["mean_absolute_error"];
  model.train(5, data, StopAtStep{8});
  CHECK(model.eval(data)["mean_absolute_error"] < before);
  CHECK(net.parameters_dict()["scale.factor"].view().count() == 4);
}
END
flags='-std=c++20 -O0 -Wall -Wextra -Werror'
run() {
  name=$1
  shift
  # shellcheck disable=SC2086  # several words
  "$cxx" $flags -I"$tree" -I"$tree/include" "$@" -o "$work/program" -lpthread ||
    { echo "$name: it does not compile"; exit 1; }
  (cd "$work" && ./program >"$work/report") || { cat "$work/report"; echo "$name: it fails"; exit 1; }
  echo "$name: $(sed -n 's/^.doctest. assertions: *//p' "$work/report")"
}
run "all other tests" "$tree/all.cpp"
for test in $alone; do
  case $test in  # as sh cmake/test.sh reference/ops/... does: the CPU, and Reference beside it
    tests/ops/*) second=-DTENON_TARGET=reference ;;
    *) second= ;;
  esac
  # shellcheck disable=SC2046,SC2086  # several words, or none
  run "$test" -DDOCTEST_CONFIG_IMPLEMENT_WITH_MAIN $second $(sed -n 's|^// flags: ||p' "$tree/$test") "$tree/$test"
done
# Headers of operators include what they need (header/alone).
for header in $(cut -d ' ' -f 2 "$work/files" | grep '^include/tenon/ops/'); do
  echo "#include <${header#include/}>" >"$work/alone.cpp"
  # shellcheck disable=SC2086  # several words
  "$cxx" $flags -I"$tree/include" -fsyntax-only "$work/alone.cpp" || { echo "$header needs more includes"; exit 1; }
done
# A header with definitions only declares in a unit that has the compiled part.
printf '#include <tenon/io/lines.hpp>\nlong lines = tenon::io::lines_of("a");\n' >"$work/lines.cpp"
# shellcheck disable=SC2086  # several words
"$cxx" $flags -DTENON_COMPILED -I"$tree/include" -c "$work/lines.cpp" -o "$work/lines.o"
if nm -C "$work/lines.o" | grep -q " [TW] .*lines_of"; then
  echo "lines_of is defined with TENON_COMPILED"
  exit 1
fi
