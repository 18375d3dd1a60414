// Choices about a Model: the modes and passes it carries, and what train() and eval() accept.
#pragma once
#include <tenon/core/context.hpp>
#include <tenon/kernel/compiled.hpp>

namespace tenon::inline TENON_ABI {

/// Which modes a Model carries, and which passes its graphs run. A Model that is pinned to one mode contains no code of
/// the other: `Model model{pinned<Mode::graph>, net, ...}`.
struct ModelOptions {
  bool graph = true, pynative = true;
  Passes passes{};
};
template <ModelOptions options>
struct WithOptions {};
namespace detail {
template <class P>
inline constexpr bool is_with_options = false;
template <ModelOptions options>
inline constexpr bool is_with_options<WithOptions<options>> = true;
}  // namespace detail
/// Tag for a Model that knows one mode only.
template <Mode mode>
inline constexpr WithOptions<ModelOptions{mode == Mode::graph, mode == Mode::pynative, {}}> pinned{};
/// Tag for a Model with other passes; none of them changes a bit.
template <Passes passes>
inline constexpr WithOptions<ModelOptions{true, true, passes}> with_passes{};

/// Options of one train() or eval() with the names that MindSpore gives them: `model.train(10, data,
/// {.dataset_sink_mode = true})`.
struct TrainOptions {
  /// Accepted, and without effect: data never leaves this process, so there is nothing to sink. Events come for every
  /// step in either case. MindSpore on a device gives one step_begin and step_end per sink, so that LossMonitor prints
  /// once per epoch and a stop waits for its end; both are not imitated.
  bool dataset_sink_mode = false;
};

}  // namespace tenon
