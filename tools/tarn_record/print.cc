// Prints a log of tools/tarn-record.
//
//   print --calls LOG    each call on a line: nanoseconds, thread, operation, size, alignment, address, old address or "-"; the
//                        word may be left out
//   print --stacks LOG   first each mapping on a line: "mapping", begin, end, offset, path; then the calls, and behind each how
//                        many it stands for and the addresses to which its callers return, if that is known
//   print --summary LOG  what there is of each operation
//
// On stderr it says what is missing. The exit status is 1 where the log is damaged, and 2 where the file is none.

#include <array>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "reader.h"

namespace {

using namespace tarn_record;

const char* name_of(operation it) { return names[static_cast<std::size_t>(it)]; }

/// A line, made without printf(), which would take most of the time.
class line {
 public:
  line& number(std::uint64_t value, int base = 10) {
    char digits[24];
    to_.append(digits, static_cast<std::size_t>(std::to_chars(digits, std::end(digits), value, base).ptr - digits));
    return *this;
  }
  line& address(std::uint64_t value) { return text(value == 0 ? "0" : "0x"), value == 0 ? *this : number(value, 16); }
  line& text(std::string_view what) { return to_ += what, *this; }
  void print() {
    to_ += '\n';
    std::fwrite(to_.data(), 1, to_.size(), stdout);
    to_.clear();
  }

 private:
  std::string to_;
};

void print(log& from, const call& it, bool with_stack, line& to) {
  const auto optional = [&](bool is_there, std::uint64_t value) {
    if (is_there) to.text(" ").number(value);
    else to.text(" -");
  };
  const auto address = [&](std::uint64_t value) {
    if (value != 0) to.text(" ").address(value);
    else to.text(" -");
  };
  to.number(from.nanoseconds(it.ticks)).text(" ").number(it.thread).text(" ").text(name_of(it.what));
  optional(!frees(it.what) || it.has_size, it.size);
  optional(it.alignment != 0, it.alignment);
  address(it.address);
  address(it.old);
  if (with_stack && it.stack != 0) {
    to.text(" ").number(it.stands_for);
    for (const std::uint64_t one : from.stack(it.stack)) to.text(" ").address(one);
  }
  to.print();
}
void print(const mapping& it, line& to) {
  to.text("mapping ").address(it.begin).text(" ").address(it.end).text(" ").address(it.offset).text(" ").text(it.path).print();
}

class summary {
 public:
  void add(const call& it) {
    if (!it.begins) {
      ++counts_[static_cast<std::size_t>(it.what)];
      with_stack_ += it.stack != 0;
      stacks_.insert(it.stack);
    }
    threads_.insert(it.thread);
    if (it.begins) moving_[it.thread] = end(it.old);
    else if (frees(it.what)) end(it.address);
    else if (it.address != 0) begin(it.address, it.size);
    else if (moves(it.what) && it.size != 0) begin(it.old, moving_[it.thread]);  // there was no memory: it stays
  }

  void print(const log& from) const {
    const char* const command = from.header().command;
    for (const char* word = command; *word != 0 && word < command + sizeof(from.header().command);
         word += std::strlen(word) + 1) {
      std::printf("%s%s", word == command ? "" : " ", word);
    }
    std::printf("\nprocess %u%s, %zu threads, %" PRIu64 " bytes in use at most, %" PRIu64 " at the end\n",
                from.header().process, from.header().is_fork != 0 ? " (a fork)" : "", threads_.size(), most_, live_);
    for (std::size_t i = 0; i != counts_.size(); ++i) {
      if (counts_[i] != 0) std::printf("%-14s %" PRIu64 "\n", names[i], counts_[i]);
    }
    if (with_stack_ != 0) {
      std::printf("%zu stacks, of %" PRIu64 " calls; %zu mappings\n", stacks_.size() - stacks_.count(0), with_stack_,
                  from.mappings().size());
    }
  }

 private:
  void begin(std::uint64_t address, std::uint64_t size) {
    end(address);
    if (address != 0) live_ += bytes_[address] = size;
    most_ = std::max(most_, live_);
  }
  /// Returns what it had; 0 for one from before a fork.
  std::uint64_t end(std::uint64_t address) {
    const auto found = bytes_.find(address);
    if (found == bytes_.end()) return 0;
    const std::uint64_t had = found->second;
    live_ -= had;
    bytes_.erase(found);
    return had;
  }

  std::array<std::uint64_t, static_cast<std::size_t>(operation::count)> counts_{};
  std::set<std::uint32_t> threads_;
  std::unordered_set<std::uint32_t> stacks_;
  std::uint64_t with_stack_ = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> bytes_;  // of each block in use
  std::unordered_map<std::uint32_t, std::uint64_t> moving_;  // of what a thread reallocates
  std::uint64_t live_ = 0, most_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc == 3 ? argv[1] : "--calls";
  const bool sums_up = what == "--summary", with_stacks = what == "--stacks";
  if (argc < 2 || argc > 3 || (!sums_up && !with_stacks && what != "--calls")) {
    std::fputs("usage: print [--calls | --stacks | --summary] LOG\n", stderr);
    return 2;
  }
  const char* const path = argv[argc - 1];
  log from;
  const bool is_log = from.open(path);
  line to;
  for (const mapping& it : with_stacks ? from.mappings() : std::vector<mapping>{}) print(it, to);
  summary all;
  for (call it; is_log && from.next(it);) {
    if (sums_up) all.add(it);
    else if (!it.begins) print(from, it, with_stacks, to);
  }
  if (is_log && sums_up) all.print(from);
  for (const std::string& note : from.notes()) std::fprintf(stderr, "%s: %s\n", path, note.c_str());
  return !is_log ? 2 : from.is_damaged() ? 1 : 0;
}
