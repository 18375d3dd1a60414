// Every reader of files, fed by libFuzzer: it may refuse the bytes with an error of Tenon's, and nothing else. The
// environment's TENON_READER says which one, from 0 on.
#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <cstdlib>

#include <tenon/dataset/source/csv.hpp>
#include <tenon/dataset/source/file/cifar_file.hpp>
#include <tenon/dataset/source/file/idx.hpp>
#include <tenon/dataset/source/text_file.hpp>
#include <tenon/dataset/source/tf_record.hpp>
#include <tenon/dataset/text/byte_pair_encoding.hpp>
#include <tenon/dataset/text/vocabulary.hpp>
#include <tenon/debug/dump/dump_config.hpp>
#include <tenon/debug/log_files.hpp>
#include <tenon/io/ckpt.hpp>
#include <tenon/io/event_file.hpp>
#include <tenon/io/keras.hpp>
#include <tenon/io/npz.hpp>
#include <tenon/io/print_file.hpp>
#include <tenon/io/pt.hpp>
#include <tenon/io/tensors/safetensors_header.hpp>
#include <tenon/onnx/read_model.hpp>
#include <tenon/train/callback/run/callback_state.hpp>

#include "../../examples/tools/import/import.hpp"

using namespace tenon;

namespace {
template <class Act>
void refuse_or_read(Act act) {
  try {
    act();
  } catch (const RuntimeError&) {
  } catch (const ValueError&) {
  } catch (const KeyError&) {
  }
}
/// No tensor has more bytes than a file may have.
void check(std::span<const io::NamedTensor> tensors, std::size_t most) {
  for (const io::NamedTensor& named : tensors)
    if (named.tensor.bytes() > most) __builtin_trap();
}
/// The file itself, and, as no fuzzer finds a checksum, its bytes as the messages of records.
void read_events(std::string_view file) {
  try {
    io::EventFile(file, "f");
  } catch (const RuntimeError&) {
  }
  const std::string begin = io::tf_record(std::string("\x09\0\0\0\0\0\0\0\0\x1a\x11MindSpore.Event:1", 28));
  try {
    io::EventFile(begin + io::tf_record(file), "f");
  } catch (const RuntimeError&) {
  }
  io::EventFile(io::tf_record(std::string("\x1a\x0d"
                                          "brain.Event:2")) +
                    io::tf_record(file),
                "f");
}
/// Variables of logs, a line each. Any text has levels and settings.
void read_log_variables(std::string_view text) {
  const char* const names[]{
      "GLOG_v", "MS_SUBMODULE_LOG_v", "GLOG_log_dir", "GLOG_stderrthreshold", "GLOG_max_log_size", "GLOG_logfile_mode",
      "RANK_ID"};
  ::setenv("GLOG_logtostderr", "0", 1);
  for (const char* name : names) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    ::setenv(name, std::string(text.substr(0, end)).c_str(), 1);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  logging::detail::Levels levels = logging::detail::levels_of(std::getenv(names[0]));
  logging::detail::read_module_levels(std::getenv(names[1]), levels);
  for (const int level : levels.of)
    if (level < 1 || level > 5) __builtin_trap();
  const debug::detail::LogFileSettings settings = debug::detail::log_file_settings();
  if (settings.most_bytes < 1 || settings.mode > 0777 || settings.screen_from > 4) __builtin_trap();
}
/// The bytes as a file that has a path.
const std::string& path_of(std::string_view file) {
  static const int memory = ::memfd_create("f", 0);
  static const std::string path = text("/proc/self/fd/", memory);
  if (::ftruncate(memory, 0) != 0 || ::pwrite(memory, file.data(), file.size(), 0) < 0) __builtin_trap();
  return path;
}
/// All rows of a data set; an error of one is no reason to leave out the others.
template <class Open>
void read_rows(Open open) {
  refuse_or_read([&] {
    const auto data = open();
    if (data.size() > 1 << 20) __builtin_trap();
    auto rows = data.open();
    for (long i = 0; i < data.size(); ++i)
      refuse_or_read([&] {
        rows.start(0, i);
        rows.next();
      });
  });
}
void read_texts(const std::string& path) {
  using dataset::as, dataset::Column, dataset::Csv;
  using Text = Column<std::uint8_t, dataset::Ragged<dataset::any>, "a">;
  for (const bool header : {false, true}) {
    read_rows([&] { return Csv(path, as<Text>, {.header = header}); });
    read_rows([&] { return Csv(path, as<Column<float, Shape<2>>, Column<int, Shape<>>>, {.header = header}); });
  }
  read_rows([&] { return dataset::TextFile(path); });
}
/// The file itself, and its bytes as an Example.
void read_examples(std::string_view file) {
  using dataset::any, dataset::as, dataset::Column, dataset::Ragged;
  for (const std::string& content : {std::string(file), io::tf_record(file)}) {
    const std::string& path = path_of(content);
    read_rows([&] { return dataset::TfRecord(path, as<Column<std::uint8_t, Ragged<any>, "image">>); });
    read_rows([&] { return dataset::TfRecord(path, as<Column<int, Ragged<any>, "label">>); });
    read_rows([&] { return dataset::TfRecord(path, as<Column<float, Shape<2>, "box">>); });
  }
}
void read_cifar(std::string_view file) {
  const dataset::detail::CifarForm form{"CIFAR", "an archive", {}, {10}, {"label"}};
  const long images = dataset::detail::cifar_images_in(file, "f", form);
  std::vector<char> pixels(std::size_t(images) * dataset::detail::CifarImages::bytes);
  std::vector<std::uint8_t> labels;
  dataset::detail::take_cifar_file(file, "f", form, pixels.data(), labels);
}
/// What is read encodes and decodes; byte pairs any bytes, without loss.
void read_vocabularies(std::string_view file) {
  refuse_or_read([&] {
    const auto words = dataset::Vocabulary::parse(file, "f");
    words.decode(words.encode(file));
  });
  for (const bool learned : {false, true})
    refuse_or_read([&] {
      const auto pairs =
          learned ? dataset::BytePairEncoding::trained(file, 300) : dataset::BytePairEncoding::parse(file, "f");
      if (pairs.decode(pairs.encode(file)) != file) __builtin_trap();
    });
}
/// The file itself, and its bytes as the pickle of one, whose storage has 64 bytes.
void read_pt(std::string_view file) {
  constexpr std::size_t limit = 1 << 20;
  refuse_or_read([&] { check(io::Pt(file, "f", "", limit).tensors(), limit); });
  io::ZipWriter zip;
  const std::string storage(64, '\1');
  std::string archive = zip.head("a/data.pkl", file.size(), io::crc32(file)) + std::string(file);
  archive += zip.head("a/data/0", storage.size(), io::crc32(storage)) + storage;
  check(io::Pt(archive + zip.tail(), "f", "", limit).tensors(), limit);
}
/// A model, and the header and the checkpoint that are made of it.
void read_onnx(std::string_view file) {
  const importer::Options options{{{"seq", {8, 16}}}};
  const importer::Imported made = importer::import_model(onnx::parse_model(file, "/nowhere/f"), "f", "", options);
  std::size_t bytes = 0;
  for (const importer::Weight& weight : made.weights) bytes += weight.tensor.bytes.size();
  if (bytes > 1 << 20) __builtin_trap();
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t count) {
  constexpr std::size_t limit = 1 << 20;
  const std::string_view file(reinterpret_cast<const char*>(bytes), count);
  static const int reader = std::atoi(std::getenv("TENON_READER"));
  refuse_or_read([&] {
    switch (reader) {
      case 0: return check(io::Ckpt(file, "f").tensors(), count);
      case 1: return check(io::Npz(file, "f", limit).tensors(), limit);
      case 2: return static_cast<void>(io::parse_npy_header(file, "f"));
      case 3: return static_cast<void>(io::parse_safetensors_header(file, 8, "f"));
      case 5: {
        const io::PrintFile prints(file, "f");
        for (const TextOrTensor& value : prints.values())
          if ((value.is_tensor ? value.tensor.bytes() : value.text.size()) > count) __builtin_trap();
        return;
      }
      case 6: return read_events(file);
      case 7: return static_cast<void>(debug::parse_dump_config(file));
      case 8: return read_log_variables(file);
      case 9:
        for (const int rank : {1, 3}) refuse_or_read([&] { dataset::Idx("f", std::string(file), rank); });
        return;
      case 10: return read_cifar(file);
      case 11: return read_texts(path_of(file));
      case 12: return read_examples(file);
      case 13: return read_vocabularies(file);
      case 14: return read_pt(file);
      case 15: return read_onnx(file);
      case 16: return check(io::Keras(file, "f", limit).tensors(), limit);
      default: {
        std::vector<std::vector<double>> values;
        std::vector<std::string> names;
        CallbackState state{std::string(file)};
        state(values), state(names);
      }
    }
  });
  return 0;
}
