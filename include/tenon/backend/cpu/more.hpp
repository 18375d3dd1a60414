// Kernels of the target Cpu for the operators that tenon.hpp leaves out.
#pragma once
#include <tenon/backend/cpu/movement/cumsum.hpp>
#include <tenon/backend/cpu/movement/full.hpp>
#include <tenon/backend/cpu/movement/gather_elements.hpp>
#include <tenon/backend/cpu/movement/moves.hpp>
#include <tenon/backend/cpu/movement/resample.hpp>
#include <tenon/backend/cpu/movement/reverse_sequence.hpp>
#include <tenon/backend/cpu/movement/scatter_rows.hpp>
#include <tenon/backend/cpu/movement/sort.hpp>
#include <tenon/backend/cpu/recurrent/rnn.hpp>
