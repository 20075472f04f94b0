// What the gate of forks asks of the code between a pool and its store: to enter it, and to say when a store is called.
#ifndef TARN_POLICIES_DETAIL_GATE_STAYS_H_
#define TARN_POLICIES_DETAIL_GATE_STAYS_H_

#include "tarn/policies/detail/fork_gate.h"
#include "tarn/policies/detail/fork_handlers.h"

namespace tarn::detail {

struct only_try {};

/// A stay inside the gate. One within another, in a store that is a pool itself, ends the outer one's time at the store.
class [[nodiscard]] inside_gate {
 public:
  /// Waits while a fork is in progress.
  inside_gate() noexcept {
    if (is_outermost()) process_forks().gate.enter(me()), how_ = how::outermost;
    else begin_inner();
  }
  /// Doesn't wait, if this is the outermost stay.
  explicit inside_gate(only_try) noexcept {
    if (!is_outermost()) begin_inner();
    else if (process_forks().gate.try_enter(me())) how_ = how::outermost;
  }
  ~inside_gate() {
    if (how_ == how::outermost) process_forks().gate.leave(me());
    else if (how_ != how::outside) --me().depth;
    if (how_ == how::from_store) process_forks().gate.go_to_store(me());
  }
  inside_gate(const inside_gate&) = delete;
  inside_gate& operator=(const inside_gate&) = delete;

  explicit operator bool() const noexcept { return how_ != how::outside; }

 private:
  enum class how : unsigned char { outside, outermost, inner, from_store };

  static fork_position& me() noexcept { return process_forks().position(); }
  /// The thread that forks passes in and out, in a handler of the program.
  static bool is_outermost() noexcept { return me().depth == 0 && !process_forks().holds_all(); }
  void begin_inner() noexcept {
    how_ = how::inner;
    if (me().at_store && !process_forks().holds_all()) process_forks().gate.come_back(me()), how_ = how::from_store;
    ++me().depth;
  }

  how how_ = how::outside;
};

/// Held while a store is called, or while a thread waits for who may be at one.
class [[nodiscard]] store_call {
 public:
  store_call() noexcept : counts_(me().depth != 0 && !me().at_store && !process_forks().holds_all()) {
    if (counts_) process_forks().gate.go_to_store(me());
  }
  ~store_call() {
    if (counts_) process_forks().gate.come_back(me());
  }
  store_call(const store_call&) = delete;
  store_call& operator=(const store_call&) = delete;

 private:
  static fork_position& me() noexcept { return process_forks().position(); }

  bool counts_;
};

/// Whether the calling thread is at the store of a pool with a lock: then it holds a growth guard, and waits for no other.
inline bool is_at_some_store() noexcept { return process_forks().position().at_store; }

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_GATE_STAYS_H_
