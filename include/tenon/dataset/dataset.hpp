// Data sets: sources, and the stages that are joined to them with `|`.
//
//   auto train = dataset::Mnist{"mnist", dataset::Usage::train} | dataset::shuffle(60000) | dataset::batch(32);
//   for (const auto& row : train) { ... row[0] is the images, row[1] the labels ... }
#pragma once
#include <tenon/core/random/random_group.hpp>
#include <tenon/dataset/batch/batch.hpp>
#include <tenon/dataset/digits/digits.hpp>
#include <tenon/dataset/map/map.hpp>
#include <tenon/dataset/operation/prefetch.hpp>
#include <tenon/dataset/operation/repeat.hpp>
#include <tenon/dataset/operation/shuffle.hpp>
#include <tenon/dataset/operation/take.hpp>
#include <tenon/dataset/source/from_arrays.hpp>
#include <tenon/dataset/source/mnist.hpp>
#include <tenon/dataset/stage/column.hpp>
#include <tenon/dataset/stage/seed.hpp>
#include <tenon/dataset/stage/stage.hpp>
