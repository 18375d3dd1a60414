#!/bin/sh
# Link-time optimization of a program with recurrent layers finds nothing to warn of: lto.sh SOURCE_DIR CXX
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/program.cpp" <<'END'
#include <tenon/nn/layer/recurrent/gru.hpp>
#include <tenon/nn/layer/recurrent/lstm.hpp>

using namespace tenon;

int main() {
  nn::LSTM<5, 7> lstm;
  nn::GRU<5, 7> gru;
  lstm.init_parameters(), gru.init_parameters();
  const auto x = Tensor<float, Shape<dyn, 3, 5>>::full(1, 2);
  const float a = std::get<0>(lstm(x))(0, 0, 0), b = std::get<0>(gru(x))(0, 0, 0);
  return !(a > -1 && a < 1 && b > -1 && b < 1);
}
END
"$2" -std=c++20 -O2 -flto=auto -march=native -Wall -Wextra -I"$1/include" "$work/program.cpp" -o "$work/program" \
  2>"$work/said" || { cat "$work/said"; exit 1; }
"$work/program"
if grep 'warning:' "$work/said"; then cat "$work/said"; exit 1; fi
echo "no warning"
