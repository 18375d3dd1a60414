// Shared by special_values.cpp and its parts, each of which registers groups of cases.
#pragma once
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

#include <tenon/core/float/denormals.hpp>

#include "../support/both_modes.hpp"

namespace special_values {

using namespace tenon;
using namespace support;

using Words = std::vector<std::string>;
using Tensors = std::map<std::string, Words>;

inline std::filesystem::path here() {
  return std::filesystem::path(std::source_location::current().file_name()).parent_path();
}

inline std::map<std::string, Tensors> read_cases() {
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

/// A row of the table of wanted differences: a case, one of its tensors, the elements that differ, and our value there.
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
inline Report& report() {
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

/// Cases that run together: `const Group group([] { run<V>("abs", ...); });`
struct Group {
  explicit Group(void (*run)()) { all().push_back(run); }
  static std::vector<void (*)()>& all() {
    static std::vector<void (*)()> groups;
    return groups;
  }
};

}  // namespace special_values
