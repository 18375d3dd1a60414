// The destination of summary operators: the SummaryRecord of a program, if it has one.
#pragma once
#include <atomic>
#include <string_view>

#include <tenon/core/tensor/any_tensor.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Takes a value of a plugin of SummaryRecord; it is valid until the call returns.
using SummarySink = void(std::string_view plugin, std::string_view name, const AnyTensor& value);
/// Set by <tenon/train/summary_record.hpp>; without it values go nowhere.
inline constinit std::atomic<SummarySink*> summary_sink{nullptr};

}  // namespace tenon::ops
