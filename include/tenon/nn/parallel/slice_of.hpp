// SliceOf: the initializer of a parameter of which each rank of a group has a slice.
#pragma once
#include <cstring>

#include <tenon/core/memory/owned.hpp>
#include <tenon/graph/ir/parameter.hpp>
#include <tenon/ops/collective/slices.hpp>

namespace tenon::inline TENON_ABI::nn {

/// A rank's slice of what another initializer makes of the whole parameter, bit for bit: the network starts as the one
/// without slices. While it does, it has memory for the whole.
///
/// axis     along which the parameter is cut
/// slices   their number, which is that of the group's ranks
/// throws   RuntimeError before dist::init and outside of the group; ValueError if there is no such group, or if it has
///          another number of ranks
template <class Init, FixedString group>
struct SliceOf {
  Init init;
  int axis, slices;

  constexpr SliceEntry slice(int entry) const {
    return {entry,
            axis,
            slices,
            group.view(),
            [](Builder& b, int value) { return b.template call<ops::SumSlices<group>>(NoConfig{}, value); },
            [](Builder& b, int flag) { return b.template call<ops::AgreeOnFlag<group>>(NoConfig{}, flag); }};
  }
  template <class T>
  void fill(T* data, const TensorType& t, std::uint64_t key) const {
    const dist::Communicator ranks = dist::communicator(group.view());
    if (ranks.size() != slices)
      throw_error<ValueError>("A parameter ", tenon::detail::type_text(t), " is one of ", slices,
                              " slices, and the group '", group.view(), "' has ", ranks.size(),
                              ranks.size() == 1 ? " rank." : " ranks.");
    TensorType whole = t;
    whole.extent[axis] *= slices;
    const tenon::detail::Owned<T[]> all(new T[std::size_t(whole.count(1))]);
    init.fill(all.get(), whole, key);
    const long row = t.span(axis, t.rank), rows = t.count(1) / row;
    for (long i = 0; i < rows; ++i)
      std::memcpy(data + i * row, all.get() + (i * slices + ranks.rank()) * row, std::size_t(row) * sizeof(T));
  }
};

/// The whole parameter where there is one slice, for the network of one process.
template <int slices, int axis, FixedString group, class Init>
constexpr auto slice_of(Init init) {
  if constexpr (slices == 1) return init;
  else return SliceOf<Init, group>{init, axis, slices};
}

}  // namespace tenon::nn
namespace tenon::inline TENON_ABI::detail {

template <class Init, FixedString group>
inline constexpr bool is_sliced<nn::SliceOf<Init, group>> = true;

}  // namespace tenon::detail
