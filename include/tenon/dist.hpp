// Several processes: `#include <tenon/dist.hpp>` beside tenon.hpp.
#pragma once
#include <tenon/dist/collectives.hpp>
#include <tenon/dist/communicator.hpp>
#include <tenon/dist/mpi.hpp>
#include <tenon/dist/world.hpp>
#include <tenon/train/data_parallel.hpp>
