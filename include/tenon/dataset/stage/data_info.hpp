// DataInfo: the properties of a data set, independent of its type.
#pragma once
#include <cstdint>
#include <string_view>

#include <tenon/core/function_ref.hpp>
#include <tenon/core/text/type_name.hpp>
#include <tenon/dataset/stage/stage.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// A source or stage of a data set: its class, and its settings.
struct StageInfo {
  struct Setting {
    std::string_view name;
    std::int64_t value = 0;
    bool is_flag = false;
  };
  static constexpr int most = 6;

  std::string_view type;
  int count = 0;
  Setting setting[most]{};

  [[gnu::cold, gnu::noinline]] void add(std::string_view name, std::int64_t value, bool is_flag = false) {
    setting[count++] = {name, value, is_flag};
  }
};

/// A view of a data set, which must outlive the view: the information that a callback in an AnyCallback receives about
/// the data of its run. Its rows are not in here.
class DataInfo {
 public:
  template <Dataset D>
  explicit DataInfo(const D& data)
      : data_(&data),
        size_(data.size()),
        visit_([](const void* set, const Visitor& visitor) { visit(*static_cast<const D*>(set), visitor); }) {}

  /// Rows per epoch; of batches, if it is batched.
  long size() const { return size_; }
  /// Calls visitor(stage) for each stage, the last one first, and the source at the end; of those that are joined (zip,
  /// concat) the first.
  void each_stage(FunctionRef<const StageInfo&> visitor) const { visit_(data_, visitor); }

 private:
  using Visitor = FunctionRef<const StageInfo&>;

  template <class D>
  static void visit(const D& data, const Visitor& visitor) {
    StageInfo stage{class_name<D>()};
    if constexpr (detail::OfTenon<D>) add_settings(data, stage);
    if constexpr (!HasBefore<D>) stage.add("num_samples", data.size());
    visitor(stage);
    if constexpr (HasBefore<D>) visit(data.data, visitor);
  }
  template <class D>
  static void add_settings(const D& data, StageInfo& stage) {
    if constexpr (requires { data.batch_size; }) stage.add("batch_size", data.batch_size);
    if constexpr (requires { data.drop_remainder; }) stage.add("drop_remainder", data.drop_remainder, true);
    if constexpr (requires { data.window; }) stage.add("buffer_size", data.window);
    if constexpr (requires { data.passes; }) stage.add("count", data.passes);
    if constexpr (requires { data.most; }) stage.add("count", data.most);
    if constexpr (requires { data.depth; }) stage.add("prefetch_size", data.depth);
    if constexpr (requires { data.left_out; }) stage.add("count", data.left_out);
    if constexpr (requires { data.sampler.num_shards; }) {
      stage.add("num_shards", data.sampler.num_shards);
      stage.add("shard_id", data.sampler.shard_id);
    }
  }

  const void* data_;
  long size_;
  void (*visit_)(const void* data, const Visitor& visitor);
};

}  // namespace tenon::dataset
