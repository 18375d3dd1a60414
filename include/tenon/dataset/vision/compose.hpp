// vision::Compose: several transforms under one name.
#pragma once
#include <tuple>
#include <utility>

#include <tenon/dataset/map/map.hpp>

namespace tenon::inline TENON_ABI {

namespace vision {
/// Transforms, one after the other: `const vision::Compose augment{vision::RandomHorizontalFlip{}, vision::HWC2CHW{}};
/// data | dataset::map<"image">(augment)`. The same as writing them into map. Source: MindSpore's Compose.
template <dataset::detail::TransformLike... T>
struct Compose {
  static_assert(sizeof...(T) > 0, "Compose has 1 transform or more");
  std::tuple<T...> transforms;
  explicit Compose(T... t) : transforms(std::move(t)...) {}
};
}  // namespace vision

namespace dataset {
/// Transforms a column of samples by the composed transforms.
template <ColumnKey Key, class... T>
auto map(vision::Compose<T...> composed) {
  return std::apply([](auto&&... transform) { return map<Key>(std::move(transform)...); },
                    std::move(composed.transforms));
}
}  // namespace dataset

}  // namespace tenon
