// Catches what a callback prints, and runs callbacks without a model.
#pragma once
#include <cstdio>
#include <string>

#include <tenon/train/callback/callback.hpp>

#include "../../support/printed.hpp"

/// Runs f, and returns what it printed.
template <class F>
std::string printed(F f) {
  return support::printed_to(stdout, f);
}

/// Events of a training of `epochs` epochs with `batches` steps, whose losses are 1/1, 1/2, 1/3, ... `wait(step)` runs
/// in each step.
template <class C, class Wait>
void play(C& callback, long epochs, long batches, Wait wait, long stop_at = 0) {
  using namespace tenon;
  RunInfo run;
  run.epoch_num = epochs;
  run.batch_num = batches;
  float loss = 0;
  const AnyTensor output(Dtype::float32, {}, &loss);
  detail::CallbackList<RunInfo, C> list(run, callback);
  list.template tell<detail::Begin>();
  for (run.cur_epoch_num = 1; run.cur_epoch_num <= epochs; ++run.cur_epoch_num) {
    run.steps_before = run.cur_step_num;
    list.template tell<detail::EpochBegin>();
    for (long i = 0; i < batches; ++i) {
      ++run.cur_step_num;
      list.template tell<detail::StepBegin>();
      wait(run.cur_step_num);
      loss = 1.0f / static_cast<float>(run.cur_step_num);
      run.net_outputs = {&output, 1};
      list.template tell<detail::StepEnd>();
      if (run.cur_step_num == stop_at) break;
    }
    list.template tell<detail::EpochEnd>();
  }
  list.template tell<detail::End>();
}
