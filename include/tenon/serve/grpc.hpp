// GrpcServer: the models of a Server over gRPC. Needs gRPC, protozero, and what serve.hpp needs (component `grpc`).
#pragma once
#if !__has_include(<grpcpp/grpcpp.h>)
#include <Header tenon/serve/grpc.hpp needs gRPC. On Debian: apt-get install libgrpc++-dev; link -lgrpc++ -lgrpc -lgpr>
#endif

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>
#include <tenon/io/file.hpp>
#include <tenon/serve/grpc/call.hpp>
#include <tenon/serve/server.hpp>

namespace tenon::inline TENON_ABI {

/// Settings of a GrpcServer. Sizes and times are those of the Server.
struct GrpcOptions {
  /// The numeric address that it listens on. Only programs on this machine reach the default.
  std::string address = "127.0.0.1";
  /// The port; 0 takes a free one, which GrpcServer::port() returns.
  int port = 8081;
  /// Calls at a time, with those whose message is arriving; a further one gets RESOURCE_EXHAUSTED.
  int max_calls = 1024;
  /// Encrypts the connections, where it names files. gRPC takes no key with a password.
  TlsOptions tls{};
};

namespace serving {
/// Hands the calls of gRPC's threads to the batchers of a server.
class GrpcService final : public Companion, private ::grpc::CallbackGenericService {
 public:
  GrpcService(std::shared_ptr<Hub> hub, const GrpcOptions& options)
      : calls_(std::move(hub), std::size_t(options.max_calls)) {
    const ServeOptions& o = calls_.hub().options;
    ::grpc::ServerBuilder builder;
    // what arrives has a limit before its call is known
    ::grpc::ResourceQuota quota;
    quota.Resize(o.max_bodies_bytes + (std::size_t{64} << 20));
    builder.SetResourceQuota(quota);
    builder.SetMaxReceiveMessageSize(int(std::min<std::size_t>(o.max_body_bytes, std::size_t{1} << 30)));
    builder.SetMaxSendMessageSize(-1);
    builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE,
                                                 false);  // a small message may become a large one
    builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // else a port that is taken is no error
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, std::min(options.max_calls, 128));
    builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, int(o.max_header_bytes));
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, milliseconds(o.idle_time));
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, milliseconds(o.read_time));
    builder.AddListeningPort(endpoint(options), credentials(options.tls), &port_);
    builder.RegisterCallbackGenericService(this);
    server_ = builder.BuildAndStart();
    if (!server_ || !port_)
      throw_error<RuntimeError>("GrpcServer cannot listen on ", options.address, " port ", options.port,
                                options.tls.certificate.empty()
                                    ? ". Use another port, or 0 for a free one."
                                    : ". Use another port, or a certificate with the key that belongs to it.");
  }
  ~GrpcService() override { stop(); }

  int port() const { return port_; }
  /// Lets clients receive the results of what has been begun for up to `stop_time`, and ends.
  void stop() override {
    const std::lock_guard lock(mutex_);
    if (server_) server_->Shutdown(std::chrono::system_clock::now() + calls_.hub().options.stop_time);
    server_.reset();
  }

 private:
  ::grpc::ServerGenericBidiReactor* CreateReactor(::grpc::GenericCallbackServerContext* context) override {
    return new GrpcCall(calls_, *context);
  }
  // gRPC has 32 bits for them, and takes the largest for ever.
  static int milliseconds(std::chrono::milliseconds time) {
    return int(std::min<std::chrono::milliseconds::rep>(time.count(), std::numeric_limits<int>::max()));
  }
  static std::string endpoint(const GrpcOptions& options) {
    boost::system::error_code error;
    const auto address = boost::asio::ip::make_address(options.address, error);
    if (error || options.port < 0 || options.port > 65535 || options.max_calls < 1)
      throw_error<ValueError>(
          "GrpcServer got the address ", io::printable(options.address), ", port ", options.port, ", and max_calls ",
          options.max_calls,
          ": write a numeric address, such as 127.0.0.1, a port of 0 to 65535, and 1 or more calls.");
    return (address.is_v6() ? '[' + options.address + ']' : options.address) + ':' + std::to_string(options.port);
  }
  static std::shared_ptr<::grpc::ServerCredentials> credentials(const TlsOptions& tls) {
    if (tls.certificate.empty() && tls.key.empty()) return ::grpc::InsecureServerCredentials();
    if (!tls.password.empty())
      throw_error<ValueError>(
          "GrpcServer got a key with a password, which gRPC does not take: ", io::printable(tls.key), ".");
    ::grpc::SslServerCredentialsOptions options(tls.client_authorities.empty()
                                                    ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                                                    : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    const auto read = [](const std::string& path) { return io::read_file(path, std::uint64_t{1} << 20); };
    options.pem_key_cert_pairs.push_back({read(tls.key), read(tls.certificate)});
    if (!tls.client_authorities.empty()) options.pem_root_certs = read(tls.client_authorities);
    return ::grpc::SslServerCredentials(options);
  }

  GrpcCalls calls_;
  std::mutex mutex_;
  std::unique_ptr<::grpc::Server> server_;
  int port_ = 0;
};
}  // namespace serving

/// Serves the models of a Server by gRPC, too: `inference.GRPCInferenceService` of the Open Inference Protocol, with
/// ServerLive, ServerReady, ServerMetadata, ModelMetadata, ModelReady, and ModelInfer.
///
///     Server server({.port = 8080});
///     GrpcServer grpc(server, {.port = 8081});
///
/// It answers from now until the Server stops, or it ends itself. A request that its client has cancelled, or whose
/// deadline has passed, is not computed.
class GrpcServer {
 public:
  /// Throws ValueError for settings that are out of range, RuntimeError if the address or port cannot be used.
  explicit GrpcServer(const Server& server, const GrpcOptions& options = {})
      : service_(std::make_shared<serving::GrpcService>(server.hub(), options)) {
    server.hub()->add(service_);
  }
  GrpcServer(const GrpcServer&) = delete;
  ~GrpcServer() { service_->stop(); }

  int port() const { return service_->port(); }

 private:
  std::shared_ptr<serving::GrpcService> service_;
};

}  // namespace tenon
