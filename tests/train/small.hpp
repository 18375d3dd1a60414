// A network and data of a few numbers, for tests of what happens around them.
#pragma once
#include <string>
#include <vector>

#include <tenon/dataset/dataset.hpp>
#include <tenon/nn/layer/dense.hpp>
#include <tenon/nn/loss/softmax_cross_entropy.hpp>
#include <tenon/nn/metric/accuracy.hpp>
#include <tenon/nn/metric/loss.hpp>
#include <tenon/nn/optim/momentum.hpp>
#include <tenon/ops/constant.hpp>
#include <tenon/ops/fused.hpp>
#include <tenon/ops/mul.hpp>
#include <tenon/ops/relu.hpp>
#include <tenon/train/model.hpp>

namespace small {

using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<3, 8> fc1;
  nn::Dense<8, 2> fc2;
  constexpr auto construct(auto x) const { return fc2(relu(fc1(x))); }
};

/// `count` samples [3] with the label that says whether their sum is positive.
inline auto samples(long count) {
  std::vector<float> x;
  std::vector<std::int32_t> y;
  Random random(7);
  for (long i = 0; i < count; ++i) {
    float sum = 0;
    for (int k = 0; k < 3; ++k) x.push_back(static_cast<float>(random.word() * 0x1p-31 - 1)), sum += x.back();
    y.push_back(sum > 0);
  }
  return dataset::from_arrays(dataset::column<Shape<3>>(std::move(x)), dataset::column<Shape<>>(std::move(y)));
}
/// Batches of 4, 4, and 2.
inline auto ten() { return samples(10) | dataset::batch(4); }

/// The bytes of all parameters of a network.
template <class N>
std::string bits(const N& net) {
  const ParameterList list(net);
  return std::string(reinterpret_cast<const char*>(list.arena()->data), std::size_t(list.bytes()));
}

/// Writes down the events that reach it.
struct Recorder {
  std::string events;
  int stop_in_step = 0;      // stops in step_end of this step
  const char* stop_in = "";  // stops in the first event of this name
  void begin(RunInfo& run) { add("begin", run); }
  void epoch_begin(RunInfo& run) { add("epoch_begin", run, run.cur_epoch_num); }
  void step_begin(RunInfo& run) { add("step_begin", run, run.cur_step_num); }
  void step_end(RunInfo& run) {
    add("step_end", run, run.cur_step_num);
    if (run.cur_step_num == stop_in_step) run.request_stop();
  }
  void epoch_end(RunInfo& run) { add("epoch_end", run, run.cur_epoch_num); }
  void end(RunInfo& run) { add("end", run); }

 private:
  void add(const std::string& name, RunInfo& run, long number = 0) {
    events += (events.empty() ? "" : " ") + name + (number ? std::to_string(number) : "");
    if (name == stop_in) run.request_stop();
  }
};

}  // namespace small
