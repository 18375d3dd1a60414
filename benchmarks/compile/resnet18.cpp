// ResNet-18 training in both modes, or with -DGRAPH_ONLY in graph mode.
#include "../models/resnet18.hpp"
#include "train.hpp"

int main() {
  return train<models::ResNet18>(sample<float, tenon::Shape<3, 32, 32>>(), sample<std::int32_t, tenon::Shape<>>());
}
