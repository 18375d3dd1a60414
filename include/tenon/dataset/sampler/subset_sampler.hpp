// SubsetSampler: the rows of a list.
#pragma once
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tenon/dataset/sampler/sample.hpp>

namespace tenon::inline TENON_ABI::dataset {

namespace detail {
/// The rows of a list, checked, each with how often it stood before.
inline std::shared_ptr<const std::vector<Drawn>> listed_rows(const char* sampler, const std::vector<long>& indices,
                                                             long rows) {
  if (indices.empty()) throw_error<ValueError>(sampler, ": the list of indices is empty.");
  std::unordered_map<long, std::uint64_t> times;
  auto list = std::make_shared<std::vector<Drawn>>();
  list->reserve(indices.size());
  for (const long index : indices) {
    if (index < 0 || index >= rows)
      throw_error<ValueError>(sampler, ": there is no row ", index, ", the rows are 0 .. ", rows - 1, ".");
    list->push_back({index, times[index]++});
  }
  return list;
}
}  // namespace detail

/// The rows of a list, in the order of the list: `SubsetSampler{.indices = {4, 2, 4}}`; if num_samples is given, only
/// the first num_samples rows. Throws ValueError if the list is empty or an index is no row. Source: MindSpore's
/// SubsetSampler.
struct SubsetSampler {
  std::vector<long> indices;
  long num_samples = 0;

  struct Prepared {
    static constexpr bool reorders = false;
    std::shared_ptr<const std::vector<Drawn>> list;
    long count;
    long size(long) const { return count; }
    void describe(auto& d) const {
      d.add(count);
      for (const Drawn& drawn : *list) d.add(drawn.row);
    }
    Drawn draw(long position, long, std::uint64_t) const { return (*list)[static_cast<std::size_t>(position)]; }
  };
  Prepared prepared(long rows) const {
    auto list = detail::listed_rows("SubsetSampler", indices, rows);
    return {std::move(list), detail::samples_among("SubsetSampler", num_samples, static_cast<long>(indices.size()))};
  }
};

}  // namespace tenon::dataset
