// Every reader of files, fed by libFuzzer: it may refuse the bytes with an error of Tenon's, and nothing else. The
// environment's TENON_READER says which one, from 0 on.
#include <cstdlib>

#include <tenon/debug/log_files.hpp>
#include <tenon/io/ckpt.hpp>
#include <tenon/io/npz.hpp>
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
  for (const int level : logging::detail::levels_of(std::getenv(names[0]), std::getenv(names[1])).of)
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
      case 5: return read_log_variables(file);
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
