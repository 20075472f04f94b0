// Pool records as text: JSON, what Prometheus and OpenMetrics read, and the columns of Linux' slabinfo. Written into a buffer
// without memory, locks or the C library, so that a signal handler may do it.
#ifndef TARN_POLICIES_NAME_RECORD_TEXT_H_
#define TARN_POLICIES_NAME_RECORD_TEXT_H_

#include <cstddef>
#include <cstdint>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/span.h"
#include "tarn/policies/name/pool_record.h"

namespace tarn::detail {

/// Writes what there is room for, and counts all.
class text_writer {
 public:
  explicit text_writer(span<char> out) noexcept : out_(out) {}

  std::size_t written() const noexcept { return at_; }
  void put(char c) noexcept {
    if (at_ < out_.size()) out_[at_] = c;
    ++at_;
  }
  void put(const char* text) noexcept {
    for (; *text != 0; ++text) put(*text);
  }
  void put_number(std::uintptr_t number, unsigned base = 10) noexcept {
    char digits[3 * sizeof number];
    std::size_t n = 0;
    do digits[n++] = "0123456789abcdef"[number % base];
    while ((number /= base) != 0);
    while (n != 0) put(digits[--n]);
  }
  void put_address(const void* p) noexcept {
    put("0x");
    put_number(address_of(p), 16);
  }
  /// Escapes as `escape(c)` says, which writes a character of ASCII, and replaces what isn't UTF-8: a name may be cut anywhere.
  template <class Escape>
  void put_text(const char* text, Escape escape) noexcept {
    while (*text != 0) {
      const std::size_t n = character(text);
      if (n == 0) {
        put("\xEF\xBF\xBD");  // U+FFFD
        ++text;
      } else if (n == 1) {
        escape(*text++);
      } else {
        for (std::size_t i = 0; i != n; ++i) put(*text++);
      }
    }
  }

 private:
  /// Bytes of the character of UTF-8 that the text begins with; 0: of none (RFC 3629, section 4).
  static std::size_t character(const char* text) noexcept {
    const auto at = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const auto follows = [&at](std::size_t i) { return (at(i) & 0xC0) == 0x80; };
    const unsigned char first = at(0);
    if (first < 0x80) return 1;
    if (first < 0xC2 || first > 0xF4 || !follows(1)) return 0;
    if (first < 0xE0) return 2;
    const unsigned char least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    const unsigned char most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (at(1) < least || at(1) > most || !follows(2)) return 0;
    return first < 0xF0 ? 3 : follows(3) ? 4 : 0;
  }

  span<char> out_;
  std::size_t at_ = 0;
};

// ---- JSON ------------------------------------------------------------------------------------------------------------------

inline void put_json_text(text_writer& to, const char* text) noexcept {
  to.put('"');
  to.put_text(text, [&](char c) {
    if (c == '"' || c == '\\') to.put('\\'), to.put(c);
    else if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F) to.put(c);
    else to.put("\\u00"), to.put("0123456789abcdef"[c / 16]), to.put("0123456789abcdef"[c % 16]);
  });
  to.put('"');
}
inline void put_json(text_writer& to, const pool_record& r) noexcept {
  to.put("{\"name\":");
  put_json_text(to, r.name);
  to.put(",\"policies\":");
  put_json_text(to, r.policies);
  to.put(",\"address\":\"");
  to.put_address(r.address);
  to.put('"');
  if (r.where.file != nullptr) {
    to.put(",\"file\":");
    put_json_text(to, r.where.file);
    to.put(",\"line\":");
    to.put_number(r.where.line);
  }
  const auto number = [&to](const char* name, std::size_t value) {
    to.put(",\"");
    to.put(name);
    to.put("\":");
    to.put_number(value);
  };
  number("block_size", r.block_size);
  number("stride", r.stride);
  number("in_use", r.in_use);
  number("peak", r.peak);
  number("waiting", r.waiting);
  number("capacity", r.capacity);
  number("chunks", r.chunks);
  number("bytes_held", r.bytes_held);
  number("growths", r.growths);
  number("refused", r.refused);
  to.put(",\"is_exact\":");
  to.put(r.is_exact ? "true}" : "false}");
}
inline std::size_t write_json(span<const pool_record> records, span<char> out) noexcept {
  text_writer to(out);
  to.put("{\"version\":1,\"pools\":[");
  for (std::size_t i = 0; i != records.size(); ++i) {
    to.put(i == 0 ? "\n" : ",\n");
    put_json(to, records[i]);
  }
  to.put("\n]}\n");
  return to.written();
}

// ---- Prometheus ------------------------------------------------------------------------------------------------------------

struct pool_metric {
  const char* name;
  bool is_counter;
  const char* help;
  std::size_t pool_record::*value;
};
inline constexpr pool_metric pool_metrics[] = {
    {"tarn_pool_blocks_in_use", false, "Blocks handed out and not given back.", &pool_record::in_use},
    {"tarn_pool_blocks_peak", false, "The most blocks in use at once.", &pool_record::peak},
    {"tarn_pool_blocks_waiting", false, "Free blocks that wait in threads.", &pool_record::waiting},
    {"tarn_pool_blocks_capacity", false, "Blocks, free or in use.", &pool_record::capacity},
    {"tarn_pool_block_size_bytes", false, "Size of a block.", &pool_record::block_size},
    {"tarn_pool_block_stride_bytes", false, "From one block to the next.", &pool_record::stride},
    {"tarn_pool_chunks", false, "Chunks held.", &pool_record::chunks},
    {"tarn_pool_held_bytes", false, "Bytes of the chunks held.", &pool_record::bytes_held},
    {"tarn_pool_growths", true, "Chunks ever got.", &pool_record::growths},
    {"tarn_pool_refused", true, "Requests for blocks that found none.", &pool_record::refused},
};

/// \param open_metrics  as OpenMetrics 1.0 wants it; else as Prometheus' text format 0.0.4
inline std::size_t write_prometheus(span<const pool_record> records, span<char> out, bool open_metrics) noexcept {
  text_writer to(out);
  const auto put_name = [&](const pool_metric& m, bool of_sample) {
    to.put(m.name);
    if (m.is_counter && (of_sample || !open_metrics)) to.put("_total");
  };
  const auto put_label = [&](const char* text) {
    to.put_text(text, [&](char c) {
      if (c == '\n') to.put("\\n");
      else if (c == '"' || c == '\\') to.put('\\'), to.put(c);
      else to.put(c);
    });
  };
  for (const pool_metric& m : pool_metrics) {
    to.put("# HELP ");
    put_name(m, false);
    to.put(' ');
    to.put(m.help);
    to.put("\n# TYPE ");
    put_name(m, false);
    to.put(m.is_counter ? " counter\n" : " gauge\n");
    for (const pool_record& r : records) {
      put_name(m, true);
      to.put("{pool=\"");
      put_label(r.name);
      to.put("\",id=\"");
      to.put_address(r.address);
      to.put("\"} ");
      to.put_number(r.*m.value);
      to.put('\n');
    }
  }
  if (open_metrics) to.put("# EOF\n");
  return to.written();
}

// ---- slabinfo --------------------------------------------------------------------------------------------------------------

/// The columns of Linux' /proc/slabinfo, version 2.1. A chunk is a slab; of chunks of several sizes, the average.
inline std::size_t write_slabinfo(span<const pool_record> records, span<char> out) noexcept {
  constexpr std::size_t page = 4096;
  text_writer to(out);
  to.put(
      "slabinfo - version: 2.1\n"
      "# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables <limit> <batchcount> "
      "<sharedfactor> : slabdata <active_slabs> <num_slabs> <sharedavail>\n");
  for (const pool_record& r : records) {
    to.put_text(r.name, [&](char c) { to.put(static_cast<unsigned char>(c) <= ' ' ? '_' : c); });
    const std::size_t slabs = larger(r.chunks, 1);
    const std::size_t columns[] = {r.in_use, r.capacity, r.stride, r.capacity / slabs,
                                   (r.bytes_held / slabs + page - 1) / page};
    for (const std::size_t value : columns) {
      to.put(' ');
      to.put_number(value);
    }
    to.put(" : tunables 0 0 0 : slabdata ");
    to.put_number(r.chunks);
    to.put(' ');
    to.put_number(r.chunks);
    to.put(" 0\n");
  }
  return to.written();
}

}  // namespace tarn::detail

#endif  // TARN_POLICIES_NAME_RECORD_TEXT_H_
