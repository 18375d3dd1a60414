// The lines of a small file that is read as a whole.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include <tenon/core/error.hpp>

namespace tenon::inline TENON_ABI::dataset::detail {

/// Takes lines off a file's content, which must stay where it is, and counts them.
class Lines {
 public:
  /// `kind` is what the file is read as, for messages: "a vocabulary".
  Lines(std::string_view content, const std::string& path, std::string_view kind)
      : rest_(content), path_(path), kind_(kind) {}

  bool empty() const { return rest_.empty(); }
  /// The next line, without its end. Throws RuntimeError if it has none.
  std::string_view take() {
    ++line_;
    const std::size_t end = rest_.find('\n');
    if (end == rest_.npos) refuse("the file is empty or cut off: its last line has no end");
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return line;
  }
  /// Throws RuntimeError for the line that was taken last.
  [[noreturn, gnu::cold]] void refuse(std::string_view reason) const {
    throw_error<RuntimeError>("Cannot read '", path_, "' as ", kind_, ": line ", line_, ": ", reason, ".");
  }

 private:
  std::string_view rest_;
  const std::string& path_;
  std::string_view kind_;
  long line_ = 0;
};

}  // namespace tenon::dataset::detail
