// Starts the threads of a server or of a model, all or none.
#pragma once
#include <exception>
#include <string_view>
#include <thread>
#include <vector>

#include <tenon/core/error.hpp>

namespace tenon::inline TENON_ABI::serving {

/// Starts `count` threads that call body(0), body(1), ... If the system makes fewer, it calls give_up(), joins the
/// threads that have started, and throws RuntimeError. Without the join the program would end (std::terminate).
///
/// give_up       makes the started threads return
/// who, setting  for the message: "Server.add", "instances"
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
