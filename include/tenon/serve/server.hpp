// Server: models over HTTP, by the Open Inference Protocol.
#pragma once
#include <csignal>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <tenon/serve/session.hpp>

namespace tenon::inline TENON_ABI {

/// Serves models by name and version until stop().
///
///     Server server({.port = 8080});
///     server.add<Columns<Column<float, Shape<1, 28, 28>, "image">>>("lenet", 1, model);
///     server.start();
///     server.wait();
///
/// All functions may be called by any thread. While a model is served, its parameters must not change: train a network
/// of your own, and add() its Model as another version, or in the place of the version.
class Server {
 public:
  /// Listens, but does not answer before start(). Throws ValueError for settings that are out of range, RuntimeError if
  /// the address or port cannot be used.
  explicit Server(ServeOptions options = {})
      : Server(std::move(options), open_session<serving::Plain, serving::Socket>) {}
  Server(const Server&) = delete;
  ~Server() { stop(); }

  /// Serves a Model, which must live until remove(), an add() in its place, or stop().
  ///
  /// Inputs   the inputs of the network for a sample: `Columns<Column<float, Shape<1, 28, 28>, "image">>`
  /// version  the one with the highest number gets the requests that name none. If there is such a version, the model
  ///          takes its place: requests that wait are computed by the model before, and none is lost
  /// throws   ValueError for a name, number, or setting that is out of range, and for an output without a sample for
  ///          each sample of the inputs; RuntimeError if the system makes fewer threads than `instances`. Nothing
  ///          changes then
  template <class Inputs, class M>
  void add(const std::string& name, long version, const M& model, const ServedOptions& options = {}) {
    add<Inputs>(name, version, std::shared_ptr<const M>(std::shared_ptr<void>(), &model), options);
  }
  /// The same for a model that the server shares, and gives up when it is replaced.
  template <class Inputs, class M>
  void add(const std::string& name, long version, std::shared_ptr<const M> model, const ServedOptions& options = {}) {
    add(name, version, std::make_unique<serving::ServedModel<Inputs, M>>(std::move(model), options.outputs), options);
  }
  /// The same for anything that computes batches.
  void add(const std::string& name, long version, std::unique_ptr<const serving::Servable> model,
           const ServedOptions& options = {}) {
    hub_->registry.add(name, version, std::move(model), options);
  }
  /// Removes a version when the requests that wait for it have been computed. False if there is none.
  bool remove(const std::string& name, long version) { return hub_->registry.remove(name, version); }

  int port() const { return port_; }
  /// What ways to the models share that are not HTTP. Not for users.
  const std::shared_ptr<serving::Hub>& hub() const { return hub_; }
  /// Connections at this moment.
  long connections() const { return hub_->connections; }

  /// Begins to answer. Throws RuntimeError if the system makes fewer threads than the settings ask for; the server may
  /// be started again when there are more.
  void start() {
    const std::lock_guard lock(mutex_);
    if (started_ || hub_->stopping) return;
    const auto run = [this](int k) {
      serving::IoThread& io = *io_[std::size_t(k)];
      const auto work = boost::asio::make_work_guard(io.context);
      io.context.run();
    };
    const auto give_up = [this] {
      for (auto& io : io_) io->context.stop();
    };
    try {
      serving::start_threads(threads_, int(io_.size()), run, give_up, "Server.start", "threads");
    } catch (...) {
      for (auto& io : io_) io->context.restart();
      throw;
    }
    started_ = true;
    accept();
  }
  /// Accepts no more connections, computes the requests that wait, lets clients receive their responses for up to
  /// `stop_time`, and ends.
  void stop() {
    const std::lock_guard lock(mutex_);
    if (hub_->stopping.exchange(true)) return;
    end_waits();
    for (auto& io : io_)
      boost::asio::post(io->context, [this, &io] {
        if (&io == &io_.front()) close_acceptor();
        each_session(*io, [](serving::Connection& session) { session.close_if_idle(); });
      });
    hub_->registry.drain();
    hub_->stop_companions();
    const auto until = serving::Clock::now() + hub_->options.stop_time;
    while (started_ && hub_->connections > 0 && serving::Clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    for (auto& io : io_)
      boost::asio::post(io->context, [&io] {
        each_session(*io, [](serving::Connection& session) { session.close(); });
        io->context.stop();
      });
    for (std::thread& thread : threads_) thread.join();
    if (!started_) close_acceptor();
    for (auto& io : io_) io->context.restart(), io->context.poll();  // what closed connections still have to say
  }
  /// Returns when the server has stopped: by stop(), or because SIGINT or SIGTERM has come. Several threads may wait.
  void wait() {
    boost::asio::io_context context{1};
    boost::asio::signal_set signals(context, SIGINT, SIGTERM);
    signals.async_wait([](boost::system::error_code, int) {});
    if (begin_wait(context)) {
      context.run();
      const std::lock_guard lock(waits_mutex_);
      std::erase(waits_, &context);
    }
    stop();
  }

 protected:
  /// Begins a connection on a socket that a client has opened.
  using Open = std::function<void(const std::shared_ptr<serving::Hub>&, serving::IoThread&, serving::Socket)>;

  Server(ServeOptions options, Open open) : hub_(std::make_shared<serving::Hub>()), open_(std::move(open)) {
    check(options);
    hub_->options = serving::bounded(std::move(options));
    while (int(io_.size()) < hub_->options.threads) io_.push_back(std::make_unique<serving::IoThread>(io_.size()));
    listen();
  }
  template <class Transport, class... Parts>
  static void open_session(const std::shared_ptr<serving::Hub>& hub, serving::IoThread& io, Parts&&... stream) {
    std::make_shared<serving::Session<Transport>>(hub, io, std::forward<Parts>(stream)...)->begin();
  }

 private:
  // Registers a wait, which stop() ends. False if stop() has begun already: it would not see this wait.
  bool begin_wait(boost::asio::io_context& context) {
    const std::lock_guard lock(waits_mutex_);
    if (hub_->stopping) return false;
    waits_.push_back(&context);
    return true;
  }
  void end_waits() {
    const std::lock_guard lock(waits_mutex_);
    for (boost::asio::io_context* context : waits_) context->stop();
  }
  static void check(const ServeOptions& o) {
    const bool times = std::min({o.idle_time, o.read_time, o.write_time}).count() > 0 && o.stop_time.count() >= 0;
    if (o.port < 0 || o.port > 65535 || o.threads < 1 || o.threads > 1024 || o.max_connections < 1 ||
        o.max_requests_per_connection < 1 || o.max_headers < 1 || o.max_header_bytes < 256 ||
        o.max_header_bytes > (1u << 30) || o.max_body_bytes < 1 || o.max_bodies_bytes < o.max_body_bytes || !times)
      throw_error<ValueError>("Server got ServeOptions that are out of range: the port is 0 to 65535, threads 1 to "
                              "1024, other numbers and times are above 0, max_header_bytes at least 256, "
                              "max_bodies_bytes at least max_body_bytes.");
  }
  void listen() {
    using boost::asio::ip::tcp;
    boost::system::error_code error;
    const auto address = boost::asio::ip::make_address(hub_->options.address, error);
    if (error)
      throw_error<ValueError>("Server got the address ", io::printable(hub_->options.address),
                              ": write a numeric one, such as 127.0.0.1.");
    const tcp::endpoint at(address, static_cast<unsigned short>(hub_->options.port));
    const auto failed = [&] { return bool(error); };
    if (acceptor_.open(at.protocol(), error), !failed())
      acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!failed()) acceptor_.bind(at, error);
    if (!failed()) acceptor_.listen(4096, error);
    if (!failed()) port_ = acceptor_.local_endpoint(error).port();
    if (failed())
      throw_error<RuntimeError>("Server cannot listen on ", hub_->options.address, " port ", hub_->options.port, ": ",
                                error.message(), ". Use another port, or 0 for a free one.");
  }
  void accept() {
    serving::IoThread& io = *io_[next_io_++ % io_.size()];
    acceptor_.async_accept(io.context, [this, &io](boost::system::error_code error, serving::Socket socket) {
      if (hub_->stopping || !acceptor_.is_open()) return;
      if (error) return accept_later();
      if (hub_->connections.fetch_add(1) >= hub_->options.max_connections) {
        hub_->connections.fetch_sub(1), hub_->refused_connections.fetch_add(1);
      } else {
        socket.set_option(boost::asio::ip::tcp::no_delay(true), error);
        const auto shared = std::make_shared<serving::Socket>(std::move(socket));
        boost::asio::post(io.context, [hub = hub_, &io, shared, &open = open_] { open(hub, io, std::move(*shared)); });
      }
      accept();
    });
  }
  // The process has no more descriptors, for example.
  void accept_later() {
    timer_.expires_after(std::chrono::milliseconds(50));
    timer_.async_wait([this](boost::system::error_code) {
      if (acceptor_.is_open()) accept();
    });
  }
  void close_acceptor() {
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    timer_.cancel();
  }
  static void each_session(serving::IoThread& io, const std::function<void(serving::Connection&)>& f) {
    std::vector<std::shared_ptr<serving::Connection>> sessions;
    for (serving::Connection* session : io.sessions)
      if (auto alive = session->weak_from_this().lock()) sessions.push_back(std::move(alive));
    for (const auto& session : sessions) f(*session);
  }

  std::shared_ptr<serving::Hub> hub_;
  Open open_;
  std::vector<std::unique_ptr<serving::IoThread>> io_;
  boost::asio::ip::tcp::acceptor acceptor_{io_context()};
  boost::asio::steady_timer timer_{io_context()};
  std::vector<std::thread> threads_;
  std::mutex mutex_, waits_mutex_;
  std::vector<boost::asio::io_context*> waits_;  // of the calls of wait(), which stop() ends
  std::size_t next_io_ = 0;
  int port_ = 0;
  bool started_ = false;

  // Members are made in their order, and the acceptor needs a context.
  boost::asio::io_context& io_context() {
    if (io_.empty()) io_.push_back(std::make_unique<serving::IoThread>(io_.size()));
    return io_.front()->context;
  }
};

}  // namespace tenon
