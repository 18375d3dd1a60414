// The kernels of Loop and LoopGrad: they run the graph of the body turn by turn.
#pragma once
#include <tenon/ops/control/loop_run.hpp>

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

namespace detail {
/// The graph of a body.
template <class Around, int body, bool keeps>
struct ForwardSource {
  using Outer = typename Around::source_type;
  static constexpr const Entry* entries = Outer::entries;
  static constexpr Builder trace() { return forward_of_body(Outer::trace(), body, keeps); }
};
/// The tables of a loop. `keeps`: for its derivative.
template <class Around, int body, int turns, int carried, int sliced, bool keeps>
struct LoopTables {
  using Outer = typename Around::source_type;
  struct Counts {
    int inputs, outputs, inner;
  };
  static constexpr LoopShape shape{body, -1, turns, carried, sliced};
  static constexpr Counts count() {
    const Builder b = Outer::trace();
    const Body traced = body_of(b, body);
    Counts counts{traced.inputs(), traced.outputs, 0};
    if constexpr (keeps) counts.inner = int(differentiate(b, body).kept().size());
    return counts;
  }
  static constexpr Counts counts = count();
  static constexpr auto make() {
    LoopTable<counts.inputs, counts.outputs, counts.inner> table;
    const Builder b = Outer::trace();
    if constexpr (keeps) {
      const BodyGradient d = differentiate(b, body);
      describe_loop(b, shape, &d, table);
    } else describe_loop(b, shape, nullptr, table);
    return table;
  }
  static constexpr auto table = make();
  static LoopView view() {
    LoopView v{table.input,    table.output, table.kept, table.plan, counts.inputs,
               counts.outputs, counts.inner, carried,    turns};
    int members[ops::bundle_kinds]{};
    for (int i = 0; i < counts.inputs; ++i)
      v.several[int(table.input[i].kind)] = ++members[int(table.input[i].kind)] > 1;
    return v;
  }
};

/// The inputs of a body that have a gradient which something reads.
template <class Tables, class Config>
constexpr std::vector<int> wanted_gradients(const Config& config, unsigned parts) {
  const BodyGradient d = differentiate(Tables::Outer::trace(), config.body);
  std::vector<int> wanted;
  for (int i = 0; i < d.inputs; ++i) {
    const ops::BundleKind kind = Tables::table.input[i].kind;
    const int result = config.result_of(kind);
    const bool is_read = i < config.carried || result == 0 || (parts >> result & 1);
    if (d.gradient[std::size_t(i)] >= 0 && is_read) wanted.push_back(i);
  }
  return wanted;
}
template <class Tables, class Call>
struct BackwardSource {
  static constexpr const Entry* entries = Tables::Outer::entries;
  static constexpr Builder trace() {
    return backward_of_body(Tables::Outer::trace(), Call::config().body,
                            wanted_gradients<Tables>(Call::config(), unsigned(Call::parts)));
  }
};
template <int N>
struct GradientInputs {
  short of[N + 1]{};
};
}  // namespace detail

namespace kernel {
/// The kernel of Loop on a target whose kernels the caller of run() may call.
template <class Target>
struct LoopKernel {
  template <class Call>
  static constexpr long items(long) {
    return 1;
  }
  template <class Call>
  static constexpr bool keeps = Call::config().kept > 0 && (Call::config().kept_result() == 0 ||
                                                            (Call::parts >> Call::config().kept_result() & 1));
  template <class Call>
  using Tables = tenon::detail::LoopTables<typename Call::Graph, Call::config().body, Call::config().turns,
                                           Call::config().carried, Call::config().sliced, keeps<Call>>;
  template <class Call>
  using Body =
      tenon::detail::CompiledBody<tenon::detail::ForwardSource<typename Call::Graph, Call::config().body, keeps<Call>>,
                                  typename Call::Graph>;
  template <class Call>
  static constexpr long workspace(long n) {
    if constexpr (requires { typename Call::Graph; })
      return tenon::detail::loop_workspace<Target, tenon::detail::LoopForward>(Tables<Call>::view(),
                                                                               Body<Call>::program, n);
    else return 1;
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    constexpr auto& c = Call::config();
    tenon::detail::LoopView v = Tables<Call>::view();
    const auto result = [&](int k) {
      void* const at = k < 0                  ? nullptr
                       : k == 0               ? a.buffer[Arguments::result_at]
                       : Call::parts >> k & 1 ? a.buffer[Arguments::further_at(Call::operands, k)]
                                              : nullptr;
      return static_cast<std::byte*>(at);
    };
    for (int k = 0; k < ops::bundle_kinds; ++k) {
      const auto kind = static_cast<ops::BundleKind>(k);
      if (c.has_operand(kind)) v.in[k] = static_cast<std::byte*>(a.buffer[Arguments::operand_at(c.operand_of(kind))]);
      if (k < ops::result_kinds && c.result[k]) v.out[k] = result(c.result_of(kind));
    }
    if constexpr (keeps<Call>) v.kept_at = result(c.kept_result());
    tenon::detail::run_loop<Target, tenon::detail::LoopForward>(v, Body<Call>::program, a);
  }
};
/// The same of LoopGrad.
template <class Target>
struct LoopGradKernel {
  template <class Call>
  static constexpr long items(long) {
    return 1;
  }
  template <class Call>
  using Tables = tenon::detail::LoopTables<typename Call::Graph, Call::config().body, Call::config().turns,
                                           Call::config().carried, Call::config().sliced, true>;
  template <class Call>
  using Body = tenon::detail::CompiledBody<tenon::detail::BackwardSource<Tables<Call>, Call>, typename Call::Graph>;
  template <class Call>
  static constexpr int gradients =
      int(tenon::detail::wanted_gradients<Tables<Call>>(Call::config(), unsigned(Call::parts)).size());
  template <class Call>
  static constexpr auto gradient_inputs() {
    tenon::detail::GradientInputs<gradients<Call>> made;
    int k = 0;
    for (const int i : tenon::detail::wanted_gradients<Tables<Call>>(Call::config(), unsigned(Call::parts)))
      made.of[k++] = short(i);
    return made;
  }
  template <class Call>
  static constexpr auto inputs = gradient_inputs<Call>();
  template <class Call>
  static tenon::detail::LoopView view() {
    tenon::detail::LoopView v = Tables<Call>::view();
    v.gradient_input = inputs<Call>.of, v.gradients = gradients<Call>;
    return v;
  }
  template <class Call>
  static constexpr long workspace(long n) {
    if constexpr (requires { typename Call::Graph; })
      return tenon::detail::loop_workspace<Target, tenon::detail::LoopBackward>(view<Call>(), Body<Call>::program, n);
    else return 1;
  }
  template <class Call>
  static void run(const Arguments& a, long, long) {
    constexpr auto& c = Call::config();
    tenon::detail::LoopView v = view<Call>();
    int operand = 0;
    const auto next = [&] { return static_cast<std::byte*>(a.buffer[Arguments::operand_at(operand++)]); };
    v.kept_at = next();
    for (const ops::BundleKind kind : {ops::BundleKind::fixed, ops::BundleKind::other})
      if (c.operands >> int(kind) & 1) v.in[int(kind)] = next();
    for (int k = 0; k < int(ops::BundleKind::other); ++k)
      if (c.given >> k & 1) v.given[k] = next();
    for (int k = 0; k < ops::bundle_kinds; ++k)
      if (c.elements[k]) {
        const int at = c.result_of(static_cast<ops::BundleKind>(k));
        void* const result = at == 0                 ? a.buffer[Arguments::result_at]
                             : Call::parts >> at & 1 ? a.buffer[Arguments::further_at(Call::operands, at)]
                                                     : nullptr;
        v.out[k] = static_cast<std::byte*>(result);
      }
    tenon::detail::run_loop<Target, tenon::detail::LoopBackward>(v, Body<Call>::program, a);
  }
};
}  // namespace kernel

template <>
struct Kernel<Cpu, ops::Loop> : kernel::LoopKernel<Cpu> {};
template <>
struct Kernel<Cpu, ops::LoopGrad> : kernel::LoopGradKernel<Cpu> {};
template <>
struct Kernel<Cuda, ops::Loop> : kernel::LoopKernel<Cuda> {};
template <>
struct Kernel<Cuda, ops::LoopGrad> : kernel::LoopGradKernel<Cuda> {};
template <>
struct Kernel<Reference, ops::Loop> : kernel::LoopKernel<Reference> {};
template <>
struct Kernel<Reference, ops::LoopGrad> : kernel::LoopGradKernel<Reference> {};

}  // namespace tenon
TENON_INT_SIZES_END
