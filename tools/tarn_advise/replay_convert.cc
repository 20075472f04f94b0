// Writes a log's calls as steps for a replay, and says in JSON what they are.
//
//   replay_convert LOG GROUPS STEPS MOST SITE...
//
// GROUPS: a file as sites.h reads, or "-". Blocks of the first SITE get column 1, and so on; all others get column 0. Of a long
// log, the MOST calls in its middle are written. They are replayed by one thread, in the log's order, unless a block of a site
// is freed by another thread than allocated it. Then each thread of the program has its own steps, and waits for the step that
// allocates the block it frees. No thread is more than two spans ahead of another, as if a queue were between them. Each wait
// costs more than a call: a thread that only frees what another allocates waits once for all that the other does in a span.

#include <algorithm>
#include <array>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <sys/mman.h>
#include <sys/stat.h>

#include "replay_file.h"
#include "sites.h"

namespace {

using namespace tarn_advise;
using tarn_record::operation;
using tarn_record::trace;

constexpr std::uint32_t nobody = ~std::uint32_t{0};
constexpr std::uint64_t most_resized = 100;  // one of so many blocks
constexpr std::size_t most_span = 4096;  // steps of the log
constexpr std::size_t most_unused = most_span;  // places that a thread keeps for itself

struct column_facts {
  std::uint64_t taken = 0, given = 0, given_by_others = 0, resized = 0;
  std::uint64_t live = 0, most_live = 0, bytes = 0, most_bytes = 0;
  std::uint64_t threads = 0;  // bits
};

/// Memory that is used as far as it is written.
void* room_of(std::size_t bytes) {
  void* const found = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return found == MAP_FAILED ? nullptr : found;
}

/// The steps of a part of a log, in its order.
struct part {
  trace steps{};
  const step* begin = nullptr;  // behind the prelude
  std::vector<std::uint32_t> threads;  // of each step from `begin` on: a number from 0 on
  std::uint32_t thread_count = 0;
  std::uint64_t calls = 0, skipped = 0, read = 0;  // of the log
  std::uint64_t other_columns = 0;  // bits: columns with a block that doesn't come from operator new
  std::vector<std::string> notes;
};

std::uint64_t calls_of(const char* path) {
  tarn_record::log from;
  std::uint64_t found = 0;
  if (from.open(path)) {
    for (tarn_record::call it; from.next(it);) found += !it.begins;
  }
  return found;
}

class part_reader {
 public:
  part_reader(step* room, site_numbers& sites, const std::unordered_map<std::uint32_t, std::uint8_t>& columns)
      : steps_(room), sites_(sites), columns_(columns) {}

  /// Reads `most` calls behind the first `skipped`. False: that is no log.
  bool read(const char* path, std::uint64_t skipped, std::uint64_t most, part& to) {
    tarn_record::log from;
    const bool is_log = from.open(path);
    const std::uint64_t end = skipped + most;
    std::uint64_t at = 0;
    for (tarn_record::call it; is_log && at != end && from.next(it);) {
      if (at == skipped && to.begin == nullptr) begin(to);
      add(it);
      if (to.begin == nullptr) steps_.forget();
      else to.threads.resize(static_cast<std::size_t>(steps_.at() - to.begin), number_of(it.thread));
      at += !it.begins;
    }
    if (to.begin == nullptr) begin(to);
    to.read = at - std::min(at, skipped);
    to.skipped = skipped;
    to.steps = steps_.result();
    to.thread_count = static_cast<std::uint32_t>(numbers_.size());
    to.notes = from.notes();
    to.other_columns = others_;
    return is_log;
  }

 private:
  void begin(part& to) {
    steps_.begin_here();
    to.begin = steps_.at();
  }
  void add(const tarn_record::call& it) {
    const bool allocates = !it.begins && !tarn_record::frees(it.what) && it.address != 0;
    const auto found = allocates ? columns_.find(sites_.of(it)) : columns_.end();
    const std::uint8_t column = found == columns_.end() ? std::uint8_t{0} : found->second;
    const bool is_operator = it.what == operation::new_ || it.what == operation::new_array;
    if (allocates && !is_operator) others_ |= std::uint64_t{1} << column;
    steps_.add(it, column);
  }
  std::uint32_t number_of(std::uint32_t thread) {
    return numbers_.try_emplace(thread, static_cast<std::uint32_t>(numbers_.size())).first->second;
  }

  tarn_record::trace_converter steps_;
  site_numbers& sites_;
  const std::unordered_map<std::uint32_t, std::uint8_t>& columns_;
  std::unordered_map<std::uint32_t, std::uint32_t> numbers_;
  std::uint64_t others_ = 0;
};

/// Blocks that realloc() gets become malloc's, if they are few of their column: a pool's can't be reallocated, and of frequent
/// calls, some are taken for those of another site (sites.h). `steps`: the first of all.
void exclude_resized(step* steps, const part& all) {
  std::array<std::uint64_t, most_columns> taken{}, resized{};
  step* const end = steps + (all.steps.all_end - all.steps.begin);
  for (const step* at = steps; at != end; ++at) {
    taken[at->column] += at->what == step_kind::take || at->what == step_kind::take_zeroed;
    resized[at->column] += at->what == step_kind::resize;
  }
  std::vector<step*> takers(all.steps.places, nullptr);
  for (step* at = steps; at != end; ++at) {
    step*& taker = takers[at->place];
    if (at->what == step_kind::take || at->what == step_kind::take_zeroed) taker = at;
    else if (at->what == step_kind::resize && resized[at->column] * most_resized < taken[at->column]) taker->column = 0;
    at->column = taker->column;
  }
}

/// Counts what happens to the blocks of each column.
std::vector<column_facts> facts_of(const part& all, std::size_t columns) {
  std::vector<column_facts> found(columns);
  std::vector<std::uint32_t> takers(all.steps.places, nobody);
  for (const step* at = all.steps.begin; at != all.steps.end; ++at) {
    const std::uint32_t thread = at < all.begin ? nobody : all.threads[static_cast<std::size_t>(at - all.begin)];
    column_facts& its = found[at->column];
    const bool gives = at->what == step_kind::give, resizes = at->what == step_kind::resize;
    if (thread != nobody) {
      its.threads |= std::uint64_t{1} << std::min<std::uint32_t>(thread, 63);
      its.taken += !gives && !resizes;
      its.given += gives;
      its.given_by_others += (gives || resizes) && takers[at->place] != nobody && takers[at->place] != thread;
    }
    its.resized += resizes;
    its.bytes -= gives ? at->bytes : resizes ? at->old_bytes : 0;
    its.bytes += gives ? 0 : at->bytes;
    its.live = its.live + (!gives && !resizes) - gives;
    its.most_live = std::max(its.most_live, its.live);
    its.most_bytes = std::max(its.most_bytes, its.bytes);
    takers[at->place] = gives ? nobody : thread;
  }
  return found;
}

struct own_steps {
  std::vector<step> steps;
  std::vector<hold> holds;
  std::uint64_t fullest = 0;
};

/// Which thread needs, within a span, what which other does there: a bit for each.
class needs {
 public:
  needs(const part& all, const step* from, const step* to) {
    std::unordered_map<std::uint32_t, std::uint32_t> last;  // of each place, who did a step with it
    for (const step* at = from; at != to; ++at) {
      const std::uint32_t thread = all.threads[static_cast<std::size_t>(at - all.begin)];
      const auto found = last.find(at->place);
      const bool takes = at->what == step_kind::take || at->what == step_kind::take_zeroed;
      if (!takes && found != last.end() && found->second != thread) of_[thread] |= 1U << found->second;
      last[at->place] = thread;
      ++counts_[thread];
    }
    reached_ = of_;
    for (std::size_t over = 0; over != most_threads; ++over) {
      for (std::uint32_t& its : reached_) its |= (its >> over & 1) != 0 ? reached_[over] : 0;
    }
  }
  /// Whether `thread` needs `other`, which can do its steps of the span before.
  bool can_wait_for_all(std::uint32_t thread, std::uint32_t other) const {
    return (of_[thread] >> other & 1) != 0 && (reached_[other] >> thread & 1) == 0;
  }
  std::uint64_t count(std::uint32_t thread) const { return counts_[thread]; }

 private:
  std::array<std::uint32_t, most_threads> of_{}, reached_{};
  std::array<std::uint64_t, most_threads> counts_{};
};

/// Deals the steps out to threads, and says which waits for which.
class dealer {
 public:
  explicit dealer(const part& all) : all_(all), known_(all.thread_count), unused_(all.thread_count), done_(all.thread_count) {}

  std::vector<own_steps> deal(std::vector<step>& prelude, std::vector<step>& left) {
    threads_.resize(all_.thread_count);
    for (std::vector<std::uint64_t>& one : known_) one.resize(all_.thread_count);
    blocks_.resize(all_.steps.places);
    for (const step* at = all_.steps.begin; at != all_.begin; ++at) {
      prelude.push_back(*at);
      blocks_[at->place] = {prelude.back().place = places_++, nobody, 0};
    }
    const auto span = static_cast<std::ptrdiff_t>(std::clamp<std::size_t>(256 * threads_.size(), 512, most_span));
    for (const step* at = all_.begin; at != all_.steps.end;) {
      const step* const end = at + std::min(span, all_.steps.end - at);
      begin_span(needs{all_, at, end});
      const bool has_fullest = at < all_.steps.fullest && all_.steps.fullest <= end;
      for (; at != end; ++at) add(all_.threads[static_cast<std::size_t>(at - all_.begin)], *at);
      if (has_fullest) note_fullest();  // all meet there, so that it is where no thread waits for another
    }
    for (const step* at = all_.steps.end; at != all_.steps.all_end; ++at) {
      left.push_back(*at);
      left.back().place = blocks_[at->place].place;
    }
    return std::move(threads_);
  }
  std::uint64_t places() const { return places_; }

 private:
  struct block {
    std::uint32_t place = 0, thread = nobody;  // who has last done a step with it
    std::uint64_t until = 0;  // and how many steps that thread had done then
  };

  void add(std::uint32_t thread, step it) {
    own_steps& own = threads_[thread];
    block& its = blocks_[it.place];
    if (it.what == step_kind::take || it.what == step_kind::take_zeroed) its.place = take_place(thread);
    else if (its.thread != nobody && its.thread != thread) wait(thread, its.thread, its.until);
    it.place = its.place;
    own.steps.push_back(it);
    its.thread = thread;
    its.until = own.steps.size();
    if (it.what == step_kind::give) give_place(thread, its);
  }
  void wait(std::uint32_t thread, std::uint32_t other, std::uint64_t until) {
    if (known_[thread][other] >= until) return;
    known_[thread][other] = until;
    threads_[thread].holds.push_back({threads_[thread].steps.size(), until, other});
  }
  /// One that this thread gave back, so that it waits for nobody; or one that another gave back long ago.
  std::uint32_t take_place(std::uint32_t thread) {
    if (!unused_[thread].empty()) {
      const std::uint32_t found = unused_[thread].back().place;
      unused_[thread].pop_back();
      return found;
    }
    if (common_.empty()) return places_++;
    const block found = common_.front();
    common_.pop_front();
    if (found.thread != thread) wait(thread, found.thread, found.until);
    return found.place;
  }
  void give_place(std::uint32_t thread, const block& its) {
    unused_[thread].push_back(its);
    if (unused_[thread].size() <= most_unused) return;
    common_.push_back(unused_[thread].front());
    unused_[thread].pop_front();
  }
  void begin_span(const needs& here) {
    for (std::uint32_t thread = 0; thread != threads_.size(); ++thread) {
      for (std::uint32_t other = 0; other != threads_.size(); ++other) {
        if (thread == other || here.count(thread) == 0) continue;
        wait(thread, other, done_[other]);
        if (here.can_wait_for_all(thread, other)) wait(thread, other, threads_[other].steps.size() + here.count(other));
      }
    }
    for (std::size_t thread = 0; thread != threads_.size(); ++thread) done_[thread] = threads_[thread].steps.size();
  }
  void note_fullest() {
    for (own_steps& own : threads_) own.fullest = own.steps.size();
  }

  const part& all_;
  std::vector<own_steps> threads_;
  std::vector<std::vector<std::uint64_t>> known_;  // [thread][other]: steps of the other that are done before
  std::vector<std::deque<block>> unused_;
  std::deque<block> common_;
  std::vector<std::uint64_t> done_;  // when the last span began
  std::vector<block> blocks_;
  std::uint32_t places_ = 0;
};

template <class T>
std::uint64_t put(std::ofstream& file, std::span<const T> all) {
  const auto at = static_cast<std::uint64_t>(file.tellp());
  file.write(reinterpret_cast<const char*>(all.data()), static_cast<std::streamsize>(all.size_bytes()));
  return at;
}
void put(std::ofstream& file, replay_thread& to, std::span<const step> steps, std::span<const hold> holds,
         std::uint64_t fullest) {
  to.steps = put(file, steps);
  to.step_count = steps.size();
  to.holds = put(file, holds);
  to.hold_count = holds.size();
  to.fullest = fullest;
}

/// The steps as they are, which one thread does.
void put_all(std::ofstream& file, const part& all, replay_header& header) {
  header.prelude = put(file, std::span{all.steps.begin, all.begin});
  header.prelude_count = static_cast<std::uint64_t>(all.begin - all.steps.begin);
  const step* const fullest = std::max(all.steps.fullest, all.begin);
  put(file, header.threads[0], {all.begin, all.steps.end}, {}, static_cast<std::uint64_t>(fullest - all.begin));
  header.left = put(file, std::span{all.steps.end, all.steps.all_end});
  header.left_count = static_cast<std::uint64_t>(all.steps.all_end - all.steps.end);
  header.place_count = all.steps.places;
}
/// The steps of several threads.
void put_dealt(std::ofstream& file, const part& all, replay_header& header) {
  std::vector<step> prelude, left;
  dealer cards{all};
  const std::vector<own_steps> threads = cards.deal(prelude, left);
  header.prelude = put(file, std::span<const step>{prelude});
  header.prelude_count = prelude.size();
  for (std::size_t at = 0; at != threads.size(); ++at) {
    put(file, header.threads[at], threads[at].steps, threads[at].holds, threads[at].fullest);
  }
  header.left = put(file, std::span<const step>{left});
  header.left_count = left.size();
  header.place_count = cards.places();
}

bool write(const char* path, const part& all, replay_header header) {
  std::ofstream file{path, std::ios::binary};
  file.write(reinterpret_cast<const char*>(&header), sizeof(header));
  header.thread_count = all.thread_count;
  if (all.thread_count == 1) put_all(file, all, header);
  else put_dealt(file, all, header);
  header.magic = replay_magic;
  header.bytes = static_cast<std::uint64_t>(file.tellp());
  file.seekp(0);
  file.write(reinterpret_cast<const char*>(&header), sizeof(header));
  file.close();
  return !file.fail();
}

void print(const part& all, const std::vector<column_facts>& columns, std::uint32_t threads, std::uint32_t seen) {
  std::printf("{\"calls\": %" PRIu64 ", \"skipped\": %" PRIu64 ", \"replayed\": %" PRIu64 ", \"steps\": %zu, ", all.calls,
              all.skipped, all.read, static_cast<std::size_t>(all.steps.end - all.begin));
  std::printf("\"prelude\": %zu, \"threads\": %u, \"threads_seen\": %u, \"columns\": [",
              static_cast<std::size_t>(all.begin - all.steps.begin), threads, seen);
  const char* comma = "";
  for (const column_facts& its : columns) {
    std::printf("%s{\"taken\": %" PRIu64 ", \"given\": %" PRIu64 ", \"given_by_others\": %" PRIu64 ", \"resized\": %" PRIu64
                ", \"threads\": %d, \"peak_live\": %" PRIu64 ", \"peak_bytes\": %" PRIu64 "}",
                comma, its.taken, its.given, its.given_by_others, its.resized, std::popcount(its.threads), its.most_live,
                its.most_bytes);
    comma = ", ";
  }
  std::puts("]}");
  for (const std::string& note : all.notes) std::fprintf(stderr, "%s\n", note.c_str());
}

replay_header header_of(const std::vector<column_facts>& columns, const part& all) {
  replay_header header{};
  header.column_count = columns.size();
  for (std::size_t at = 0; at != columns.size(); ++at) {
    header.shared_columns |= std::uint64_t{std::popcount(columns[at].threads) > 1} << at;
    const bool is_resized = columns[at].resized != 0, is_operator = (all.other_columns >> at & 1) == 0;
    header.resized_columns |= std::uint64_t{is_resized} << at;
    header.operator_columns |= std::uint64_t{is_operator && !is_resized} << at;
  }
  return header;
}
bool are_freed_by_others(const std::vector<column_facts>& columns) {
  return std::any_of(columns.begin() + 1, columns.end(), [](const column_facts& its) { return its.given_by_others != 0; });
}

int convert(char** words, int sites) {
  const char* const path = words[0];
  const std::uint64_t most = std::strtoull(words[3], nullptr, 10);
  struct stat about{};
  if (::stat(path, &about) != 0 || about.st_size == 0) return std::fprintf(stderr, "%s: no such log\n", path), 2;
  site_numbers numbers;
  if (std::strcmp(words[1], "-") != 0 && !numbers.read(words[1])) return std::fprintf(stderr, "%s: no groups\n", words[1]), 2;
  std::unordered_map<std::uint32_t, std::uint8_t> columns;
  for (int at = 0; at != sites; ++at) {
    columns.emplace(static_cast<std::uint32_t>(std::strtoul(words[4 + at], nullptr, 10)), static_cast<std::uint8_t>(at + 1));
  }
  part all;
  all.calls = calls_of(path);
  // A call has two steps at most. Each block in use has one more in front, and one at the end.
  auto* const room = static_cast<step*>(room_of((4 * all.calls + 16) * sizeof(step)));
  if (room == nullptr) return std::fprintf(stderr, "there is no room for the steps\n"), 2;
  const std::uint64_t skipped = all.calls > most ? (all.calls - most) / 2 : 0;
  if (!part_reader{room, numbers, columns}.read(path, skipped, most, all)) {
    return std::fprintf(stderr, "%s: %s\n", path, all.notes.empty() ? "no log" : all.notes[0].c_str()), 2;
  }
  exclude_resized(room + (all.steps.begin - room), all);
  const std::vector<column_facts> facts = facts_of(all, static_cast<std::size_t>(sites) + 1);
  const std::uint32_t seen = all.thread_count;
  if (!are_freed_by_others(facts) || all.thread_count > most_threads) {
    all.thread_count = 1;
  }
  if (!write(words[2], all, header_of(facts, all))) return std::fprintf(stderr, "%s can't be written\n", words[2]), 2;
  print(all, facts, all.thread_count, seen);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5 || argc - 5 >= static_cast<int>(most_columns)) {
    std::fprintf(stderr, "usage: replay_convert LOG GROUPS STEPS MOST SITE...\n");
    return 2;
  }
  return convert(argv + 1, argc - 5);
}
