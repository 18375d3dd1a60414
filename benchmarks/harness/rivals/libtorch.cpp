// PyTorch called from C++, without Python in between: operators on tiny tensors, where the call is all there is.
#include <ATen/Version.h>
#include <torch/torch.h>

#include <memory>

#include "serve.hpp"

namespace {
torch::Tensor four(std::size_t first) { return torch::tensor(benchmark::numbers(4, first)); }

std::vector<double> values(const torch::Tensor& tensor) {
  const auto flat = tensor.contiguous();
  return {flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel()};
}

benchmark::Work make(const std::string& name) {
  const auto x = four(0), y = four(12345);
  if (name == "eager/add/4") {
    const auto call = [=] {
      const c10::InferenceMode inference;
      return x + y;
    };
    return {[=] { return values(call()); },
            [=](long calls) {
              const c10::InferenceMode inference;
              return benchmark::seconds_of(calls, [&] { return (x + y).data_ptr(); });
            }};
  }
  if (name != "eager/add_sum_backward/4") throw tenon::ValueError("no work " + name);
  const auto p = four(0).requires_grad_();
  const auto call = [=] {
    p.mutable_grad() = torch::Tensor();
    const auto loss = (p + y).sum();
    loss.backward();
    return loss;
  };
  return {[=] {
            auto all = values(call());
            for (const double g : values(p.grad())) all.push_back(g);
            return all;
          },
          [=](long calls) { return benchmark::seconds_of(calls, [&] { return call().data_ptr(); }); }};
}
}  // namespace

int main(int argc, char** argv) {
  torch::set_num_threads(argc > 1 ? std::atoi(argv[1]) : 1);
  benchmark::serve([](const std::string& name, const std::string&) { return make(name); },
                   [] { return "ATen " + at::get_cpu_capability(); });
}
