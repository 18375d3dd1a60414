// Whether a target promises the results of the CPU, bit for bit.
#pragma once

namespace support {

template <class Target>
inline constexpr bool has_bits_of_cpu = requires { requires Target::has_bits_of_cpu; };

}  // namespace support
