// The certificate of a server with its key, read from files for OpenSSL.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <boost/asio/ssl/context.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/log/log.hpp>
#include <tenon/io/file.hpp>
#include <tenon/io/text/escaped_text.hpp>
#include <tenon/serve/options.hpp>

namespace tenon::inline TENON_ABI {

namespace serving {
using TlsContext = boost::asio::ssl::context;

namespace detail {
[[noreturn, gnu::cold]] inline void refuse_tls(std::string_view what, const std::string& path,
                                               std::string_view sentence, const boost::system::error_code& error = {}) {
  ::ERR_clear_error();
  throw_error<RuntimeError>("TlsServer cannot use the ", what, " ", io::printable(path), ": ", sentence,
                            error ? " (" + error.message() + ")" : std::string(), ".");
}
inline std::string read_pem(std::string_view what, const std::string& path) {
  if (path.empty()) throw_error<ValueError>("TlsServer needs a ", what, ": TlsOptions names no file of it.");
  return io::read_file(path, std::uint64_t{1} << 20);
}
/// HTTP/1.1 is all that the server speaks: a client that names its protocols and not this one is refused.
inline int choose_protocol(::SSL*, const unsigned char** to, unsigned char* bytes, const unsigned char* offered,
                           unsigned count, void*) {
  static constexpr unsigned char known[]{"\x08http/1.1\x08http/1.0"};
  const int found =
      ::SSL_select_next_proto(const_cast<unsigned char**>(to), bytes, known, sizeof known - 1, offered, count);
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}
inline void warn_of_dates(::SSL_CTX* context, const std::string& path) {
  const ::X509* certificate = ::SSL_CTX_get0_certificate(context);
  if (::X509_cmp_current_time(::X509_get0_notAfter(certificate)) < 0)
    logging::warning("serving: the certificate ", io::printable(path), " has expired: clients will refuse it");
  if (::X509_cmp_current_time(::X509_get0_notBefore(certificate)) > 0)
    logging::warning("serving: the certificate ", io::printable(path), " is not valid yet: clients will refuse it");
}
inline void ask_for_client_certificates(TlsContext& context, const std::string& path) {
  boost::system::error_code error;
  const std::string pem = read_pem("file of client authorities", path);
  context.add_certificate_authority(boost::asio::buffer(pem), error);
  if (error) refuse_tls("client authorities", path, "they are no certificates in the PEM form", error);
  context.set_verify_mode(boost::asio::ssl::verify_peer | boost::asio::ssl::verify_fail_if_no_peer_cert);
  ::SSL_CTX_set_client_CA_list(context.native_handle(), ::SSL_load_client_CA_file(path.c_str()));
  static constexpr unsigned char name[]{"tenon"};  // OpenSSL wants one before a client with a certificate comes again
  ::SSL_CTX_set_session_id_context(context.native_handle(), name, sizeof name - 1);
}
}  // namespace detail

/// Reads the files. TLS 1.2 and 1.3 with OpenSSL's choice of ciphers. Throws RuntimeError for a file that is not there
/// or no PEM file, and a key of another certificate; warns of a certificate that has expired.
[[gnu::cold]] inline std::shared_ptr<TlsContext> make_tls_context(const TlsOptions& options) {
  const std::string certificate = detail::read_pem("certificate", options.certificate);
  const std::string key = detail::read_pem("key", options.key);
  auto context = std::make_shared<TlsContext>(TlsContext::tls_server);
  ::SSL_CTX* const native = context->native_handle();
  ::SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  ::SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION);
  ::SSL_CTX_set_alpn_select_cb(native, detail::choose_protocol, nullptr);
  boost::system::error_code error;
  context->use_certificate_chain(boost::asio::buffer(certificate), error);
  if (error)
    detail::refuse_tls("certificate", options.certificate, "it is no certificate in the PEM form that OpenSSL takes",
                       error);
  // without this OpenSSL asks on the terminal
  context->set_password_callback(
      [&](std::size_t, boost::asio::ssl::context::password_purpose) { return options.password; });
  context->use_private_key(boost::asio::buffer(key), TlsContext::pem, error);
  if (error && ::ERR_GET_REASON(unsigned(error.value())) == X509_R_KEY_VALUES_MISMATCH)
    detail::refuse_tls("key", options.key,
                       "it does not belong to the certificate " + io::printable(options.certificate));
  if (error)
    detail::refuse_tls("key", options.key,
                       options.password.empty() ? "it is no private key in the PEM form without a password"
                                                : "it is no private key in the PEM form, or has another password",
                       error);
  context->set_password_callback(
      [](std::size_t, boost::asio::ssl::context::password_purpose) { return std::string(); });
  if (::SSL_CTX_check_private_key(native) != 1)
    detail::refuse_tls("key", options.key,
                       "it does not belong to the certificate " + io::printable(options.certificate));
  detail::warn_of_dates(native, options.certificate);
  if (!options.client_authorities.empty()) detail::ask_for_client_certificates(*context, options.client_authorities);
  return context;
}

/// What new connections get, which may be exchanged.
class CurrentTls {
 public:
  explicit CurrentTls(TlsOptions options) : options_(std::move(options)), context_(make_tls_context(options_)) {}
  std::shared_ptr<TlsContext> get() const {
    const std::lock_guard lock(mutex_);
    return context_;
  }
  /// Reads the files again; the old ones stay in use if these are wrong.
  void reload() {
    auto context = make_tls_context(options_);
    const std::lock_guard lock(mutex_);
    context_ = std::move(context);
  }

 private:
  TlsOptions options_;
  mutable std::mutex mutex_;
  std::shared_ptr<TlsContext> context_;
};

}  // namespace serving
}  // namespace tenon
