// Several runs of a program that start together in one folder: nothing of any of them is lost, and nothing mixed. A
// kind of output is a function that each run calls, with a barrier in it; it throws a sentence if something is wrong.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tenon/debug/debug.hpp>

#include <tenon/debug/dump/npy_dump.hpp>
#include <tenon/debug/report.hpp>
#include <tenon/io/event_file.hpp>
#include <tenon/io/mind_record.hpp>
#include <tenon/io/npz.hpp>
#include <tenon/io/print_file.hpp>
#include <tenon/io/safetensors.hpp>
#include <tenon/train/callbacks.hpp>
#include <tenon/train/ckpt.hpp>
#include <tenon/train/summary_record.hpp>

namespace together {

using namespace tenon;
namespace fs = std::filesystem;

struct Net : nn::Cell<Net> {
  nn::Dense<3, 4> fc;
  constexpr auto construct(auto x) const { return fc(x); }
};
using Trained = Model<Net, nn::MSELoss<>, nn::Momentum, ModelOptions{}>;

/// What `arrived` becomes when a run has failed, so that the others do not wait for it.
constexpr int failed = 1 << 20;

/// One of the runs.
struct Member {
  int number, runs;
  std::string folder;
  std::atomic<int>* arrived;
  int met = 0;

  std::string operator/(std::string_view name) const { return io::join_path(folder, name); }
  /// Waits for the others; the n-th call of each run belongs together.
  void meet() {
    const int wanted = runs * ++met;
    ++*arrived;
    while (arrived->load() < wanted) ::usleep(50);
  }
};
inline void need(bool right, const std::string& sentence) {
  if (!right) throw std::runtime_error(sentence);
}
inline std::string bits(const Net& net) {
  const ParameterList list(net);
  return std::string(reinterpret_cast<const char*>(list.arena()->data), std::size_t(list.bytes()));
}
inline auto data(const Member& run) {
  return dataset::from_arrays(dataset::column<Shape<3>>(std::vector<float>(24, 0.1f * float(1 + run.number))),
                              dataset::column<Shape<4>>(std::vector<float>(32, 0.5f))) |
         dataset::batch(2);  // 4 steps
}
/// Trains an epoch more than the runs before; the bits.
template <class... Callbacks>
std::string train(const Member& run, Callbacks&... callbacks) {
  set_context({.num_threads = 1, .seed = std::uint64_t(100 + run.number)});
  Net net;
  Trained model(net, {}, {.learning_rate = 0.1f, .momentum = 0.9f});
  model.train(1 + run.number, data(run), callbacks...);
  return bits(net);
}
inline std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && !entry.is_symlink())
      names.push_back(entry.path().lexically_relative(folder).string());
  return names;
}

/// Each run keeps 2 files. Of an earlier run, which has ended, the limit leaves the newest file; it must not take those
/// of the runs that are alive.
template <CheckpointFormat format>
void checkpoints(Member& run) {
  std::string last, trained, earlier;
  if (run.number == 0) {
    ModelCheckpoint files("same", run.folder, {.format = format});
    train(run, files);  // 4 files
    earlier = files.latest_ckpt_file_name();
  }
  {
    run.meet();
    ModelCheckpoint files("same", run.folder, {.keep_checkpoint_max = 2, .save_total_limit = 3, .format = format});
    trained = train(run, files);
    last = files.latest_ckpt_file_name();
    run.meet();
  }
  Net net;
  load_checkpoint(last, net);
  need(bits(net) == trained, last + " has the weights of another run");
  run.meet();
  const std::size_t files = files_in(run.folder).size();
  need(files == 2 * std::size_t(run.runs) + 1, text("there are ", files, " files"));
  need(earlier.empty() || fs::exists(earlier), earlier + ", the newest of the earlier run, is not there");
}
/// The weights of the best epoch.
struct Keep {
  const SaveBest& best;
  std::string& kept;
  void on_train_epoch_end(auto& run) requires requires { run.model.network(); }
  {
    if (best.best_epoch == run.cur_epoch_num) kept = bits(run.model.network());
  }
};
inline void save_best(Member& run) {
  SaveBest best{.path = run / "best.safetensors", .monitor = "loss"};
  std::string kept;
  Keep keep{best, kept};
  run.meet();
  train(run, best, keep);
  run.meet();
  Net net;
  load_checkpoint(best.path, net);
  need(bits(net) == kept, best.path + " has the weights of another run");
}
template <SummaryFormat format>
void summaries(Member& run) {
  run.meet();
  SummaryRecord record(run.folder, {.format = format});
  for (int step = 0; step < 5; ++step) {
    record.add_value("scalar", "a", 10 * run.number + step);
    record.record(step);
  }
  record.close();
  run.meet();
  const io::EventFile file(record.log_dir());
  need(file.events().size() == 6, text(record.log_dir(), " has ", file.events().size(), " events"));
  for (std::size_t i = 1; i < 6; ++i)
    need(std::get<float>(file.events()[i].values.at(0).value) == float(10 * run.number + int(i) - 1),
         record.log_dir() + " has an event of another run");
}
/// The file is the first one's. What others print is on their screens.
inline void prints(Member& run) {
  set_context({.print_file_path = run / "prints"});
  run.meet();
  auto& writer = debug::PrintFileWriter::instance();
  const TextOrTensor said[]{{false, run.number % 2 ? "odd" : "even", {}}};
  int written = 0;
  for (int i = 0; i < 3; ++i) written += writer.write(said);
  writer.close();
  run.meet();
  need(written == 0 || written == 3, "some prints are in the file");
  const io::PrintFile file(run / "prints");
  need(file.values().size() == 3, "the file has prints of several runs");
  if (written)
    for (const TextOrTensor& value : file.values()) need(value.text == said[0].text, "the prints are another run's");
}
inline void reports(Member& run) {
  debug::Report report(run / "report.html");
  run.meet();
  train(run, report);
  run.meet();
  const std::string page = io::read_file(report.path());
  need(page.find(text(">", 100 + run.number, "<")) != page.npos, report.path() + " is of another run");
}
inline void profiles(Member& run) {
  run.meet();
  debug::Profiler profiler({.output_path = run.folder});
  train(run);
  profiler.finish();
  run.meet();
  need(files_in(profiler.folder()).size() >= 9, profiler.folder() + " lacks files");
  const std::string timeline = io::read_file(io::join_path(profiler.folder(), "cpu_timeline_display_0.json"));
  need(timeline.find(text("\"pid\":", ::getpid())) != timeline.npos, profiler.folder() + " is of another run");
}
inline void graphs(Member& run) {
  run.meet();
  const ContextScope context({.save_graphs = 2, .save_graphs_path = run.folder});
  train(run);
  run.meet();
  const std::string mine = io::own_folder(run.folder);
  std::size_t all = 0, own = 0;
  for (const std::string& name : files_in(run.folder)) all += name.ends_with(".ir");
  for (const auto& entry : fs::directory_iterator(mine)) own += entry.path().extension() == ".ir";
  need(own > 2 && all == own * std::size_t(run.runs), text("there are ", all, " graphs, ", own, " of one run"));
}
inline void dumps(Member& run) {
  run.meet();
  {
    const ContextScope context({.enable_dump = true, .save_dump_path = run.folder});
    train(run);
  }
  debug::Dump<debug::NpyDump> plain(debug::NpyDump{run / "plain"});
  {
    const Watching watching(plain);
    train(run);
  }
  run.meet();
  const std::string mine = io::own_folder(run.folder), npy = io::own_folder(run / "plain");
  for (const std::string& folder : {text(mine, "/rank_0/Net/0"), text(npy, "/Net_train_0")}) {
    const long steps = std::distance(fs::directory_iterator(folder), {});
    need(steps == 4 * (1 + run.number), text(folder, " has ", steps, " steps"));
  }
}
inline void mind_record(Member& run) {
  run.meet();
  io::MindRecordWriter writer(run / "set", {.shards = 2, .overwrite = true});
  writer.add_schema({{"run", io::MindRecordType::int32}});
  for (int row = 0; row < 4; ++row) writer.write({{"run", run.number}});
  writer.commit();
  run.meet();
  const io::MindRecordReader set(run / "set0");
  need(set.size() == 4, "a set has rows of several runs");
  for (int row = 1; row < 4; ++row)
    need(set.read(row)[0].tensor.as<std::int32_t>()[0] == set.read(0)[0].tensor.as<std::int32_t>()[0],
         "a set has rows of several runs");
  need(files_in(run.folder).size() == 4, "a writer has left a file");
}
/// A file whose name the program gives is the last one's, whole.
inline void whole_files(Member& run) {
  std::vector<float> values(5000, float(run.number));
  const std::vector<io::NamedTensor> tensors{
      {"a", AnyTensor(Dtype::float32, std::vector<std::int64_t>{5000}, values.data())}};
  run.meet();
  io::save_safetensors(run / "w.safetensors", tensors);
  io::save_npz(run / "w.npz", tensors);
  io::save_ckpt(run / "w.ckpt", tensors);
  run.meet();
  const io::Safetensors one(run / "w.safetensors");
  const io::Npz two(run / "w.npz");
  const io::Ckpt three(run / "w.ckpt");
  for (const AnyTensor* tensor : {one.find("a"), two.find("a"), three.find("a")}) {
    const auto read = tensor->as<float>();
    need(std::count(read.begin(), read.end(), read[0]) == 5000, "a file is of several runs");
  }
  need(files_in(run.folder).size() == 3, "a writer has left a file");
}
inline void logs(Member& run) {
  ::setenv("GLOG_logtostderr", "0", 1);
  ::setenv("GLOG_log_dir", run.folder.c_str(), 1);
  run.meet();
  for (int i = 0; i < 20; ++i) logging::warning("line of run ", run.number, ".");
  run.meet();
  long lines = 0;
  for (const std::string& name : files_in(run.folder)) {
    if (name.find(".log.WARNING.") == name.npos) continue;
    std::ifstream file(run / name);
    std::set<std::string> of;
    for (std::string line; std::getline(file, line); ++lines) of.insert(line.substr(line.find("line of run")));
    need(of.size() == 1, name + " has lines of several runs");
  }
  need(lines == 20L * run.runs, text("there are ", lines, " lines"));
}

struct Kind {
  const char* name;
  void (*run)(Member&);
};
inline constexpr Kind kinds[]{{"checkpoints", checkpoints<CheckpointFormat::safetensors>},
                              {"checkpoints of MindSpore", checkpoints<CheckpointFormat::ckpt>},
                              {"SaveBest", save_best},
                              {"summaries of MindSpore", summaries<SummaryFormat::mindspore>},
                              {"summaries of TensorBoard", summaries<SummaryFormat::tensorboard>},
                              {"prints", prints},
                              {"reports", reports},
                              {"profiles", profiles},
                              {"saved graphs", graphs},
                              {"dumps", dumps},
                              {"MindRecord", mind_record},
                              {"files of given names", whole_files},
                              {"log files", logs}};

/// What went wrong first in a round, "" if nothing did.
inline std::string round(const Kind& kind, int runs) {
  char name[] = "/tmp/tenon-together-XXXXXX";
  const std::string folder = ::mkdtemp(name);
  void* const shared = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* const arrived = new (shared) std::atomic<int>(0);
  auto* const said = static_cast<char*>(shared) + 64;
  std::fflush(stdout);
  for (int number = 0; number < runs; ++number) {
    if (::fork() != 0) continue;
    ::close(STDERR_FILENO);
    ::alarm(120);  // ends a run that waits for ever
    int code = 1;
    try {
      Member run{number, runs, folder, arrived};
      kind.run(run);
      code = 0;
    } catch (const std::exception& error) {
      if (arrived->exchange(failed) < failed) std::snprintf(said, 1000, "%s: %s", kind.name, error.what());
    }
    ::_exit(code);
  }
  std::string killed;
  for (int ended = 0, status = 0; ended < runs && ::wait(&status) > 0; ++ended) {
    if (status == 0) continue;
    arrived->store(failed);
    if (WIFSIGNALED(status)) killed = text(kind.name, ": a run was killed by signal ", WTERMSIG(status));
  }
  const std::string wrong = *said ? said : killed;
  ::munmap(shared, 4096);
  fs::remove_all(folder);
  return wrong;
}

}  // namespace together
