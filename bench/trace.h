// The replay of a program's calls over a column, on one thread. traces_bench.cc measures it.
#ifndef TARN_BENCH_TRACE_H_
#define TARN_BENCH_TRACE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tarn/tools/tarn_record/steps.h"

namespace tarn_bench {

using tarn_record::is_written;
using tarn_record::step;
using tarn_record::step_kind;
using tarn_record::trace;
using tarn_record::trace_converter;
using tarn_record::usual_alignment;
using tarn_record::write;

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
