// A connection: reads requests by Boost.Beast, within limits, and writes responses.
#pragma once
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <tenon/serve/answers.hpp>
#include <tenon/serve/hub.hpp>
#include <tenon/serve/infer/inflate.hpp>

namespace tenon::inline TENON_ABI::serving {

/// How a connection carries bytes: as they are. The header <tenon/serve/tls.hpp> has another way.
struct Plain {
  using Stream = Socket;

  static Socket& socket(Socket& stream) { return stream; }
  /// Calls `then` with an error or none when bytes can be carried.
  static void open(Socket& stream, auto then) {
    boost::system::error_code error;
    stream.non_blocking(true, error);  // a response is written at once as far as the system takes it
    then(boost::system::error_code());
  }
  /// Writes what the system takes at once; returns how many bytes.
  static std::size_t write_now(Socket& stream, const auto& buffers, boost::system::error_code& error) {
    const std::size_t sent = stream.write_some(buffers, error);
    if (error == boost::asio::error::would_block) return error = {}, 0;
    return error ? 0 : sent;
  }
  /// Says that no more bytes follow, and calls `then`.
  static void end(Socket&, auto then) { then(); }
};

template <class Transport>
class Session final : public Connection {
  using Error = boost::system::error_code;
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  static constexpr std::string_view too_many_bytes = "too many bytes in requests, try again later";
  static constexpr std::string_view out_of_memory = "out of memory, try again later";

 public:
  /// `hub` counts the connection already.
  template <class... Parts>
  Session(std::shared_ptr<Hub> hub, IoThread& io, Parts&&... stream)
      : Connection(std::move(hub), io), stream_(std::forward<Parts>(stream)...) {}
  ~Session() override { give_back_bytes(); }

  /// Prepares the connection and reads requests.
  void begin() {
    idle_ = true;
    expires_after(options().read_time);
    Transport::open(stream_, [self = self()](Error error) { error ? self->linger() : self->next(); });
  }
  void close() override {
    Error ignored;
    socket().close(ignored);
  }

 private:
  /// Waits for the first byte of a request.
  void next() {
    give_back_bytes();
    if (hub_->stopping) return close();
    parser_.emplace();
    parser_->header_limit(std::uint32_t(options().max_header_bytes));
    parser_->body_limit(options().max_body_bytes);
    may_skip_line_ = true;
    wait();
  }
  void wait() {
    idle_ = buffer_.size() == 0;
    expires_after(idle_ ? options().idle_time : options().read_time);
    if (!idle_) return parse();
    read_some(8192);
    stay_awake();
  }
  // Ignores one empty line before a request, which old clients send after a body (RFC 9112, section 2.2). True if bytes
  // of the request follow; else it has begun to read.
  bool skip_line() {
    const std::string_view bytes(static_cast<const char*>(buffer_.data().data()), buffer_.size());
    if (bytes == "\r") return read_some(8192), false;
    may_skip_line_ = false;
    if (!bytes.starts_with("\r\n")) return true;
    buffer_.consume(2);
    if (buffer_.size() > 0) return true;
    wait();
    return false;
  }
  std::shared_ptr<Session> self() { return std::static_pointer_cast<Session>(shared_from_this()); }
  Socket& socket() { return Transport::socket(stream_); }

  void read_some(std::size_t most) {
    stream_.async_read_some(buffer_.prepare(most), [self = self()](Error error, std::size_t bytes) {
      if (error) return self->end_of_input(error);
      if (std::exchange(self->idle_, false)) self->expires_after(self->options().read_time);
      self->buffer_.commit(bytes);
      self->parse();
    });
  }
  void end_of_input(Error error) {
    const bool begun = error == boost::asio::error::eof && parser_->got_some();
    idle_ = false;
    begun ? refuse_read(boost::beast::http::error::partial_message) : close();
  }
  // Reads on in what has arrived.
  void parse() {
    Error error;
    if (!parser_->is_header_done()) {
      if (may_skip_line_ && !skip_line()) return;
      if (!put(error)) return;
      if (error == boost::beast::http::error::need_more) return read_some(8192);
      if (error) return refuse_read(error);
      return check_header();
    }
    while (!error && !parser_->is_done() && buffer_.size() > 0) {
      if (!put(error)) return;
      if (error && error != boost::beast::http::error::need_more) return refuse_read(error);
    }
    if (parser_->chunked() && !fits_in_chunks(bool(error))) return;
    if (parser_->is_done()) return answer();
    read_some(std::clamp<std::size_t>(std::size_t(parser_->content_length_remaining().value_or(65536)), 8192, 65536));
  }
  // Gives the parser what has arrived; false if there is no memory for the body, and the request was refused.
  bool put(Error& error) {
    try {
      buffer_.consume(parser_->put(buffer_.data(), error));
      return true;
    } catch (const std::bad_alloc&) {
      refuse(503, out_of_memory);
      return false;
    }
  }
  // Counts what has arrived of a body whose length is not said before; false if it was refused. `waits`: for the rest
  // of the line between two chunks, or of what follows the last.
  bool fits_in_chunks(bool waits) {
    const auto& request = parser_->get();
    if (const std::size_t bytes = request.body().size(); bytes > held_bytes_ && !hold(bytes - held_bytes_))
      return refuse(503, too_many_bytes), false;
    if (waits && buffer_.size() > options().max_header_bytes)
      return refuse(431, "what is between chunks is larger than the limit of headers"), false;
    if (parser_->is_done() && std::distance(request.begin(), request.end()) != headers_)
      return refuse(400, "header fields after the body"), false;
    return true;
  }
  bool hold(std::size_t bytes) {
    if (!hub_->take(bytes)) return false;
    held_bytes_ += bytes;
    return true;
  }
  // What a request that cannot be read gets.
  void refuse_read(Error error) {
    using Http = boost::beast::http::error;
    if (error == Http::header_limit) return refuse(431, "the headers are larger than the limit");
    if (error == Http::body_limit) return refuse(413, "the body is larger than the limit");
    if (error.category() == make_error_code(Http::bad_method).category()) return refuse(400, "not a request of HTTP");
    close();
  }
  void check_header() {
    using boost::beast::http::field;
    const auto& request = parser_->get();
    const auto count = [&](auto name) {
      return std::distance(request.equal_range(name).first, request.equal_range(name).second);
    };
    headers_ = std::distance(request.begin(), request.end());
    if (headers_ > options().max_headers) return refuse(431, "too many headers");
    if (request.version() >= 11 && count(field::host) != 1) return refuse(400, "one Host header is needed");
    if (count(field::transfer_encoding) &&
        (!boost::beast::iequals(request[field::transfer_encoding], "chunked") || !parser_->chunked() ||
         count(field::transfer_encoding) + count(field::content_length) > 1 || request.version() < 11))
      return refuse(411, "send a Content-Length, or Transfer-Encoding: chunked alone");
    if (count(field::content_length) > 1) return refuse(400, "more than one Content-Length");
    coding_ = coding_of(request[field::content_encoding]);
    if (count(field::content_encoding) > 1) coding_ = Coding::other;
    if (coding_ == Coding::other || (coding_ != Coding::none && !has_codings)) return refuse(415, which_codings);
    if (count("Inference-Header-Content-Length") > 1)
      return refuse(400, "more than one Inference-Header-Content-Length");
    const std::size_t bytes = parser_->content_length() ? std::size_t(*parser_->content_length()) : 0;
    if (!hold(bytes)) return refuse(503, too_many_bytes);
    // a client of HTTP/1.0 does not know such a response, and would take it for the answer
    if (request.version() >= 11 && (bytes || parser_->chunked()) &&
        boost::beast::iequals(request[field::expect], "100-continue"))
      return say_continue();
    read_body();
  }
  void say_continue() {
    static constexpr std::string_view line = "HTTP/1.1 100 Continue\r\n\r\n";
    boost::asio::async_write(stream_, boost::asio::buffer(line.data(), line.size()),
                             [self = self()](Error error, std::size_t) { error ? self->close() : self->read_body(); });
  }
  void read_body() {
    expires_after(options().read_time);
    parse();
  }

  void answer() {
    using boost::beast::http::verb;
    const auto& request = parser_->get();
    until_ = Clock::time_point::max();
    const Route route = find_route({request.target().data(), request.target().size()});
    const bool infers = route.to == Route::To::infer;
    const bool fits = infers ? request.method() == verb::post : request.method() == verb::get || is_head();
    if (route.to != Route::To::nothing && !fits) return write(wrong_method(infers));
    if (infers) return coding_ == Coding::none || inflate() ? infer(route) : void();
    write(answer_to(route, hub_->registry, !hub_->stopping, hub_->metrics()));
  }
  static Coding coding_of(boost::beast::string_view name) {
    if (name.empty() || boost::beast::iequals(name, "identity")) return Coding::none;
    if (boost::beast::iequals(name, "gzip") || boost::beast::iequals(name, "x-gzip")) return Coding::gzip;
    return boost::beast::iequals(name, "deflate") ? Coding::deflate : Coding::other;
  }
  // Puts what the body was before it was compressed in its place; false if it was refused.
  bool inflate() {
    std::string& body = parser_->get().body();
    try {
      body = inflated(body, coding_, options().max_body_bytes, [&](std::size_t more) {
        if (!hold(more)) throw Refusal{503, std::string(too_many_bytes)};
      });
      return true;
    } catch (const Refusal& refusal) {
      write(error_answer(refusal.status, refusal.reason));
    } catch (const std::bad_alloc&) {
      write(error_answer(503, out_of_memory));
    }
    return false;
  }
  std::size_t json_bytes() const {
    const auto& request = parser_->get();
    const auto found = request.find("Inference-Header-Content-Length");
    if (found == request.end()) return request.body().size();
    const auto value = found->value();
    std::size_t bytes = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), bytes);
    if (error != std::errc() || end != value.data() + value.size())
      throw Refusal{400, "Inference-Header-Content-Length is not a number"};
    return bytes;
  }
  void infer(const Route& route) {
    // A version that was exchanged a moment ago takes no more: then the next look finds its successor.
    for (;;) {
      const std::shared_ptr<Version> version = hub_->registry.find(route.model, route.version);
      if (!version) return write(error_answer(404, "no such model or version"));
      if (hub_->stopping) return write(error_answer(503, "the server stops"));
      const Batcher::Submitted submitted = submit(version);
      if (submitted == Batcher::Submitted::taken) return;
      if (submitted == Batcher::Submitted::here) return compute_soon(version);
      if (submitted == Batcher::Submitted::closed) continue;
      ModelMetrics::add(version->batcher.metrics().failure, 1);
      return write(error_answer(503, "too many requests wait, try again later"));
    }
  }
  Batcher::Submitted submit(const std::shared_ptr<Version>& version) {
    const Batcher& batcher = version->batcher;
    auto job = std::make_unique<Job>();
    try {
      job->request = read_infer_request(parser_->get().body(), json_bytes(), batcher.model().signature(),
                                        batcher.options().max_batch_size);
    } catch (const Refusal& refusal) {
      ModelMetrics::add(batcher.metrics().failure, 1);
      write(error_answer(refusal.status, refusal.reason));
      return Batcher::Submitted::taken;
    } catch (const std::bad_alloc&) {
      ModelMetrics::add(batcher.metrics().failure, 1);
      write(error_answer(503, out_of_memory));
      return Batcher::Submitted::taken;
    }
    job->done = [self = self(), version](std::unique_ptr<Job> done) {
      // `version` must not end in its own thread
      boost::asio::dispatch(self->io_.context, [self, version, job = std::shared_ptr<Job>(std::move(done))] {
        self->write_result(*version, *job);
      });
    };
    return version->batcher.submit(job, io_.number);
  }
  // After the requests that have arrived: they are one batch.
  void compute_soon(const std::shared_ptr<Version>& version) {
    boost::asio::post(io_.context, [self = self(), version] {
      if (version->batcher.compute_here(self->io_.number)) self->compute_soon(version);
    });
  }
  void write_result(Version& version, Job& job) {
    ModelMetrics& metrics = version.batcher.metrics();
    const auto fail = [&](int status, std::string_view reason) {
      ModelMetrics::add(metrics.failure, 1);
      write(error_answer(status, reason));
    };
    if (job.refusal) return fail(job.refusal->status, job.refusal->reason);
    InferResponse response;
    try {
      response = write_infer_response(version.name, version.number, version.batcher.model().signature(), job.request,
                                      job.outputs);
    } catch (const Refusal& refusal) {
      return fail(refusal.status, refusal.reason);
    } catch (const std::bad_alloc&) {
      return fail(503, out_of_memory);
    }
    metrics.add_request(Clock::now() - job.arrived);
    write({200, std::move(response.body), response.json_bytes > 0 ? "application/octet-stream" : "application/json",
           response.json_bytes});
  }

  // The response to HEAD has the length of a body, and no body.
  bool is_head() const {
    return parser_->is_header_done() && parser_->get().method() == boost::beast::http::verb::head;
  }

  // An answer before the request was read; the rest of the request is not looked at.
  void refuse(int status, std::string_view reason) {
    closes_ = true;
    write(error_answer(status, reason));
  }
  void write(Answer answer) {
    const bool keep = !closes_ && parser_->is_done() && parser_->get().keep_alive() && !hub_->stopping &&
                      ++requests_ < options().max_requests_per_connection;
    closes_ = !keep;
    const bool is_old = parser_->is_header_done() && parser_->get().version() < 11;
    const boost::beast::string_view reason =
        boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(unsigned(answer.status)));
    head_.assign(is_old ? "HTTP/1.0 " : "HTTP/1.1 ");
    head_.append(std::to_string(answer.status)).append(" ").append(reason.data(), reason.size());
    head_.append("\r\nContent-Type: ").append(answer.content_type);
    if (answer.json_bytes) head_.append("\r\nInference-Header-Content-Length: " + std::to_string(answer.json_bytes));
    if (!answer.allowed.empty()) head_.append("\r\nAllow: ").append(answer.allowed);
    if (keep == is_old) head_.append(keep ? "\r\nConnection: keep-alive" : "\r\nConnection: close");
    head_.append("\r\nContent-Length: " + std::to_string(answer.body.size()) + "\r\n\r\n");
    body_ = is_head() ? std::string() : std::move(answer.body);
    Error error;
    const std::size_t sent = Transport::write_now(stream_, response(0), error);
    if (error) return close();
    if (sent == head_.size() + body_.size()) return written();
    expires_after(options().write_time);
    boost::asio::async_write(stream_, response(sent),
                             [self = self()](Error failed, std::size_t) { failed ? self->close() : self->written(); });
  }
  // What is left of the response.
  std::array<boost::asio::const_buffer, 2> response(std::size_t sent) const {
    return {boost::asio::buffer(head_) + sent, boost::asio::buffer(body_) + (sent - std::min(sent, head_.size()))};
  }
  void written() {
    if (closes_) return linger();
    if (buffer_.size() == 0) return next();
    // the next request is here already, and others have their turn first
    boost::asio::post(io_.context, [self = self()] { self->next(); });
  }
  // Reads for a moment what the client still sends, for closing at once could take the response back.
  void linger() {
    expires_after(std::min<std::chrono::milliseconds>(options().read_time, std::chrono::seconds(2)));
    Transport::end(stream_, [self = self()] {
      Error ignored;
      self->socket().shutdown(Socket::shutdown_send, ignored);
      self->buffer_.consume(self->buffer_.size());
      self->discard(std::size_t{1} << 20);
    });
  }
  void discard(std::size_t most) {
    socket().async_read_some(buffer_.prepare(8192), [self = self(), most](Error error, std::size_t bytes) {
      if (error || bytes >= most) return self->close();
      self->discard(most - bytes);
    });
  }
  void give_back_bytes() {
    hub_->give_back(std::exchange(held_bytes_, 0));
    parser_.reset();
    body_ = {};
  }

  typename Transport::Stream stream_;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  std::string head_, body_;  // of the response
  std::size_t held_bytes_ = 0;
  std::ptrdiff_t headers_ = 0;
  Coding coding_ = Coding::none;
  int requests_ = 0;
  bool closes_ = false, may_skip_line_ = false;
};

}  // namespace tenon::serving
