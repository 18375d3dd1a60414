// A connection to a Redis server: commands, and their answers.
#pragma once
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <hiredis/hiredis.h>
#include <pthread.h>
#include <sys/time.h>

#include <tenon/core/error.hpp>

namespace tenon::inline TENON_ABI::dataset::detail {

/// hiredis writes to sockets whose server has died; the signal of that would end the program.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  ~NoPipeSignal() {
    if (!was_pending_) {
      const std::timespec none{};
      while (::sigtimedwait(&pipe_, nullptr, &none) == SIGPIPE) {
      }
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_, before_;
  bool was_pending_;
};

/// One connection, for one thread at a time. Its password is in $REDISCLI_AUTH, as redis-cli's.
class RedisConnection {
 public:
  using Reply = std::unique_ptr<redisReply, void (*)(redisReply*)>;

  /// Throws RuntimeError if no server answers within two seconds.
  RedisConnection(const std::string& host, int port) : where_(text(host, ":", port)), context_(nullptr, ::redisFree) {
    const NoPipeSignal quiet;
    context_.reset(::redisConnectWithTimeout(host.c_str(), port, {2, 0}));
    if (!context_ || context_->err) fail(context_ ? context_->errstr : "no memory");
    ::redisSetTimeout(context_.get(), {5, 0});  // a server that is stopped, or a cable that is out
    if (const char* const password = std::getenv("REDISCLI_AUTH"); password && *password) command({"AUTH", password});
    command({"PING"});
  }

  /// Throws RuntimeError if the server is gone, or does not like the command.
  Reply command(const std::vector<std::string_view>& words) {
    Reply reply = try_command(words);
    if (!reply) fail(context_->errstr);
    if (reply->type == REDIS_REPLY_ERROR) fail(std::string_view(reply->str, reply->len));
    return reply;
  }
  /// Null if the server is gone; its complaint is an answer.
  Reply try_command(const std::vector<std::string_view>& words) {
    const NoPipeSignal quiet;
    std::vector<const char*> begins;
    std::vector<std::size_t> sizes;
    for (const std::string_view word : words) begins.push_back(word.data()), sizes.push_back(word.size());
    void* const reply = ::redisCommandArgv(context_.get(), static_cast<int>(words.size()), begins.data(), sizes.data());
    return {static_cast<redisReply*>(reply), [](redisReply* answer) { ::freeReplyObject(answer); }};
  }
  std::string_view error() const { return context_->errstr; }

 private:
  [[noreturn, gnu::cold]] void fail(std::string_view reason) const {
    throw_error<RuntimeError>("The Redis server at ", where_, " does not do what a cache needs: ", reason,
                              ". If none runs there, start one: tenon-cache --backend redis --start");
  }

  std::string where_;
  std::unique_ptr<redisContext, void (*)(redisContext*)> context_;
};

inline std::string_view words_of(const redisReply& reply) {
  return reply.type == REDIS_REPLY_STRING || reply.type == REDIS_REPLY_STATUS ? std::string_view(reply.str, reply.len)
                                                                              : std::string_view();
}
inline std::string_view complaint_of(const redisReply& reply) {
  return reply.type == REDIS_REPLY_ERROR ? std::string_view(reply.str, reply.len) : "an answer of the wrong kind";
}
inline std::uint64_t number_of(const redisReply& reply) {
  if (reply.type == REDIS_REPLY_INTEGER) return static_cast<std::uint64_t>(reply.integer);
  return std::strtoull(std::string(words_of(reply)).c_str(), nullptr, 10);
}

}  // namespace tenon::dataset::detail
