// Runs the node cases of a generated program: `program FOLDER [doctest's options]`.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <string>

#include <tenon/tenon.hpp>

#include "case.hpp"

int main(int count, char** argument) {
  if (count < 2) return 2;
  onnx::folder = argument[1];
  doctest::Context context(count - 1, argument + 1);
  return context.run();
}
