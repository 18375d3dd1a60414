// What arithmetic inside the exact region gives, for forbidden.sh: a hash of its bits, or the refusal of a Model.
#include <bit>
#include <cstdio>

#include <tenon/core/float/exact.hpp>

TENON_EXACT_BEGIN
namespace {
float sum(const float* x) {
  float total = 0;
  for (int i = 0; i < 64; ++i) total += x[i];
  return total;
}
float difference(float a, float b) { return (a + b) - a; }
float product_plus(float a, float b, float c) { return a * b + c; }
float plus_zero(float a) { return a + 0.0f; }
void divide(float* x, float by) {
  for (int i = 0; i < 64; ++i) x[i] = x[i] / by;
}
double scaled(float a) { return a * 0.1; }
}  // namespace
TENON_EXACT_END

int main() try {
  tenon::check_exact_rounding();
  volatile float begin = 1.37f, minus_zero = -0.0f;
  float x[64];
  std::uint64_t hash = 0;
  const auto add = [&hash](auto value) {
    hash = hash * 0x100000001b3 + (sizeof(value) == 4 ? std::bit_cast<std::uint32_t>(float(value))
                                                      : std::bit_cast<std::uint64_t>(double(value)));
  };
  for (int i = 0; i < 64; ++i) x[i] = begin * float(i * i % 17) - float(i % 5) * 1e5f;
  add(sum(x));
  add(difference(1e8f * begin, begin));
  add(product_plus(begin, begin, -1.8769f));
  add(plus_zero(minus_zero));
  add(scaled(begin));
  divide(x, begin);
  for (const float value : x) add(value);
  std::printf("%016llx\n", static_cast<unsigned long long>(hash));
} catch (const tenon::Error& error) {
  std::printf("%s\n", error.what());
}
