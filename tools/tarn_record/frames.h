// The stack of a call. Part of recorder.cc.
//
// A program has few stacks next to its calls. A thread keeps the frames that it has seen, each with its caller's. A frame that
// is at the same place and returns to the same address has the same callers if their return addresses are where they were. So
// most stacks cost some comparisons; of a new one only the frames that are new are unwound. The frames of the last stack are
// next to each other: those that it shares with the one before are compared without a look at where they are kept. (That takes
// g++'s run from 1.24 to 1.22 times its time without a recorder, sqlite's from 1.30 to 1.26; Zen 5.)
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
#include "unwinding.h"

namespace tarn_record {
namespace {

/// Who called malloc: where it goes on then, and the stack pointer and the frame pointer that it has then.
struct caller {
  std::uint64_t returns_to;
  std::uint64_t top;
  std::uint64_t frame_pointer;
};

constexpr unsigned most_frames = 64;  // that are unwound for a stack
constexpr std::size_t kept_frames = 1U << 14, kept_rules = 1U << 12;
constexpr std::uint64_t most_frame_bytes = 1U << 20;

struct frame {
  std::uint64_t returns_to;
  std::uint64_t top;  // the return address is below; 0: none is kept here
  std::uint32_t outer : 14;  // where the caller's frame is kept, if it has `outer_stack`, and
  std::uint32_t distance : 18;  // is so many words above
  std::uint32_t outer_stack;  // 0: there is no caller
  std::uint32_t stack;
  std::uint32_t depth : 31;  // how many frames are known, with this one
  std::uint32_t is_cut : 1;  // there are more
};

static_assert(kept_frames <= 1U << 14 && most_frame_bytes / 8 < 1U << 18);

/// Whether that is the caller's frame. One of the same stack may be kept there since, which was elsewhere: what is mapped there
/// now, and what isn't, is no business of this stack.
bool is_caller(const frame& outer, const frame& its) {
  return outer.stack == its.outer_stack && outer.top - its.top == std::uint64_t{8} * its.distance;
}

/// Walks may take a share of the thread's time. Above it only one call of 2^rarity has a stack, by chance.
struct walk_budget {
  static constexpr std::uint32_t unlimited_walks = 10000, walks_of_window = 256, most_rarity = 16;
  static constexpr std::uint64_t share = 8, ticks_of_window = 1U << 28;

  std::uint64_t dice;
  std::uint32_t skips;  // so many calls are not looked at
  std::uint32_t rarity;
  std::uint32_t all_walks, walks;  // those of the window
  std::uint64_t began, walked;  // the window; ticks of its walks

  bool skip(std::uint64_t now) {
    if (__builtin_expect(rarity == 0, 1)) return false;
    if (skips != 0) return --skips, true;
    dice = dice * 6364136223846793005U + 1442695040888963407U;
    skips = static_cast<std::uint32_t>((dice >> 32) % ((2U << rarity) - 1));
    if (now > began && now - began > ticks_of_window) adapt(now);
    return false;
  }
  void add(std::uint64_t from, std::uint64_t to) {
    walked += to - from;
    if (all_walks < unlimited_walks) ++all_walks;
    else if (++walks == walks_of_window) adapt(to);
  }
  void adapt(std::uint64_t now) {
    if (walked > (now - began) / share) rarity += rarity != most_rarity;
    else if (walked < (now - began) / share / 4) rarity -= rarity != 0;
    began = now;
    walked = 0;
    walks = 0;
  }
};

/// Of a stack, the outermost frame first. Each is the caller of the next.
struct last_frames {
  struct place {
    std::uint64_t at;  // of the return address
    std::uint64_t returns_to;
    std::uint32_t stack;

    bool is_of(const frame& its) const { return at == its.top - 8 && returns_to == its.returns_to && stack == its.stack; }
  };
  unsigned count;
  place all[2 * most_frames];
};

struct thread_frames {
  frame kept[kept_frames];
  last_frames last;
  rule rules[kept_rules];
  walk_budget budget;
};

void forget_frames() {
  if (own.frames != nullptr) munmap(own.frames, sizeof(thread_frames));
  own.frames = nullptr;
}

bool make_frames() {
  void* const found = mmap(nullptr, sizeof(thread_frames), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (found == MAP_FAILED) return false;
  own.frames = static_cast<thread_frames*>(found);
  own.frames->budget.dice = own.number;
  own.frames->budget.began = ticks();
  return true;
}

std::uint64_t word_at(std::uint64_t address) { return *reinterpret_cast<const std::uint64_t*>(address); }

std::uint32_t place_of(std::uint64_t returns_to, std::uint64_t top) {
  return static_cast<std::uint32_t>(mixed(returns_to, top) % kept_frames);
}

/// Whether the callers of a kept frame are as they were.
bool has_its_callers(const frame& its) {
  last_frames& last = own.frames->last;
  unsigned at = its.depth - 1;
  for (const frame* it = &its; at >= last.count || !last.all[at].is_of(*it); --at) {
    last.all[at] = {it->top - 8, it->returns_to, it->stack};
    if (it->outer_stack == 0) break;
    const frame* const outer = own.frames->kept + it->outer;
    if (!is_caller(*outer, *it) || word_at(outer->top - 8) != outer->returns_to) {
      last.count = at < last.count ? at : last.count;
      return false;
    }
    it = outer;
  }
  last.count = its.depth;
  while (at-- != 0) {
    if (word_at(last.all[at].at) == last.all[at].returns_to) continue;
    last.count = at;  // where these are may be another place by now
    return false;
  }
  return true;
}

/// The frame, if it and its callers are as they were.
const frame* kept_frame(std::uint64_t returns_to, std::uint64_t top) {
  const frame* const found = own.frames->kept + place_of(returns_to, top);
  return found->returns_to == returns_to && found->top == top && has_its_callers(*found) ? found : nullptr;
}

struct walk {
  caller from;
  unsigned count;
  const frame* known;  // behind the last
  caller frames[most_frames];
};

/// False: it was the last that is needed.
bool add_frame(walk& to, const caller& next) {
  if (to.count != 0) {
    const frame* const known = kept_frame(next.returns_to, next.top);
    if (known != nullptr && known->depth < most_frames && (!known->is_cut || to.count + known->depth >= most_frames)) {
      return to.known = known, false;
    }
  }
  to.frames[to.count++] = next;
  return to.count != most_frames;
}

/// False: there is a frame whose rule isn't simple.
bool walk_by_rules(walk& to) {
  for (caller next = to.from; add_frame(to, next);) {
    rule& its = own.frames->rules[mixed(next.returns_to, 0) % kept_rules];
    if (its.returns_to != next.returns_to) its = table_reader::rule_of(next.returns_to);
    if (its.kind == rule_kind::outermost) return true;
    if (its.kind == rule_kind::not_simple) return false;
    const std::uint64_t base = its.kind == rule_kind::above_stack_pointer ? next.top : next.frame_pointer;
    const std::uint64_t top = base + static_cast<std::uint64_t>(std::int64_t{its.distance});
    if (top <= next.top || top - next.top > most_frame_bytes || top % 8 != 0) return false;
    if (its.saved != 0) next.frame_pointer = word_at(top + static_cast<std::uint64_t>(std::int64_t{its.saved}));
    next.returns_to = word_at(top - 8);
    next.top = top;
    if (next.returns_to == 0) return true;
  }
  return true;
}

_Unwind_Reason_Code walk_frame(_Unwind_Context* context, void* data) {
  walk& to = *static_cast<walk*>(data);
  const caller next{_Unwind_GetIP(context), _Unwind_GetCFA(context), 0};
  if (next.top < to.from.top) return _URC_NO_REASON;  // the recorder's own
  if (next.returns_to == 0 || (to.count == 0 && next.top != to.from.top)) return _URC_END_OF_STACK;
  return add_frame(to, next) ? _URC_NO_REASON : _URC_END_OF_STACK;
}

/// The number of the stack; 0: it has none. Its frames are kept if their return addresses are on the stack.
[[gnu::noinline]] std::uint32_t walked(const caller& from) {
  const int before = errno;
  walk found;
  found.from = from;
  found.count = 0;
  found.known = nullptr;
  if (!walk_by_rules(found)) {
    found.count = 0;
    _Unwind_Backtrace(walk_frame, &found);
  }
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
    is_kept = is_kept && word_at(next.top - 8) == next.returns_to &&
              (above == 0 || (next.top < above && above - next.top < most_frame_bytes && (above - next.top) % 8 == 0));
    const auto distance = static_cast<std::uint32_t>((above == 0 ? 0 : above - next.top) / 8);
    above = next.top;
    if (!is_kept) continue;
    frame& to = own.frames->kept[place_of(next.returns_to, next.top)];
    const std::uint32_t depth = outer == nullptr ? 1 : outer->depth + 1;
    const bool is_cut = outer == nullptr ? found.count == most_frames : outer->is_cut != 0;
    const auto place = outer == nullptr ? 0 : static_cast<std::uint32_t>(outer - own.frames->kept);
    to = {next.returns_to, next.top, place & 0x3fff, distance & 0x3ffff, outer_stack, stack, depth & 0x7fffffffU, is_cut};
    outer = &to;
  }
  errno = before;
  return stack;
}

/// What the log says of the stack of a call; 0: nothing.
std::uint64_t stack_of(const caller& from, std::uint64_t time) {
  if (own.frames == nullptr && !make_frames()) return 0;
  walk_budget& budget = own.frames->budget;
  if (!each_stack && budget.skip(time)) return 0;
  const std::uint64_t stands_for = std::uint64_t{budget.rarity} << stack_bits;
  const frame* const known = kept_frame(from.returns_to, from.top);
  if (known != nullptr) return stands_for | known->stack;
  const std::uint64_t before = ticks();
  const std::uint32_t stack = walked(from);
  if (!each_stack) budget.add(before, ticks());
  return stack == 0 ? 0 : stands_for | stack;
}

}  // namespace
}  // namespace tarn_record

#endif  // TARN_TOOLS_TARN_RECORD_FRAMES_H_
