// choose, choose_bucket: a number of the run becomes a template argument, for what is part of a shape.
#pragma once

#include <type_traits>

#include <tenon/core/error.hpp>
#include <tenon/core/one_of.hpp>

namespace tenon::inline TENON_ABI {

namespace detail {
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_choice(long value, const int* list, int count) {
  std::string all;
  for (int k = 0; k < count; ++k) all += text(k ? ", " : "", list[k]);
  throw_error<ValueError>("choose: ", value, " is none of ", all,
                          ". What is part of a shape is compiled in: add it to the list.");
}
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_length(long length, int largest) {
  if (length < 0) throw_error<ValueError>("choose_bucket: a length of ", length, ", it must be 0 or more.");
  throw_error<ValueError>("choose_bucket: a length of ", length, " is more than the largest bucket, ", largest,
                          ": add a larger bucket, or cut what is longer.");
}

/// What a function with a number as its template parameter returns, if it returns the same for all.
template <class F, class List>
struct ChosenResult {
  static constexpr bool known = false;
};
template <class F, int... Value>
requires(sizeof...(Value) > 0) &&
        requires(F& f) { typename std::common_type_t<decltype(f.template operator()<Value>())...>; }
struct ChosenResult<F, OneOf<Value...>> {
  static constexpr bool known = true;
  using type = std::common_type_t<decltype(std::declval<F&>().template operator()<Value>())...>;
};
template <class R, class F, int First, int... More>
R call_with(int place, F& f, OneOf<First, More...>) {
  if constexpr (sizeof...(More) > 0)
    if (place > 0) return call_with<R>(place - 1, f, OneOf<More...>{});
  return f.template operator()<First>();
}
/// Calls f with the number at a place of the list.
template <class List, class F>
auto chosen(int place, F& f) {
  using Result = ChosenResult<F, List>;
  constexpr bool known = Result::known;
  static_assert(known, "choose takes numbers, and a function with one of them as its template parameter, whose results "
                       "have one type: choose<64, 128>(n, [&]<int N>() { ... })");
  if constexpr (known) return call_with<typename Result::type>(place, f, List{});
}
}  // namespace detail

/// Calls f with the number among the choices that equals a value of the run, and returns its result:
///
///     const double accuracy = choose<64, 128, 256>(hidden, [&]<int H>() { return trained(Net<H>{}, data); });
///
/// choices  whole numbers, or lists of them (`one_of<64, 128>`, `range<16, 256, 16>`). f is compiled for each
/// f        a function with a number as its template parameter. Its results must have a common type
/// throws   ValueError if the value is not among them
template <auto... Choice, class F>
auto choose(long value, F&& f) {
  using List = detail::ListOf<Choice...>;
  int place = 0;
  while (place < List::count && List::value[place] != value) ++place;
  if (place == List::count) detail::refuse_choice(value, List::value, List::count);
  return detail::chosen<List>(place, f);
}

/// The same with the smallest choice that is at least `length`: the bucket of a sequence.
///
///     choose_bucket<32, 64, 128>(long(tokens.size()), [&]<int L>() { return model.predict(padded<L>(tokens)); });
///
/// throws   ValueError if the length is more than the largest choice, or below 0
template <auto... Choice, class F>
auto choose_bucket(long length, F&& f) {
  using List = detail::ListOf<Choice...>;
  int place = -1, largest = 0;
  for (int k = 0; k < List::count; ++k) {
    largest = List::value[k] > largest ? List::value[k] : largest;
    if (List::value[k] >= length && (place < 0 || List::value[k] < List::value[place])) place = k;
  }
  if (place < 0 || length < 0) detail::refuse_length(length, largest);
  return detail::chosen<List>(place, f);
}

}  // namespace tenon
