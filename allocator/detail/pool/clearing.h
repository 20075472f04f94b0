// What pools of objects do with many objects at once.
//
//   clearing   destroys every object once, although an object may own others of the pool and destroy them itself:
//     run      a live object: its destructor runs, its block is set aside
//     ends     a destructor destroys another object: nothing happens if the walk has passed that one, else the same as in run
//   endings    what the pool knows during the walk: which objects destroy() need not destroy
//   burst      constructs objects in many blocks; end_all destroys them
//
// No block is handed out again before the walk is over: an object that is ended sets its bit, and no block leaves the bits. So
// a block that the walk has passed never holds a new object.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_CLEARING_H_
#define TARN_ALLOCATOR_DETAIL_POOL_CLEARING_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "tarn/allocator/detail/core/free_blocks.h"
#include "tarn/allocator/detail/core/walk.h"
#include "tarn/allocator/detail/pool/events.h"
#include "tarn/allocator/detail/pool/growth.h"
#include "tarn/allocator/detail/pool/inspector.h"
#include "tarn/allocator/detail/pool/paths.h"
#include "tarn/allocator/detail/pool/slow_path.h"
#include "tarn/allocator/detail/pool/waiting.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/size.h"

namespace tarn::detail {

/// A pool's geometry, with the size as a constant: shared code doesn't know it.
template <class State, class Size>
using geometry_for = std::conditional_t<State::traits::size_is_given_at_run_time, geometry<Size, State::traits::shape>,
                                        typename State::traits::geometry>;

/// As each_living(), and also those outside all chunks: calls visit(block). During this no pool asks this one to trim, and no
/// call waits. Precondition: no other thread uses the pool.
/// \tparam Size  of the blocks
template <class Size, class State, class Visit>
bool visit_blocks(State& s, active_walk<State>& walk, Visit visit) {
  const walked_alone<State> alone(s);
  std::uint64_t then = 0;
  if constexpr (State::traits::samples) then = s.checking.sampled_now();
  bool goes_on = detail::each_living<geometry_for<State, Size>>(s, walk, [&](auto&, void* block) { return visit(block); });
  if constexpr (State::traits::samples)
    s.checking.each_sampled(then, [&](void* block) { goes_on = goes_on && visit(block); });
  return goes_on;
}
template <class State>
std::size_t count_blocks(State& s) noexcept {
  const walked_alone<State> alone(s);
  std::size_t n = detail::count_living(s);
  if constexpr (State::traits::samples) s.checking.each_sampled(s.checking.sampled_now(), [&n](void*) { ++n; });
  return n;
}

/// The blocks of chunks whose objects end.
template <class State, class Size>
class ending_blocks {
  using traits = typename State::traits;
  using chunk = typename State::chunk;
  using words = living_words<State>;

 public:
  explicit ending_blocks(State& its) noexcept : s_(its), walk_(its) {
    detail::settle(s_);
    s_.chunks.hide_bits(true);
    s_.chunks.each([](chunk& c) { c.walked = c.carved; });
  }
  ~ending_blocks() {
    s_.chunks.hide_bits(false);
    if (!gives_surplus && all_ended()) {
      detail::start_over(s_);
    } else {
      if constexpr (!refuses) s_.chunks.each([this](chunk& c) { mark_walked(c); });
      if constexpr (traits::list_has_bits) s_.list.recount(s_.chunks);
      else s_.chunks.recount_bits();
      s_.chunks.settled();
    }
    // lock_free, which may have found the list empty in between, checks again.
    if constexpr (traits::locking::traits.own_free_list) s_.locking.drain_all(s_);
  }
  ending_blocks(const ending_blocks&) = delete;
  ending_blocks& operator=(const ending_blocks&) = delete;

  /// Calls end(block) for every block in use, unless its object was destroyed in between. It returns whether the block has
  /// become free.
  template <class End>
  void each(End end) noexcept {
    detail::each_living<geometry_for<State, Size>>(s_, walk_, [&](chunk& c, void* block) {
      if (end(block) && refuses) mark(c, block);
      return true;
    });
    walk_.at(reinterpret_cast<const void*>(static_cast<std::uintptr_t>(-1)));
  }
  /// Calls end(block) for a block ahead of the walk, unless its object was destroyed. Returns whether the block is part of the
  /// walk.
  template <class End>
  bool end_ahead(void* block, End end) noexcept {
    chunk* const c = s_.chunks.find(block);
    if (c == nullptr) return false;
    const std::size_t slot = s_.chunks.slot_of(*c, block);
    if (slot >= c->walked) return false;
    if (walk_.has_passed(block) || c->bitmap.is_free(slot)) return true;
    if (end(block)) mark(*c, block);
    walk_.freed(block);
    return true;
  }

 private:
  static constexpr bool gives_surplus = traits::retention::traits.returns_chunks;
  /// Whether a block may stay in use. If not, those that the walk has passed are marked word by word, afterwards.
  static constexpr bool refuses = traits::checking::traits.refuses || traits::checking::traits.switches;

  void mark(chunk& c, const void* block) noexcept {
    const std::size_t slot = s_.chunks.slot_of(c, block);
    c.bitmap.mark(slot / words::bits, std::uint64_t{1} << slot % words::bits, 1);
  }
  void mark_walked(chunk& c) noexcept {
    const words of(s_, c, c.walked);
    for (std::size_t w = 0; w != of.number(); ++w)
      if (const auto ended = of.live(w); ended != 0)
        c.bitmap.mark(w, ended, static_cast<std::size_t>(std::popcount(ended)));
  }
  bool all_ended() noexcept {
    bool all = true;
    s_.chunks.each([&all](chunk& c) { all = all && (refuses ? detail::in_use_in(c) == 0 : c.walked == c.carved); });
    return all;
  }

  State& s_;
  active_walk<State> walk_;
};

/// The same of an array.
template <class State, class Size>
  requires(State::traits::in_place)
class ending_blocks<State, Size> : marked_array<State> {
 public:
  explicit ending_blocks(State& its) noexcept : marked_array<State>(its) {}
  ~ending_blocks() {
    if (this->marked() == this->s_.chunks.carved()) detail::start_over(this->s_);
    else this->give_back();
  }

  template <class End>
  void each(End end) noexcept {
    while (next_ != this->carved()) {
      const std::size_t i = next_++;
      void* const block = this->s_.chunks.block_at(i);
      if (!this->is_marked(i) && end(block)) this->add(block);
    }
  }
  template <class End>
  bool end_ahead(void* block, End end) noexcept {
    if (this->s_.chunks.find(block) == nullptr || !this->has(block)) return false;
    const std::size_t i = this->number_of(block);
    if (i >= next_ && !this->is_marked(i) && end(block)) this->add(block);
    return true;
  }

 private:
  std::size_t next_ = 0;
};

/// \tparam Ender  ends the object in a block, a void*; knows its size
template <class State, class Ender>
class clearing {
  using traits = typename State::traits;
  using path = path_of<State>;
  using sampled = sampled_path<State>;

 public:
  /// Precondition: no other thread uses the pool while this lives.
  explicit clearing(State& its) noexcept : s_(its), alone_(its), heard_{its}, blocks_(its) {
    if constexpr (traits::samples) sampled_then_ = s_.checking.sampled_now();
  }
  clearing(const clearing&) = delete;
  clearing& operator=(const clearing&) = delete;

  /// Ends every object that existed when this was made.
  void run() noexcept {
    blocks_.each([this](void* block) { return end(block); });
    if constexpr (traits::samples)
      s_.checking.each_sampled(sampled_then_, [this](void* block) {
        if (sampled::admits(s_, block)) end_sampled(block);
      });
  }

  /// An object's destructor ends another object. Returns whether that is done; if not, it goes the usual way.
  bool ends(void* block) noexcept {
    if constexpr (traits::samples)
      if (sampled::owns(s_, block)) return !s_.checking.is_live(block);
    return blocks_.end_ahead(block, [this](void* its) { return end(its); });
  }

 private:
  /// Returns whether the block has become free.
  bool end(void* block) noexcept {
    if (!path::admits(s_, block)) return false;  // no destructor runs on what is none of ours
    Ender{}(block);
    if (!path::retire(s_, block)) return false;
    if constexpr (traits::hears_frees) ++heard_.freed;
    return true;
  }
  void end_sampled(void* block) noexcept {
    Ender{}(block);
    sampled::put(s_, block);
    if constexpr (traits::hears_frees) ++heard_.freed;
  }

  /// Told once the blocks are back in their chunks.
  struct frees {
    ~frees() {
      if constexpr (traits::hears_frees)
        if (freed != 0) s.upstream.freed(freed);
    }
    State& s;
    std::size_t freed = 0;
  };

  State& s_;
  walked_alone<State> alone_;
  frees heard_;
  ending_blocks<State, typename Ender::size> blocks_;
  std::uint64_t sampled_then_ = 0;  // those that came later may be left
};

/// Frees all blocks together, if no policy must be notified of each. Returns whether it could.
template <class State>
bool forget_blocks_in_use([[maybe_unused]] State& s) noexcept {
  using traits = typename State::traits;
  if constexpr (hears_each_free<typename traits::retention, typename traits::exhaustion, typename traits::checking,
                                typename traits::statistics>) {
    return false;
  } else {
    const undisturbed<State> alone(s);
    s.locking.drain_all(s);
    detail::start_over(s);
    detail::on_release(s);
    return true;
  }
}

/// The size of blocks that hold objects, which will be walked through.
template <std::size_t Bytes, std::size_t Align>
struct object_size : static_size<Bytes, Align> {
  static constexpr size_traits traits{.holds_objects = true};
  using canonical = object_size;
};
template <class T>
struct size_of_object : size_of<T> {
  static constexpr size_traits traits{.holds_objects = true};
  using canonical = object_size<size_of<T>::bytes(), size_of<T>::alignment()>;
};

template <class T>
struct object_ender {
  using size = typename size_of_object<T>::canonical;
  void operator()(void* block) const noexcept { std::launder(static_cast<T*>(block))->~T(); }
};

/// \tparam Pool  of the blocks
template <class T, class Pool>
class endings {
  using state = state_within<Pool>;
  using clearing = detail::clearing<state, object_ender<T>>;

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

  /// While this exists, it is notified of every object that is destroyed.
  class walk : public active_walk<state> {
   public:
    walk(endings& of, Pool& pool) noexcept : active_walk<state>(inspector::state_of(pool)), of_(of) {
      this->outer = detail::replace(of_.walks_, this);
      of_.look_again();
    }
    ~walk() {
      of_.walks_ = this->outer;
      of_.look_again();
    }
    walk(const walk&) = delete;
    walk& operator=(const walk&) = delete;

   private:
    endings& of_;
  };

  /// While this exists, every object is destroyed once, whatever code does it.
  class all {
   public:
    all(endings& of, Pool& pool) noexcept : of_(of), clearing_(inspector::state_of(pool)) {
      of_.now_ = detail::pointer_to(clearing_);
      of_.look_again();
    }
    ~all() {
      of_.now_ = nullptr;
      of_.look_again();
    }
    all(const all&) = delete;
    all& operator=(const all&) = delete;
    void run() noexcept { clearing_.run(); }

   private:
    endings& of_;
    clearing clearing_;
  };

 private:
  /// Whether it is null, all objects are being ended, or somebody walks: one comparison, as a test for null alone.
  TARN_STEP bool looks_at(const void* block) const noexcept { return address_of(block) <= special_; }
  /// Whether there is nothing left to do for an object that looks_at() named. Inlined, it made destroy() slower: a million at
  /// random 8.3 to 14 ns each.
  TARN_NOINLINE bool done(void* block) const noexcept {
    if (block == nullptr) return true;
    for (active_walk<state>* its = walks_; its != nullptr; its = its->outer) its->freed(block);
    return now_ != nullptr && now_->ends(block);
  }
  void look_again() noexcept { special_ = now_ != nullptr || walks_ != nullptr ? static_cast<std::uintptr_t>(-1) : 0; }

  std::uintptr_t special_ = 0;  // looks_at() is true up to this address
  clearing* now_ = nullptr;
  active_walk<state>* walks_ = nullptr;  // those that go on, the innermost first
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

/// Blocks whose objects were destroyed.
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
