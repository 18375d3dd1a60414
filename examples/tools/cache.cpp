// tenon-cache: creates, lists, and removes the sessions of caches of data sets.
// link: cli11 lmdb
// may link: redis
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cache/backend.hpp"
#include "cache/settings.hpp"
#if TENON_WITH_REDIS
#include "cache/redis_backend.hpp"
#endif

namespace {
using namespace cache_tool;

constexpr const char* about =
    "Creates, lists, and removes the sessions of caches of data sets:\n\n"
    "  id=$(tenon-cache -g | sed 's/.*: //')      a session, for DatasetCache{.session_id = id}\n"
    "  tenon-cache --list_sessions               what the sessions hold\n"
    "  tenon-cache -d $id                        removes it\n\n"
    "A program that was killed leaves nothing to clean up: the next one goes on with its rows.";

std::unique_ptr<Backend> backend_of(const Settings& s) {
  if (s.backend == "lmdb") return std::make_unique<LmdbBackend>(s);
#if TENON_WITH_REDIS
  return std::make_unique<RedisBackend>(s);
#else
  throw_error<ValueError>("This tenon-cache was built without hiredis and knows no --backend redis.");
#endif
}

std::string number_or_none(std::uint64_t number) { return number == 0 ? "n/a" : std::to_string(number); }

void print_row(const std::string& session, const std::string& id, const std::string& in_memory,
               const std::string& on_disk, const std::string& size, const std::string& numa) {
  std::printf("%12s%12s%12s%12s%16s%10s\n", session.c_str(), id.c_str(), in_memory.c_str(), on_disk.c_str(),
              size.c_str(), numa.c_str());
}

void list_sessions(Backend& backend, int port) {
  const std::vector<SessionRows> sessions = backend.sessions();
  std::printf("Listing sessions for server on port %d\n\n", port);
  if (sessions.empty()) {
    std::printf("No active sessions.\n");
    return;
  }
  print_row("Session", "Cache Id", "Mem cached", "Disk cached", "Avg cache size", "Numa hit");
  for (const SessionRows& session : sessions) {
    if (session.counts.empty()) print_row(std::to_string(session.id), "n/a", "n/a", "n/a", "n/a", "n/a");
    for (const dataset::CacheCount& count : session.counts) {
      const std::uint64_t rows = count.in_memory + count.on_disk;
      print_row(std::to_string(session.id), std::to_string(static_cast<std::uint32_t>(count.cache)),
                number_or_none(count.in_memory), number_or_none(count.on_disk),
                number_or_none(rows == 0 ? 0 : count.bytes / rows), "n/a");
    }
  }
}

void print_server_info(Backend& backend, const Settings& s) {
  const std::vector<SessionRows> sessions = backend.sessions();
  constexpr const char* line = "----------------------------------------";
  const auto setting = [](const char* name, const std::string& value) {
    std::printf("%20s %14s\n", name, value.c_str());
  };
  std::printf("Cache Server Configuration: \n%s\n", line);
  setting("config name", "value");
  std::printf("%s\n", line);
  setting("hostname", s.hostname);
  setting("port", std::to_string(s.port));
  setting("number of workers", s.backend == "lmdb" ? "None" : std::to_string(s.workers));
  setting("log level", std::to_string(s.log_level));
  setting("spill dir", backend.spill_folder());
  setting("backend", s.backend);
  std::printf("%s\nActive sessions: \n", line);
  for (const SessionRows& session : sessions) std::printf("%u  ", session.id);
  std::printf(sessions.empty() ? "No active sessions.\n"
                               : "\n(Please use 'tenon-cache --list_sessions' to get detailed info of sessions.)\n");
}

void run_command(const Settings& s) {
  const std::unique_ptr<Backend> backend = backend_of(s);
  if (s.command == "--start") {
    const std::string more = backend->start();
    std::printf("Cache server startup completed successfully!\n%s\n", more.c_str());
  } else if (s.command == "--stop") {
    backend->stop();
    std::printf("Cache server on port %d has been stopped successfully.\n", s.port);
  } else if (s.command == "--generate_session") {
    std::printf("Session created for server on port %d: %u\n", s.port, backend->create_session());
  } else if (s.command == "--destroy_session") {
    if (!backend->drop_session(s.session))
      throw_error<RuntimeError>("Session id ", s.session, " not found for server on port ", s.port, ".");
    std::printf("Drop session successfully for server on port %d\n", s.port);
  } else if (s.command == "--list_sessions") {
    list_sessions(*backend, s.port);
  } else {
    print_server_info(*backend, s);
  }
}
}  // namespace

int main(int argc, char** argv) {
  CLI::App app(about, "tenon-cache");
  app.set_version_flag("--version", TENON_VERSION);
  CommandLine line(app);
  try {
    app.parse(argc, argv);
    run_command(line.settings(app, std::vector<std::string>(argv + 1, argv + argc)));
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tenon-cache: %s\n", e.what());
    return 1;
  }
  return 0;
}
