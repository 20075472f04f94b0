// What pools of objects do with many objects at once.
//
//   clearing   destroys every object once, although an object may own others of the pool and destroy them itself:
//     run      a live object: its destructor runs, its block is set aside
//     ends     a destructor destroys another object: nothing happens if the walk has passed that one, else the same as in run
//   endings    what the pool knows during the walk: which objects destroy() need not destroy
//   burst      constructs objects in many blocks; end_all destroys them
//
// No block goes back to the list before the walk is over, so a block that the walk has passed never holds a new object.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_CLEARING_H_
#define TARN_ALLOCATOR_DETAIL_POOL_CLEARING_H_

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "tarn/allocator/detail/core/free_blocks.h"
#include "tarn/allocator/detail/core/walk.h"
#include "tarn/allocator/detail/pool/checked_path.h"
#include "tarn/allocator/detail/pool/events.h"
#include "tarn/allocator/detail/pool/growth.h"
#include "tarn/allocator/detail/pool/inspector.h"
#include "tarn/allocator/detail/pool/registration.h"
#include "tarn/allocator/detail/pool/slow_path.h"
#include "tarn/allocator/detail/pool/waiting.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// \tparam Ender  ends the object in a block, a void*
template <class State, class Ender>
class clearing {
  using traits = typename State::traits;
  using path = path_of<State>;
  using sampled = sampled_path<State>;

 public:
  /// Precondition: no other thread uses the pool while this lives.
  explicit clearing(State& its) noexcept : s_(its), alone_(its), at_end_{its}, aside_(its) {
    if constexpr (traits::samples) sampled_then_ = s_.checking.sampled_now();
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
    if constexpr (traits::samples)
      s_.checking.each_sampled(sampled_then_, [this](void* block) {
        if (sampled::admits(s_, block)) end_sampled(block);
      });
  }

  /// An object's destructor ends another object. Returns whether that is done; if not, it goes the usual way.
  bool ends(void* block) noexcept {
    if constexpr (traits::samples)
      if (sampled::owns(s_, block)) return !s_.checking.is_live(block);
    if (!aside_.concerns(block)) return false;
    if (!aside_.has_passed(block)) end(block);
    return true;
  }

 private:
  static constexpr bool refuses = traits::checking::traits.refuses;  // a block that was overwritten stays in use
  static constexpr bool gives_surplus = traits::retention::traits.returns_chunks;

  void end(void* block) noexcept {
    if (!path::admits(s_, block)) return;  // no destructor runs on what is none of ours
    Ender{}(block);
    if (!path::retire(s_, block)) return;
    aside_.take(block);
    if constexpr (traits::hears_frees) ++at_end_.freed;
  }
  void end_sampled(void* block) noexcept {
    Ender{}(block);
    sampled::put(s_, block);
    if constexpr (traits::hears_frees) ++at_end_.freed;
  }

  /// Once the blocks are back in their chunks.
  struct last_steps {
    ~last_steps() {
      if constexpr (gives_surplus) detail::give_surplus_back(s);
      if constexpr (traits::hears_frees)
        if (freed != 0) s.upstream.freed(freed);
    }
    State& s;
    std::size_t freed = 0;
  };

  State& s_;
  undisturbed<State> alone_;
  last_steps at_end_;
  blocks_aside<State, refuses ? passed::wait : passed::vanish> aside_;
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
    const undisturbed<State> alone(s);
    detail::forget_use(s);
    detail::on_release(s);
    return true;
  }
}

template <class T>
struct object_ender {
  void operator()(void* block) const noexcept { std::launder(static_cast<T*>(block))->~T(); }
};

/// \tparam Pool  of the blocks
template <class T, class Pool>
class endings {
  using clearing = decltype(inspector::clearing_of<object_ender<T>>(*static_cast<Pool*>(nullptr)));

 public:
  /// Ends an object. Returns whether its block is to go back: not if it was null, all objects are being ended, or it is none.
  TARN_STEP bool end(Pool& pool, T* object) noexcept {
    void* const block = const_cast<std::remove_cv_t<T>*>(object);
    if (looks_at(block)) [[unlikely]] {  // a test of its own: g++ laid the path of nearly every call behind the other
      if (done(block)) return false;
    }
    if (!inspector::admits(pool, block)) return false;  // no destructor runs on what is none of ours
    object->~T();
    return true;
  }
  bool running() const noexcept { return now_ != nullptr; }

  /// While this lives, every object is ended once, whoever does it.
  class all {
   public:
    all(endings& of, Pool& pool) noexcept : of_(of), clearing_(inspector::clearing_of<object_ender<T>>(pool)) {
      of_.now_ = detail::pointer_to(clearing_);
      of_.special_ = static_cast<std::uintptr_t>(-1);
    }
    ~all() {
      of_.now_ = nullptr;
      of_.special_ = 0;
    }
    all(const all&) = delete;
    all& operator=(const all&) = delete;
    void run() noexcept { clearing_.run(); }

   private:
    endings& of_;
    clearing clearing_;
  };

 private:
  /// Whether it is null, or all objects are being ended: one comparison, as a test for null alone.
  TARN_STEP bool looks_at(const void* block) const noexcept { return address_of(block) <= special_; }
  /// Whether there is nothing left to do for an object that looks_at() named.
  bool done(void* block) const noexcept { return block == nullptr || now_->ends(block); }

  std::uintptr_t special_ = 0;  // looks_at() is true up to this address
  clearing* now_ = nullptr;
};

/// Blocks are taken and given back in batches where that saves locks.
template <class Pool>
inline constexpr std::size_t burst_batch = inspector::prefers_batches(static_cast<const Pool*>(nullptr)) ? 64 : 1;

/// Blocks that hold no object yet. What is left goes back.
template <class Pool>
class blocks_to_fill {
 public:
  /// At most that many, for which it waits as `limit` says.
  template <class Limit>
  blocks_to_fill(Pool& pool, std::size_t most, Limit limit) noexcept : pool_(pool) {
    if constexpr (batch == 1) left_ = (some_[0] = inspector::allocate_or_null(pool, limit)) != nullptr ? 1 : 0;
    else left_ = inspector::allocate_batch(pool, {some_, most < batch ? most : batch}, limit);
    next_ = some_;
  }
  ~blocks_to_fill() {
    if (left_ != 0) pool_.deallocate_batch({next_, left_});
  }
  blocks_to_fill(const blocks_to_fill&) = delete;
  blocks_to_fill& operator=(const blocks_to_fill&) = delete;

  bool empty() const noexcept { return left_ == 0; }
  void* next() const noexcept { return *next_; }
  void keep_next() noexcept { ++next_, --left_; }

 private:
  static constexpr std::size_t batch = burst_batch<Pool>;

  Pool& pool_;
  std::size_t left_;
  void** next_;
  void* some_[batch];
};

/// Blocks whose objects ended.
template <class Pool>
class returned_blocks {
 public:
  explicit returned_blocks(Pool& pool) noexcept : pool_(pool) {}
  ~returned_blocks() { give_back(); }
  returned_blocks(const returned_blocks&) = delete;
  returned_blocks& operator=(const returned_blocks&) = delete;

  void add(void* block) noexcept {
    if constexpr (batch == 1) return pool_.deallocate(block);
    some_[number_++] = block;
    if (number_ == batch) give_back();
  }

 private:
  static constexpr std::size_t batch = burst_batch<Pool>;

  void give_back() noexcept {
    if (number_ != 0) pool_.deallocate_batch({some_, detail::replace(number_, std::size_t{0})});
  }

  Pool& pool_;
  std::size_t number_ = 0;
  void* some_[batch];
};

/// Objects in the places of `out`, the first of which are made already. What is here at the end ends: a constructor may throw.
/// \tparam Limit  how long it waits for blocks: waiting.h
template <class T, class Pool, class Limit>
class burst {
 public:
  burst(Pool& pool, span<T*> out, Limit limit) noexcept : pool_(pool), out_(out), limit_(limit) {}
  ~burst() {
    if (made_ == 0) [[likely]] return;
    returned_blocks<Pool> blocks(pool_);
    while (made_ != 0) {  // the newest first, as in an array
      T* const object = out_[--made_];
      object->~T();
      blocks.add(const_cast<std::remove_cv_t<T>*>(object));
    }
  }
  burst(const burst&) = delete;
  burst& operator=(const burst&) = delete;

  /// Makes objects in as many places as there are blocks, each by make(block). Returns how many.
  template <class Make>
  std::size_t fill_some(Make make) {
    fill(make);
    return detail::replace(made_, std::size_t{0});
  }
#if TARN_EXCEPTIONS
  /// The same in all places. Throws: std::bad_alloc if there are fewer blocks.
  template <class Make>
  void fill_all(Make make) {
    fill(make);
    if (made_ != out_.size()) throw std::bad_alloc();
    made_ = 0;
  }
#endif

 private:
  template <class Make>
  void fill(Make& make) {
    while (made_ != out_.size()) {
      blocks_to_fill<Pool> blocks(pool_, out_.size() - made_, limit_);
      if (blocks.empty()) return;
      for (; !blocks.empty(); blocks.keep_next(), ++made_) out_[made_] = make(blocks.next());
    }
  }

  Pool& pool_;
  span<T*> out_;
  TARN_NO_UNIQUE_ADDRESS Limit limit_;
  std::size_t made_ = 0;
};

/// Ends many objects of a pool, in their order.
/// \param endings  those that the pool is ending anyway
template <class Pool, class Endings, class T>
void end_all(Pool& pool, Endings& endings, span<T* const> objects) noexcept {
  returned_blocks<Pool> blocks(pool);
  for (T* const object : objects)
    if (endings.end(pool, object)) blocks.add(const_cast<std::remove_cv_t<T>*>(object));
}

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_CLEARING_H_
