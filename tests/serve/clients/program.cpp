// A server with TLS and gRPC for the clients of ../clients.sh: `program PORT GRPC_PORT CERTIFICATE KEY`.
// link: tls
// link: grpc
#if __has_include(<boost/beast/http.hpp>) && __has_include(<nlohmann/json.hpp>) && __has_include(<openssl/ssl.h>) && \
    __has_include(<grpcpp/grpcpp.h>) && __has_include(<protozero/pbf_reader.hpp>)
#include <cstdlib>

#include <tenon/tenon.hpp>

#include <tenon/serve/grpc.hpp>
#include <tenon/serve/tls.hpp>

using namespace tenon;

namespace {
struct Net : nn::Cell<Net> {
  nn::Embedding<10, 8> table;
  nn::Dense<3, 8> hidden;
  nn::Dense<8, 4> output;
  constexpr auto construct(auto word, auto x) const { return output(relu(table(word) + hidden(x))); }
};
using Inputs = dataset::Columns<dataset::Column<std::int32_t, Shape<>, "word">, dataset::Column<float, Shape<3>, "x">>;
}  // namespace

int main(int count, char** words) {
  if (count != 5) return 2;
  Net net;
  const Model model{net};
  const TlsOptions tls{.certificate = words[3], .key = words[4]};
  TlsServer server(tls, {.port = std::atoi(words[1])});
  const GrpcServer over_grpc(server, {.port = std::atoi(words[2]), .tls = tls});
  server.add<Inputs>("net", 1, model);
  server.start();
  server.wait();
}
#else
int main() { return 77; }
#endif
