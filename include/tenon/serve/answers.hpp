// The answers of a server to all requests but inference.
#pragma once
#include <string>
#include <utility>

#include <tenon/serve/registry.hpp>
#include <tenon/serve/route.hpp>

namespace tenon::inline TENON_ABI::serving {

/// A response before it is written.
struct Answer {
  int status = 200;
  std::string body{};
  std::string_view content_type = "application/json";
  std::size_t json_bytes = 0;     // of a body with bytes of tensors after them, else 0
  std::string_view allowed = {};  // methods, where the request had another
};

inline Answer error_answer(int status, std::string_view reason) { return {status, error_body(reason)}; }
inline Answer wrong_method(bool infers) {
  Answer answer = error_answer(405, infers ? "use POST" : "use GET");
  answer.allowed = infers ? "POST" : "GET, HEAD";
  return answer;
}

inline std::string tensors_text(const std::vector<NamedType>& list) {
  std::string text = "[";
  for (const NamedType& one : list) {
    if (text.size() > 1) text += ',';
    text += "{\"name\":" + json_text(one.name) + ",\"datatype\":" + json_text(datatype(one.type.dtype)) +
            ",\"shape\":" + extents_text(one.type) + '}';
  }
  return text += ']';
}

/// The metadata of a version of a model.
inline Answer model_answer(const Registry& registry, const Version& version) {
  std::string versions;
  for (const long number : registry.versions(version.name))
    versions += (versions.empty() ? "\"" : ",\"") + std::to_string(number) + '"';
  const Signature& signature = version.batcher.model().signature();
  return {200, "{\"name\":" + json_text(version.name) + ",\"versions\":[" + versions +
                   "],\"platform\":\"tenon\",\"inputs\":" + tensors_text(signature.inputs) +
                   ",\"outputs\":" + tensors_text(signature.outputs) + '}'};
}

/// `ready`: the server takes requests. `more` is added to the metrics.
inline Answer answer_to(const Route& route, const Registry& registry, bool ready, const std::string& more) {
  using To = Route::To;
  const std::string state = ready ? "true" : "false";
  switch (route.to) {
    case To::live: return {200, "{\"live\":true}"};
    case To::ready: return {ready ? 200 : 503, "{\"live\":true,\"ready\":" + state + '}'};
    case To::server:
      return {200, "{\"name\":\"tenon\",\"version\":\"" TENON_VERSION "\",\"extensions\":[\"binary_tensor_data\"]}"};
    case To::metrics: {
      std::string body = more;
      registry.append_metrics(body);
      return {200, std::move(body), "text/plain; version=0.0.4"};
    }
    case To::model:
    case To::model_ready: {
      const auto version = registry.find(route.model, route.version);
      if (!version) return error_answer(404, "no such model or version");
      if (route.to == To::model) return model_answer(registry, *version);
      return {ready ? 200 : 503, "{\"name\":" + json_text(version->name) + ",\"ready\":" + state + '}'};
    }
    case To::infer:
    case To::nothing: break;
  }
  return error_answer(404, "no such path");
}

}  // namespace tenon::serving
