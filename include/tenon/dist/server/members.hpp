// The servers and workers of a parameter server as a process knows them, and what it says of those that are silent.
#pragma once
#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include <tenon/core/log/log.hpp>
#include <tenon/dist/server/environment.hpp>

namespace tenon::inline TENON_ABI::dist::detail {

inline constexpr long beat_ms = 100, silent_ms = 3000;
/// A process that has not looked for so long was stopped itself: it does not blame the others.
inline constexpr long stopped_ms = 1500;
using ServerClock = std::chrono::steady_clock;
inline long ms_since(ServerClock::time_point then) {
  return long(std::chrono::duration_cast<std::chrono::milliseconds>(ServerClock::now() - then).count());
}

/// What the thread that beats hears of the others, for the thread that trains.
class Members {
 public:
  explicit Members(const ServerEnvironment& environment)
      : environment_(environment), all_(std::size_t(environment.servers + environment.workers)) {}

  /// Takes a table, and warns of who is silent since, or is back.
  void take(const std::vector<Member>& all) {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const bool was = all_[i].presence == Presence::silent, is = all[i].presence == Presence::silent;
      if (is && !was)
        logging::warning("Parameter server: ", silence(i, all[i].silent_ms),
                         ", and the others wait for it. Start it "
                         "again with the same environment, and the training goes on.");
      if (was && all[i].presence == Presence::here) logging::warning("Parameter server: ", name(i), " is there again.");
    }
    all_ = all;
    heard_ = ServerClock::now();
    is_warned_ = false;
  }
  /// This process was stopped for a while, and has heard nothing for that.
  void wake_up() {
    const std::lock_guard lock(mutex_);
    heard_ = ServerClock::now();
  }
  /// Warns of a scheduler that does not answer.
  void look_at_scheduler() {
    const std::lock_guard lock(mutex_);
    if (is_warned_ || ms_since(heard_) < silent_ms) return;
    is_warned_ = true;
    logging::warning("Parameter server: ", scheduler_silence(), ". Start it again with the same environment.");
  }
  void refuse(const std::string& why) {
    const std::lock_guard lock(mutex_);
    refusal_ = why;
  }

  Member server(int rank) const { return at(std::size_t(rank)); }
  Member worker(int rank) const { return at(std::size_t(environment_.servers + rank)); }
  /// Throws RuntimeError if this process waits in vain: another one has been silent for too long, or has ended.
  void check(double timeout_seconds, std::string_view what) const {
    const std::lock_guard lock(mutex_);
    const auto stop = [&](const std::string& why) { throw_error<RuntimeError>(what, ": ", why, "."); };
    if (!refusal_.empty()) stop(refusal_);
    const double most = timeout_seconds * 1000;  // may be infinite
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (all_[i].presence == Presence::silent && double(all_[i].silent_ms) > most) stop(silence(i, all_[i].silent_ms));
      if (all_[i].presence == Presence::ended && all_[i].silent_ms > after_end_ms)
        stop(text(name(i), " has ended its program, and this one waits for it"));
    }
    if (double(ms_since(heard_)) > std::max(most, double(silent_ms))) stop(scheduler_silence());
  }

 private:
  static constexpr long after_end_ms = 2000;

  Member at(std::size_t i) const {
    const std::lock_guard lock(mutex_);
    return all_[i];
  }
  std::string name(std::size_t i) const {
    const bool is_server = i < std::size_t(environment_.servers);
    return role_name(is_server ? Role::server : Role::worker, int(i) - (is_server ? 0 : environment_.servers));
  }
  std::string silence(std::size_t i, long ms) const { return text(name(i), " has been silent for ", ms / 1000, " s"); }
  std::string scheduler_silence() const {
    return text("the scheduler at ", environment_.scheduler(), " has been silent for ", ms_since(heard_) / 1000, " s");
  }

  const ServerEnvironment environment_;
  mutable std::mutex mutex_;
  std::vector<Member> all_;  // servers, then workers
  std::string refusal_;
  ServerClock::time_point heard_ = ServerClock::now();
  bool is_warned_ = false;
};

}  // namespace tenon::dist::detail
