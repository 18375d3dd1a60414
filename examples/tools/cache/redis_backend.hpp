// The Redis server that tenon-cache starts and stops.
#pragma once
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tenon/dataset/cache/cache_folder.hpp>
#include <tenon/dataset/cache/redis_sessions.hpp>

#include "backend.hpp"

extern char** environ;

namespace cache_tool {

class RedisBackend : public Backend {
 public:
  explicit RedisBackend(const Settings& s)
      : settings_(s), folder_(absolute(s.folder.empty() ? dataset::default_cache_folder() : s.folder)) {}

  std::string start() override {
    if (is_up()) throw_error<RuntimeError>("Cache server on port ", settings_.port, " is already up and running.");
    dataset::detail::make_folders(folder_);
    spawn(arguments());
    for (int round = 0; round < 100 && !is_up(); ++round) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (!is_up())
      throw_error<RuntimeError>("redis-server does not answer on port ", settings_.port, ". Its log, ", path("log"),
                                ", says why; another program may have the port: choose one with -p.");
    return text("The cache server daemon has been created as process id ", process(), " and listening on port ",
                settings_.port);
  }
  void stop() override {
    if (!is_up()) {
      remove_files();  // of one that was killed
      throw_error<RuntimeError>("Server on port ", settings_.port, " is not up or has been shutdown already.");
    }
    if (!is_ours())
      throw_error<RuntimeError>("The Redis server on port ", settings_.port,
                                " was not started by tenon-cache with this ",
                                "folder (-s): it stays. Sessions are ended one by one, with -d.");
    dataset::RedisSessions(settings_.hostname, settings_.port).shut_down();
    for (int round = 0; round < 600 && is_up(); ++round) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (is_up()) throw_error<RuntimeError>("The Redis server on port ", settings_.port, " does not end.");
    remove_files();
  }
  std::uint32_t create_session() override { return server().create_session(); }
  bool drop_session(std::uint32_t id) override { return server().drop_session(id); }
  std::vector<SessionRows> sessions() override {
    auto redis = server();
    std::vector<SessionRows> all;
    for (const std::uint32_t id : redis.sessions()) all.push_back({id, redis.counts(id)});
    return all;
  }
  std::string spill_folder() const override { return "None"; }

 private:
  /// The server changes its folder.
  static std::string absolute(const std::string& folder) {
    if (folder.starts_with('/')) return folder;
    char here[4096];
    if (!::getcwd(here, sizeof here)) io::throw_system_error("find", ".");
    return io::join_path(here, folder);
  }
  dataset::RedisSessions server() const { return {settings_.hostname, settings_.port}; }
  std::string path(std::string_view suffix) const {
    return io::join_path(folder_, text("redis_", settings_.port, ".", suffix));
  }
  bool is_up() const {
    try {
      dataset::detail::RedisConnection(settings_.hostname, settings_.port);
      return true;
    } catch (const RuntimeError&) {
      return false;
    }
  }
  std::string setting(const char* name) const {
    dataset::detail::RedisConnection connection(settings_.hostname, settings_.port);
    const auto reply = connection.try_command({"CONFIG", "GET", name});
    return reply && reply->elements == 2 ? std::string(dataset::detail::words_of(*reply->element[1])) : "";
  }
  bool is_ours() const { return setting("pidfile") == path("pid"); }
  std::string process() const {
    std::string number = io::file_exists(path("pid")) ? io::read_file(path("pid"), 64) : "?";
    while (!number.empty() && number.back() == '\n') number.pop_back();
    return number;
  }
  void remove_files() const {
    for (const char* suffix : {"pid", "log"}) ::unlink(path(suffix).c_str());
  }

  std::vector<std::string> arguments() const {
    static constexpr const char* levels[]{"debug", "notice", "warning", "warning"};
    const double physical = double(::sysconf(_SC_PHYS_PAGES)) * double(::sysconf(_SC_PAGESIZE));
    double most = physical * settings_.memory_ratio;
    if (settings_.memory_gigabytes > 0) most = std::min(most, settings_.memory_gigabytes * double(1 << 30));
    return {"redis-server", "--port", text(settings_.port), "--bind", "127.0.0.1", "--daemonize", "yes", "--pidfile",
            path("pid"), "--logfile", path("log"), "--dir", folder_,
            // rows can be computed again: nothing is written to disk, and what does not fit is refused
            "--save", "", "--appendonly", "no", "--maxmemory", text(static_cast<std::uint64_t>(most)),
            "--maxmemory-policy", "noeviction", "--io-threads", text(std::min(settings_.workers, 128)), "--loglevel",
            levels[settings_.log_level]};
  }
  void spawn(std::vector<std::string> words) const {
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    pid_t child = 0;
    if (::posix_spawnp(&child, "redis-server", nullptr, nullptr, pointers.data(), environ) != 0)
      throw_error<RuntimeError>("redis-server cannot be started. Install it (on Debian: apt-get install redis-server), "
                                "or do without --backend redis.");
    int status = 0;
    ::waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
      throw_error<RuntimeError>("redis-server does not start. Its log, ", path("log"), ", may say why.");
  }

  Settings settings_;
  std::string folder_;
};

}  // namespace cache_tool
