// A connection: reads requests by Boost.Beast, within limits, and writes responses.
#pragma once
#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <tenon/serve/answers.hpp>

namespace tenon::inline TENON_ABI::serving {

/// What all connections of a server share.
struct Hub {
  ServeOptions options;
  Registry registry;
  std::atomic<bool> stopping = false;
  std::atomic<long> connections = 0, refused_connections = 0;
  std::atomic<std::size_t> body_bytes = 0;

  std::string metrics() const {
    std::string text;
    append_metric_head(text, "tenon_connections", "Connections", "gauge");
    text += "tenon_connections " + std::to_string(connections.load()) + '\n';
    append_metric_head(text, "tenon_refused_connections", "Connections closed because there were too many", "counter");
    text += "tenon_refused_connections " + std::to_string(refused_connections.load()) + '\n';
    return text;
  }
};

class Session;
/// A thread of the server with its connections, which only this thread touches.
struct IoThread {
  std::unordered_set<Session*> sessions;  // before the context, whose end may end some
  boost::asio::io_context context{1};
};

class Session : public std::enable_shared_from_this<Session> {
  using Error = boost::system::error_code;
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  using Response = boost::beast::http::response<boost::beast::http::string_body>;

 public:
  /// `hub` counts the connection already.
  Session(std::shared_ptr<Hub> hub, IoThread& io, boost::asio::ip::tcp::socket socket)
      : hub_(std::move(hub)), io_(io), stream_(std::move(socket)) {
    io_.sessions.insert(this);
  }
  Session(const Session&) = delete;
  ~Session() {
    give_back_bytes();
    io_.sessions.erase(this);
    hub_->connections.fetch_sub(1);
  }

  /// Waits for the first byte of a request.
  void next() {
    give_back_bytes();
    if (hub_->stopping) return close();
    if (buffer_.size() > 0) return read_header();
    idle_ = true;
    stream_.expires_after(hub_->options.idle_time);
    stream_.async_read_some(buffer_.prepare(8192), [self = shared_from_this()](Error error, std::size_t bytes) {
      self->idle_ = false;
      if (error) return self->close();
      self->buffer_.commit(bytes);
      self->read_header();
    });
  }
  void close_if_idle() {
    if (idle_) close();
  }
  void close() {
    Error ignored;
    stream_.socket().close(ignored);
  }

 private:
  const ServeOptions& options() const { return hub_->options; }

  void read_header() {
    parser_.emplace();
    parser_->header_limit(std::uint32_t(options().max_header_bytes));
    parser_->body_limit(options().max_body_bytes);
    stream_.expires_after(options().read_time);
    boost::beast::http::async_read_header(stream_, buffer_, *parser_,
                                          [self = shared_from_this()](Error error, std::size_t) {
                                            if (error) return self->refuse_read(error);
                                            self->check_header();
                                          });
  }
  // What a request that cannot be read gets.
  void refuse_read(Error error) {
    using Http = boost::beast::http::error;
    if (error == Http::end_of_stream) return close();
    if (error == Http::header_limit) return refuse(431, "the headers are larger than the limit");
    if (error == Http::body_limit) return refuse(413, "the body is larger than the limit");
    if (error == boost::beast::error::timeout) return close();
    if (error.category() == make_error_code(Http::bad_method).category()) return refuse(400, "not a request of HTTP");
    close();
  }
  void check_header() {
    using boost::beast::http::field;
    const auto& request = parser_->get();
    const auto count = [&](auto name) {
      return std::distance(request.equal_range(name).first, request.equal_range(name).second);
    };
    if (std::distance(request.begin(), request.end()) > options().max_headers) return refuse(431, "too many headers");
    if (request.version() >= 11 && count(field::host) != 1) return refuse(400, "one Host header is needed");
    if (count(field::transfer_encoding)) return refuse(411, "send a Content-Length, no Transfer-Encoding");
    if (count(field::content_length) > 1) return refuse(400, "more than one Content-Length");
    if (const auto coding = request[field::content_encoding]; !coding.empty() && coding != "identity")
      return refuse(415, "a compressed body is not supported");
    if (count("Inference-Header-Content-Length") > 1)
      return refuse(400, "more than one Inference-Header-Content-Length");
    const std::size_t bytes = parser_->content_length() ? std::size_t(*parser_->content_length()) : 0;
    if (hub_->body_bytes.fetch_add(bytes) + bytes > options().max_bodies_bytes) {
      hub_->body_bytes.fetch_sub(bytes);
      return refuse(503, "too many bytes in requests, try again later");
    }
    held_bytes_ = bytes;
    if (bytes && boost::beast::iequals(request[field::expect], "100-continue")) return say_continue();
    read_body();
  }
  void say_continue() {
    static constexpr std::string_view line = "HTTP/1.1 100 Continue\r\n\r\n";
    boost::asio::async_write(
        stream_, boost::asio::buffer(line.data(), line.size()),
        [self = shared_from_this()](Error error, std::size_t) { error ? self->close() : self->read_body(); });
  }
  void read_body() {
    stream_.expires_after(options().read_time);
    boost::beast::http::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](Error error, std::size_t) {
      if (error) return self->refuse_read(error);
      self->answer();
    });
  }

  void answer() {
    using boost::beast::http::verb;
    const auto& request = parser_->get();
    stream_.expires_never();
    const Route route = find_route({request.target().data(), request.target().size()});
    const bool infers = route.to == Route::To::infer;
    if (route.to != Route::To::nothing && request.method() != (infers ? verb::post : verb::get))
      return write(error_answer(405, infers ? "use POST" : "use GET"));
    if (infers) return infer(route);
    write(answer_to(route, hub_->registry, !hub_->stopping, hub_->metrics()));
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
      write(error_answer(503, "out of memory, try again later"));
      return Batcher::Submitted::taken;
    }
    job->done = [self = shared_from_this(), version](std::unique_ptr<Job> done) {
      // `version` must not end in its own thread
      boost::asio::post(self->io_.context, [self, version, job = std::shared_ptr<Job>(std::move(done))] {
        self->write_result(*version, *job);
      });
    };
    return version->batcher.submit(job);
  }
  void write_result(Version& version, Job& job) {
    ModelMetrics& metrics = version.batcher.metrics();
    try {
      if (job.refusal) throw *job.refusal;
      InferResponse response = write_infer_response(version.name, version.number, version.batcher.model().signature(),
                                                    job.request, job.outputs);
      metrics.add_request(Clock::now() - job.arrived);
      const bool binary = response.json_bytes > 0;
      write({200, std::move(response.body), binary ? "application/octet-stream" : "application/json",
             response.json_bytes});
    } catch (const Refusal& refusal) {
      ModelMetrics::add(metrics.failure, 1);
      write(error_answer(refusal.status, refusal.reason));
    }
  }

  // An answer before the request was read; the rest of the request is not looked at.
  void refuse(int status, std::string_view reason) {
    closes_ = true;
    write(error_answer(status, reason));
  }
  void write(Answer answer) {
    using boost::beast::http::field;
    const bool keep = !closes_ && parser_->is_done() && parser_->get().keep_alive() && !hub_->stopping &&
                      ++requests_ < options().max_requests_per_connection;
    closes_ = !keep;
    response_ = {};
    response_.result(unsigned(answer.status));
    response_.version(parser_->is_header_done() ? parser_->get().version() : 11);
    response_.set(field::content_type, {answer.content_type.data(), answer.content_type.size()});
    if (answer.json_bytes) response_.set("Inference-Header-Content-Length", std::to_string(answer.json_bytes));
    response_.keep_alive(keep);
    response_.body() = std::move(answer.body);
    response_.prepare_payload();
    stream_.expires_after(options().write_time);
    boost::beast::http::async_write(stream_, response_, [self = shared_from_this()](Error error, std::size_t) {
      if (error) return self->close();
      self->closes_ ? self->linger() : self->next();
    });
  }
  // Reads for a moment what the client still sends, for closing at once could take the response back.
  void linger() {
    Error ignored;
    stream_.socket().shutdown(boost::asio::ip::tcp::socket::shutdown_send, ignored);
    buffer_.consume(buffer_.size());
    stream_.expires_after(std::min<std::chrono::milliseconds>(options().read_time, std::chrono::seconds(2)));
    discard(std::size_t{1} << 20);
  }
  void discard(std::size_t most) {
    stream_.async_read_some(buffer_.prepare(8192), [self = shared_from_this(), most](Error error, std::size_t bytes) {
      if (error || bytes >= most) return self->close();
      self->discard(most - bytes);
    });
  }
  void give_back_bytes() {
    hub_->body_bytes.fetch_sub(std::exchange(held_bytes_, 0));
    parser_.reset();
    response_.body() = {};
  }

  std::shared_ptr<Hub> hub_;
  IoThread& io_;
  boost::beast::tcp_stream stream_;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  Response response_;
  std::size_t held_bytes_ = 0;
  int requests_ = 0;
  bool idle_ = false, closes_ = false;
};

}  // namespace tenon::serving
