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
#include <memory>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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
};

/// The calls of one block.
class block_calls {
 public:
  block_calls(const block_header& header, const char* data, const char* end)
      : header_(header), at_(data), end_(end), thread_(header.thread), ticks_(header.first_ticks) {}

  /// Reads a call into `next`. False: there is none, or it isn't valid.
  bool advance() {
    if (next.begins) {
      next.begins = false;
      next.ticks = ticks_;
      return true;
    }
    for (;;) {
      if (at_ == end_ || *at_ == 0) return false;
      const auto first = static_cast<std::uint8_t>(*at_++);
      if (!read(first)) return is_damaged = true, false;
      if (next.what != operation::is_thread) return ++count, true;
      thread_ = static_cast<std::uint32_t>(next.size);
      last_ = 0;
    }
  }

  call next;
  std::size_t count = 0;
  bool is_damaged = false;
  const block_header& header() const { return header_; }

 private:
  bool number(std::uint64_t& to) {
    to = 0;
    for (unsigned shift = 0; shift < 64 && at_ != end_; shift += 7) {
      const auto byte = static_cast<std::uint8_t>(*at_++);
      to |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool address(std::uint64_t& to) {
    std::uint64_t code;
    if (!number(code)) return false;
    to = address_of(code, last_);
    if (to != 0) last_ = to;
    return true;
  }

  bool read(std::uint8_t first) {
    next = {};
    next.what = static_cast<operation>(first & operation_bits);
    next.has_size = (first & has_size) != 0;
    std::uint64_t since, stack, binary = 0, took = 0;
    if (!number(since) || ((first & has_stack) != 0 && !number(stack))) return false;
    ticks_ += since;
    next.ticks = ticks_;
    if (next.what == operation::is_thread) return number(next.size);
    if (next.what == operation::none || next.what >= operation::count) return false;
    if ((first & has_alignment) != 0 && (!number(binary) || binary > 63)) return false;
    if ((first & has_alignment) != 0) next.alignment = std::uint64_t{1} << binary;
    if ((!frees(next.what) || next.has_size) && !number(next.size)) return false;
    if (!address(next.address)) return false;
    next.thread = thread_;
    if (moves(next.what)) {
      if (!address(next.old) || !number(took)) return false;
      next.begins = true;
      next.ticks -= std::min(next.ticks, took);
    }
    return true;
  }

  block_header header_;
  const char* at_;
  const char* end_;
  std::uint32_t thread_;
  std::uint64_t ticks_;
  std::uint64_t last_ = 0;
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

  void find_blocks() {
    std::uint32_t expected = 0;
    for (std::size_t at = header_.header_bytes; at < bytes_;) {
      if (!is_block(at)) {
        if (is_zero(at)) return;  // it wasn't begun yet
        const std::size_t from = at;
        while (at < bytes_ && !is_block(at)) at += 64;
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
      if (found.last_ticks > header_.first_ticks && found.last_nanoseconds > header_.first_nanoseconds) {
        rate_ = static_cast<double>(found.last_nanoseconds - header_.first_nanoseconds) /
                static_cast<double>(found.last_ticks - header_.first_ticks);
      }
      at += sizeof(block_header) + found.stored;
      if (at > bytes_) say("cut: the file ends within block " + std::to_string(found.number));
    }
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

  void begin_block(std::size_t at) {
    const block_header found = header_at(at);
    const std::string name = "block " + std::to_string(found.number);
    const std::size_t there = std::min<std::size_t>(found.stored, bytes_ - at - sizeof(found));
    const bool is_sealed = found.sum != 0, is_whole = is_sealed && found.used <= there;
    if (found.coding != 0) return say(name + " has a coding that this program doesn't know");
    if (is_whole && sum_of(data_ + at) != found.sum) return say("damaged: " + name + ", which was passed over");
    const char* const data = data_ + at + sizeof(found);
    all_.push_back(std::make_unique<block_calls>(found, data, data + (is_whole ? found.used : there)));
    push(all_.back().get());
  }

  /// Notes whether calls are missing when those of a block are over.
  void push(block_calls* from) {
    if (from->advance()) return streams_.push({from->next.ticks, from});
    const std::string read = std::to_string(from->count) + " calls of block " + std::to_string(from->header().number);
    if (from->is_damaged) return say("damaged: only " + read + " could be read");
    if (from->header().sum != 0 && from->count != from->header().calls) {
      say("only " + read + " are there, which had " + std::to_string(from->header().calls));
    }
  }

  const char* data_ = nullptr;
  std::size_t bytes_ = 0;
  file_header header_{};
  double rate_ = 1;  // nanoseconds a tick
  std::vector<std::size_t> blocks_;  // where they are
  std::size_t later_ = 0;  // the first of them that was not begun
  std::vector<std::unique_ptr<block_calls>> all_;
  std::priority_queue<stream, std::vector<stream>, is_later> streams_;
  std::vector<std::string> notes_;
  bool is_damaged_ = false;
};

}  // namespace tarn_record

#endif  // TARN_TOOLS_TARN_RECORD_READER_H_
