// The products of gemm.cpp by sgemm of another library, called without Python in between: `blas LIBRARY SYMBOL`.
// The library is opened at run time; SYMBOL is its Fortran entry, with integers of 32 or 64 bits.
#include <dlfcn.h>
#include <unistd.h>

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

/// The first line that f prints on stdout.
template <class F>
std::string first_line_of(F&& f) {
  char line[512] = "";
  std::FILE* const file = std::tmpfile();
  const int before = dup(1);
  if (!file || before < 0) return line;
  dup2(fileno(file), 1);
  f();
  std::fflush(nullptr);
  dup2(before, 1);
  close(before);
  std::rewind(file);
  if (!std::fgets(line, sizeof line, file)) line[0] = 0;
  std::fclose(file);
  return line;
}

/// OpenBLAS tells its configuration, MKL prints the processor that it takes code for when it first computes. On what is
/// not Intel's it says no more than "Intel(R) Architecture", and takes its AVX2 kernels.
std::string isa_of(void* library, Sgemm sgemm) {
  if (void* const f = dlsym(library, "scipy_openblas_get_config64_")) return reinterpret_cast<const char* (*)()>(f)();
  void* const f = dlsym(library, "MKL_Verbose");
  if (!f) return "not known";
  const auto verbose = reinterpret_cast<int (*)(int)>(f);
  const std::string line = first_line_of([=] {
    verbose(1);
    Product("gemm/4x4x4").run(sgemm);
    verbose(0);
  });
  const std::string before = "64 architecture ";
  const std::size_t begin = line.find(before), end = line.find(',', begin);
  return end == std::string::npos ? "not known" : line.substr(begin + before.size(), end - begin - before.size());
}

int main(int argc, char** argv) try {
  void* const library = argc == 3 ? dlopen(argv[1], RTLD_LAZY) : nullptr;
  const auto sgemm = library ? reinterpret_cast<Sgemm>(dlsym(library, argv[2])) : nullptr;
  if (!sgemm) return std::printf("missing %s\n", argc == 3 ? dlerror() : "usage: blas LIBRARY SYMBOL"), 1;
  const auto make = [=](const std::string& name, const std::string&) {
    const auto p = std::make_shared<Product>(name);
    return benchmark::Work{[=] {
                             p->run(sgemm);
                             std::vector<double> some;
                             for (std::size_t i = 0; i < p->c.size(); i += p->c.size() / 1024 + 1)
                               some.push_back(double(p->c[i]));
                             return some;
                           },
                           [=](long calls) { return benchmark::seconds_of(calls, [&] { return p->run(sgemm); }); }};
  };
  benchmark::serve(make, [=] { return isa_of(library, sgemm); });
} catch (const tenon::Error& error) {
  std::fprintf(stderr, "blas: %s\n", error.what());
  return 1;
}
