// Question: while a load thins out, shrinks, swings or stays, how many bytes does a column hold for each live byte, and what
// does a pair cost? 64 MiB at the peak, in blocks of 64 bytes and of 1 KiB.
//
// Each column runs in a process of its own, the malloc of which is a column, too: bench/processes.py.

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>

#include "tarn/bench/held_memory.h"

namespace tarn_bench {
namespace {

constexpr const char* table = "held";

/// Live and held bytes at up to a hundred moments. Allocates nothing before text().
class course {
 public:
  struct moment {
    std::size_t live = 0;
    std::size_t held = 0;
  };

  void add(moment one) {
    if (size_ < moments_.size()) moments_[size_++] = one;
  }
  /// "live held live held ...", in KiB.
  std::string text() const {
    std::string text;
    for (const moment& one : std::span{moments_}.first(size_)) {
      text += std::to_string(one.live / 1024) + ' ' + std::to_string(one.held / 1024) + ' ';
    }
    return text;
  }

 private:
  std::array<moment, 100> moments_;
  std::size_t size_ = 0;
};

/// A column and its live blocks.
template <class Column, std::size_t Bytes>
class load {
 public:
  load() = default;
  ~load() { empty(column_, live()); }
  load(const load&) = delete;
  load& operator=(const load&) = delete;

  std::size_t most() const { return blocks_.all().size(); }
  std::size_t size() const { return size_; }

  void grow(std::size_t to) {
    const stopwatch_of_pairs timed{*this, to - size_};
    fill(column_, blocks_.all().subspan(size_, to - size_));
    size_ = to;
  }
  /// Frees the blocks at the end; which these are, mix() decides.
  void shrink(std::size_t to) {
    const stopwatch_of_pairs timed{*this, size_ - to};
    empty(column_, live().subspan(to));
    size_ = to;
  }
  void mix() { shuffle(live(), random_); }
  /// Bursts of random frees and fewer or as many allocations, until so many blocks are live or so many bursts are over.
  void churn(std::size_t bursts, std::size_t least = 0) {
    constexpr std::size_t burst = 64;
    const std::size_t again = least == 0 ? burst : burst - 4;
    const std::size_t before = size_;
    std::size_t pairs = 0;
    stopwatch clock{seconds_};
    for (; bursts != 0 && size_ > std::max(least, burst); --bursts) {
      for (std::size_t i = 1; i <= burst; ++i) {
        std::swap(blocks_.all()[random_.below(size_ - i + 1)], blocks_.all()[size_ - i]);
      }
      empty(column_, live().last(burst));
      fill(column_, blocks_.all().subspan(size_ - burst, again));
      size_ -= burst - again;
      pairs += burst;
    }
    clock.stop();
    calls_ += 2 * pairs - (before - size_);
  }

  /// Notes how much is held now, and returns it for each live byte.
  double note() {
    const course::moment now{size_ * Bytes, start_.bytes()};
    course_.add(now);
    return static_cast<double>(now.held) / static_cast<double>(std::max<std::size_t>(now.live, 1));
  }
  /// The same after everything was asked for that can go back.
  double note_trimmed() {
    if constexpr (requires { column_.pool().trim(); }) column_.pool().trim();
    else heap_trimmed<Bytes>{}.settle();
    return note();
  }

  /// What was done so far isn't part of the time.
  void start_clock() { seconds_ = 0, calls_ = 0; }
  double seconds_a_pair() const { return 2 * seconds_ / static_cast<double>(std::max<std::size_t>(calls_, 1)); }
  std::string text() const { return course_.text(); }

 private:
  class stopwatch_of_pairs {
   public:
    stopwatch_of_pairs(load& of, std::size_t calls) : clock_{of.seconds_} { of.calls_ += calls; }
    ~stopwatch_of_pairs() { clock_.stop(); }
    stopwatch_of_pairs(const stopwatch_of_pairs&) = delete;
    stopwatch_of_pairs& operator=(const stopwatch_of_pairs&) = delete;

   private:
    stopwatch clock_;
  };

  std::span<void*> live() const { return blocks_.all().first(size_); }

  places blocks_{scaled((quick ? std::size_t{16} : std::size_t{64}) << 20) / Bytes};
  std::size_t size_ = 0;
  random_source random_{7 + seed};
  course course_;
  double seconds_ = 0;
  std::size_t calls_ = 0;
  held_since start_;
  alignas(64) Column column_;
};

// The runs. Each returns what its row says: bytes held for each live byte, by itself.

/// Nine of ten blocks are freed at random; then ten times a random half of the others, and as many are allocated.
constexpr auto halves = [](auto& load) {
  load.grow(load.most());
  load.note();
  load.mix();
  for (const unsigned tenths : {7U, 4U, 1U}) {
    load.shrink(load.most() * tenths / 10);
    load.note();
  }
  load.start_clock();
  double held = 0;
  for (int i = 0; i < 10; ++i) {
    const std::size_t live = load.size();
    load.mix();
    load.shrink(live / 2);
    load.grow(live);
    held = load.note();
  }
  return held;
};

/// Of every 64 blocks freed at random, 60 are allocated again, until a tenth is live.
constexpr auto shrinks = [](auto& load) {
  load.grow(load.most());
  load.start_clock();
  double held = load.note();
  for (std::size_t part = 19; part >= 2; --part) {
    load.churn(load.most(), load.most() * part / 20);
    held = load.note();
  }
  return held;
};

/// From the peak to a tenth, freed at random, and back, eight times. The mean of the troughs.
constexpr auto cycles = [](auto& load) {
  constexpr int rounds = 8;
  load.grow(load.most());
  load.note();
  load.start_clock();
  double troughs = 0;
  for (int i = 0; i < rounds; ++i) {
    if (i != 0) {
      load.grow(load.most() / 2);
      load.note();
      load.grow(load.most());
      load.note();
    }
    load.mix();
    load.shrink(load.most() / 2);
    load.note();
    load.shrink(load.most() / 10);
    troughs += load.note();
  }
  return troughs / rounds;
};

/// 100,000 blocks stay live, ten million pairs. The largest of twenty moments.
constexpr auto churns = [](auto& load) {
  load.grow(scaled(100'000));
  load.start_clock();
  double most = 0;
  for (int i = 0; i < 20; ++i) {
    load.churn(scaled(8'000));
    most = std::max(most, load.note());
  }
  return most;
};

/// An hour's load in short form, a moment a minute: three tides from a tenth of the peak to all of it, and churn all the time.
/// The mean of the sixty moments.
constexpr auto hour = [](auto& load) {
  constexpr int minutes = 60;
  double sum = 0;
  for (int minute = 0; minute < minutes; ++minute) {
    const int tide = minute % 20 <= 10 ? minute % 20 : 20 - minute % 20;  // 0 to 10 and back
    const std::size_t live = load.most() * static_cast<std::size_t>(1 + tide * 9 / 10) / 10;
    if (live > load.size()) load.grow(live);
    else load.churn(load.most(), live);
    load.churn(scaled(2'000));
    sum += load.note();
  }
  return sum / minutes;
};

template <std::size_t Bytes>
using held_columns = columns<heap<Bytes>, tarn_default<Bytes>, tarn_pages<Bytes>, tarn_returning_pages<Bytes>,
                             tarn_page_returning<Bytes>,
                             tarn_returning_small<Bytes>>;

template <std::size_t Bytes, class Run>
void row(const std::string& name, Run run) {
  add(
      table, name + '_' + std::to_string(Bytes), held_columns<Bytes>{},
      [run]<class Column>(benchmark::State& state) {
        for (auto _ : state) {
          load<Column, Bytes> load;
          state.counters["held"] = run(load);
          state.counters["trimmed"] = load.note_trimmed();
          state.counters["pair"] = load.seconds_a_pair();
          state.SetLabel(load.text());
        }
      },
      one_pass);
}

}  // namespace

void register_benchmarks() {
  row<64>("halves", halves);
  row<1024>("halves", halves);
  row<64>("shrinks", shrinks);
  row<1024>("shrinks", shrinks);
  row<64>("cycles", cycles);
  row<1024>("cycles", cycles);
  row<64>("churns", churns);
  row<64>("hour", hour);
}

}  // namespace tarn_bench
