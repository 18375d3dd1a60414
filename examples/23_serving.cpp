// Lesson 23: a network behind HTTP, by the Open Inference Protocol (docs/serving.md).
// run: no
// link: serve
//
//     ./23_serving 8080
//     curl 127.0.0.1:8080/v2/models/digits
//     curl 127.0.0.1:8080/v2/models/digits/infer -d '{"inputs": [{"name": "image", "datatype": "FP32",
//       "shape": [1, 1, 28, 28], "data": [0, 0, ...]}]}'
//
#include <tenon/tenon.hpp>
#if __has_include(<boost/beast/http.hpp>) && __has_include(<nlohmann/json.hpp>)
#include <cstdio>
#include <cstdlib>

#include <tenon/serve.hpp>

using namespace tenon;
using dataset::Column, dataset::Columns;

struct Net : nn::Cell<Net> {
  nn::Conv2d<1, 8, 5> conv;
  nn::Dense<1568, 10> fc;
  constexpr auto construct(auto image) const {  // [n, 1, 28, 28] -> [n, 10]
    return fc(flatten(max_pool2d<2>(relu(conv(image)))));
  }
};

int main(int count, char** words) {
  const auto train =
      dataset::Digits{.usage = dataset::Usage::train, .size = 2000} | dataset::shuffle(2000) | dataset::batch(32);
  Net net;
  Model model{net, nn::SoftmaxCrossEntropyWithLogits{}, nn::Adam{.learning_rate = 2e-3f}};
  model.train(2, train, LossMonitor{25});
  const int port = count > 1 ? std::atoi(words[1]) : 8080;
  std::printf("serving on port %d until Ctrl-C\n", port);
  // The inputs of the network for one sample. Up to 32 images of several requests are computed together.
  serve<Columns<Column<float, Shape<1, 28, 28>, "image">>>("digits", model, {.port = port},
                                                           {.outputs = {"logits"}, .max_batch_size = 32});
}
#else
int main() {}  // Boost or nlohmann_json is not installed
#endif
