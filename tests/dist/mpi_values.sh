#!/bin/sh
# Collectives against those of the MPI that carries them, on the same numbers, and against numpy if python3 has it: all
# reductions, gathers, exchanges, groups; dtypes that MPI has: `mpi_values.sh`.
set -u
. "$(dirname "$0")/ranks.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)

cat >"$dir/program.cpp" <<'END_OF_PROGRAM'
#include <mpi.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <tenon/dist/mpi.hpp>

using namespace tenon;
using dist::ReduceOp;

namespace {
int wrong = 0;
std::string folder;

template <class T>
MPI_Datatype type_of() {
  if constexpr (std::is_same_v<T, float>) return MPI_FLOAT;
  else if constexpr (std::is_same_v<T, double>) return MPI_DOUBLE;
  else if constexpr (std::is_same_v<T, std::int8_t>) return MPI_INT8_T;
  else if constexpr (std::is_same_v<T, std::uint8_t>) return MPI_UINT8_T;
  else if constexpr (std::is_same_v<T, std::int16_t>) return MPI_INT16_T;
  else if constexpr (std::is_same_v<T, std::int32_t>) return MPI_INT32_T;
  else return MPI_INT64_T;
}
/// Equal, but that a sum or product of floats has another order: `terms` roundings of the largest partial result.
template <class T>
void compare(const std::string& what, const std::vector<T>& a, const std::vector<T>& b, double most) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    bool same = std::memcmp(&a[i], &b[i], sizeof(T)) == 0;
    if constexpr (std::is_floating_point_v<T>) same = same || std::abs(double(a[i]) - double(b[i])) <= most;
    if (same) continue;
    if (++wrong < 10) std::printf("%s: element %zu is %g, MPI has %g\n", what.c_str(), i, double(a[i]), double(b[i]));
    return;
  }
}
template <class T>
void write(const std::string& name, const std::vector<T>& values) {
  std::ofstream(folder + "/" + name, std::ios::binary).write(reinterpret_cast<const char*>(values.data()),
                                                             std::streamsize(values.size() * sizeof(T)));
}

template <class T>
void check(const std::string& dtype, const dist::Communicator& ranks, MPI_Comm mpi, std::size_t count) {
  const auto size = std::size_t(ranks.size());
  std::mt19937 random(unsigned(7 + ranks.rank()));
  std::vector<T> in(count * size);
  // small numbers of 8 and 16 bits: Open MPI 4.1 saturates their sums, and MPICH 4.0 takes uint8 above 127 as negative
  constexpr unsigned few = std::is_same_v<T, std::uint8_t> ? 4 : 5;
  for (T& one : in)
    if constexpr (std::is_floating_point_v<T>) one = T(double(random()) / 4294967296.0 * 2 - 1);
    else one = sizeof(T) > 2 ? T(random()) : T(random() % few - few / 5 * 2);
  const double most = std::is_same_v<T, float> ? 4e-7 * double(size) : 1e-15 * double(size);
  const std::string where = dtype + " x " + std::to_string(count) + " on " + std::to_string(size);
  const bool writes = mpi == MPI_COMM_WORLD && count == 1000;
  if (writes) write(dtype + ".in." + std::to_string(ranks.rank()), in);
  const struct {
    ReduceOp op;
    MPI_Op mpi;
    const char* name;
  } reductions[]{{ReduceOp::sum, MPI_SUM, "sum"},
                 {ReduceOp::max, MPI_MAX, "max"},
                 {ReduceOp::min, MPI_MIN, "min"},
                 {ReduceOp::prod, MPI_PROD, "prod"}};
  for (const auto& [op, mpi_op, name] : reductions) {
    std::vector<T> own = in, theirs(in.size()), part(count), their_part(count);
    dist::all_reduce<T>(ranks, op, own);
    MPI_Allreduce(in.data(), theirs.data(), int(in.size()), type_of<T>(), mpi_op, mpi);
    compare(where + " all_reduce " + name, own, theirs, most);
    if (writes && ranks.rank() == 0) write(dtype + "." + name, own);
    dist::reduce_scatter<T>(ranks, op, in, part);
    MPI_Reduce_scatter_block(in.data(), their_part.data(), int(count), type_of<T>(), mpi_op, mpi);
    compare(where + " reduce_scatter " + name, part, their_part, most);
  }
  const std::vector<T> mine(in.begin(), in.begin() + std::ptrdiff_t(count));
  std::vector<T> own(count * size), theirs(count * size);
  dist::all_gather(ranks, std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(own)));
  MPI_Allgather(mine.data(), int(count), type_of<T>(), theirs.data(), int(count), type_of<T>(), mpi);
  compare(where + " all_gather", own, theirs, 0);
  dist::all_to_all(ranks, std::as_bytes(std::span<const T>(in)), std::as_writable_bytes(std::span(own)));
  MPI_Alltoall(in.data(), int(count), type_of<T>(), theirs.data(), int(count), type_of<T>(), mpi);
  compare(where + " all_to_all", own, theirs, 0);
  for (int root = 0; root < ranks.size(); ++root) {
    own = theirs = in;
    dist::broadcast(ranks, std::as_writable_bytes(std::span(own)), root);
    MPI_Bcast(theirs.data(), int(theirs.size()), type_of<T>(), root, mpi);
    compare(where + " broadcast", own, theirs, 0);
  }
}
void check_all(const dist::Communicator& ranks, MPI_Comm mpi) {
  for (const std::size_t count : {1, 7, 1000, 20011}) {
    check<float>("float32", ranks, mpi, count);
    check<double>("float64", ranks, mpi, count);
    check<std::int8_t>("int8", ranks, mpi, count);
    check<std::uint8_t>("uint8", ranks, mpi, count);
    check<std::int16_t>("int16", ranks, mpi, count);
    check<std::int32_t>("int32", ranks, mpi, count);
    check<std::int64_t>("int64", ranks, mpi, count);
  }
}
}  // namespace

int main(int, char** words) {
  folder = words[1];
  dist::init("mpi");
  const dist::Communicator ranks = dist::communicator();
  check_all(ranks, MPI_COMM_WORLD);
  std::vector<int> odd;
  for (int rank = 1; rank < ranks.size(); rank += 2) odd.push_back(rank);
  if (!odd.empty()) dist::create_group("odd", odd);
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, ranks.rank() % 2, ranks.rank(), &half);
  if (ranks.rank() % 2 == 1) check_all(dist::communicator("odd"), half);
  MPI_Comm_free(&half);
  dist::release();
  return wrong ? 1 : 0;
}
END_OF_PROGRAM

tried=no
for mpi in openmpi mpich; do
  command -v mpicxx.$mpi >/dev/null && command -v mpirun.$mpi >/dev/null ||
    { echo "SKIPPED: there is no mpicxx.$mpi (apt-get install lib$mpi-dev)"; continue; }
  tried=yes
  mpicxx.$mpi -std=c++20 -O1 -I"$root/include" "$dir/program.cpp" -lpthread -ldl -o "$dir/program" || exit 1
  for ranks in 1 2 3 4; do
    rm -rf "$dir/values"
    mkdir "$dir/values"
    timeout 120 mpirun.$mpi -n $ranks "$dir/program" "$dir/values" >"$dir/out" 2>&1 ||
      { cat "$dir/out"; fail "mpirun.$mpi -n $ranks"; }
    [ "$(ls "$dir/values" | wc -l)" = $((7 * (ranks + 4))) ] || fail "mpirun.$mpi -n $ranks wrote too few files"
    ${TENON_PYTHON:-python3} -c 'import numpy' 2>/dev/null || continue
    ${TENON_PYTHON:-python3} - "$dir/values" $ranks <<'END_OF_SCRIPT' || fail "mpirun.$mpi -n $ranks, against numpy"
import functools
import sys

import numpy as np

folder, ranks = sys.argv[1], int(sys.argv[2])
failed = False


def tree(parts, op):
    """Halves at the largest power of two, as docs/distributed.md says."""
    if len(parts) == 1:
        return parts[0]
    left = 1
    while 2 * left < len(parts):
        left *= 2
    return op(tree(parts[:left], op), tree(parts[left:], op))


for dtype in ("float32", "float64", "int8", "uint8", "int16", "int32", "int64"):
    given = [np.fromfile(f"{folder}/{dtype}.in.{r}", dtype) for r in range(ranks)]
    for name, op in (("sum", np.add), ("max", np.maximum), ("min", np.minimum), ("prod", np.multiply)):
        found = np.fromfile(f"{folder}/{dtype}.{name}", dtype)
        if not np.array_equal(found, tree(given, op)):
            failed = True
            print(f"{dtype} {name}: not the tree of numpy")
        if not np.allclose(found, functools.reduce(op, given), rtol=1e-5, atol=1e-6):
            failed = True
            print(f"{dtype} {name}: not numpy's reduction")
sys.exit(failed)
END_OF_SCRIPT
  done
done
[ $tried = yes ] || exit 77
${TENON_PYTHON:-python3} -c 'import numpy' 2>/dev/null ||
  echo "SKIPPED: numpy is not installed (apt-get install python3-numpy)"
exit $failed
