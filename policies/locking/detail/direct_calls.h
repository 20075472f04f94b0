// The calls of every locking policy whose callers go straight to the list: only the guards differ.
#ifndef TARN_POLICIES_LOCKING_DETAIL_DIRECT_CALLS_H_
#define TARN_POLICIES_LOCKING_DETAIL_DIRECT_CALLS_H_

#include <cstddef>

#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// \tparam Guards  hot() and growth(), const: guards that the pool holds around a hit and around the store; if `can_try`,
///                 try_growth(), which may be false; end(): the pool ends, or is as new. Optional: `again`, a growth_again,
///                 and grows_here() if it is `told`
template <class Guards>
class direct_calls {
 public:
  TARN_STEP auto hit_guard() const noexcept(noexcept(guards_.hot())) { return guards_.hot(); }
  TARN_STEP auto core_guard() const noexcept(noexcept(guards_.hot())) { return guards_.hot(); }
  TARN_STEP auto growth_guard() const noexcept(noexcept(guards_.growth())) { return guards_.growth(); }
  auto try_growth_guard() const
    requires(Guards::can_try)
  {
    return guards_.try_growth();
  }
  static constexpr growth_again again = again_of<Guards>;
  bool grows_here() const noexcept
    requires(again == growth_again::told)
  {
    return guards_.grows_here();
  }

  template <class Pool>
  TARN_STEP static void* pop(Pool& pool) noexcept {
    return pool.list.pop(pool.chunks);
  }
  template <class Pool>
  TARN_STEP static void* pop_slow(Pool& pool) noexcept {
    return pool.list.pop_slow(pool.chunks);
  }
  template <class Pool>
  TARN_STEP static status push(Pool& pool, void* block) noexcept {
    return pool.list.push(pool.chunks, block);
  }
  template <class Pool>
  TARN_STEP static status push_slow(Pool& pool, void* block) noexcept {
    return pool.list.push(pool.chunks, block);
  }
  template <class Pool>
  TARN_STEP static status make_room(Pool& pool) noexcept {
    return pool.list.make_room(pool.chunks);
  }
  template <class Pool>
  TARN_STEP static std::size_t pop_batch(Pool& pool, void** out, std::size_t n) noexcept {
    return pool.list.pop_batch(pool.chunks, out, n);
  }
  template <class Pool>
  TARN_STEP static status push_batch(Pool& pool, void* const* in, std::size_t n) noexcept {
    return pool.list.push_batch(pool.chunks, in, n);
  }

  template <class Pool, class Chunk>
  TARN_STEP static void adopt(Pool& pool, Chunk& fresh) noexcept {
    pool.chunks.adopt(fresh, pool.list);
  }

  // Nothing lies in front of the list, and the policy keeps nothing for itself.
  template <class Pool>
  TARN_STEP static void drain(Pool&) noexcept {}
  template <class Pool>
  TARN_STEP static void drain_all(Pool&) noexcept {}
  TARN_STEP static void drop_all() noexcept {}
  TARN_STEP void end() noexcept { guards_.end(); }
  template <class Pool, class Chunk>
  TARN_STEP static constexpr std::size_t shortage(Pool&, const Chunk*) noexcept {
    return 0;
  }
  template <class Pool>
  TARN_STEP static void supply(Pool&, memory) noexcept {}
  TARN_STEP static constexpr void expect(std::size_t) noexcept {}
  TARN_STEP static constexpr bool starves() noexcept { return false; }

 private:
  TARN_NO_UNIQUE_ADDRESS Guards guards_;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_LOCKING_DETAIL_DIRECT_CALLS_H_
