// Makes a log out of lines: `convert NEW < LINES`, as print.cc writes them with --stacks, in the order of time.
//
//   command WORDS                  may be missing
//   mapping BEGIN END OFFSET PATH  before the calls whose stacks are in it
//   NANOSECONDS THREAD OPERATION SIZE ALIGNMENT ADDRESS OLD [STANDS_FOR ADDRESS...]
//
// Operations are those of format.h; "-" is nothing; numbers may be hexadecimal, with 0x. Lines with a # are comments. The exit
// status is 1 where a line is wrong: what is before it is in the log.

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "format.h"

namespace {

using namespace tarn_record;

void put(std::string& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>(value | 0x80);
  to += static_cast<char>(value);
}
void put_address(std::string& to, std::uint64_t address, std::uint64_t& last) {
  put(to, code_of(address, last));
  if (address != 0) last = address;
}

/// A block that is being filled.
struct block {
  block_header header{};
  std::string data;
  std::uint64_t last_address = 0;
};

class writer {
 public:
  explicit writer(std::FILE* to) : to_(to) { write(std::string(header_bytes, '\0')); }

  /// What a line says. False: it is wrong.
  bool take(const std::string& line) {
    if (line.empty() || line[0] == '#') return true;
    words_.clear();
    const char* at = line.c_str();
    for (const char* end; at += std::strspn(at, " \t"), *at != 0; at = end) {
      end = at + std::strcspn(at, " \t");
      words_.emplace_back(at, static_cast<std::size_t>(end - at));
      if (words_[0] == "command" && words_.size() == 1) return command_ = end + (*end != 0), true;
      if (words_[0] == "mapping" && words_.size() == 4) return take_mapping(*end == 0 ? end : end + 1);
    }
    return take_call();
  }

  /// False: something couldn't be written.
  bool end() {
    seal(calls_);
    seal(stacks_);
    file_header header{};
    std::memcpy(header.magic, magic, sizeof(magic));
    header.byte_order = byte_order;
    header.version = version;
    header.header_bytes = header_bytes;
    header.clock = clock_kind::nanoseconds;
    header.ended = ending::exit;
    header.blocks = blocks_;
    std::replace(command_.begin(), command_.end(), ' ', '\0');
    std::memcpy(header.command, command_.data(), std::min(command_.size(), sizeof(header.command) - 2));
    if (std::fseek(to_, 0, SEEK_SET) != 0) is_written_ = false;
    write({reinterpret_cast<const char*>(&header), sizeof(header)});
    return is_written_;
  }

 private:
  static constexpr std::size_t full = block_bytes - sizeof(block_header) - 512;

  void write(std::string_view text) { is_written_ &= std::fwrite(text.data(), 1, text.size(), to_) == text.size(); }

  /// Makes a place for an entry.
  void begin(block& in, block_kind kind, std::uint64_t time, std::uint32_t thread, std::size_t bytes) {
    if (in.data.size() + bytes > full) seal(in);
    if (!in.data.empty()) return;
    in.header = {};
    in.last_address = 0;
    in.header.mark = block_mark;
    in.header.kind = kind;
    in.header.thread = thread;
    in.header.first_ticks = time;
    if (kind == block_kind::stacks) in.header.first_stack = last_stack_ + 1;
  }
  void seal(block& in) {
    if (in.data.empty()) return;
    in.header.number = blocks_++;
    in.data.resize((in.data.size() + 7) / 8 * 8);
    in.header.used = static_cast<std::uint32_t>(in.data.size());
    in.data.resize((in.data.size() + 63) / 64 * 64);
    in.header.stored = static_cast<std::uint32_t>(in.data.size());
    in.header.last_ticks = in.header.last_nanoseconds = time_;
    std::string all{reinterpret_cast<const char*>(&in.header), sizeof(in.header)};
    all += in.data;
    in.header.sum = sum_of(all.data());
    all.replace(0, sizeof(in.header), reinterpret_cast<const char*>(&in.header), sizeof(in.header));
    write(all);
    in.data.clear();
  }

  /// False: there is no such word, or it is no number.
  bool number(std::size_t at, std::uint64_t& to) const {
    to = 0;
    if (at >= words_.size()) return false;
    if (words_[at] == "-") return true;
    char* end = nullptr;
    errno = 0;
    to = std::strtoull(words_[at].c_str(), &end, 0);
    return *end == 0 && errno == 0 && words_[at][0] != '+' && words_[at][0] != '-';
  }

  bool take_mapping(std::string_view path) {
    std::uint64_t from, to, offset;
    if (!number(1, from) || !number(2, to) || !number(3, offset) || to < from || path.size() > 8192) return false;
    begin(stacks_, block_kind::stacks, time_, 0, path.size() + most_call_bytes);
    stacks_.data += static_cast<char>(stack_entry::mapping);
    for (const std::uint64_t one : {from, to - from, offset, std::uint64_t{path.size()}}) put(stacks_.data, one);
    stacks_.data += path;
    put(stacks_.data, 0);
    ++stacks_.header.calls;
    return true;
  }

  std::uint32_t stack_number(std::uint32_t outer, std::uint64_t returns_to) {
    std::uint32_t& found = stack_numbers_[{outer, returns_to}];
    if (found != 0) return found;
    begin(stacks_, block_kind::stacks, time_, 0, most_call_bytes);
    found = ++last_stack_;
    stacks_.data += static_cast<char>(stack_entry::frame);
    put_address(stacks_.data, returns_to, stacks_.last_address);
    put(stacks_.data, found - outer);
    ++stacks_.header.calls;
    return found;
  }

  bool take_call() {
    std::uint64_t time, thread, size, alignment, address, old;
    const auto name = words_.size() < 7 ? std::end(names) : std::find(std::begin(names) + 1, std::end(names), words_[2]);
    if (name == std::end(names) || !number(0, time) || !number(1, thread) || !number(3, size) || !number(4, alignment) ||
        !number(5, address) || !number(6, old) || thread == 0 || thread >> 32 != 0 || (alignment & (alignment - 1)) != 0) {
      return false;
    }
    const auto what = static_cast<operation>(name - std::begin(names));
    std::uint64_t stack = 0;
    if (words_.size() > 8 && !frees(what) && !take_stack(stack)) return false;
    time_ = std::max(time, time_);
    begin(calls_, block_kind::calls, time_, static_cast<std::uint32_t>(thread), 2 * most_call_bytes);
    if (calls_.data.empty()) last_time_ = time_, thread_ = thread;
    if (thread != thread_) {
      calls_.data += static_cast<char>(operation::is_thread);
      put(calls_.data, 0);
      put(calls_.data, thread_ = thread);
      calls_.last_address = 0;
    }
    put_call(what, words_[3] != "-", size, alignment, address, old, stack);
    return true;
  }
  bool take_stack(std::uint64_t& to) {
    std::uint64_t stands_for, address;
    if (!number(7, stands_for) || !std::has_single_bit(stands_for) || stands_for >> 32 != 0) return false;
    std::uint32_t stack = 0;
    for (std::size_t i = words_.size(); i-- != 8; stack = stack_number(stack, address)) {
      if (!number(i, address)) return false;
    }
    to = stack | static_cast<std::uint64_t>(std::countr_zero(stands_for)) << stack_bits;
    return true;
  }

  void put_call(operation what, bool says_size, std::uint64_t size, std::uint64_t alignment, std::uint64_t address,
                std::uint64_t old, std::uint64_t stack) {
    std::string& to = calls_.data;
    const bool has_its_size = frees(what) && says_size;
    to += static_cast<char>(static_cast<unsigned>(what) | (alignment != 0 ? has_alignment : 0U) |
                            (has_its_size ? has_size : 0U) | (stack != 0 ? has_stack : 0U));
    put(to, time_ - std::exchange(last_time_, time_));
    if (stack != 0) put(to, stack);
    if (alignment != 0) put(to, static_cast<std::uint64_t>(std::countr_zero(alignment)));
    if (!frees(what) || has_its_size) put(to, size);
    put_address(to, address, calls_.last_address);
    if (moves(what)) {
      put_address(to, old, calls_.last_address);
      put(to, 0);
    }
    ++calls_.header.calls;
  }

  struct hash {
    std::size_t operator()(const std::pair<std::uint32_t, std::uint64_t>& it) const {
      return std::hash<std::uint64_t>{}((it.second ^ it.first * 0x9e3779b97f4a7c15U) * 0xbf58476d1ce4e5b9U);
    }
  };

  std::FILE* to_;
  bool is_written_ = true;
  std::vector<std::string> words_;
  std::string command_;
  block calls_, stacks_;
  std::unordered_map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t, hash> stack_numbers_;
  std::uint32_t last_stack_ = 0, blocks_ = 0;
  std::uint64_t time_ = 0, last_time_ = 0, thread_ = 0;
};

/// The next line of stdin, without its end.
bool next_line(std::string& to) {
  static char* text = nullptr;
  static std::size_t room = 0;
  const auto length = ::getline(&text, &room, stdin);
  if (length < 0) return false;
  to.assign(text, static_cast<std::size_t>(length));
  if (!to.empty() && to.back() == '\n') to.pop_back();
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: convert NEW < LINES\n", stderr), 2;
  std::FILE* const file = std::fopen(argv[1], "wb");
  if (file == nullptr) return std::fprintf(stderr, "%s: %s\n", argv[1], std::strerror(errno)), 2;
  writer to{file};
  std::string line;
  std::size_t number = 0;
  bool is_right = true;
  while (is_right && next_line(line)) {
    ++number;
    is_right = to.take(line);
  }
  if (!is_right) std::fprintf(stderr, "line %zu is wrong, and the log ends before it: %.200s\n", number, line.c_str());
  const bool is_written = to.end();
  if (std::fclose(file) != 0 || !is_written) return std::fprintf(stderr, "%s: it couldn't be written\n", argv[1]), 2;
  return is_right ? 0 : 1;
}
