// What replay_convert.cc writes and replay.cc does: the steps of a log, by thread, in a file that each process maps.
//
//   replay_header
//   step[prelude]          take the blocks that the program had when the part of the log begins
//   for each thread: step[], then hold[]
//   step[left]             free what the program didn't
#ifndef TARN_TOOLS_TARN_ADVISE_REPLAY_FILE_H_
#define TARN_TOOLS_TARN_ADVISE_REPLAY_FILE_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "../tarn_record/steps.h"

namespace tarn_advise {

using tarn_record::step;
using tarn_record::step_kind;

inline constexpr std::size_t most_threads = 16, most_columns = 64;
inline constexpr std::uint64_t replay_magic = 0x3153504554534154U;

/// A thread waits before its step `before` until `thread` has done `until` steps.
struct hold {
  std::uint64_t before;
  std::uint64_t until;
  std::uint64_t thread;
};

/// Places in bytes from the start of the file.
struct replay_thread {
  std::uint64_t steps, step_count;
  std::uint64_t holds, hold_count;
  std::uint64_t fullest;  // steps up to about the one after which the program has the most bytes
};
struct replay_header {
  std::uint64_t magic;
  std::uint64_t bytes;
  std::uint64_t thread_count, place_count, column_count;
  std::uint64_t prelude, prelude_count;
  std::uint64_t left, left_count;
  std::uint64_t shared_columns;  // bits: columns whose blocks several threads allocate or free
  std::uint64_t resized_columns;  // bits: columns whose blocks are reallocated
  std::uint64_t operator_columns;  // bits: columns whose blocks all come from operator new
  replay_thread threads[most_threads];
};
static_assert(std::is_trivially_copyable_v<replay_header> && sizeof(replay_header) % alignof(step) == 0);

}  // namespace tarn_advise

#endif  // TARN_TOOLS_TARN_ADVISE_REPLAY_FILE_H_
