// What a pool of objects knows while it ends all of its objects (clearing.h): whom destroy() need not destroy.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_ENDINGS_H_
#define TARN_ALLOCATOR_DETAIL_POOL_ENDINGS_H_

#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "tarn/allocator/detail/pool/clearing.h"
#include "tarn/allocator/detail/pool/inspector.h"
#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

template <class T>
struct object_ender {
  void operator()(void* block) const noexcept { std::destroy_at(std::launder(static_cast<T*>(block))); }
};

/// \tparam Pool  of the blocks
template <class T, class Pool>
class endings {
  using clearing = decltype(inspector::clearing_of<object_ender<T>>(std::declval<Pool&>()));

 public:
  /// Ends an object. Returns whether its block is to go back: not if it was null, all objects are being ended, or it is none.
  TARN_STEP bool end(Pool& pool, T* object) noexcept {
    void* const block = const_cast<std::remove_cv_t<T>*>(object);
    if (looks_at(block)) [[unlikely]] {  // a test of its own: g++ laid the path of nearly every call behind the other
      if (done(block)) return false;
    }
    if (!inspector::admits(pool, block)) return false;  // no destructor runs on what is none of ours
    std::destroy_at(object);
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

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_ENDINGS_H_
