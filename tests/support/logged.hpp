// What a child process writes to its error stream, under given variables of the environment.
#pragma once
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

namespace support {

using Variables = std::vector<std::pair<const char*, std::string>>;

/// Without the variables of logs that are not given.
inline void set_log_variables(const Variables& variables) {
  for (const char* name :
       {"GLOG_v", "GLOG_logtostderr", "GLOG_log_dir", "GLOG_stderrthreshold", "GLOG_max_log_size", "GLOG_log_max",
        "GLOG_logfile_mode", "MS_SUBMODULE_LOG_v", "RANK_ID", "OMPI_COMM_WORLD_RANK"})
    ::unsetenv(name);
  for (const auto& [name, value] : variables) ::setenv(name, value.c_str(), 1);
}

/// Runs f in a child, which must end well.
template <class F>
std::string logged(const Variables& variables, F f) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  std::cout.flush();
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    set_log_variables(variables);
    f();
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string all;
  char buffer[4096];
  for (ssize_t got; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;) all.append(buffer, std::size_t(got));
  ::close(ends[0]);
  int status = -1;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  return all;
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Line by line from "LEVEL MODULE] " on without what differs between machines: "WARNING ME] the message".
inline std::string messages(const std::string& text) {
  std::string all;
  for (const std::string& line : lines_of(text)) {
    const auto level = line.find("] "), module = line.find('('), place = line.find("] ", module);
    const auto function = line.find("] ", place + 1);  // MindSpore's Python has none
    if (line[0] != '[' || place == line.npos) all += "? " + line + "\n";
    else
      all += line.substr(1, level - 1) + " " + line.substr(level + 2, module - level - 2) + "] " +
             line.substr((function == line.npos ? place : function) + 2) + "\n";
  }
  return all;
}

}  // namespace support
