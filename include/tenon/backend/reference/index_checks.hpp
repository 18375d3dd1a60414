// Reference looks at computed indices one by one.
#pragma once
#include <tenon/target/index_checks.hpp>

namespace tenon::inline TENON_ABI {
struct Reference;

template <>
struct IndexChecks<Reference> {
  static void look(const IndexLook& range, const void* indices, long count, std::int32_t* flag) {
    for (long i = 0; i < count; ++i) {
      const long index =
          range.wide ? static_cast<const std::int64_t*>(indices)[i] : static_cast<const std::int32_t*>(indices)[i];
      if (*flag == 0 && (index < range.low || index >= range.high)) *flag = range.number;
    }
  }
  static void join(const std::int32_t* one, const std::int32_t* other, std::int32_t* flag) { *flag = *one | *other; }
};

}  // namespace tenon
