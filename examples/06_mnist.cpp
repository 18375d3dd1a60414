// Lesson 6: LeNet-5 learns handwritten digits, as one compiled graph and operator by operator, with identical results.
//
//   06_mnist --data DIR --mode graph|pynative|both --epochs N --batch N --threads N --seed S --save FILE --load FILE
#include <getopt.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/tenon.hpp>
#include <tenon/train/checkpoint.hpp>

using namespace tenon;

namespace {

struct LeNet : nn::Cell<LeNet> {
  nn::Conv2d<1, 6, 5, nn::Conv2dConfig{.pad_mode = PadMode::same, .has_bias = true}> conv1;
  nn::Conv2d<6, 16, 5, nn::Conv2dConfig{.pad_mode = PadMode::valid, .has_bias = true}> conv2;
  nn::Dense<400, 120> fc1;
  nn::Dense<120, 84> fc2;
  nn::Dense<84, 10> fc3;

  constexpr auto construct(auto x) const {  // x: [n, 1, 28, 28], an eager or a traced tensor
    auto a = max_pool2d<2>(relu(conv1(x)));
    auto b = max_pool2d<2>(relu(conv2(a)));
    return fc3(relu(fc2(relu(fc1(flatten(b))))));
  }
};

struct Options {
  std::string data, mode = "both", device = "CPU", save, load;
  long epochs = 3, batch = 32;
  int threads = 1;
  std::uint64_t seed = 1;
};

constexpr const char* help =
    "Trains LeNet-5 on handwritten digits and evaluates it.\n\n"
    "  --data DIR      directory with the MNIST files (plain or .gz); without it, digits are drawn\n"
    "  --mode MODE     graph, pynative, or both (default)\n"
    "  --device NAME   CPU (default), or GPU if nvcc compiled this program (docs/cuda.md); the result is the same\n"
    "  --epochs N      passes over the training set (default 3)\n"
    "  --batch N       samples per step (default 32)\n"
    "  --threads N     threads that a kernel may use (default 1); the result does not depend on it\n"
    "  --seed S        seed of initial values and of shuffling (default 1)\n"
    "  --save FILE     write the trained parameters (name it *.safetensors)\n"
    "  --load FILE     start from these parameters\n"
    "  -h, --help      this text\n\n"
    "Exit status: 0; 1 if it fails, or if the two modes do not end with equal weights; 2 for a wrong option.\n";

const option known[]{{"data", 1, nullptr, 'd'},   {"mode", 1, nullptr, 'm'},  {"device", 1, nullptr, 'g'},
                     {"epochs", 1, nullptr, 'e'}, {"batch", 1, nullptr, 'b'}, {"threads", 1, nullptr, 't'},
                     {"seed", 1, nullptr, 's'},   {"save", 1, nullptr, 'w'},  {"load", 1, nullptr, 'r'},
                     {"help", 0, nullptr, 'h'},   {nullptr, 0, nullptr, 0}};

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "06_mnist: %s\nTry --help.\n", message.c_str());
  std::exit(2);
}

std::uint64_t number(const char* option, std::string_view value, std::uint64_t least, std::uint64_t most) {
  std::uint64_t parsed = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
  if (error != std::errc{} || end != value.data() + value.size() || parsed < least || parsed > most)
    fail(text("--", option, " needs a whole number from ", least, " to ", most, ", got '", value, "'."));
  return parsed;
}

[[noreturn]] void refuse(std::string_view argument) {
  std::vector<std::string> names;
  for (const option& each : known)
    if (each.name) names.push_back(text("--", each.name));
  fail(text("unknown option '", argument, "'.", did_you_mean(argument.substr(0, argument.find('=')), names)));
}

Options parse(int argc, char** argv) {
  Options o;
  opterr = 0;  // this program prints its own error messages
  for (int c, at = optind; (c = getopt_long(argc, argv, "+:h", known, nullptr)) != -1; at = optind) {
    const std::string value = optarg ? optarg : "";
    if (c == ':' || (optarg && value.empty())) fail(text("'", argv[at], "' needs a value."));
    switch (c) {
      case 'd': o.data = value; break;
      case 'm': o.mode = value; break;
      case 'g': o.device = value; break;
      case 'e': o.epochs = long(number("epochs", value, 1, 1'000'000)); break;
      case 'b': o.batch = long(number("batch", value, 1, 1'000'000)); break;
      case 't': o.threads = int(number("threads", value, 1, 1024)); break;
      case 's': o.seed = number("seed", value, 0, ~std::uint64_t{0}); break;
      case 'w': o.save = value; break;
      case 'r': o.load = value; break;
      case 'h': std::fputs(help, stdout); std::exit(0);
      default: refuse(argv[at]);
    }
  }
  if (optind < argc) fail(text("unknown argument '", argv[optind], "'."));
  if (o.mode != "graph" && o.mode != "pynative" && o.mode != "both")
    fail(text("--mode is graph, pynative, or both, got '", o.mode, "'."));
  for (const std::string& file : {o.save, o.load})
    if (!file.empty() && !file.ends_with(".safetensors"))
      fail(text("the name of a network's file ends with '.safetensors', got '", file, "'."));
  return o;
}

struct EpochTime {
  double seconds = 0;
  void epoch_end(RunInfo& run) { seconds += run.epoch_seconds; }
};

// A hash of all parameter bytes: equal weights give equal hashes.
std::uint64_t hash_of(const LeNet& net) {
  std::uint64_t hash = 0;
  for (const auto& [name, tensor] : named_parameters(net))
    hash = hash_bytes(static_cast<const char*>(tensor.data), tensor.bytes(), hash_number(tensor.bytes(), hash));
  return hash;
}

// Draws the first images of the test set in a row, each with the prediction and the label below.
void show_predictions(auto& model, const auto& test) {
  for (const auto& row : test) {  // the first batch
    const auto images = Tensor<float, Shape<dyn, 1, 28, 28>>::from(row.template values<0>());
    const auto scores = model.predict(images);  // [n, 10]
    const long shown = std::min(4L, row.n);
    for (long y = 4; y < 24; y += 2) {  // a character is twice as high as wide; the border of 4 pixels is empty
      for (long i = 0; i < shown; ++i)
        for (long x = 4; x < 24; ++x)
          std::putchar(" .:+#@"[long(2.5f * std::clamp(images(i, 0, y, x) + images(i, 0, y + 1, x), 0.0f, 2.0f))]);
      std::putchar('\n');
    }
    for (long i = 0; i < shown; ++i) {
      const float* const score = scores.data() + 10 * i;
      std::printf("  predicted %d, is %d ", int(std::max_element(score, score + 10) - score),
                  int(row.template values<1>()[std::size_t(i)]));
    }
    std::puts("");
    return;
  }
}

// Trains and evaluates the network in one mode, and prints the line of results.
void run(const Options& o, LeNet& net, const char* mode, const auto& train, const auto& test) {
  set_context("mode", mode);
  std::printf("\n%s\n", mode == std::string_view("graph")
                            ? "Graph mode: the whole training step was compiled with this program."
                            : "PyNative mode: operators run one by one, so a debugger can step through them.");
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f},
              nn::Accuracy{}, nn::Loss{}};

  EpochTime time;
  model.train(o.epochs, train, ProgressBar{}, time);
  const auto result = model.eval(test);
  show_predictions(model, test);
  std::printf("mode=%s accuracy=%.4f loss=%.4f seconds_per_epoch=%.2f weights=%016llx\n", mode, result["accuracy"],
              result["loss"], time.seconds / double(o.epochs), static_cast<unsigned long long>(hash_of(net)));
}

void say_what_is_trained(const Options& o, long train, long test) {
  std::printf("LeNet-5 learns handwritten digits: %ld to train, %ld to evaluate, %s%s.\n", train, test,
              o.data.empty() ? "drawn by this program" : "MNIST of ",
              o.data.empty() ? " (--data DIR takes MNIST)" : o.data.c_str());
  std::printf("%ld epochs in batches of %ld, seed %llu, threads: %d.\n", o.epochs, o.batch,
              static_cast<unsigned long long>(o.seed), o.threads);
}

// Saves the network and checks that loading it gives identical weights.
void save(const LeNet& net, const std::string& path) {
  save_checkpoint(net, path);
  LeNet loaded;
  load_checkpoint(path, loaded);
  if (hash_of(loaded) != hash_of(net))
    throw RuntimeError(text("'", path, "' does not hold the weights that were saved."));
  std::printf("Saved as %s, and loaded again with the same weights; --load FILE continues from it.\n", path.c_str());
}

}  // namespace

int main(int argc, char** argv) try {
  const Options o = parse(argc, argv);
  if (!o.save.empty()) io::check_writable(o.save);  // before the training, whose result would be lost
  set_context({.device_target = o.device, .num_threads = o.threads, .seed = o.seed});
  dataset::set_seed(o.seed);
  const auto learn = [&](const auto& train_set, const auto& test_set) {
    const auto train = train_set | dataset::shuffle(60000) | dataset::batch(o.batch);
    const auto test = test_set | dataset::batch(o.batch);
    LeNet graph, pynative;
    if (!o.load.empty()) load_checkpoint(o.load, graph), load_checkpoint(o.load, pynative);
    say_what_is_trained(o, train_set.size(), test_set.size());
    if (o.mode != "pynative") run(o, graph, "graph", train, test);
    if (o.mode != "graph") run(o, pynative, "pynative", train, test);
    if (o.mode == "both" && hash_of(graph) != hash_of(pynative))
      throw RuntimeError("The two modes ended with different weights; they must be equal.");
    std::puts(o.mode == "both" ? "\nBoth modes ended with weights that are equal bit for bit." : "");
    if (!o.save.empty()) save(o.mode == "graph" ? graph : pynative, o.save);
    std::puts("Next: --help, the lessons examples/01_tensor.cpp to 07_language_model.cpp, and README.md.");
  };
  if (o.data.empty()) {
    learn(dataset::Digits{.usage = dataset::Usage::train},
          dataset::Digits{.usage = dataset::Usage::test, .size = 10000});
  } else {
    const dataset::Mnist train{o.data, dataset::Usage::train};  // opened first, so that an error names its files first
    learn(train, dataset::Mnist{o.data, dataset::Usage::test});
  }
} catch (const Error& error) {
  std::fprintf(stderr, "06_mnist: %s\n", error.what());
  return 1;
}
