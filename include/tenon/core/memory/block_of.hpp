// What a block of memory is for.
#pragma once
#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI::detail {

/// One value, which moves between the host and a second target as a whole; several values, each of which is where it
/// was used last; or the scratch memory of graphs, which only the target that runs them has until the host looks at a
/// value in it. Without a second target they are the same.
enum class BlockOf : char { value, values, scratch };

}  // namespace tenon::detail
