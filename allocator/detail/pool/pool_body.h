// The body of a pool: the order of events, and nothing else. It holds no list and no lock of its own, and has no destructor,
// so that a static pool of it is constant-initialised and never ends.
//
//   allocate     take [guard: pop, hooks]  miss: slow
//   slow         [guard: pop_slow, hooks]  miss: cold
//   cold         [grow_guard: slow again, since another thread may have grown; grow]  failed: retry, with nothing held
//   deallocate   put [guard: verdict, hooks, push; crowded: make_room]  not done: settle
//   settle       full: [guard: push_slow; crowded: make_room]   surplus: [grow_guard: give back]
//   refused      reported, with nothing held
//
// take and put stand in plain_calls.h and checked_calls.h; what happens to chunks, and the order of locks, in pool_chunks.h.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_POOL_BODY_H_
#define TARN_ALLOCATOR_DETAIL_POOL_POOL_BODY_H_

#include <cstddef>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "tarn/allocator/detail/pool/pool_chunks.h"
#include "tarn/allocator/detail/pool/sampled_calls.h"
#include "tarn/policies/checking/call_site.h"
#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

template <class Environment>
class pool_body : public all_calls_of<Environment> {
  using calls = all_calls_of<Environment>;
  using chunks = pool_chunks<Environment>;
  using typename chunks::layer_type;
  using typename chunks::growth::size_policy;
  friend struct inspector;

 public:
  template <class Values>
  constexpr explicit pool_body(const Values& values) noexcept : calls(values) {}

#if TARN_EXCEPTIONS
  /// Returns a block: block_size() bytes, aligned to block_alignment(), their content unspecified.
  /// Throws: std::bad_alloc where no further chunk can be had; the pool is as it was.
  [[nodiscard("tarn: a block that nobody holds is leaked")]] void* allocate() {
    if constexpr (refuses) {
      if (!calls::admits_caller()) [[unlikely]] throw std::bad_alloc();
    }
    if constexpr (Environment::samples) {
      if (void* const block = calls::take_sampled()) [[unlikely]] return block;
    }
    void* const block = calls::take();
    if (block != nullptr) [[likely]]
      return block;
    return allocate_slow();
  }
#endif

  /// As allocate(), but returns null where no further chunk can be had.
  [[nodiscard("tarn: a block that nobody holds is leaked")]] void* try_allocate() noexcept {
    if constexpr (refuses) {
      if (!calls::admits_caller()) [[unlikely]] return nullptr;
    }
    if constexpr (Environment::samples) {
      if (void* const block = calls::take_sampled()) [[unlikely]] return block;
    }
    void* const block = calls::take();
    if (block != nullptr) [[likely]]
      return block;
    return try_allocate_slow();
  }

  /// Takes a block back. Never fails, never needs memory, never waits for a store.
  /// Precondition: `block` came from this pool and was not given back since; it is not null. A checking policy reports a block
  /// that can't be given back; then, as for null, nothing happens.
  void deallocate(void* block) noexcept {
    if constexpr (refuses) {
      if (block == nullptr || !calls::admits_caller()) [[unlikely]] return;
    }
    if constexpr (Environment::samples) {
      if (calls::is_sampled(block)) [[unlikely]] return calls::put_sampled(block);
    }
    const outcome answer = calls::put(block);
    if constexpr (Environment::hears_frees) supplier_.freed(1);
    if (answer == outcome::crowded) [[unlikely]]
      return make_room(Environment::is_static ? block : this, *this);
    if (answer != outcome::done) [[unlikely]]
      settle(block, answer);
  }

  /// The same, for who knows what was asked for: bytes, and perhaps an alignment. Precondition: they are at most block_size()
  /// and block_alignment(). A checking policy reports others, and then nothing happens.
  void deallocate(void* block, [[maybe_unused]] std::size_t bytes, [[maybe_unused]] std::size_t alignment = 1) noexcept {
    if constexpr (refuses) {
      if (block != nullptr && !calls::admits_size(block, bytes, alignment)) [[unlikely]] return;
    }
    deallocate(block);
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
    if constexpr (refuses) {
      if (!calls::admits_caller()) [[unlikely]] return 0;
    }
    std::size_t got = calls::take_batch(out);
    while (got != out.size()) {
      void* const block = try_allocate_slow();
      if (block == nullptr) break;
      out[got++] = block;
      got += calls::take_batch(out.subspan(got));
    }
    return got;
  }

  /// Takes many blocks back; `blocks` is read only.
  /// Precondition: as for deallocate(), for each; no block stands in it twice.
  void deallocate_batch(std::span<void* const> blocks) noexcept {
    for (constexpr std::size_t group = 64; !blocks.empty();) {  // so that no lock is held for long
      const auto some = blocks.first(smaller(group, blocks.size()));
      blocks = blocks.subspan(some.size());
      if constexpr (refuses || Environment::samples) {
        for (std::size_t i = some.size(); i-- != 0;) deallocate(some[i]);  // the first of the batch is handed out first
      } else {
        if (calls::put_batch(some) == outcome::surplus) chunks::give_surplus_back();
        calls::tell_of_leaving();
        if constexpr (Environment::hears_frees) supplier_.freed(some.size());
      }
    }
  }

  /// Says where a block was asked for, which reports of it will say: a line of the program, or a std::source_location. Does nothing
  /// where the checking policy doesn't keep that. Precondition: the block is in use.
  void note_site([[maybe_unused]] const void* block, [[maybe_unused]] call_site where = call_site::current()) noexcept {
    if constexpr (Environment::has_sites) {
      if (!calls::admits_caller()) return;
      [[maybe_unused]] const auto guard = chunks::core_guard();
      calls::checking_.note_site(layer_.core(), block, where);
    }
  }

  /// Another thread goes on with the pool, and the pools of its group: a checking policy that knows the owner forgets it. Nothing
  /// else happens. Precondition: what this thread did happens before what that one does.
  void hand_over() noexcept {
    if constexpr (Environment::checking::traits.knows_owner) calls::checking_.hand_over();
  }

  /// Looks at every block, in use or free, and reports each that was written where it should not. Returns how many. O(bytes).
  std::size_t verify() noexcept
    requires(Environment::can_verify)
  {
    return calls::verify();
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
    if constexpr (refuses) calls::end();
    if constexpr (Environment::samples) calls::drop_sampled();
    if constexpr (Environment::checks_leaving) calls::trim();  // so that all that is in a front leaves it
    chunks::be_left_alone();
    chunks::return_all();
    supplier_.end();
    if constexpr (refuses) keep_stores(this);  // who looks into a pool that has ended finds that it has
  }

 private:
  using chunks::layer_;
  using chunks::statistics_;
  using chunks::supplier_;

  static constexpr bool refuses = Environment::checking::traits.refuses;

  // ---- the slow half: every 64th call or so --------------------------------------------------------------------------

#if TARN_EXCEPTIONS
  TARN_NOINLINE void* allocate_slow() {
    void* const block = try_allocate_slow();
    if (block == nullptr) throw std::bad_alloc();
    return block;
  }
#endif
  TARN_NOINLINE void* try_allocate_slow() noexcept {
    void* const block = calls::take_slow();
    if (block == nullptr) return try_allocate_cold();
    if (layer_.starves()) [[unlikely]] chunks::growth::feed();
    calls::tell_of_leaving();
    return block;
  }
  /// The first argument is whatever deallocate() has in the first register already: the pool that is an object, or the block
  /// of a static pool. It spares deallocate() a move on every call, with g++ 12 and clang 14 to 19.
  TARN_NOINLINE static void make_room(const void* first, pool_body& body) noexcept {
    keep_argument(first);
    const outcome answer = [&body] {
      [[maybe_unused]] const auto calling = body.call_guard();
      return body.layer_.make_room();
    }();
    body.tell_of_leaving();
    if constexpr (Environment::retention::traits.returns_chunks) {
      if (answer == outcome::surplus) [[unlikely]] body.give_surplus_back();
    }
  }
  TARN_NOINLINE void settle(void* block, outcome answer) noexcept {
    if (answer == outcome::full) {
      answer = calls::put_slow(block);
      if (layer_.starves()) [[unlikely]] chunks::growth::feed();
    }
    calls::tell_of_leaving();
    if (answer == outcome::surplus) chunks::give_surplus_back();
  }
  TARN_COLD void* try_allocate_cold() noexcept {
    typename chunks::attempt one;
    typename calls::incident seen;
    void* block = nullptr;
    do {
      chunks::be_asked();
      [[maybe_unused]] const auto growing = chunks::growth::growth_guard();
      do {
        chunks::growth::supply(nullptr);
        block = calls::take_slow(seen);
      } while (block == nullptr && chunks::growth::grow(one));
    } while (block == nullptr && chunks::growth::retry(one));
    calls::tell(seen);
    calls::tell_of_store();
    return block;
  }
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_POOL_BODY_H_
