// oneDNN called from C++: convolutions in the layouts that it likes best. What a framework would do once, reordering
// operands, is not timed.
#include <memory>
#include <unordered_map>

#include <dnnl.hpp>

#include "serve.hpp"

using Memory = dnnl::memory;

namespace {
const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
dnnl::stream stream(engine);

Memory::desc plain(const Memory::dims& dims) {
  return {dims, Memory::data_type::f32, dims.size() == 5 ? Memory::format_tag::goihw : Memory::format_tag::nchw};
}
Memory::desc any(const Memory::dims& dims) { return {dims, Memory::data_type::f32, Memory::format_tag::any}; }
long count(const Memory::dims& dims) {
  long product = 1;
  for (const long extent : dims) product *= extent;
  return product;
}

/// The numbers of an operand in the layout that a primitive asks for.
Memory operand(const Memory::dims& dims, const Memory::desc& wanted, std::size_t first) {
  auto values = benchmark::numbers(std::size_t(count(dims)), first);
  Memory from(plain(dims), engine, values.data()), to(wanted, engine);
  dnnl::reorder(from, to).execute(stream, from, to);
  stream.wait();
  return to;
}

struct Run {
  dnnl::primitive primitive;
  std::unordered_map<int, Memory> arguments;
  Memory result;
  Memory::dims dims;

  void call() {
    primitive.execute(stream, arguments);
    stream.wait();
  }
  std::vector<double> some() {  // at most a thousand and some elements, from all over the result
    call();
    std::vector<float> values(std::size_t(count(dims)));
    Memory to(plain(dims), engine, values.data());
    dnnl::reorder(result, to).execute(stream, result, to);
    stream.wait();
    std::vector<double> some;
    for (std::size_t i = 0; i < values.size(); i += values.size() / 1024 + 1) some.push_back(double(values[i]));
    return some;
  }
};

Run make(const std::string& name) {
  long n, c, h, w, o, kh, kw, sh, sw, ph, pw, dh, dw, groups;
  char what[32];
  const int found =
      std::sscanf(name.c_str(), "conv/%31[a-z_]/%ldx%ldx%ldx%ld-%ldx%ldx%ld-s%ldx%ld-p%ldx%ld-d%ldx%ld-g%ld", what, &n,
                  &c, &h, &w, &o, &kh, &kw, &sh, &sw, &ph, &pw, &dh, &dw, &groups);
  if (found != 15) throw tenon::ValueError("no convolution " + name);
  const Memory::dims x{n, c, h, w},
      y{n, o, (h + 2 * ph - (kh - 1) * dh - 1) / sh + 1, (w + 2 * pw - (kw - 1) * dw - 1) / sw + 1};
  const Memory::dims weight =
      groups == 1 ? Memory::dims{o, c, kh, kw} : Memory::dims{groups, o / groups, c / groups, kh, kw};
  const Memory::dims strides{sh, sw}, dilations{dh - 1, dw - 1}, padding{ph, pw};
  const std::string kind = what;
  const auto algorithm = dnnl::algorithm::convolution_auto;
  const dnnl::convolution_forward::primitive_desc forward(
      engine, kind == "forward" ? dnnl::prop_kind::forward_inference : dnnl::prop_kind::forward_training, algorithm,
      any(x), any(weight), any(y), strides, dilations, padding, padding);
  const std::size_t second = 12345, third = 54321;  // where the numbers of these operands begin
  if (kind == "forward") {
    const Memory result(forward.dst_desc(), engine);
    return {dnnl::convolution_forward(forward),
            {{DNNL_ARG_SRC, operand(x, forward.src_desc(), 0)},
             {DNNL_ARG_WEIGHTS, operand(weight, forward.weights_desc(), second)},
             {DNNL_ARG_DST, result}},
            result,
            y};
  }
  if (kind == "backward_input") {
    const dnnl::convolution_backward_data::primitive_desc d(engine, algorithm, any(x), any(weight), any(y), strides,
                                                            dilations, padding, padding, forward);
    const Memory result(d.diff_src_desc(), engine);
    return {dnnl::convolution_backward_data(d),
            {{DNNL_ARG_WEIGHTS, operand(weight, d.weights_desc(), second)},
             {DNNL_ARG_DIFF_DST, operand(y, d.diff_dst_desc(), third)},
             {DNNL_ARG_DIFF_SRC, result}},
            result,
            x};
  }
  const dnnl::convolution_backward_weights::primitive_desc d(engine, algorithm, any(x), any(weight), any(y), strides,
                                                             dilations, padding, padding, forward);
  const Memory result(d.diff_weights_desc(), engine);
  return {dnnl::convolution_backward_weights(d),
          {{DNNL_ARG_SRC, operand(x, d.src_desc(), 0)},
           {DNNL_ARG_DIFF_DST, operand(y, d.diff_dst_desc(), third)},
           {DNNL_ARG_DIFF_WEIGHTS, result}},
          result,
          weight};
}

/// The most that it may use: dnnl_cpu_isa_t has a bit for each instruction set and all that it includes.
std::string isa() {
  const unsigned bits = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto has = [=](dnnl::cpu_isa isa) {
    const unsigned all = static_cast<unsigned>(isa);
    return (bits & all) == all;
  };
  return has(dnnl::cpu_isa::avx512_core) ? "AVX-512" : has(dnnl::cpu_isa::avx2) ? "AVX2" : "less than AVX2";
}
}  // namespace

int main() {
  benchmark::serve(
      [](const std::string& name, const std::string&) {
        const auto run = std::make_shared<Run>(make(name));
        return benchmark::Work{
            [=] { return run->some(); },
            [=](long calls) { return benchmark::seconds_of(calls, [&] { return run->call(), run.get(); }); }};
      },
      isa);
}
