// expects: one list of numbers may be [n] or one row of it: Tensor x{1, 2, 3} has the shape [3]
#include <tenon/tenon.hpp>

void f() {
  tenon::Tensor row{{1.0f, 2.0f, 3.0f}};
  static_cast<void>(row);
}
