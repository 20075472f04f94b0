// Counts what a log of tarn-record says of each site, in one pass in the order of time. tarn-advise reads the result.
//
//   analyse LOG [GROUPS]   JSON, as below; GROUPS says which stacks are one site (sites.h)
//   analyse --stacks LOG   JSON, for GROUPS to be made: {"stacks": {number: [address, ...]}, "mappings": [...]}
//
//   (a mapping's build_id is in hexadecimal; program: its first word, as it was called)
//
// Memory is bounded by the blocks in use (64 bytes each) and the sites (2.3 KiB each). On stderr it says how far it is, if that
// is a terminal. The exit status is 1 where the log is damaged or cut, and 2 where the file is none: {"failed": why}.
//
//   log, calls, seconds, threads    of the whole log: its path, all calls, from the first to the last, threads that called
//   complete                        true, or what is missing of the log
//   unknown_frees, lost             blocks of which the log has no allocation; and no free, though their address came again
//   peak_live, peak_bytes           at most in use at a time, of all sites together
//   timeline                        {width_ns, bytes: the most bytes in use within each width}
//   frees                           [[thread that allocated, thread that freed, blocks], ...]
//   sites                           those with the most calls first:
//     id, stack, stacks             its number (sites.h); a stack, innermost first, and the numbers of all that it stands for
//     size, sizes, sizes_more       bytes of nine calls in ten, or null; [[bytes, calls], ...]; calls with sizes beyond these
//     alignment                     the strictest that was requested; 0: none
//     calls, frees, share           allocations; frees; both as a fraction of all calls
//     bytes                         of all allocations
//     operations                    {"new": allocations, ...}
//     peak_live, peak_bytes, never_freed
//     lifetime_ns                   {p10, p50, p90, p99, max}, to a tenth; of blocks that were freed; null if none was
//     order                         fractions of the frees, which add up to 1:
//         together                  in a run of 8 frees or more, without an allocation of the site between, that leaves at most
//                                   an eighth of the blocks; within it, the program makes at most 5/4 of the calls that it made
//                                   in a block's life, in the mean. So what is freed slowly isn't freed together
//         alone                     otherwise: the site had no other block in use
//         reverse, in_order         otherwise: the newest of the site's blocks; the oldest
//         random                    otherwise
//     together                      {runs, left_none: of these runs, those that left none of the site's blocks in use; cleared:
//                                   the frees in them, as a fraction of all}
//     runs                          of the first that died together: [[begin, end, blocks], ...], in nanoseconds
//     freed_by_other_thread         fraction of the frees
//     threads                       that allocated here
//     reallocations                 of blocks of this site by realloc, which are no frees
//     bursts                        {longest, mean}: allocations without a free of the site between
//     timeline                      most bytes within each width, as above

#include <algorithm>
#include <array>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <deque>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <unistd.h>

#include "../tarn_record/reader.h"
#include "sites.h"

namespace {

using tarn_advise::site_numbers;
using tarn_record::operation;

constexpr std::uint32_t nil = ~std::uint32_t{0};

/// A histogram with four steps to each power of two: a value is told to a tenth.
class histogram {
 public:
  void add(std::uint64_t value) {
    std::uint32_t& step = steps_[step_of(value)];
    if (step != ~std::uint32_t{0}) ++step;
    ++count_;
    most_ = std::max(most_, value);
  }
  std::uint64_t count() const { return count_; }
  std::uint64_t most() const { return most_; }
  std::uint64_t percentile(unsigned percent) const {
    std::uint64_t before = 0;
    const std::uint64_t wanted = (count_ * percent + 99) / 100;
    for (std::size_t i = 0; i != steps_.size(); ++i) {
      before += steps_[i];
      if (before >= wanted) return std::min(most_, middle_of(i));
    }
    return most_;
  }

 private:
  static std::size_t step_of(std::uint64_t value) {
    if (value < 4) return static_cast<std::size_t>(value);
    const auto binary = static_cast<unsigned>(std::bit_width(value)) - 1;
    return std::min<std::size_t>(last, (binary - 1) * 4 + (value >> (binary - 2) & 3));
  }
  static std::uint64_t middle_of(std::size_t step) {
    if (step < 4) return step;
    const std::uint64_t quarter = std::uint64_t{1} << (step / 4 - 1);
    return (4 + step % 4) * quarter + quarter / 2;
  }
  static constexpr std::size_t last = 47 * 4 - 1;  // 2^48 ns are three days
  std::array<std::uint32_t, last + 1> steps_{};
  std::uint64_t count_ = 0, most_ = 0;
};

/// The most bytes in use within each of the equal parts of the time so far.
class timeline {
 public:
  static constexpr std::size_t parts = 128;

  void set(std::size_t part, std::uint64_t bytes) {
    while (part_ < part) most_[++part_] = bytes_;
    bytes_ = bytes;
    most_[part_] = std::max(most_[part_], bytes);
  }
  /// The parts become twice as long.
  void halve() {
    for (std::size_t i = 0; i <= part_ / 2; ++i) {
      most_[i] = std::max(most_[2 * i], 2 * i + 1 <= part_ ? most_[2 * i + 1] : 0);
    }
    std::fill(most_.begin() + static_cast<std::ptrdiff_t>(part_ / 2) + 1, most_.end(), 0);
    part_ /= 2;
  }
  void print(std::size_t last) {
    set(std::max(last, part_), bytes_);
    for (std::size_t i = 0; i <= part_; ++i) std::printf("%s%" PRIu64, i == 0 ? "[" : ",", most_[i]);
    std::putchar(']');
  }

 private:
  std::array<std::uint64_t, parts> most_{};
  std::size_t part_ = 0;
  std::uint64_t bytes_ = 0;
};

/// A block in use. Those of a site are linked in the order of their allocations.
struct block {
  std::uint64_t address;  // 0: no block; then `next` is the next that is none
  std::uint64_t born;  // nanoseconds
  std::uint64_t size;
  std::uint32_t site;
  std::uint32_t thread;
  std::uint32_t older, newer;
  std::uint32_t born_call;  // its number, of all calls, less 2^32 where there are so many
};

/// Finds blocks by their addresses.
class block_table {
 public:
  block& operator[](std::uint32_t at) { return blocks_[at]; }

  std::uint32_t add(const block& it) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    std::uint32_t at = unused_;
    if (at == nil) {
      at = static_cast<std::uint32_t>(blocks_.size());
      blocks_.push_back(it);
    } else {
      unused_ = blocks_[at].newer;
      blocks_[at] = it;
    }
    put(at);
    ++used_;
    return at;
  }
  std::uint32_t find(std::uint64_t address) const {
    for (std::size_t slot = slot_of(address); slots_[slot] != nil; slot = (slot + 1) & mask()) {
      if (blocks_[slots_[slot]].address == address) return slots_[slot];
    }
    return nil;
  }
  void remove(std::uint32_t at) {
    std::size_t slot = slot_of(blocks_[at].address);
    while (slots_[slot] != at) slot = (slot + 1) & mask();
    // What follows and would no longer be found moves up.
    for (std::size_t next = (slot + 1) & mask(); slots_[next] != nil; next = (next + 1) & mask()) {
      const std::size_t wanted = slot_of(blocks_[slots_[next]].address);
      if (((next - wanted) & mask()) < ((next - slot) & mask())) continue;
      slots_[slot] = slots_[next];
      slot = next;
    }
    slots_[slot] = nil;
    blocks_[at].address = 0;
    blocks_[at].newer = unused_;
    unused_ = at;
    --used_;
  }
  std::size_t size() const { return used_; }

  /// What find() will read comes into the cache: first where it looks, then what is there.
  void fetch_slot(std::uint64_t address) const { __builtin_prefetch(&slots_[slot_of(address)]); }
  void fetch_block(std::uint64_t address) const {
    const std::uint32_t at = slots_[slot_of(address)];
    if (at != nil) __builtin_prefetch(&blocks_[at]);
  }

 private:
  std::size_t mask() const { return slots_.size() - 1; }
  std::size_t slot_of(std::uint64_t address) const {
    return static_cast<std::size_t>(address * 0x9e3779b97f4a7c15U >> shift_);
  }
  void put(std::uint32_t at) {
    std::size_t slot = slot_of(blocks_[at].address);
    while (slots_[slot] != nil) slot = (slot + 1) & mask();
    slots_[slot] = at;
  }
  void grow() {
    slots_.assign(2 * slots_.size(), nil);
    --shift_;
    for (std::uint32_t at = 0; at != blocks_.size(); ++at) {
      if (blocks_[at].address != 0) put(at);
    }
  }

  unsigned shift_ = 64 - 10;
  std::vector<std::uint32_t> slots_ = std::vector<std::uint32_t>(1 << 10, nil);  // twice as many as blocks, or more
  std::vector<block> blocks_;
  std::uint32_t unused_ = nil;
  std::size_t used_ = 0;
};

enum class death { alone, reverse, in_order, random, together, count };
constexpr const char* death_names[] = {"alone", "reverse", "in_order", "random", "together"};

/// Frees of a site without an allocation of it between.
struct free_run {
  std::uint64_t begin = 0, end = 0;  // nanoseconds
  std::uint64_t first_call = 0, last_call = 0, lived_calls = 0;
  std::uint64_t count = 0;
  std::array<std::uint64_t, static_cast<std::size_t>(death::count)> deaths{};
};

struct site {
  static constexpr std::size_t most_sizes = 64, most_runs = 16;

  std::uint32_t number = 0;
  std::uint32_t stack = 0;
  std::vector<std::uint32_t> stacks;  // in their order
  std::vector<std::pair<std::uint64_t, std::uint64_t>> sizes;  // with the calls
  std::array<std::uint8_t, 2 * most_sizes> size_slots{};  // a hash table: 1 + where it is in `sizes`; 0: none
  std::uint64_t sizes_more = 0;
  std::uint64_t calls = 0, frees = 0, bytes = 0, reallocations = 0, by_others = 0, alignment = 0;
  std::uint64_t live = 0, live_bytes = 0, peak_live = 0, peak_bytes = 0;
  std::array<std::uint64_t, static_cast<std::size_t>(operation::count)> operations{};
  std::vector<std::uint32_t> threads;
  std::uint32_t oldest = nil, newest = nil;
  histogram lifetimes;
  std::array<std::uint64_t, static_cast<std::size_t>(death::count)> deaths{};
  free_run run;
  std::vector<free_run> runs;
  std::uint64_t together_runs = 0, cleared_runs = 0, cleared = 0;
  std::uint64_t burst = 0, longest_burst = 0, bursts = 0;
  timeline time;

  void count_size(std::uint64_t size) {
    std::size_t slot = static_cast<std::size_t>(size * 0x9e3779b97f4a7c15U >> 57);
    for (; size_slots[slot] != 0; slot = (slot + 1) % size_slots.size()) {
      auto& [known, count] = sizes[size_slots[slot] - 1U];
      if (known == size) return static_cast<void>(++count);
    }
    if (sizes.size() == most_sizes) return static_cast<void>(++sizes_more);
    sizes.emplace_back(size, 1);
    size_slots[slot] = static_cast<std::uint8_t>(sizes.size());
  }
  template <class T>
  static void insert(std::vector<T>& into, T value) {
    if (!into.empty() && into.back() == value) return;
    const auto at = std::lower_bound(into.begin(), into.end(), value);
    if (at == into.end() || *at != value) into.insert(at, value);
  }
  /// An allocation, or the end of the log.
  void end_run() {
    if (run.count == 0) return;
    const std::uint64_t took = run.last_call - run.first_call, lived = run.lived_calls / run.count;
    const bool is_together = run.count >= 8 && live * 8 <= live + run.count && took * 4 <= lived * 5;
    if (is_together) {
      deaths[static_cast<std::size_t>(death::together)] += run.count;
      ++together_runs;
      cleared_runs += live == 0;
      cleared += live == 0 ? run.count : 0;
      if (runs.size() != most_runs) runs.push_back(run);
    } else {
      for (std::size_t i = 0; i != deaths.size(); ++i) deaths[i] += run.deaths[i];
    }
    run = {};
  }
};

class analysis {
 public:
  explicit analysis(site_numbers numbers) : numbers_(std::move(numbers)) {}

  /// Adds calls. Most of the time would go into waiting for memory, so what all need is fetched before.
  void add(std::span<const tarn_record::call> calls, const tarn_record::log& from) {
    const auto address_of = [](const tarn_record::call& call) { return call.begins ? call.old : call.address; };
    for (const tarn_record::call& call : calls) blocks_.fetch_slot(address_of(call));
    for (const tarn_record::call& call : calls) blocks_.fetch_block(address_of(call));
    for (const tarn_record::call& call : calls) add(call, from.nanoseconds(call.ticks));
  }

  void print(const char* path, tarn_record::log& from);

 private:
  void add(const tarn_record::call& call, std::uint64_t now) {
    now_ = now;
    while (now >> width_ >= timeline::parts) widen();
    if (call.begins) return begin_move(call);
    ++calls_;
    site::insert(threads_, call.thread);
    if (tarn_record::frees(call.what)) {
      const std::uint32_t at = blocks_.find(call.address);
      if (at == nil) ++unknown_frees_;
      else give(take_out(at), call.thread);
    } else if (tarn_record::moves(call.what)) {
      end_move(call);
    } else if (call.address != 0) {
      take(call);
    }
  }

  struct taken_out {
    block it{};  // address 0: there was none
    death how{};
  };

  void widen() {
    ++width_;
    all_.halve();
    for (site& one : sites_) one.time.halve();
  }
  std::size_t part() const { return static_cast<std::size_t>(now_ >> width_); }

  site& site_of(const tarn_record::call& call, std::uint32_t& index) {
    const std::uint32_t number = numbers_.of(call);
    if (number != last_number_) {
      const auto [at, is_new] = indices_.try_emplace(number, static_cast<std::uint32_t>(sites_.size()));
      if (is_new) {
        sites_.emplace_back().number = number;
        sites_.back().stack = call.stack;
      }
      last_number_ = number;
      last_index_ = at->second;
    }
    index = last_index_;
    return sites_[index];
  }

  void take(const tarn_record::call& call) {
    const std::uint32_t before = blocks_.find(call.address);
    if (before != nil) {
      ++lost_;
      const taken_out out = take_out(before);
      site& its = sites_[out.it.site];
      --its.live;
      count_bytes(its, out.it.size, false);
    }
    std::uint32_t index;
    site& its = site_of(call, index);
    its.end_run();
    ++its.calls;
    ++its.operations[static_cast<std::size_t>(call.what)];
    its.bytes += call.size;
    if (call.alignment >> 30 == 0) its.alignment = std::max(its.alignment, call.alignment);  // a damaged log may say more
    its.count_size(call.size);
    site::insert(its.threads, call.thread);
    if (call.stack != 0) site::insert(its.stacks, call.stack);
    if (its.burst++ == 0) ++its.bursts;
    its.longest_burst = std::max(its.longest_burst, its.burst);
    put_in({call.address, now_, call.size, index, call.thread, nil, nil, static_cast<std::uint32_t>(calls_)});
    its.peak_live = std::max(its.peak_live, ++its.live);
    count_bytes(its, call.size, true);
  }
  void put_in(block it) {
    site& its = sites_[it.site];
    it.older = its.newest;
    it.newer = nil;
    const std::uint32_t at = blocks_.add(it);
    (its.newest == nil ? its.oldest : blocks_[its.newest].newer) = at;
    its.newest = at;
    peak_live_ = std::max(peak_live_, blocks_.size());
  }
  taken_out take_out(std::uint32_t at) {
    taken_out out{blocks_[at], death::random};
    site& its = sites_[out.it.site];
    const bool is_newest = its.newest == at, is_oldest = its.oldest == at;
    if (is_newest) out.how = is_oldest ? death::alone : death::reverse;
    else if (is_oldest) out.how = death::in_order;
    (is_newest ? its.newest : blocks_[out.it.newer].older) = out.it.older;
    (is_oldest ? its.oldest : blocks_[out.it.older].newer) = out.it.newer;
    blocks_.remove(at);
    return out;
  }
  void give(const taken_out& out, std::uint32_t thread) {
    site& its = sites_[out.it.site];
    const std::uint64_t lived = now_ - std::min(now_, out.it.born);
    ++its.frees;
    its.burst = 0;
    its.lifetimes.add(lived);
    its.by_others += thread != out.it.thread;
    if (its.run.count++ == 0) its.run.begin = now_, its.run.first_call = calls_;
    its.run.end = now_;
    its.run.last_call = calls_;
    its.run.lived_calls += static_cast<std::uint32_t>(calls_) - out.it.born_call;
    ++its.run.deaths[static_cast<std::size_t>(out.how)];
    --its.live;
    count_bytes(its, out.it.size, false);
    const std::uint64_t pair = std::uint64_t{out.it.thread} << 32 | thread;
    if (pair != last_pair_) last_count_ = &frees_[frees_.size() < most_pairs ? pair : 0], last_pair_ = pair;
    ++*last_count_;
  }

  void begin_move(const tarn_record::call& call) {
    const std::uint32_t at = call.old == 0 ? nil : blocks_.find(call.old);
    moving_[call.thread] = at == nil ? taken_out{} : take_out(at);
  }
  void end_move(const tarn_record::call& call) {
    const taken_out old = std::exchange(moving_[call.thread], {});
    if (old.it.address == 0) {
      if (call.address != 0) take(call);
    } else if (call.address != 0) {
      site& its = sites_[old.it.site];
      ++its.reallocations;
      --its.live;
      count_bytes(its, old.it.size, false);
      take(call);
    } else if (call.size == 0) {
      give(old, call.thread);
    } else {
      put_in(old.it);  // there was no memory: it stays
    }
  }

  void count_bytes(site& its, std::uint64_t size, bool more) {
    its.live_bytes += more ? size : -size;
    live_bytes_ += more ? size : -size;
    its.peak_bytes = std::max(its.peak_bytes, its.live_bytes);
    peak_bytes_ = std::max(peak_bytes_, live_bytes_);
    its.time.set(part(), its.live_bytes);
    all_.set(part(), live_bytes_);
  }

  void print_site(site& its, tarn_record::log& from);

  static constexpr std::size_t most_pairs = 4096;

  site_numbers numbers_;
  std::deque<site> sites_;
  std::unordered_map<std::uint32_t, std::uint32_t> indices_;  // of sites, by their numbers
  std::uint32_t last_number_ = nil, last_index_ = nil;
  block_table blocks_;
  std::unordered_map<std::uint32_t, taken_out> moving_;  // by thread
  std::vector<std::uint32_t> threads_;
  std::unordered_map<std::uint64_t, std::uint64_t> frees_;
  std::uint64_t last_pair_ = 0;
  std::uint64_t* last_count_ = nullptr;
  std::uint64_t now_ = 0, calls_ = 0, unknown_frees_ = 0, lost_ = 0, live_bytes_ = 0, peak_bytes_ = 0;
  std::size_t peak_live_ = 0;
  unsigned width_ = 16;  // binary logarithm of nanoseconds
  timeline all_;
};

// ---- JSON ---------------------------------------------------------------------------------------------------------------

void print_text(const std::string& text) {
  std::putchar('"');
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') std::putchar('\\');
    if (byte < 32 || byte == 127) std::printf("\\u%04x", byte);
    else std::putchar(letter);
  }
  std::putchar('"');
}

template <class Range, class Print>
void print_list(const Range& range, Print print) {
  std::putchar('[');
  bool is_first = true;
  for (const auto& one : range) {
    if (!is_first) std::putchar(',');
    is_first = false;
    print(one);
  }
  std::putchar(']');
}

template <class T>
void number(const char* name, T value) {
  std::printf("\"%s\":%" PRIu64 ",", name, static_cast<std::uint64_t>(value));
}
void fraction(const char* name, std::uint64_t part, std::uint64_t of, const char* behind = ",") {
  std::printf("\"%s\":%.6g%s", name, of == 0 ? 0 : static_cast<double>(part) / static_cast<double>(of), behind);
}

void print_sizes(site& its) {
  auto& sizes = its.sizes;
  std::sort(sizes.begin(), sizes.end(), [](const auto& one, const auto& other) {
    return one.second != other.second ? one.second > other.second : one.first < other.first;
  });
  if (sizes[0].second * 10 >= its.calls * 9) number("size", sizes[0].first);
  else std::fputs("\"size\":null,", stdout);
  for (std::size_t i = 16; i < sizes.size(); ++i) its.sizes_more += sizes[i].second;
  sizes.resize(std::min<std::size_t>(sizes.size(), 16));
  std::fputs("\"sizes\":", stdout);
  print_list(sizes, [](const auto& one) { std::printf("[%" PRIu64 ",%" PRIu64 "]", one.first, one.second); });
  std::putchar(',');
  number("sizes_more", its.sizes_more);
}

void print_order(const site& its) {
  std::fputs("\"order\":{", stdout);
  for (std::size_t i = 0; i != its.deaths.size(); ++i) {
    fraction(death_names[i], its.deaths[i], its.frees, i + 1 == its.deaths.size() ? "}," : ",");
  }
  std::fputs("\"together\":{", stdout);
  number("runs", its.together_runs);
  number("left_none", its.cleared_runs);
  fraction("cleared", its.cleared, its.frees, "},");
  std::fputs("\"runs\":", stdout);
  print_list(its.runs, [](const free_run& one) {
    std::printf("[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", one.begin, one.end, one.count);
  });
  std::putchar(',');
}

void print_lifetimes(const histogram& its) {
  if (its.count() == 0) {
    std::fputs("\"lifetime_ns\":null,", stdout);
    return;
  }
  std::fputs("\"lifetime_ns\":{", stdout);
  for (const unsigned percent : {10U, 50U, 90U, 99U}) std::printf("\"p%u\":%" PRIu64 ",", percent, its.percentile(percent));
  std::printf("\"max\":%" PRIu64 "},", its.most());
}

void print_stack(tarn_record::log& from, std::uint32_t stack) {
  print_list(from.stack(stack), [](std::uint64_t address) { std::printf("%" PRIu64, address); });
}

void analysis::print_site(site& its, tarn_record::log& from) {
  its.end_run();
  std::printf("\n{\"id\":%u,\"stack\":", its.number);
  print_stack(from, its.stack);
  std::fputs(",\"stacks\":", stdout);
  print_list(its.stacks, [](std::uint32_t one) { std::printf("%u", one); });
  std::putchar(',');
  print_sizes(its);
  number("alignment", its.alignment);
  number("calls", its.calls);
  number("frees", its.frees);
  fraction("share", its.calls + its.frees, calls_);
  number("bytes", its.bytes);
  std::fputs("\"operations\":{", stdout);
  bool is_first = true;
  for (std::size_t i = 0; i != its.operations.size(); ++i) {
    if (its.operations[i] == 0) continue;
    std::printf("%s\"%s\":%" PRIu64, is_first ? "" : ",", tarn_record::names[i], its.operations[i]);
    is_first = false;
  }
  std::fputs("},", stdout);
  number("peak_live", its.peak_live);
  number("peak_bytes", its.peak_bytes);
  number("never_freed", its.live);
  print_lifetimes(its.lifetimes);
  print_order(its);
  fraction("freed_by_other_thread", its.by_others, its.frees);
  number("threads", its.threads.size());
  number("reallocations", its.reallocations);
  std::printf("\"bursts\":{\"longest\":%" PRIu64 ",", its.longest_burst);
  fraction("mean", its.calls, its.bursts, "},\"timeline\":");
  its.time.print(part());
  std::putchar('}');
}

std::string notes_of(const tarn_record::log& from) {
  std::string all;
  for (const std::string& note : from.notes()) all += (all.empty() ? "" : "; ") + note;
  return all;
}

void analysis::print(const char* path, tarn_record::log& from) {
  std::fputs("{\"version\":1,\"log\":", stdout);
  print_text(path);
  std::fputs(",\"command\":", stdout);
  std::string command;
  const auto& words = from.header().command;
  for (const char* word = words; word < words + sizeof(words) && *word != 0; word += strnlen(word, sizeof(words)) + 1) {
    const std::size_t left = static_cast<std::size_t>(words + sizeof(words) - word);
    command.append(command.empty() ? "" : " ").append(word, strnlen(word, left));
  }
  print_text(command);
  std::putchar(',');
  number("calls", calls_);
  std::printf("\"seconds\":%.9g,", static_cast<double>(now_) / 1e9);
  number("threads", threads_.size());
  std::fputs("\"complete\":", stdout);
  const std::string notes = notes_of(from);
  if (notes.empty()) std::fputs("true", stdout);
  else print_text(notes);
  std::putchar(',');
  number("unknown_frees", unknown_frees_);
  number("lost", lost_);
  number("peak_live", peak_live_);
  number("peak_bytes", peak_bytes_);
  std::printf("\"timeline\":{\"width_ns\":%" PRIu64 ",\"bytes\":", std::uint64_t{1} << width_);
  all_.print(part());
  std::vector<std::pair<std::uint64_t, std::uint64_t>> frees(frees_.begin(), frees_.end());
  std::sort(frees.begin(), frees.end());
  std::fputs("},\"frees\":", stdout);
  print_list(frees, [](const auto& one) {
    std::printf("[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", one.first >> 32, one.first & 0xffffffff, one.second);
  });
  std::vector<site*> sites;
  for (site& one : sites_) sites.push_back(&one);
  std::sort(sites.begin(), sites.end(), [](const site* one, const site* other) {
    const std::uint64_t calls = one->calls + one->frees, others = other->calls + other->frees;
    return calls != others ? calls > others : one->number < other->number;
  });
  std::fputs(",\"sites\":", stdout);
  print_list(sites, [&](site* one) { print_site(*one, from); });
  std::fputs("}\n", stdout);
}

void print_stacks(tarn_record::log& from) {
  std::unordered_set<std::uint32_t> used;
  std::uint32_t last = 0;
  for (tarn_record::call it; from.next(it);) {
    if (it.stack != last && it.stack != 0) used.insert(last = it.stack);
  }
  std::vector<std::uint32_t> stacks(used.begin(), used.end());
  std::sort(stacks.begin(), stacks.end());
  std::fputs("{\"program\":", stdout);
  print_text(from.header().command);
  std::fputs(",\"stacks\":{", stdout);
  for (const std::uint32_t& stack : stacks) {
    std::printf("%s\n\"%u\":", &stack == stacks.data() ? "" : ",", stack);
    print_stack(from, stack);
  }
  std::fputs("},\n\"mappings\":", stdout);
  print_list(from.mappings(), [](const auto& one) {
    std::printf("\n{\"begin\":%" PRIu64 ",\"end\":%" PRIu64 ",\"offset\":%" PRIu64, one.begin, one.end, one.offset);
    std::fputs(",\"path\":", stdout);
    print_text(one.path);
    std::fputs(",\"build_id\":\"", stdout);
    for (const char byte : one.build_id) std::printf("%02x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
    std::fputs("\"}", stdout);
  });
  std::fputs("}\n", stdout);
}

void read_all(tarn_record::log& from, analysis& to) {
  const bool is_watched = ::isatty(2) != 0;
  std::array<tarn_record::call, 64> calls;
  for (std::uint64_t all = 0, count = calls.size(); count == calls.size(); all += count) {
    for (count = 0; count != calls.size() && from.next(calls[count]);) ++count;
    to.add({calls.data(), count}, from);
    if (is_watched && (all & 0xfffff) == 0) std::fprintf(stderr, "\r%" PRIu64 " million calls read", all >> 20);
  }
  if (is_watched) std::fputs("\r\x1b[K", stderr);
}

int failed(const char* path, const std::string& why) {
  std::fputs("{\"failed\":", stdout);
  print_text(std::string{path} + ": " + why);
  std::fputs("}\n", stdout);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  const bool wants_stacks = argc == 3 && std::strcmp(argv[1], "--stacks") == 0;
  if (argc != 2 && argc != 3) {
    std::fputs("usage: analyse LOG [GROUPS] | analyse --stacks LOG\n", stderr);
    return 2;
  }
  const char* const path = wants_stacks ? argv[2] : argv[1];
  site_numbers numbers;
  if (argc == 3 && !wants_stacks && !numbers.read(argv[2])) return failed(argv[2], "no list of groups");
  tarn_record::log from;
  if (!from.open(path)) return failed(path, notes_of(from));
  if (wants_stacks) {
    print_stacks(from);
  } else {
    analysis all{std::move(numbers)};
    read_all(from, all);
    all.print(path, from);
  }
  return from.is_damaged() ? 1 : 0;
}
