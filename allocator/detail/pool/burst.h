// Makes and ends many objects of a pool at once. Blocks are taken and given back in batches where that saves locks.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_BURST_H_
#define TARN_ALLOCATOR_DETAIL_POOL_BURST_H_

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "tarn/allocator/detail/pool/inspector.h"
#include "tarn/allocator/detail/pool/waiting.h"
#include "tarn/policies/detail/span.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

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
    if (number_ != 0) pool_.deallocate_batch({some_, std::exchange(number_, 0)});
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
      std::destroy_at(object);
      blocks.add(const_cast<std::remove_cv_t<T>*>(object));
    }
  }
  burst(const burst&) = delete;
  burst& operator=(const burst&) = delete;

  /// Makes objects in as many places as there are blocks, each by make(block). Returns how many.
  template <class Make>
  std::size_t fill_some(Make make) {
    fill(make);
    return std::exchange(made_, 0);
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
/// \param endings  those that the pool is ending anyway (endings.h)
template <class Pool, class Endings, class T>
void end_all(Pool& pool, Endings& endings, span<T* const> objects) noexcept {
  returned_blocks<Pool> blocks(pool);
  for (T* const object : objects)
    if (endings.end(pool, object)) blocks.add(const_cast<std::remove_cv_t<T>*>(object));
}

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_BURST_H_
