// Every reader of files, fed by libFuzzer: it may refuse the bytes with an error of Tenon's, and nothing else. The
// environment's TENON_READER says which one, from 0 on.
#include <cstdlib>

#include <tenon/debug/dump/dump_config.hpp>
#include <tenon/debug/log_files.hpp>
#include <tenon/io/ckpt.hpp>
#include <tenon/io/event_file.hpp>
#include <tenon/io/npz.hpp>
#include <tenon/io/print_file.hpp>
#include <tenon/io/safetensors_header.hpp>
#include <tenon/train/callback/callback_state.hpp>

using namespace tenon;

namespace {
template <class Act>
void refuse_or_read(Act act) {
  try {
    act();
  } catch (const RuntimeError&) {
  } catch (const ValueError&) {
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
