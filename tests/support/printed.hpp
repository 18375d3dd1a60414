// What a program prints to a stream.
#pragma once
#include <cstdio>
#include <string>

#include <unistd.h>

namespace support {

/// Runs f with the stream's file in a temporary one, and returns what was written there.
template <class F>
std::string printed_to(std::FILE* stream, F f) {
  std::fflush(stream);
  std::FILE* file = std::tmpfile();
  const int before = ::dup(::fileno(stream));
  ::dup2(::fileno(file), ::fileno(stream));
  f();
  std::fflush(stream);
  ::dup2(before, ::fileno(stream));
  ::close(before);
  std::string result;
  std::rewind(file);
  for (int c; (c = std::fgetc(file)) != EOF;) result += static_cast<char>(c);
  std::fclose(file);
  return result;
}

}  // namespace support
