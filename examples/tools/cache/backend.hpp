// What tenon-cache asks of LMDB or Redis.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tenon/dataset/cache/cache_folder.hpp>
#include <tenon/dataset/cache/lmdb_store.hpp>

#include "settings.hpp"

namespace cache_tool {

struct SessionRows {
  std::uint32_t id = 0;
  std::vector<dataset::CacheCount> counts;
};

struct Backend {
  virtual ~Backend() = default;
  /// Returns what there is to say beyond "completed successfully".
  virtual std::string start() = 0;
  virtual void stop() = 0;
  virtual std::uint32_t create_session() = 0;
  virtual bool drop_session(std::uint32_t id) = 0;
  virtual std::vector<SessionRows> sessions() = 0;
  /// Where rows are that do not fit into memory.
  virtual std::string spill_folder() const = 0;
};

class LmdbBackend : public Backend {
 public:
  explicit LmdbBackend(const Settings& s) : folder_(s.folder, s.port) {}

  std::string start() override {
    return text("There is no server to start: LMDB keeps the rows below ", folder_.path(),
                ", which each program opens by itself.");
  }
  void stop() override { folder_.drop_all(); }
  std::uint32_t create_session() override { return folder_.create_session(); }
  bool drop_session(std::uint32_t id) override { return folder_.drop_session(id); }
  std::vector<SessionRows> sessions() override {
    std::vector<SessionRows> all;
    for (const std::uint32_t id : folder_.sessions())
      all.push_back({id, dataset::LmdbStore(folder_.session_path(id)).counts()});
    return all;
  }
  std::string spill_folder() const override { return folder_.path(); }

 private:
  dataset::CacheFolder folder_;
};

}  // namespace cache_tool
