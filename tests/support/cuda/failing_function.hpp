// The function of the emulated runtime or of an emulated library that fails.
#pragma once
#include <string>

namespace emulator {
/// Tests set it. A function of a library fails as long as it is named here; one of the runtime fails once, and the name
/// goes away.
inline std::string failing_function;
}  // namespace emulator
