// The products of gemm.cpp by sgemm of another library, called without Python in between: `blas LIBRARY SYMBOL`.
// The library is opened at run time; SYMBOL is its Fortran entry, with integers of 32 or 64 bits.
#include <dlfcn.h>

#include <memory>

#include "serve.hpp"

// A pointer to 64 bits of a small number is on a little-endian machine a pointer to 32 bits of it as well.
using Integer = std::int64_t;
using Sgemm = void (*)(const char*, const char*, const Integer*, const Integer*, const Integer*, const float*,
                       const float*, const Integer*, const float*, const Integer*, const float*, float*,
                       const Integer*);

struct Product {
  Integer m = 0, n = 0, k = 0;
  std::vector<float> a, b, c;
  explicit Product(const std::string& name) {
    if (std::sscanf(name.c_str(), "gemm/%ldx%ldx%ld", &m, &n, &k) != 3) throw tenon::ValueError("no product " + name);
    a = benchmark::numbers(std::size_t(m * k));
    b = benchmark::numbers(std::size_t(k * n), 12345);
    c.resize(std::size_t(m * n));
  }
  const float* run(Sgemm sgemm) {  // by columns, so that C is the transpose of B' A'
    const float one = 1, zero = 0;
    sgemm("N", "N", &n, &m, &k, &one, b.data(), &n, a.data(), &k, &zero, c.data(), &n);
    return c.data();
  }
};

int main(int argc, char** argv) try {
  void* const library = argc == 3 ? dlopen(argv[1], RTLD_LAZY) : nullptr;
  const auto sgemm = library ? reinterpret_cast<Sgemm>(dlsym(library, argv[2])) : nullptr;
  if (!sgemm) return std::printf("missing %s\n", argc == 3 ? dlerror() : "usage: blas LIBRARY SYMBOL"), 1;
  benchmark::serve([=](const std::string& name, const std::string&) {
    const auto p = std::make_shared<Product>(name);
    return benchmark::Work{[=] {
                             p->run(sgemm);
                             std::vector<double> some;
                             for (std::size_t i = 0; i < p->c.size(); i += p->c.size() / 1024 + 1)
                               some.push_back(double(p->c[i]));
                             return some;
                           },
                           [=](long calls) { return benchmark::seconds_of(calls, [&] { return p->run(sgemm); }); }};
  });
} catch (const tenon::Error& error) {
  std::fprintf(stderr, "blas: %s\n", error.what());
  return 1;
}
