// Names only: for headers that mention Tenon's types without using them.
#pragma once
#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI {

enum class Dtype : int;
enum class Mode;
struct AnyTensor;
struct TensorType;
template <int... Extents>
struct Shape;
struct RunInfo;
struct Error;

}  // namespace tenon
