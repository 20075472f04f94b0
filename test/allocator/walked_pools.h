// Walks through an object_pool beside a map: what lived when a walk began, and still lives, is visited once, by ascending
// address, and nothing else but what was constructed meanwhile.
#ifndef TARN_TEST_ALLOCATOR_WALKED_POOLS_H_
#define TARN_TEST_ALLOCATOR_WALKED_POOLS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <ranges>
#include <set>
#include <stdexcept>
#include <vector>

#include "tarn/allocator/object_pool.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/model.h"

namespace tarn::test {

/// Says at its end whether it was one, and ends another that it owns.
template <std::size_t Bytes, std::size_t Align = alignof(void*)>
struct alignas(Align) owner {
  explicit owner(std::uint32_t its) noexcept : id(its) {
    ++alive;
    wrong += reinterpret_cast<std::uintptr_t>(this) % Align == 0 ? 0 : 1;
    std::memset(rest, static_cast<int>(its % 251), Bytes);
  }
  ~owner() {
    wrong += whole() ? 0 : 1;
    id = gone;
    --alive;
    if (owned != nullptr) end(pool, owned);
  }
  bool whole() const noexcept { return id != gone && static_cast<unsigned char>(rest[Bytes - 1]) == id % 251; }

  static constexpr std::uint32_t gone = 0xDEADBEEF;
  static inline void* pool = nullptr;
  static inline void (*end)(void*, owner*) = nullptr;
  static inline long alive = 0;
  static inline long wrong = 0;
  std::uint32_t id;
  owner* owned = nullptr;
  char rest[Bytes];
};

template <class Pool>
class walked {
  using T = typename Pool::value_type;
  struct known {
    std::uint32_t id;
    std::size_t at;  // in all_
  };
  using live_map = std::map<T*, known>;

 public:
  walked(Pool& pool, std::size_t most) : pool_(pool), most_(most) {
    T::pool = std::addressof(pool_);
    T::end = [](void* its, T* one) { static_cast<Pool*>(its)->destroy(one); };
  }

  void run(int rounds, called_from = {}) {
    compare();
    std::size_t aim = most_ / 2;
    for (int round = 0; round != rounds; ++round) {
      if (round % 7 == 0) aim = pick(most_ + 1);
      for (std::size_t n = pick(400); n != 0; --n) {
        if (pick(100) >= (live_.size() < aim ? 75u : 25u)) remove_one();
        else if (!add()) REQUIRE(live_.size() == pool_.blocks().capacity());  // no block is lost
      }
      if (one_in(5)) destroy_many();
      if (one_in(6)) destroy_neighbours();
      step();
      REQUIRE(T::alive == static_cast<long>(live_.size()));
      REQUIRE(T::wrong == 0);
    }
    compare();
    own_others();
  }

 private:
  std::size_t pick(std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random_() % n); }
  bool one_in(std::size_t n) { return pick(n) == 0; }
  auto any() { return live_.find(all_[pick(all_.size())]); }
  bool add() {
    T* const o = pool_.try_construct(next_);
    if (o == nullptr) return false;
    REQUIRE(live_.emplace(o, known{next_++, all_.size()}).second);
    all_.push_back(o);
    return true;
  }
  auto forget(typename live_map::iterator at) {
    all_[at->second.at] = all_.back();
    live_[all_.back()].at = at->second.at;
    all_.pop_back();
    return live_.erase(at);
  }
  auto remove(typename live_map::iterator at) {
    T* const o = at->first;
    REQUIRE(o->id == at->second.id);
    at = forget(at);
    pool_.destroy(o);
    return at;
  }
  void remove_one() {
    if (!live_.empty()) remove(any());
  }
  void destroy_many() {
    std::vector<T*> some;
    for (std::size_t n = pick(200); n != 0 && !live_.empty(); --n) {
      some.push_back(any()->first);
      forget(live_.find(some.back()));
    }
    pool_.destroy_n(some);
  }
  /// So that words become empty between full ones.
  void destroy_neighbours() {
    if (live_.empty()) return;
    auto at = any();
    for (std::size_t n = pick(300); n != 0 && at != live_.end(); --n) at = remove(at);
  }

  void step() {
    switch (pick(10)) {
      case 0:
        return compare();
      case 1:
        return change_meanwhile();
      case 2:
        return nest();
      case 3:
        return throw_out();
      case 4:
        return stop();
      case 5:
        return iterate();
      case 6:
        return iterate_and_erase();
      case 7:
        return divide();
      case 8:
        if constexpr (requires { pool_.blocks().trim(); }) pool_.blocks().trim();
        return;
      default:
        return one_in(3) ? clear() : compare();
    }
  }
  bool is(typename live_map::iterator& at, T& o) {
    const bool is = at != live_.end() && at->first == &o && at->second.id == o.id && o.whole();
    if (is) ++at;
    return is;
  }
  void compare() {
    auto at = live_.begin();
    pool_.for_each([&](T& o) { REQUIRE(is(at, o)); });
    REQUIRE(at == live_.end());
    REQUIRE(pool_.count() == live_.size());
  }
  void change_meanwhile() {
    std::set<T*> before, seen;
    for (const auto& [o, id] : live_) before.insert(o);
    const auto end = [&](auto at) {
      before.erase(at->first);
      remove(at);
    };
    T* last = nullptr;
    pool_.for_each([&](T& o) {
      REQUIRE(live_.contains(&o) && live_[&o].id == o.id && o.whole() && &o > last);
      seen.insert(last = &o);
      switch (pick(8)) {
        case 0:
          return end(live_.find(&o));
        case 1:
          return end(any());
        case 2:
          if (const auto next = live_.upper_bound(&o); next != live_.end()) end(next);
          return;
        case 3:
          add();
          return;
        case 4:
          end(any()), add(), add();
          return;
        default:
          return;
      }
    });
    REQUIRE(std::ranges::includes(seen, before));
    compare();
  }
  void nest() {
    std::size_t outer = 0;
    pool_.for_each([&](T& o) {
      REQUIRE(live_.contains(&o));
      if (++outer % 97 != 0) return;
      if (one_in(2)) return compare();
      pool_.for_each([&](T& inner) {
        REQUIRE(live_.contains(&inner));
        if (&inner != &o && one_in(50)) remove(live_.find(&inner));
      });
    });
    compare();
  }
  void throw_out() {
    const std::size_t last = pick(live_.size());
    std::size_t visits = 0;
    bool thrown = false;
    try {
      pool_.for_each([&](T& o) {
        if (one_in(3)) remove(live_.find(&o));
        if (visits++ == last) throw std::runtime_error("enough");
      });
    } catch (const std::runtime_error&) {
      thrown = true;
    }
    REQUIRE(thrown == (visits == last + 1));
    compare();
  }
  void stop() {
    std::size_t visits = 0;
    const std::size_t enough = 1 + pick(50);
    const bool all = pool_.for_each_while([&](T&) { return ++visits != enough; });
    REQUIRE(all == (live_.size() < enough));
    REQUIRE(visits == std::min(live_.size(), enough));
  }
  void iterate() {
    if constexpr (Pool::has_iterators) {
      static_assert(std::ranges::forward_range<Pool> && std::ranges::forward_range<decltype(pool_.parts(1)[0])>);
      auto at = live_.begin();
      for (T& o : pool_) REQUIRE(is(at, o));
      REQUIRE(at == live_.end());
    } else {
      static_assert(!std::ranges::range<Pool>);
    }
  }
  void iterate_and_erase() {
    if constexpr (Pool::has_iterators) {
      std::set<T*> before, seen;
      for (const auto& [o, id] : live_) before.insert(o);
      T* last = nullptr;
      for (auto i = pool_.begin(); i != pool_.end();) {
        REQUIRE(live_.contains(&*i) && i->whole() && &*i > last);
        seen.insert(last = &*i);
        switch (pick(6)) {
          case 0:
            forget(live_.find(last));
            before.erase(last);
            i = pool_.erase(i);
            break;
          case 1:
            if (const auto at = any(); at->first != last) {
              before.erase(at->first);
              remove(at);
            }
            ++i;
            break;
          case 2:
            add();
            [[fallthrough]];
          default:
            i++;
        }
      }
      REQUIRE(std::ranges::includes(seen, before));
      compare();
    }
  }
  void divide() {
    if constexpr (Pool::has_iterators) {
      const auto parts = pool_.parts(1 + pick(9));
      static_assert(std::ranges::forward_range<decltype(parts)>);
      REQUIRE(std::ranges::distance(parts) == static_cast<std::ptrdiff_t>(parts.size()));
      auto at = live_.begin();
      std::size_t least = live_.size(), largest = 0;
      for (const auto part : parts) {
        std::size_t n = 0;
        for (T& o : part) REQUIRE(is(at, o)), ++n;
        REQUIRE((n == 0) == part.empty());
        least = std::min(least, n);
        largest = std::max(largest, n);
      }
      REQUIRE(at == live_.end());
      REQUIRE(largest - least <= 1);
    }
  }
  /// From now on some end others, which end others.
  void own_others() {
    std::shuffle(all_.begin(), all_.end(), random_);
    for (std::size_t i = 0; i + 1 < all_.size(); i += i % 9 == 7 ? 2 : 1) all_[i]->owned = all_[i + 1];
  }
  /// Each ends once, although some own others.
  void clear() {
    own_others();
    pool_.clear();
    if constexpr (requires { pool_.release(); })
      if (one_in(3)) pool_.release();
    live_.clear();
    all_.clear();
    compare();
  }

  Pool& pool_;
  std::size_t most_;
  std::mt19937_64 random_{seed()};
  live_map live_;
  std::vector<T*> all_;  // to pick from: by address, chance would depend on where chunks lie
  std::uint32_t next_ = 1;
};

/// \param most  objects at once
template <class Pool, class... Given>
void walk_beside_a_map(std::size_t most, called_from = {}, const Given&... given) {
  using T = typename Pool::value_type;
  {
    const auto pool = std::make_unique<Pool>(given...);
    walked<Pool>(*pool, most).run(60 * static_cast<int>(patience()));
  }
  CHECK(T::alive == 0);  // also of those that the pool's end ended
  CHECK(T::wrong == 0);
}

}  // namespace tarn::test

#endif  // TARN_TEST_ALLOCATOR_WALKED_POOLS_H_
