// The calls of a log as steps that can be replayed: blocks are numbers, and what doesn't count is left out.
#ifndef TARN_TOOLS_TARN_RECORD_STEPS_H_
#define TARN_TOOLS_TARN_RECORD_STEPS_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "reader.h"

namespace tarn_record {

inline constexpr std::size_t usual_alignment = 16;  // malloc's

enum class step_kind : std::uint8_t { take, take_zeroed, resize, give };
struct step {
  std::uint64_t bytes;
  std::uint64_t old_bytes;  // of resize, as below
  std::uint32_t place;  // of the block
  step_kind what;
  std::uint8_t alignment;  // its binary logarithm
  std::uint8_t old_alignment;
  std::uint8_t column;  // where the block is from: as trace_converter::add() was told
};

/// Steps in memory that is no column's. Behind those of the program stand some that free what it never freed.
struct trace {
  const step* begin;
  const step* fullest;  // behind the step after which the program has the most bytes
  const step* end;
  const step* all_end;
  std::size_t places;
};

/// What a log says, without what doesn't count here: frees of blocks from before it, and calls that got none.
class trace_converter {
 public:
  explicit trace_converter(step* to) : begin_(to), at_(to), fullest_(to) {}

  /// \param column  of the block, if the call allocates one; a block that is reallocated keeps its own
  void add(const call& call, std::uint8_t column = 0) {
    column_ = column;
    if (!call.begins && !can_be_had(call)) {
      give(std::exchange(moving_[call.thread], {}));
    } else if (call.begins) {
      moving_[call.thread] = removed(call.old);
    } else if (frees(call.what)) {
      give(removed(call.address));
    } else if (moves(call.what)) {
      move(call, std::exchange(moving_[call.thread], {}));
    } else if (call.address != 0) {
      const std::uint64_t alignment = std::max<std::uint64_t>(call.alignment, usual_alignment);
      take(call.what == operation::calloc ? step_kind::take_zeroed : step_kind::take, call,
           static_cast<std::uint8_t>(std::countr_zero(alignment)));
    }
  }
  /// Replaces the steps so far by steps that take the blocks in use, in the order of their addresses.
  void begin_here() {
    at_ = begin_;
    std::vector<std::pair<std::uint64_t, block>> left{live_.begin(), live_.end()};
    for (const auto& [thread, its] : moving_) {
      if (its.bytes != 0) left.emplace_back(0, its);  // its new address isn't known yet
    }
    std::sort(left.begin(), left.end(), [](const auto& one, const auto& other) { return one.first < other.first; });
    for (const auto& [address, its] : left) put(step_kind::take, its);
    most_ = bytes_;
    fullest_ = at_;
  }
  /// Forgets the steps so far. Only begin_here() may follow later, not result().
  void forget() { at_ = begin_; }
  /// Behind the last step.
  const step* at() const { return at_; }
  trace result() {
    step* const end = at_;
    std::vector<block> left;
    for (const auto& [address, its] : live_) left.push_back(its);
    std::sort(left.begin(), left.end(), [](const block& one, const block& other) { return one.place < other.place; });
    for (const block& its : left) give(its);
    return {begin_, fullest_, end, at_, places_};
  }

 private:
  struct block {
    std::uint64_t bytes = 0;  // 0: there is none
    std::uint32_t place = 0;
    std::uint8_t alignment = 0;
    std::uint8_t column = 0;
  };
  static constexpr std::uint8_t usual = std::countr_zero(usual_alignment);

  /// A damaged log may say anything.
  static bool can_be_had(const call& call) { return frees(call.what) || (call.size >> 40 == 0 && call.alignment >> 30 == 0); }

  void move(const call& call, block old) {
    if (call.address != 0 && old.bytes != 0) {
      give(removed(call.address));  // if it was freed where the recorder doesn't see it
      const block its{std::max<std::uint64_t>(call.size, 1), old.place, usual, old.column};
      *at_++ = {its.bytes, old.bytes, its.place, step_kind::resize, its.alignment, old.alignment, its.column};
      add_live(call.address, its);
    } else if (call.address != 0) {
      take(step_kind::take, call, usual);
    } else if (call.size == 0) {
      give(old);
    } else if (old.bytes != 0) {  // there was no memory: it stays
      add_live(call.old, old);
    }
  }
  void take(step_kind what, const call& call, std::uint8_t alignment) {
    give(removed(call.address));
    if (free_places_.empty()) free_places_.push_back(places_++);
    const block its{std::max<std::uint64_t>(call.size, 1), free_places_.back(), alignment, column_};
    free_places_.pop_back();
    put(what, its);
    add_live(call.address, its);
  }
  void give(block its) {
    if (its.bytes == 0) return;
    put(step_kind::give, its);
    free_places_.push_back(its.place);
  }
  void put(step_kind what, const block& its) { *at_++ = {its.bytes, 0, its.place, what, its.alignment, 0, its.column}; }
  void add_live(std::uint64_t address, block its) {
    live_[address] = its;
    bytes_ += its.bytes;
    if (bytes_ <= most_) return;
    most_ = bytes_;
    fullest_ = at_;
  }
  block removed(std::uint64_t address) {
    const auto found = live_.find(address);
    if (found == live_.end()) return {};
    const block its = found->second;
    live_.erase(found);
    bytes_ -= its.bytes;
    return its;
  }

  step* begin_;
  step* at_;
  step* fullest_;
  std::unordered_map<std::uint64_t, block> live_;
  std::unordered_map<std::uint32_t, block> moving_;  // by thread
  std::vector<std::uint32_t> free_places_;
  std::uint32_t places_ = 0;
  std::uint8_t column_ = 0;
  std::uint64_t bytes_ = 0, most_ = 0;
};

inline std::uint64_t mark_of(const step& it) { return it.place + 0x7461726e00000000U; }

/// What a program writes isn't known. Of a small block each line is written, of a large one each page.
inline void write(void* block, std::size_t from, const step& it) {
  auto* const bytes = static_cast<unsigned char*>(block);
  if (it.bytes < sizeof(std::uint64_t)) *bytes = 1;
  else if (from == 0) *reinterpret_cast<std::uint64_t*>(block) = mark_of(it);
  std::size_t at = std::max<std::size_t>(64, from);
  for (; at < std::min<std::size_t>(it.bytes, 1024); at += 64) bytes[at] = 1;
  for (; at < it.bytes; at += 4096) bytes[at] = 1;
}
/// Whether it has what was written first.
inline bool is_written(const void* block, const step& it) {
  return it.bytes < sizeof(std::uint64_t) || *static_cast<const std::uint64_t*>(block) == mark_of(it);
}

}  // namespace tarn_record

#endif  // TARN_TOOLS_TARN_RECORD_STEPS_H_
