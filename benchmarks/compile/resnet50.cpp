// ResNet-50 training in both modes, or with -DGRAPH_ONLY in graph mode.
#include "../models/resnet50.hpp"
#include "train.hpp"

int main() {
  return train<models::ResNet50>(sample<float, tenon::Shape<3, 224, 224>>(), sample<std::int32_t, tenon::Shape<>>());
}
