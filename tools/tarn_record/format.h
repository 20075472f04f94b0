// A log of tools/tarn-record: a process's calls of malloc and of the C++ operators. Version 1. reader.h reads it.
//
// All numbers are unsigned, in the byte order of the machine that wrote them. The file is written through a shared mapping, in
// blocks with a header, so that it can be read after a crash of the program, up to the call before.
//
//   file_header    then zeros, up to `header_bytes`
//   block_header   `stored` bytes behind it; the next block follows. A reader skips a kind that it doesn't know
//   ...
//
// A block of the kind 1 holds calls of one thread at a time, in their order. Blocks of several threads overlap in time. A call
// is a byte, which is 0 behind the last call, and numbers of 7 bits a byte, the lowest first, the eighth bit set where more
// follow:
//
//   operation | flags
//   time         ticks of the clock since the last call of the block (since `first_ticks` for the first): before a call that
//                frees, after a call that allocates. So the allocation of a freed block is always later than the free
//   stack        with has_stack, calls that allocate: the number of the stack, and 2^32 times the binary logarithm of how many
//                calls this one stands for, where not each call's stack was looked at
//   alignment    with has_alignment: its binary logarithm
//   size         bytes requested: of calls that allocate, and with has_size
//   address      of the block, as below; null: there was no memory. Not of calls that free null, which aren't logged
//   old, took    realloc and reallocarray only: the block given, as below, and the ticks that the call took up to `time`: the
//                old block was freed within these
//
// An address is 0 for null, otherwise 1 + its distance from the last one of the block that wasn't null (from 0 for the first).
// The distance is stored as twice its eighths or, if it isn't a multiple of 8, as twice the distance plus 1. A signed number n
// is 2n, a negative one -2n - 1. `is_thread` isn't a call: the next calls are those of the thread whose number follows its
// time, and distances restart.
//
// A block of the kind 2 explains stacks. They have numbers from 1 on; its header has that of the first. What a call needs is in
// the log before the call. Entries follow each other up to a 0:
//
//   1            a stack: a frame and the stack of its caller. The address to which the frame's callee returns, as above, then
//                how much its number is above that of the caller's stack, which is 0 where none is known
//   2            a mapping of the program: its first address, its bytes, where it begins in the file, the length of the
//                file's path, the path; the length of the file's build ID, the ID. It is that of the stacks that follow
//
// A sealed block may be compressed (`coding`): then `used` and `sum` are of what is stored.
#ifndef TARN_TOOLS_TARN_RECORD_FORMAT_H_
#define TARN_TOOLS_TARN_RECORD_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace tarn_record {

inline constexpr char magic[8] = {'t', 'a', 'r', 'n', 'r', 'e', 'c', '\n'};
inline constexpr std::uint32_t version = 1;
inline constexpr std::uint32_t byte_order = 0x01020304;
inline constexpr std::size_t header_bytes = 4096;
inline constexpr std::size_t block_bytes = 128 * 1024;  // of the recorder's blocks, with the header

enum class clock_kind : std::uint32_t { nanoseconds = 1, rdtsc = 2, cntvct = 3 };
enum class ending : std::uint32_t { none = 0, exit = 1 };  // none: it runs, was killed, or ended by _exit() or exec()
enum class stop : std::uint32_t { none = 0, full = 1, error = 2 };

struct file_header {
  char magic[8];
  std::uint32_t byte_order;
  std::uint32_t version;
  std::uint32_t header_bytes;  // where the first block is; more than a reader knows in a later version
  clock_kind clock;
  std::uint32_t process;
  std::uint32_t parent;
  std::uint32_t is_fork;  // 1: blocks allocated before the fork are in the parent's log
  ending ended;
  stop stopped;  // full: the log has `most_bytes`; error: the file could not grow
  std::uint32_t error;  // errno of that
  std::uint64_t stopped_ticks;
  std::uint64_t most_bytes;  // of the file
  std::uint64_t first_ticks;
  std::uint64_t first_nanoseconds;  // of CLOCK_MONOTONIC, at first_ticks
  char command[1024];  // the program's words, each ended by a 0
  std::uint32_t blocks;  // in the file, or 0: nobody says
  std::uint32_t unused;
  std::uint64_t last_ticks;  // a later reading of both clocks, or 0
  std::uint64_t last_nanoseconds;
};

enum class block_kind : std::uint16_t { calls = 1, stacks = 2 };
inline constexpr std::uint16_t coding_zstd = 1;
inline constexpr std::size_t most_plain_bytes = std::size_t{64} << 20;  // of a compressed block
inline constexpr std::uint32_t block_mark = 0x6b6c6274;  // "tblk"

/// While `sum` is 0, the block is open: its calls end at the first byte that is 0, `used` and `calls` say nothing.
struct block_header {
  std::uint32_t mark;
  block_kind kind;
  std::uint16_t coding;  // 0: none, or coding_zstd
  std::uint32_t stored;  // bytes up to the next block, a multiple of 64 less this header
  std::uint32_t number;  // 0 for the first block of the file
  std::uint32_t thread;  // from 1 on, in the order of their first calls
  std::uint32_t used;  // bytes that the calls have, rounded up to a multiple of 8
  std::uint32_t calls;  // how many there are, or entries
  std::uint32_t first_stack;  // of the kind stacks
  std::uint64_t first_ticks;
  std::uint64_t last_ticks;  // of the last call
  std::uint64_t last_nanoseconds;  // of CLOCK_MONOTONIC, when `last_ticks` was
  std::uint64_t sum;  // sum_of(), never 0
};
static_assert(sizeof(block_header) == 64);

enum class operation : std::uint8_t {
  none,
  malloc,
  calloc,  // its size is the product
  realloc,
  reallocarray,
  posix_memalign,
  aligned_alloc,
  memalign,
  valloc,
  pvalloc,
  new_,
  new_array,
  free,
  delete_,
  delete_array,
  count,
  is_thread = 31,
};
inline constexpr std::uint8_t operation_bits = 0x1f;
inline constexpr std::uint8_t has_alignment = 0x20;
inline constexpr std::uint8_t has_size = 0x40;  // of a sized delete
inline constexpr std::uint8_t has_stack = 0x80;
inline constexpr unsigned stack_bits = 32;  // of the number of a stack, below what it stands for

inline constexpr const char* names[] = {
    "-",      "malloc",  "calloc", "realloc", "reallocarray", "posix_memalign", "aligned_alloc", "memalign",
    "valloc", "pvalloc", "new",    "new[]",   "free",         "delete",         "delete[]"};
static_assert(sizeof(names) / sizeof(*names) == static_cast<std::size_t>(operation::count));

constexpr bool frees(operation it) { return it >= operation::free && it < operation::count; }
constexpr bool moves(operation it) { return it == operation::realloc || it == operation::reallocarray; }

enum class stack_entry : std::uint8_t { none, frame, mapping };

inline constexpr std::size_t most_call_bytes = 72;  // of a call: 1 + 7 * 10 at most

constexpr std::uint64_t code_of(std::uint64_t address, std::uint64_t last) {
  if (address == 0) return 0;
  const auto distance = static_cast<std::int64_t>(address - last);
  const auto folded = [](std::int64_t n) { return (static_cast<std::uint64_t>(n) << 1) ^ static_cast<std::uint64_t>(n >> 63); };
  return 1 + (distance % 8 == 0 ? folded(distance / 8) << 1 : (folded(distance) << 1 | 1));
}
constexpr std::uint64_t address_of(std::uint64_t code, std::uint64_t last) {
  if (code == 0) return 0;
  const std::uint64_t folded = (code - 1) >> 1, distance = (folded >> 1) ^ (~(folded & 1) + 1);
  return last + ((code - 1) % 2 == 0 ? distance * 8 : distance);
}

/// Of the header up to `sum`, and the `used` bytes behind it: a multiple of 8 once it is sealed, with zeros behind the calls.
inline std::uint64_t sum_of(const char* block) {
  std::uint64_t sum = 0xcbf29ce484222325U;
  const auto add = [&](std::size_t from, std::size_t to) {
    for (; from < to; from += 8) {
      std::uint64_t word;
      __builtin_memcpy(&word, block + from, 8);
      sum = (sum ^ word) * 0x100000001b3U;
      sum ^= sum >> 29;
    }
  };
  add(0, offsetof(block_header, sum));
  std::uint32_t used;
  __builtin_memcpy(&used, block + offsetof(block_header, used), sizeof(used));
  add(sizeof(block_header), sizeof(block_header) + used);
  return sum == 0 ? 1 : sum;
}

}  // namespace tarn_record

#endif  // TARN_TOOLS_TARN_RECORD_FORMAT_H_
