// The calls of a program's log as steps, and their replay over a column, on one thread. traces_bench.cc measures it.
#ifndef TARN_BENCH_TRACE_H_
#define TARN_BENCH_TRACE_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tarn/tools/tarn_record/reader.h"

namespace tarn_bench {

inline constexpr std::size_t usual_alignment = 16;  // malloc's

enum class step_kind : std::uint8_t { take, take_zeroed, resize, give };
struct step {
  std::uint64_t bytes;
  std::uint64_t old_bytes;  // of resize, as below
  std::uint32_t place;  // of the block
  step_kind what;
  std::uint8_t alignment;  // its binary logarithm
  std::uint8_t old_alignment;
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

  void add(const tarn_record::call& call) {
    if (call.begins) {
      moving_[call.thread] = removed(call.old);
    } else if (tarn_record::frees(call.what)) {
      give(removed(call.address));
    } else if (tarn_record::moves(call.what)) {
      move(call, std::exchange(moving_[call.thread], {}));
    } else if (call.address != 0) {
      const std::uint64_t alignment = std::max<std::uint64_t>(call.alignment, usual_alignment);
      take(call.what == tarn_record::operation::calloc ? step_kind::take_zeroed : step_kind::take, call,
           static_cast<std::uint8_t>(std::countr_zero(alignment)));
    }
  }
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
  };
  static constexpr std::uint8_t usual = std::countr_zero(usual_alignment);

  void move(const tarn_record::call& call, block old) {
    if (call.address != 0 && old.bytes != 0) {
      give(removed(call.address));  // if it was freed where the recorder doesn't see it
      const block its{std::max<std::uint64_t>(call.size, 1), old.place, usual};
      *at_++ = {its.bytes, old.bytes, its.place, step_kind::resize, its.alignment, old.alignment};
      add_live(call.address, its);
    } else if (call.address != 0) {
      take(step_kind::take, call, usual);
    } else if (call.size == 0) {
      give(old);
    } else if (old.bytes != 0) {  // there was no memory: it stays
      add_live(call.old, old);
    }
  }
  void take(step_kind what, const tarn_record::call& call, std::uint8_t alignment) {
    give(removed(call.address));
    if (free_places_.empty()) free_places_.push_back(places_++);
    const block its{std::max<std::uint64_t>(call.size, 1), free_places_.back(), alignment};
    free_places_.pop_back();
    *at_++ = {its.bytes, 0, its.place, what, its.alignment, 0};
    add_live(call.address, its);
  }
  void give(block its) {
    if (its.bytes == 0) return;
    *at_++ = {its.bytes, 0, its.place, step_kind::give, its.alignment, 0};
    free_places_.push_back(its.place);
  }
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

template <class Column>
void* zeroed(Column& column, const step& it) {
  if constexpr (requires { column.zeroed(1); }) {
    return column.zeroed(it.bytes);
  } else {
    return std::memset(column.take(it.bytes), 0, it.bytes);
  }
}
template <class Column>
void* resized(Column& column, void* block, const step& it) {
  if constexpr (requires { column.resize(block, 1); }) {
    return column.resize(block, it.bytes);
  } else {
    void* const other = column.take(it.bytes);
    std::memcpy(other, block, std::min(it.bytes, it.old_bytes));
    column.give(block, it.old_bytes, std::size_t{1} << it.old_alignment);
    return other;
  }
}

/// Does the steps; returns how many blocks had lost what they had.
template <class Column>
[[gnu::noinline, gnu::aligned(64)]] std::size_t replay(Column& column, const step* from, const step* to, void** blocks) {
  std::size_t lost = 0;
  for (; from != to; ++from) {
    const step& it = *from;
    void*& block = blocks[it.place];
    switch (it.what) {
      case step_kind::take:
        block = column.take(it.bytes, std::size_t{1} << it.alignment);
        write(block, 0, it);
        break;
      case step_kind::take_zeroed:
        block = zeroed(column, it);
        write(block, 0, it);
        break;
      case step_kind::resize:
        block = resized(column, block, it);
        write(block, it.old_bytes < sizeof(std::uint64_t) ? 0 : it.old_bytes, it);
        break;
      case step_kind::give:
        lost += !is_written(block, it);
        column.give(block, it.bytes, std::size_t{1} << it.alignment);
        break;
    }
    asm volatile("" : : : "memory");
  }
  return lost;
}

}  // namespace tarn_bench

#endif  // TARN_BENCH_TRACE_H_
