// The pools of the process that have a name. What a pool keeps for the list is all atomic: a pool without a lock may be asked
// by any thread, and answers with what it noted last.
#ifndef TARN_POLICIES_NAME_LISTED_POOLS_H_
#define TARN_POLICIES_NAME_LISTED_POOLS_H_

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "tarn/policies/detail/asked_list.h"
#include "tarn/policies/detail/this_thread_number.h"
#include "tarn/policies/name/pool_record.h"
#include "tarn/policies/name/text_writer.h"
#include "tarn/policies/name/traits.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/one_in_process.h"

namespace tarn::detail {

class listed_pool;

/// Where the blocks of a pool lie in its chunks, for debuggers: they read it from memory, whatever the pool's type is.
struct listed_shape {
  std::size_t block_size = 0;  // bytes
  std::size_t stride = 0;      // from one block to the next
  std::size_t offset = 0;      // from a slot to its block
  std::size_t words = 0;       // pointers that a free block holds
  std::size_t run = 0;         // blocks after which the next is a cache line further; 0: none is
};

/// What the machinery of every listed pool is made from, whatever its name policy is.
struct listed {
  static constexpr name_traits traits{.is_listed = true};
  using state = listed_pool;
  pool_listing its;
};

/// The same where a new pool must be all zero: the name is that of the type, and comes when the pool enters the registry.
struct listed_by_type {};
template <class Name>
struct listed_as : listed_by_type {
  static constexpr name_traits traits{.is_listed = true};
  using state = listed_pool;
  static constexpr pool_listing listing() noexcept { return Name().listing(); }
};

/// The name of a static pool that was given none: that of its tag.
struct name_of_tag {
  using axis = tarn::axis::name;
  static constexpr name_traits traits{.is_listed = true};
  constexpr pool_listing listing() const noexcept { return {text, {}}; }
  const char* text = "";
};
/// The name of a pool of one class, among those that a product with this name has.
struct name_of_class {
  using axis = tarn::axis::name;
  static constexpr name_traits traits{.is_listed = true};
  constexpr pool_listing listing() const noexcept { return its; }
  pool_listing its;
};

/// A listed pool's state of the axis name.
class listed_pool : public asked_member<listed_pool> {
 public:
  /// What the registry calls. `switch_checks` is null, or switches checks on or off and returns whether it could.
  struct calls {
    void (*tell)(const void* pool, pool_record& out) noexcept;  // writes what can be seen of the pool under its core guard
    bool (*switch_checks)(void* pool, bool on, bool is_owner) noexcept;
    listed_shape (*shape)(const void* pool) noexcept;
    pool_listing (*listing)() noexcept = nullptr;  // of listed_by_type
  };

  constexpr explicit listed_pool(const listed& policy) noexcept;
  constexpr explicit listed_pool(const listed_by_type&) noexcept;

  /// Called with nothing held when the pool is made, and before it gets a chunk. `confined`: no lock keeps threads apart, so
  /// only the thread that was here last may look into the pool.
  void enter(void* pool, const calls& its, bool confined) noexcept {
    if (confined) owner_.store(this_thread_number(), memory_order_relaxed);
    if (!has_entered()) [[unlikely]]
      enter_now(pool, its);
  }
  /// Waits for threads that are looking at the pool.
  void leave() noexcept;
  /// Nobody looks at the pool until resume().
  void pause() noexcept;
  void resume() noexcept;

  // Called under the core guard.
  void on_chunk(std::size_t bytes, std::size_t capacity) noexcept {
    change(chunks_, 1);
    change(growths_, 1);
    off_chunk_bytes(bytes, capacity);
  }
  void off_chunk(std::size_t bytes, std::size_t capacity) noexcept {
    change(chunks_, static_cast<std::size_t>(-1));
    off_chunk_bytes(std::size_t{0} - bytes, capacity);
  }
  /// So many blocks can be in use now: those that the list hasn't behind its front.
  void on_outside(std::size_t blocks) noexcept {
    outside_.store(blocks, memory_order_relaxed);
    if (blocks > peak_.load(memory_order_relaxed)) peak_.store(blocks, memory_order_relaxed);
  }
  /// Called with anything held.
  void on_refusal() noexcept { refused_.fetch_add(1, memory_order_relaxed); }

  /// Called by the list.
  void tell(pool_record& out) const noexcept {
    out.where = its_.where;
    out.address = pool_;
    out.in_use = outside_.load(memory_order_relaxed);
    out.peak = peak_.load(memory_order_relaxed);
    out.capacity = capacity_.load(memory_order_relaxed);
    out.chunks = chunks_.load(memory_order_relaxed);
    out.bytes_held = bytes_.load(memory_order_relaxed);
    out.growths = growths_.load(memory_order_relaxed);
    out.refused = refused_.load(memory_order_relaxed);
    out.is_exact = is_owner();
    calls_->tell(pool_, out);
    text_writer name(span<char>(out.name, sizeof out.name - 1));
    name.put(this->name());
    if (its_.has_size) name.put('/'), name.put_number(out.block_size);
  }
  const char* name() const noexcept { return its_.name != nullptr ? its_.name : ""; }
  bool has_switch() const noexcept { return calls_->switch_checks != nullptr; }
  bool switch_checks(bool on) const noexcept { return calls_->switch_checks(pool_, on, is_owner()); }

 private:
  friend class ranked_list<listed_pool>;
  friend class asked_list<listed_pool>;
  static constexpr int rank() noexcept { return 0; }  // so that to enter and to leave is O(1)

  /// Whether the pool has a lock, or belongs to this thread.
  bool is_owner() const noexcept {
    const thread_number owner = owner_.load(memory_order_relaxed);
    return owner == 0 || owner == this_thread_number();
  }
  TARN_ONE_IN_LIBRARY void enter_now(void* pool, const calls& its) noexcept;
  void off_chunk_bytes(std::size_t bytes, std::size_t capacity) noexcept {
    change(bytes_, bytes);
    capacity_.store(capacity, memory_order_relaxed);
  }
  static void change(atomic_word<std::size_t>& number, std::size_t by) noexcept {
    number.store(number.load(memory_order_relaxed) + by, memory_order_relaxed);
  }

  pool_listing its_;
  void* pool_ = nullptr;
  const calls* calls_ = nullptr;
  listed_shape shape_;
  atomic_word<thread_number> owner_ = 0;  // if confined
  atomic_word<std::size_t> outside_ = 0;
  atomic_word<std::size_t> peak_ = 0;
  atomic_word<std::size_t> capacity_ = 0;
  atomic_word<std::size_t> chunks_ = 0;
  atomic_word<std::size_t> bytes_ = 0;
  atomic_word<std::size_t> growths_ = 0;
  atomic_word<std::size_t> refused_ = 0;
};

/// One for the process.
class listed_pools : public asked_list<listed_pool> {
 public:
  /// Writes a record for each pool, as many as there is room for. Returns how many pools there are.
  std::size_t fill(pool_record* out, std::size_t room) noexcept {
    std::size_t n = 0;
    for (asked_round round; !round.ended;)
      ask_next(round, [&](const listed_pool& one) {
        if (n < room) one.tell(out[n]);
        ++n;
      });
    return n;
  }
  /// Switches the checks of the pools of that name, where they can be switched.
  switched_pools switch_checks(span<const char> name, bool on) noexcept {
    switched_pools result;
    for (asked_round round; !round.ended;)
      ask_next(round, [&](const listed_pool& one) {
        const bool is_meant =
            std::strlen(one.name()) == name.size() && std::memcmp(one.name(), name.data(), name.size()) == 0;
        if (!is_meant || !one.has_switch()) return;
        ++(one.switch_checks(on) ? result.switched : result.refused);
      });
    return result;
  }
};

TARN_FOUND_IN_PROCESS inline constinit listed_pools library_pools;
inline listed_pools& pools_of_process() noexcept { return one_in_process<library_pools, 0x107>::get(); }
/// Found at load: later a thread holds what the loader may wait for. A template, so that only programs with such pools have it.
struct TARN_ONE_IN_LIBRARY early_listing {
  TARN_STEP early_listing() noexcept { pools_of_process(); }
};
template <class>
TARN_FIRST_AT_LOAD static const early_listing listed_at_load;

TARN_ONE_IN_LIBRARY void begin_of_listing() noexcept;
TARN_ONE_IN_LIBRARY inline constinit asked_library library_listing{.at_first = begin_of_listing};
TARN_ONE_IN_LIBRARY inline void end_of_listing() noexcept {
  library_listing.now.store(asked_library::phase::over, memory_order_relaxed);
  pools_of_process().remove_library(library_listing);
}
TARN_ONE_IN_LIBRARY inline void begin_of_listing() noexcept { std::atexit(end_of_listing); }

constexpr listed_pool::listed_pool(const listed& policy) noexcept : asked_member(library_listing), its_(policy.its) {}
constexpr listed_pool::listed_pool(const listed_by_type&) noexcept
    : asked_member(library_listing, true), its_{.name = nullptr, .where = {}} {}
inline void listed_pool::enter_now(void* pool, const calls& its) noexcept {
  if (!begins(library_listing)) return;
  pools_of_process().add(*this, [pool, &its](listed_pool& one) {
    one.pool_ = pool;
    one.calls_ = &its;
    one.shape_ = its.shape(pool);
    if (its.listing != nullptr) one.its_ = its.listing();
  });
}
inline void listed_pool::leave() noexcept {
  if (has_entered()) pools_of_process().remove(*this);
}
inline void listed_pool::pause() noexcept { pools_of_process().pause(*this); }
inline void listed_pool::resume() noexcept { pools_of_process().resume(*this); }

}  // namespace tarn::detail

#endif  // TARN_POLICIES_NAME_LISTED_POOLS_H_
