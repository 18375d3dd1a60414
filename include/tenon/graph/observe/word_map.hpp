// WordMap: a hash table from a few numbers to one. Those of the standard library would be compiled anew for each kind
// of key, by every program that can be observed.
#pragma once
#include <cstddef>
#include <cstdint>

#include <tenon/core/config.hpp>
#if TENON_DEFINES
#include <tenon/core/random/philox.hpp>
#endif

namespace tenon::inline TENON_ABI::detail {

/// Numbers, and addresses as numbers.
struct WordKey {
  std::uint64_t word[5]{};
};
inline std::uint64_t address_word(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

/// What it hands out stays where it is until clear().
class WordMap {
 public:
  WordMap() = default;
  WordMap(const WordMap&) = delete;
  WordMap& operator=(const WordMap&) = delete;
  ~WordMap() {
    clear();
    delete[] first_;
  }
  /// The value of the key; 0 for one that is new.
  std::uint64_t& operator[](const WordKey& key);
  void clear();

 private:
  struct Item {
    WordKey key;
    std::uint64_t value, hash;
    Item* next;
  };
  void grow();

  Item** first_ = nullptr;  // of each chain; a power of 2 of them, no fewer than items
  std::size_t chains_ = 0, items_ = 0;
};

#if TENON_DEFINES
[[gnu::noinline]] TENON_INLINE std::uint64_t& WordMap::operator[](const WordKey& key) {
  std::uint64_t hash = 0;
  for (const std::uint64_t word : key.word) hash = hash_number(word, hash);
  if (chains_)
    for (Item* item = first_[hash & (chains_ - 1)]; item; item = item->next)
      if (item->hash == hash && __builtin_memcmp(&item->key, &key, sizeof key) == 0) return item->value;
  if (items_ == chains_) grow();
  Item*& first = first_[hash & (chains_ - 1)];
  first = new Item{key, 0, hash, first};
  ++items_;
  return first->value;
}
[[gnu::noinline]] TENON_INLINE void WordMap::grow() {
  const std::size_t more = chains_ ? 2 * chains_ : 64;
  Item** const fresh = new Item*[more]();
  for (std::size_t i = 0; i < chains_; ++i)
    while (Item* const item = first_[i]) {
      first_[i] = item->next;
      item->next = fresh[item->hash & (more - 1)];
      fresh[item->hash & (more - 1)] = item;
    }
  delete[] first_;
  first_ = fresh;
  chains_ = more;
}
[[gnu::noinline]] TENON_INLINE void WordMap::clear() {
  for (std::size_t i = 0; i < chains_; ++i)
    while (Item* const item = first_[i]) {
      first_[i] = item->next;
      delete item;
    }
  items_ = 0;
}
#endif

}  // namespace tenon::detail
