// A number that hooks change outside all locks. Each change is atomic and relaxed.
#ifndef TARN_POLICIES_DETAIL_SHARED_CELL_H_
#define TARN_POLICIES_DETAIL_SHARED_CELL_H_

#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"


namespace tarn::detail {

template <class T>
class shared_cell {
 public:
  constexpr shared_cell(T value) noexcept : value_(value) {}

  TARN_STEP operator T() const noexcept { return value_.load(memory_order_relaxed); }
  TARN_STEP void operator=(T value) noexcept { value_.store(value, memory_order_relaxed); }
  TARN_STEP void operator+=(T more) noexcept { value_.fetch_add(more, memory_order_relaxed); }
  TARN_STEP void operator-=(T less) noexcept { value_.fetch_sub(less, memory_order_relaxed); }

  TARN_STEP void raise_to(T value) noexcept {
    T seen = *this;
    while (seen < value && !value_.compare_exchange_weak(seen, value, memory_order_relaxed)) {}
  }

 private:
  atomic_word<T> value_;
};

/// Raises a number to at least `value`, whether only one thread at a time changes it or several do.
template <class T>
constexpr void raise(T& cell, T value) noexcept {
  if (cell < value) cell = value;
}
template <class T>
void raise(shared_cell<T>& cell, T value) noexcept {
  cell.raise_to(value);
}

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_SHARED_CELL_H_
