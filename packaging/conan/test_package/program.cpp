// A tensor is printed: the package's headers are found and compile.
#include <cstdio>

#include <tenon/core/tensor/print.hpp>

int main() {
  const tenon::Tensor x{1.0f, 2.0f, 3.0f};
  std::puts(to_string(x, tenon::TensorForm::str).c_str());
}
