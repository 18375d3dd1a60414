// Reads event files of MindSpore and of TensorBoard, whole. Needs protozero.
#pragma once
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/io/event/event.hpp>
#include <tenon/io/event/mindspore_event.hpp>
#include <tenon/io/event/tensorboard_event.hpp>
#include <tenon/io/file.hpp>
#include <tenon/io/path/refuse_file.hpp>
#include <tenon/io/tf_record.hpp>

namespace tenon::inline TENON_ABI::io {

/// An event file in memory: `for (const io::Event& event : io::EventFile("events.out...").events())`. Reads and checks
/// the whole file on construction.
///
/// memory      while it reads, the file and its events. Nothing is taken for what a file claims to have
/// throws      RuntimeError, with the place, if the file cannot be read, is none of the two formats, or is damaged: a
///             wrong checksum, a message that is none, a tag that is missing or not UTF-8, a tensor or histogram with
///             another number of elements than it says. A last record that is not complete is no error: its program may
///             run still, or was killed
class EventFile {
 public:
  explicit EventFile(const std::string& path) : EventFile(std::string_view(read_file(path)), path) {}
  /// Of the bytes of a file; path is for messages.
  EventFile(std::string_view file, const std::string& path);

  EventFormat format() const { return format_; }
  /// Whether it is the second file that MindSpore writes, of where a model comes from.
  bool is_lineage() const { return lineage_; }
  /// In the order of the file, with the version that it begins with.
  std::span<const Event> events() const { return {events_.data(), events_.size()}; }
  /// Bytes of a last record that is not complete.
  std::size_t unfinished() const { return unfinished_; }

 private:
  void find_format(std::string_view first);

  EventFormat format_ = EventFormat::mindspore;
  bool lineage_ = false;
  std::vector<Event> events_;
  std::size_t unfinished_ = 0;
};

inline void EventFile::find_format(std::string_view first) {
  MessageField field;
  for (Message message(first); message.next(field);) {
    if (field.number == 3) {
      const std::string_view version = field.bytes("the version of an event file");
      if (version.starts_with("brain.Event:")) format_ = EventFormat::tensorboard;
      else if (!version.starts_with("MindSpore.Event:"))
        throw BadMessage{text("its version is ", printable(version)), field.at};
      return;
    }
    if (field.number == 6 || field.number == 7 || field.number == 9 || field.number == 10) {
      lineage_ = true;
      return;
    }
  }
  throw BadMessage{"it does not begin with a version, as event files do", first.data()};
}
inline EventFile::EventFile(std::string_view file, const std::string& path) try {
  TfRecords records(file, path);
  try {
    for (std::string_view message; records.next(message);) {
      if (events_.empty()) find_format(message);
      events_.push_back(format_ == EventFormat::mindspore ? parse_mindspore_event(message, lineage_)
                                                          : parse_tensorboard_event(message));
    }
  } catch (const BadMessage& bad) {
    throw_error<RuntimeError>("Cannot read '", path, "' as an event file: ", bad.reason, ", at byte ",
                              bad.at - file.data(),
                              ". The file is damaged or of another format: save or download it again.");
  }
  unfinished_ = records.unfinished();
  if (events_.empty() && unfinished_ > 0)
    throw_error<RuntimeError>("Cannot read '", path, "' as an event file: it has no complete record in its ",
                              file.size(), " bytes. Is it the right file?");
} catch (const std::bad_alloc&) {
  refuse_file(file.size(), path);
}

}  // namespace tenon::io
