// serve_tls: a model over HTTPS. Needs Boost 1.74 or later, nlohmann_json, and OpenSSL (component `tls`).
#pragma once
#if !__has_include(<openssl/ssl.h>)
#include <Header tenon/serve/tls.hpp needs OpenSSL. On Debian: apt-get install libssl-dev, and link -lssl -lcrypto>
#endif

#include <memory>
#include <string>
#include <utility>

#include <boost/asio/ssl/stream.hpp>
#include <tenon/serve/server.hpp>
#include <tenon/serve/tls/context.hpp>

namespace tenon::inline TENON_ABI {

namespace serving {
/// How a connection carries bytes: encrypted, by OpenSSL.
struct Tls {
  using Stream = boost::asio::ssl::stream<Socket>;

  static Socket& socket(Stream& stream) { return stream.next_layer(); }
  static void open(Stream& stream, auto then) { stream.async_handshake(Stream::server, std::move(then)); }
  /// A record that the system takes in part must be written on, so all is written later.
  static std::size_t write_now(Stream&, const auto&, boost::system::error_code&) { return 0; }
  static void end(Stream& stream, auto then) {
    stream.async_shutdown([then = std::move(then)](boost::system::error_code) { then(); });
  }
};
}  // namespace serving

/// A Server whose connections are encrypted by TLS 1.2 or 1.3.
///
///     TlsServer server({.certificate = "server.crt", .key = "server.key"}, {.port = 8443});
///
/// The handshake of a connection has `read_time` of the settings, and counts as a connection from its beginning.
class TlsServer : public Server {
 public:
  /// Throws as Server, and RuntimeError for a file that is missing or wrong, with its name.
  explicit TlsServer(TlsOptions tls, ServeOptions options = {})
      : TlsServer(std::make_shared<serving::CurrentTls>(std::move(tls)), std::move(options)) {}

  /// Reads the files again, for connections that begin from now on. Throws as the constructor does, and then
  /// keeps the certificate before.
  void reload_certificate() { current_->reload(); }

 private:
  TlsServer(std::shared_ptr<serving::CurrentTls> current, ServeOptions options)
      : Server(std::move(options), open(current)), current_(std::move(current)) {}
  static Open open(std::shared_ptr<serving::CurrentTls> current) {
    return [current = std::move(current)](const auto& hub, serving::IoThread& io, serving::Socket socket) {
      open_session<serving::Tls>(hub, io, std::move(socket), *current->get());
    };
  }

  std::shared_ptr<serving::CurrentTls> current_;
};

/// Serves a model over HTTPS until SIGINT or SIGTERM:
/// `serve_tls<Inputs>("net", model, {.certificate = "server.crt", .key = "server.key"}, {.port = 8443})`.
///
/// throws   as TlsServer and Server::add
template <class Inputs, class M>
void serve_tls(const std::string& name, const M& model, const TlsOptions& tls, const ServeOptions& options = {},
               const ServedOptions& served = {}) {
  TlsServer server(tls, options);
  server.add<Inputs>(name, 1, model, served);
  server.start();
  logging::info("serving ", name, " over TLS on ", options.address, " port ", server.port());
  server.wait();
}

}  // namespace tenon
