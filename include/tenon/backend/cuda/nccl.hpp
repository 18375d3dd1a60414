// dist::init("nccl"): ranks on GPUs, which send from memory to memory of them by NCCL. tenon.hpp and dist.hpp do not
// include it.
//
//     #include <tenon/backend/cuda/nccl.hpp>
//     set_context({.device_target = "GPU"});
//     dist::init("nccl");
//
// The library is loaded when init is called (docs/distributed.md).
#pragma once
#include <cstdlib>

#include <tenon/backend/cuda/nccl/operators.hpp>
#include <tenon/backend/cuda/nccl/slices.hpp>
#include <tenon/dist/mpi.hpp>

namespace tenon::inline TENON_ABI::kernel::cuda {

inline constexpr dist::detail::DeviceBackend nccl_backend{
    .load = [] { static_cast<void>(NcclLibrary::instance()); },
    .over =
        [](const dist::detail::Mpi& mpi, dist::detail::MpiHandle group) {
#if defined(__GLIBC__)
          ::on_exit([](int, void*) { NcclRanks::process_ends() = true; }, nullptr);
#endif
          return dist::Communicator::over<NcclTransport>(mpi, group);
        },
};
inline const bool has_nccl = (dist::detail::device_backend() = &nccl_backend, true);

}  // namespace tenon::kernel::cuda
