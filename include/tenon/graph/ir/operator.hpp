// What an operator is to the graph: a type with a shape rule and a derivative, found through one constant each.
#pragma once
#include <bit>
#include <concepts>
#include <string_view>
#include <type_traits>

#include <tenon/core/text/fixed_string.hpp>
#include <tenon/core/text/type_name.hpp>
#include <tenon/graph/ir/index/index_range.hpp>
#include <tenon/target/kernel.hpp>
#if defined(TENON_OBSERVE)
#include <tenon/graph/observe/config_members.hpp>
#endif

TENON_INT_SIZES_BEGIN
namespace tenon::inline TENON_ABI {

inline constexpr int max_operands = 6, max_attributes = 12;

/// Results that an operator can have. Beside the first they are its parts (graph/ir/part.hpp).
inline constexpr int max_results = 4;
/// Results and operands of one call together.
inline constexpr int max_buffers = max_operands + 2;

/// A node's number for each operand of a call; -1, as at first: none.
struct OperandNodes {
  int node[max_operands];
  constexpr OperandNodes() {
    for (int& n : node) n = -1;
  }
  constexpr int& operator[](int k) { return node[k]; }
  constexpr int operator[](int k) const { return node[k]; }
};

/// Of a product with an update: where its attributes say which update, and where the settings of that begin.
inline constexpr int update_word = 1, update_settings_begin = 2;

/// An operator's compile-time settings (stride, axes, ...) as plain words, so that every node has the same type.
struct Attributes {
  int word[max_attributes]{};
  constexpr bool operator==(const Attributes&) const = default;
};

/// For operators without settings.
struct NoConfig {};

namespace detail {
template <int N>
struct Words {
  int word[N]{};
};
}  // namespace detail

/// Packs a struct of ints, enums, and floats to words and back. bool and double members do not fit: use int and float.
template <class Config>
constexpr Attributes pack(const Config& config) {
  Attributes a;
  if constexpr (!std::is_empty_v<Config>) {
    constexpr int count = sizeof(Config) / sizeof(int);
    static_assert(sizeof(Config) % sizeof(int) == 0 && count <= max_attributes,
                  "an operator's Config is at most 12 members of type int, float, or int enum");
    const auto words = std::bit_cast<detail::Words<count>>(config);
    for (int i = 0; i < count; ++i) a.word[i] = words.word[i];
  }
  return a;
}
template <class Config>
constexpr Config unpack(const Attributes& a) {
  if constexpr (std::is_empty_v<Config>) return Config{};
  else {
    detail::Words<int(sizeof(Config) / sizeof(int))> words;
    for (int i = 0; i < int(sizeof(Config) / sizeof(int)); ++i) words.word[i] = a.word[i];
    return std::bit_cast<Config>(words);
  }
}

/// The operands of a call as the shape rule sees them.
struct OperandTypes {
  TensorType type[max_operands]{};
  int count = 0;
  constexpr const TensorType& operator[](int k) const { return type[k]; }
};

/// The types of the results of a call, which the shape rule of an operator with several results returns.
struct ResultTypes {
  TensorType type[max_results]{};
  int count = 0;

  constexpr ResultTypes(const TensorType& first) : type{first}, count(1) {}
  template <class... More>
  constexpr ResultTypes(const TensorType& first, const TensorType& second, const More&... more)
      : type{first, second, more...}, count(2 + int(sizeof...(More))) {}
  constexpr const TensorType& operator[](int k) const { return type[k]; }
};

constexpr const TensorType& first_of(const TensorType& only) { return only; }
constexpr const TensorType& first_of(const ResultTypes& all) { return all[0]; }
constexpr int count_of(const TensorType&) { return 1; }
constexpr int count_of(const ResultTypes& all) { return all.count; }

/// The smallest batch that a call can work with, in whose name it says so, and what it needs it for.
struct LeastBatch {
  long n = 1;
  const char *who = "", *needs = "";
};

/// Second base of operators whose effect is one on the host (ops/host_effect.hpp).
struct OnHost {};
/// Second base of operators whose kernel runs graphs: it finds them in Call::Graph, the graph that the call is in.
struct WithBody {};

class Derivative;  // graph/ir/derivative.hpp
struct ListForm;   // graph/ir/list_form.hpp

namespace detail {
/// True if a call can run on NCHW16n as far as its types go: whatever depends on n is an image.
constexpr bool images_only(const TensorType& result, const TensorType* operand, int operands) {
  bool any = false, all = true;
  const auto look = [&](const TensorType& t) { any |= is_image(t), all &= !t.batched() || is_image(t); };
  look(result);
  for (int k = 0; k < operands; ++k) look(operand[k]);
  return any && all;
}
}  // namespace detail

/// What nodes say of their operator. Compare operators by `id`, never by address: builds with UBSan refuse to compare
/// addresses of different variables in constant evaluation.
struct OperatorInfo {
  std::string_view name;     // for people: several operators may have one
  int id = 0;                // operator_id
  bool leaf = false;         // a value that comes from outside: input, parameter, state, constant
  bool effect = false;       // writes operand 0 (and others it documents) in place; never merged, never dropped
  bool host_effect = false;  // an effect that writes none but tells the host of them (ops/host_effect.hpp), in order
  bool view = false;         // the result is operand 0 under another shape, no kernel runs
  bool part = false;         // a further result of operand 0, whose kernel writes it (graph/ir/part.hpp)
  bool elementwise = false;  // result element i depends on element i of the (broadcast) operands
  // an effect on a parameter: operand 1 is its gradient, of which every element changes its own element; such an
  // operator has apply<T, config>(numbers, count, gradient, changed), see ApplyMomentum
  bool update = false;
  bool holds_update = false;  // a product and an update: word `update_word` of the attributes is the id of the update
  int returns = 1;            // the first results, which callers get
  // if the result depends on n, sample s of it comes from sample s of the operands that do, at any n
  bool per_sample = false;
  bool indices = false;       // says which elements of an operand are places in another tensor
  bool gives_places = false;  // the result's elements are places along an axis of operand 0, as those of maxima
  bool limits_batch = false;  // says how many samples it needs
  // ask these: builds with UBSan refuse to compare a function with null in constant evaluation
  bool has_derivative = false, has_fold = false;
  KernelFacts kernel{};  // of the target whose graph the node is in
#if defined(TENON_OBSERVE)
  // floating-point operations of a call with a batch of n; null: one per element of the result
  double (*flops)(const OperandTypes&, const TensorType& result, const Attributes&, long n) = nullptr;
  const ConfigMembers* settings = nullptr;  // null: it has none
#endif
};

/// The part that only constant evaluation needs. A compiled graph points to the part above alone, or a program would
/// carry the code of every derivative that it was made with.
struct OperatorRules : OperatorInfo {
  void (*derivative)(Derivative&) = nullptr;        // null: declared to have none
  double (*fold)(Dtype, double, double) = nullptr;  // NaN where it must be left to the kernel
  IndexRange (*indices_of)(const OperandTypes&, const Attributes&) = nullptr;
  LeastBatch (*least_batch)(const OperandTypes&) = nullptr;
  ResultTypes (*results)(const OperandTypes&, const Attributes&) = nullptr;  // null: it has one
  const OperatorInfo* run_time = nullptr;
  // what the target's kernel knows; of the operators in its place ask the bools (see has_derivative)
  bool chains = false, takes_update = false, lists = false;
  bool (*fits_nchw16n)(const TensorType& result, const TensorType* operand, int operands) = nullptr;
  const OperatorRules* chain = nullptr;        // the operator of a chain of element-wise ones with it
  const OperatorRules* with_update = nullptr;  // the operator that it becomes with an update
  // the operator in its place where the gradient of max pooling is a list, and which lists: graph/pass/list_maxima.hpp
  const OperatorRules* listed = nullptr;
  ListForm (*list_form)(const TensorType& result, const TensorType* operand, const Attributes&, int at) = nullptr;
  const OperatorRules* elsewhere[OtherTargets::count + 1]{};  // the same operator on each of the other targets
};
/// The rules after a node of a graph that is not compiled yet.
constexpr const OperatorRules& rules_of(const OperatorInfo* op) { return static_cast<const OperatorRules&>(*op); }

/// `static constexpr None derivative;` in an operator says that no gradient flows through it.
struct None {};

/// What stands for an operator in constant evaluation: a hash of its qualified name. It holds within one translation
/// unit, where two operators with one id are a redefinition error; whatever is named for the linker carries the type.
template <class Op>
inline constexpr int operator_id = static_cast<int>(type_number<Op> ^ type_number<Op> >> 32);

// The type is found from the id by a friend function, which is defined where the first node of the operator asks for
// its id. So there is no central list, and an operator in a user's namespace is as good as ours.
#pragma GCC diagnostic push
#if defined(__CUDACC__)
#pragma nv_diag_suppress 1301
#endif
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wnon-template-friend"
#endif
namespace detail {
template <int Id>
struct OperatorTag {
  friend constexpr auto operator_of(OperatorTag<Id>);
};
template <class Op>
struct Found {
  using type = Op;
};
template <class Op>
struct RegisteredOperator {
  static constexpr int id = operator_id<Op>;
  friend constexpr auto operator_of(OperatorTag<id>) { return Found<Op>{}; }
};
template <FixedString Name>
inline constexpr auto stored_name = Name;
}  // namespace detail
#pragma GCC diagnostic pop

/// The operator type with this id. To be used up in an alias: no template may take an id for an operator.
template <int Id>
using OperatorById = typename decltype(operator_of(detail::OperatorTag<Id>{}))::type;

/// Base of every operator. A derived `Op` defines its meaning:
///
///     struct Config { ... };                                             settings in the type; optional
///     static constexpr TensorType shape(const OperandTypes&, const Config&, Sentence& error);
///                                                                        writes `error` if operands do not fit
///     static constexpr void derivative(Derivative&);                     or: static constexpr None derivative{};
///
/// Optional members:
///
///     static constexpr ResultTypes shape(...);                           of an operator with several results
///     static constexpr int returns = 2;                                  how many of them a call returns, as a
///                                                                        std::tuple if not 1; the others are computed
///                                                                        where the derivative reads them
///     static constexpr bool per_sample = true;                           samples are independent, and no kernel uses
///                                                                        their number
///     static constexpr IndexRange indices(const OperandTypes&, const Config&);
///     static constexpr LeastBatch least_batch(const OperandTypes&);      checks before it runs
///     static constexpr double flops(const OperandTypes&, const TensorType& result, const Config&, long n);
///                                                                        operations for a batch of n, for observers;
///                                                                        by default one per element
///
/// Kernel<Target, Op> (target/kernel.hpp) defines how it is computed. An operator in one file may itself have the
/// functions of its kernel on the CPU.
template <class Op, FixedString Name>
struct Operator {
  using Config = NoConfig;
  static constexpr std::string_view name = detail::stored_name<Name>.view();
  static constexpr int id = detail::RegisteredOperator<Op>::id;
  static constexpr bool leaf = false, effect = false, view = false, part = false, elementwise = false, update = false,
                        per_sample = false;
  static constexpr int returns = 1;
};

namespace detail {
// What an operator may have besides counts in this form only: another member of the name is its author's own.
template <class Op>
concept FoldsConstants = requires { static_cast<double (*)(Dtype, double, double)>(&Op::fold); };
template <class Op>
concept HasIndices =
    requires { static_cast<IndexRange (*)(const OperandTypes&, const typename Op::Config&)>(&Op::indices); };
template <class Op>
concept LimitsBatch = requires { static_cast<LeastBatch (*)(const OperandTypes&)>(&Op::least_batch); };
template <class Op>
concept CountsOperations = requires {
  static_cast<double (*)(const OperandTypes&, const TensorType&, const typename Op::Config&, long)>(&Op::flops);
};
/// The value of a member that is a bool; false for any other.
template <class T>
constexpr bool is_set(const T& member) {
  if constexpr (std::is_same_v<T, bool>) return member;
  else return false;
}

template <class Op>
concept DeclaresDerivative = requires { Op::derivative; };
template <class Op>
constexpr bool has_derivative() {
  return !requires { requires std::is_same_v<std::remove_cvref_t<decltype(Op::derivative)>, None>; };
}
template <class Op>
constexpr void (*derivative_of())(Derivative&) {
  static_assert(DeclaresDerivative<Op>, "this operator declares no derivative: write `static constexpr void "
                                        "derivative(Derivative&)` or `static constexpr None derivative{};`");
  if constexpr (has_derivative<Op>()) return &Op::derivative;
  else return nullptr;
}
template <class Op>
constexpr double (*fold_of())(Dtype, double, double) {
  if constexpr (FoldsConstants<Op>) return &Op::fold;
  else return nullptr;
}
template <class Op>
concept HasSeveralResults = requires(const OperandTypes& in, const typename Op::Config& config, Sentence& error) {
  { Op::shape(in, config, error) } -> std::same_as<ResultTypes>;
};
template <class Op>
constexpr ResultTypes packed_results(const OperandTypes& in, const Attributes& attributes) {
  Sentence unexpected;
  return Op::shape(in, unpack<typename Op::Config>(attributes), unexpected);
}
template <class Op>
constexpr IndexRange packed_indices(const OperandTypes& in, const Attributes& attributes) {
  return Op::indices(in, unpack<typename Op::Config>(attributes));
}
template <class Op>
constexpr IndexRange (*indices_of())(const OperandTypes&, const Attributes&) {
  if constexpr (HasIndices<Op>) return &packed_indices<Op>;
  else return nullptr;
}
template <class Op>
double packed_flops(const OperandTypes& in, const TensorType& result, const Attributes& attributes, long n) {
  return Op::flops(in, result, unpack<typename Op::Config>(attributes), n);
}
template <class Op>
constexpr LeastBatch (*least_batch_of())(const OperandTypes&) {
  if constexpr (LimitsBatch<Op>) return &Op::least_batch;
  else return nullptr;
}
template <class Op, class Target>
constexpr OperatorInfo make_operator_info() {
  OperatorInfo info;
  info.name = Op::name;
  info.id = Op::id;
  info.leaf = Op::leaf;
  info.effect = Op::effect;
  info.host_effect = __is_base_of(OnHost, Op);
  info.view = Op::view;
  info.part = Op::part;
  info.returns = Op::returns;
  info.elementwise = Op::elementwise;
  info.update = Op::update;
  info.holds_update = requires { requires is_set(Op::holds_update); };
  info.per_sample = Op::per_sample;
  info.indices = HasIndices<Op>;
  info.gives_places = requires { requires is_set(Op::gives_places); };
  info.limits_batch = LimitsBatch<Op>;
  info.has_derivative = has_derivative<Op>();
  info.has_fold = FoldsConstants<Op>;
  info.kernel = kernel_facts<FoundKernel<Target, Op>>();
#if defined(TENON_OBSERVE)
  if constexpr (CountsOperations<Op>) info.flops = &packed_flops<Op>;
  info.settings = make_config_members<typename Op::Config>();
#endif
  return info;
}
}  // namespace detail

template <class Op, class Target = Cpu>
inline constexpr OperatorInfo run_time_info = detail::make_operator_info<Op, Target>();

namespace detail {
template <class Op, class Target>
constexpr OperatorRules make_operator_rules();
}
/// What the nodes of a trace point to, one constant per operator and target. A trace is made for the CPU.
template <class Op, class Target = Cpu>
inline constexpr OperatorRules info = detail::make_operator_rules<Op, Target>();

namespace detail {
template <class Op, class... Others>
constexpr void put_rules(OperatorRules& rules, TargetList<Others...>) {
  ((rules.elsewhere[int(target_id<Others>)] = &info<Op, Others>), ...);
}
template <class Op, class Target>
constexpr OperatorRules make_operator_rules() {
  using K = FoundKernel<Target, Op>;
  OperatorRules rules{run_time_info<Op, Target>};
  rules.derivative = derivative_of<Op>();
  rules.fold = fold_of<Op>();
  rules.indices_of = indices_of<Op>();
  rules.least_batch = least_batch_of<Op>();
  if constexpr (HasSeveralResults<Op>) rules.results = &packed_results<Op>;
  rules.run_time = &run_time_info<Op, Target>;
  if constexpr (requires { &K::fits_nchw16n; }) rules.fits_nchw16n = &K::fits_nchw16n;
  else rules.fits_nchw16n = &images_only;
  if constexpr (requires { typename K::Chain; }) rules.chains = true, rules.chain = &info<typename K::Chain, Target>;
  if constexpr (requires { typename K::WithUpdate; })
    rules.takes_update = true, rules.with_update = &info<typename K::WithUpdate, Target>;
  if constexpr (requires { typename K::Listed; })
    rules.lists = true, rules.listed = &info<typename K::Listed, Target>,
    rules.list_form = &FoundKernel<Target, typename K::Listed>::list_form;
  if constexpr (several_targets && std::is_same_v<Target, Cpu>) put_rules<Op>(rules, OtherTargets());
  return rules;
}
}  // namespace detail
/// The same operator on a target, for a node of a trace.
template <class Target>
constexpr const OperatorInfo* on_target(const OperatorInfo* op) {
  static_assert(std::is_same_v<Target, Cpu> || target_id<Target> != TargetId::cpu, "a target of this program");
  if constexpr (std::is_same_v<Target, Cpu>) return op;
  else return rules_of(op).elsewhere[int(target_id<Target>)];
}

}  // namespace tenon
TENON_INT_SIZES_END
