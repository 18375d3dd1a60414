// Files with a launch of a kernel and the memory of the emulated device before and after it, which dump.py reads.
//
// They have numbers of 64 bits, and texts, which are a length and bytes: numbers of blocks, threads, bytes of shared
// memory, blocks of a cluster; the name of the kernel's body; the number of arguments, and each of them; then twice the
// memory: the number of its pieces, and of each its address and its bytes.
#pragma once
#include <cuda_runtime.h>

#include <cstdint>
#include <fstream>
#include <string>

namespace dumped {
class File {
 public:
  /// Before the kernel runs.
  void begin(const std::string& path, const emulator::Launch& launch) {
    file_.open(path, std::ios::binary);
    put(launch.blocks), put(launch.threads), put(launch.shared_bytes), put(launch.cluster);
    put(std::string(launch.body));
    put(long(launch.arguments.size()));
    for (const std::string& argument : launch.arguments) put(argument);
    put_memory();
  }
  bool is_open() const { return file_.is_open(); }
  /// When it is done; whether all was written.
  bool end() {
    put_memory();
    file_.close();
    return bool(file_);
  }

 private:
  void put(long number) { file_.write(reinterpret_cast<const char*>(&number), sizeof number); }
  void put(const std::string& text) {
    put(long(text.size()));
    file_.write(text.data(), std::streamsize(text.size()));
  }
  void put_memory() {
    const auto all = emulator::device_blocks().all();
    put(long(all.size()));
    for (const auto& [at, bytes] : all) {
      put(long(reinterpret_cast<std::uintptr_t>(at)));
      put(std::string(reinterpret_cast<const char*>(at), bytes));
    }
  }

  std::ofstream file_;
};
}  // namespace dumped
