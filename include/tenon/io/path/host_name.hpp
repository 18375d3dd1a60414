// host_name: what this machine is called.
#pragma once
#include <sys/utsname.h>

#include <string>

#include <tenon/core/abi.hpp>

namespace tenon::inline TENON_ABI::io {

/// As `uname -n` says, or "localhost" where it says nothing.
inline std::string host_name() {
  struct utsname system{};
  return ::uname(&system) == 0 && *system.nodename ? system.nodename : "localhost";
}

}  // namespace tenon::io
