// Convolutions, pools, and batch normalizations of sequences, images, and volumes.
#pragma once
#include "borders.hpp"
#include "windows.hpp"

namespace importer {

/// What nn::Conv2d is called with this number of axes.
inline std::string with_axes(const std::string& name, std::size_t axes) {
  const std::size_t digit = name.find('#');
  return name.substr(0, digit) + std::to_string(axes) + name.substr(digit + 1);
}

/// The extents that a transposed convolution gives. An output_shape, or auto_pad, says what the padding is.
inline Shape transposed_shape(const NodeView& n, Windows& w, const std::vector<long>& more, long channels) {
  const auto wanted = n.list("output_shape", 0, 0);
  const std::size_t axes = w.kernel.size();
  if (!wanted.empty() && wanted.size() != axes && wanted.size() != axes + 2) n.refuse("its output_shape is damaged");
  Shape shape{n.shape(0)[0], Extent(channels)};
  for (std::size_t k = 0; k < axes; ++k) {
    const Extent& from = n.shape(0)[2 + k];
    if (!from.is_number()) n.refuse("the size of its image depends on a dynamic axis: give it one size");
    if (more[k] < 0 || more[k] > 1'000'000 || from.factor > 1l << 31) n.refuse("its windows are damaged");
    const long all = (from.factor - 1) * w.stride[k] + w.reach(k) + more[k];
    if (!wanted.empty() || w.is_automatic()) {
      const long to = wanted.empty() ? from.factor * w.stride[k] : wanted[wanted.size() - axes + k];
      if (to < 1 || to > all)
        n.refuse("its output_shape is larger than what its windows reach: export it with output_padding");
      w.pad_axis(k, all - to, w.automatic != "SAME_UPPER");
    }
    shape.push_back(Extent(all - w.pads[k] - w.pads[axes + k]));
    if (shape.back().factor < 1) n.refuse("its padding leaves no element");
  }
  return shape;
}
inline Settings convolution_settings(const Windows& w, const std::vector<long>& more, bool is_transposed) {
  Settings settings;
  bool has_gaps = false;  // zeros between the elements of a result, also behind the last one with PadMode::valid
  for (std::size_t k = 0; k < w.kernel.size(); ++k) has_gaps = has_gaps || (is_transposed && w.reach(k) < w.stride[k]);
  if (!all_are(w.stride, 1)) settings.add("stride", extents_text("Stride", w.stride));
  if (w.has_padding() || !all_are(more, 0) || has_gaps) {
    if (!w.is_same() || is_transposed) settings.add("pad_mode", "PadMode::pad").add("padding", w.padding());
    if (!all_are(more, 0)) settings.add("output_padding", extents_text("More", more));
  } else if (!w.is_same()) settings.add("pad_mode", "PadMode::valid");
  if (!all_are(w.dilation, 1)) settings.add("dilation", extents_text("Dilation", w.dilation));
  return settings;
}
inline void convolution(const NodeView& n, bool is_transposed) {
  ReadTensor weight = constant_tensor(n, 1);
  const std::size_t rank = n.rank(0), axes = rank - 2;
  if (rank < 3 || rank > 5 || weight.extents.size() != rank)
    n.refuse("only convolutions of sequences, images, and volumes are in scope");
  Windows w(n, {weight.extents.begin() + 2, weight.extents.end()});
  const long groups = n.whole("group", 1), before = n.shape(0)[1].factor;
  if (groups < 1 || groups > before) n.refuse("its groups are damaged");
  const long after = is_transposed ? long(weight.extents[1]) * groups : long(weight.extents[0]);
  if ((is_transposed ? long(weight.extents[0]) : long(weight.extents[1]) * groups) != before || after < 1)
    n.refuse("its weight does not fit its input");
  const auto more = n.list("output_padding", axes, 0);
  Shape shape = is_transposed ? transposed_shape(n, w, more, after) : w.result(n, n.shape(0), after);
  Settings settings = convolution_settings(w, more, is_transposed);
  if (groups != 1) settings.add("groups", number("Groups", groups));
  const bool has_bias = n.has(2);
  if (has_bias) settings.add("has_bias", "true");
  if (axes == 1) weight.extents.insert(weight.extents.begin() + 2, 1);  // as Tenon has those of sequences
  Member member{"conv", "", {{"weight", weight}}, ""};
  const std::string kind = with_axes(is_transposed ? "nn::Conv#dTranspose" : "nn::Conv#d", axes);
  member.type = kind + "<" + number("In", before) + ", " + number("Out", after) + ", " +
                extents_text("Kernel", w.kernel) + settings.after_comma(kind + "Config") + ">";
  if (has_bias) {
    member.weights.push_back({"bias", constant_tensor(n, 2)});
    if (constant_tensor(n, 2).count() != after) n.refuse("its bias does not fit its weight");
  }
  n.g.needs_more = n.g.needs_more || is_transposed || axes != 2;
  n.out(0, shape, 1);
  Call& call = n.call("@($0)", {n.id(0)});
  name_member(call, n, weight);
  call.member = std::move(member);
}

/// An average counts the border of the file, but not what ceil_mode adds to it: the border is code of its own then.
inline int with_border(const NodeView& n, Windows& w) {
  Shape shape = n.shape(0);
  std::string list = "Margin{}, Margin{}";
  const std::size_t axes = w.kernel.size();
  for (std::size_t k = 0; k < axes; ++k) {
    long &before = w.pads[k], &after = w.pads[axes + k];
    list += ", Margin{" + number("Before", before) + ", " + number("After", after - w.beyond[k]) + "}";
    shape[2 + k].factor += before + after - w.beyond[k];
    before = 0, after = w.beyond[k];
  }
  n.g.needs_more = true;
  return add_call(n, "pad<" + list + ">($0)", {n.id(0)}, shape);
}
/// `name`: max, or avg.
inline void pool(const NodeView& n, const std::string& name) {
  const std::size_t axes = n.rank(0) - 2;
  if (n.rank(0) < 3 || n.rank(0) > 5) n.refuse("only pools of sequences, images, and volumes are in scope");
  Windows w(n, n.list("kernel_shape", axes, 1));
  if (!all_are(w.dilation, 1)) n.refuse("a dilated pool is not in scope");
  const Shape shape = w.result(n, n.shape(0), n.shape(0)[1].factor, n.whole("ceil_mode", 0) != 0);
  if (n.node.outputs.size() > 1 && !n.node.outputs[1].empty()) n.refuse("its indices are not in scope");
  const bool is_mean = name == "avg";
  bool counts_border = is_mean && n.whole("count_include_pad", 0) != 0;
  int from = n.id(0);
  if (counts_border && !all_are(w.beyond, 0)) {
    if (w.pads != std::vector<long>(2 * axes, 0)) from = with_border(n, w);
    counts_border = false;
  }
  std::string code = with_axes(name + "_pool#d<", axes), cell;
  const std::string config = with_axes("Pool#d", axes);
  const bool is_plain = !w.has_padding() && w.kernel == w.stride && all_are(w.kernel, w.kernel[0]);
  if (is_plain) {
    const std::string window = number("Window", w.kernel[0]);
    code += window;
    cell = with_axes(is_mean ? "nn::AvgPool#d<" : "nn::MaxPool#d<", axes) + window + ", nn::" + config +
           "Config{.stride = " + window + "}>";
  } else {
    Settings s;
    s.add("kernel", extents_text("Window", w.kernel)).add("stride", extents_text("Stride", w.stride));
    if (w.has_padding()) s.add("pad_mode", "PadMode::pad").add("padding", w.padding());
    if (w.has_padding() && is_mean && !counts_border) s.add("count_include_pad", "false");
    code += config + "Options{" + s.text() + "}";
  }
  n.g.needs_more = n.g.needs_more || axes != 2;
  n.out(0, shape, n.in(0).type);
  n.call(code + ">($0)", {from}).cell = cell;
}

/// Per channel, by the moving statistics. Sequences are images of height 1.
inline void batch_norm(const NodeView& n) {
  const Shape shape = n.shape(0);
  const std::size_t rank = shape.size();
  if (rank < 2 || rank > 5 || n.whole("training_mode", 0))
    n.refuse("only rows, sequences, images, and volumes in evaluation are in scope");
  if (n.whole("axes_behind", long(rank) - 2) != long(rank) - 2) n.refuse("its weights do not stand for channels");
  const long channels = shape[1].factor;
  Settings settings;
  if (const float epsilon = n.real("epsilon", 1e-5f); epsilon != 1e-5f)
    settings.add("epsilon", real_text(double(epsilon)));
  Member member{"norm", "", {}, ""};
  const std::string kind = rank == 2 ? "nn::BatchNorm1d<" : rank == 5 ? "nn::BatchNorm3d<" : "nn::BatchNorm2d<";
  member.type = kind + number("Channels", channels) + settings.after_comma("nn::BatchNormConfig") + ">";
  std::size_t k = 1;
  for (const char* const name : {"gamma", "beta", "moving_mean", "moving_variance"}) {
    const ReadTensor& t = constant_tensor(n, k++);
    if (t.count() != channels) n.refuse("its weights do not fit its input");
    member.weights.push_back({name, t});
  }
  n.g.needs_more = n.g.needs_more || rank == 5;
  n.out(0, shape, 1);
  Call& call = n.call(rank == 3 ? "squeeze<2>(@(expand_dims<2>($0)))" : "@($0)", {n.id(0)});
  name_member(call, n, constant_tensor(n, 1));
  call.member = std::move(member);
}

}  // namespace importer
