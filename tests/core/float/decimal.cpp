// Shortest digits: they read back, one digit less does not, and rounding is that of the exact value.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include <tenon/core/float/decimal.hpp>
#include <tenon/core/random/philox.hpp>

using namespace tenon;

namespace {
template <class T = double>
T read(const std::string& s) {
  T x = 0;
  const auto end = std::from_chars(s.data(), s.data() + s.size(), x);
  return end.ptr == s.data() + s.size() ? x : std::numeric_limits<T>::quiet_NaN();
}
template <class Half>
Half pattern(std::uint32_t bits) {
  Half h;
  h.bits = std::uint16_t(bits);
  return h;
}
// Does some number with `digits` digits read back as x? Both neighbours are tried.
template <class Half>
bool some_short_one_reads_back(Half x, int digits) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, float(x), std::chars_format::scientific, digits - 1);
  const double nearest = read(std::string(text, end.ptr)),
               unit = std::pow(10.0, std::floor(std::log10(std::abs(double(float(x))))) - (digits - 1));
  for (double candidate : {nearest - unit, nearest, nearest + unit})
    if (Half(float(candidate)).bits == x.bits) return true;
  return false;
}
template <class Half>
void all_patterns(Dtype dtype) {
  int wrong = 0, longer = 0;
  for (std::uint32_t bits = 1; bits < 0x8000; ++bits) {
    const Half x = pattern<Half>(bits);
    if (!std::isfinite(float(x))) continue;
    const Decimal d = shortest_decimal(float(x), dtype);
    wrong += Half(float(read(scientific_text(d, 0)))).bits != bits;
    const int digits = int(d.digits.size());
    if (bits % 7 == 0 && digits > 1) longer += some_short_one_reads_back(x, digits - 1);
  }
  CHECK(wrong == 0);
  CHECK(longer == 0);
}
}  // namespace

TEST_CASE("every float16 reads back, with no digit too many") { all_patterns<float16>(Dtype::float16); }
TEST_CASE("every bfloat16 reads back, with no digit too many") { all_patterns<bfloat16>(Dtype::bfloat16); }

TEST_CASE("random floats and doubles read back, in both notations") {
  Random random(9);
  int wrong = 0;
  for (int i = 0; i < 20000; ++i) {
    const float f = std::bit_cast<float>(random.word());
    const double d = std::bit_cast<double>(std::uint64_t(random.word()) << 32 | random.word());
    if (std::isfinite(f)) wrong += read<float>(scientific_text(shortest_decimal(f, Dtype::float32), 0)) != f;
    if (std::isfinite(d)) wrong += read(scientific_text(shortest_decimal(d, Dtype::float64), 0)) != d;
    if (std::isfinite(f)) wrong += read<float>(positional_text(shortest_decimal(f, Dtype::float32))) != f;
  }
  CHECK(wrong == 0);
}

TEST_CASE("known texts") {
  const auto positional = [](double x, Dtype d = Dtype::float64) {
    return positional_text(positional_decimal(x, d, 8));
  };
  CHECK(positional(0) == "0.");
  CHECK(positional(-0.0) == "-0.");
  CHECK(positional(12.5) == "12.5");
  CHECK(positional(0.05) == "0.05");
  CHECK(positional(1e-9) == "0.");
  CHECK(positional(0.1f, Dtype::float32) == "0.1");
  CHECK(positional(0.1f) == "0.1");
  CHECK(positional(1.0 / 3) == "0.33333333");
  CHECK(positional(0.999999999) == "1.");
  CHECK(positional(65504, Dtype::float16) == "65504.");
  CHECK(positional_text(shortest_decimal(65504, Dtype::float16)) == "65500.");
  const auto scientific = [](double x, Dtype d = Dtype::float64) {
    return scientific_text(scientific_decimal(x, d, 8), 0);
  };
  CHECK(scientific(1e20f, Dtype::float32) == "1.e+20");
  CHECK(scientific(1e20f) == "1.00000002e+20");
  CHECK(scientific(-1.5e-300) == "-1.5e-300");
  CHECK(scientific(0) == "0.e+00");
  CHECK(scientific(0.015625, Dtype::float16) == "1.563e-02");  // 1.562e-02 is nearer, but reads as another number
  CHECK(scientific_text(full_scientific_decimal(1e-8f, Dtype::float32, 2), 2) == "1.00e-08");
  CHECK(scientific_text(full_scientific_decimal(8192, Dtype::float16, 3), 3) == "8.192e+03");
  CHECK(scientific_text(scientific_decimal(1, Dtype::float64, 8), 2, 3) == "1.00e+000");
}
