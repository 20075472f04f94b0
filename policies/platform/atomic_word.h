// Atomic words without <atomic>, which is 24,000 lines that every file with a pool would compile; they use the builtins of g++
// and clang. And the mask of a processor's interrupts.
//
// The comment above each atomic of the library begins with "Order:" and says which order its operations have, and why that is
// enough on processors that reorder loads and stores (ARM, POWER, RISC-V). A test compares the orders with the code.
//
// Nothing depends on one order of operations on *different* words that all threads agree on, so there is no seq_cst. If two
// threads must not both miss what the other wrote, both change the same word. A compare-exchange that fails is relaxed, and so
// are operations that the comment doesn't mention.
//
// Contents of a block: the thread that frees it releases, the thread that allocates it acquires. The child of a fork sees all
// that happened before it, by the fork's own locks.
//
// Relaxed is enough for a *number* (no thread concludes anything about other memory from it) and for a *hint* (a wrong value
// costs only time). It is also enough for an *own* word (only one thread writes it, or a thread compares it with its own
// number). So it is for a word of a *mutex* that both sides hold at some moment.
#ifndef TARN_POLICIES_PLATFORM_ATOMIC_WORD_H_
#define TARN_POLICIES_PLATFORM_ATOMIC_WORD_H_

#include <concepts>
#include <cstdint>

#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/system.h"

#if !defined(__GNUC__)
#include <atomic>
#endif

namespace tarn::detail {

#if defined(__GNUC__)

enum class memory_order : int {
  relaxed = __ATOMIC_RELAXED,
  acquire = __ATOMIC_ACQUIRE,
  release = __ATOMIC_RELEASE,
  acq_rel = __ATOMIC_ACQ_REL,
  seq_cst = __ATOMIC_SEQ_CST,
};
inline constexpr memory_order memory_order_relaxed = memory_order::relaxed;
inline constexpr memory_order memory_order_acquire = memory_order::acquire;
inline constexpr memory_order memory_order_release = memory_order::release;
inline constexpr memory_order memory_order_acq_rel = memory_order::acq_rel;
inline constexpr memory_order memory_order_seq_cst = memory_order::seq_cst;

// `::`, because g++ otherwise looks up even a builtin in the namespaces of what T points to, and completes its class.

/// The part of std::atomic that tarn uses, with the same members. The order is always explicit. If the processor can't change a
/// word of that size atomically, it is changed as an ordinary one, in an atomic_section of the system.
template <class T>
class atomic_word {
 public:
  constexpr atomic_word() noexcept : value_() {}
  constexpr atomic_word(T value) noexcept : value_(value) {}
  atomic_word(const atomic_word&) = delete;
  atomic_word& operator=(const atomic_word&) = delete;

  TARN_STEP T load(memory_order order) const noexcept {
    if constexpr (is_ordinary && sizeof(T) > sizeof(void*)) {
      [[maybe_unused]] const typename system::atomic_section alone{};
      return value_;
    }
    T value;
    ::__atomic_load(&value_, &value, static_cast<int>(order));
    return value;
  }
  TARN_STEP void store(T value, memory_order order) noexcept {
    if constexpr (is_ordinary && sizeof(T) > sizeof(void*)) changed([value](T) noexcept { return value; });
    else ::__atomic_store(&value_, &value, static_cast<int>(order));
  }
  TARN_STEP T exchange(T value, memory_order order) noexcept {
    if constexpr (is_ordinary) return changed([value](T) noexcept { return value; });
    T before;
    ::__atomic_exchange(&value_, &value, &before, static_cast<int>(order));
    return before;
  }
  TARN_STEP bool compare_exchange_strong(T& expected, T value, memory_order order, memory_order failed) noexcept {
    if constexpr (is_ordinary) return change_if(expected, value);
    return ::__atomic_compare_exchange(&value_, &expected, &value, false, static_cast<int>(order), static_cast<int>(failed));
  }
  TARN_STEP bool compare_exchange_weak(T& expected, T value, memory_order order, memory_order failed) noexcept {
    if constexpr (is_ordinary) return change_if(expected, value);
    return ::__atomic_compare_exchange(&value_, &expected, &value, true, static_cast<int>(order), static_cast<int>(failed));
  }
  /// With one order, for success; a failure synchronises as far as a load can.
  TARN_STEP bool compare_exchange_strong(T& expected, T value, memory_order order) noexcept {
    return compare_exchange_strong(expected, value, order, of_failure(order));
  }
  TARN_STEP bool compare_exchange_weak(T& expected, T value, memory_order order) noexcept {
    return compare_exchange_weak(expected, value, order, of_failure(order));
  }
  TARN_STEP T fetch_add(T more, memory_order order) noexcept {
    if constexpr (is_ordinary) return changed([more](T before) noexcept { return static_cast<T>(before + more); });
    return ::__atomic_fetch_add(&value_, more, static_cast<int>(order));
  }
  TARN_STEP T fetch_sub(T less, memory_order order) noexcept {
    if constexpr (is_ordinary) return changed([less](T before) noexcept { return static_cast<T>(before - less); });
    return ::__atomic_fetch_sub(&value_, less, static_cast<int>(order));
  }
  TARN_STEP T fetch_or(T bits, memory_order order) noexcept {
    if constexpr (is_ordinary) return changed([bits](T before) noexcept { return static_cast<T>(before | bits); });
    return ::__atomic_fetch_or(&value_, bits, static_cast<int>(order));
  }
  TARN_STEP T fetch_and(T bits, memory_order order) noexcept {
    if constexpr (is_ordinary) return changed([bits](T before) noexcept { return static_cast<T>(before & bits); });
    return ::__atomic_fetch_and(&value_, bits, static_cast<int>(order));
  }

  /// For system calls that wait for a change.
  T* address() noexcept { return &value_; }

 private:
  using system = platform::system;
  static constexpr bool is_ordinary = (!system::has_threads || system::has_atomic_section) &&
                                      !(sizeof(T) > sizeof(void*) ? platform::has_wide_atomics : platform::has_atomics);
  /// `change` computes the new value from the old one, which is returned.
  TARN_STEP T changed(auto change) noexcept {
    [[maybe_unused]] const typename system::atomic_section alone{};
    const T before = value_;
    value_ = change(before);
    return before;
  }
  TARN_STEP bool change_if(T& expected, T value) noexcept {
    [[maybe_unused]] const typename system::atomic_section alone{};
    const bool is_as_expected = value_ == expected;
    (is_as_expected ? value_ : expected) = is_as_expected ? value : value_;
    return is_as_expected;
  }
  TARN_STEP static constexpr memory_order of_failure(memory_order order) noexcept {
    return order == memory_order_release ? memory_order_relaxed : order == memory_order_acq_rel ? memory_order_acquire : order;
  }

  alignas(sizeof(T)) T value_;
};

/// A flag, if the processor changes words atomically and the compiler supports nothing smaller.
template <class T>
  requires(sizeof(T) == 1 && !platform::has_byte_atomics)
class atomic_word<T> {
 public:
  constexpr atomic_word() noexcept : word_(0u) {}
  constexpr atomic_word(T value) noexcept : word_(static_cast<unsigned>(value)) {}

  T load(memory_order order) const noexcept { return static_cast<T>(word_.load(order)); }
  void store(T value, memory_order order) noexcept { word_.store(static_cast<unsigned>(value), order); }
  T exchange(T value, memory_order order) noexcept {
    return static_cast<T>(word_.exchange(static_cast<unsigned>(value), order));
  }

 private:
  // Order: what the caller passes. It is a flag as a whole word, where the compiler has no atomic bytes.
  atomic_word<unsigned> word_;
};

/// Keeps the compiler from moving this thread's accesses across it, as seen by a signal handler of the same thread.
TARN_STEP void signal_fence() noexcept { __atomic_signal_fence(__ATOMIC_SEQ_CST); }
/// Earlier writes are seen before later ones.
TARN_STEP void release_fence() noexcept {
#if defined(TARN_TSAN)
  signal_fence();  // ThreadSanitizer doesn't know fences
#else
  __atomic_thread_fence(__ATOMIC_RELEASE);
#endif
}
/// Reads and writes a variable that only one thread changes and others may read at the same time.
template <class T>
TARN_STEP T load_relaxed(const T& word) noexcept {
  return ::__atomic_load_n(&word, __ATOMIC_RELAXED);
}
template <class T>
TARN_STEP void store_relaxed(T& word, T value) noexcept {
  ::__atomic_store_n(&word, value, __ATOMIC_RELAXED);
}
/// Writes a variable that only one thread changes; a thread that sees the value sees what was written before.
template <class T>
TARN_STEP void store_release(T& word, T value) noexcept {
  ::__atomic_store_n(&word, value, __ATOMIC_RELEASE);
}

#else

using std::memory_order;
using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

template <class T>
class atomic_word : public std::atomic<T> {
 public:
  using std::atomic<T>::atomic;
  T* address() noexcept { return reinterpret_cast<T*>(this); }
};
inline void signal_fence() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }
inline void release_fence() noexcept { std::atomic_thread_fence(std::memory_order_release); }
template <class T>
T load_relaxed(const T& word) noexcept {
  return word;
}
template <class T>
void store_relaxed(T& word, T value) noexcept {
  word = value;
}
template <class T>
void store_release(T& word, T value) noexcept {
  release_fence();
  word = value;
}

#endif

}  // namespace tarn::detail

// ---- interrupts, where a program without an operating system may mask them -----------------------------------------------

namespace tarn {

/// Masks all interrupts that can be masked: PRIMASK of a Cortex-M, mstatus.MIE of a RISC-V in machine mode. Elsewhere the type
/// isn't defined: see interrupt_locking.
struct interrupt_mask;

#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M' && !defined(__linux__)
struct interrupt_mask {
  using state = std::uint32_t;

  TARN_STEP static state save_and_mask() noexcept {
    state before;
    asm volatile("mrs %0, primask\n\tcpsid i" : "=r"(before) : : "memory");
    return before;
  }
  TARN_STEP static void restore(state before) noexcept { asm volatile("msr primask, %0" : : "r"(before) : "memory"); }
};
#elif defined(__riscv) && !defined(__linux__)
struct interrupt_mask {
  using state = std::uintptr_t;

  TARN_STEP static state save_and_mask() noexcept {
    state before;
    asm volatile("csrrci %0, mstatus, 8" : "=r"(before) : : "memory");
    return before;
  }
  TARN_STEP static void restore(state before) noexcept { asm volatile("csrs mstatus, %0" : : "r"(before & 8) : "memory"); }
};
#endif

namespace detail {
/// Has save_and_mask(), which returns what restore() takes.
template <class Mask>
concept masks_interrupts = requires {
  { Mask::restore(Mask::save_and_mask()) } noexcept;
};

/// While it exists, no interrupt comes. They can be nested.
template <class Mask>
class [[nodiscard]] masked {
 public:
  TARN_STEP masked() noexcept : before_(Mask::save_and_mask()) {}
  TARN_STEP ~masked() { Mask::restore(before_); }
  masked(const masked&) = delete;
  masked& operator=(const masked&) = delete;

 private:
  decltype(Mask::save_and_mask()) before_;
};
}  // namespace detail

}  // namespace tarn

#endif  // TARN_POLICIES_PLATFORM_ATOMIC_WORD_H_
