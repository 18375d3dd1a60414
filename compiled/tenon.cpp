// The compiled part of Tenon: the functions that are no templates. The sources beside it hold the instances of those
// templates whose arguments are element types. What uses them is compiled with TENON_COMPILED defined and with the same
// flags (docs/consuming.md). Headers that tenon.hpp does not include stand here, too, if they have such functions.
#define TENON_COMPILED_PART
#include <tenon/tenon.hpp>
// the rest
#include <tenon/core/context/print.hpp>
#include <tenon/debug/graphs/graph_dot.hpp>
#include <tenon/debug/graphs/graph_svg.hpp>
#include <tenon/debug/graphs/graph_text.hpp>
#include <tenon/debug/log_files.hpp>
#include <tenon/dist.hpp>
#include <tenon/nn/summary.hpp>
#include <tenon/ops/print.hpp>
#include <tenon/train/callbacks.hpp>
#include <tenon/train/checkpoint.hpp>
#include <tenon/train/slice_files.hpp>
#include <tenon/vision/axis_weights.hpp>
#include <tenon/vision/exif_orientation.hpp>
