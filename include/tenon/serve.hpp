// serve: a model over HTTP. Needs Boost 1.74 or later and nlohmann_json (component `serve`).
#pragma once
#include <tenon/serve/server.hpp>

namespace tenon::inline TENON_ABI {

/// Serves a model by the Open Inference Protocol until SIGINT or SIGTERM:
/// `serve<Columns<Column<float, Shape<1, 28, 28>, "image">>>("lenet", model, {.port = 8080})`.
///
/// Inputs   names, dtypes, and shapes of the network's inputs for a sample
/// name     of the model in the paths of requests: /v2/models/NAME/infer
/// throws   as Server and Server::add
template <class Inputs, class M>
void serve(const std::string& name, const M& model, const ServeOptions& options = {},
           const ServedOptions& served = {}) {
  Server server(options);
  server.add<Inputs>(name, 1, model, served);
  server.start();
  logging::info("serving ", name, " on ", options.address, " port ", server.port());
  server.wait();
}

}  // namespace tenon
