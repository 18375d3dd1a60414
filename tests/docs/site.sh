#!/bin/sh
# The site of docs/site/build.py: MkDocs has no warning, all links lead somewhere, each page of docs/ is in its menu,
# docstrings are found and linked, and the search weighs pages: `site.sh SOURCE_DIR`.
set -u
source=$1
for program in mkdocs doxygen python3; do
  command -v $program >/dev/null && continue
  echo "SKIPPED: there is no $program (apt-get install mkdocs-material doxygen)"
  exit 77
done
[ -e /usr/share/doxygen-awesome-css/doxygen-awesome.css ] && [ -d /usr/share/doc/mkdocs-material ] ||
  { echo "SKIPPED: mkdocs-material or doxygen-awesome-css is not installed"; exit 77; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failed=0
fail() { echo "FAILED: $*"; failed=1; }

python3 "$source/docs/site/build.py" "$dir" || exit 1
site=$dir/site
for page in "$source"/docs/*.md; do
  name=$(basename "$page" .md)
  [ "$name" = README ] || grep -q "href=\"docs/$name.html\"" "$site/index.html" ||
    fail "docs/$name.md is not in the menu"
done
grep -q 'href="examples/06_mnist.html"' "$site/index.html" || fail "lessons are not in the menu"
grep -q 'parameters</.*> weight \[Out, In\]' "$site"/api/structtenon_1_1nn_1_1Dense.html ||
  fail "the docstring of nn::Dense is not there"
grep -q 'href="../index.html">Guide<' "$site/api/index.html" && grep -q '__palette' "$site/api/index.html" ||
  fail "pages of docstrings do not lead back to the guide, or do not take its colours"
grep -q 'relu' "$site/api/namespacetenon_1_1ops.html" || fail "operators are not there"
grep -q '"location":"docs/training.html' "$site/search/search_index.json" ||
  fail "search does not know docs/training.md"
grep -q '"location":"docs/contributing/loss.html[^{}]*"boost":0.3' "$site/search/search_index.json" &&
  tail -n 30 "$site"/assets/javascripts/workers/search.*.js | grep -q 'boost: part.boost' ||
  fail "the search does not weigh pages"
grep -rq 'api/structtenon_1_1nn_1_1Dense.html"><code' "$site/docs" &&
  grep -q 'api/structtenon_1_1ops_1_1Relu.html"><code[^>]*>relu<' "$site/docs/operators.html" &&
  grep -q 'api/nn_2loss_2huber_8hpp.html"><code' "$site/docs/operators.html" ||
  fail "names are not linked with their docstrings"
! grep -rE '<a[^>]*>(<code[^>]*>)?[a-zA-Z_/]+\.md(</code>)?</a>' "$site"/docs "$site/index.html" --include='*.html' ||
  fail "a link shows a file's name instead of the page's title"
for address in https://fonts http://fonts cdn; do
  ! grep -q "$address" "$site/index.html" || fail "the site loads something from elsewhere: $address"
done
exit $failed
