// The kernels of Loop and LoopGrad: they run the graph of the body turn by turn.
#pragma once
#include <tenon/ops/control/loop_backward.hpp>
#include <tenon/ops/control/while_run.hpp>

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
/// The tables of a body. `keeps`: for its derivative.
template <class Around, LoopShape shape, bool keeps>
struct LoopTables {
  using Outer = typename Around::source_type;
  struct Counts {
    int inputs, outputs, inner;
  };
  static constexpr int body = shape.body;
  static constexpr Counts count() {
    const Builder b = Outer::trace();
    const Body traced = body_of(b, body);
    Counts found{traced.inputs(), traced.outputs, 0};
    if constexpr (keeps) found.inner = int(differentiate(b, body).kept().size());
    return found;
  }
  static constexpr Counts counts = count();
  static constexpr auto make() {
    LoopTable<counts.inputs, counts.outputs, counts.inner> made;
    const Builder b = Outer::trace();
    if constexpr (keeps) {
      const BodyGradient d = differentiate(b, body);
      describe_loop(b, shape, &d, made);
    } else describe_loop(b, shape, nullptr, made);
    return made;
  }
  static constexpr auto table = make();
  static LoopView view() {
    LoopView v{table.input,    table.output, table.kept,    table.plan, counts.inputs,
               counts.outputs, counts.inner, shape.carried, shape.turns};
    int members[ops::bundle_kinds]{};
    for (int i = 0; i < counts.inputs; ++i)
      v.several[int(table.input[i].kind)] = ++members[int(table.input[i].kind)] > 1;
    return v;
  }
};

/// The inputs of a body that have a gradient which something reads.
template <class Tables>
constexpr std::vector<int> wanted_gradients(const ops::LoopGradConfig& config, unsigned parts) {
  const BodyGradient d = differentiate(Tables::Outer::trace(), Tables::body);
  std::vector<int> wanted;
  for (int i = 0; i < d.inputs; ++i) {
    const BodyValue& value = Tables::table.input[i];
    const int result = config.result_of(value.kind);
    const bool is_read = value.role == BodyRole::carried || result == 0 || (parts >> result & 1);
    if (d.gradient[std::size_t(i)] >= 0 && is_read) wanted.push_back(i);
  }
  return wanted;
}
template <class Tables, class Call>
struct BackwardSource {
  static constexpr const Entry* entries = Tables::Outer::entries;
  static constexpr Builder trace() {
    return backward_of_body(Tables::Outer::trace(), Tables::body,
                            wanted_gradients<Tables>(Call::config(), unsigned(Call::parts)));
  }
};
template <int N>
struct GradientInputs {
  short of[N + 1]{};
};

/// A body as the kernel of Call runs it, forward.
template <class Call, LoopShape shape, bool keeps>
struct ForwardBody {
  using Tables = LoopTables<typename Call::Graph, shape, keeps>;
  using Source = ForwardSource<typename Call::Graph, shape.body, keeps>;
  static constexpr const BodyProgram& program = CompiledBody<Source, typename Call::Graph>::program;
  static LoopView view() { return Tables::view(); }
};
/// The same backward.
template <class Call, LoopShape shape>
struct BackwardBody {
  using Tables = LoopTables<typename Call::Graph, shape, true>;
  using Source = BackwardSource<Tables, Call>;
  static constexpr const BodyProgram& program = CompiledBody<Source, typename Call::Graph>::program;
  static constexpr int gradients = int(wanted_gradients<Tables>(Call::config(), unsigned(Call::parts)).size());
  static constexpr auto make_inputs() {
    GradientInputs<gradients> made;
    int k = 0;
    for (const int i : wanted_gradients<Tables>(Call::config(), unsigned(Call::parts))) made.of[k++] = short(i);
    return made;
  }
  static constexpr auto inputs = make_inputs();
  static LoopView view() {
    LoopView v = Tables::view();
    v.gradient_input = inputs.of, v.gradients = gradients;
    v.counted = !shape.branch && Call::config().condition >= 0;
    return v;
  }
};

/// Result k of a call, null if nothing reads it.
template <class Call>
std::byte* result_address(const Arguments& a, int k) {
  void* const at = k == 0                 ? a.buffer[Arguments::result_at]
                   : Call::parts >> k & 1 ? a.buffer[Arguments::further_at(Call::operands, k)]
                                          : nullptr;
  return static_cast<std::byte*>(at);
}
/// Whether a call keeps values for its derivative.
template <class Call>
inline constexpr bool keeps_values = Call::config().kept > 0 && (Call::config().kept_result() == 0 ||
                                                                 (Call::parts >> Call::config().kept_result() & 1));

/// Sets all results to 0.
template <class Target, class Call>
void clear_bundles(const Arguments& a) {
  const ResultTypes types = Call::config().results();
  for (int k = 0; k < types.count; ++k)
    if (std::byte* const to = result_address<Call>(a, k))
      if (const long bytes = types[k].bytes(a.n)) Moves<Target>::clear(to, bytes);
}
/// Bodies write the values of a bundle alone: what lies between them is 0 for an observer.
template <class Target, class Call>
void clear_observed_bundles([[maybe_unused]] const Arguments& a) {
  if constexpr (observable)
    if (observation()) clear_bundles<Target, Call>(a);
}

/// Sets the addresses of bundles. `before`: operands before them.
template <class Call>
void set_bundles(LoopView& v, const Arguments& a, int before) {
  constexpr auto& c = Call::config();
  for (int k = 0; k < ops::bundle_kinds; ++k) {
    const auto kind = static_cast<ops::BundleKind>(k);
    if (c.has_operand(kind))
      v.in[k] = static_cast<std::byte*>(a.buffer[Arguments::operand_at(before + c.operand_of(kind))]);
    if (k < ops::result_kinds && c.result[k]) v.out[k] = result_address<Call>(a, c.result_of(kind));
  }
  if constexpr (keeps_values<Call>) v.kept_at = result_address<Call>(a, c.kept_result());
}
/// The same of the gradient.
template <class Call>
void set_gradient_bundles(LoopView& v, const Arguments& a, int before) {
  constexpr auto& c = Call::config();
  int operand = before;
  const auto next = [&] { return static_cast<std::byte*>(a.buffer[Arguments::operand_at(operand++)]); };
  v.kept_at = next();
  for (const ops::BundleKind kind : {ops::BundleKind::fixed, ops::BundleKind::other})
    if (c.operands >> int(kind) & 1) v.in[int(kind)] = next();
  for (int k = 0; k < int(ops::BundleKind::other); ++k)
    if (c.given >> k & 1) v.given[k] = next();
  for (int k = 0; k < ops::bundle_kinds; ++k)
    if (c.elements[k]) v.out[k] = result_address<Call>(a, c.result_of(static_cast<ops::BundleKind>(k)));
}

/// The body of a loop, and its condition.
template <class Call>
using LoopBody =
    ForwardBody<Call,
                LoopShape{Call::config().body, Call::config().turns, Call::config().carried, Call::config().sliced},
                keeps_values<Call>>;
template <class Call>
using LoopCondition =
    ForwardBody<Call, LoopShape{Call::config().condition, 1, Call::config().carried, 0, Call::config().body}, false>;
template <class Call>
using LoopGradBody = BackwardBody<Call, LoopShape{Call::config().body, Call::config().turns, Call::config().carried,
                                                  Call::config().sliced}>;
/// f with how a loop runs, and what.
template <class Target, class Call, class F>
auto with_loop(F f) {
  if constexpr (Call::config().condition < 0)
    return f(std::type_identity<LoopForward<Target>>(), LoopBody<Call>::program);
  else {
    const LoopView asked = LoopCondition<Call>::view();
    const WhileBody both{LoopBody<Call>::program, LoopCondition<Call>::program, asked, Call::config().turns};
    return f(std::type_identity<WhileForward<Target>>(), both);
  }
}
}  // namespace detail

namespace kernel {
template <class Target>
template <class Call>
constexpr long LoopKernel<Target>::workspace(long n) {
  if constexpr (requires { typename Call::Graph; })
    return tenon::detail::with_loop<Target, Call>([n]<class Run>(std::type_identity<Run>, const auto& body) {
      return tenon::detail::loop_workspace<Target, Run>(tenon::detail::LoopBody<Call>::view(), body, n);
    });
  else return 1;
}
template <class Target>
template <class Call>
void LoopKernel<Target>::run(const Arguments& a, long, long) {
  tenon::detail::LoopView v = tenon::detail::LoopBody<Call>::view();
  tenon::detail::clear_observed_bundles<Target, Call>(a);
  tenon::detail::set_bundles<Call>(v, a, 0);
  tenon::detail::with_loop<Target, Call>(
      [&]<class Run>(std::type_identity<Run>, const auto& body) { tenon::detail::run_loop<Target, Run>(v, body, a); });
}
template <class Target>
template <class Call>
constexpr long LoopGradKernel<Target>::workspace(long n) {
  if constexpr (requires { typename Call::Graph; }) {
    using Body = tenon::detail::LoopGradBody<Call>;
    return tenon::detail::loop_workspace<Target, tenon::detail::LoopBackward<Target>>(Body::view(), Body::program, n);
  } else return 1;
}
template <class Target>
template <class Call>
void LoopGradKernel<Target>::run(const Arguments& a, long, long) {
  using Body = tenon::detail::LoopGradBody<Call>;
  tenon::detail::LoopView v = Body::view();
  tenon::detail::set_gradient_bundles<Call>(v, a, 0);
  if constexpr (Call::config().condition >= 0 && Moves<Target>::on_host)
    v.turns = *reinterpret_cast<const std::int64_t*>(v.kept_at);
  tenon::detail::run_loop<Target, tenon::detail::LoopBackward<Target>>(v, Body::program, a);
}
}  // namespace kernel

}  // namespace tenon
TENON_INT_SIZES_END
