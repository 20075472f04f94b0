// The body of a pool: the order of events, and nothing else. It holds no list and no lock of its own, and has no destructor,
// so that a static pool of it is constant-initialised and never ends.
//
//   allocate     [guard: pop, hooks]  miss: slow
//   slow         [guard: pop_slow, hooks]  miss: cold
//   cold         [grow_guard: slow again, since another thread may have grown; grow]  failed: retry, with nothing held
//   grow         (grow_guard) [core_guard: how many?] · store · supply · [core_guard: adopt]
//   supply       (grow_guard) memory that the layer needs for itself · store
//   deallocate   [guard: verdict, hooks, push; crowded: make_room]  not done: settle
//   settle       full: [guard: push_slow; crowded: make_room]   surplus: [grow_guard: give back]
//                a fault: report, with nothing held
//
// Lock order: grow_guard, then core_guard. A store runs under the grow_guard only.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_BODY_H_
#define TARN_ALLOCATOR_DETAIL_POOL_BODY_H_

#include <algorithm>
#include <cstddef>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "tarn/allocator/detail/chunk.h"
#include "tarn/allocator/detail/core.h"
#include "tarn/allocator/detail/environment.h"
#include "tarn/allocator/detail/supplier.h"
#include "tarn/policies/detail/config.h"
#include "tarn/policies/detail/protocol.h"

namespace tarn::detail {

struct inspector;

template <class Environment>
class pool_body {
  using core_type = typename Environment::core;
  using layer_type = typename Environment::locking::template layer<core_type>;
  using geometry_type = typename Environment::geometry;
  using size_policy = typename Environment::size;
  using chunk = typename Environment::chunk;
  friend struct inspector;

 public:
  template <class Values>
  constexpr explicit pool_body(const Values& values) noexcept
      : layer_(geometry_type(values.template get<size_policy>()), values.template get<typename Environment::growth>(),
               values.template get<typename Environment::retention>()),
        supplier_(values),
        checking_(values.template get<typename Environment::checking>()),
        statistics_(values.template get<typename Environment::statistics>()) {}
  pool_body(const pool_body&) = delete;
  pool_body& operator=(const pool_body&) = delete;

#if TARN_EXCEPTIONS
  /// Returns a block: block_size() bytes, aligned to block_alignment(), their content unspecified.
  /// Throws: std::bad_alloc where no further chunk can be had; the pool is as it was.
  [[nodiscard("tarn: a block that nobody holds is leaked")]] void* allocate() {
    void* const block = take();
    if (block != nullptr) [[likely]]
      return block;
    return allocate_slow();
  }
#endif

  /// As allocate(), but returns null where no further chunk can be had.
  [[nodiscard("tarn: a block that nobody holds is leaked")]] void* try_allocate() noexcept {
    void* const block = take();
    if (block != nullptr) [[likely]]
      return block;
    return try_allocate_slow();
  }

  /// Takes a block back. Never fails, never needs memory, never waits for a store.
  /// Precondition: `block` came from this pool and was not given back since; it is not null.
  void deallocate(void* block) noexcept {
    const outcome answer = put(block);
    if (answer == outcome::crowded) [[unlikely]]
      return make_room(Environment::is_static ? block : this, *this);
    if (answer != outcome::done) [[unlikely]]
      settle(block, answer);
  }

#if TARN_EXCEPTIONS
  /// Fills `out` with blocks. Returns out.size().
  /// Throws: std::bad_alloc where not all of them can be had; none is taken then. Chunks that were got for it stay.
  std::size_t allocate_batch(std::span<void*> out) {
    const std::size_t got = try_allocate_batch(out);
    if (got != out.size()) {
      deallocate_batch(out.first(got));
      throw std::bad_alloc();
    }
    return got;
  }
#endif

  /// Fills `out` with blocks from its start. Returns how many: fewer than out.size() where no further chunk can be had.
  std::size_t try_allocate_batch(std::span<void*> out) noexcept {
    std::size_t got = take_batch(out);
    while (got != out.size()) {
      void* const block = try_allocate_slow();
      if (block == nullptr) break;
      out[got++] = block;
      got += take_batch(out.subspan(got));
    }
    return got;
  }

  /// Takes many blocks back; `blocks` is read only.
  /// Precondition: as for deallocate(), for each; no block stands in it twice.
  void deallocate_batch(std::span<void* const> blocks) noexcept {
    for (constexpr std::size_t group = 64; !blocks.empty();) {  // so that no lock is held for long
      const auto some = blocks.first(std::min(group, blocks.size()));
      blocks = blocks.subspan(some.size());
      if constexpr (Environment::checking::refuses) {
        for (void* const block : some) deallocate(block);
      } else {
        if (put_batch(some) == outcome::surplus) give_back(keep());
      }
    }
  }

#if TARN_EXCEPTIONS
  /// Gets chunks until capacity() is at least `blocks`.
  /// Throws: std::bad_alloc where the store or the growth policy refuses; the pool is as it was.
  void reserve(std::size_t blocks) {
    if (!try_reserve(blocks)) throw std::bad_alloc();
  }
#endif

  /// As reserve(), but returns whether it could.
  bool try_reserve(std::size_t blocks) noexcept {
    if (geometry().extent(blocks) > size_limit) return false;
    [[maybe_unused]] const auto growing = layer_.grow_guard();
    chunk* fresh = nullptr;
    std::size_t more = 0;
    for (std::size_t last = 0; capacity_under_guard() + more < blocks;) {
      chunk* const c = supplier_.fetch(layer_, last, more);
      if (c == nullptr) {
        supplier_.release(fresh, geometry());
        return false;
      }
      last = c->blocks;
      more += c->blocks;
      c->next = fresh;
      fresh = c;
    }
    if (!supply(fresh)) {
      supplier_.release(fresh, geometry());
      return false;
    }
    for (chunk *c = fresh, *next; c != nullptr; c = next) {
      next = c->next;
      adopt(*c);
    }
    if (fresh != nullptr) {
      layer_.expect(more);
      supply(nullptr);  // without it the next operations ask for themselves
    }
    return true;
  }

  /// Gives every chunk back to the store at once, in O(chunks). Every block of the pool ends, also those in use.
  /// Precondition: no other thread uses the pool.
  void release() noexcept
    requires(Environment::may_return_chunks)
  {
    [[maybe_unused]] const auto growing = layer_.grow_guard();
    return_all();
  }

  /// Gives the wholly free chunks back to the store. Returns their bytes. Looks at every free block.
  std::size_t trim() noexcept
    requires(Environment::may_return_chunks)
  {
    layer_.drain();
    return give_back(0);
  }

  /// Returns whether the address lies in the blocks of one of the pool's chunks: free, in use, or padding between two.
  bool owns(const void* address) const noexcept {
    [[maybe_unused]] const auto guard = layer_.core_guard();
    return layer_.core().find(address) != nullptr;
  }

  /// Returns bytes that a block has, and their alignment, as the size policy gave them.
  static constexpr std::size_t block_size() noexcept
    requires(!Environment::size_is_given_at_run_time)
  {
    return size_policy::bytes();
  }
  std::size_t block_size() const noexcept
    requires(Environment::size_is_given_at_run_time)
  {
    return geometry().block_size();
  }
  static constexpr std::size_t block_alignment() noexcept
    requires(!Environment::size_is_given_at_run_time)
  {
    return size_policy::alignment();
  }
  std::size_t block_alignment() const noexcept
    requires(Environment::size_is_given_at_run_time)
  {
    return geometry().block_alignment();
  }

  /// Returns blocks in the pool's chunks, free or in use. A pool over a bounded store has them from the start.
  std::size_t capacity() const noexcept {
    if constexpr (Environment::store::bounded) {
      [[maybe_unused]] const auto growing = layer_.grow_guard();
      const std::size_t blocks = capacity_under_guard();
      return blocks != 0 ? blocks : supplier_.capacity_of_store(layer_.core());
    } else {
      return capacity_under_guard();
    }
  }

  /// Returns what the statistics policy counted.
  auto statistics() const noexcept
    requires(Environment::counts)
  {
    [[maybe_unused]] const auto guard = layer_.core_guard();
    return statistics_.read();
  }

 protected:
  /// What the destructor of a pool that is an object does.
  void close() noexcept { return_all(); }

 private:
  // ---- the hot half -------------------------------------------------------------------------------------------------

  void* take() noexcept {
    [[maybe_unused]] const auto guard = layer_.guard();
    return noted(layer_.pop());
  }
  outcome put(void* block) noexcept {
    [[maybe_unused]] const auto guard = layer_.guard();
    const outcome verdict = checking_.on_deallocate(layer_.core(), block);
    if (verdict != outcome::done) [[unlikely]]
      return verdict;
    statistics_.on_deallocate(1);
    const outcome answer = layer_.push(block);
    return unguarded ? answer : roomy(answer);
  }
  void* noted(void* block) noexcept {
    if (block != nullptr) [[likely]] {
      checking_.on_allocate(layer_.core(), block);
      statistics_.on_allocate(1);
    }
    return block;
  }
  std::size_t take_batch(std::span<void*> out) noexcept {
    [[maybe_unused]] const auto guard = layer_.guard();
    const std::size_t got = layer_.pop_batch(out.data(), out.size());
    for (void* const block : out.first(got)) checking_.on_allocate(layer_.core(), block);
    statistics_.on_allocate(got);
    return got;
  }
  outcome put_batch(std::span<void* const> blocks) noexcept {
    [[maybe_unused]] const auto guard = layer_.guard();
    statistics_.on_deallocate(blocks.size());
    return layer_.push_batch(blocks.data(), blocks.size());
  }

  // ---- the slow half: every 64th call or so --------------------------------------------------------------------------

#if TARN_EXCEPTIONS
  TARN_NOINLINE void* allocate_slow() {
    void* const block = try_allocate_slow();
    if (block == nullptr) throw std::bad_alloc();
    return block;
  }
#endif
  TARN_NOINLINE void* try_allocate_slow() noexcept {
    void* const block = take_slow();
    if (block == nullptr) return try_allocate_cold();
    if (layer_.starves()) [[unlikely]] feed();
    return block;
  }
  void* take_slow() noexcept {
    [[maybe_unused]] const auto guard = layer_.guard();
    return noted(layer_.pop_slow());
  }

  /// Whether the hot path holds no lock. Only then may room be made in a step of its own: between two locks another thread
  /// would push into a list that is full.
  static constexpr bool unguarded = std::is_same_v<decltype(std::declval<const layer_type&>().guard()), no_guard>;

  outcome roomy(outcome answer) noexcept {
    if (answer != outcome::crowded) [[likely]] return answer;
    layer_.make_room();
    return outcome::done;
  }
  /// The first argument is whatever deallocate() has in the first register already: the pool that is an object, or the block
  /// of a static pool. It spares deallocate() a move on every call, with g++ 12 and clang 14 to 19.
  TARN_NOINLINE static void make_room(const void* first, pool_body& body) noexcept {
    keep_argument(first);
    body.layer_.make_room();
  }
  TARN_NOINLINE void settle(void* block, outcome answer) noexcept {
    if (answer == outcome::full) {
      answer = put_slow(block);
      if (layer_.starves()) [[unlikely]] feed();
    }
    if (answer == outcome::done) return;
    if (answer == outcome::surplus) give_back(keep());
    else checking_.report(layer_.core(), block, answer);
  }
  outcome put_slow(void* block) noexcept {
    [[maybe_unused]] const auto guard = layer_.guard();
    return roomy(layer_.push_slow(block));
  }

  // ---- the cold half: chunks come and go -----------------------------------------------------------------------------

  TARN_COLD void* try_allocate_cold() noexcept {
    do {
      [[maybe_unused]] const auto growing = layer_.grow_guard();
      do {
        supply(nullptr);
        if (void* const block = take_slow()) return block;
      } while (grow());
    } while (supplier_.retry(geometry().block_size()));
    return nullptr;
  }
  bool grow() noexcept {
    chunk* const c = supplier_.fetch(layer_, 0, 0);
    if (c == nullptr) return false;
    if (!supply(c)) {
      supplier_.release(c, geometry());
      return false;
    }
    adopt(*c);
    return true;
  }
  void adopt(chunk& c) noexcept {
    [[maybe_unused]] const auto guard = layer_.core_guard();
    layer_.adopt(c);
    statistics_.on_chunk(c.region.bytes);
  }

  /// Gives the layer what it lacks to adopt a list of fresh chunks or, null, to go on. Returns whether the store could.
  bool supply(const chunk* fresh) noexcept {
    while (const std::size_t bytes = layer_.shortage(fresh)) {
      const memory got = supplier_.fetch_own(bytes);
      layer_.supply(got);
      if (!got) return false;
    }
    return true;
  }
  /// After an operation that went well without: it doesn't wait for a thread that is at the store.
  TARN_COLD void feed() noexcept {
    if constexpr (Environment::keeps_memory && requires { layer_.try_grow_guard(); }) {
      if (const auto growing = layer_.try_grow_guard()) supply(nullptr);
    }
  }

  void return_all() noexcept {
    layer_.drop_all();
    return_chunks([](core_type& core) { return core.unlink_all(); });
    supplier_.drop_own();
    layer_.end();
  }

  /// Gives empty chunks back, except `keep` of them. Returns their bytes.
  std::size_t give_back(std::size_t keep) noexcept {
    [[maybe_unused]] const auto growing = layer_.grow_guard();
    return return_chunks([keep](core_type& core) { return core.unlink_empty(keep); });
  }
  template <class Unlink>
  std::size_t return_chunks(Unlink unlink) noexcept {
    chunk* leaving;
    {
      [[maybe_unused]] const auto guard = layer_.core_guard();
      leaving = unlink(layer_.core());
      for (const chunk* c = leaving; c != nullptr; c = c->next) statistics_.off_chunk(c->region.bytes);
    }
    return supplier_.release(leaving, geometry());
  }
  std::size_t keep() const noexcept {
    [[maybe_unused]] const auto guard = layer_.core_guard();
    return layer_.core().keep();
  }

  std::size_t capacity_under_guard() const noexcept {
    [[maybe_unused]] const auto guard = layer_.core_guard();
    return layer_.core().capacity();
  }
  const geometry_type& geometry() const noexcept { return layer_.core().geometry(); }

  layer_type layer_;  // first: the hot path reaches the list at offset 0
  TARN_NO_UNIQUE_ADDRESS supplier<Environment> supplier_;
  TARN_NO_UNIQUE_ADDRESS typename Environment::checking::template part<Environment> checking_;
  TARN_NO_UNIQUE_ADDRESS typename Environment::statistics::template part<Environment> statistics_;
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_BODY_H_
