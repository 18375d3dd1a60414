// Lesson 9: steering a training: warm-up and cosine, clipping, validation after each epoch, the best weights, early
// stop, checkpoints, and resuming an interrupted run.
//
//     build/release/examples/09_steering [FOLDER]    checkpoints go to FOLDER, steering-checkpoints by default
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <tenon/tenon.hpp>
#include <tenon/train/callbacks.hpp>

using namespace tenon;

struct Classifier : nn::Cell<Classifier> {
  nn::Dense<2, 32> hidden;
  nn::Dropout<nn::DropoutConfig{.p = 0.1f}> dropout;
  nn::Dense<32, 2> output;

  constexpr auto construct(auto x) const { return output(dropout(tanh(hidden(x)))); }
};

// Points on two spiral arms, with some noise.
static auto spirals(long count, std::uint64_t seed) {
  std::vector<float> points;
  std::vector<std::int32_t> arms;
  Random random(seed);
  for (long i = 0; i < count; ++i) {
    const int arm = int(i % 2);
    const float along = random.uniform(0, 1), angle = 6 * along + 3.1416f * float(arm);
    points.push_back(along * std::cos(angle) + random.uniform(-0.04f, 0.04f));
    points.push_back(along * std::sin(angle) + random.uniform(-0.04f, 0.04f));
    arms.push_back(arm);
  }
  return dataset::from_arrays(dataset::column<Shape<2>>(points), dataset::column<Shape<>>(arms));
}

// Simulates a crash: ends the run in the middle of an epoch.
struct Interrupt {
  long step;
  void on_train_step_end(RunInfo& run) const {
    if (run.cur_step_num == step) run.request_stop();
  }
};

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "steering-checkpoints";
  set_context({.seed = 1});
  const auto train = spirals(4000, 1) | dataset::shuffle(4000) | dataset::batch(50);  // 80 steps an epoch
  const auto valid = spirals(1000, 2) | dataset::batch(100);

  // The rate rises for 200 steps, then falls along half a cosine; gradients are clipped to the norm 1.
  const auto rate = nn::WarmUpThen(200, nn::CosineDecayLR(1e-4, 0.02, 3000));
  const nn::ClipByGlobalNorm optimizer{nn::Adam{.learning_rate = rate}, 1.0f};
  const long epochs = 40;

  {
    Classifier net;
    Model model{net, nn::CrossEntropyLoss{}, optimizer, nn::Accuracy{}};
    std::printf("The first run saves every 300 steps and is interrupted in step 1000.\n");
    ModelCheckpoint checkpoints("spiral", folder, {.save_checkpoint_steps = 300, .keep_checkpoint_max = 2});
    model.train(epochs, train, checkpoints, Interrupt{1000});
    std::printf("last file: %s\n\n", checkpoints.latest_ckpt_file_name().c_str());
  }

  // Another process would do the same: the run resumes at the position in the file, with bit-identical results.
  Classifier net;
  Model model{net, nn::CrossEntropyLoss{}, optimizer, nn::Accuracy{}};
  if (const auto file = latest_checkpoint("spiral", folder)) load_training(*file, model);
  std::printf("The second run resumes after step %ld.\n", model.global_step());
  History history;
  EarlyStopping stop{.monitor = "accuracy", .patience = 4, .verbose = true, .restore_best_weights = true};
  model.fit(epochs, train, valid, {.valid_frequency = 2}, history, stop,
            SaveBest{.path = folder + "/best.safetensors", .monitor = "accuracy"},
            LambdaCallback{.on_train_epoch_end = [](RunInfo& run) {
              if (run.eval_results)
                std::printf("epoch %2ld  loss %.4f  accuracy %.3f\n", run.cur_epoch_num, run.loss(),
                            (*run.eval_results)["accuracy"]);
            }});
  std::printf("best epoch %ld: accuracy %.3f\n", stop.best_epoch, model.eval(valid)["accuracy"]);
}
