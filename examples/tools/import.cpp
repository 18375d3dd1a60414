// tenon-import: makes a typed header and a checkpoint of an ONNX file.
// link: protozero cli11
#include <cstdio>
#include <stdexcept>
#include <string>

#include <CLI/CLI.hpp>

#include "import/import.hpp"

namespace {
using namespace importer;

constexpr const char* about =
    "Makes a network of Tenon of an ONNX file: NAME.hpp has its cells, NAME.safetensors its weights.\n\n"
    "  tenon-import resnet18.onnx\n"
    "  tenon-import gpt.onnx --extent seq=32,64,128\n";

/// "seq=32,64" as its axis and its extents.
void take_extent(const std::string& text, Options& options) {
  const std::size_t equal = text.find('=');
  std::vector<long> extents;
  for (std::size_t at = equal; at < text.size(); at = text.find(',', at + 1)) {
    long extent = 0;
    const char* const begin = text.data() + at + 1;
    const auto [end, error] = std::from_chars(begin, text.data() + text.size(), extent);
    if (error != std::errc() || extent < 1 || extent > 1 << 30 || (*end != ',' && *end != '\0'))
      extents.clear(), at = text.size();
    else extents.push_back(extent);
  }
  if (equal == 0 || extents.empty() || !std::is_sorted(extents.begin(), extents.end()))
    throw_error<ValueError>("--extent takes an axis and rising numbers, seq=32,64,128; got '", text, "'.");
  options.extents[text.substr(0, equal)] = extents;
}

int run(int argc, char** argv) {
  CLI::App app(about, "tenon-import");
  app.set_version_flag("--version", TENON_VERSION);
  std::string file, folder, name;
  std::vector<std::string> extents;
  app.add_option("FILE", file, "an .onnx file")->required();
  app.add_option("--extent", extents, "the extents of a dynamic axis: --extent seq=32,64,128");
  app.add_option("--name", name, "of the network, instead of its class or its file");
  app.add_option("--output", folder, "the folder of the two files, instead of that of FILE");
  try {
    app.parse(argc, argv);
    Options options;
    for (const std::string& each : extents) take_extent(each, options);
    return import_file(file, folder, name, options) ? 0 : 1;
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  } catch (const std::logic_error& e) {
    std::fprintf(stderr, "tenon-import: a fault of this program (%s): please report it, with the file.\n", e.what());
    return 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tenon-import: %s\n", e.what());
    return 2;
  }
}
}  // namespace

int main(int argc, char** argv) { return run(argc, argv); }
