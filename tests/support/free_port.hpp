// A TCP port of this machine that a test's own server can have.
#pragma once
#include <cstdint>

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace support {

/// A port in 20000 .. 31999 that is free now. Linux gives no port below 32768 to a connection that asks for any one, so
/// connections of other tests do not take it before the server does. Processes begin at different ports.
inline int free_port() {
  static std::uint32_t next = static_cast<std::uint32_t>(::getpid()) * 7;
  for (int tried = 0; tried < 12000; ++tried) {
    const auto port = static_cast<std::uint16_t>(20000 + next++ % 12000);
    sockaddr_in address{};
    address.sin_family = AF_INET, address.sin_port = htons(port), address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    REQUIRE(listener >= 0);
    const bool is_free = ::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    ::close(listener);
    if (is_free) return port;
  }
  FAIL("no port in 20000 .. 31999 is free");
  return 0;
}

}  // namespace support
