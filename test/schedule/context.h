// A stack of its own for each scheduled thread, and the change from one to another.
#ifndef TARN_TEST_SCHEDULE_CONTEXT_H_
#define TARN_TEST_SCHEDULE_CONTEXT_H_

#include <array>
#include <cstddef>
#include <cstdint>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace tarn::test {

inline constexpr std::size_t stack_bytes = 64 * 1024;
using stack_memory = std::array<std::byte, stack_bytes>;

#if defined(__x86_64__)

/// What the calling convention asks a function to keep lies on the stack; the stack pointer is all that is stored. A change is
/// some 2 ns: swapcontext() makes a system call for the mask of signals, and takes a hundred times as long.
class context {
 public:
  /// `entry` never returns.
  void start(stack_memory& stack, void (*entry)()) noexcept {
    constexpr std::size_t kept = 6;  // registers that change() takes from the stack
    auto const end = (reinterpret_cast<std::uintptr_t>(stack.data()) + stack.size()) & ~std::uintptr_t{15};
    auto* const words = reinterpret_cast<std::uintptr_t*>(end) - (kept + 2);
    for (std::size_t i = 0; i != kept; ++i) words[i] = 0;
    words[kept] = reinterpret_cast<std::uintptr_t>(entry);
    words[kept + 1] = 0;  // where a return address would stand: entry() finds the stack as after a call
    top_ = words;
  }
  static void change(context& from, const context& to) noexcept { change_stack(&from.top_, to.top_); }

 private:
  [[gnu::naked, gnu::noinline]] static void change_stack(void**, void*) noexcept {
    asm("pushq %rbp\n\tpushq %rbx\n\tpushq %r12\n\tpushq %r13\n\tpushq %r14\n\tpushq %r15\n\t"
        "movq %rsp, (%rdi)\n\t"
        "movq %rsi, %rsp\n\t"
        "popq %r15\n\tpopq %r14\n\tpopq %r13\n\tpopq %r12\n\tpopq %rbx\n\tpopq %rbp\n\t"
        "ret");
  }

  void* top_ = nullptr;
};

#else

class context {
 public:
  void start(stack_memory& stack, void (*entry)()) noexcept {
    getcontext(&state_);
    state_.uc_stack.ss_sp = stack.data();
    state_.uc_stack.ss_size = stack.size();
    state_.uc_link = nullptr;
    makecontext(&state_, entry, 0);
  }
  static void change(context& from, context& to) noexcept { swapcontext(&from.state_, &to.state_); }

 private:
  ucontext_t state_ = {};
};

#endif

}  // namespace tarn::test

#endif  // TARN_TEST_SCHEDULE_CONTEXT_H_
