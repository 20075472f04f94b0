// Reads a log of tools/tarn-record, whose format is in format.h: its calls, of all threads, in the order of time.
//
//   tarn_record::log log;
//   if (!log.open("log")) ... log.notes() say why
//   for (tarn_record::call call; log.next(call);) ...
//   for (const std::string& note : log.notes()) ...  // that it is cut or damaged: what could be read was read
#ifndef TARN_TOOLS_TARN_RECORD_READER_H_
#define TARN_TOOLS_TARN_RECORD_READER_H_

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <queue>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "coding.h"
#include "format.h"

namespace tarn_record {

/// realloc appears twice: when the old block is freed (`begins`), and with its result. In between, other threads may get the
/// old block.
struct call {
  operation what = operation::none;
  bool begins = false;
  bool has_size = false;
  std::uint32_t thread = 0;
  std::uint64_t ticks = 0;
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint64_t alignment = 0;  // 0: none was given
  std::uint64_t old = 0;  // of realloc
  std::uint32_t stack = 0;  // for log.stack(); 0: none is in the log
  std::uint32_t stands_for = 0;  // with a stack: so many calls
};

/// What the program had mapped, and could run. `path` may be empty, or a name such as "[vdso]".
struct mapping {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t offset = 0;  // of `begin` in the file
  std::string path;
  std::string build_id;  // bytes; empty: it has none
  std::uint32_t first_stack = 0;  // earlier stacks were there before it: another may have been at these addresses
};

/// Numbers, one after the other.
class numbers {
 public:
  numbers(const char* at, const char* end) : at_(at), end_(end) {}

  bool is_over() const { return at_ == end_ || *at_ == 0; }
  std::uint8_t byte() { return static_cast<std::uint8_t>(*at_++); }
  bool next(std::uint64_t& to) {
    to = 0;
    for (unsigned shift = 0; shift < 64 && at_ != end_; shift += 7) {
      const std::uint8_t found = byte();
      to |= std::uint64_t{found & 0x7fU} << shift;
      if (found < 0x80) return true;
    }
    return false;
  }
  bool address(std::uint64_t& to) {
    std::uint64_t code;
    if (!next(code)) return false;
    to = address_of(code, last_);
    if (to != 0) last_ = to;
    return true;
  }
  bool text(std::string& to) {
    std::uint64_t length;
    if (!next(length) || length > static_cast<std::uint64_t>(end_ - at_)) return false;
    to.assign(at_, static_cast<std::size_t>(length));
    at_ += length;
    return true;
  }
  void restart() { last_ = 0; }

 private:
  const char* at_;
  const char* end_;
  std::uint64_t last_ = 0;
};

/// The calls of one block.
class block_calls {
 public:
  /// `unpacked`: what `data` is in, if it was compressed.
  block_calls(const block_header& header, std::string_view data, std::string unpacked)
      : header_(header),
        unpacked_(std::move(unpacked)),
        from_(data.data(), data.data() + data.size()),
        thread_(header.thread),
        ticks_(header.first_ticks) {
    if (!unpacked_.empty()) from_ = {unpacked_.data(), unpacked_.data() + unpacked_.size()};
  }
  void drop_data() { unpacked_ = {}; }

  /// Reads a call into `next`. False: there is none, or it isn't valid.
  bool advance() {
    if (next.begins) {
      next.begins = false;
      next.ticks = ticks_;
      return true;
    }
    for (;;) {
      if (from_.is_over()) return false;
      if (!read(from_.byte())) return is_damaged = true, false;
      if (next.what != operation::is_thread) return ++count, true;
      thread_ = static_cast<std::uint32_t>(next.size);
      from_.restart();
    }
  }

  call next;
  std::size_t count = 0;
  bool is_damaged = false;
  const block_header& header() const { return header_; }

 private:
  bool read(std::uint8_t first) {
    next = {};
    next.what = static_cast<operation>(first & operation_bits);
    next.has_size = (first & has_size) != 0;
    std::uint64_t since, stack = 0, binary = 0, took = 0;
    if (!from_.next(since) || ((first & has_stack) != 0 && !from_.next(stack))) return false;
    ticks_ += since;
    next.ticks = ticks_;
    if (next.what == operation::is_thread) return from_.next(next.size);
    if (next.what == operation::none || next.what >= operation::count || stack >> stack_bits > 31) return false;
    next.stack = static_cast<std::uint32_t>(stack);
    if (next.stack != 0) next.stands_for = 1U << (stack >> stack_bits);
    if ((first & has_alignment) != 0 && (!from_.next(binary) || binary > 63)) return false;
    if ((first & has_alignment) != 0) next.alignment = std::uint64_t{1} << binary;
    if ((!frees(next.what) || next.has_size) && !from_.next(next.size)) return false;
    if (!from_.address(next.address)) return false;
    next.thread = thread_;
    if (moves(next.what)) {
      if (!from_.address(next.old) || !from_.next(took)) return false;
      next.begins = true;
      next.ticks -= std::min(next.ticks, took);
    }
    return true;
  }

  block_header header_;
  std::string unpacked_;
  numbers from_;
  std::uint32_t thread_;
  std::uint64_t ticks_;
};

/// The stacks and mappings of all blocks.
class stacks {
 public:
  /// Takes what a block has; false: it isn't valid after `entries`.
  bool add(std::uint32_t first, const char* data, const char* end, std::uint32_t& entries) {
    numbers from{data, end};
    std::vector<frame>& to = parts_[first];
    for (to.clear(), entries = 0; !from.is_over(); ++entries) {
      const auto number = static_cast<std::uint32_t>(first + to.size());
      const auto what = static_cast<stack_entry>(from.byte());
      std::uint64_t address, above, bytes;
      mapping next;
      if (what == stack_entry::frame) {
        if (!from.address(address) || !from.next(above) || above == 0 || above > number) return false;
        to.push_back({address, number - static_cast<std::uint32_t>(above)});
      } else if (what == stack_entry::mapping) {
        if (!from.next(next.begin) || !from.next(bytes) || !from.next(next.offset)) return false;
        if (!from.text(next.path) || !from.text(next.build_id)) return false;
        next.end = next.begin + bytes;
        next.first_stack = number;
        mappings.push_back(std::move(next));
      } else {
        return false;
      }
    }
    return true;
  }

  std::span<const std::uint64_t> of(std::uint32_t number) {
    found_.clear();
    for (const frame* it = frame_of(number); it != nullptr; it = frame_of(it->outer)) found_.push_back(it->returns_to);
    return found_;
  }

  std::vector<mapping> mappings;

 private:
  struct frame {
    std::uint64_t returns_to;
    std::uint32_t outer;  // less than its own number
  };
  const frame* frame_of(std::uint32_t number) const {
    const auto behind = parts_.upper_bound(number);
    if (number == 0 || behind == parts_.begin()) return nullptr;
    const auto& [first, part] = *std::prev(behind);
    return number - first < part.size() ? &part[number - first] : nullptr;
  }

  std::map<std::uint32_t, std::vector<frame>> parts_;  // by the number of the first
  std::vector<std::uint64_t> found_;
};

class log {
 public:
  log() = default;
  log(const log&) = delete;
  log& operator=(const log&) = delete;
  ~log() {
    if (data_ != nullptr) ::munmap(const_cast<char*>(data_), bytes_);
  }

  /// False if that isn't a log; notes() then has one line.
  bool open(const char* path) {
    if (!map(path)) return false;
    if (bytes_ < sizeof(magic) || std::memcmp(data_, magic, sizeof(magic)) != 0) return refuse("no log of tarn-record");
    if (bytes_ < sizeof(file_header)) return refuse("the file ends within its header");
    std::memcpy(&header_, data_, sizeof(header_));
    header_.command[sizeof(header_.command) - 1] = 0;
    if (header_.byte_order != byte_order) return refuse("written by a machine of another byte order");
    if (header_.version != version) {
      return refuse("version " + std::to_string(header_.version) + ", and this program reads version " +
                    std::to_string(version));
    }
    if (header_.header_bytes < sizeof(file_header) || header_.header_bytes % 64 != 0) return refuse("its header is damaged");
    find_blocks();
    say_end();
    return true;
  }

  /// The next call of all threads; false at the end.
  bool next(call& to) {
    while (!streams_.empty() || later_ != blocks_.size()) {
      // Blocks are in the order in which they were begun, so no later block has earlier calls.
      if (later_ != blocks_.size() && (streams_.empty() || header_at(blocks_[later_]).first_ticks <= streams_.top().first)) {
        begin_block(blocks_[later_++]);
        continue;
      }
      block_calls* const from = streams_.top().second;
      to = from->next;
      streams_.pop();
      push(from);
      return true;
    }
    return false;
  }

  /// Where the calls of a stack return to, innermost first, from the caller of malloc or of the operator on. Empty: it isn't in
  /// the log. Valid up to the next call of this.
  std::span<const std::uint64_t> stack(std::uint32_t number) { return stacks_.of(number); }
  /// In the order in which they were seen: of two at the same addresses, the later was there for the later stacks.
  const std::vector<mapping>& mappings() const { return stacks_.mappings; }

  /// Of the file; `to` gets its blocks, one after the other, with their headers, and what isn't a block or is cut.
  std::string_view bytes() const { return {data_, bytes_}; }
  template <class Function>
  void each_block(Function to) const {
    for (std::size_t at = header_.header_bytes; at < bytes_;) {
      const std::size_t bytes = is_block(at) ? sizeof(block_header) + header_at(at).stored : 64;
      const bool is_whole = is_block(at) && bytes <= bytes_ - at;
      to(std::string_view{data_ + at, std::min(bytes, bytes_ - at)}, is_whole);
      at += bytes;
    }
  }

  const file_header& header() const { return header_; }
  /// What is wrong or missing; complete once next() has returned false.
  const std::vector<std::string>& notes() const { return notes_; }
  bool is_damaged() const { return is_damaged_; }
  /// Nanoseconds since the log began. As exact as the first and the last reading of both clocks.
  std::uint64_t nanoseconds(std::uint64_t ticks) const {
    return ticks < header_.first_ticks ? 0
                                       : static_cast<std::uint64_t>(static_cast<double>(ticks - header_.first_ticks) * rate_);
  }

 private:
  // The earliest first; of those at the same time, that of the earlier block.
  using stream = std::pair<std::uint64_t, block_calls*>;
  struct is_later {
    bool operator()(const stream& one, const stream& other) const {
      return one.first != other.first ? one.first > other.first : one.second->header().number > other.second->header().number;
    }
  };

  bool refuse(std::string why) {
    notes_ = {std::move(why)};
    return false;
  }
  void say(std::string note) {
    notes_.push_back(std::move(note));
    is_damaged_ = true;
  }

  bool map(const char* path) {
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    struct stat about{};
    const bool is_there = file >= 0 && ::fstat(file, &about) == 0;
    const int error = errno;
    bytes_ = is_there ? static_cast<std::size_t>(about.st_size) : 0;
    void* const found = bytes_ == 0 ? nullptr : ::mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, file, 0);
    if (file >= 0) ::close(file);
    if (!is_there || found == MAP_FAILED) return refuse(is_there ? "can't be mapped" : std::strerror(error));
    data_ = static_cast<const char*>(found);
    return true;
  }

  block_header header_at(std::size_t at) const {
    block_header found;
    std::memcpy(&found, data_ + at, sizeof(found));
    return found;
  }

  /// Whether a block is at `at`, with what it stores, as far as the file goes.
  bool is_block(std::size_t at) const {
    if (bytes_ - at < sizeof(block_header)) return false;
    const block_header found = header_at(at);
    return found.mark == block_mark && found.stored % 64 == 0 && found.used <= found.stored;
  }

  bool is_zero(std::size_t at) const {
    return std::all_of(data_ + at, data_ + std::min(bytes_, at + sizeof(block_header)), [](char one) { return one == 0; });
  }

  void find_rate(std::uint64_t ticks, std::uint64_t nanoseconds) {
    if (ticks <= header_.first_ticks || nanoseconds <= header_.first_nanoseconds) return;
    const double found = static_cast<double>(nanoseconds - header_.first_nanoseconds) /
                         static_cast<double>(ticks - header_.first_ticks);
    if (found > 1e-3 && found < 1e3) rate_ = found;
  }

  void find_blocks() {
    std::uint32_t expected = 0;
    for (std::size_t at = header_.header_bytes; at < bytes_;) {
      if (!is_block(at)) {
        const std::size_t from = at;
        bool was_begun = false;
        for (; at < bytes_ && !is_block(at); at += 64) was_begun = was_begun || !is_zero(at);
        if (at >= bytes_ && !was_begun) break;
        say("damaged: no block at byte " + std::to_string(from) + ", " + std::to_string(std::min(at, bytes_) - from) +
            " bytes were passed over");
        continue;
      }
      const block_header found = header_at(at);
      if (found.number != expected) {
        say("damaged: block " + std::to_string(found.number) + " follows where " + std::to_string(expected) + " should");
      }
      expected = found.number + 1;
      if (found.kind == block_kind::calls) blocks_.push_back(at);
      if (found.kind == block_kind::stacks) read_stacks(at);
      if (header_.last_ticks == 0) find_rate(found.last_ticks, found.last_nanoseconds);
      at += sizeof(block_header) + found.stored;
      if (at > bytes_) say("cut: the file ends within block " + std::to_string(found.number));
    }
    if (!is_damaged_ && expected < header_.blocks) {
      say("cut: of " + std::to_string(header_.blocks) + " blocks, only " + std::to_string(expected) + " are there");
    }
    find_rate(header_.last_ticks, header_.last_nanoseconds);
    if (rate_ == 0 && header_.clock != clock_kind::nanoseconds && !blocks_.empty()) {
      notes_.push_back("times are ticks of the processor's clock: the program ended too early to tell nanoseconds");
    }
    if (rate_ == 0) rate_ = 1;
    std::sort(blocks_.begin(), blocks_.end(), [this](std::size_t one, std::size_t other) {
      return std::pair{header_at(one).first_ticks, one} < std::pair{header_at(other).first_ticks, other};
    });
  }

  void say_end() {
    if (header_.stopped == stop::full) {
      notes_.push_back("full: " + std::to_string(header_.most_bytes) + " bytes were allowed; what came later is missing");
    } else if (header_.stopped == stop::error) {
      notes_.push_back("stopped: the file couldn't grow (" + std::string{std::strerror(static_cast<int>(header_.error))} +
                       "); what came later is missing");
    } else if (header_.ended == ending::none) {
      notes_.push_back("no end: the program runs, was killed, or ended by _exit() or exec()");
    }
  }

  /// What a block has, as far as it is there; no data, and said, if it can't be read. `unpacked` has it if it was compressed.
  std::string_view data_of(std::size_t at, std::string& unpacked) {
    const block_header found = header_at(at);
    const std::string name = "block " + std::to_string(found.number);
    const std::size_t there = std::min<std::size_t>(found.stored, bytes_ - at - sizeof(found));
    const bool is_whole = found.sum != 0 && found.used <= there;
    if (found.coding > coding_zstd) return say(name + " has a coding that this program doesn't know"), std::string_view{};
    if (is_whole && sum_of(data_ + at) != found.sum) {
      return say("damaged: " + name + ", which was passed over"), std::string_view{};
    }
    const std::string_view data{data_ + at + sizeof(found), is_whole ? found.used : there};
    if (found.coding == 0) return data;
    if (!zstd::here().is_there()) return say(name + " is compressed, and libzstd.so.1 isn't here"), std::string_view{};
    if (is_whole) unpacked = zstd::here().plain(data, most_plain_bytes);
    if (unpacked.empty()) return say("damaged: " + name + ", which can't be unpacked"), std::string_view{};
    return unpacked;
  }

  void read_stacks(std::size_t at) {
    const block_header found = header_at(at);
    std::string unpacked;
    const std::string_view data = data_of(at, unpacked);
    if (data.data() == nullptr) return;
    std::uint32_t entries;
    const bool is_valid = stacks_.add(found.first_stack, data.data(), data.data() + data.size(), entries);
    if (is_valid && (found.sum == 0 || entries == found.calls)) return;
    say("damaged: only " + std::to_string(entries) + " stacks and mappings of block " + std::to_string(found.number) +
        " could be read");
  }

  void begin_block(std::size_t at) {
    std::string unpacked;
    const std::string_view data = data_of(at, unpacked);
    if (data.data() == nullptr) return;
    all_.push_back(std::make_unique<block_calls>(header_at(at), data, std::move(unpacked)));
    push(all_.back().get());
  }

  /// Notes whether calls are missing when those of a block are over.
  void push(block_calls* from) {
    if (from->advance()) return streams_.push({from->next.ticks, from});
    from->drop_data();
    const std::string read = std::to_string(from->count) + " calls of block " + std::to_string(from->header().number);
    if (from->is_damaged) return say("damaged: only " + read + " could be read");
    if (from->header().sum != 0 && from->count != from->header().calls) {
      say("only " + read + " are there, which had " + std::to_string(from->header().calls));
    }
  }

  const char* data_ = nullptr;
  std::size_t bytes_ = 0;
  file_header header_{};
  double rate_ = 0;  // nanoseconds a tick
  std::vector<std::size_t> blocks_;  // where they are
  std::size_t later_ = 0;  // the first of them that was not begun
  stacks stacks_;
  std::vector<std::unique_ptr<block_calls>> all_;
  std::priority_queue<stream, std::vector<stream>, is_later> streams_;
  std::vector<std::string> notes_;
  bool is_damaged_ = false;
};

}  // namespace tarn_record

#endif  // TARN_TOOLS_TARN_RECORD_READER_H_
