// A stack of its own for each scheduled thread, and the change from one to another.
#ifndef TARN_TEST_SCHEDULE_CONTEXT_H_
#define TARN_TEST_SCHEDULE_CONTEXT_H_

#include <array>
#include <cstddef>
#include <cstdint>

#if !defined(__x86_64__) && !defined(__aarch64__)
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

#elif defined(__aarch64__)

/// The same. g++ has no naked functions there: it is told that all registers change, and so keeps what it needs.
class context {
 public:
  void start(stack_memory& stack, void (*entry)()) noexcept {
    auto const end = (reinterpret_cast<std::uintptr_t>(stack.data()) + stack.size()) & ~std::uintptr_t{15};
    auto* const words = reinterpret_cast<std::uintptr_t*>(end) - 2;
    words[0] = reinterpret_cast<std::uintptr_t>(entry);
    words[1] = 0;
    top_ = words;
  }
  [[gnu::noinline]] static void change(context& from, const context& to) noexcept {
    register void** kept asm("x0") = &from.top_;
    register void* next asm("x1") = to.top_;
    asm volatile(
        "stp x29, x30, [sp, #-16]!\n\t"
        "adr x9, 1f\n\t"
        "str x9, [sp, #-16]!\n\t"
        "mov x9, sp\n\t"
        "str x9, [x0]\n\t"
        "mov sp, x1\n\t"
        "ldr x9, [sp], #16\n\t"
        "br x9\n"
        "1:\n\t"
        "ldp x29, x30, [sp], #16"
        : "+r"(kept), "+r"(next)
        :
        : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x19", "x20",
          "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x30", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8",
          "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25",
          "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory");
  }

 private:
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
