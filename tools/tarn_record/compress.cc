// Compresses a log of tools/tarn-record: `compress LOG NEW`. The blocks that threads had not filled stay as they are, without
// the zeros at their end; so does what is damaged. The exit status is 2 where nothing was written.

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "coding.h"
#include "format.h"
#include "reader.h"

namespace {

using namespace tarn_record;

constexpr int level = 3;

std::size_t rounded(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

std::string block_of(block_header header, std::string_view data, std::size_t zeros) {
  header.stored = static_cast<std::uint32_t>(rounded(data.size() + zeros, 64));
  std::string all(sizeof(header) + header.stored, '\0');
  std::memcpy(all.data(), &header, sizeof(header));
  std::memcpy(all.data() + sizeof(header), data.data(), data.size());
  return all;
}

/// The block as it is in the new log.
std::string packed(std::string_view block) {
  block_header header;
  std::memcpy(&header, block.data(), sizeof(header));
  const std::string_view data = block.substr(sizeof(header));
  // The last call of an open block may end with zeros, and one more is behind it.
  if (header.sum == 0 && header.coding == 0) return block_of(header, data.substr(0, data.find_last_not_of('\0') + 1), 8);
  if (header.coding != 0 || sum_of(block.data()) != header.sum) return std::string{block};
  const std::string coded = zstd::here().coded(data.substr(0, header.used), level);
  if (coded.empty()) return std::string{block};
  header.coding = coding_zstd;
  header.used = static_cast<std::uint32_t>(rounded(coded.size(), 8));
  std::string all = block_of(header, coded, 0);
  header.sum = sum_of(all.data());
  std::memcpy(all.data() + offsetof(block_header, sum), &header.sum, sizeof(header.sum));
  return all;
}

int refuse(const char* path, const char* why) {
  std::fprintf(stderr, "%s: %s\n", path, why);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return refuse("usage", "compress LOG NEW");
  log from;
  const bool is_log = from.open(argv[1]);
  for (const std::string& note : from.notes()) std::fprintf(stderr, "%s: %s\n", argv[1], note.c_str());
  if (!is_log) return 2;
  if (!zstd::here().is_there()) return refuse("libzstd.so.1", "it isn't here");
  std::FILE* const to = std::fopen(argv[2], "wb");
  if (to == nullptr) return refuse(argv[2], std::strerror(errno));
  bool is_written = true;
  const auto write = [&](std::string_view text) {
    is_written = is_written && std::fwrite(text.data(), 1, text.size(), to) == text.size();
  };
  write(from.bytes().substr(0, from.header().header_bytes));
  from.each_block([&](std::string_view block, bool is_whole) { write(is_whole ? packed(block) : std::string{block}); });
  if (std::fclose(to) != 0 || !is_written) {
    std::remove(argv[2]);
    return refuse(argv[2], "it couldn't be written");
  }
  return 0;
}
