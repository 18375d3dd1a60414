// Data sets: sources, and the stages that are joined to them with `|`.
//
//   auto train = dataset::Mnist{"mnist", dataset::Usage::train} | dataset::shuffle(60000) | dataset::batch(32);
//   for (const auto& row : train) { ... row[0] is the images, row[1] the labels ... }
#pragma once
#include <tenon/dataset/batch.hpp>
#include <tenon/dataset/column.hpp>
#include <tenon/dataset/digits.hpp>
#include <tenon/dataset/from_arrays.hpp>
#include <tenon/dataset/map.hpp>
#include <tenon/dataset/mnist.hpp>
#include <tenon/dataset/prefetch.hpp>
#include <tenon/dataset/repeat.hpp>
#include <tenon/dataset/seed.hpp>
#include <tenon/dataset/shuffle.hpp>
#include <tenon/dataset/stage.hpp>
#include <tenon/dataset/take.hpp>
