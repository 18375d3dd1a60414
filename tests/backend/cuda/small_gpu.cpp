// label: long
// The trainings of train.cpp on a GPU with the least shared memory that there is (Turing, 64 KB per block).
#if !defined(__CUDACC__)
#define __CUDA_ARCH_LIST__ 750
#endif
#include "train.cpp"

#if defined(TENON_CUDA_EMULATOR)
namespace {
[[maybe_unused]] const int shared_bytes = emulator::shared_bytes = 64 << 10;
}
TEST_CASE("kernels choose their tiles by the shared memory of the smallest GPU") {
  CHECK(tenon::kernel::cuda::most_shared_bytes == 64 << 10);
}
#endif
