// What the units of two_units.cpp share: one header-only function inside Tenon's namespace, what each unit makes of it,
// and what its training leaves.
#pragma once
#include <string>
#include <typeinfo>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/shape.hpp>

namespace tenon::inline TENON_ABI {

/// Bytes of a vector register in the unit that compiles it: a kernel in small, with the same name in every unit. Never
/// inlined, so that the linker has to choose.
[[gnu::noinline]] inline int register_bytes() {
#if defined(__AVX2__)
  return 32;
#else
  return 16;
#endif
}

}  // namespace tenon

/// What a unit sees of Tenon.
struct Unit {
  int register_bytes;               // by a call
  int (*function)();                // where the linker put it
  std::string (*text)(const int&);  // an instantiation of a core template
  const char* shape;                // the linker's name of a core type
};

#if defined(__GXX_RTTI)
// Internal to each unit, or it would itself be shared.
static inline Unit this_unit() {
  return {tenon::register_bytes(), &tenon::register_bytes, &tenon::text<int>, typeid(tenon::Shape<2, 3>).name()};
}
#endif

Unit unit_for_avx2();
Unit unit_for_base();

// Of our own, since tenon::Mode is another type in each namespace that the flags choose.
enum class InMode { graph, pynative };
inline constexpr InMode both_modes[] = {InMode::graph, InMode::pynative};

/// What 40 steps leave: the losses, and the bytes of all parameters.
struct Training {
  std::vector<double> losses;
  std::string weights;
};

Training train_in_graph_unit();
Training train_in_pynative_unit();
Training train_in_base_unit(InMode mode);
Training train_in_avx2_unit(InMode mode);
Training train_in_o3_unit(InMode mode);
