// Certificates for tests of a server with TLS, and a client that speaks it.
#pragma once
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <signal.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "client.hpp"

namespace serving_test {

template <auto Free>
struct Freed {
  void operator()(auto* p) const { Free(p); }
};

/// Writes PREFIX.crt, a certificate of 127.0.0.1 that signs itself, and PREFIX.key. It is valid for `seconds` from now;
/// a negative number has passed.
inline void write_certificate(const std::string& prefix, long seconds, long serial, const char* password = nullptr) {
  const std::unique_ptr<::EVP_PKEY, Freed<::EVP_PKEY_free>> key(::EVP_EC_gen("P-256"));
  const std::unique_ptr<::X509, Freed<::X509_free>> certificate(::X509_new());
  ::X509* const x = certificate.get();
  ::X509_set_version(x, 2);
  ::ASN1_INTEGER_set(::X509_get_serialNumber(x), serial);
  ::X509_gmtime_adj(::X509_getm_notBefore(x), seconds < 0 ? seconds - 100 : -100);
  ::X509_gmtime_adj(::X509_getm_notAfter(x), seconds);
  ::X509_NAME* const name = ::X509_get_subject_name(x);
  const auto* const text = reinterpret_cast<const unsigned char*>(prefix.data());
  const std::size_t at = prefix.rfind('/') + 1;
  ::X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text + at, int(prefix.size() - at), -1, 0);
  ::X509_set_issuer_name(x, name);
  ::X509_set_pubkey(x, key.get());
  const auto add = [&](int kind, const char* value) {
    ::X509_EXTENSION* const extension = ::X509V3_EXT_conf_nid(nullptr, nullptr, kind, value);
    ::X509_add_ext(x, extension, -1);
    ::X509_EXTENSION_free(extension);
  };
  add(NID_basic_constraints, "critical,CA:TRUE");
  add(NID_subject_alt_name, "IP:127.0.0.1");
  ::X509_sign(x, key.get(), ::EVP_sha256());
  const std::unique_ptr<std::FILE, Freed<std::fclose>> crt(std::fopen((prefix + ".crt").c_str(), "w"));
  ::PEM_write_X509(crt.get(), x);
  const std::unique_ptr<std::FILE, Freed<std::fclose>> secret(std::fopen((prefix + ".key").c_str(), "w"));
  ::PEM_write_PrivateKey(secret.get(), key.get(), password ? ::EVP_aes_256_cbc() : nullptr, nullptr, 0, nullptr,
                         const_cast<char*>(password));
}

/// Calls f, which writes to a socket by OpenSSL: where the server has closed it, this thread gets no SIGPIPE.
auto without_signal(auto f) {
  ::sigset_t pipe, before;
  ::sigemptyset(&pipe), ::sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, &before);
  const auto result = f();
  const ::timespec none{};
  ::sigtimedwait(&pipe, nullptr, &none);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return result;
}

/// What a client does otherwise than most.
struct TlsWishes {
  std::string authority{};    // whose certificates it accepts
  std::string certificate{};  // prefix of its own, if it has one
  int version = 0;            // TLS1_1_VERSION: none newer
  std::string protocols{};    // of ALPN, each after its length
};

/// A client that has shaken hands, or not.
class TlsClient {
 public:
  TlsClient(int port, const TlsWishes& wishes) : connection_(port), context_(::SSL_CTX_new(::TLS_client_method())) {
    ::SSL_CTX* const context = context_.get();
    ::SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    ::SSL_CTX_load_verify_locations(context, (wishes.authority + ".crt").c_str(), nullptr);
    if (!wishes.certificate.empty()) {
      ::SSL_CTX_use_certificate_chain_file(context, (wishes.certificate + ".crt").c_str());
      ::SSL_CTX_use_PrivateKey_file(context, (wishes.certificate + ".key").c_str(), SSL_FILETYPE_PEM);
    }
    if (wishes.version) {
      ::SSL_CTX_set_security_level(context, 0);
      ::SSL_CTX_set_min_proto_version(context, TLS1_VERSION);
      ::SSL_CTX_set_max_proto_version(context, wishes.version);
    }
    ssl_.reset(::SSL_new(context));
    if (!wishes.protocols.empty())
      ::SSL_set_alpn_protos(ssl_.get(), reinterpret_cast<const unsigned char*>(wishes.protocols.data()),
                            unsigned(wishes.protocols.size()));
    ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(ssl_.get()), "127.0.0.1");
    ::SSL_set_fd(ssl_.get(), connection_.socket());
    is_open_ = without_signal([&] { return ::SSL_connect(ssl_.get()); }) == 1;
  }

  bool is_open() const { return is_open_; }
  int version() const { return ::SSL_version(ssl_.get()); }
  /// The number of the server's certificate.
  long serial() const {
    const std::unique_ptr<::X509, Freed<::X509_free>> x(::SSL_get1_peer_certificate(ssl_.get()));
    return x ? ::ASN1_INTEGER_get(::X509_get0_serialNumber(x.get())) : -1;
  }
  void send(std::string_view bytes) const {
    without_signal([&] { return ::SSL_write(ssl_.get(), bytes.data(), int(bytes.size())); });
  }
  Reply receive() {
    return receive_reply(read_, [this](char* bytes, std::size_t most) {
      return std::ptrdiff_t(without_signal([&] { return ::SSL_read(ssl_.get(), bytes, int(most)); }));
    });
  }
  /// Whether the server has said that no more bytes follow.
  bool is_ended() const {
    char byte;
    return without_signal([&] { return ::SSL_read(ssl_.get(), &byte, 1); }) <= 0 &&
           ::SSL_get_shutdown(ssl_.get()) & SSL_RECEIVED_SHUTDOWN;
  }

 private:
  Connection connection_;
  std::unique_ptr<::SSL_CTX, Freed<::SSL_CTX_free>> context_;
  std::unique_ptr<::SSL, Freed<::SSL_free>> ssl_;
  std::string read_;
  bool is_open_ = false;
};

/// The first bytes that a client sends.
inline std::string client_hello() {
  const std::unique_ptr<::SSL_CTX, Freed<::SSL_CTX_free>> context(::SSL_CTX_new(::TLS_client_method()));
  const std::unique_ptr<::SSL, Freed<::SSL_free>> ssl(::SSL_new(context.get()));
  ::BIO* const to = ::BIO_new(::BIO_s_mem());
  ::SSL_set_bio(ssl.get(), ::BIO_new(::BIO_s_mem()), to);  // which it frees
  ::SSL_connect(ssl.get());
  char* bytes = nullptr;
  const long count = ::BIO_get_mem_data(to, &bytes);
  return {bytes, std::size_t(count)};
}

}  // namespace serving_test
