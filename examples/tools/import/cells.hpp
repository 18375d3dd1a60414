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
/// A cell on rows that a reshape joined is one on what it had before. Whether the node is that.
inline bool is_of_rows(const NodeView& n) {
  const int base = before_reshape(n, n.id(0), true);
  const Shape &from = n.g[base].shape, &rows = n.shape(0);
  return base != n.id(0) && n.g[base].special == Special::none && rows.size() == 2 && from.size() > 2 &&
         from[0].has_batch() && from.back() == rows.back();
}
/// x W + b on all rows of a tensor; the next reshape drops that to rows.
inline void gemm(const NodeView& n);
inline void gemm_of_rows(const NodeView& n) {
  const Shape rows = n.shape(0);
  NodeView whole(n.g, n.node, n.scope);
  whole.ids[0] = before_reshape(n, n.id(0), true);
  gemm(whole);
  const int made = n.g.id_of.at(n.node.outputs[0]);
  const Shape to{rows[0], n.g[made].shape.back()};
  n.alias(0, add_call(n, "reshape<" + n.g.shape(to) + ">($0)", {made}, to));
}
inline void gemm(const NodeView& n) {
  if (n.whole("transA", 0) || n.real("alpha", 1) != 1 || n.real("beta", 1) != 1 || !n.in(1).tensor)
    n.refuse("only x W + b with weights of the file is in scope");
  if (is_of_rows(n)) return gemm_of_rows(n);
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

inline void layer_norm(const NodeView& n, bool is_rms) {
  const Shape shape = n.shape(0);
  const std::string cell = is_rms ? "nn::RMSNorm" : "nn::LayerNorm";
  const std::size_t axis = n.axis(n.whole("axis", -1), shape.size());
  Member member{"norm", "", {}, ""};
  const Shape last(shape.begin() + long(axis), shape.end());
  const Extent count = count_of(last);
  if (!count.is_number() || !n.has(1)) n.refuse("it normalizes a dynamic axis");
  Settings settings;
  settings.add("epsilon", real_text(double(n.real("epsilon", 1e-5f))));
  std::string extents;
  for (const Extent& each : last) extents += (extents.empty() ? "" : ", ") + number("Width", each.factor);
  member.type = cell + "<Shape<" + extents + ">" + settings.after_comma(cell + "Config") + ">";
  const ReadTensor& gamma = constant_tensor(n, 1);
  ReadTensor beta = n.has(2) ? constant_tensor(n, 2) : gamma;
  if (!n.has(2)) beta.bytes.assign(beta.bytes.size(), '\0');
  if (gamma.count() != count.factor || beta.count() != count.factor) n.refuse("its weights do not fit its input");
  member.weights = {{"gamma", gamma}};
  if (is_rms) n.g.needs_more = true;
  else member.weights.push_back({"beta", beta});
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
inline void chosen_rows(const NodeView& n, const ReadTensor& table, const Array& ids, const Shape& shape) {
  ReadTensor rows{table.name, table.type, {}, {}};  // under its name they are trained
  for (const Extent& each : shape) rows.extents.push_back(each.factor);
  const auto width = std::size_t(table.extents[1]) * sizeof(float);
  if (ids.count() * width > std::size_t(1) << 28) n.refuse("its rows need more than 256 MB");
  for (const long id : ids.wholes)
    rows.bytes += table.bytes.substr(n.axis(id, std::size_t(table.extents[0])) * width, width);
  if (batch_axis(shape) < shape.size()) return give_repeated(n, 0, shape, {std::move(rows), {}});
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
  const auto known = special == Special::counting ? std::nullopt : known_of(n.g, n.id(1));
  if (known && known->is_plain() && !known->is_real()) return chosen_rows(n, table, *known, shape);
  if (ids.whole && ids.call < 0 && special != Special::counting)
    n.refuse("a row that it looks up depends on a dynamic axis");
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
