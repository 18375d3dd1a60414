// Nodes that are cells of Tenon: what they are called there, and how their weights lie there.
#pragma once
#include "computed.hpp"

namespace importer {

inline const ReadTensor& constant_tensor(const NodeView& n, std::size_t k) {
  const Value& v = n.in(k);
  if (!v.tensor && !v.reals) n.refuse(text("its input ", k, " is computed, not a weight of the file"));
  if (v.type != 1) n.refuse(text("its weight ", k, " is not float32"));
  const ReadTensor& t = tensor_of(n, n.id(k));
  if (t.count() == 0) n.refuse(text("its weight ", k, " has no elements"));
  return t;
}
inline ReadTensor part_of(const ReadTensor& t, std::vector<std::int64_t> extents, std::size_t first_element) {
  ReadTensor part{"", t.type, std::move(extents), {}};
  part.bytes = t.bytes.substr(first_element * sizeof(float), std::size_t(part.count()) * sizeof(float));
  return part;
}
inline ReadTensor transposed(const ReadTensor& t) {
  ReadTensor result{t.name, t.type, {t.extents[1], t.extents[0]}, std::string(t.bytes.size(), '\0')};
  const auto rows = std::size_t(t.extents[0]), columns = std::size_t(t.extents[1]);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t k = 0; k < columns; ++k)
      std::memcpy(result.bytes.data() + (k * rows + i) * 4, t.bytes.data() + (i * columns + k) * 4, 4);
  return result;
}
/// The path of the cell in the names of PyTorch's weights, if this is such a name.
inline std::string cell_path(const ReadTensor& t) {
  for (const std::string_view end : {".weight", ".bias"})
    if (t.name.ends_with(end)) return t.name.substr(0, t.name.size() - end.size());
  return "";
}
inline void name_member(Call& call, const NodeView& n, const ReadTensor& weight) {
  const std::string path = cell_path(weight);
  // equal weights of several cells have the name of one of them
  const std::string& scope = n.scope;
  if (!path.empty() && path.rfind('.') != path.npos && path.substr(0, path.rfind('.')) == scope)
    call.name = path.substr(path.rfind('.') + 1);
  else if (!path.empty() && path.find('.') == path.npos && scope.empty()) call.name = path;
}

/// y = x W^T + b; weight: [In, Out], or [Out, In].
inline void dense(const NodeView& n, bool out_first, const ReadTensor* bias) {
  const ReadTensor& weight = constant_tensor(n, 1);
  if (weight.extents.size() != 2) n.refuse("its weight must be a matrix");
  const long before = long(weight.extents[out_first ? 1 : 0]), after = long(weight.extents[out_first ? 0 : 1]);
  Shape shape = n.shape(0);
  if (shape.size() < 2 || !(shape.back() == Extent(before)) || before < 1 || after < 1)
    n.refuse("its weight does not fit its input");
  shape.back() = Extent(after);
  Member member{"dense", "", {}, ""};
  member.weights.push_back({"weight", out_first ? weight : transposed(weight)});
  member.type = "nn::Dense<" + number("In", before) + ", " + number("Out", after) +
                (bias ? ">" : ", nn::DenseConfig{.has_bias = false}>");
  if (bias) member.weights.push_back({"bias", *bias});
  n.out(0, shape, 1);
  Call& call = n.call("@($0)", {n.id(0)});
  name_member(call, n, weight);
  call.member = std::move(member);
}
inline void gemm(const NodeView& n) {
  if (n.whole("transA", 0) || n.real("alpha", 1) != 1 || n.real("beta", 1) != 1 || !n.in(1).tensor)
    n.refuse("only x W + b with weights of the file is in scope");
  const bool out_first = n.whole("transB", 0) != 0;
  if (!n.has(2)) return dense(n, out_first, nullptr);
  const ReadTensor &weight = constant_tensor(n, 1), &bias = constant_tensor(n, 2);
  const std::int64_t after = weight.extents.size() == 2 ? weight.extents[out_first ? 0 : 1] : 0;
  ReadTensor row{bias.name, bias.type, {after}, bias.bytes};
  if (bias.count() == 1)  // one number for all
    for (std::int64_t k = 1; k < after; ++k) row.bytes += bias.bytes;
  const bool is_row = bias.extents.empty() || bias.count() == bias.extents.back();
  if (!is_row || row.bytes.size() != std::size_t(after) * sizeof(float))
    n.refuse("its bias must be a row that fits its weight");
  dense(n, out_first, &row);
}
/// x W without a bias becomes x W + b. Whether it did.
inline bool add_bias(const NodeView& n) {
  if (n.ids.size() != 2) return false;
  for (std::size_t k = 0; k < 2; ++k) {
    const Value &bias = n.in(k), &x = n.in(1 - k);
    if (!bias.tensor || bias.tensor->type != 1 || bias.tensor->extents.size() != 1 || x.call < 0) continue;
    Call& call = n.g.calls[std::size_t(x.call)];
    const std::string none = ", nn::DenseConfig{.has_bias = false}>";
    if (!call.member || !call.member->type.ends_with(none) || n.uses(1 - k) != 1 || call.outputs.size() != 1 ||
        call.outputs[0] != n.id(1 - k) || !(x.shape.back() == Extent(long(bias.tensor->extents[0]))))
      continue;
    call.member->type.replace(call.member->type.size() - none.size(), none.size(), ">");
    call.member->weights.push_back({"bias", *bias.tensor});
    if (call.name.empty()) name_member(call, n, *bias.tensor);
    n.alias(0, n.id(1 - k));
    return true;
  }
  return false;
}

inline void layer_norm(const NodeView& n) {
  const Shape shape = n.shape(0);
  const std::size_t axis = n.axis(n.whole("axis", -1), shape.size());
  Member member{"norm", "", {}, ""};
  const Shape last(shape.begin() + long(axis), shape.end());
  const Extent count = count_of(last);
  if (!count.is_number() || !n.has(1)) n.refuse("it normalizes a dynamic axis");
  Settings settings;
  settings.add("epsilon", real_text(double(n.real("epsilon", 1e-5f))));
  std::string extents;
  for (const Extent& each : last) extents += (extents.empty() ? "" : ", ") + number("Width", each.factor);
  member.type = "nn::LayerNorm<Shape<" + extents + ">" + settings.after_comma("nn::LayerNormConfig") + ">";
  const ReadTensor& gamma = constant_tensor(n, 1);
  ReadTensor beta = n.has(2) ? constant_tensor(n, 2) : gamma;
  if (!n.has(2)) beta.bytes.assign(beta.bytes.size(), '\0');
  if (gamma.count() != count.factor || beta.count() != count.factor) n.refuse("its weights do not fit its input");
  member.weights = {{"gamma", gamma}, {"beta", beta}};
  n.out(0, shape, 1);
  Call& call = n.call("@($0)", {n.id(0)});
  name_member(call, n, gamma);
  call.member = std::move(member);
}

/// Groups of channels of each sample, with a weight per channel. InstanceNormalization has a group for each.
inline void group_norm(const NodeView& n, bool is_instance) {
  const Shape shape = n.shape(0);
  if (shape.size() < 3 || !shape[1].is_number()) n.refuse("only [n, C, ...] with a known C is in scope");
  const long channels = shape[1].factor, groups = is_instance ? channels : n.whole("num_groups", 0);
  if (groups < 1 || channels % groups != 0) n.refuse("its groups do not divide its channels");
  const ReadTensor &gamma = constant_tensor(n, 1), &beta = constant_tensor(n, 2);
  if (gamma.count() != channels || beta.count() != channels) n.refuse("only weights per channel are in scope");
  const auto all_are = [](const ReadTensor& t, double wanted) {
    const std::vector<double> all = elements_of(t);
    return std::all_of(all.begin(), all.end(), [&](double each) { return each == wanted; });
  };
  const bool is_affine = is_weight(gamma) || is_weight(beta) || !all_are(gamma, 1) || !all_are(beta, 0);
  Settings settings;
  if (const float epsilon = n.real("epsilon", 1e-5f); epsilon != 1e-5f)
    settings.add("epsilon", real_text(double(epsilon)));
  if (!is_affine) settings.add("affine", "false");
  Member member{"norm", "", {}, ""};
  if (is_instance && shape.size() < 5) member.type = shape.size() == 3 ? "nn::InstanceNorm1d<" : "nn::InstanceNorm2d<";
  else member.type = "nn::GroupNorm<" + number("Groups", groups) + ", ";
  member.type += number("Channels", channels) + settings.after_comma("nn::GroupNormConfig") + ">";
  if (is_affine) member.weights = {{"gamma", gamma}, {"beta", beta}};
  n.out(0, shape, 1);
  Call& call = n.call("@($0)", {n.id(0)});
  if (is_affine) name_member(call, n, gamma);
  call.member = std::move(member);
  n.g.needs_more = true;
}

/// The rows of a table that the ids of a constant say: a constant, too.
inline void chosen_rows(const NodeView& n, const ReadTensor& table, const Value& ids, const Shape& shape) {
  ReadTensor rows{table.name, table.type, {}, {}};  // under its name they are trained
  for (const Extent& each : shape) rows.extents.push_back(each.factor);
  const auto width = std::size_t(table.extents[1]) * sizeof(float);
  const std::vector<double> all = ids.tensor ? elements_of(*ids.tensor) : std::vector<double>();
  const std::size_t count = ids.whole ? ids.whole->size() : all.size();
  if (count * width > std::size_t(1) << 28) n.refuse("its rows need more than 256 MB");
  for (std::size_t i = 0; i < count; ++i) {
    const Extent id = ids.whole ? (*ids.whole)[i] : Extent(whole_element(*ids.tensor, i, all[i]));
    if (!id.is_number()) n.refuse("a row that it looks up depends on a dynamic axis");
    rows.bytes += table.bytes.substr(n.axis(id.factor, std::size_t(table.extents[0])) * width, width);
  }
  n.g.made.push_back(std::move(rows));
  describe_constant(n.out(0, shape, 1), n.g.made.back());
}
/// Rows of a table of the file.
inline void embedding(const NodeView& n) {
  const ReadTensor& table = constant_tensor(n, 0);
  const Value& ids = n.in(1);
  if (table.extents.size() != 2) n.refuse("its table must be a matrix");
  Shape shape = n.shape(1);
  shape.push_back(Extent(long(table.extents[1])));
  Member member{"embedding", "", {{"embedding_table", table}}, ""};
  const std::string sizes = number("Words", long(table.extents[0])) + ", " + number("Width", long(table.extents[1]));
  const Special special = ids.special;
  if (special != Special::counting && ids.call < 0 && ids.origin < 0 && (ids.whole || (ids.tensor && ids.type == 7))) {
    const bool is_plain = std::all_of(shape.begin(), shape.end(), [](const Extent& each) { return each.is_number(); });
    if (is_plain) return chosen_rows(n, table, ids, shape);
  }
  Value& y = n.out(0, shape, 1);
  if (special == Special::counting) {  // code comes with the sum that reads it
    member.kind = "position";
    member.type = "nn::PositionalEmbedding<" + sizes + ">";
    y.origin = -1;
    Call& call = n.call("@", {});
    name_member(call, n, table);
    call.member = std::move(member);
    return;
  }
  member.type = "nn::Embedding<" + sizes + ">";
  Call& call = n.call("@($0)", {n.id(1)});
  name_member(call, n, table);
  call.member = std::move(member);
}
/// x plus a row of a table for each position. Whether the sum is that.
inline bool add_positions(const NodeView& n) {
  for (std::size_t k = 0; n.ids.size() == 2 && k < 2; ++k) {
    const Value &rows = n.in(k), &x = n.in(1 - k);
    if (rows.call < 0 || n.uses(k) != 1 || (x.call < 0 && x.origin < 0) || x.special != Special::none) continue;
    Call& call = n.g.calls[std::size_t(rows.call)];
    if (!call.member || call.code != "@" || !x.has_shape || x.shape.size() != 3) continue;
    if (!(rows.shape[rows.shape.size() - 2] == x.shape[1]) || count_of(rows.shape) == Extent(0)) continue;
    const Shape shape = x.shape;
    const int id = n.id(1 - k);
    n.out(0, shape, 1);
    Call added = call;
    call.is_dropped = true;
    added.code = "@($0)", added.inputs = {id}, added.outputs = {n.g.id_of.at(n.node.outputs[0])};
    n.g[added.outputs[0]].call = int(n.g.calls.size());
    n.g.calls.push_back(std::move(added));
    return true;
  }
  return false;
}

}  // namespace importer
