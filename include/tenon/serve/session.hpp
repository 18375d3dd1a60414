// A connection: reads requests by Boost.Beast, within limits, and writes responses.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
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
  explicit IoThread(std::size_t which) : number(which) {}

  std::size_t number;
  std::unordered_set<Session*> sessions;  // before the context, whose end may end some
  boost::asio::io_context context{1};
  boost::asio::steady_timer timer{context};  // looks after times of connections
  bool watches = false;
};

/// A socket that knows its executor, whose copies then cost nothing.
using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, boost::asio::io_context::executor_type>;

class Session : public std::enable_shared_from_this<Session> {
  using Error = boost::system::error_code;
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

 public:
  /// `hub` counts the connection already.
  Session(std::shared_ptr<Hub> hub, IoThread& io, Socket socket)
      : hub_(std::move(hub)), io_(io), socket_(std::move(socket)) {
    Error ignored;
    socket_.non_blocking(true, ignored);  // a response is written at once as far as the system takes it
    io_.sessions.insert(this);
    if (!io_.watches) watch(io_, *hub_);
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
    parser_.emplace();
    parser_->header_limit(std::uint32_t(options().max_header_bytes));
    parser_->body_limit(options().max_body_bytes);
    idle_ = buffer_.size() == 0;
    expires_after(idle_ ? options().idle_time : options().read_time);
    if (idle_) read_some(8192);
    else parse();
  }
  void close_if_idle() {
    if (idle_) close();
  }
  void close() {
    Error ignored;
    socket_.close(ignored);
  }

 private:
  const ServeOptions& options() const { return hub_->options; }

  // A timer for each wait would cost more than a short model: one looks at all connections, some times in the shortest.
  static void watch(IoThread& io, const Hub& hub) {
    const ServeOptions& o = hub.options;
    io.watches = true;
    io.timer.expires_after(std::clamp<std::chrono::milliseconds>(
        std::min({o.idle_time, o.read_time, o.write_time}) / 8, std::chrono::milliseconds(1), std::chrono::seconds(1)));
    io.timer.async_wait([&io, &hub](Error error) {
      io.watches = false;
      if (error) return;
      const auto now = Clock::now();
      for (Session* session : io.sessions)
        if (session->until_ <= now) session->close();
      if (!io.sessions.empty()) watch(io, hub);
    });
  }
  void expires_after(std::chrono::milliseconds time) { until_ = Clock::now() + time; }

  void read_some(std::size_t most) {
    socket_.async_read_some(buffer_.prepare(most), [self = shared_from_this()](Error error, std::size_t bytes) {
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
      buffer_.consume(parser_->put(buffer_.data(), error));
      if (error == boost::beast::http::error::need_more) return read_some(8192);
      if (error) return refuse_read(error);
      return check_header();
    }
    while (!parser_->is_done() && buffer_.size() > 0) {
      buffer_.consume(parser_->put(buffer_.data(), error));
      if (error) return refuse_read(error);
    }
    if (parser_->is_done()) return answer();
    read_some(std::clamp<std::size_t>(std::size_t(*parser_->content_length_remaining()), 8192, 65536));
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
        socket_, boost::asio::buffer(line.data(), line.size()),
        [self = shared_from_this()](Error error, std::size_t) { error ? self->close() : self->read_body(); });
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
      write(error_answer(503, "out of memory, try again later"));
      return Batcher::Submitted::taken;
    }
    job->done = [self = shared_from_this(), version](std::unique_ptr<Job> done) {
      // `version` must not end in its own thread
      boost::asio::dispatch(self->io_.context, [self, version, job = std::shared_ptr<Job>(std::move(done))] {
        self->write_result(*version, *job);
      });
    };
    return version->batcher.submit(job, io_.number);
  }
  // After the requests that have arrived: they are one batch.
  void compute_soon(const std::shared_ptr<Version>& version) {
    boost::asio::post(io_.context, [self = shared_from_this(), version] {
      if (version->batcher.compute_here(self->io_.number)) self->compute_soon(version);
    });
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
    if (keep == is_old) head_.append(keep ? "\r\nConnection: keep-alive" : "\r\nConnection: close");
    head_.append("\r\nContent-Length: " + std::to_string(answer.body.size()) + "\r\n\r\n");
    body_ = std::move(answer.body);
    Error error;
    std::size_t sent = socket_.write_some(response(0), error);
    if (error && error != boost::asio::error::would_block) return close();
    if (error) sent = 0;
    if (sent == head_.size() + body_.size()) return written();
    expires_after(options().write_time);
    boost::asio::async_write(socket_, response(sent), [self = shared_from_this()](Error failed, std::size_t) {
      failed ? self->close() : self->written();
    });
  }
  // What is left of the response.
  std::array<boost::asio::const_buffer, 2> response(std::size_t sent) const {
    return {boost::asio::buffer(head_) + sent, boost::asio::buffer(body_) + (sent - std::min(sent, head_.size()))};
  }
  void written() {
    if (closes_) return linger();
    if (buffer_.size() == 0) return next();
    // the next request is here already, and others have their turn first
    boost::asio::post(io_.context, [self = shared_from_this()] { self->next(); });
  }
  // Reads for a moment what the client still sends, for closing at once could take the response back.
  void linger() {
    Error ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
    buffer_.consume(buffer_.size());
    expires_after(std::min<std::chrono::milliseconds>(options().read_time, std::chrono::seconds(2)));
    discard(std::size_t{1} << 20);
  }
  void discard(std::size_t most) {
    socket_.async_read_some(buffer_.prepare(8192), [self = shared_from_this(), most](Error error, std::size_t bytes) {
      if (error || bytes >= most) return self->close();
      self->discard(most - bytes);
    });
  }
  void give_back_bytes() {
    hub_->body_bytes.fetch_sub(std::exchange(held_bytes_, 0));
    parser_.reset();
    body_ = {};
  }

  std::shared_ptr<Hub> hub_;
  IoThread& io_;
  Socket socket_;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  std::string head_, body_;                             // of the response
  Clock::time_point until_ = Clock::time_point::max();  // when it is closed
  std::size_t held_bytes_ = 0;
  int requests_ = 0;
  bool idle_ = false, closes_ = false;
};

}  // namespace tenon::serving
