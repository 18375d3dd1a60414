// The description of a pipeline as a number: rows of a cache belong to the pipeline that computed them.
//
// A stage, a source, or a transform describes itself by a member that adds everything on which its rows depend:
//
//   void describe(auto& d) const { d.add(batch_size, drop_remainder); }
//
//   d.add(numbers and texts...) parameters; the type's name is added automatically d.add_file(version) a file, by path,
//   size, and time of its last change, as io::version_of(file, path) had
//                                 them when it was opened; of one that is opened for each sample, add_file(path)
//   d.add_content(begin, count)   data in memory, by its content
//   d.add_function(f)             a user's function
//   d.add_data(data)              another data set that it reads, beside its member `data`
//   d.each_epoch_differs()        its row at a position is another one in each epoch
#pragma once
#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/random/philox.hpp>
#include <tenon/core/reflect.hpp>
#include <tenon/core/text/type_name.hpp>
#include <tenon/dataset/cache/code_identity.hpp>
#include <tenon/dataset/stage/stage.hpp>
#include <tenon/io/bytes/crc32c.hpp>
#include <tenon/io/path/file_version.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// A function for map with a name that identifies it in caches: its rows are the same in all programs and all builds,
/// and it may have captures. Change the name whenever you change what the function computes.
template <class F>
struct Keyed {
  std::string key;
  F function;

  template <class... A>
  requires std::invocable<const F&, A...>
  decltype(auto) operator()(A&&... arguments) const {
    return function(std::forward<A>(arguments)...);
  }
};
/// `map<0>(keyed("scaled to 0 .. 1", [scale](float x) { return x * scale; }))`.
template <class F>
Keyed<F> keyed(std::string key, F function) {
  return {std::move(key), std::move(function)};
}

namespace detail {
template <class F>
inline constexpr bool is_keyed = false;
template <class F>
inline constexpr bool is_keyed<Keyed<F>> = true;
}  // namespace detail

class PipelineDescription {
 public:
  /// The pipeline as a number.
  std::uint64_t number() const { return hash_; }
  /// Whether a row depends on the epoch.
  bool differs_by_epoch() const { return differs_by_epoch_; }
  /// The first type that has no description, or that cannot be distinguished from others; "" if every type has one.
  const std::string& unknown() const { return unknown_; }

  template <class... T>
  void add(const T&... values) {
    (add_one(values), ...);
  }
  void add_file(const io::FileVersion& file) { add(file.path, file.size, file.seconds, file.nanoseconds); }
  void add_file(const std::string& path) { add_file(io::version_of(path)); }
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void add_content(const T* values, std::size_t count) {
    constexpr std::size_t block = 4096;
    const std::string_view bytes(reinterpret_cast<const char*>(values), count * sizeof(T));
    mix(bytes.size());
    for (std::size_t begin = 0; begin < bytes.size(); begin += block) mix(io::crc32c(bytes.substr(begin, block)));
  }
  /// A function without captures is identified by its position in this build of its program or library, so a function
  /// of another build is a different function. A function with captures needs a key. Tenon cannot see what a function
  /// reads besides its arguments (a global variable, a file) or calls in another shared library: the identification
  /// does not depend on these. Such a function also needs a key, keyed("name", f), whose name contains these values.
  template <class F>
  void add_function(const F& function) {
    if constexpr (detail::is_keyed<F>) add(function.key);
    else if constexpr (std::is_empty_v<F>) {
      const std::uint64_t code = detail::code_identity<F>();
      if (code == 0) is_unknown("a function: name it, map<I>(keyed(\"what it does\", function))");
      mix(code);
    } else {
      is_unknown("a function with captures: name it and them, map<I>(keyed(\"what it does\", function))");
    }
  }
  /// A value with parameters: a transform, a sampler. An aggregate is what its members are.
  template <class T>
  void add_value(const T& value) {
    add_type<T>();
    if constexpr (requires { value.describe(*this); }) value.describe(*this);
    else if constexpr (std::is_empty_v<T>) return;
    else if constexpr (std::is_aggregate_v<T> && !std::is_array_v<T>) add_members(value);
    else is_unknown_type<T>();
  }
  template <class D>
  void add_data(const D& data) {
    if constexpr (HasBefore<D>) add_data(data.data);
    if constexpr (detail::passes_rows_on<D>) return;  // a cache: it changes nothing
    else {
      add(class_name<D>(), type_name<typename D::columns>());
      if constexpr (!detail::OfTenon<D>) add_type<D>();
      if constexpr (requires { data.describe(*this); }) data.describe(*this);
      else is_unknown_type<D>();
    }
  }
  void each_epoch_differs() { differs_by_epoch_ = true; }

 private:
  void mix(std::uint64_t number) { hash_ = hash_number(number, hash_); }
  template <class T>
  void add_members(const T& value) {
    constexpr int count = tenon::detail::initializers<T>();
    if constexpr (count == 1) {
      const auto& [a] = value;
      add(a);
    } else if constexpr (count == 2) {
      const auto& [a, b] = value;
      add(a, b);
    } else if constexpr (count == 3) {
      const auto& [a, b, c] = value;
      add(a, b, c);
    } else if constexpr (count == 4) {
      const auto& [a, b, c, d] = value;
      add(a, b, c, d);
    } else if constexpr (count == 5) {
      const auto& [a, b, c, d, e] = value;
      add(a, b, c, d, e);
    } else if constexpr (count == 6) {
      const auto& [a, b, c, d, e, f] = value;
      add(a, b, c, d, e, f);
    } else if constexpr (count == 7) {
      const auto& [a, b, c, d, e, f, g] = value;
      add(a, b, c, d, e, f, g);
    } else if constexpr (count == 8) {
      const auto& [a, b, c, d, e, f, g, h] = value;
      add(a, b, c, d, e, f, g, h);
    } else {
      is_unknown_type<T>();
    }
  }
  template <class T>
  void add_one(const T& value) {
    if constexpr (std::is_enum_v<T>) mix(static_cast<std::uint64_t>(value));
    else if constexpr (std::is_floating_point_v<T>) mix(std::bit_cast<std::uint64_t>(static_cast<double>(value)));
    else if constexpr (std::is_arithmetic_v<T>) mix(static_cast<std::uint64_t>(value));
    else if constexpr (std::convertible_to<const T&, std::string_view>) {
      const std::string_view words = value;
      mix(hash_bytes(words.data(), words.size(), hash_number(words.size(), 1)));
    } else if constexpr (requires { std::size(value); }) {
      mix(std::size(value));
      for (const auto& element : value) add_one(element);
    } else {
      add_value(value);
    }
  }
  /// Tenon's types mean the same in each program; other types are identified by their build.
  template <class T>
  void add_type() {
    add(type_name<T>());
    if constexpr (!detail::OfTenon<T>) {
      const std::uint64_t code = detail::code_identity<T>();
      if (code == 0) is_unknown(text(type_name<T>(), ", whose build this system does not say"));
      mix(code);
    }
  }
  template <class T>
  void is_unknown_type() {
    is_unknown(text(type_name<T>(), ": give it `void describe(auto& d) const { d.add(what decides its rows); }`"));
  }
  void is_unknown(std::string_view what) {
    if (unknown_.empty()) unknown_ = what;
  }

  std::uint64_t hash_ = hash_bytes(TENON_VERSION, sizeof TENON_VERSION);
  bool differs_by_epoch_ = false;
  std::string unknown_;
};

}  // namespace tenon::dataset
