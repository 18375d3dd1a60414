// What the command line of tenon-cache says, in MindSpore's words.
#pragma once
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include <tenon/core/error.hpp>

namespace cache_tool {

using namespace tenon;

struct Settings {
  std::string command;  // as it is called in its long form
  std::uint32_t session = 0;
  std::string backend = "lmdb", hostname = "127.0.0.1", folder;
  int port = 50052, workers = 1, log_level = 1, memory_gigabytes = 0;
  double memory_ratio = 0.8;
};

template <class T>
T number_of(const std::string& value) {
  T number{};
  const char* const last = value.data() + value.size();
  if (const auto [end, error] = std::from_chars(value.data(), last, number); error != std::errc() || end != last)
    throw_error<ValueError>("Invalid numeric value: ", value);
  return number;
}

/// The arguments before they are checked. An option that is given twice is told as such, so each is a list.
class CommandLine {
 public:
  using Values = std::vector<std::string>;

  explicit CommandLine(CLI::App& app) {
    app.set_help_flag("--help", "this text");
    app.allow_extras();
    flag(app, "--start", "makes the cache usable: with LMDB there is nothing to do, with Redis the server is started");
    flag(app, "--stop", "ends all sessions and removes their rows, and the server if there is one");
    flag(app, "--generate_session,-g", "creates a session and prints its number");
    option(app, "--destroy_session,-d", "ends a session and removes its rows", destroyed_)->type_name("ID");
    flag(app, "--list_sessions", "prints what each session holds");
    flag(app, "--server_info", "prints settings and sessions");
    option(app, "--hostname,-h", "of a Redis server; default 127.0.0.1", hostname_);
    option(app, "--port,-p", "1025 .. 65535, default 50052", port_);
    option(app, "--workers,-w", "threads of a Redis server that is started; default half the cores", workers_);
    option(app, "--spilldir,-s",
           "the folder of the cache; default $TENON_CACHE_FOLDER, else ~/.cache/tenon/dataset_cache", folder_);
    option(app, "--loglevel,-l", "0 .. 3 of a Redis server that is started; default 1", log_level_);
    option(app, "--backend", "lmdb (default) or redis", backend_);
    option(app, "--shared_memory_size,-m", "most gigabytes of a Redis server that is started", memory_);
    option(app, "--memory_cap_ratio,-r", "the same as a part of this machine's memory; default 0.8", ratio_);
  }

  /// Throws ValueError with MindSpore's sentence if something is wrong.
  Settings settings(const CLI::App& app, const std::vector<std::string>& arguments) const {
    Settings s;
    s.command = command(arguments);
    if (const auto rest = app.remaining(); !rest.empty()) {
      std::string all;
      for (const std::string& word : rest) all += " " + word;
      throw_error<ValueError>("Invalid arguments provided: ", all);
    }
    if (s.command.empty()) throw_error<ValueError>("No command provided");
    s.session = value_of<std::uint32_t>(destroyed_, "--destroy_session", 0);
    s.hostname = text_of(hostname_, "--hostname", s.hostname);
    s.folder = text_of(folder_, "--spilldir", s.folder);
    s.backend = text_of(backend_, "--backend", s.backend);
    s.port = value_of<int>(port_, "--port", s.port);
    const int cores = static_cast<int>(std::thread::hardware_concurrency()), most_workers = std::max(cores, 100);
    s.workers = value_of<int>(workers_, "--workers", cores > 2 ? cores / 2 : 1);
    s.log_level = value_of<int>(log_level_, "--loglevel", s.log_level);
    s.memory_gigabytes = value_of<int>(memory_, "--shared_memory_size", s.memory_gigabytes);
    s.memory_ratio = value_of<double>(ratio_, "--memory_cap_ratio", s.memory_ratio);
    check(s, most_workers);
    return s;
  }

 private:
  static void check(const Settings& s, int most_workers) {
    if (s.workers < 1 || s.workers > most_workers)
      throw_error<ValueError>("Number of workers must be in range of 1 and ", most_workers, ".");
    if (s.log_level < 0 || s.log_level > 3) throw_error<ValueError>("Log level must be in range (0..3).");
    if (!(s.memory_ratio > 0 && s.memory_ratio <= 1))
      throw_error<ValueError>("Memory cap ratio should be positive and no greater than 1");
    if (s.memory_gigabytes < 0) throw_error<ValueError>("Shared memory size should not be negative.");
    if (s.port < 1025 || s.port > 65535) throw_error<ValueError>("Port must be in range (1025..65535).");
    if (s.backend != "lmdb" && s.backend != "redis")
      throw_error<ValueError>("The backend is lmdb or redis, not '", s.backend, "'.");
    const bool other_machine = s.hostname != "127.0.0.1";
    if (other_machine && (s.backend == "lmdb" || s.command == "--start" || s.command == "--stop"))
      throw_error<ValueError>("Invalid host interface: ", s.hostname,
                              ". Current limitation, only 127.0.0.1 can be used.");
  }
  void flag(CLI::App& app, const std::string& names, const std::string& about) {
    app.add_flag(names, flags_.emplace_back(0), about);
    remember(names);
  }
  CLI::Option* option(CLI::App& app, const std::string& names, const std::string& about, Values& values) {
    if (&values == &destroyed_) remember(names);
    return app.add_option(names, values, about)
        ->allow_extra_args(false)
        ->type_name("")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
  void remember(const std::string& names) {
    const std::size_t comma = names.find(',');
    commands_.push_back({names.substr(0, comma), comma == names.npos ? "" : names.substr(comma + 1)});
  }
  /// The long form of the one command among the arguments.
  std::string command(const std::vector<std::string>& arguments) const {
    std::string found;
    for (const std::string& argument : arguments)
      for (const auto& [name, short_name] : commands_) {
        const std::string_view word = std::string_view(argument).substr(0, argument.find('='));
        if (word != name && (short_name.empty() || !argument.starts_with(short_name) || argument.starts_with("--")))
          continue;
        if (!found.empty())
          throw_error<ValueError>("Only one command at a time is allowed.  Invalid command: ", argument);
        found = name;
      }
    return found;
  }
  static std::string text_of(const Values& values, const char* name, const std::string& otherwise) {
    if (values.size() > 1) throw_error<ValueError>("The ", name, " argument was given more than once.");
    return values.empty() ? otherwise : values[0];
  }
  template <class T>
  static T value_of(const Values& values, const char* name, T otherwise) {
    return values.empty() ? otherwise : number_of<T>(text_of(values, name, ""));
  }

  struct Names {
    std::string name, short_name;
  };
  std::vector<Names> commands_;
  std::list<int> flags_;
  Values destroyed_, hostname_, port_, workers_, folder_, log_level_, backend_, memory_, ratio_;
};

}  // namespace cache_tool
