// Kernels of the target Cpu for the operators that tenon.hpp leaves out.
#pragma once
#include <tenon/backend/cpu/attention/cached_attention.hpp>
#include <tenon/backend/cpu/attention/rotary_embedding.hpp>
#include <tenon/backend/cpu/elementwise/random.hpp>
#include <tenon/backend/cpu/linear/matrices.hpp>
#include <tenon/backend/cpu/movement/full.hpp>
#include <tenon/backend/cpu/movement/index/cumsum.hpp>
#include <tenon/backend/cpu/movement/index/gather_elements.hpp>
#include <tenon/backend/cpu/movement/index/scatter_rows.hpp>
#include <tenon/backend/cpu/movement/index/searchsorted.hpp>
#include <tenon/backend/cpu/movement/index/sort.hpp>
#include <tenon/backend/cpu/movement/moves.hpp>
#include <tenon/backend/cpu/movement/resample.hpp>
#include <tenon/backend/cpu/movement/reverse_sequence.hpp>
#include <tenon/backend/cpu/movement/unfold.hpp>
#include <tenon/backend/cpu/pool/pool_indices.hpp>
#include <tenon/backend/cpu/recurrent/rnn.hpp>
