// Names in C++ of what a file calls its values and modules.
#pragma once
#include <cctype>
#include <set>
#include <string>

namespace importer {

/// Whether the language has this word for itself, or compilers define it as a macro.
inline bool is_reserved(const std::string& word) {
  static const std::set<std::string> words{
      "alignas",     "alignof",  "and",        "and_eq",    "asm",       "auto",         "bitand",
      "bitor",       "bool",     "break",      "case",      "catch",     "char",         "char8_t",
      "char16_t",    "char32_t", "class",      "co_await",  "co_return", "co_yield",     "compl",
      "concept",     "const",    "const_cast", "consteval", "constexpr", "constinit",    "continue",
      "decltype",    "default",  "delete",     "do",        "double",    "dynamic_cast", "else",
      "enum",        "explicit", "export",     "extern",    "false",     "float",        "for",
      "friend",      "goto",     "if",         "inline",    "int",       "long",         "mutable",
      "namespace",   "new",      "noexcept",   "not",       "not_eq",    "nullptr",      "operator",
      "or",          "or_eq",    "private",    "protected", "public",    "register",     "reinterpret_cast",
      "requires",    "return",   "short",      "signed",    "sizeof",    "static",       "static_assert",
      "static_cast", "struct",   "switch",     "template",  "this",      "thread_local", "throw",
      "true",        "try",      "typedef",    "typeid",    "typename",  "union",        "unsigned",
      "using",       "virtual",  "void",       "volatile",  "wchar_t",   "while",        "xor",
      "xor_eq",      "assert",   "errno",      "linux",     "unix",      "stdin",        "stdout",
      "stderr"};
  return words.count(word) > 0;
}
/// Whether the code of a network has this word for something else: an operator, a member of every cell, a variable.
inline bool is_taken(const std::string& word) {
  static const std::set<std::string> words{"abs",
                                           "acos",
                                           "all",
                                           "arange",
                                           "argmax",
                                           "argmin",
                                           "asin",
                                           "atan",
                                           "attention",
                                           "avg_pool1d",
                                           "avg_pool2d",
                                           "avg_pool3d",
                                           "broadcast_to",
                                           "call",
                                           "cast",
                                           "causal_mask",
                                           "ceil",
                                           "celu",
                                           "clip_by_value",
                                           "concat",
                                           "cond",
                                           "construct",
                                           "cos",
                                           "cosh",
                                           "cumsum",
                                           "acosh",
                                           "asinh",
                                           "atanh",
                                           "dyn",
                                           "each",
                                           "elu",
                                           "erf",
                                           "exp",
                                           "expand_dims",
                                           "flatten",
                                           "flip",
                                           "floor",
                                           "floor_mod",
                                           "fmod",
                                           "fold",
                                           "full",
                                           "gelu",
                                           "hsigmoid",
                                           "hswish",
                                           "interpolate",
                                           "last",
                                           "leaky_relu",
                                           "log",
                                           "log_softmax",
                                           "logical_and",
                                           "logical_not",
                                           "logical_or",
                                           "logical_xor",
                                           "map",
                                           "matmul",
                                           "max_pool1d",
                                           "max_pool2d",
                                           "max_pool3d",
                                           "maximum",
                                           "minimum",
                                           "neg",
                                           "nn",
                                           "ones",
                                           "ops",
                                           "pow",
                                           "reduce_max",
                                           "reduce_max_keep",
                                           "reduce_mean",
                                           "reduce_mean_keep",
                                           "reduce_min",
                                           "reduce_min_keep",
                                           "reduce_prod",
                                           "reduce_prod_keep",
                                           "reduce_sum",
                                           "reduce_sum_keep",
                                           "reduce_sum_square",
                                           "reduce_sum_square_keep",
                                           "relu",
                                           "relu6",
                                           "requires_grad",
                                           "reshape",
                                           "round",
                                           "scan",
                                           "select",
                                           "self",
                                           "selu",
                                           "set_train",
                                           "sigmoid",
                                           "sign",
                                           "silu",
                                           "sin",
                                           "sinh",
                                           "slice",
                                           "softmax",
                                           "softplus",
                                           "softsign",
                                           "split",
                                           "split_sizes",
                                           "sqrt",
                                           "squeeze",
                                           "state",
                                           "states",
                                           "std",
                                           "step",
                                           "steps",
                                           "tan",
                                           "tanh",
                                           "tenon",
                                           "topk",
                                           "transpose",
                                           "unfold",
                                           "value_in",
                                           "while_loop",
                                           "x",
                                           "zeros"};
  return words.count(word) > 0;
}

/// "SelfAttention": self_attention
inline std::string snake(const std::string& word) {
  std::string result;
  for (const char c : word) {
    const bool is_upper = std::isupper(static_cast<unsigned char>(c)) != 0;
    if (is_upper && !result.empty() && std::islower(static_cast<unsigned char>(result.back()))) result += '_';
    result += is_upper ? char(std::tolower(static_cast<unsigned char>(c))) : c;
  }
  return result;
}
/// A word of the file as a name in C++.
inline std::string identifier(const std::string& word) {
  std::string result;
  for (const char c : word) result += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (result.empty() || std::isdigit(static_cast<unsigned char>(result[0]))) result = "cell" + result;
  while (result.find("__") != result.npos) result.erase(result.find("__"), 1);
  if (result[0] == '_') result.erase(0, 1);
  if (result.empty()) result = "cell";
  return is_reserved(result) || is_taken(result) ? result + "_" : result;
}

}  // namespace importer
