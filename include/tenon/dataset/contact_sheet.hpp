// contact_sheet(data, "sheet.png"): the first images of a data set as one picture, with their labels.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/tensor/elements_as_doubles.hpp>
#include <tenon/dataset/describe.hpp>
#include <tenon/io/file.hpp>
#include <tenon/io/png.hpp>
#include <tenon/vision/draw_text.hpp>
#include <tenon/vision/resize.hpp>

namespace tenon::inline TENON_ABI::dataset {

struct ContactSheetOptions {
  /// The largest number of images, and the number of images in a row.
  int images = 25, columns = 5;
  /// The longer side of each image on the sheet, in pixels, 16 or more.
  int cell = 96;
  /// The names of the labels, starting from label 0. A label without a name is shown as its number.
  std::vector<std::string> classes{};
  /// Names of the columns that are shown; empty: those that look like images and labels.
  std::string image{}, label{};
  /// The epoch whose first rows are shown: a random order and random transforms differ between epochs.
  std::uint64_t epoch = 0;
};

namespace detail {

/// A column as it is at run time. Extents are those of a sample, `any` where they differ.
struct SheetColumn {
  std::string name;
  Dtype dtype;
  bool ragged;
  std::vector<std::int64_t> extents;
  std::string text;  // for messages
};
template <class D, std::size_t... I>
std::vector<SheetColumn> sheet_columns(std::index_sequence<I...>) {
  using List = typename D::columns;
  const auto one = []<class C>(std::size_t place, C*) {
    SheetColumn column{std::string(C::name.view()), C::tensor_type.dtype, C::ragged, {}, {}};
    if constexpr (C::ragged) column.extents.assign(std::begin(C::shape::extent), std::end(C::shape::extent));
    else
      for (int axis = D::batched ? 1 : 0; axis < C::tensor_type.rank; ++axis)
        column.extents.push_back(C::tensor_type[axis]);
    column.text = text(place, " '", column.name, "' ", tenon::name(column.dtype), " ", column_shape<C>());
    return column;
  };
  return {one(I, static_cast<ColumnAt<List, int(I)>*>(nullptr))...};
}

/// Which axis of an image has its channels: the last one, the first one, none ([H, W]); only a sample can tell; or it
/// is no image.
enum class ChannelAxis { last, first, none, of_sample, no_image };
inline ChannelAxis channel_axis(std::span<const std::int64_t> extents) {
  const auto channels = [](std::int64_t extent) { return extent == 1 || extent == 3 || extent == 4; };
  if (extents.size() == 2) return ChannelAxis::none;
  if (extents.size() != 3) return ChannelAxis::no_image;
  if (channels(extents[2])) return ChannelAxis::last;
  if (channels(extents[0])) return ChannelAxis::first;
  return extents[0] == any || extents[2] == any ? ChannelAxis::of_sample : ChannelAxis::no_image;
}

inline constexpr const char* image_shapes = "[H, W, C], [C, H, W] with 1, 3, or 4 channels, or [H, W]";

/// What is seen of an image, in red, green, and blue; no pixels if it has none. Throws ValueError if it is too large.
inline io::Pixels shown_pixels(const AnyTensor& image, ChannelAxis axis) {
  const bool last = axis == ChannelAxis::last, first = axis == ChannelAxis::first;
  const std::int64_t height = image.extent[first ? 1 : 0], width = image.extent[first ? 2 : 1],
                     channels = last    ? image.extent[2]
                                : first ? image.extent[0]
                                        : 1;
  if (image.count() == 0) return {};
  if (height > vision::most_pixels / width)
    throw_error<ValueError>("contact_sheet: an image of ", height, " x ", width, " pixels is too large; at most ",
                            vision::most_pixels, " are shown. Resize or crop it before.");
  const std::int64_t pixels = height * width;
  const auto each_colour = [&](auto act) {  // alpha is left out
    std::int64_t i = 0;
    each_as_double(image, [&](double value) {
      const std::int64_t channel = last ? i % channels : i / pixels, pixel = last ? i / channels : i % pixels;
      ++i;
      if (channel < 3) act(static_cast<std::size_t>(pixel), static_cast<std::size_t>(channel), value);
    });
  };
  double low = 0, high = 1;
  each_colour([&](std::size_t, std::size_t, double value) {
    if (std::isfinite(value)) low = std::min(low, value), high = std::max(high, value);
  });
  if (image.dtype == Dtype::uint8) high = 255;
  else if (low < 0 || high > 1) {
    low = std::numeric_limits<double>::max(), high = -low;
    each_colour([&](std::size_t, std::size_t, double value) {
      if (std::isfinite(value)) low = std::min(low, value), high = std::max(high, value);
    });
  }
  io::Pixels shown{static_cast<int>(height), static_cast<int>(width), 3, {}};
  shown.bytes.resize(static_cast<std::size_t>(pixels) * 3);
  std::vector<std::size_t> lost;
  each_colour([&](std::size_t pixel, std::size_t channel, double value) {
    if (!std::isfinite(value)) return lost.push_back(pixel);
    // halves: the range may be beyond all doubles
    const double part = low < high ? (value / 2 - low / 2) / (high / 2 - low / 2) : 0.5;
    const auto byte = static_cast<std::uint8_t>(part > 0 ? std::min(part, 1.0) * 255 + 0.5 : 0);
    for (std::size_t c = channel; c < (channels < 3 ? 3 : channel + 1); ++c) shown.bytes[pixel * 3 + c] = byte;
  });
  for (const std::size_t pixel : lost)
    shown.bytes[pixel * 3] = shown.bytes[pixel * 3 + 2] = 255, shown.bytes[pixel * 3 + 1] = 0;
  return shown;
}

/// The image at the size that fits into a square of `cell` pixels: enlarged, its pixels stay squares.
inline io::Pixels fitted(const io::Pixels& image, int cell) {
  if (image.bytes.empty()) return image;
  const int longer = std::max(image.height, image.width);
  const auto side = [&](int extent) {
    return std::max(1, static_cast<int>((std::int64_t{extent} * cell + longer / 2) / longer));
  };
  io::Pixels out{side(image.height), side(image.width), 3, {}};
  out.bytes.resize(vision::view(out).size());
  vision::resize(vision::view(image), vision::view(out),
                 {.inter = longer > cell ? vision::Inter::area : vision::Inter::nearest});
  return out;
}

/// Element i of a label, `value`, as text. Integers are exact: as a double one above 2^53 is another.
inline std::string label_text(const AnyTensor& label, std::size_t i, double value) {
  switch (label.dtype) {
    case Dtype::int64: return text(static_cast<const std::int64_t*>(label.data)[i]);
    case Dtype::uint64: return text(static_cast<const std::uint64_t*>(label.data)[i]);
    case Dtype::float64: return text(value);
    default: return is_floating(label.dtype) ? text(static_cast<float>(value)) : text(static_cast<long>(value));
  }
}

/// The class with the largest share, if these are the shares of classes: 0 or more, with a sum of 1.
inline std::optional<std::size_t> largest_share(const std::vector<double>& shares) {
  double sum = 0;
  for (const double share : shares) {
    if (!(share >= 0)) return {};
    sum += share;
  }
  if (shares.size() < 2 || !(std::abs(sum - 1) < 1e-2)) return {};
  return static_cast<std::size_t>(std::ranges::max_element(shares) - shares.begin());
}

/// The label of a sample as text: a number or a name; of one-hot labels the class, of mixed ones the largest share; of
/// other vectors the first numbers; bytes as they are.
inline std::string caption_of(const AnyTensor& label, bool ragged, const std::vector<std::string>& classes) {
  constexpr std::int64_t most_bytes = 256, most_shares = 1 << 20;
  constexpr std::size_t most_numbers = 16;
  const std::int64_t count = label.count();
  if (ragged && label.dtype == Dtype::uint8)
    return {static_cast<const char*>(label.data), static_cast<std::size_t>(std::min(count, most_bytes))};
  std::vector<double> values(static_cast<std::size_t>(std::min(count, most_shares)));
  elements_as_doubles(label, 0, values.size(), values.data());
  if (label.rank == 1 && !ragged)
    if (const auto place = largest_share(values)) {
      const int percent = static_cast<int>(values[*place] * 100 + 0.5);
      return (*place < classes.size() ? classes[*place] : text(*place)) +
             (percent < 100 ? text(" ", percent, "%") : "");
    }
  std::string s;
  for (std::size_t i = 0; i < std::min(values.size(), most_numbers); ++i) {
    const bool named = !is_floating(label.dtype) && values[i] >= 0 && values[i] < static_cast<double>(classes.size());
    s += text(i ? " " : "", named ? classes[static_cast<std::size_t>(values[i])] : label_text(label, i, values[i]));
  }
  return s;
}

/// Collects images and captions, and draws them.
class ContactSheet {
 public:
  ContactSheet(std::vector<SheetColumn> columns, const ContactSheetOptions& options)
      : columns_(std::move(columns)), options_(options) {
    check_options();
    image_ = options_.image.empty() ? find_image() : place_of("image", options_.image);
    axis_ = channel_axis(columns_[image_].extents);
    if (axis_ == ChannelAxis::no_image)
      throw_error<ValueError>("contact_sheet: the column ", columns_[image_].text, " has no images, which are ",
                              image_shapes, ". The columns: ", list(), ".");
    if (!options_.label.empty()) {
      label_ = place_of("label", options_.label);
      if (columns_[*label_].extents.size() > 1)
        throw_error<ValueError>("contact_sheet: the column ", columns_[*label_].text,
                                " has no labels, which are numbers, vectors, or texts. The columns: ", list(), ".");
    }
  }

  bool full() const { return cells_.size() == static_cast<std::size_t>(options_.images); }

  /// Sample i of a row, of which `column` gets a column.
  void add(bool batched, long i, auto column) {
    const auto sample = [&](std::size_t place) {
      const AnyTensor all = column(static_cast<int>(place));
      if (!batched) return all;
      AnyTensor one(all.dtype, all.shape().subspan(1), all.data);
      one.data = static_cast<std::byte*>(all.data) + static_cast<std::size_t>(i) * one.bytes();
      return one;
    };
    if (cells_.empty() && !label_) find_label(sample);
    const AnyTensor image = sample(image_);
    const ChannelAxis axis = axis_ == ChannelAxis::of_sample ? channel_axis(image.shape()) : axis_;
    if (axis == ChannelAxis::no_image)
      throw_error<ValueError>("contact_sheet: sample ", cells_.size(), " of the column ", columns_[image_].text, " is ",
                              shape_text(image.shape()), ", images are ", image_shapes, ".");
    Cell cell{fitted(shown_pixels(image, axis), options_.cell), {}};
    if (label_) cell.caption = caption_of(sample(*label_), columns_[*label_].ragged, options_.classes);
    cells_.push_back(std::move(cell));
  }

  /// Throws ValueError if nothing was added.
  io::Pixels drawn() const {
    if (cells_.empty()) throw_error<ValueError>("contact_sheet: the data set has no rows, there is nothing to show.");
    const int scale = caption_scale(), gap = gap_of_cells();
    const int across = std::min(options_.columns, static_cast<int>(cells_.size()));
    const int down = (static_cast<int>(cells_.size()) + across - 1) / across;
    const int step = options_.cell + (scale > 0 ? gap / 2 + vision::character_height * scale : 0) + gap;
    io::Pixels sheet{gap + down * step, gap + across * (options_.cell + gap), 3, {}};
    sheet.bytes.assign(vision::view(sheet).size(), 236);
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const int row = static_cast<int>(i) / across, column = static_cast<int>(i) % across;
      draw(cells_[i], vision::view(sheet), gap + row * step, gap + column * (options_.cell + gap), scale);
    }
    return sheet;
  }

 private:
  struct Cell {
    io::Pixels image;
    std::string caption;
  };
  std::vector<SheetColumn> columns_;
  ContactSheetOptions options_;
  std::size_t image_ = 0;
  ChannelAxis axis_ = ChannelAxis::no_image;
  std::optional<std::size_t> label_;
  std::vector<Cell> cells_;

  int gap_of_cells() const { return std::max(2, options_.cell / 16); }
  int largest_scale() const { return std::max(1, options_.cell / 48); }

  void check_options() const {
    constexpr std::int64_t most_side = 1 << 15, most = 1 << 26, least_cell = 16;
    if (options_.images < 1 || options_.columns < 1 || options_.cell < least_cell)
      throw_error<ValueError>("contact_sheet: asked for ", options_.images, " images in ", options_.columns,
                              " columns of ", options_.cell, " pixels; legal are 1 or more, 1 or more, and ",
                              least_cell, " or more.");
    const std::int64_t across = std::min(options_.columns, options_.images),
                       down = (options_.images + across - 1) / across, gap = gap_of_cells(),
                       cell = std::int64_t{options_.cell} + gap;
    const std::int64_t width = gap + across * cell,
                       height =
                           gap + down * (cell + gap / 2 + std::int64_t{vision::character_height} * largest_scale());
    if (width > most_side || height > most_side || width > most / height)
      throw_error<ValueError>("contact_sheet: ", options_.images, " images in ", options_.columns, " columns of ",
                              options_.cell, " pixels make a sheet of ", height, " x ", width, " pixels; at most ",
                              most_side, " on a side and ", most, " in all are drawn. Ask for fewer or smaller ones.");
  }

  std::string list() const {
    std::string s;
    for (const SheetColumn& column : columns_) s += (s.empty() ? "" : "; ") + column.text;
    return s;
  }
  std::size_t place_of(const char* option, const std::string& name) const {
    std::vector<std::string> known;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].name == name) return i;
      if (!columns_[i].name.empty()) known.push_back(columns_[i].name);
    }
    throw_error<KeyError>("contact_sheet: the data set has no column '", name, "', which .", option, " asks for.",
                          did_you_mean(name, known), " The columns: ", list(), ".");
  }
  std::size_t find_image() const {
    for (const std::size_t rank : {3u, 2u})
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        const SheetColumn& c = columns_[i];
        if (c.extents.size() == rank && (c.dtype == Dtype::uint8 || is_floating(c.dtype)) &&
            channel_axis(c.extents) != ChannelAxis::no_image)
          return i;
      }
    const bool files = std::ranges::any_of(
        columns_, [](const SheetColumn& c) { return c.ragged && c.dtype == Dtype::uint8 && c.extents.size() == 1; });
    throw_error<ValueError>("contact_sheet: no column has images of uint8 or floats, which are ", image_shapes,
                            ". The columns: ", list(), ".",
                            files ? " vision::Decode makes images of files." : " .image names another one.");
  }
  /// Integers; else vectors that say which class, as the first sample shows.
  void find_label(auto sample) {
    const std::vector<std::int64_t> one_number{1};
    for (std::size_t i = 0; i < columns_.size() && !label_; ++i)
      if (const auto& c = columns_[i]; !is_floating(c.dtype) && (c.extents.empty() || c.extents == one_number))
        label_ = i;
    for (std::size_t i = 0; i < columns_.size() && !label_; ++i)
      if (columns_[i].extents.size() == 1 && !columns_[i].ragged) {
        const AnyTensor one = sample(i);
        std::vector<double> values;
        each_as_double(one, [&](double value) { values.push_back(value); });
        if (largest_share(values)) label_ = i;
      }
  }

  /// The largest letters in which all captions fit; if none do, the smallest. 0: there are no captions.
  int caption_scale() const {
    int longest = 0;
    for (const Cell& cell : cells_) longest = std::max(longest, vision::character_count(cell.caption));
    if (longest == 0) return 0;
    const int fits = options_.cell / (longest * vision::character_advance);
    return std::clamp(fits, 1, largest_scale());
  }
  void draw(const Cell& cell, vision::ImageView<std::uint8_t> sheet, int top, int left, int scale) const {
    const int side = options_.cell, rows = cell.image.height, columns = cell.image.width;
    for (int y = 0; y < rows; ++y) {
      const auto from = vision::view(cell.image);
      std::copy_n(from.row(y), from.row_size(), sheet.at(top + (side - rows) / 2 + y, left + (side - columns) / 2));
    }
    if (cell.caption.empty()) return;
    constexpr std::uint8_t ink[]{32, 32, 32};
    const int advance = vision::character_advance * scale;
    const std::string caption = vision::cut_text(cell.caption, (side + scale) / advance);
    const int width = vision::character_count(caption) * advance - scale;
    vision::draw_text(sheet, top + side + gap_of_cells() / 2, left + (side - width) / 2, caption, scale, ink);
  }
};

}  // namespace detail

/// Writes the first images of a data set into one PNG file, in rows from left to right, each image with its label
/// below. The file is complete or absent. Only the rows or batches that are shown are read, so the data set may be
/// endless. Equal data gives an identical file.
///
/// image       the column that options name, of any dtype; by default the first column of uint8 or floats with [H, W,
///             C] or [C, H, W] and 1, 3, or 4 channels, ragged or not, or else the first with [H, W]. uint8 is shown
///             unchanged. For other dtypes 0 is black and 1 is white; if the image has values outside of this range,
///             its smallest value is black and its largest value is white, so the brightness of normalised images is
///             lost. Pixels that are NaN or infinite are magenta. Alpha is dropped
/// label       the column that options name, of any dtype, [] or [n], or ragged uint8 as text; by default the first
///             column of integers [] or [1], or else of vectors that are one-hot in the first sample, or mixed: then
///             the class with the largest share is shown. Without a label column there are no captions. Long texts are
///             cut, and characters outside of ASCII become boxes
/// throws      ValueError if no column has images, the data set has no rows, or the sheet would have no or too many
///             pixels; KeyError if there is no column of a name; RuntimeError if the file cannot be written, or where
///             the program was built without libpng; and what reading rows throws
template <Dataset D>
void contact_sheet(const D& data, const std::string& path, const ContactSheetOptions& options = {}) {
  io::check_writable(path);
  detail::ContactSheet sheet(detail::sheet_columns<D>(std::make_index_sequence<std::size_t(D::columns::count)>{}),
                             options);
  auto walk = data.open();
  walk.start(options.epoch);
  while (!sheet.full()) {
    const auto* const row = walk.next();
    if (!row) break;
    for (long i = 0; i < row->n && !sheet.full(); ++i)
      sheet.add(D::batched, i, [&](int column) { return (*row)[column]; });
  }
  io::write_file(path, io::encode_png(sheet.drawn()));
}

}  // namespace tenon::dataset
