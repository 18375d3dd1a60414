// The settings of a server, and of a model that it serves.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI {

/// Settings of a Server. A request beyond a limit gets an error, and no limit can be switched off.
struct ServeOptions {
  /// The numeric address that the server listens on. Only programs on this machine reach the default.
  std::string address = "127.0.0.1";
  /// The port; 0 takes a free one, which Server::port() returns.
  int port = 8080;
  /// Threads that read requests and write responses. Each model has its own threads beside them.
  int threads = 1;

  /// Connections at a time; a further one is closed.
  int max_connections = 12'000;
  /// Requests of a connection, which the server closes after the last.
  int max_requests_per_connection = 100'000;
  /// Bytes of the request line with all headers, and the number of headers.
  std::size_t max_header_bytes = 8192;
  int max_headers = 64;
  /// Bytes of a body, and of all bodies that are being read or computed.
  std::size_t max_body_bytes = std::size_t{16} << 20, max_bodies_bytes = std::size_t{256} << 20;

  /// How long a connection may be idle between two requests.
  std::chrono::milliseconds idle_time{60'000};
  /// How long a request may take to arrive: its headers, and again its body.
  std::chrono::milliseconds read_time{10'000};
  /// How long the client may take to receive a response.
  std::chrono::milliseconds write_time{10'000};
  /// How long stop() waits for responses to be received, after all requests that wait have been computed.
  std::chrono::milliseconds stop_time{10'000};
};

/// The files of a server's certificate, in the PEM form.
struct TlsOptions {
  /// The certificate, followed by those between it and the authority that clients know.
  std::string certificate;
  /// Its private key, and the password of the key if it is encrypted.
  std::string key, password{};
  /// Certificates of authorities: with them a client needs a certificate that one of them has signed.
  std::string client_authorities{};
};

/// Settings of a model that a Server serves.
struct ServedOptions {
  /// Names of the outputs: "output" without them, or "output_0", "output_1", ... for several.
  std::vector<std::string> outputs{};
  /// Samples of a request, and of requests that are computed together.
  long max_batch_size = 64;
  /// How long a request waits for others that fill a batch. With 0 a batch has the requests that arrived while the
  /// batch before it was computed.
  std::chrono::microseconds max_queue_delay{0};
  /// Requests that wait; a further one is refused with status 503.
  long max_queue_size = 1024;
  /// Threads that compute batches of this model.
  int instances = 1;
  /// A batch that took at most this long lately is computed by the thread that read its last request, without a change
  /// of threads: that thread reads and writes nothing meanwhile. With 0, and with a max_queue_delay, never.
  std::chrono::microseconds max_direct_time{1000};
};

namespace serving {
/// A hundred years. A longer time counts as this one: added to the time of now it would pass the end of the clock, and
/// what is to last for ever would end at once.
inline constexpr std::chrono::hours longest_time{100 * 365 * 24};

inline ServeOptions bounded(ServeOptions options) {
  for (auto* time : {&options.idle_time, &options.read_time, &options.write_time, &options.stop_time})
    *time = std::min<std::chrono::milliseconds>(*time, longest_time);
  return options;
}
inline ServedOptions bounded(ServedOptions options) {
  for (auto* time : {&options.max_queue_delay, &options.max_direct_time})
    *time = std::min<std::chrono::microseconds>(*time, longest_time);
  return options;
}
}  // namespace serving

}  // namespace tenon
