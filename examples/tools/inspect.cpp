// tenon-inspect: looks into checkpoints, arrays, event files, print files, dumps, and MindRecord files.
// link: protozero cli11 sqlite json
// may link: openssl
#include <cstdio>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "inspect/event_commands.hpp"
#include "inspect/record_commands.hpp"
#include "inspect/tensor_commands.hpp"

namespace {
using namespace inspect;

constexpr const char* about = "Looks into files of Tenon, MindSpore, PyTorch, and NumPy:\n\n"
                              "  tensors with names    .safetensors, .ckpt, .npz, .npy\n"
                              "  events                what a SummaryRecord or TensorBoard has written\n"
                              "  prints                what print_file_path has written\n"
                              "  dumps                 folders; diff alone takes them\n"
                              "  MindRecord files      record alone takes them\n";

void convert(const std::string& from, const std::string& to, const std::string& key) {
  if (kind_of(from) == FileKind::events) {
    if (!to.ends_with(".csv"))
      throw_error<ValueError>("the scalars of an event file become a .csv file, got '", to, "'.");
    write_scalars(from, to);
  } else convert_tensors(from, to, key);
  std::printf("%s is written\n", to.c_str());
}

/// The value of --key: the key, or the begin of a file whose name follows an @, without the line feed at its end.
std::string key_of(const std::string& option) {
  if (!option.starts_with('@')) return option;
  std::string key = io::read_file(option.substr(1), 1 << 16);
  if (key.ends_with('\n')) key.pop_back();
  return key;
}
void add_key(CLI::App* command, std::string& key) {
  command->add_option("--key", key, "of an encrypted .ckpt: 16, 24, or 32 characters, or @FILE that holds them");
}
/// Throws ValueError for a first argument that is neither a command nor an option.
void check_command(CLI::App& app, int argc, char** argv) {
  const std::string asked = argc > 1 ? argv[1] : "";
  if (asked.starts_with('-')) return;
  std::vector<std::string> known;
  std::string list;
  for (const CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    if (command->check_name(asked)) return;
    known.push_back(command->get_name());
    list += (list.empty() ? "" : ", ") + command->get_name();
  }
  throw_error<ValueError>(
      asked.empty() ? std::string("a command is missing.") : text("there is no command '", asked, "'."),
      did_you_mean(asked, known), " The commands are ", list, "; --help says more.");
}

int run(int argc, char** argv) {
  CLI::App app(about, "tenon-inspect");
  app.require_subcommand(1);
  app.set_version_flag("--version", TENON_VERSION);
  std::vector<std::string> files;
  std::string first, second, name, key;
  int status = 0;

  auto* const list = app.add_subcommand("list", "what is in files: names, dtypes, shapes, sizes");
  list->add_option("FILE", files)->required();
  add_key(list, key);
  list->callback([&] {
    for (const std::string& file : files) {
      if (files.size() > 1) std::printf("%s\n", file.c_str());
      if (kind_of(file) == FileKind::events) list_events(file);
      else list_tensors(file, key_of(key));
    }
  });

  auto* const show =
      app.add_subcommand("show", "statistics of all tensors, or the values of one; the values of events");
  show->add_option("FILE", first)->required();
  show->add_option("NAME", name, "a tensor, or a tag of an event file");
  add_key(show, key);
  show->callback([&] {
    if (kind_of(first) == FileKind::events) show_events(first, name);
    else show_tensors(first, name, key_of(key));
  });

  auto* const compare = app.add_subcommand("diff", "which tensors of two files or dumps differ, and by how much");
  compare->alias("dump");
  compare->add_option("A", first)->required();
  compare->add_option("B", second)->required();
  add_key(compare, key);
  compare->footer("Exit status: 0 if they are equal, bit for bit, 1 if not, 2 if one cannot be read.");
  compare->callback([&] { status = diff(first, second, key_of(key)) ? 0 : 1; });

  auto* const conversion =
      app.add_subcommand("convert", "writes the tensors, or the scalars of events, to another file");
  conversion->add_option("FROM", first)->required();
  conversion->add_option("TO", second, ".safetensors, .ckpt, .npz; of events .csv")->required();
  add_key(conversion, key);
  conversion->callback([&] { convert(first, second, key_of(key)); });

  auto* const record = app.add_subcommand("record", "files, fields, and first rows of a MindRecord data set");
  long rows = 3;
  bool verify = false;
  record->add_option("FILE", first, "one file of the set, or its name")->required();
  record->add_option("--rows", rows, "how many rows are shown")->capture_default_str();
  record->add_flag("--verify", verify, "reads all rows");
  record->footer("Exit status: 1 if a row is damaged, 2 if the set cannot be read.");
  record->callback([&] {
    if (rows < 0) throw_error<ValueError>("--rows must be 0 or more, got ", rows, ".");
    status = show_record(first, rows, verify) ? 0 : 1;
  });

  try {
    check_command(app, argc, argv);
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tenon-inspect: %s\n", e.what());
    return 2;
  }
  return status;
}
}  // namespace

int main(int argc, char** argv) { return run(argc, argv); }
