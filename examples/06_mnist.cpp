// Lesson 6: LeNet-5 learns handwritten digits, as one compiled graph and operator by operator, with the same bits.
//
//   06_mnist --data DIR --mode graph|pynative|both --epochs N --batch N --threads N --seed S --save FILE --load FILE
#include <getopt.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <tenon/tenon.hpp>

using namespace tenon;

struct LeNet : nn::Cell<LeNet> {
  nn::Conv2d<1, 6, 5, nn::Conv2dConfig{.pad_mode = PadMode::same, .has_bias = true}> conv1;
  nn::Conv2d<6, 16, 5, nn::Conv2dConfig{.pad_mode = PadMode::valid, .has_bias = true}> conv2;
  nn::Dense<400, 120> fc1;
  nn::Dense<120, 84> fc2;
  nn::Dense<84, 10> fc3;

  constexpr auto construct(auto x) const {  // x: [n, 1, 28, 28], an eager tensor or a traced one
    auto a = max_pool2d<2>(relu(conv1(x)));
    auto b = max_pool2d<2>(relu(conv2(a)));
    return fc3(relu(fc2(relu(fc1(flatten(b))))));
  }
};

struct Options {
  std::string data, mode = "both", save, load;
  long epochs = 3, batch = 32;
  int threads = 1;
  unsigned long seed = 1;
};

constexpr const char* help =
    "Trains LeNet-5 on handwritten digits and evaluates it.\n\n"
    "  --data DIR      directory with the MNIST files (plain or .gz); without it, digits are drawn\n"
    "  --mode MODE     graph, pynative, or both (default)\n"
    "  --epochs N      passes over the training set (default 3)\n"
    "  --batch N       samples per step (default 32)\n"
    "  --threads N     threads that a kernel may use (default 1); the result does not depend on it\n"
    "  --seed S        seed of initial values and of shuffling (default 1)\n"
    "  --save FILE     write the trained parameters (name it *.safetensors)\n"
    "  --load FILE     start from these parameters\n"
    "  --help          this text\n";

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "06_mnist: %s\nTry --help.\n", message.c_str());
  std::exit(2);
}

long number(const char* option, const char* value) {
  char* end = nullptr;
  const long parsed = std::strtol(value, &end, 10);
  if (*value == 0 || *end != 0 || parsed < 1) fail(text("--", option, " needs a positive integer, got '", value, "'"));
  return parsed;
}

Options parse(int argc, char** argv) {
  const option known[]{{"data", 1, nullptr, 'd'},  {"mode", 1, nullptr, 'm'}, {"epochs", 1, nullptr, 'e'}, {"batch", 1, nullptr, 'b'}, {"threads", 1, nullptr, 't'},
                       {"seed", 1, nullptr, 's'}, {"save", 1, nullptr, 'w'}, {"load", 1, nullptr, 'r'},   {"help", 0, nullptr, 'h'},  {nullptr, 0, nullptr, 0}};
  Options o;
  for (int c; (c = getopt_long(argc, argv, "", known, nullptr)) != -1;) switch (c) {
      case 'd': o.data = optarg; break;
      case 'm': o.mode = optarg; break;
      case 'e': o.epochs = number("epochs", optarg); break;
      case 'b': o.batch = number("batch", optarg); break;
      case 't': o.threads = int(number("threads", optarg)); break;
      case 's': o.seed = static_cast<unsigned long>(number("seed", optarg)); break;
      case 'w': o.save = optarg; break;
      case 'r': o.load = optarg; break;
      case 'h': std::fputs(help, stdout); std::exit(0);
      default: std::exit(2);
    }
  if (optind < argc) fail(text("unknown argument '", argv[optind], "'"));
  if (o.mode != "graph" && o.mode != "pynative" && o.mode != "both") fail(text("--mode is graph, pynative, or both, got '", o.mode, "'"));
  return o;
}

struct EpochTime {
  double seconds = 0;
  void epoch_end(RunInfo& run) { seconds += run.epoch_seconds; }
};

// A hash of all parameter bytes: equal weights give equal hashes.
std::uint64_t hash_of(const LeNet& net) {
  std::uint64_t hash = 0;
  for (const auto& [name, tensor] : named_parameters(net)) hash = hash_bytes(static_cast<const char*>(tensor.data), tensor.bytes(), hash_number(tensor.bytes(), hash));
  return hash;
}

void run(const Options& o, const char* mode, const auto& train, const auto& test) {
  set_context("mode", mode);
  LeNet net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Momentum{.learning_rate = 0.01f, .momentum = 0.9f}, nn::Accuracy{}, nn::Loss{}};
  if (!o.load.empty()) load_checkpoint(o.load, net);

  EpochTime time;
  model.train(o.epochs, train, ProgressBar{}, time);
  const auto result = model.eval(test);
  if (!o.save.empty()) {  // what comes back has the same bits
    save_checkpoint(net, o.save);
    LeNet loaded;
    load_checkpoint(o.save, loaded);
    if (hash_of(loaded) != hash_of(net)) fail("the saved network is another one");
  }
  const auto blank = Tensor<float, Shape<dyn, 1, 28, 28>>::zeros(1);
  if (!std::isfinite(model.predict(blank).values()[0])) fail("the prediction is not a number");
  std::printf("mode=%s accuracy=%.4f loss=%.4f seconds_per_epoch=%.2f weights=%016llx\n", mode, result["accuracy"], result["loss"], time.seconds / double(o.epochs),
              static_cast<unsigned long long>(hash_of(net)));
}

int main(int argc, char** argv) try {
  const Options o = parse(argc, argv);
  set_context({.num_threads = o.threads, .seed = o.seed});
  dataset::set_seed(o.seed);
  const auto both = [&](const auto& train_set, const auto& test_set) {
    const auto train = train_set | dataset::shuffle(60000) | dataset::batch(o.batch);
    const auto test = test_set | dataset::batch(o.batch);
    if (o.mode != "pynative") run(o, "graph", train, test);
    if (o.mode != "graph") run(o, "pynative", train, test);
  };
  if (!o.data.empty()) both(dataset::Mnist{o.data, dataset::Usage::train}, dataset::Mnist{o.data, dataset::Usage::test});
  else both(dataset::Digits{.usage = dataset::Usage::train}, dataset::Digits{.usage = dataset::Usage::test, .size = 10000});
} catch (const Error& error) {
  std::fprintf(stderr, "06_mnist: %s\n", error.what());
  return 1;
}
