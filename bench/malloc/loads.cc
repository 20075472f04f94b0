// Loads for a whole malloc, in the manner of the programs that others compare mallocs with. What each does is fixed by its
// threads and its scale, so its processor time can be compared; `bench/malloc/run` does.
//
//   usage: loads NAME THREADS SCALE
//
// Prints a number that follows from what was in the blocks, which is the same with every malloc.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <numeric>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

class random_source {
 public:
  explicit random_source(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15 + 1) {}
  std::size_t below(std::size_t n) {  // xorshift64*
    state_ ^= state_ >> 12, state_ ^= state_ << 25, state_ ^= state_ >> 27;
    return static_cast<std::size_t>(((state_ * 0x2545F4914F6CDD1D) >> 32) * n >> 32);
  }
  /// Small numbers are likely: each doubling is half as likely as the one before, from `least` on.
  std::size_t skewed(std::size_t least, unsigned doublings) {
    const unsigned up = static_cast<unsigned>(std::countr_zero(below(1u << doublings) | (std::size_t{1} << (doublings - 1))));
    const std::size_t base = least << up;
    return base + below(base);
  }

 private:
  std::uint64_t state_;
};

/// A block that knows its size: written at its start and its end, compared when it is freed.
class block {
 public:
  block() = default;
  block(std::size_t bytes) : at_(static_cast<unsigned char*>(std::malloc(bytes))), bytes_(static_cast<std::uint32_t>(bytes)) {
    if (at_ == nullptr) std::abort();
    at_[0] = mark();
    at_[bytes_ - 1] = mark();
  }
  block(block&& other) noexcept : at_(std::exchange(other.at_, nullptr)), bytes_(other.bytes_) {}
  block& operator=(block&& other) noexcept {
    std::swap(at_, other.at_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~block() {
    if (at_ == nullptr) return;
    if (at_[0] != mark() || at_[bytes_ - 1] != mark()) std::abort();
    std::free(at_);
  }
  std::size_t bytes() const { return at_ != nullptr ? bytes_ : 0; }
  unsigned char* begin() const { return at_; }

 private:
  unsigned char mark() const { return static_cast<unsigned char>(bytes_ * 7); }
  unsigned char* at_ = nullptr;
  std::uint32_t bytes_ = 0;
};
using blocks = std::vector<block>;

struct amount {
  std::size_t threads;
  std::size_t scale;
  std::size_t each(std::size_t of_one) const { return std::max<std::size_t>(of_one * scale / threads / 100, 1); }
};

/// Runs f(number) in each thread, and adds what they return.
template <class F>
std::size_t together(std::size_t threads, F f) {
  std::vector<std::size_t> said(threads);
  std::vector<std::thread> running;
  for (std::size_t t = 1; t < threads; ++t) running.emplace_back([&, t] { said[t] = f(t); });
  said[0] = f(0);
  for (std::thread& one : running) one.join();
  return std::accumulate(said.begin(), said.end(), std::size_t{0});
}

std::size_t replace(blocks& live, random_source& random, std::size_t times, auto size) {
  std::size_t bytes = 0;
  for (; times != 0; --times) {
    block& one = live[random.below(live.size())];
    one = block{};  // freed first, as a program does that has no use for it
    one = block{size(random)};
    bytes += one.bytes();
  }
  return bytes;
}

// ---- the loads --------------------------------------------------------------------------------------------------------------

/// larson: a server's threads replace blocks at random, then hand all of theirs to a new thread and exit.
std::size_t larson(amount its) {
  const auto size = [](random_source& random) { return 8 + random.below(993); };
  constexpr std::size_t lives = 20;
  return together(its.threads, [&](std::size_t t) {
    blocks live(1000);
    random_source random{t + 1};
    std::size_t bytes = 0;
    for (std::size_t life = 0; life != lives; ++life)
      std::thread([&] { bytes += replace(live, random, its.each(100'000'000) / lives, size); }).join();
    return bytes;
  });
}

/// xmalloc-test: half of the threads allocate batches, the others free them.
std::size_t xmalloc_test(amount its) {
  std::mutex lock;
  std::condition_variable arrived, taken;
  std::deque<blocks> waiting;
  const std::size_t pairs = std::max<std::size_t>(its.threads / 2, 1), batches = its.each(12'000);
  const auto make = [&](std::size_t t) {
    random_source random{t + 1};
    for (std::size_t i = 0; i != batches; ++i) {
      blocks batch;
      for (int n = 0; n != 4096; ++n) batch.emplace_back(16 + random.below(241));
      std::unique_lock hold(lock);
      taken.wait(hold, [&] { return its.threads == 1 || waiting.size() < 8 * pairs; });
      waiting.push_back(std::move(batch));
      arrived.notify_one();
    }
    return batches;
  };
  const auto end = [&](std::size_t) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i != batches; ++i) {
      blocks batch;
      {
        std::unique_lock hold(lock);
        arrived.wait(hold, [&] { return !waiting.empty(); });
        batch = std::move(waiting.front());
        waiting.pop_front();
        taken.notify_one();
      }
      for (const block& one : batch) bytes += one.bytes();
    }
    return bytes;
  };
  if (its.threads > 1) return together(2 * pairs, [&](std::size_t t) { return t % 2 == 0 ? make(t / 2) : end(t / 2); });
  std::size_t bytes = 0;
  for (std::size_t i = 0; i != batches; ++i) {
    blocks batch;
    random_source random{i + 1};
    for (int n = 0; n != 4096; ++n) batch.emplace_back(16 + random.below(241));
    for (const block& one : batch) bytes += one.bytes();
  }
  return bytes;
}

/// cache-thrash and cache-scratch: small blocks that are written often. A malloc that gives two threads blocks of one cache
/// line loses; in the second, each thread first frees a block that the first thread made.
std::size_t write_often(amount its, bool is_handed) {
  blocks handed;
  for (std::size_t t = 0; is_handed && t != its.threads; ++t) handed.emplace_back(8);
  return together(its.threads, [&](std::size_t t) {
    if (is_handed) handed[t] = block{};
    std::size_t sum = 0;
    for (std::size_t i = 0, n = its.each(2'000'000); i != n; ++i) {
      const block one{8};
      volatile unsigned char* const at = one.begin();
      for (int write = 0; write != 1000; ++write) at[1 + write % 6] = static_cast<unsigned char>(at[1 + write % 6] + 1);
      sum += one.bytes();
    }
    return sum;
  });
}

/// alloc-test: many live blocks of skewed sizes, replaced at random; all of a block is written.
std::size_t alloc_test(amount its) {
  return together(its.threads, [&](std::size_t t) {
    blocks live(std::size_t{1} << 16);
    random_source random{t + 1};
    std::size_t sum = 0;
    for (std::size_t i = 0, n = its.each(12'000'000); i != n; ++i) {
      block& one = live[random.below(live.size())];
      one = block{};
      one = block{random.skewed(16, 6)};
      std::memset(one.begin() + 1, 1, one.bytes() - 2);
      sum += one.bytes();
    }
    return sum;
  });
}

/// mstress: rounds of threads that allocate, keep some, and swap others with what other threads left.
std::size_t mstress(amount its) {
  constexpr std::size_t shared = 1000, rounds = 25;
  std::vector<std::atomic<block*>> places(shared);
  std::atomic<std::size_t> made{0};
  for (std::size_t round = 0; round != rounds; ++round) {
    std::vector<std::thread> running;
    for (std::size_t t = 0; t != its.threads; ++t)
      running.emplace_back([&, t] {
        random_source random{round * its.threads + t + 1};
        blocks live, kept;
        const std::size_t n = its.each(60'000'000) / rounds;
        for (std::size_t i = 0; i != n; ++i) {
          switch (random.below(4)) {
            case 0:
              if (!live.empty()) live.pop_back();
              break;
            case 1:
              if (!live.empty() && kept.size() < 2000) kept.push_back(std::move(live[random.below(live.size())]));
              break;
            case 2:
              if (random.below(8) == 0) {
                delete places[random.below(shared)].exchange(new block{16 + random.below(64)});
                break;
              }
              [[fallthrough]];
            default:
              if (live.size() < 4000) live.emplace_back(8 * (1 + random.below(random.below(64) == 0 ? 500 : 40)));
          }
        }
        made += n;
      });
    for (std::thread& one : running) one.join();
  }
  for (std::atomic<block*>& one : places) delete one.load();
  return made;
}

/// rptest: blocks of up to 16,000 bytes, a part of which another thread frees.
std::size_t rptest(amount its) {
  struct post {
    std::mutex lock;
    blocks waiting;
  };
  std::vector<post> posts(its.threads);
  return together(its.threads, [&](std::size_t t) {
    random_source random{t + 1};
    blocks live(1000);
    std::size_t bytes = 0;
    for (std::size_t i = 0, n = its.each(400'000); i != n; ++i) {
      blocks sent;
      for (int k = 0; k != 100; ++k) {
        block& one = live[random.below(live.size())];
        if (k % 3 == 0 && one.bytes() != 0) sent.push_back(std::move(one));
        one = block{};
        one = block{8 + random.below(random.below(8) == 0 ? 15'993 : 1000)};
        bytes += one.bytes();
      }
      blocks got;
      {
        post& to = posts[(t + 1) % its.threads];
        const std::lock_guard hold(to.lock);
        for (block& one : sent) to.waiting.push_back(std::move(one));
      }
      const std::lock_guard hold(posts[t].lock);
      got.swap(posts[t].waiting);
    }
    return bytes;
  });
}

/// sh6bench: batches of sizes that grow, freed in order, in reverse order, or but for some that stay.
std::size_t sh6bench(amount its) {
  return together(its.threads, [&](std::size_t) {
    blocks stay;
    std::size_t bytes = 0;
    for (std::size_t i = 0, n = its.each(5000); i != n; ++i) {
      blocks batch;
      for (std::size_t size = 1; size != 1000; size += size < 100 ? 1 : 10)
        for (std::size_t k = 0; k != (size < 100 ? 100u : 10u); ++k) batch.emplace_back(size + 1), bytes += size;
      if (i % 3 == 0) std::reverse(batch.begin(), batch.end());
      if (i % 3 == 1)
        for (std::size_t k = 0; k < batch.size(); k += 50) stay.push_back(std::move(batch[k]));
      if (stay.size() > 20'000) stay.clear();
    }
    return bytes;
  });
}

/// sh8bench: the same with batches that other threads free.
std::size_t sh8bench(amount its) {
  std::mutex lock;
  blocks left;
  return together(its.threads, [&](std::size_t t) {
    random_source random{t + 1};
    std::size_t bytes = 0;
    for (std::size_t i = 0, n = its.each(5000); i != n; ++i) {
      blocks batch;
      for (int k = 0; k != 8000; ++k) batch.emplace_back(2 + random.skewed(8, 7)), bytes += batch.back().bytes();
      for (std::size_t k = batch.size(); k > 1; --k) std::swap(batch[k - 1], batch[random.below(k)]);
      batch.resize(batch.size() / 2);
      const std::lock_guard hold(lock);
      left.swap(batch);
    }
    return bytes;
  });
}

/// glibc-thread: each thread replaces among 4,096 blocks of 4 to 32,768 bytes, small ones mostly.
std::size_t glibc_thread(amount its) {
  return together(its.threads, [&](std::size_t t) {
    blocks live(4096);
    random_source random{t + 1};
    return replace(live, random, its.each(60'000'000), [](random_source& from) { return from.skewed(4, 12); });
  });
}

/// malloc-large: few blocks of 5 to 25 MiB, of which each replaces another; all of a block is written.
std::size_t malloc_large(amount its) {
  return together(its.threads, [&](std::size_t t) {
    blocks live(std::max<std::size_t>(20 / its.threads, 1));
    random_source random{t + 1};
    std::size_t bytes = 0;
    for (std::size_t i = 0, n = its.each(2000); i != n; ++i) {
      block made{(5 << 20) + random.below(20 << 20)};
      std::memset(made.begin() + 1, 1, made.bytes() - 2);
      bytes += made.bytes();
      live[random.below(live.size())] = std::move(made);
    }
    return bytes;
  });
}

/// realloc-large: a few blocks grow alternately to 16 MiB each; what is new is written.
std::size_t realloc_large(amount its) {
  constexpr std::size_t step = 512 << 10, most = 16 << 20;
  return together(its.threads, [&](std::size_t) {
    std::size_t bytes = 0;
    for (std::size_t i = 0, n = its.each(20); i != n; ++i) {
      std::array<unsigned char*, 8> live{};
      for (std::size_t has = 0; has != most; has += step)
        for (unsigned char*& one : live) {
          one = static_cast<unsigned char*>(std::realloc(one, has + step));
          if (one == nullptr || (has != 0 && one[has - 1] != has / step % 256)) std::abort();
          std::memset(one + has, static_cast<int>(has / step + 1), step);
          bytes += step;
        }
      for (unsigned char* const one : live) std::free(one);
    }
    return bytes;
  });
}

struct load {
  std::string_view name;
  std::size_t (*run)(amount);
};
constexpr std::array loads{
    load{"larson", larson},
    load{"xmalloc-test", xmalloc_test},
    load{"cache-thrash", [](amount its) { return write_often(its, false); }},
    load{"cache-scratch", [](amount its) { return write_often(its, true); }},
    load{"alloc-test", alloc_test},
    load{"mstress", mstress},
    load{"rptest", rptest},
    load{"sh6bench", sh6bench},
    load{"sh8bench", sh8bench},
    load{"glibc-thread", glibc_thread},
    load{"malloc-large", malloc_large},
    load{"realloc-large", realloc_large},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc == 1)
    for (const load& one : loads) std::printf("%.*s\n", static_cast<int>(one.name.size()), one.name.data());
  if (argc != 4) return argc == 1 ? 0 : 2;
  const amount its{std::strtoul(argv[2], nullptr, 10), std::strtoul(argv[3], nullptr, 10)};
  for (const load& one : loads)
    if (one.name == argv[1] && its.threads != 0) return std::printf("%zu\n", one.run(its)) < 0;
  return 2;
}
