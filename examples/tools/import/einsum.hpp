// Sums of products, with a letter for each axis: Einsum.
#pragma once
#include "operators.hpp"

namespace importer {

/// The letters of an equation: those of each operand, then those of the result.
inline std::vector<std::string> letters_of(const NodeView& n) {
  std::string equation = n.word("equation", "");
  std::erase(equation, ' ');
  if (equation.find('.') != equation.npos) n.refuse("an equation with an ellipsis is not in scope");
  const std::size_t arrow = equation.find("->");
  const std::string operands = equation.substr(0, arrow) + ",";
  std::vector<std::string> terms;
  std::map<char, int> count;
  for (std::size_t begin = 0; begin < operands.size(); begin = operands.find(',', begin) + 1)
    terms.push_back(operands.substr(begin, operands.find(',', begin) - begin));
  for (const std::string& term : terms)
    for (const char c : term) ++count[c];
  std::string result;
  if (arrow != equation.npos) result = equation.substr(arrow + 2);
  else
    for (const auto& [c, times] : count)
      if (times == 1) result += c;
  for (const auto& [c, times] : count)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) n.refuse("its equation is damaged");
  const std::set<char> of_result(result.begin(), result.end());
  bool fits = terms.size() == n.ids.size() && of_result.size() == result.size();
  for (const char c : result) fits = fits && count.count(c) > 0;
  if (!fits) n.refuse("its equation does not fit its inputs");
  terms.push_back(result);
  return terms;
}
inline void einsum(const NodeView& n) {
  const std::vector<std::string> terms = letters_of(n);
  if (n.ids.size() > 4) n.refuse("more than 4 operands are not in scope");
  std::map<char, Extent> extent;
  std::string text, list;
  Operands x(n);
  for (std::size_t k = 0; k < n.ids.size(); ++k) {
    if (terms[k].size() != n.rank(k)) n.refuse("its equation does not fit its inputs");
    for (std::size_t axis = 0; axis < n.rank(k); ++axis) {
      const Extent& own = n.shape(k)[axis];
      Extent& all = extent.emplace(terms[k][axis], own).first->second;
      if (all == Extent(1)) all = own;
      else if (!(own == all) && !(own == Extent(1))) n.refuse("the shapes of its inputs do not fit");
    }
    text += (k ? "," : "") + terms[k];
    list += (k ? ", " : "") + x.tensor(k);
  }
  const std::string& result = terms.back();
  Shape shape;
  for (const char c : result) shape.push_back(extent.at(c));
  for (const auto& [c, all] : extent)
    if (all.has_batch() && result.find(c) == result.npos) n.refuse("it mixes the samples of a batch");
  for (std::size_t k = 1; k < shape.size(); ++k)
    if (shape[k].has_batch()) n.refuse("only the leading extent of its result may depend on the batch");
  n.out(0, shape, n.in(0).type);
  n.call("einsum<\"" + text + "->" + result + "\">(" + list + ")", x.ids);
  n.g.needs_more = true;
}

}  // namespace importer
