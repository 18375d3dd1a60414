// flags: -O0
// Special values through every operator, forward and backward, against PyTorch (special_values.txt, written by
// special_values.py): equal but for the differences that docs/special_values.md lists with their reasons, of which each
// must be met. Graph mode against PyNative mode on the same values.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <source_location>
#include <sstream>
#include <string>
#include <vector>

#include <tenon/more.hpp>

#include "../support/both_modes.hpp"

using namespace tenon;
using namespace support;

namespace {
using Words = std::vector<std::string>;
using Tensors = std::map<std::string, Words>;

std::filesystem::path here() {
  return std::filesystem::path(std::source_location::current().file_name()).parent_path();
}

std::map<std::string, Tensors> read_cases() {
  std::map<std::string, Tensors> cases;
  std::ifstream file(here() / "special_values.txt");
  REQUIRE(file);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name, tensor;
    words >> name >> tensor;
    Words& elements = cases[name][tensor];
    for (std::string word; words >> word;) elements.push_back(word);
  }
  return cases;
}

/// A row of the table: in which case and tensor which value stands for PyTorch's, at which elements.
struct Difference {
  std::string name, tensor, at, theirs, ours;
  bool met = false;
};
struct Page {
  std::vector<Difference> differences;
  std::set<std::string> without_case;  // headers of ops/
  Page() {
    std::ifstream file(here() / "../../docs/special_values.md");
    REQUIRE(file);
    for (std::string line; std::getline(file, line);) {
      if (!line.starts_with("| `")) continue;
      Words cell(1);
      for (const char c : line.substr(2))
        if (c == '|') cell.emplace_back();
        else cell.back() += c;
      for (std::string& s : cell) {
        std::erase(s, '`');
        while (s.starts_with(' ')) s.erase(0, 1);
        while (s.ends_with(' ')) s.pop_back();
      }
      if (cell.size() == 7) differences.push_back({cell[0], cell[1], cell[2], cell[3], cell[4]});
      else if (cell.size() == 3) without_case.insert(cell[0]);
      else FAIL(line);
      CHECK(!cell[cell.size() - 2].empty());  // the reason
    }
  }
  bool lists(const Difference& d) {
    for (Difference& row : differences) {
      const std::size_t any = row.name.find('*');
      const bool named = any == row.name.npos ? row.name == d.name : d.name.starts_with(row.name.substr(0, any));
      if (named && row.tensor == d.tensor && row.theirs == d.theirs && row.ours == d.ours &&
          (row.at.find(d.at) != row.at.npos || row.at == "all"))
        return row.met = true;
    }
    return false;
  }
};

struct Report {
  const std::map<std::string, Tensors> cases = read_cases();
  Page page;
  std::set<std::string> ran;
  std::map<std::string, std::string> unknown;  // rows that the table would need, and where
};
Report& report() {
  static Report r;
  return r;
}

template <class T>
std::string word_of(T value) {
  char text[40];
  if constexpr (std::is_integral_v<T>) std::snprintf(text, sizeof text, "%lld", static_cast<long long>(value));
  else if (double(value) != double(value)) return "nan";
  else std::snprintf(text, sizeof text, "%.9g", double(value));
  return text;
}
template <class T>
T value_of(const std::string& word) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(std::strtoll(word.c_str(), nullptr, 10));
  else return static_cast<T>(std::strtod(word.c_str(), nullptr));
}
template <class T>
bool agree(T ours, const std::string& word, bool gradient) {
  const T theirs = value_of<T>(word);
  if constexpr (std::is_integral_v<T>) return ours == theirs;
  else {
    const double a = double(ours), b = double(theirs);
    if (a != a || b != b) return a != a && b != b;
    if (a == 0 && b == 0) return gradient || std::signbit(a) == std::signbit(b);
    if (std::isinf(a) || std::isinf(b)) return a == b;
    if (gradient) return std::abs(a - b) <= 1e-5 * std::abs(b) + 2e-7;  // sums that cancel leave rounding errors
    return std::abs(a - b) <= (sizeof(T) == 2 ? 0 : 4e-6) * std::abs(b);
  }
}

template <class T, class S>
void compare(const std::string& name, const std::string& tensor, const Tensor<T, S>& found, const Tensors& golden) {
  const Words& expected = golden.at(tensor);
  CAPTURE(name);
  CAPTURE(tensor);
  if (expected == Words{"error"}) {
    for (long i = 0; i < found.count(); ++i) {
      const std::string at = "[" + std::to_string(i) + "]", ours = word_of(found.data()[i]);
      CAPTURE(ours);
      CHECK_MESSAGE(report().page.lists({name, tensor, at, "error", ours}), "PyTorch refuses this");
    }
    return;
  }
  REQUIRE(std::size_t(found.count()) == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const T ours = found.data()[i];
    if (agree(ours, expected[i], tensor != "y")) continue;
    std::string at = "(";
    for (int k = 0; golden.contains("x" + std::to_string(k)); ++k) {
      const Words& x = golden.at("x" + std::to_string(k));
      if (x.size() == expected.size()) at += (k ? " " : "") + x[i];
      else at.clear();
      if (at.empty()) break;
    }
    at = at.empty() || golden.at("x0").size() == 48 ? "[" + std::to_string(i) + "]" : at + ")";
    const Difference d{name, tensor, at, word_of(value_of<T>(expected[i])), word_of(ours)};
    if (!report().page.lists(d))
      report().unknown["| `" + name + "` | " + tensor + " | | " + d.theirs + " | " + d.ours + " |"] += at + " ";
  }
}

/// Runs f on the operands of a case, of types X, and compares what comes out with PyTorch's.
template <class... X, class F>
void run(const std::string& name, F f) {
  CAPTURE(name);
  REQUIRE(report().cases.contains(name));
  report().ran.insert(name);
  const Tensors& golden = report().cases.at(name);
  int operands = 0;
  const auto read = [&]<class V>(std::type_identity<V>) {
    const Words& words = golden.at("x" + std::to_string(operands++));
    const long sample = V::dims.count(1);
    V x = V::empty(V::dims.batched() ? long(words.size()) / sample : 1);
    REQUIRE(std::size_t(x.count()) == words.size());
    for (std::size_t i = 0; i < words.size(); ++i) x.data()[i] = value_of<typename V::type>(words[i]);
    return x;
  };
  const FlushDenormals flush;
  const std::tuple<X...> x{read(std::type_identity<X>())...};
  eager::Tape tape;
  const auto each = [&](auto body) { std::apply([&](const auto&... one) { (body(one), ...); }, x); };
  each([&]<class V>(const V& one) {
    if constexpr (is_floating_tensor<V>) tape.watch(one);
  });
  using Y = std::remove_cvref_t<decltype(std::apply(f, x))>;
  const Y y = [&] {
    if (golden.at("y") != Words{"error"}) return std::apply(f, x);
    try {
      return std::apply(f, x);
    } catch (const ValueError&) {
      return Y::empty(0);  // refused here, too
    }
  }();
  compare(name, "y", y, golden);
  if constexpr (is_floating_tensor<Y>)
    if (tape.variable(y) >= 0 && y.count() > 0) {
      tape.backward(y, Y::full(typename Y::type(1), y.n()));
      int k = 0;
      each([&]<class V>(const V& one) {
        const std::string tensor = "d" + std::to_string(k++);
        if constexpr (is_floating_tensor<V>)
          if (golden.contains(tensor)) compare(name, tensor, tape.gradient(one), golden);
      });
    }
}

using V = Tensor<float, Shape<dyn>>;
using I = Tensor<std::int32_t, Shape<dyn>>;
using L = Tensor<std::int64_t, Shape<dyn>>;
using B = Tensor<bool, Shape<dyn>>;
using Rows = Tensor<float, Shape<12, 4>>;
template <int... E>
using Floats = Tensor<float, Shape<E...>>;

void unary() {
  run<V>("abs", [](const auto& x) { return abs(x); });
  run<V>("exp", [](const auto& x) { return exp(x); });
  run<V>("gelu", [](const auto& x) { return gelu(x); });
  run<V>("gelu.erf", [](const auto& x) { return gelu<ops::GeluForm::erf>(x); });
  run<V>("log", [](const auto& x) { return log(x); });
  run<V>("neg", [](const auto& x) { return neg(x); });
  run<V>("relu", [](const auto& x) { return relu(x); });
  run<V>("rsqrt", [](const auto& x) { return rsqrt(x); });
  run<V>("sigmoid", [](const auto& x) { return sigmoid(x); });
  run<V>("silu", [](const auto& x) { return silu(x); });
  run<V>("softplus", [](const auto& x) { return softplus(x); });
  run<V>("sqrt", [](const auto& x) { return sqrt(x); });
  run<V>("square", [](const auto& x) { return square(x); });
  run<V>("tanh", [](const auto& x) { return tanh(x); });
  run<V>("full_like", [](const auto& x) { return ones_like(x); });
  run<Tensor<float16, Shape<dyn>>>("relu.float16", [](const auto& x) { return relu(x); });
  run<Tensor<bfloat16, Shape<dyn>>>("relu.bfloat16", [](const auto& x) { return relu(x); });
  run<I>("abs.int32", [](const auto& x) { return abs(x); });
  run<I>("neg.int32", [](const auto& x) { return neg(x); });
  run<I>("square.int32", [](const auto& x) { return square(x); });
  run<I>("relu.int32", [](const auto& x) { return relu(x); });
  run<B>("logical.not", [](const auto& x) { return logical_not(x); });
  run<V>("dropout", [](const auto& x) { return dropout(x, Tensor<float, Shape<>>::full(0)); });
  run<V>("dropout.all", [](const auto& x) { return dropout(x, Tensor<float, Shape<>>::full(0x1.fffffep-1f)); });
}

void binary() {
  run<V, V>("add", [](const auto& a, const auto& b) { return add(a, b); });
  run<V, V>("sub", [](const auto& a, const auto& b) { return sub(a, b); });
  run<V, V>("mul", [](const auto& a, const auto& b) { return mul(a, b); });
  run<V, V>("div", [](const auto& a, const auto& b) { return div(a, b); });
  run<V, V>("maximum", [](const auto& a, const auto& b) { return maximum(a, b); });
  run<V, V>("minimum", [](const auto& a, const auto& b) { return minimum(a, b); });
  run<V, V>("pow", [](const auto& a, const auto& b) { return pow(a, b); });
  run<V, V>("floor_div", [](const auto& a, const auto& b) { return floor_div(a, b); });
  run<V, V>("compare.equal", [](const auto& a, const auto& b) { return equal(a, b); });
  run<V, V>("compare.not_equal", [](const auto& a, const auto& b) { return not_equal(a, b); });
  run<V, V>("compare.less", [](const auto& a, const auto& b) { return less(a, b); });
  run<V, V>("compare.less_equal", [](const auto& a, const auto& b) { return less_equal(a, b); });
  run<V, V>("compare.greater", [](const auto& a, const auto& b) { return greater(a, b); });
  run<V, V>("compare.greater_equal", [](const auto& a, const auto& b) { return greater_equal(a, b); });
  run<I, I>("add.int32", [](const auto& a, const auto& b) { return add(a, b); });
  run<I, I>("sub.int32", [](const auto& a, const auto& b) { return sub(a, b); });
  run<I, I>("mul.int32", [](const auto& a, const auto& b) { return mul(a, b); });
  run<I, I>("maximum.int32", [](const auto& a, const auto& b) { return maximum(a, b); });
  run<I, I>("minimum.int32", [](const auto& a, const auto& b) { return minimum(a, b); });
  for (const char* name : {"floor_div.int32", "floor_div.zero"})
    run<I, I>(name, [](const auto& a, const auto& b) { return floor_div(a, b); });
  run<B, B>("logical.and", [](const auto& a, const auto& b) { return logical_and(a, b); });
  run<B, B>("logical.or", [](const auto& a, const auto& b) { return logical_or(a, b); });
  run<B, B>("logical.xor", [](const auto& a, const auto& b) { return logical_xor(a, b); });
  run<B, V, V>("select", [](const auto& c, const auto& a, const auto& b) { return select(c, a, b); });
  run<V>("cast.int32", [](const auto& x) { return ops::cast<std::int32_t>(x); });
  run<V>("cast.bool", [](const auto& x) { return ops::cast<bool>(x); });
  run<V>("cast.float16", [](const auto& x) { return ops::cast<float16>(x); });
  run<V>("cast.bfloat16", [](const auto& x) { return ops::cast<bfloat16>(x); });
}

void along_axes() {
  run<Rows>("softmax", [](const auto& x) { return softmax(x); });
  run<Rows>("softmax.axis0", [](const auto& x) { return ops::softmax<0>(x); });
  run<Floats<4, 1>>("softmax.one", [](const auto& x) { return softmax(x); });
  run<Rows>("log_softmax", [](const auto& x) { return log_softmax(x); });
  run<Rows>("log_softmax.axis0", [](const auto& x) { return ops::log_softmax<0>(x); });
  run<Floats<4, 1>>("log_softmax.one", [](const auto& x) { return log_softmax(x); });
  run<Rows, Tensor<std::int64_t, Shape<12>>>("softmax_cross_entropy",
                                             [](const auto& x, const auto& t) { return softmax_cross_entropy(x, t); });
  run<Floats<4, 4>>("softmax_cross_entropy.shares",
                    [](const auto& x) { return softmax_cross_entropy(x, Floats<4, 4>::full(0.25f)); });
  run<Rows>("reduce_sum.axis0", [](const auto& x) { return ops::reduce_sum<0>(x); });
  run<Rows>("reduce_sum.axis1", [](const auto& x) { return ops::reduce_sum<1>(x); });
  run<Rows>("reduce_mean", [](const auto& x) { return ops::reduce_mean<1>(x); });
  run<Rows>("reduce_prod", [](const auto& x) { return ops::reduce_prod<1>(x); });
  run<Rows>("reduce_max.axis0", [](const auto& x) { return ops::reduce_max<0>(x); });
  run<Rows>("reduce_max.axis1", [](const auto& x) { return ops::reduce_max<1>(x); });
  run<Rows>("reduce_min.axis0", [](const auto& x) { return ops::reduce_min<0>(x); });
  run<Rows>("reduce_min.axis1", [](const auto& x) { return ops::reduce_min<1>(x); });
  run<Rows>("sort.axis0", [](const auto& x) { return std::get<0>(sort<0>(x)); });
  run<Rows>("sort.axis1", [](const auto& x) { return std::get<0>(sort<1>(x)); });
  run<Rows>("sort.places0", [](const auto& x) { return argsort<0, true>(x); });
  run<Rows>("sort.places1", [](const auto& x) { return argsort<1, true>(x); });
  run<Rows>("cumsum", [](const auto& x) { return cumsum<1>(x); });
  run<Floats<dyn, 4>>("cumprod", [](const auto& x) { return cumprod<1>(x); });
  run<Rows>("argmax.axis0", [](const auto& x) { return ops::argmax<0>(x); });
  run<Rows>("argmax.axis1", [](const auto& x) { return ops::argmax<1>(x); });
  run<Rows>("argmin.axis0", [](const auto& x) { return ops::argmin<0>(x); });
  run<Rows>("argmin.axis1", [](const auto& x) { return ops::argmin<1>(x); });
  using Empty = Floats<dyn, 3>;
  run<Empty>("reduce_sum.empty", [](const auto& x) { return reduce_sum(x); });
  run<Empty>("reduce_mean.empty", [](const auto& x) { return reduce_mean(x); });
  run<Empty>("reduce_prod.empty", [](const auto& x) { return reduce_prod(x); });
  run<Empty>("reduce_max.empty", [](const auto& x) { return reduce_max(x); });
  run<I>("reduce_sum.int32", [](const auto& x) { return reduce_sum(x); });
  run<I>("reduce_max.int32", [](const auto& x) { return reduce_max(x); });
  run<I>("reduce_min.int32", [](const auto& x) { return reduce_min(x); });
  using G = Floats<4>;
  run<Rows, G, G>("layer_norm", [](const auto& x, const auto& gamma, const auto& beta) {
    return ops::layer_norm<ops::LayerNormAttributes{.epsilon = 1e-5f}>(x, gamma, beta);
  });
  run<Floats<3, 4>, G, G>("batch_norm", [](const auto& x, const auto& gamma, const auto& beta) {
    constexpr ops::BatchNormAttributes attributes{1e-5f, 2};
    return apply<ops::BatchNorm, attributes>({}, x, apply<ops::BatchNormStatistics, attributes>({}, x), gamma, beta);
  });
}

constexpr Pool2dOptions overlapping{.kernel = 3, .stride = 2, .pad_mode = PadMode::pad, .padding = 1};

void images() {
  using Image = Floats<1, 1, 6, 6>;
  run<Image>("pool2d.max2", [](const auto& x) { return ops::max_pool2d<2>(x); });
  run<Image>("pool2d.max3", [](const auto& x) { return ops::max_pool2d<overlapping>(x); });
  run<Image>("pool2d.avg2", [](const auto& x) { return ops::avg_pool2d<2>(x); });
  run<Floats<1, 1, 6, 18>>("pool2d.max2.wide", [](const auto& x) { return ops::max_pool2d<2>(x); });
  run<Image, Floats<1, 1, 3, 3>>("conv2d", [](const auto& x, const auto& w) {
    return ops::conv2d<Conv2dOptions{.pad_mode = PadMode::valid}>(x, w);
  });
  run<Floats<1, 1, 4, 4>, Floats<1, 1, 3, 3>>("conv2d.weight", [](const auto& x, const auto& w) {
    return ops::conv2d<Conv2dOptions{.pad_mode = PadMode::pad, .padding = 1}>(x, w);
  });
  run<Rows>("pad", [](const auto& x) { return ops::pad<Margin{}, Margin{1, 2}>(x); });
  run<Floats<dyn, 4>, Floats<4, 2>>("matmul", [](const auto& a, const auto& b) { return matmul(a, b); });
  run<Floats<dyn, 4>, Floats<4, 2>>("matmul.empty", [](const auto& a, const auto& b) { return matmul(a, b); });
  using Heads = Floats<2, 3, 2>;
  run<Heads, Heads, Heads>("attention", [](const auto& q, const auto& k, const auto& v) { return attention(q, k, v); });
  run<Floats<3, 1, 2>, Floats<4, 2>, Floats<4, 1>>(
      "lstm", [](const auto& x, const auto& w, const auto& r) { return std::get<0>(lstm(x, w, r)); });
}

void movement() {
  run<Rows>("reshape", [](const auto& x) { return ops::reshape<Shape<4, 12>>(x); });
  run<Rows>("transpose", [](const auto& x) { return transpose(x); });
  run<Rows>("slice", [](const auto& x) { return ops::slice<Part{}, Part{1, 3}>(x); });
  run<Rows>("split", [](const auto& x) { return ops::split<1, 2>(x)[1]; });
  run<Rows, Rows>("concat", [](const auto& a, const auto& b) { return ops::concat<1>(a, b); });
  run<Floats<9>>("broadcast_to", [](const auto& x) { return ops::broadcast_to<Shape<3, 9>>(x); });
  run<Rows, Floats<4>>("sum_to", [](const auto& a, const auto& b) { return a + b; });
  run<Rows>("triangle", [](const auto& x) { return ops::tril(x); });
  run<Rows, L>("gather", [](const auto& table, const auto& numbers) { return gather(table, numbers); });
  run<Rows, Tensor<std::int64_t, Shape<12, 2>>>(
      "gather_elements", [](const auto& x, const auto& numbers) { return gather_elements<1>(x, numbers); });
  run<Rows, L>("gather.outside", [](const auto& table, const auto& numbers) { return gather(table, numbers); });
  run<L>("one_hot", [](const auto& numbers) { return ops::one_hot<4>(numbers); });
  run<L>("one_hot.outside", [](const auto& numbers) { return ops::one_hot<4>(numbers); });
}

/// The headers of ops/ops.hpp, without the ending.
std::set<std::string> operators() {
  std::set<std::string> names;
  std::ifstream file(here() / "../../include/tenon/ops/ops.hpp");
  const std::string begin = "#include <tenon/ops/";
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(begin)) names.insert(line.substr(begin.size(), line.find('.') - begin.size()));
  return names;
}
}  // namespace

TEST_CASE("special values: what PyTorch gives, but for the differences of docs/special_values.md") {
  unary();
  binary();
  along_axes();
  images();
  movement();
  for (const auto& [row, places] : report().unknown) FAIL_CHECK("not in docs/special_values.md: ", row, " at ", places);
  for (const Difference& d : report().page.differences) {
    CAPTURE(d.name);
    CAPTURE(d.tensor);
    CAPTURE(d.at);
    CHECK_MESSAGE(d.met, "a row of docs/special_values.md is not met");
  }
  for (const auto& [name, golden] : report().cases) {
    CAPTURE(name);
    CHECK_MESSAGE(report().ran.contains(name), "a case of special_values.txt was not run");
  }
  std::set<std::string> covered = report().page.without_case;
  for (const std::string& name : report().ran) covered.insert(name.substr(0, name.find('.')));
  for (const std::string& name : operators()) {
    CAPTURE(name);
    CHECK_MESSAGE(covered.contains(name), "ops/ has a header without a case, and docs/special_values.md no reason");
  }
}

namespace {
template <std::size_t count>
Tensor<float, Shape<int(count), 12>> each_row(const std::array<float, 12>& row) {
  auto x = Tensor<float, Shape<int(count), 12>>::empty(1);
  for (std::size_t i = 0; i < count * 12; ++i) x.data()[i] = row[i % 12];
  return x;
}
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN(),
                infinity = std::numeric_limits<float>::infinity(), largest = std::numeric_limits<float>::max();
constexpr std::array<float, 12> specials{not_a_number, infinity, -infinity, 0.0f,  -0.0f, 1.0f,
                                         -1.0f,        largest,  -largest,  30.0f, 0.5f,  -100.0f};
template <int row>
constexpr auto at(const auto& x) {
  return ops::slice<0, Part{row, row + 1}>(x);
}
}  // namespace

TEST_CASE("special values: graph mode gives the numbers of PyNative mode, forward and backward") {
  both_modes<SameNumbers>(
      [](const auto& x) {
        return ops::concat<0>(ops::concat<0>(abs(at<0>(x)), exp(at<1>(x)), gelu(at<2>(x)),
                                             gelu<ops::GeluForm::erf>(at<3>(x)), log(at<4>(x)), relu(at<5>(x))),
                              ops::concat<0>(rsqrt(at<6>(x)), sigmoid(at<7>(x)), silu(at<8>(x)), softplus(at<9>(x)),
                                             sqrt(at<10>(x)), tanh(at<11>(x))),
                              softmax(at<12>(x)), log_softmax(at<13>(x)),
                              ops::broadcast_to<Shape<1, 12>>(reduce_max(at<14>(x))),
                              ops::broadcast_to<Shape<1, 12>>(reduce_min(at<15>(x))));
      },
      each_row<16>(specials));
  auto a = Tensor<float, Shape<12, 12>>::empty(1), b = Tensor<float, Shape<12, 12>>::empty(1);
  for (std::size_t i = 0; i < 144; ++i) a.data()[i] = specials[i / 12], b.data()[i] = specials[i % 12];
  both_modes<SameNumbers>(
      [](const auto& x, const auto& y) {
        return ops::concat<0>(maximum(x, y), minimum(x, y), x * y, x / y, pow(x, y), select(x < y, x, y));
      },
      a, b);
}
