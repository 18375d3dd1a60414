// All transforms of images: `data | dataset::map<"image">(vision::Decode{}, vision::Resize<224, 224>{}, ...)`.
#pragma once
#include <tenon/dataset/map/map.hpp>
#include <tenon/dataset/vision/affine.hpp>
#include <tenon/dataset/vision/color.hpp>
#include <tenon/dataset/vision/compose.hpp>
#include <tenon/dataset/vision/crop.hpp>
#include <tenon/dataset/vision/cut_out.hpp>
#include <tenon/dataset/vision/decode.hpp>
#include <tenon/dataset/vision/flip.hpp>
#include <tenon/dataset/vision/mix.hpp>
#include <tenon/dataset/vision/normalize.hpp>
#include <tenon/dataset/vision/one_hot.hpp>
#include <tenon/dataset/vision/random_resized_crop.hpp>
#include <tenon/dataset/vision/resize.hpp>
