// The stack of a call: looked at by the system's unwinder where this thread hasn't seen it. Part of recorder.cc.
//
// A program has few stacks next to its calls. A thread keeps the frames that it has seen, each with its caller's. A frame that
// is at the same place and returns to the same address has the same callers if their return addresses are where they were. So
// most stacks cost some comparisons; of a new one only the frames that are new are unwound.
#ifndef TARN_TOOLS_TARN_RECORD_FRAMES_H_
#define TARN_TOOLS_TARN_RECORD_FRAMES_H_

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <sys/mman.h>
#include <unwind.h>

#include "blocks.h"
#include "format.h"
#include "stacks.h"

namespace tarn_record {
namespace {

/// Who called malloc: where it goes on then, and the stack pointer that it has then.
struct caller {
  std::uint64_t returns_to;
  std::uint64_t top;
};

constexpr unsigned most_frames = 64;  // that are unwound for a stack
constexpr std::size_t kept_frames = 1U << 14;
constexpr std::uint64_t most_frame_bytes = 1U << 20;

struct frame {
  std::uint64_t returns_to;
  std::uint64_t top;  // the return address is below; 0: none is kept here
  std::uint32_t outer;  // where the caller's frame is kept, if it has `outer_stack`
  std::uint32_t outer_stack;  // 0: there is no caller
  std::uint32_t stack;
  std::uint32_t depth;
};

struct thread_frames {
  frame kept[kept_frames];
  std::uint64_t dice;
  std::uint32_t skips;  // so many calls are not looked at
  std::uint32_t rarity;  // binary logarithm of how many calls a stack stands for
  std::uint64_t walked_ticks;  // in what was walked since began_ticks
  std::uint64_t began_ticks;
};

void forget_frames() {
  if (own.frames != nullptr) munmap(own.frames, sizeof(thread_frames));
  own.frames = nullptr;
}

bool make_frames() {
  void* const found = mmap(nullptr, sizeof(thread_frames), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (found == MAP_FAILED) return false;
  own.frames = static_cast<thread_frames*>(found);
  own.frames->dice = own.number;
  own.frames->began_ticks = ticks();
  return true;
}

std::uint64_t word_below(std::uint64_t top) { return *reinterpret_cast<const std::uint64_t*>(top - sizeof(std::uint64_t)); }

std::uint32_t place_of(std::uint64_t returns_to, std::uint64_t top) {
  return static_cast<std::uint32_t>(mixed(returns_to, top) % kept_frames);
}

/// The frame, if it and its callers are as they were.
const frame* kept_frame(std::uint64_t returns_to, std::uint64_t top) {
  const frame* const found = own.frames->kept + place_of(returns_to, top);
  if (found->returns_to != returns_to || found->top != top) return nullptr;
  for (const frame* it = found; it->outer_stack != 0;) {
    const frame* const outer = own.frames->kept + it->outer;
    if (outer->stack != it->outer_stack || word_below(outer->top) != outer->returns_to) return nullptr;
    it = outer;
  }
  return found;
}

struct walk {
  caller from;
  unsigned count;
  const frame* known;  // behind the last
  caller frames[most_frames];
};

_Unwind_Reason_Code walk_frame(_Unwind_Context* context, void* data) {
  walk& it = *static_cast<walk*>(data);
  const caller next{_Unwind_GetIP(context), _Unwind_GetCFA(context)};
  if (next.top < it.from.top) return _URC_NO_REASON;  // the recorder's own
  if (next.returns_to == 0 || (it.count == 0 && next.top != it.from.top)) return _URC_END_OF_STACK;
  if (it.count != 0) {
    it.known = kept_frame(next.returns_to, next.top);
    if (it.known != nullptr && it.known->depth < most_frames) return _URC_END_OF_STACK;
    it.known = nullptr;
  }
  it.frames[it.count++] = next;
  return it.count == most_frames ? _URC_END_OF_STACK : _URC_NO_REASON;
}

/// The number of the stack; 0: it has none. Its frames are kept if their return addresses are on the stack.
[[gnu::noinline]] std::uint32_t walked(const caller& from) {
  const int before = errno;
  walk found;
  found.from = from;
  found.count = 0;
  found.known = nullptr;
  _Unwind_Backtrace(walk_frame, &found);
  if (found.count == 0) found.frames[found.count++] = from;  // no unwinder gets out of there
  const frame* outer = found.known;
  std::uint32_t stack = outer == nullptr ? 0 : outer->stack;
  bool is_kept = true;
  std::uint64_t above = outer == nullptr ? 0 : outer->top;
  for (unsigned i = found.count; i-- != 0;) {
    const caller& next = found.frames[i];
    const std::uint32_t outer_stack = stack;
    stack = number_of(outer_stack, next.returns_to);
    if (stack == 0) break;
    is_kept = is_kept && word_below(next.top) == next.returns_to &&
              (above == 0 || (next.top < above && above - next.top < most_frame_bytes));
    above = next.top;
    if (!is_kept) continue;
    frame& to = own.frames->kept[place_of(next.returns_to, next.top)];
    const std::uint32_t depth = outer == nullptr ? 1 : outer->depth + 1;
    const auto place = outer == nullptr ? 0 : static_cast<std::uint32_t>(outer - own.frames->kept);
    to = {next.returns_to, next.top, place, outer_stack, stack, depth};
    outer = &to;
  }
  errno = before;
  return stack;
}

std::uint32_t stack_number(const caller& from) {
  const frame* const known = kept_frame(from.returns_to, from.top);
  if (known != nullptr) return known->stack;
  return walked(from);
}

/// What the log says of the call's stack; 0: nothing.
std::uint64_t stack_of(const caller& from) {
  if (own.frames == nullptr && !make_frames()) return 0;
  return stack_number(from);
}

}  // namespace
}  // namespace tarn_record

#endif  // TARN_TOOLS_TARN_RECORD_FRAMES_H_
