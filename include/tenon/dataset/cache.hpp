// cache(DatasetCache{...}): rows that are computed once and stored with LMDB in a folder of the user. Needs LMDB
// (component `lmdb`). See tenon-cache for the commands of sessions.
#pragma once
#include <tenon/dataset/cache/cached.hpp>
#include <tenon/dataset/cache/lmdb_store.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// A cache on this machine; there is no server to start: `DatasetCache{.session_id = id, .size = 2000}`.
using DatasetCache = BasicDatasetCache<LmdbStore>;

}  // namespace tenon::dataset
