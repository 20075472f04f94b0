// The layer of every locking policy that lets its callers straight into the core: only the guards differ.
#ifndef TARN_POLICIES_LOCKING_DETAIL_DIRECT_LAYER_H_
#define TARN_POLICIES_LOCKING_DETAIL_DIRECT_LAYER_H_

#include <cstddef>
#include <utility>

#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// \tparam Guards  hot() and growth(), const: guards that the pool holds around the hot path and around the store; and, if it likes,
///                 try_growth(), which may turn out false, and end(): the pool ends, or is as new
template <class Core, class Guards>
class direct_layer {
 public:
  template <class... Args>
  constexpr explicit direct_layer(Args&&... args) noexcept : core_(std::forward<Args>(args)...) {}

  TARN_STEP auto guard() const noexcept(noexcept(guards_.hot())) { return guards_.hot(); }
  auto core_guard() const noexcept(noexcept(guards_.hot())) { return guards_.hot(); }
  auto grow_guard() const noexcept(noexcept(guards_.growth())) { return guards_.growth(); }
  auto try_grow_guard() const
    requires(Guards::can_try)
  {
    return guards_.try_growth();
  }

  TARN_STEP void* pop() noexcept { return core_.pop(); }
  void* pop_slow() noexcept { return core_.pop_slow(); }
  TARN_STEP outcome push(void* block) noexcept { return core_.push(block); }
  outcome push_slow(void* block) noexcept { return core_.push(block); }
  outcome make_room() noexcept { return core_.make_room(); }
  std::size_t pop_batch(void** out, std::size_t n) noexcept { return core_.pop_batch(out, n); }
  outcome push_batch(void* const* in, std::size_t n) noexcept { return core_.push_batch(in, n); }
  void drain() noexcept {}
  void drain_all() noexcept {}
  void drop_all() noexcept {}
  void end() noexcept {
    guards_.end();
  }

  template <class Chunk>
  static constexpr std::size_t shortage(const Chunk*) noexcept {
    return 0;
  }
  void supply(memory) noexcept {}
  static constexpr void expect(std::size_t) noexcept {}
  static constexpr bool starves() noexcept { return false; }
  template <class Chunk>
  void adopt(Chunk& fresh) noexcept {
    core_.adopt(fresh);
  }

  TARN_STEP constexpr Core& core() noexcept { return core_; }
  TARN_STEP constexpr const Core& core() const noexcept { return core_; }

 private:
  Core core_;  // first: the hot path reaches it at offset 0
  TARN_NO_UNIQUE_ADDRESS Guards guards_;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_LOCKING_DETAIL_DIRECT_LAYER_H_
