// Pool records as text: JSON, what Prometheus and OpenMetrics read, and the columns of Linux' slabinfo. Written into a buffer
// without memory, locks or the C library, so that a signal handler may do it.
#ifndef TARN_POLICIES_NAME_RECORD_TEXT_H_
#define TARN_POLICIES_NAME_RECORD_TEXT_H_

#include <cstddef>
#include <cstdint>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/span.h"
#include "tarn/policies/name/pool_record.h"
#include "tarn/policies/name/text_writer.h"

namespace tarn::detail {

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

/// Whether a character of several bytes is a space or a control character of Unicode: some scripts divide lines there.
inline bool is_wide_space(const char* text, std::size_t n) noexcept {
  std::uint32_t code = static_cast<unsigned char>(text[0]) & (0x7Fu >> n);
  for (std::size_t i = 1; i != n; ++i) code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3F);
  return code <= 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200F) || (code >= 0x2028 && code <= 0x202F) ||
         (code >= 0x205F && code <= 0x206F) || code == 0x3000 || code == 0xFEFF;
}

/// The columns of Linux' /proc/slabinfo, version 2.1. A chunk is a slab; of chunks of several sizes, the average.
inline std::size_t write_slabinfo(span<const pool_record> records, span<char> out) noexcept {
  constexpr std::size_t page = 4096;
  text_writer to(out);
  to.put(
      "slabinfo - version: 2.1\n"
      "# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables <limit> <batchcount> "
      "<sharedfactor> : slabdata <active_slabs> <num_slabs> <sharedavail>\n");
  for (const pool_record& r : records) {
    if (*r.name == 0) to.put('-');
    const auto is_first = [&to, at = to.written()] { return to.written() == at; };
    to.put_text(
        r.name,
        [&](char c) {
          const bool is_comment = c == '#' && is_first();
          to.put(static_cast<unsigned char>(c) <= ' ' || c == 0x7F || is_comment ? '_' : c);
        },
        [&](const char* wide, std::size_t n) {
          if (is_wide_space(wide, n)) return to.put('_');
          for (std::size_t i = 0; i != n; ++i) to.put(wide[i]);
        });
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
