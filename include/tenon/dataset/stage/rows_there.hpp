// Samples that lie one after the other in memory, such as those of from_arrays, are copied to a second target once. It
// then gathers each batch itself: the host sends the numbers of the samples alone.
#pragma once
#include <tenon/core/memory/storage.hpp>
#include <tenon/dataset/stage/scratch.hpp>
#if defined(TENON_TARGET)
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <mutex>
#include <type_traits>
#include <utility>

#include <tenon/core/dtype.hpp>
#include <tenon/core/math/min_max.hpp>
#include <tenon/core/memory/aligned_bytes.hpp>
#include <tenon/core/memory/growing.hpp>
#include <tenon/core/memory/owned.hpp>
#include <tenon/core/memory/row_gather.hpp>
#include <tenon/core/memory/target_memory.hpp>
#include <tenon/core/shape.hpp>
#endif

namespace tenon::inline TENON_ABI::dataset::detail {

#if !defined(TENON_TARGET)
struct SamplesMayBeThere {};
/// Rows are read on the host.
struct RowGathering {
  static void* place(const Storage& memory, int) { return memory.data(); }
  static void begin(Scratch&) {}
  static void end(const Storage*, const TensorType*, long) {}
};
#else

/// A column in the memory of its source.
struct ColumnInMemory {
  const void* data = nullptr;
  std::size_t bytes = 0;     // of all samples
  long sample_elements = 0;  // as in GatheredColumn
  GatherAs as = GatherAs::same;
  bool on_host = false;  // the host needs it, too
};
/// Whether the host needs a column of a row: it checks class numbers and other indices, and what is small costs little.
template <class C>
inline constexpr bool needed_on_host =
    C::tensor_type.dtype == Dtype::int32 || C::tensor_type.dtype == Dtype::int64 || C::tensor_type.bytes(1) <= 64;
/// A column whose samples are in memory as a row has them.
template <class C>
ColumnInMemory column_in_memory(const void* data, long samples) {
  const long bytes = C::tensor_type.bytes(1);
  return {data, std::size_t(samples * bytes), bytes, GatherAs::same, needed_on_host<C>};
}

/// What targets have of the samples of a source.
class SamplesThere {
 public:
  /// Copies the columns to a target that does not have them. False if it has no room for that.
  bool bring(TargetId target, const ColumnInMemory* column, int columns) {
    const std::lock_guard lock(mutex_);
    if (find(target)) return true;
    std::size_t bytes = 0;
    for (int c = 0; c < columns; ++c) bytes += column[c].bytes;
    if (bytes > most_bytes || bytes > free_bytes(target) / least_of_free) return false;
    try {
      Copy copy{target, {}};
      for (int c = 0; c < columns; ++c) {
        copy.column[c] = TargetBytes(column[c].bytes, "a column of a data set", tenon::detail::BlockOf::scratch);
        memory().fill(target, copy.column[c].address(), column[c].data, column[c].bytes);
      }
      copies_.push_back(std::move(copy));
      return true;
    } catch (const OutOfMemory&) {
      return false;
    }
  }
  /// Gathers samples there, after bring().
  void gather(TargetId target, GatheredRows& rows, const std::int32_t* index, long samples) {
    const std::lock_guard lock(mutex_);
    const Copy& copy = *find(target);
    for (int c = 0; c < rows.columns; ++c)
      rows.column[c].from = memory().there(target, copy.column[c].address(), tenon::detail::TargetMemory::Use::read);
    for (rows.first = 0; rows.first < samples; rows.first += rows.samples) {
      rows.samples = int(math::min(samples - rows.first, long(GatheredRows::most_samples)));
      std::memcpy(rows.index, index + rows.first, std::size_t(rows.samples) * sizeof *index);
      with_target(target, [&]<class Target>(std::type_identity<Target>) {
        if constexpr (GathersRows<Target>) Target::gather(rows);
      });
    }
  }

 private:
  // Networks with larger data sets compute longer than the host copies.
  static constexpr std::size_t most_bytes = std::size_t(1) << 30, least_of_free = 8;
  struct Copy {
    TargetId target;
    TargetBytes column[GatheredRows::most_columns];
  };

  static tenon::detail::TargetMemory& memory() { return tenon::detail::TargetMemory::instance(); }
  static std::size_t free_bytes(TargetId target) {
    return with_target(target, []<class Target>(std::type_identity<Target>) -> std::size_t {
      if constexpr (GathersRows<Target>) return Target::free_bytes();
      else return 0;
    });
  }
  const Copy* find(TargetId target) const {
    for (const Copy& copy : copies_)
      if (copy.target == target) return &copy;
    return nullptr;
  }

  std::mutex mutex_;
  tenon::detail::Growing<Copy> copies_;
};

/// Base of a source that has its samples in memory: copies of the data set share what targets have of them.
class SamplesMayBeThere {
 public:
  SamplesThere& there() const { return *there_; }

 private:
  tenon::detail::Shared<SamplesThere> there_ = tenon::detail::Shared<SamplesThere>::make();
};

template <class D>
concept KeepsSamples = requires(const D& data) {
  { data.in_memory(0) } -> std::same_as<ColumnInMemory>;
  data.there();
};
/// The source of a data set whose stages change no sample, which they say by `moves_samples`; else nothing.
template <class D>
constexpr const auto* source_of_moved(const D& data) {
  if constexpr (KeepsSamples<D>) return &data;
  else if constexpr (requires { D::moves_samples; }) return source_of_moved(data.data);
  else return static_cast<const void*>(nullptr);
}
/// Whether a target can gather the rows of a data set.
template <class D>
constexpr bool can_be_gathered() {
  return !std::is_same_v<decltype(source_of_moved(std::declval<const D&>())), const void*> &&
         D::columns::count <= GatheredRows::most_columns;
}

/// How rows are read: on the host, or, after start(), by a target. Then the stages tell which samples a row has, and
/// the source copies only what the host needs.
class RowGathering {
 public:
  /// Has no effect if the target has no room for the samples.
  template <class Source>
  [[gnu::noinline, gnu::cold]] void start(TargetId target, const Source& source, int columns) {
    if (source.size() > std::numeric_limits<std::int32_t>::max()) return;
    ColumnInMemory column[GatheredRows::most_columns];
    rows_.columns = columns;
    for (int c = 0; c < columns; ++c) {
      column[c] = source.in_memory(c);
      on_host_[c] = column[c].on_host;
      rows_.column[c] = {nullptr, nullptr, column[c].sample_elements, column[c].as};
    }
    if (source.there().bring(target, column, columns)) target_ = target, there_ = &source.there();
  }
  /// Where a column of the next row goes; on the host only if it needs that column.
  void* place(const Storage& memory, int column) const {
    if (!there_) return memory.data();
    return on_host_[column] ? TargetMemory::instance().home_where_both_write(memory.address()) : memory.address();
  }
  void begin(Scratch& scratch) {
    picked_.clear();
    scratch.picked = there_ ? &picked_ : nullptr;
  }
  /// After a row of n samples was read to `memory`, a block per column.
  [[gnu::noinline]] void end(const Storage* memory, const TensorType* type, long n) {
    if (!there_) return;
    TargetMemory& all = TargetMemory::instance();
    for (int c = 0; c < rows_.columns; ++c) {
      std::byte* const address = memory[c].address();
      rows_.column[c].to =
          on_host_[c] ? all.there_where_both_write(target_, address)
                      : all.there(target_, address, TargetMemory::Use::overwrite, std::size_t(type[c].bytes(n)));
    }
    there_->gather(target_, rows_, picked_.begin(), long(picked_.size()));
  }

 private:
  using TargetMemory = tenon::detail::TargetMemory;

  TargetId target_{};
  SamplesThere* there_ = nullptr;  // a part of the source, which the iterator has, too
  GatheredRows rows_;
  bool on_host_[GatheredRows::most_columns]{};
  tenon::detail::Growing<std::int32_t> picked_;
};
#endif

}  // namespace tenon::dataset::detail
