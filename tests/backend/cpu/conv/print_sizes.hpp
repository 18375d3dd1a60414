// CAPTURE(s) of the sizes of a convolution.
#pragma once
#include <doctest/doctest.h>

#include <string>

#include <tenon/backend/cpu/conv/plan.hpp>

template <>
struct doctest::StringMaker<tenon::kernel::Conv2dSizes> {
  static String convert(const tenon::kernel::Conv2dSizes& s) {
    const auto pair = [](const char* name, int a, int b) {
      return std::string(name) + std::to_string(a) + "x" + std::to_string(b);
    };
    std::string text = "[" + std::to_string(s.n) + "," + std::to_string(s.c) + "," + std::to_string(s.h) + "," +
                       std::to_string(s.w) + "] to [" + std::to_string(s.o) + "," + std::to_string(s.oh) + "," +
                       std::to_string(s.ow) + "]";
    text += pair(", kernel ", s.kh, s.kw) + pair(", stride ", s.stride_h, s.stride_w) +
            pair(", padding ", s.pad_top, s.pad_left) + pair(", dilation ", s.dilation_h, s.dilation_w) + ", groups " +
            std::to_string(s.groups);
    return text.c_str();
  }
};
