// Kernels of the target Reference for the operators that tenon.hpp leaves out.
#pragma once
#include <tenon/backend/reference/attention/cached_attention.hpp>
#include <tenon/backend/reference/attention/rotary_embedding.hpp>
#include <tenon/backend/reference/linear.hpp>
#include <tenon/backend/reference/movement/full.hpp>
#include <tenon/backend/reference/movement/lines.hpp>
#include <tenon/backend/reference/movement/moves.hpp>
#include <tenon/backend/reference/movement/resample.hpp>
#include <tenon/backend/reference/movement/reverse_sequence.hpp>
#include <tenon/backend/reference/movement/scatter_rows.hpp>
#include <tenon/backend/reference/movement/searchsorted.hpp>
#include <tenon/backend/reference/movement/unfold.hpp>
#include <tenon/backend/reference/norm/group_norm.hpp>
#include <tenon/backend/reference/pool/max_pool2d_taken.hpp>
#include <tenon/backend/reference/pool/pool_indices.hpp>
#include <tenon/backend/reference/random.hpp>
#include <tenon/backend/reference/recurrent/rnn.hpp>
