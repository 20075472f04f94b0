// What an stl_allocator may take its memory from, and containers over it.
#ifndef TARN_TEST_ALLOCATOR_ALLOCATOR_SOURCES_H_
#define TARN_TEST_ALLOCATOR_ALLOCATOR_SOURCES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <deque>
#include <forward_list>
#include <functional>
#include <list>
#include <map>
#include <memory_resource>
#include <new>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/stl_allocator.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {

// ---- what a source may be ------------------------------------------------------------------------------------------------

/// A source that knows every block that it gave, and counts as a fault what comes back otherwise.
class ledger {
 public:
  ledger() = default;
  ledger(const ledger&) = delete;
  ~ledger() {
    for (const auto& [start, block] : live_) ::operator delete(start, std::align_val_t{block.alignment});
  }

  void* allocate(std::size_t bytes, std::size_t alignment) {
    ++calls_;
    if (calls_ > limit_) throw std::bad_alloc();
    void* const start = ::operator new(std::max<std::size_t>(bytes, 1), std::align_val_t{alignment});
    live_[start] = {bytes, alignment};
    return start;
  }
  void deallocate(void* start, std::size_t bytes, std::size_t alignment) {
    const auto found = live_.find(start);
    if (found == live_.end() || found->second.bytes != bytes || found->second.alignment != alignment) {
      ++faults_;
      return;
    }
    live_.erase(found);
    ::operator delete(start, std::align_val_t{alignment});
  }

  void refuse_after(std::size_t more) noexcept { limit_ = more == no_limit ? no_limit : calls_ + more; }
  static constexpr std::size_t no_limit = static_cast<std::size_t>(-1);

  std::size_t calls() const noexcept { return calls_; }
  std::size_t blocks() const noexcept { return live_.size(); }
  std::size_t faults() const noexcept { return faults_; }
  /// Whether the address lies in a block that is out.
  bool holds(const void* address) const noexcept {
    auto next = live_.upper_bound(const_cast<void*>(address));
    if (next == live_.begin()) return false;
    --next;
    return static_cast<const std::byte*>(address) < static_cast<const std::byte*>(next->first) + next->second.bytes;
  }

 private:
  struct extent {
    std::size_t bytes;
    std::size_t alignment;
  };
  std::map<void*, extent> live_;
  std::size_t calls_ = 0;
  std::size_t limit_ = no_limit;
  std::size_t faults_ = 0;
};

/// A source, and how to see that nothing of it is in use and nothing went wrong.
struct ledger_rig {
  using source = ledger;
  ledger blocks;
  source& get() noexcept { return blocks; }
  bool idle() const noexcept { return blocks.blocks() == 0; }
  bool sound() const noexcept { return blocks.faults() == 0; }
};
struct resource_rig {
  using source = std::pmr::memory_resource;
  upstream blocks;
  source& get() noexcept { return blocks; }
  bool idle() const noexcept { return blocks.regions() == 0; }
  bool sound() const noexcept { return blocks.faults() == 0; }
};
struct pool_rig {
  using source = size_class_pool<resource_store>;
  upstream regions;
  source blocks{resource_store{&regions}};
  source& get() noexcept { return blocks; }
  bool idle() {  // every chunk is wholly free: each block came back, and to this pool
    blocks.trim();
    std::size_t held = 0;
    blocks.each_pool([&](std::size_t, auto& pool) { held += pool.capacity(); });
    return held == 0 && blocks.large().blocks == 0;
  }
  bool sound() const noexcept { return regions.faults() == 0; }
};

// ---- what fails, and what is aligned --------------------------------------------------------------------------------------

template <std::size_t Align>
struct alignas(Align) aligned {
  long value = 0;
};

/// A store that counts its regions, and refuses on demand and what is over a GiB. Having no value, it serves static pools.
template <class Tag>
struct counted_store {
  using axis = tarn::axis::store;
  static constexpr tarn::store_traits traits{};
  static inline std::size_t calls = 0;
  static inline std::size_t regions = 0;  // outstanding
  static inline bool refuses = false;

  template <class Traits>
  struct source {
    constexpr explicit source(const counted_store&) noexcept {}
    detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
      ++calls;
      if (refuses || bytes > (std::size_t{1} << 30)) return {};
      ++regions;
      return {::operator new(bytes, std::align_val_t{alignment}), bytes};
    }
    void release(detail::memory region, std::size_t alignment) noexcept {
      --regions;
      ::operator delete(region.start, std::align_val_t{alignment});
    }
  };
};

template <class T>
bool is_aligned(const T* p) {
  return reinterpret_cast<std::uintptr_t>(p) % alignof(T) == 0;
}

// ---- containers over them ---------------------------------------------------------------------------------------------------

template <class Rig, class T>
using from = stl_allocator<T, typename Rig::source>;

template <class Rig, class T>
using list_of = std::list<T, from<Rig, T>>;
template <class Rig, class T>
using forward_list_of = std::forward_list<T, from<Rig, T>>;
template <class Rig, class T>
using vector_of = std::vector<T, from<Rig, T>>;
template <class Rig, class T>
using deque_of = std::deque<T, from<Rig, T>>;
template <class Rig, class T>
using set_of = std::set<T, std::less<T>, from<Rig, T>>;
template <class Rig, class T>
using map_of = std::map<T, T, std::less<T>, from<Rig, std::pair<const T, T>>>;
template <class Rig, class T>
using multimap_of = std::multimap<T, T, std::less<T>, from<Rig, std::pair<const T, T>>>;
template <class Rig, class T>
using unordered_map_of = std::unordered_map<T, T, std::hash<T>, std::equal_to<T>, from<Rig, std::pair<const T, T>>>;
template <class Rig, class T>
using unordered_set_of = std::unordered_set<T, std::hash<T>, std::equal_to<T>, from<Rig, T>>;
template <class Rig>
using string_of = std::basic_string<char, std::char_traits<char>, from<Rig, char>>;

/// Puts `n` elements in, from `first` on.
template <class C>
void put(C& c, int first, int n) {
  for (int i = first; i < first + n; ++i) {
    using value = typename C::value_type;
    if constexpr (requires { typename C::mapped_type; }) c.emplace(i, -i);
    else if constexpr (requires { typename C::key_type; }) c.emplace(i);
    else if constexpr (requires { c.push_back(value()); }) c.push_back(static_cast<value>(i));
    else c.push_front(static_cast<value>(i));
  }
}
template <class C>
void drop_one(C& c) {
  if constexpr (requires { c.erase(c.begin()); }) c.erase(c.begin());
  else c.pop_front();
}
template <class C>
const void* address_of_first(const C& c) {
  return &*c.begin();
}
template <class C>
std::size_t length(const C& c) {
  return static_cast<std::size_t>(std::distance(c.begin(), c.end()));
}

}  // namespace tarn::test

#endif  // TARN_TEST_ALLOCATOR_ALLOCATOR_SOURCES_H_
