// The larger unit for flags.sh: a Model with its training state, data, and callbacks.
#include "../training.hpp"

#include <tenon/io/png.hpp>
#include <tenon/train/callback/any_callback.hpp>

std::size_t run_training() { return train_here(InMode::graph, tenon::pinned<tenon::Mode::graph>).weights.size(); }
void begin(tenon::AnyCallback& callback, tenon::RunInfo& run) { callback.tell<tenon::detail::Begin>(run); }
tenon::AnyCallback losses(std::vector<double>& to) { return tenon::OdrLosses{to}; }
std::string one_pixel() { return tenon::io::encode_png({1, 1, 1, {7}}); }
