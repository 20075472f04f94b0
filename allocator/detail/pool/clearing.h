// Ends every object of a pool of objects, each once, although an object may own others of the pool and end them itself.
//
//   walk     a live object: its destructor runs, its block is set aside
//   ends     an object's destructor wants to end another one: nothing if the walk came to that one, else as the walk does
//
// No block goes back to the list before the walk is over, so that one that the walk has passed holds no other object.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_CLEARING_H_
#define TARN_ALLOCATOR_DETAIL_POOL_CLEARING_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tarn/allocator/detail/core/blocks_aside.h"
#include "tarn/allocator/detail/core/free_blocks.h"
#include "tarn/allocator/detail/pool/giving_back.h"
#include "tarn/allocator/detail/pool/sampled_path.h"
#include "tarn/allocator/detail/pool/slow_path.h"
#include "tarn/allocator/detail/pool/waiting.h"
#include "tarn/policies/detail/protocol.h"

namespace tarn::detail {

/// \tparam Ender  ends the object in a block, a void*
template <class Traits, class Ender>
class clearing {
  using state = pool_state<Traits>;
  using path = path_of<Traits>;
  using sampled = sampled_path<state>;

 public:
  /// Precondition: no other thread uses the pool while this lives.
  explicit clearing(state& s) noexcept : s_(s), alone_(s), nobody_(s), at_end_{s}, aside_(s) {
    if constexpr (Traits::samples) sampled_then_ = s_.checking.sampled_now();
  }
  ~clearing() {
    if (!gives_surplus && aside_.has_all()) {
      aside_.drop();
      detail::start_over(s_);
    } else if constexpr (!refuses) {  // destructors have constructed objects
      aside_.put_all_back();
    }
  }
  clearing(const clearing&) = delete;
  clearing& operator=(const clearing&) = delete;

  /// Ends every object that existed when this was made.
  void run() noexcept {
    aside_.walk([this](void* block) { end(block); });
    if constexpr (Traits::samples)
      s_.checking.each_sampled(sampled_then_, [this](void* block) {
        if (sampled::admits(s_, block)) end_sampled(block);
      });
  }

  /// An object's destructor ends another object. Returns whether that is done; if not, it goes the usual way.
  bool ends(void* block) noexcept {
    if constexpr (Traits::samples)
      if (sampled::owns(s_, block)) return !s_.checking.is_live(block);
    if (!aside_.concerns(block)) return false;
    if (!aside_.has_passed(block)) end(block);
    return true;
  }

 private:
  static constexpr bool refuses = Traits::checking::traits.refuses;  // a block that was overwritten stays in use
  static constexpr bool gives_surplus = Traits::retention::traits.returns_chunks;

  void end(void* block) noexcept {
    if (!path::admits(s_, block)) return;  // no destructor runs on what is none of ours
    Ender{}(block);
    if (!path::retire(s_, block)) return;
    aside_.take(block);
    if constexpr (Traits::hears_frees) ++at_end_.freed;
  }
  void end_sampled(void* block) noexcept {
    Ender{}(block);
    sampled::put(s_, block);
    if constexpr (Traits::hears_frees) ++at_end_.freed;
  }

  /// Once the blocks are back in their chunks.
  struct last_steps {
    ~last_steps() {
      if constexpr (gives_surplus) detail::give_surplus_back(s);
      if constexpr (Traits::hears_frees)
        if (freed != 0) s.supply.freed(freed);
    }
    state& s;
    std::size_t freed = 0;
  };

  state& s_;
  unasked<state> alone_;
  waits_for_nobody<state> nobody_;
  last_steps at_end_;
  blocks_aside<state, refuses ? passed::wait : passed::vanish> aside_;
  std::uint64_t sampled_then_ = 0;  // those that came later may be left
};

/// Makes all blocks free at once, if nobody must hear of each. Returns whether it could.
template <class State>
bool forget_blocks_in_use([[maybe_unused]] State& s) noexcept {
  using traits = typename State::traits;
  constexpr auto statistics = traits::statistics::traits;
  constexpr bool counts_each = !statistics.hears_release && !statistics.hears_events && statistics.hears_blocks;
  constexpr bool checks_each = traits::checking::traits.refuses || traits::checking::traits.switches || traits::samples;
  if constexpr (checks_each || traits::hears_frees || counts_each || traits::retention::traits.returns_chunks) {
    return false;
  } else {
    const unasked<State> alone(s);
    detail::forget_use(s);
    detail::tell_of_release(s);
    return true;
  }
}

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_CLEARING_H_
