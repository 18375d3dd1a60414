// A 12-layer transformer, training in both modes, or with -DGRAPH_ONLY in graph mode.
#include "../models/gpt.hpp"
#include "train.hpp"

int main() {
  return train<models::Gpt12>(sample<std::int32_t, tenon::Shape<64>>(), sample<std::int32_t, tenon::Shape<64>>());
}
