// A batch of images as one, for people to look at.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <tenon/core/tensor/elements_as_doubles.hpp>
#include <tenon/io/png.hpp>

namespace tenon::inline TENON_ABI::io {

/// The images of a batch side by side, 8 in a row, as bytes in red, green, and blue.
///
/// images      [N, C, H, W], C 1 or 3, on the CPU. uint8: pixels as they are. Else values from 0 to 1 become 0 to 255,
///             and others are mapped from the smallest to the largest onto 0 to 255; what is not finite is 0
/// throws      ValueError for another shape, or an image without pixels
/// source      MindSpore 2.10, which maps the range of uint8 images, too
inline Pixels image_grid(const AnyTensor& images) {
  const bool fits = images.rank == 4 && (images.extent[1] == 1 || images.extent[1] == 3);
  const std::int64_t n = images.extent[0], channels = images.extent[1], height = images.extent[2],
                     width = images.extent[3];
  if (!fits || images.count() == 0)
    throw_error<ValueError>(
        "A tensor ", shape_text(images.shape()),
        " is no batch of images: it needs the shape [N, C, H, W] with 1 or 3 channels, and pixels.");
  constexpr std::int64_t in_a_row = 8, most = 1 << 15;
  const std::int64_t columns = std::min(n, in_a_row), rows = (n + columns - 1) / columns;
  if (height > most / rows || width > most / columns)
    throw_error<ValueError>("The images of a tensor ", shape_text(images.shape()), " make one of ", height * rows,
                            " x ", width * columns, " pixels; at most ", most,
                            " are possible on a side. Record fewer.");

  std::vector<float> values;
  float smallest = 0, largest = 0;
  each_as_double(images, [&](double element) {
    const float value = std::isfinite(element) ? static_cast<float>(element) : 0.0f;
    smallest = values.empty() ? value : std::min(smallest, value);
    largest = values.empty() ? value : std::max(largest, value);
    values.push_back(value);
  });
  // places of the grid that no image has are black, and count as 0
  if (n < rows * columns) smallest = std::min(smallest, 0.0f), largest = std::max(largest, 0.0f);
  float scale = 1, shift = 0;
  if (images.dtype == Dtype::uint8) scale = 1;
  else if (largest <= 1 && smallest >= 0) scale = 255;
  else shift = smallest, scale = largest > smallest ? 255 / (largest - smallest + 1) : 1;
  const auto byte = [&](float value) {
    const float scaled = (value - shift) * scale;  // not a number where the range is beyond all floats
    return static_cast<std::uint8_t>(scaled >= 0 ? std::min(scaled, 255.0f) : 0.0f);
  };

  Pixels grid{int(height * rows), int(width * columns), 3, {}};
  grid.bytes.assign(std::size_t(grid.height) * std::size_t(grid.width) * 3, byte(std::max(0.0f, shift)));
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t y = 0; y < height; ++y)
      for (std::int64_t x = 0; x < width; ++x)
        for (std::int64_t c = 0; c < 3; ++c) {
          const std::int64_t from = ((i * channels + std::min(c, channels - 1)) * height + y) * width + x,
                             row = i / columns * height + y, column = i % columns * width + x;
          grid.bytes[std::size_t((row * grid.width + column) * 3 + c)] = byte(values[std::size_t(from)]);
        }
  return grid;
}

}  // namespace tenon::io
