// The cure of private_member.cpp.
#include <tenon/tenon.hpp>
using namespace tenon;

class Net : public nn::Cell<Net> {
 public:
  constexpr auto construct(auto x) const { return fc_(x); }

  nn::Dense<8, 2> fc_;
};

Net net;
