// What benchmarks/refit.py asks: the constants of a family of kernels, which plan a work gets from them, and how long
// it takes. One line each on stdin, one answer each on stdout:
//
//   costs FAMILY                          NAME VALUE NAME VALUE ..., the constants of its struct
//   plan FAMILY WORK NAME VALUE           which plan the work has if one constant has this value, as one word
//   time FAMILY WORK NAME VALUE SECONDS   the least microseconds of a call of this plan, of calls for so many seconds;
//                                         of the processor, so that waiting for it does not count
//   forget -                              frees the memory of all works
//
// A work is its sizes and what is computed, such as rows-y,8,64,56,56,64,3,3,1,1,1,1. One thread.
#include <ctime>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>

#include <tenon/ops/winograd_conv2d.hpp>
#include <tenon/tenon.hpp>

#include "serve.hpp"

namespace benchmark {
using namespace tenon;
using namespace tenon::kernel;
using namespace tenon::kernel::detail;

/// A plan as a word that differs if the plan does, and a call by it.
struct Planned {
  std::string key;
  std::function<void()> run;
};
/// A work's operands, as large as any of its tensors, and scratch.
struct Memory {
  std::vector<float> a, b, c;
  std::unique_ptr<char, decltype(&std::free)> scratch{nullptr, &std::free};
  std::size_t bytes = 0;

  void* workspace(std::size_t needed) {
    if (needed > bytes) {
      bytes = (needed + 63) / 64 * 64;
      scratch.reset(static_cast<char*>(std::aligned_alloc(64, bytes)));
    }
    return scratch.get();
  }
};
template <class... T>
std::string word(const T&... numbers) {
  std::ostringstream out;
  ((out << '_' << numbers), ...);
  return out.str();
}

/// A work of a convolution: `part` is y, dx, or dw.
struct ConvWork {
  bool blocks;
  std::string part;
  Conv2dSizes s;
};
ConvWork conv_work_of(const std::string& what, const std::vector<long>& v) {
  Conv2dSizes s{v.at(0),      v.at(1),      v.at(2),      v.at(3),      v.at(4),       0, 0, int(v.at(5)),
                int(v.at(6)), int(v.at(7)), int(v.at(8)), int(v.at(9)), int(v.at(10)), 1, 1, 1};
  s.oh = (s.h + 2 * s.pad_top - s.kh) / s.stride_h + 1, s.ow = (s.w + 2 * s.pad_left - s.kw) / s.stride_w + 1;
  const std::string part = what.substr(what.find('-') + 1);
  return {what.rfind("blocks", 0) == 0, part, part == "dx" ? s.for_input() : s};
}
/// The tensors of a convolution, in samples of whole blocks.
void fill(Memory& m, const Conv2dSizes& s, bool weight) {
  const auto count = [](long n) { return std::size_t(n); };
  const long n = whole_blocks(s.n), x = n * s.c * s.h * s.w, y = n * s.o * s.oh * s.ow, w = s.o * s.c * s.taps();
  m.a = numbers(count(s.input_gradient ? y : x));
  m.b = numbers(count(weight ? y : w), 7);
  m.c.assign(count(weight ? w : s.input_gradient ? x : y), 0.0f);
}

Planned planned(const ConvCosts& costs, const std::string& what, const std::vector<long>& sizes, Memory& m) {
  const ConvWork w = conv_work_of(what, sizes);
  const Conv2dSizes s = w.s;
  if (m.a.empty()) fill(m, s, false);
  if (w.blocks) {
    const Nchw16nPlan c = nchw16n_plan(geometry_of(s), costs);
    const long items = nchw16n_conv2d_items(s);
    void* const scratch = m.workspace(nchw16n_scratch(c).total);
    return {word(c.copied, c.band, c.pass, c.pass >= c.worth_listing), [=, &m] {
              nchw16n_convolve(c, s, m.a.data(), m.b.data(), m.c.data(), 0, items, scratch, {}, nchw16n_tiles<0>());
            }};
  }
  const ConvPlan c = conv_plan<float>(s, true, costs);
  const std::size_t bytes = c.product         ? gemm_workspace<float>(c.rows, c.height * c.width, c.planes)
                            : c.whole_images  ? conv2d_workspace<float>(s)
                            : c.channels_last ? channels_last_scratch<float>(c).total
                                              : conv_scratch<float>(c).total;
  void* const scratch = m.workspace(bytes);
  const long items = conv2d_items(s);
  return {word(c.product, c.whole_images, c.channels_last, c.in_place, c.image.copy_step, c.image.pitch, c.band),
          [=, &m] {
            convolve_by<float, ConvWay::any>(s, c, {m.a.data(), m.b.data(), m.c.data(), s.n, s.groups, {}}, 0, items,
                                             scratch);
          }};
}

Planned planned(const WeightCosts& costs, const std::string& what, const std::vector<long>& sizes, Memory& m) {
  const ConvWork w = conv_work_of(what, sizes);
  if (m.a.empty()) fill(m, w.s, true);
  if (w.blocks) {
    const Conv2dSizes s = w.s;
    const Nchw16nPlan c = nchw16n_weight_image(s, costs);
    const WeightPlanes by_planes = weight_planes(s, costs);
    const std::size_t planes = std::size_t(weight_planes_scratch(s, by_planes).total) * sizeof(float),
                      taps = std::size_t(s.oh * s.ow) * sizeof(WeightPixel) +
                             std::size_t(c.planes * c.image_rows * c.pitch * block_pixel);
    void* const scratch = m.workspace(planes + taps);
    const std::string key = by_planes.used ? word(1, by_planes.tiles, by_planes.row_blocks) : word(0, c.planes);
    return {key, [=, &m] {
              nchw16n_weight_by<Nchw16nWeightWay::any>(s, c, by_planes, m.a.data(), m.b.data(), m.c.data(), 0,
                                                       nchw16n_conv2d_backward_weight_items(s), scratch,
                                                       nchw16n_weight_tiles<0>());
            }};
  }
  const Conv2dSizes s = fewer_lanes(w.s);
  const bool swapped = s.c != w.s.c;
  const WeightPlan p = weight_plan<float>(s, costs);
  void* const scratch = m.workspace(weight_scratch<float>(p, s).total);
  return {word(p.pass, p.band, p.leaves_out, p.in_place), [=, &m] {
            const float *const x = swapped ? m.b.data() : m.a.data(), *const dy = swapped ? m.a.data() : m.b.data();
            weight_by(s, p, swapped, x, dy, m.c.data(), 0, s.groups * p.column_blocks * p.row_blocks, scratch);
          }};
}

Planned planned(const WinogradCosts& costs, const std::string& what, const std::vector<long>& sizes, Memory& m) {
  const ConvWork w = conv_work_of(what, sizes);
  const Conv2dSizes s = w.s;
  if (m.a.empty()) fill(m, s, w.part == "dw");
  if (w.part == "dw") {
    const WinogradWeight p = winograd_weight(s, w.blocks, costs);
    void* const scratch = m.workspace(winograd_weight_scratch(p).total);
    return {word(p.pass, p.chunk),
            [=, &m] { WinogradWeightProducts(p, m.a.data(), m.b.data(), m.c.data(), scratch).run(0, p.items); }};
  }
  const WinogradPlan p = winograd_plan(s, w.blocks, costs);
  void* const scratch = m.workspace(winograd_scratch(p).total);
  const long near = p.blocks ? 0 : p.near_bytes / (winograd::products * covered_columns<float>(p.group) * 4);
  return {word(p.chunk, p.group, near < p.planes ? near : p.planes),
          [=, &m] { WinogradConv(p, m.a.data(), m.b.data(), m.c.data(), scratch, false).run(0, p.items(), {}); }};
}

Planned planned(const ProductCosts& costs, const std::string& what, const std::vector<long>& v, Memory& m) {
  Gemm<float> g = gemm_of<float>(v.at(0), v.at(1), v.at(2), what.find("at") != std::string::npos,
                                 what.find("bt") != std::string::npos);
  if (m.a.empty()) {
    m.a = numbers(std::size_t(g.m * g.k)), m.b = numbers(std::size_t(g.k * g.n), 7);
    m.c.assign(std::size_t(g.m * g.n), 0.0f);
  }
  const ProductCosts* const own = new ProductCosts(costs);  // the plan refers to them as long as the program runs
  const GemmPlan<float> p = gemm_plan(g, false, *own);
  void* const scratch = m.workspace(gemm_workspace<float>(g.m, g.n, g.k));
  // else GemmBlock does not pack A in any case
  const bool scattered = simd_bytes == 64 || p.a_col != 1 || p.a_row * long(sizeof(float)) % gemm_competing_bytes == 0;
  return {word(p.swapped, scattered && gemm_packs_a<float>(p.rows, p.chunk_columns, costs),
               p.k * p.b_row * long(sizeof(float)) <= costs.near_bytes),
          [=, &m]() mutable {
            g.a = m.a.data(), g.b = m.b.data(), g.c = m.c.data();
            GemmPlan<float> here = gemm_plan(g, false, *own);
            each_gemm_block<float>(here, g, 0, here.row_chunks * here.column_chunks, scratch, nullptr,
                                   [](const GemmPart&) {});
          }};
}

double processor_seconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

/// The names of a family's constants, which are all of type long, in order.
template <class Costs>
inline constexpr std::string_view names[1]{};
template <>
inline constexpr std::string_view names<ConvCosts>[] {
  "packing", "packing_far", "packing_apart", "packing_bfloat16", "cached_weight_bytes", "narrow", "phases", "few_steps",
      "few_planes", "large_kernel", "writing", "sorting", "lone_vector", "narrow_pixels", "narrow_apart", "copying",
      "copying_margin", "image_bytes", "sum_columns", "block_image_bytes", "worth_listing", "small_result"
};
template <>
inline constexpr std::string_view names<WeightCosts>[] {
  "rows", "most_per_padding", "pair_steps", "image_bytes", "held_bytes", "planes_percent", "alone"
};
template <>
inline constexpr std::string_view names<WinogradCosts>[] {
  "image", "most_image", "few_image", "group", "few_group", "near", "sums", "kept"
};
template <>
inline constexpr std::string_view names<ProductCosts>[] {
  "packing", "packing_across", "transposing", "scattered", "crowded_bytes", "near_pages_bytes", "few_panels",
      "near_bytes", "width_bytes", "pairs_width_bytes", "deep_units", "deep_columns", "row_elements", "right_elements",
      "left_elements", "multiplications", "results"
};

template <class Costs>
struct Family {
  static constexpr std::size_t count = std::size(names<Costs>);
  static_assert(count * sizeof(long) == sizeof(Costs), "each constant has its name");
  static long& number(Costs& costs, std::size_t i) { return reinterpret_cast<long*>(&costs)[i]; }

  static std::string costs() {
    Costs now;
    std::ostringstream out;
    for (std::size_t i = 0; i < count; ++i) out << names<Costs>[i] << ' ' << number(now, i) << ' ';
    return out.str();
  }
  static Planned plan(const std::string& work, const std::string& name, long value,
                      std::map<std::string, Memory>& all) {
    Costs costs;
    for (std::size_t i = 0; i < count; ++i)
      if (names<Costs>[i] == name) number(costs, i) = value;
    std::istringstream in(work);
    std::string what, size;
    std::getline(in, what, ',');
    std::vector<long> sizes;
    while (std::getline(in, size, ',')) sizes.push_back(std::stol(size));
    return planned(costs, what, sizes, all[work]);
  }
};

std::string answer(const std::string& order, const std::string& family, std::istream& in,
                   std::map<std::string, Memory>& memory) {
  const auto of = [&]<class Costs>(Family<Costs> f) -> std::string {
    if (order == "costs") return f.costs();
    std::string work, name;
    long value = 0;
    double seconds = 0;
    in >> work >> name >> value;
    const Planned p = f.plan(work, name, value, memory);
    if (order == "plan") return p.key;
    in >> seconds;
    p.run();
    double least = 1e9, all = 0;
    for (long calls = 1; all < seconds;) {
      const double start = processor_seconds();
      for (long i = 0; i < calls; ++i) p.run();
      const double taken = processor_seconds() - start;
      all += taken;
      least = std::min(least, taken / double(calls));
      if (taken < seconds / 16) calls *= 2;
    }
    std::ostringstream out;
    out << least * 1e6;
    return out.str();
  };
  if (family == "conv") return of(Family<ConvCosts>());
  if (family == "weight") return of(Family<WeightCosts>());
  if (family == "winograd") return of(Family<WinogradCosts>());
  if (family == "product") return of(Family<ProductCosts>());
  throw ValueError("no family " + family);
}

}  // namespace benchmark

int main() {
  const tenon::FlushDenormals flush;
  std::map<std::string, benchmark::Memory> memory;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream in(line);
    std::string order, family;
    in >> order >> family;
    if (order == "forget") memory.clear(), std::cout << std::endl;
    else std::cout << benchmark::answer(order, family, in, memory) << std::endl;
  }
}
