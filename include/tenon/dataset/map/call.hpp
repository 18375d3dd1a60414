// A user's function of samples: the columns that it receives and writes, and how it is called.
#pragma once
#include <cstring>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <tenon/core/random/philox.hpp>
#include <tenon/core/text/report.hpp>
#include <tenon/dataset/stage/stage.hpp>

namespace tenon::inline TENON_ABI::dataset::detail {

/// Columns by place or name. The keys are `auto`, as below: nvcc does not match a list of ColumnKey.
template <auto... Key>
struct KeyList {
  using keys = KeyList;
};

/// "map<0>", for messages.
struct OperationName {
  char text[32]{};
};
template <int I>
constexpr OperationName operation_name(std::string_view operation) {
  Sentence s;
  s << operation << "<" << I << ">";
  OperationName name;
  for (int i = 0; i < s.length && i < 31; ++i) name.text[i] = s.text[i];
  return name;
}

template <ColumnKey Key, class... C>
constexpr Sentence no_such_column(Columns<C...>) {
  Sentence s;
  if (Key.place >= 0 || !Key.text[0]) {
    s << "map<I>: the data set has no column I; columns count from 0";
    return s;
  }
  s << "the data set has no column \"" << std::string_view(Key.text) << "\"; its columns:";
  ((s << " \"" << C::name.view() << "\""), ...);
  return s;
}

/// Memory for max_rows samples of a column between two stages: elements, or a RaggedValue.
template <class C>
void* memory_between(Scratch& scratch, [[maybe_unused]] long max_rows) {
  if constexpr (C::ragged) return &scratch.ragged();
  else return scratch.bytes(std::size_t(C::tensor_type.bytes(max_rows)));
}

/// As what a function gets a sample of column C: a span, or what also knows the extents.
template <class C>
auto sample_in(const void* memory) {
  if constexpr (C::ragged) return SampleView<C>(memory);
  else return SampleView<C>(memory).values();
}
/// Zeros, which the function writes to: memory serves many samples, and what a function leaves out would be of another.
/// A ragged sample has no extents yet; after the function, check_sized refuses one that was given none.
template <class C>
auto sample_out(void* memory) {
  if constexpr (C::ragged) {
    const SampleSlot<C> slot(memory, true);
    slot.begin();
    return slot;
  } else {
    std::memset(memory, 0, std::size_t(C::tensor_type.bytes(1)));
    return SampleSlot<C>(memory).values();
  }
}
template <class C>
void check_sized(void* memory) {
  SampleSlot<C>(memory).end();
}

/// The columns of List with those at the places I... replaced by New..., which stand where the first of them stood.
template <class List, class New, int... I>
struct Exchange {
  static constexpr int first = [] {
    int least = List::count;
    ((least = I < least ? I : least), ...);
    return least;
  }();
  static constexpr bool taken(int place) { return ((place == I) || ...); }

  /// Where each column of the result comes from: its place in List, or -1 - k for the k-th new one.
  struct Origins {
    int of[List::count + New::count]{};
    int count = 0;
  };
  static constexpr Origins origins = [] {
    Origins o;
    for (int c = 0; c < List::count; ++c) {
      if (c == first)
        for (int k = 0; k < New::count; ++k) o.of[o.count++] = -1 - k;
      if (!taken(c)) o.of[o.count++] = c;
    }
    return o;
  }();
  template <int Origin>
  static auto column_of() {
    if constexpr (Origin >= 0) return std::type_identity<ColumnAt<List, Origin>>{};
    else return std::type_identity<ColumnAt<New, -1 - Origin>>{};
  }
  template <std::size_t... K>
  static auto columns_of(std::index_sequence<K...>) -> Columns<typename decltype(column_of<origins.of[K]>())::type...>;
  using columns = decltype(columns_of(std::make_index_sequence<std::size_t(origins.count)>{}));
};

/// A data set with the columns New instead of those at the places I..., computed by a function.
template <class D, class New, class F, int... I>
struct SampleMapped : RowByRow<SampleMapped<D, New, F, I...>, D> {
  using Change = Exchange<typename D::columns, New, I...>;
  using columns = typename Change::columns;
  template <int... K>
  static constexpr bool draws(std::integer_sequence<int, K...>) {
    return std::is_invocable_v<const F&, decltype(sample_in<ColumnAt<typename D::columns, I>>(nullptr))...,
                               decltype(sample_out<ColumnAt<New, K>>(nullptr))..., Random&>;
  }
  static constexpr bool random = draws(std::make_integer_sequence<int, New::count>{});
  static constexpr auto label = operation_name<Change::first>("map");
  F function;
  std::uint64_t seed;

  SampleMapped(const D& rows, F f, std::uint64_t number)
      : RowByRow<SampleMapped, D>(rows), function(std::move(f)), seed(number) {}

  void describe(auto& d) const {
    (d.add(I), ...);
    d.add_function(function);
    if constexpr (random) d.add(seed), d.each_epoch_differs();
  }
  long read(Place place, void* const* out, Scratch& scratch) const {
    return read(place, out, scratch, std::make_integer_sequence<int, New::count>{});
  }

 private:
  template <int... K>
  long read(Place place, void* const* out, Scratch& scratch, std::integer_sequence<int, K...>) const {
    void* before[D::columns::count]{};
    void* fresh[New::count]{};
    for (int c = 0; c < columns::count; ++c) {
      const int origin = Change::origins.of[c];
      if (origin >= 0) before[origin] = out[c];
      else fresh[-1 - origin] = out[c];
    }
    ((before[I] = memory_between<ColumnAt<typename D::columns, I>>(scratch, 1)), ...);
    const long n = this->data.read(place, before, scratch);
    if (n == 0) return 0;
    scratch.operation = label.text;
    const auto call = [&](auto&... more) {
      function(sample_in<ColumnAt<typename D::columns, I>>(before[I])..., sample_out<ColumnAt<New, K>>(fresh[K])...,
               more...);
    };
    if constexpr (random) {
      Random stream(random_key(seed, scratch));
      call(stream);
    } else {
      call();
    }
    (check_sized<ColumnAt<New, K>>(fresh[K]), ...);
    return n;
  }
};

template <class In, class New, class D, class F>
struct MapColumns;
template <auto... Key, class... New, class D, class F>
struct MapColumns<KeyList<Key...>, Columns<New...>, D, F> {
  using List = typename D::columns;
  template <int... I>
  static constexpr bool callable() {
    return requires(const F& f, Random& random, const void* in, void* out) {
      f(sample_in<ColumnAt<List, I>>(in)..., sample_out<New>(out)...);
    } || requires(const F& f, Random& random, const void* in, void* out) {
      f(sample_in<ColumnAt<List, I>>(in)..., sample_out<New>(out)..., random);
    };
  }
};

/// Which of the keys is no column of the list, as a type with a sentence; void if all are.
template <class List, auto... Key>
struct MissingColumn {
  static constexpr Sentence sentence = [] {
    Sentence s;
    ((column_place<List, Key> < 0 && s.length == 0 ? void(s = no_such_column<Key>(List{})) : void()), ...);
    return s;
  }();
};

template <class In, class Out, class D, class F>
auto map_columns(const D& data, const F& function, std::uint64_t seed) {
  return []<auto... Key, class... New>(KeyList<Key...>, Columns<New...>*, const D& rows, const F& f,
                                       std::uint64_t number) {
    using List = typename D::columns;
    constexpr bool there = ((column_place<List, Key> >= 0) && ...), static_shape = !(New::tensor_type.batched() || ...);
    static_assert(static_shape,
                  "map<I, Column<T, Shape<...>>>: give the shape of one sample, without a dynamic extent");
    if constexpr (!there) {
      using Wrong = Mistake<MissingColumn<List, Key...>>;
      return Wrong::corrected;
    } else if constexpr (static_shape) {
      constexpr bool callable =
          MapColumns<KeyList<Key...>, Columns<New...>, D, F>::template callable<column_place<List, Key>...>();
      static_assert(callable,
                    "map<I, Column<T, S>>(f): f takes (std::span<const Old>, std::span<T>), one sample in and out");
      if constexpr (callable) return SampleMapped<D, Columns<New...>, F, column_place<List, Key>...>(rows, f, number);
    }
  }(In{}, static_cast<Out*>(nullptr), data, function, seed);
}

}  // namespace tenon::dataset::detail
