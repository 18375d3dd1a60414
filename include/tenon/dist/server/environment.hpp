// What the environment says of a process of a parameter server: its role, how many there are, where the scheduler is.
#pragma once
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/context/parallel.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/tensor/list.hpp>
#include <tenon/dist/server/wire.hpp>

namespace tenon::inline TENON_ABI::dist::detail {

/// The settings of one process.
struct ServerEnvironment {
  Role role = Role::none;
  int servers = 0, workers = 0;
  std::string host;
  int port = 0;

  std::string scheduler() const { return text(host, ":", port); }
};

[[gnu::cold]] inline std::string needed_variable(const char* name, std::string_view what) {
  if (const char* const value = std::getenv(name); value && *value) return value;
  throw_error<ValueError>("dist::init_parameter_server: the variable ", name, " is not set: ", what, ".");
}
[[gnu::cold]] inline int variable_number(const char* name, int most, std::string_view what) {
  const std::string value = needed_variable(name, what);
  long number = 0;
  for (const char c : value)
    number = c < '0' || c > '9' || number > most ? -1 : number < 0 ? -1 : number * 10 + c - '0';
  if (number < 1 || number > most)
    throw_error<ValueError>("dist::init_parameter_server: ", name, " is '", value, "', and must be 1 to ", most, ": ",
                            what, ".");
  return int(number);
}

/// Throws RuntimeError without enable_ps, ValueError for a variable that is missing or wrong.
[[gnu::cold, gnu::noinline]] inline ServerEnvironment server_environment() {
  if (get_ps_context("enable_ps") != "True")
    throw_error<RuntimeError>(
        "dist::init_parameter_server: call set_ps_context(\"enable_ps\", \"True\") first: without "
        "it each process would train for itself, also one that is to be a server.");
  const std::vector<std::string> roles{"MS_SCHED", "MS_PSERVER", "MS_WORKER"};
  const std::string role = needed_variable("MS_ROLE", "MS_SCHED for the one scheduler, MS_PSERVER for a server, "
                                                      "MS_WORKER for a worker");
  ServerEnvironment all;
  all.role = role == roles[0]   ? Role::scheduler
             : role == roles[1] ? Role::server
             : role == roles[2] ? Role::worker
                                : Role::none;
  if (all.role == Role::none)
    throw_error<ValueError>("dist::init_parameter_server: MS_ROLE is '", role, "'; there are ", quoted_list(roles), ".",
                            did_you_mean(role, roles));
  all.servers = variable_number("MS_SERVER_NUM", 4096, "the number of servers, the same for all processes");
  all.workers = variable_number("MS_WORKER_NUM", 4096, "the number of workers, the same for all processes");
  all.host = needed_variable("MS_SCHED_HOST", "the machine of the scheduler, such as 127.0.0.1");
  all.port = variable_number("MS_SCHED_PORT", 65535, "the port of the scheduler, the same for all processes");
  return all;
}

}  // namespace tenon::dist::detail
