// Starts the threads of a server or of a model, all or none.
#pragma once
#include <exception>
#include <string_view>
#include <thread>
#include <vector>

#include <tenon/core/error.hpp>

namespace tenon::inline TENON_ABI::serving {

/// Starts threads that call body(0), body(1), ... When the system makes fewer than `count`, calls give_up(), which lets
/// the started ones end, joins them, and throws RuntimeError: a std::thread that nobody joins would end the program.
///
/// what  who asks, and the name of the setting with the number: "Server.add", "instances"
void start_threads(std::vector<std::thread>& threads, int count, const auto& body, const auto& give_up,
                   std::string_view who, std::string_view setting) {
  int started = 0;
  try {
    for (; started < count; ++started) threads.emplace_back([body, started] { body(started); });
  } catch (const std::exception&) {
    give_up();
    for (std::thread& thread : threads) thread.join();
    threads.clear();
    throw_error<RuntimeError>(who, " got ", setting, " = ", count, ", and the system made ", started,
                              " of these threads: use fewer, or raise its limits (ulimit -u, pids.max).");
  }
}

}  // namespace tenon::serving
