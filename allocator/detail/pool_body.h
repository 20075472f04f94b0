// The body of a pool: the order of events, and nothing else. It holds no list and no lock of its own, and has no destructor,
// so that a static pool of it is constant-initialised and never ends.
//
//   allocate     [guard: pop, hooks]  miss: slow
//   slow         [guard: pop_slow, hooks]  miss: cold
//   cold         [grow_guard: slow again, since another thread may have grown; grow]  failed: retry, with nothing held
//   deallocate   [guard: verdict, hooks, push; crowded: make_room]  not done: settle
//   settle       full: [guard: push_slow; crowded: make_room]   surplus: [grow_guard: give back]
//                a fault: report, with nothing held
//
// What happens to chunks stands in pool_chunks.h, and the order of locks.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_BODY_H_
#define TARN_ALLOCATOR_DETAIL_POOL_BODY_H_

#include <algorithm>
#include <cstddef>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "tarn/allocator/detail/pool_chunks.h"
#include "tarn/policies/detail/config.h"
#include "tarn/policies/detail/protocol.h"

namespace tarn::detail {

template <class Environment>
class pool_body : public pool_chunks<Environment> {
  using chunks = pool_chunks<Environment>;
  using typename chunks::layer_type;
  using typename chunks::growth::size_policy;

 public:
  template <class Values>
  constexpr explicit pool_body(const Values& values) noexcept
      : chunks(values), checking_(values.template get<typename Environment::checking>()) {}

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
    if constexpr (Environment::hears_frees) supplier_.freed(1);
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
        if (put_batch(some) == outcome::surplus) chunks::give_surplus_back();
        if constexpr (Environment::hears_frees) supplier_.freed(some.size());
      }
    }
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
    return chunks::geometry().block_size();
  }
  static constexpr std::size_t block_alignment() noexcept
    requires(!Environment::size_is_given_at_run_time)
  {
    return size_policy::alignment();
  }
  std::size_t block_alignment() const noexcept
    requires(Environment::size_is_given_at_run_time)
  {
    return chunks::geometry().block_alignment();
  }

 protected:
  /// What the destructor of a pool that is an object does.
  void close() noexcept {
    chunks::be_left_alone();
    chunks::return_all();
  }

 private:
  using chunks::layer_;
  using chunks::statistics_;
  using chunks::supplier_;

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
    if (layer_.starves()) [[unlikely]] chunks::growth::feed();
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
    return layer_.make_room();
  }
  /// The first argument is whatever deallocate() has in the first register already: the pool that is an object, or the block
  /// of a static pool. It spares deallocate() a move on every call, with g++ 12 and clang 14 to 19.
  TARN_NOINLINE static void make_room(const void* first, pool_body& body) noexcept {
    keep_argument(first);
    const outcome answer = body.layer_.make_room();
    if constexpr (Environment::retention::returns_chunks) {
      if (answer == outcome::surplus) [[unlikely]] body.give_surplus_back();
    }
  }
  TARN_NOINLINE void settle(void* block, outcome answer) noexcept {
    if (answer == outcome::full) {
      answer = put_slow(block);
      if (layer_.starves()) [[unlikely]] chunks::growth::feed();
    }
    if (answer == outcome::done) return;
    if (answer == outcome::surplus) chunks::give_surplus_back();
    else checking_.report(layer_.core(), block, answer);
  }
  outcome put_slow(void* block) noexcept {
    [[maybe_unused]] const auto guard = layer_.guard();
    return roomy(layer_.push_slow(block));
  }

  TARN_COLD void* try_allocate_cold() noexcept {
    typename chunks::attempt one;
    do {
      chunks::be_asked();
      [[maybe_unused]] const auto growing = chunks::growth::growth_guard();
      do {
        chunks::growth::supply(nullptr);
        if (void* const block = take_slow()) return block;
      } while (chunks::growth::grow(one));
    } while (chunks::growth::retry(one));
    return nullptr;
  }

  TARN_NO_UNIQUE_ADDRESS typename Environment::checking::template part<Environment> checking_;
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_BODY_H_
