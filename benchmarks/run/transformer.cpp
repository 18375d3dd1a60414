// Layers of transformers and a dense layer on their output, for benchmarks/groups/transformer.py.
#include <tenon/more.hpp>

#include "classifier.hpp"

using namespace tenon;

namespace {
constexpr int length = 64, width = 256, heads = 4;
constexpr nn::TransformerConfig config{.dim_feedforward = 1024, .dropout = 0};

struct Encoder : nn::Cell<Encoder> {
  nn::TransformerEncoderLayer<width, heads, config> layer;
  nn::Dense<length * width, 10> fc;
  constexpr auto construct(auto x) const { return fc(ops::flatten(layer(x))); }
};
struct Decoder : nn::Cell<Decoder> {
  nn::TransformerDecoderLayer<width, heads, config> layer;
  nn::Dense<length * width, 10> fc;
  constexpr auto construct(auto x) const { return fc(ops::flatten(layer(x, x))); }
};

template <class Net>
benchmark::Work work(const std::string& weights, const std::string& name, const std::string& variant) {
  const long batch = benchmark::last_number(name);
  const Mode mode = benchmark::mode_of(variant);
  if (name.find("/train/") != name.npos)
    return benchmark::training<Net, Shape<length, width>>(weights, mode, batch, 10);
  return benchmark::forward<Net>(weights, mode, batch, Shape<length, width>{});
}
}  // namespace

int main(int argc, char** argv) {
  return benchmark::main_of(argc, argv, [](int threads, const std::string& folder) -> benchmark::Maker {
    set_context({.num_threads = threads, .seed = 1});
    return [encoder = benchmark::initial_weights<Encoder>(folder, "encoder"),
            decoder = benchmark::initial_weights<Decoder>(folder, "decoder")](const std::string& name,
                                                                              const std::string& variant) {
      return name.starts_with("encoder/") ? work<Encoder>(encoder, name, variant)
                                          : work<Decoder>(decoder, name, variant);
    };
  });
}
