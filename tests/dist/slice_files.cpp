// The files of networks in slices, joined into that of the whole network, and cut for other numbers of ranks.
// label: long
#include "slices.hpp"

#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include <tenon/nn/optim/adam.hpp>
#include <tenon/train/npz.hpp>
#include <tenon/train/slice_files.hpp>
#include <tenon/train/training_file.hpp>

#include "../support/error_of.hpp"

using namespace slices;
using support::error_of;

namespace {

const nn::Adam adam{.learning_rate = 0.01f};

/// Names of files, which are removed.
struct Files {
  std::vector<std::string> names;
  Files(const std::string& name, int count) {
    for (int k = 0; k < count; ++k)
      names.push_back(
          (std::filesystem::temp_directory_path() / text("slices_", ::getpid(), "_", name, k, ".safetensors"))
              .string());
  }
  ~Files() {
    for (const std::string& name : names) std::remove(name.c_str());
  }
  const std::string& operator[](int k) const { return names[std::size_t(k)]; }
};

std::string bytes_of(const std::string& path) {
  std::string bytes;
  if (std::FILE* const file = std::fopen(path.c_str(), "rb")) {
    char block[4096];
    for (std::size_t n; (n = std::fread(block, 1, sizeof block, file)) > 0;) bytes.append(block, n);
    std::fclose(file);
  }
  return bytes;
}

/// Trains for some epochs, from a file if it has a name, and saves.
template <int Slices>
std::vector<double> train(const std::string& from, const std::string& to, long epochs) {
  const auto data = sentences(64) | dataset::shuffle(64) | dataset::batch(16);
  Words<Slices> net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, adam};
  if (!from.empty()) load_training(from, model);
  std::vector<double> losses;
  support::Losses record{losses};
  model.train(epochs, data, record);
  save_training(model, to);
  return losses;
}
template <int Slices>
std::vector<double> train_slices(const Files* from, const Files& to, long epochs) {
  std::vector<double> losses;
  dist::run_ranks(Slices, [&](const dist::Communicator& ranks) {
    dist::create_mesh({{"slices", Slices}});
    const std::vector<double> own = train<Slices>(from ? (*from)[ranks.rank()] : "", to[ranks.rank()], epochs);
    if (ranks.rank() == 0) losses = own;
  });
  return losses;
}

}  // namespace

TEST_CASE("a training in two slices goes on in one process, in four slices, and in two with equal bits") {
  const ContextScope scope({.mode = Mode::graph, .num_threads = 1, .seed = 11});
  const Files two("two", 2), whole("whole", 3), four("four", 4), again("again", 2), later("later", 4);
  train_slices<2>(nullptr, two, 3);
  join_slices<Words<2>>(two.names, whole[0]);
  cut_slices<Words<2>>(whole[0], again.names);
  for (int k = 0; k < 2; ++k) CHECK(bytes_of(again[k]) == bytes_of(two[k]));
  CHECK(bytes_of(again[0]) != bytes_of(again[1]));

  const std::vector<double> in_one = train<1>(whole[0], whole[1], 2), in_two = train_slices<2>(&two, later, 2);
  cut_slices<Words<4>>(whole[0], four.names);
  const std::vector<double> in_four = train_slices<4>(&four, later, 2);
  REQUIRE(in_one.size() == 8);
  for (std::size_t step = 0; step < in_one.size(); ++step) {
    CHECK(in_two[step] == doctest::Approx(in_one[step]).epsilon(1e-5));
    CHECK(in_four[step] == doctest::Approx(in_one[step]).epsilon(1e-5));
  }
  CHECK(in_one.back() < 0.9 * in_one.front());
  join_slices<Words<4>>(later.names, whole[2]);
  const io::Safetensors a = load_checkpoint(whole[1]), b = load_checkpoint(whole[2]);
  REQUIRE(a.tensors().size() == b.tensors().size());
  for (const io::NamedTensor& tensor : a.tensors())
    if (tensor.tensor.dtype == Dtype::float32) {
      const auto x = tensor.tensor.as<float>(), y = b.find(tensor.name)->as<float>();
      REQUIRE(x.size() == y.size());
      double most = 0, size = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        most = std::max(most, std::abs(double(x[i]) - double(y[i])));
        size = std::max(size, std::abs(double(x[i])));
      }
      CAPTURE(tensor.name);
      CHECK(most <= 1e-5 * size);
    }
}
TEST_CASE("parameters alone, and another format; the whole file is that of the network without slices") {
  const ContextScope scope({.seed = 5});
  const Files parts("net", 2), whole("joined", 2);
  dist::run_ranks(2, [&](const dist::Communicator& ranks) {
    dist::create_mesh({{"slices", 2}});
    Words<2> net;
    net.init_parameters();
    save_checkpoint(net, parts[ranks.rank()]);
    save_checkpoint(net, parts[ranks.rank()] + ".npz");
  });
  Words<1> net;
  net.init_parameters();
  save_checkpoint(net, whole[0]);
  join_slices<Words<2>>(parts.names, whole[1]);
  CHECK(bytes_of(whole[1]) == bytes_of(whole[0]));
  join_slices<Words<2>>({parts[0] + ".npz", parts[1] + ".npz"}, whole[1]);
  CHECK(bytes_of(whole[1]) == bytes_of(whole[0]));
  for (int k = 0; k < 2; ++k) std::remove((parts[k] + ".npz").c_str());
}
TEST_CASE("what is wrong with the files is one sentence, and nothing is written") {
  const ContextScope scope({.seed = 5});
  const Files parts("wrong", 2), others("other", 2), to("to", 1);
  for (const Files* files : {&parts, &others})
    dist::run_ranks(2, [&](const dist::Communicator& ranks) {
      dist::create_mesh({{"slices", 2}});
      Words<2> net;
      net.init_parameters();
      if (files == &others) net.down.bias.values()[1] = 7;
      save_checkpoint(net, (*files)[ranks.rank()]);
    });
  const auto joining = [&](const std::vector<std::string>& from) {
    return error_of([&] { join_slices<Words<2>>(from, to[0]); });
  };
  CHECK(joining({parts[0]}) == "join_slices: 1 file for a network in 2 slices.");
  CHECK(joining({parts[0], others[1]}) == "join_slices: 'down.bias' is in '" + others[1] + "' not what it is in '" +
                                              parts[0] + "': the files are not of one moment of a training in slices.");
  CHECK(error_of([&] {
          join_slices<Words<4>>({parts[0], parts[1], parts[0], parts[1]}, to[0]);
        }).starts_with("'" + parts[0] + "': 'down.weight' has the shape [16, 16], the network needs float32 [16,8] "));
  CHECK(error_of([&] { cut_slices<Words<2>>(parts[0], others.names); })
            .starts_with("'" + parts[0] +
                         "': 'down.weight' has the shape [16, 16], the network needs float32 [16,32] for all"));
  CHECK(error_of([&] { cut_slices<Words<2>>(parts[0], {to[0]}); }) == "cut_slices: 1 file for a network in 2 slices.");
  CHECK(error_of([&] { cut_slices<Words<2>>("none.safetensors", others.names); }).find("none.safetensors") !=
        std::string::npos);
  CHECK(bytes_of(to[0]).empty());
}
