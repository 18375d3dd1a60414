// A right program. elsewhere.txt says how it goes wrong: functions whose header is not included.
#include <tenon/tenon.hpp>
using namespace tenon;

struct Net : nn::Cell<Net> {
  nn::Dense<4, 2> fc;
  constexpr auto construct(auto x) const { return fc(x); }
};

int main() {
  Net net;
  const auto x = Tensor<float, Shape<dyn, 4>>::full(0.5f, 3);
  const auto y = net(x);
  std::printf("%ld\n", y.count());
}
