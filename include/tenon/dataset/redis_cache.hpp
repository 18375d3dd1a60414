// cache(RedisCache{...}): rows that are computed once, kept by a Redis server. Needs hiredis (component `redis`).
#pragma once
#include <tenon/dataset/cache/cached.hpp>
#include <tenon/dataset/cache/redis_store.hpp>

namespace tenon::inline TENON_ABI::dataset {

/// A cache that machines can share: `RedisCache{.session_id = id, .hostname = "10.0.0.5"}`.
using RedisCache = BasicDatasetCache<RedisStore>;

}  // namespace tenon::dataset
