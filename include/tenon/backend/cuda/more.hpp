// Kernels of the target Cuda for the operators that tenon.hpp leaves out.
#pragma once
#include <tenon/backend/cuda/attention/cached_attention.hpp>
#include <tenon/backend/cuda/attention/rotary_embedding.hpp>
#include <tenon/backend/cuda/linear.hpp>
#include <tenon/backend/cuda/movement/full.hpp>
#include <tenon/backend/cuda/movement/lines.hpp>
#include <tenon/backend/cuda/movement/moves.hpp>
#include <tenon/backend/cuda/movement/resample.hpp>
#include <tenon/backend/cuda/movement/reverse_sequence.hpp>
#include <tenon/backend/cuda/movement/scatter_rows.hpp>
#include <tenon/backend/cuda/movement/searchsorted.hpp>
#include <tenon/backend/cuda/movement/sort.hpp>
#include <tenon/backend/cuda/movement/unfold.hpp>
#include <tenon/backend/cuda/pool/max_pool2d_taken.hpp>
#include <tenon/backend/cuda/pool/pool_indices.hpp>
#include <tenon/backend/cuda/random.hpp>
#include <tenon/backend/cuda/recurrent/rnn.hpp>
