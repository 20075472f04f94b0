// A synthesizer's voices: the audio callback starts and ends them, has 5 ms for each buffer, and may never wait for memory.
//
// object_pool<voice>: objects. no_locking, the default: only the callback uses it. no_growth<64>: what can be heard. Memory
// comes from the system before it is used (page_store<prefilled>; with swap, also locked_pages). If there is none, the note
// is dropped: try_construct() never throws. Another thread that creates voices would need lock_free, or blocks set aside by
// reserve_blocks(). The first buffers still fault on pages of the program's own code: render some to nowhere, or call
// mlockall().
//
// Prints:
//
//   2004 voices started, 496 dropped, 0 still sound
//   calls of the heap in the callback: 0
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "tarn/allocator/object_pool.h"

constexpr std::size_t most_voices = 64;
constexpr std::size_t frames = 256;  // in a buffer: 5.3 ms at 48 kHz
constexpr double pi = 3.14159265358979323846;

struct voice {
  double phase, step;  // in turns
  double loudness;
};

// One chunk of 64 voices from the system, in memory before the first is used.
using voice_pool = tarn::object_pool<voice, tarn::no_growth<most_voices>, tarn::page_store<tarn::prefilled>>;

class synthesizer {
 public:
  /// Gets all memory. False: there isn't enough.
  bool prepare() { return voices_.blocks().try_reserve(most_voices); }

  /// The callback. Fills a buffer; no heap, no lock, no fresh page of memory.
  void render(float* out, int notes) noexcept {
    for (int i = 0; i != notes; ++i) start(110.0 * (i + 1));
    for (std::size_t i = 0; i != frames; ++i) out[i] = 0.0f;
    for (std::size_t i = 0; i != sounding_; ++i) add(*all_[i], out);
    end_silent();
  }

  int started() const { return started_; }
  int dropped() const { return dropped_; }
  std::size_t sounding() const { return sounding_; }

 private:
  void start(double hertz) noexcept {
    voice* const v = voices_.try_construct(0.0, hertz / 48'000.0, 0.5);
    if (v == nullptr) {
      ++dropped_;  // 64 sound already: nobody hears one more
      return;
    }
    all_[sounding_++] = v;
    ++started_;
  }

  static void add(voice& v, float* out) noexcept {
    for (std::size_t i = 0; i != frames; ++i) {
      out[i] += static_cast<float>(v.loudness * std::sin(2 * pi * v.phase));
      v.phase += v.step;
      v.loudness *= 0.9995;
    }
  }

  void end_silent() noexcept {
    for (std::size_t i = 0; i != sounding_;) {
      if (all_[i]->loudness > 0.01) {
        ++i;
      } else {
        voices_.destroy(all_[i]);
        all_[i] = all_[--sounding_];  // the last takes its place
      }
    }
  }

  voice_pool voices_;
  std::array<voice*, most_voices> all_{};  // the first `sounding_` of them
  std::size_t sounding_ = 0;
  int started_ = 0, dropped_ = 0;
};

// Counts who asks the heap, to show that nobody does.
static int heap_calls = 0;
void* operator new(std::size_t bytes) {
  ++heap_calls;
  if (void* const p = std::malloc(bytes)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

int main() {
  synthesizer synth;
  if (!synth.prepare()) return 1;

  const int before = heap_calls;
  float buffer[frames];
  for (int n = 0; n != 1000; ++n) synth.render(buffer, n % 8 == 0 ? 20 : 0);
  for (int n = 0; n != 100; ++n) synth.render(buffer, 0);  // until all are silent

  std::printf("%d voices started, %d dropped, %zu still sound\n", synth.started(), synth.dropped(), synth.sounding());
  std::printf("calls of the heap in the callback: %d\n", heap_calls - before);
  return synth.sounding() == 0 && heap_calls == before ? 0 : 1;
}
