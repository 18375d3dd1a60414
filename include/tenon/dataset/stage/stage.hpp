// The definition of data sets, the common parts of sources and stages, and the `|` that joins them.
//
// A data set is a value that describes; it holds no position. Every stage can compute any row from its place alone
// (epoch, position): shuffle is arithmetic on the position, so that no stage keeps state, nothing is allocated while
// walking, and any thread can read any row.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <tenon/core/text/report.hpp>
#include <tenon/core/text/type_name.hpp>
#include <tenon/dataset/stage/column.hpp>
#include <tenon/dataset/stage/rows.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI::dataset {

/// The requirements of a training loop: the columns' types, the number of rows, and an iterator {start(epoch), next()}.
template <class D>
concept Dataset = requires(const D& data) {
  typename D::columns;
  { D::batched } -> std::convertible_to<bool>;
  { data.size() } -> std::convertible_to<long>;
  { data.max_rows() } -> std::convertible_to<long>;
  { data.open().next() } -> std::convertible_to<const Row<typename D::columns>*>;
  data.open().start(std::uint64_t{});
};

/// A data set whose rows can be read in any order: all but prefetch.
template <class D>
concept Indexed = Dataset<D> && requires(const D& data, Place place, void* const* columns, Scratch& scratch) {
  { data.read(place, columns, scratch) } -> std::convertible_to<long>;
};

/// A data set that accepts hints about the next rows: it has `void expect(Place) const`, which prefetches memory and
/// never fails for any place. RowByRow has it, and so have stages that map a row to a place in their data.
template <class D>
concept Foresighted = requires(const D& data, Place place) { data.expect(place); };

/// Whether size() holds for every epoch. Where it does not (after filter), it is the number of rows of epoch 0, the
/// data set has `long count(std::uint64_t epoch) const`, and read() returns 0 after the last row of an epoch.
template <class D>
inline constexpr bool is_counted = D::counted;
namespace detail {
/// The number of rows of a stream whose end is unknown. Stages that change the number keep this one.
inline constexpr long endless = std::numeric_limits<long>::max();
}  // namespace detail
/// The number of rows in an epoch.
template <class D>
long rows_in(const D& data, std::uint64_t epoch) {
  if constexpr (is_counted<D>) return data.size();
  else return data.count(epoch);
}

/// Base of every indexed data set. The derived type D has
///   using columns = Columns<...>;  static constexpr bool batched;  long size() const;  long max_rows() const;
///   long read(Place, void* const* columns, Scratch&) const;      fills one row, returns its number of samples
/// A column's memory is for max_rows() samples, or a RaggedValue.
template <class D>
struct Stage {
  static constexpr bool counted = true;
  Rows<D> open() const { return Rows<D>(static_cast<const D&>(*this)); }
};

/// Base of a stage after another data set: its columns, sizes, and rows, which the derived type D hides by its own.
template <class D, class Before>
struct Behind : Stage<D> {
  using columns = typename Before::columns;
  static constexpr bool batched = Before::batched, counted = Before::counted;
  Before data;

  explicit Behind(const Before& rows) : data(rows) {}
  long size() const { return data.size(); }
  long max_rows() const { return data.max_rows(); }
  long count(std::uint64_t epoch) const requires(!Before::counted)
  {
    return data.count(epoch);
  }
  long read(Place place, void* const* out, Scratch& scratch) const { return data.read(place, out, scratch); }
};
/// The same for a stage whose row i is made of row i of the data before it: what is read soon there is known here.
template <class D, class Before>
struct RowByRow : Behind<D, Before> {
  using Behind<D, Before>::Behind;
  void expect(Place place) const requires Foresighted<Before>
  {
    this->data.expect(place);
  }
};

/// Base of a source. The derived type D has `using columns`, `long size() const`, and one of
///   void sample(long index, void* const* columns) const;    fills one sample, 0 <= index < size()
///   void sample(long index, void* const* columns, Scratch&) const;    with memory beside it
/// A source that has its samples in memory may say where, so that another target copies them once (rows_there.hpp):
///   detail::ColumnInMemory in_memory(int column) const;
///   void sample_on_host(long index, void* const* columns) const;    fills those that the host needs nevertheless
///   detail::SamplesThere& there() const;                            one for all copies of the data set
template <class D>
struct Source : Stage<D> {
  static constexpr bool batched = false;
  long max_rows() const { return 1; }
  long read(Place place, void* const* columns, Scratch& scratch) const {
    scratch.begins(static_cast<std::uint64_t>(place.position), place.epoch);
    scratch.operation = nullptr;
    const D& self = static_cast<const D&>(*this);
#if defined(TENON_TARGET)
    if constexpr (detail::KeepsSamples<D>)
      if (scratch.picked) {
        scratch.picked->push_back(std::int32_t(place.position));
        self.sample_on_host(place.position, columns);
        return 1;
      }
#endif
    if constexpr (requires { self.sample(place.position, columns, scratch); })
      self.sample(place.position, columns, scratch);
    else self.sample(place.position, columns);
    return 1;
  }
};

/// A stage that waits for its data set: what `shuffle(1000)` returns.
template <class M>
concept StageMaker = requires { typename M::makes_stage; };

namespace detail {
/// What is said of `data | stage` at the user's line (core/text/report.hpp), for a stage with Checked<D>.
template <class D, class M>
struct StageRefusal {
  using type = void;
};
template <Indexed D, class M>
requires requires { typename M::template Checked<D>; }
struct StageRefusal<D, M> : tenon::detail::RefusalOf<typename M::template Checked<D>> {};
}  // namespace detail

/// `data | stage`: the data set that the stage makes of the one before it.
template <Dataset D, StageMaker M, class Wrong = typename detail::StageRefusal<D, M>::type>
requires(!std::is_void_v<Wrong>)
auto operator|(const D& data, const M& maker);
template <Dataset D, StageMaker M, class = void>
auto operator|(const D& data, const M& maker) {
  constexpr bool any_order = Indexed<D>;
  static_assert(any_order,
                "prefetch must be the last stage: it hands out rows in their final order; write it after all others");
  if constexpr (any_order) return maker.applied_to(data);
}

namespace detail {
template <class D>
struct StageNotCalled {
  static constexpr Sentence sentence = Sentence{}
                                       << "a stage is called: data | dataset::shuffle(1000) | dataset::batch(32)";
};
}  // namespace detail
/// `data | stage` without the call of the stage. (Overloaded stages have one of these beside them, as no template
/// parameter is deduced from a set of functions.)
template <Dataset D, StageMaker M, class... A>
auto operator|(const D&, M (*)(A...)) {
  using Wrong = Mistake<detail::StageNotCalled<D>>;
  return Wrong::corrected;
}

/// One epoch as a range of rows.
template <Dataset D>
auto rows(const D& data, std::uint64_t epoch = 0) {
  return Epoch(data.open(), epoch);
}

/// For `for (const auto& row : data)`: epoch 0.
template <Dataset D>
auto begin(const D& data) {
  return rows(data).begin();
}
template <Dataset D>
EndOfEpoch end(const D&) {
  return {};
}

namespace detail {
/// Asks for memory that is read soon: the rows of a shuffled set lie far from one another, and each would be waited
/// for.
inline void fetch_ahead(const void* memory, long bytes) {
  constexpr long line = 64;
  const char* const begin = static_cast<const char*>(memory);
  for (long at = 0; at < bytes + line - 1; at += line) __builtin_prefetch(begin + at);
  asm volatile("");  // g++ drops calls of functions that do nothing but this
}
/// A class of Tenon's own, whose members mean what Tenon says.
template <class T>
concept OfTenon = type_name<T>().starts_with("tenon::");
/// Of a cache, which changes no row.
template <class D>
inline constexpr bool passes_rows_on = false;
/// How many stages stand before: it tells random operations of one pipeline apart.
template <class D>
constexpr std::uint64_t stages_before() {
  // a cache does not count: what is random after it draws as without it
  if constexpr (HasBefore<D>) return (passes_rows_on<D> ? 0 : 1) + stages_before<BeforeOf<D>>();
  else return 0;
}
/// read() of a data set that may be counted, with 0 after its end.
template <class D>
long read_if_there(const D& data, Place place, void* const* out, Scratch& scratch) {
  if constexpr (D::counted) {
    if (place.position >= data.size()) return 0;
  }
  return data.read(place, out, scratch);
}
/// Of a stage that makes another order in each epoch.
template <class D>
inline constexpr bool reorders_rows = false;
/// Whether row i is another sample in each epoch.
template <class D>
constexpr bool reorders() {
  if constexpr (reorders_rows<D>) return true;
  else if constexpr (HasBefore<D>) return reorders<BeforeOf<D>>();
  else return false;
}
/// Says that a stage reads rows in an order of its own, which a stream does not have.
template <class D>
constexpr void check_any_order() {
  constexpr bool any_order = !in_order<D>();
  static_assert(any_order, "the rows of a stream come one after the other: shuffle, repeat, split, and samplers need "
                           "rows in any order, as dataset::generator(size, function) has them");
}
/// Throws ValueError unless low <= value.
inline void check_at_least(const char* stage, long value, long low, const char* meaning) {
  if (value < low) throw_error<ValueError>(stage, "(", value, "): ", meaning, " must be ", low, " or more.");
}
}  // namespace detail

}  // namespace tenon::dataset

#if defined(__CUDACC__)
// A wrong stage is a Broken in nvcc's front end (core/text/report.hpp), and so is what follows it. These are in
// the namespace of Broken, where they are found whatever the namespace of the stage is.
namespace tenon::inline TENON_ABI {
template <class D, class B>
requires requires(const B& broken) { broken.builder; }
B operator|(const D&, const B& broken) {
  return broken;
}
template <class B, dataset::StageMaker M>
requires requires(const B& broken) { broken.builder; }
B operator|(const B& broken, const M&) {
  return broken;
}
}  // namespace tenon
#endif
TENON_INT_SIZES_END
