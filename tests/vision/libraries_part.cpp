// Answers tests/vision/libraries.py: a line `IN OUT OPERATION ARGUMENTS` on stdin makes the raw bytes of file OUT.
#include <iostream>
#include <sstream>

#include <tenon/io/file.hpp>
#include <tenon/vision/affine.hpp>
#include <tenon/vision/color_adjust.hpp>
#include <tenon/vision/decode.hpp>
#include <tenon/vision/resize.hpp>

using namespace tenon;
using Bytes = std::vector<std::uint8_t>;

namespace {
Bytes answer(const std::string& operation, std::istream& arguments, const std::string& in) {
  const std::string content = io::read_file(in);
  if (operation == "decode") {
    vision::DecodeOptions options;
    arguments >> options.channels >> options.upright;
    return vision::decode(content, options).bytes;
  }
  int height = 0, width = 0, channels = 0;
  arguments >> height >> width >> channels;
  const vision::ImageView<const std::uint8_t> image{reinterpret_cast<const std::uint8_t*>(content.data()), height,
                                                    width, channels};
  if (operation == "resize") {
    int out_height = 0, out_width = 0, inter = 0;
    bool antialias = false;
    arguments >> out_height >> out_width >> inter >> antialias;
    Bytes out(std::size_t(out_height) * std::size_t(out_width) * std::size_t(channels));
    vision::resize<std::uint8_t>(image, {out.data(), out_height, out_width, channels},
                                 {vision::Inter(inter), antialias});
    return out;
  }
  if (operation == "rotate_expand") {
    double angle = 0;
    int inter = 0;
    arguments >> angle >> inter;
    const vision::ImageSize size = vision::rotated_size(height, width, angle);
    const vision::Affine turn{angle, (size.width - width) / 2.0, (size.height - height) / 2.0};
    Bytes out(std::size_t(size.height) * std::size_t(size.width) * std::size_t(channels));
    vision::warp_affine<std::uint8_t>(image, vision::inverse_map(turn, height, width),
                                      {out.data(), size.height, size.width, channels}, vision::Inter(inter));
    return out;
  }
  Bytes out(image.size());
  const vision::ImageView<std::uint8_t> to{out.data(), height, width, channels};
  double number = 0;
  arguments >> number;
  if (operation == "rotate") {
    int inter = 0;
    arguments >> inter;
    vision::warp_affine(image, vision::inverse_map({.angle = number}, height, width), to, vision::Inter(inter));
  } else if (operation == "Brightness") {
    vision::adjust_brightness(image, float(number), to);
  } else if (operation == "Contrast") {
    vision::adjust_contrast(image, float(number), to);
  } else if (operation == "Color") {
    vision::adjust_saturation(image, float(number), to);
  } else {
    throw_error<ValueError>("no operation ", operation);
  }
  return out;
}
}  // namespace

int main() {
  for (std::string line, operation, in, out; std::getline(std::cin, line);) {
    std::istringstream words(line);
    words >> in >> out >> operation;
    const Bytes bytes = answer(operation, words, in);
    io::write_file(out, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    std::cout << "done" << std::endl;
  }
}
