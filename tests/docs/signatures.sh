#!/bin/sh
# docs/signatures.md lists what the headers declare: members of Tensor, sources, stages, samplers, image transforms.
# Each has the first sentence of its docstring.
#   signatures.sh [project root]            compares the page with the headers
#   signatures.sh [project root] --write    writes it anew
set -eu
root=$(cd "${1:-$(dirname "$0")/../..}" && pwd) || exit 1
include=$root/include/tenon
page=$root/docs/signatures.md
new=$(mktemp)
trap 'rm -f "$new"' EXIT

# section TITLE INDENT HEADER...: a table of these headers.
section() {
  printf '\n## %s\n\n| | |\n|---|---|\n' "$1"
  indent=$2
  shift 2
  (cd "$include" && awk -v indent="$indent" -f "$root/tests/docs/signatures.awk" "$@")
}
# The headers of a folder that a header includes, in the order of their names.
of() { sed -n "s|^#include <tenon/\($2[a-z_0-9]*\.hpp\)>\$|\1|p" "$include/$1" | LC_ALL=C sort -u; }

# shellcheck disable=SC2046  # several words
{
  sed '/^<!-- tables/q' "$page"
  section "Tensor" 2 core/tensor.hpp
  section "Tensors and values in construct" 2 core/value.hpp
  section "Sources of data" 0 $(of dataset/dataset.hpp dataset/ | grep -E '/(digits|from_arrays|mnist)\.') \
    dataset/source/generator.hpp dataset/source/stream.hpp dataset/mind_record.hpp \
    $(cd "$include" && ls dataset/source/*.hpp | grep -v '_file[.]hpp') dataset/source/text_file.hpp
  section "Stages" 0 $(of dataset/dataset.hpp dataset/ | grep -E '/(batch|map|prefetch|repeat|shuffle|take)\.') \
    dataset/batch/bucket_batch_by_length.hpp dataset/batch/pad.hpp dataset/map/transform.hpp \
    $(of dataset/operations.hpp dataset/operation/) dataset/sampler/sample.hpp \
    dataset/sampler/shard.hpp dataset/cache.hpp
  section "Samplers" 0 $(of dataset/operations.hpp dataset/sampler/ | grep sampler.hpp)
  section "Image transforms" 0 $(of dataset/vision/vision.hpp dataset/vision/)
  section "Text" 0 dataset/text/byte_pair_encoding.hpp dataset/text/tokens.hpp dataset/text/vocabulary.hpp
  section "Looking at data" 0 dataset/describe.hpp dataset/facts.hpp dataset/contact_sheet.hpp dataset/stage/rows.hpp \
    dataset/stage/seed.hpp
  echo
  sed -n '/^<!-- end of the tables/,$p' "$page"
} > "$new"
if [ "${2-}" = --write ]; then
  cp "$new" "$page"
elif ! diff "$page" "$new"; then
  echo "FAILED: docs/signatures.md differs from the headers; sh tests/docs/signatures.sh \"\$PWD\" --write updates it."
  exit 1
fi
