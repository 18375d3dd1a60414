// What tests/compile/cost.sh compares with: templates, containers, and loops of the standard library, and no header of
// Tenon. Changing this file changes all bars there.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace {

template <int N>
struct Key {
  std::string name;
  double weight = N;
  friend bool operator<(const Key& a, const Key& b) { return std::tie(a.name, a.weight) < std::tie(b.name, b.weight); }
};

// One family of instances per N: sorting, maps, shared pointers, functions.
template <int N>
std::size_t use(const std::string& text) {
  std::vector<Key<N>> keys;
  for (const char c : text) keys.push_back({std::string(std::size_t(N % 7) + 1, c), double(c) / N});
  std::stable_sort(keys.begin(), keys.end());
  std::map<Key<N>, std::vector<Key<N>>> groups;
  for (const Key<N>& key : keys) groups[key].push_back(key);
  std::unordered_map<std::string, std::shared_ptr<Key<N>>> index;
  for (auto& [key, group] : groups) index[key.name] = std::make_shared<Key<N>>(group.back());
  std::deque<std::function<double(const Key<N>&)>> functions;
  functions.push_back([&](const Key<N>& key) { return key.weight * double(index.size()); });
  const double sum = std::accumulate(keys.begin(), keys.end(), 0.0,
                                     [&](double before, const Key<N>& key) { return before + functions.front()(key); });
  return std::size_t(sum) + groups.size();
}

template <class T, int N>
void add_scaled(T* __restrict to, const T* __restrict from, long n) {
  for (long i = 0; i < n; ++i) to[i] += from[i] * T(N);
}

template <int... N>
std::size_t use_all(const std::string& text, std::integer_sequence<int, N...>) {
  float single[64]{};
  double real[64]{};
  std::int32_t whole[64]{};
  (add_scaled<float, N>(single, single + 32, 32), ...);
  (add_scaled<double, N>(real, real + 32, 32), ...);
  (add_scaled<std::int32_t, N>(whole, whole + 32, 32), ...);
  return (use<N + 1>(text) + ...) + std::size_t(single[0] + float(real[0])) + std::size_t(whole[0]);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string text = argc > 1 ? argv[1] : "yardstick";
  const bool matches = std::regex_match(text, std::regex("[a-z]+(-[0-9]+)?"));
  return int(use_all(text, std::make_integer_sequence<int, 3>{}) + std::size_t(matches)) & 1;
}
