// Kernels of the target Reference for the operators that tenon.hpp leaves out.
#pragma once
#include <tenon/backend/reference/cached_attention.hpp>
#include <tenon/backend/reference/linear.hpp>
#include <tenon/backend/reference/max_pool2d_taken.hpp>
#include <tenon/backend/reference/movement/full.hpp>
#include <tenon/backend/reference/movement/lines.hpp>
#include <tenon/backend/reference/movement/moves.hpp>
#include <tenon/backend/reference/movement/resample.hpp>
#include <tenon/backend/reference/movement/reverse_sequence.hpp>
#include <tenon/backend/reference/movement/scatter_rows.hpp>
#include <tenon/backend/reference/movement/searchsorted.hpp>
#include <tenon/backend/reference/pool_indices.hpp>
#include <tenon/backend/reference/random.hpp>
#include <tenon/backend/reference/recurrent/rnn.hpp>
#include <tenon/backend/reference/rotary_embedding.hpp>
