// Where a request goes: the paths of the Open Inference Protocol.
#pragma once
#include <algorithm>
#include <charconv>
#include <string_view>

#include <tenon/core/config.hpp>

namespace tenon::inline TENON_ABI::serving {

struct Route {
  enum class To : unsigned char { nothing, live, ready, server, model, model_ready, infer, metrics };
  To to = To::nothing;
  std::string_view model{};
  long version = -1;  // -1: the highest
};

/// The path and query of a target in the absolute form, `http://host/path`, which clients send to a proxy and servers
/// must take, too (RFC 9112, section 3.2.2); another target as it is.
inline std::string_view origin_form(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? char(a - 'A' + 'a') : a) == b; };
    if (!std::ranges::equal(target.substr(0, scheme.size()), scheme, same)) continue;
    target.remove_prefix(scheme.size());
    const std::size_t path = target.find_first_of("/?");
    return path == 0 || path == target.npos ? std::string_view() : target.substr(path);  // no path, or no host
  }
  return target;
}

/// Reads the target of a request; a query is ignored. Names are compared as they are: no name of a model needs an
/// escape.
inline Route find_route(std::string_view target) {
  using To = Route::To;
  target = origin_form(target);
  target = target.substr(0, target.find('?'));
  if (target == "/v2" || target == "/v2/") return {To::server};
  if (target == "/v2/health/live") return {To::live};
  if (target == "/v2/health/ready") return {To::ready};
  if (target == "/metrics") return {To::metrics};
  constexpr std::string_view models = "/v2/models/", versions = "versions/";
  if (!target.starts_with(models)) return {};
  target.remove_prefix(models.size());
  const auto take = [&] {
    const std::string_view part = target.substr(0, target.find('/'));
    target.remove_prefix(part.size() + (part.size() < target.size() ? 1 : 0));
    return part;
  };
  Route route{To::nothing, take()};
  if (target.starts_with(versions)) {
    target.remove_prefix(versions.size());
    const std::string_view number = take();
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), route.version);
    if (error != std::errc() || end != number.data() + number.size() || route.version < 0) return {};
  }
  route.to = target.empty()      ? To::model
             : target == "ready" ? To::model_ready
             : target == "infer" ? To::infer
                                 : To::nothing;
  return route;
}

}  // namespace tenon::serving
