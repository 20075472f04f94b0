// A sensor's readings, without a heap: an interrupt takes a block and fills it, the main loop sends it and gives it back.
//
// static_pool: an interrupt handler can't be given a reference. static_array_store<16>: in .bss, ready before main().
// interrupt_locking: a handler, and the loop that it interrupts. try_allocate() returns null, and the reading is counted as
// lost. Compile with -fno-exceptions -fno-rtti -fno-threadsafe-statics.
//
// Prints:
//
//   sent 1016, lost 4, sum 313056
#include <cstdint>
#include <cstdio>
#include <new>

#include "tarn/allocator/static_pool.h"

struct reading {
  std::uint32_t time;
  std::int16_t values[6];
  reading* next;
};

#if defined(__arm__) && !defined(__linux__)
using mask = tarn::interrupt_mask;  // sets PRIMASK
#else
// On the desk the interrupt is a function that main() calls: there is nothing to mask.
struct mask {
  static int save_and_mask() noexcept { return 0; }
  static void restore(int) noexcept {}
};
#endif

// Sixteen readings in .bss. Whoever takes or gives one masks interrupts for a few instructions.
using reading_pool =
    tarn::static_pool<struct readings, tarn::size_of<reading>, tarn::static_array_store<16>, tarn::interrupt_locking<mask>>;

/// What waits to be sent, oldest first.
class reading_queue {
 public:
  void push(reading* r) noexcept {
    const auto before = mask::save_and_mask();
    r->next = nullptr;
    if (last_ == nullptr) first_ = r;
    else last_->next = r;
    last_ = r;
    mask::restore(before);
  }

  /// Null: nothing waits.
  reading* pop() noexcept {
    const auto before = mask::save_and_mask();
    reading* const first = first_;
    if (first != nullptr) first_ = first->next;
    if (first_ == nullptr) last_ = nullptr;
    mask::restore(before);
    return first;
  }

 private:
  reading* first_ = nullptr;
  reading* last_ = nullptr;
};

static reading_queue waiting;
static std::uint32_t now = 0;
static unsigned lost = 0;

/// The sensor's interrupt handler. It never waits: where all sixteen are in use, a reading is lost.
static void on_reading() noexcept {
  ++now;
  void* const block = reading_pool::instance().try_allocate();
  if (block == nullptr) {
    ++lost;  // the main loop is late by sixteen readings
    return;
  }
  auto* const r = new (block) reading{};
  r->time = now;
  for (int axis = 0; axis != 6; ++axis) r->values[axis] = static_cast<std::int16_t>(now % 100 + static_cast<unsigned>(axis));
  waiting.push(r);
}

/// The main loop's half. Returns how many readings it sent, and adds what they held to `sum`.
static unsigned send_all(unsigned& sum) noexcept {
  unsigned sent = 0;
  while (reading* const r = waiting.pop()) {
    for (const std::int16_t value : r->values) sum += static_cast<unsigned>(value);
    reading_pool::instance().deallocate(r);
    ++sent;
  }
  return sent;
}

int main() {
  unsigned sent = 0, sum = 0;
  for (int turn = 0; turn != 100; ++turn) {
    for (int i = 0; i != 10; ++i) on_reading();
    sent += send_all(sum);
  }
  for (int i = 0; i != 20; ++i) on_reading();  // the radio is busy
  sent += send_all(sum);

  std::printf("sent %u, lost %u, sum %u\n", sent, lost, sum);
  return sent == 1016 && lost == 4 ? 0 : 1;
}
