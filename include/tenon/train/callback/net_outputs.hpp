// The outputs of a step, as callbacks and metrics get them.
#pragma once
#include <span>

#include <tenon/core/tensor/any_tensor.hpp>
#if defined(TENON_TARGET)
#include <tenon/train/step/arriving_outputs.hpp>
#endif

namespace tenon::inline TENON_ABI {

#if !defined(TENON_TARGET)
using NetOutputs = std::span<const AnyTensor>;
#else

/// Views of the outputs of a step. Those that a second target has come home when they are looked at.
class NetOutputs {
 public:
  NetOutputs() = default;
  NetOutputs(std::span<const AnyTensor> views, detail::ArrivingOutputs* all = nullptr,
             const detail::ArrivingStep* step = nullptr)
      : views_(views), all_(all), step_(step) {}

  std::size_t size() const { return views_.size(); }
  bool empty() const { return views_.empty(); }
  const AnyTensor& operator[](std::size_t k) const {
    const AnyTensor& view = views_[k];
    if (step_ && step_->holds(view)) step_->wait();
    else if (view.count() > 0) detail::home(static_cast<std::byte*>(view.data), view.bytes(), detail::Look::read);
    if (all_) all_->check_indices(false);
    return view;
  }
  const AnyTensor& front() const { return (*this)[0]; }
  const AnyTensor& back() const { return (*this)[size() - 1]; }
  const AnyTensor* begin() const {
    for (std::size_t k = 0; k < size(); ++k) (*this)[k];
    return views_.data();
  }
  const AnyTensor* end() const { return views_.data() + size(); }

  /// Whether some of the values are those of a later step: too large to be sent, and there already.
  bool are_of_later_step() const {
    if (!step_ || step_ == &all_->last()) return false;
    for (const AnyTensor& view : views_)
      if (!step_->holds(view)) return true;
    return false;
  }
  /// Where they are on their way; null if they are not.
  detail::ArrivingOutputs* arriving() const { return all_; }

 private:
  std::span<const AnyTensor> views_;
  detail::ArrivingOutputs* all_ = nullptr;
  const detail::ArrivingStep* step_ = nullptr;
};
#endif

}  // namespace tenon
