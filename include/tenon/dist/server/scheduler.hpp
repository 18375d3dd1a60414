// The scheduler of a parameter server: gives servers and workers their places, and knows who is there.
#pragma once
#include <random>
#include <string>
#include <vector>

#include <tenon/dist/server/members.hpp>
#include <tenon/dist/server/zmq.hpp>

namespace tenon::inline TENON_ABI::dist::detail {

inline std::uint64_t random_number() {
  std::random_device device;
  return std::uint64_t(device()) << 32 | device() | 1;
}

/// Receives beats and answers them. A new scheduler learns all of its state from the next beats, in which processes say
/// their places. A newcomer gets a place when all processes are there, or the place of a silent one.
class Scheduler {
 public:
  explicit Scheduler(const ServerEnvironment& environment)
      : environment_(environment), seats_(std::size_t(environment.servers + environment.workers)) {}

  /// Returns the answer to a beat.
  TableHead hear(const Beat& beat) {
    TableHead answer;
    answer.members = std::int32_t(seats_.size());
    if (beat.servers != environment_.servers || beat.workers != environment_.workers)
      return refuse(answer, text("the scheduler has MS_SERVER_NUM ", environment_.servers, " and MS_WORKER_NUM ",
                                 environment_.workers, ", and this process ", beat.servers, " and ", beat.workers));
    const int count = count_of(beat.role);
    if (count == 0 || beat.rank >= count) return refuse(answer, "this process has no role of a server or worker");
    if (beat.job && !job_) job_ = beat.job;  // of the scheduler before
    Seat* seat = seat_of(beat);
    if (!seat && beat.rank >= 0)
      return refuse(answer, text(role_name(beat.role, beat.rank), " was started again, and has the place of this one"));
    if (!seat) {
      if (const std::string why = keep_newcomer(beat); !why.empty()) return refuse(answer, why);
      seat_newcomers();
      seat = seat_of(beat);
    }
    if (seat) note(*seat, beat);
    answer.servers = there(Role::server), answer.workers = there(Role::worker);
    answer.job = job_;
    if (seat) answer.rank = std::int32_t(seat - seats_.data()) - first_of(beat.role);
    return answer;
  }
  /// All members, with who has not been heard of for long.
  std::vector<Member> members() {
    std::vector<Member> all;
    const bool was_stopped = ms_since(looked_) > stopped_ms;
    looked_ = ServerClock::now();
    for (Seat& seat : seats_) {
      if (was_stopped && seat.member.presence == Presence::here) seat.heard = looked_;
      Member& member = seat.member;
      if (member.incarnation) member.silent_ms = ms_since(seat.heard);
      if (member.presence == Presence::here && member.silent_ms >= silent_ms) member.presence = Presence::silent;
      all.push_back(member);
    }
    return all;
  }

 private:
  struct Seat {
    Member member;
    ServerClock::time_point heard = ServerClock::now();
  };
  struct Newcomer {
    std::uint64_t incarnation;
    Role role;
    ServerClock::time_point since, heard;
  };

  static bool is_gone(const Newcomer& one) { return ms_since(one.heard) >= 10 * beat_ms; }
  int count_of(Role role) const {
    return role == Role::server ? environment_.servers : role == Role::worker ? environment_.workers : 0;
  }
  int first_of(Role role) const { return role == Role::server ? 0 : environment_.servers; }
  static TableHead refuse(TableHead answer, const std::string& why) {
    write_text(answer.refusal, why);
    return answer;
  }
  template <class F>
  void each_seat(Role role, F f) {
    for (int i = 0; i < count_of(role); ++i) f(seats_[std::size_t(first_of(role) + i)]);
  }
  // The seat of who has one. After the scheduler was started again it is free for who says so.
  Seat* seat_of(const Beat& beat) {
    Seat* found = nullptr;
    each_seat(beat.role, [&](Seat& seat) {
      if (seat.member.incarnation == beat.incarnation) found = &seat;
    });
    if (found || beat.rank < 0) return found;
    Seat& own = seats_[std::size_t(first_of(beat.role) + beat.rank)];
    return own.member.presence == Presence::absent ? &own : nullptr;
  }
  // Those with a place, and newcomers that have beaten of late.
  int there(Role role) {
    int count = 0;
    each_seat(role, [&](const Seat& seat) { count += seat.member.presence == Presence::here; });
    for (const Newcomer& one : newcomers_) count += one.role == role && !is_gone(one);
    return count;
  }
  // Returns why there is no place for it. It may wait until another process counts as silent, and take that place.
  std::string keep_newcomer(const Beat& beat) {
    for (Newcomer& one : newcomers_)
      if (one.incarnation == beat.incarnation) {
        one.heard = ServerClock::now();
        bool is_taken = true;
        each_seat(beat.role, [&](const Seat& seat) { is_taken &= seat.member.presence == Presence::here; });
        if (!is_taken || ms_since(one.since) < 2 * silent_ms) return {};
        const bool is_server = beat.role == Role::server;
        return text("there are ", count_of(beat.role), is_server ? " servers" : " workers", " already, as many as ",
                    is_server ? "MS_SERVER_NUM" : "MS_WORKER_NUM", " says");
      }
    std::erase_if(newcomers_, is_gone);
    if (const std::size_t most = 2 * seats_.size() + 16; newcomers_.size() >= most)
      return text(most, " processes wait for one of ", seats_.size(),
                  " places already: end those that do not belong to this job, or that a loop starts again and again");
    newcomers_.push_back({beat.incarnation, beat.role, ServerClock::now(), ServerClock::now()});
    return {};
  }
  void seat_newcomers() {
    if (!is_complete_)
      for (const Role role : {Role::server, Role::worker})
        if (there(role) < count_of(role)) return;
    is_complete_ = true;
    if (!job_) job_ = random_number();
    std::erase_if(newcomers_, [&](const Newcomer& one) {
      if (is_gone(one)) return true;
      Seat* place = nullptr;
      each_seat(one.role, [&](Seat& seat) {
        const Presence presence = seat.member.presence;
        if (!place && (presence == Presence::absent || presence == Presence::silent)) place = &seat;
      });
      if (!place) return false;
      place->member = {one.incarnation, 0, Presence::here, 0, {}};
      place->heard = ServerClock::now();
      return true;
    });
  }
  static void note(Seat& seat, const Beat& beat) {
    seat.heard = ServerClock::now();
    seat.member.incarnation = beat.incarnation;
    seat.member.presence = beat.ended ? Presence::ended : Presence::here;
    seat.member.runs = beat.runs;
    write_text(seat.member.address, read_text(beat.address));
  }

  const ServerEnvironment environment_;
  std::vector<Seat> seats_;  // of the servers, then of the workers
  std::vector<Newcomer> newcomers_;
  bool is_complete_ = false;  // all were there once
  std::uint64_t job_ = 0;
  ServerClock::time_point looked_ = ServerClock::now();
};

}  // namespace tenon::dist::detail
