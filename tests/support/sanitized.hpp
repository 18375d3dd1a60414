// Whether a test runs under a sanitizer, which makes it up to 30 times slower: trainings are shorter there, and nothing
// is said about what they reach.
#pragma once

namespace support {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

}  // namespace support
