// Several processes: `#include <tenon/dist.hpp>` beside tenon.hpp.
#pragma once
#include <tenon/dist/collectives.hpp>
#include <tenon/dist/communicator.hpp>
#include <tenon/dist/mesh.hpp>
#include <tenon/dist/mpi.hpp>
#include <tenon/dist/world.hpp>
#include <tenon/nn/parallel/column_parallel_dense.hpp>
#include <tenon/nn/parallel/row_parallel_dense.hpp>
#include <tenon/nn/parallel/vocab_parallel_embedding.hpp>
#include <tenon/ops/collective/all_gather.hpp>
#include <tenon/ops/collective/all_reduce.hpp>
#include <tenon/ops/collective/all_to_all.hpp>
#include <tenon/ops/collective/broadcast.hpp>
#include <tenon/ops/collective/neighbor_exchange.hpp>
#include <tenon/ops/collective/slices.hpp>
#include <tenon/train/data_parallel.hpp>
