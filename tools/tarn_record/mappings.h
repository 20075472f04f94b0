// The mappings of the program that are in the log, and the block that they and stacks are in. Part of recorder.cc.
#ifndef TARN_TOOLS_TARN_RECORD_MAPPINGS_H_
#define TARN_TOOLS_TARN_RECORD_MAPPINGS_H_

#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "blocks.h"
#include "format.h"

namespace tarn_record {
namespace {

constexpr std::size_t most_id_bytes = 64;

/// Where the next entry begins. Null: nothing is written any more.
char* room_for_entry(std::size_t bytes) {
  stack_writer& to = process->stacks;
  if (to.block != nullptr && reinterpret_cast<char*>(to.block) + block_bytes - to.at >= static_cast<std::ptrdiff_t>(bytes)) {
    return to.at;
  }
  if (to.block != nullptr) seal(*to.block, to.at, to.entries);
  to.block = new_block(block_kind::stacks, 0, to.last + 1);
  to.at = to.block == nullptr ? nullptr : start_of(to.block);
  to.entries = 0;
  to.last_address = 0;
  return to.at;
}

void end_entry(char* first, stack_entry what, char* end) {
  commit(first, static_cast<unsigned>(what));
  process->stacks.at = end;
  ++process->stacks.entries;
}

bool is_told(std::uint64_t begin, std::uint64_t end) {
  const stack_writer& to = process->stacks;
  for (std::uint32_t i = 0; i != to.ranges; ++i) {
    if (to.range[i].begin <= begin && end <= to.range[i].end) return true;
  }
  return to.ranges == sizeof(to.range) / sizeof(*to.range);
}
void add_range(std::uint64_t begin, std::uint64_t end) {
  stack_writer& to = process->stacks;
  if (to.ranges != sizeof(to.range) / sizeof(*to.range)) to.range[to.ranges++] = {begin, end};
}

std::uint64_t hexadecimal(const char*& at) {
  std::uint64_t value = 0;
  for (;; ++at) {
    if (*at >= '0' && *at <= '9') value = value * 16 + static_cast<unsigned>(*at - '0');
    else if (*at >= 'a' && *at <= 'f') value = value * 16 + static_cast<unsigned>(*at - 'a' + 10);
    else return value;
  }
}

/// The build ID of an ELF file, if its notes are in what is read of the file's beginning, as linkers place them. Returns its
/// bytes, and where in `page` they are.
std::size_t build_id_in(const char* page, std::size_t have, const char*& id) {
  ElfW(Ehdr) head;
  if (have < sizeof(head)) return 0;
  memcpy(&head, page, sizeof(head));
  if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return 0;
  for (std::size_t i = 0; i != head.e_phnum; ++i) {
    ElfW(Phdr) part;
    const std::size_t at = head.e_phoff + i * sizeof(part);
    if (at > have || have - at < sizeof(part)) return 0;
    memcpy(&part, page + at, sizeof(part));
    if (part.p_type != PT_NOTE || part.p_offset > have || part.p_filesz > have - part.p_offset) continue;
    const std::size_t end = part.p_offset + part.p_filesz, unit = part.p_align == 8 ? 8 : 4;
    ElfW(Nhdr) note;
    for (std::size_t from = part.p_offset; end - from >= sizeof(note);) {
      memcpy(&note, page + from, sizeof(note));
      const std::size_t name = from + sizeof(note), desc = name + (note.n_namesz + unit - 1) / unit * unit;
      if (note.n_namesz > end - name || desc > end || note.n_descsz > end - desc) break;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(page + name, "GNU", 4) == 0) {
        id = page + desc;
        return note.n_descsz <= most_id_bytes ? note.n_descsz : 0;
      }
      from = desc + (note.n_descsz + unit - 1) / unit * unit;
      if (from > end) break;
    }
  }
  return 0;
}

/// The same of a file. The program may have replaced it, but then its path in /proc/self/maps ends in " (deleted)".
std::size_t build_id_of(const char* path, const char*& id) {
  const int file = *path == '/' ? open_file(path, O_RDONLY) : -1;
  if (file < 0) return 0;
  char* const page = process->stacks.page;
  const long have = syscall(SYS_read, file, page, sizeof(process->stacks.page));
  syscall(SYS_close, file);
  return have <= 0 ? 0 : build_id_in(page, static_cast<std::size_t>(have), id);
}

/// A line of /proc/self/maps: "begin-end rwxp offset device inode   path".
void take_line(const char* at) {
  const std::uint64_t begin = hexadecimal(at), end = hexadecimal(++at);
  const char* const rights = ++at;
  if (strlen(rights) < 6 || rights[2] != 'x' || is_told(begin, end)) return;
  at += 5;
  const std::uint64_t offset = hexadecimal(at);
  const char* const slash = strpbrk(at, "/[");
  const char* const path = slash == nullptr ? "" : slash;
  const std::size_t length = strlen(path);
  char* const first = room_for_entry(most_call_bytes + length + most_id_bytes);
  if (first == nullptr) return;
  char* to = put(put(put(put(first + 1, begin), end - begin), offset), length);
  memcpy(to, path, length);
  const char* id = nullptr;
  const std::size_t id_bytes = build_id_of(path, id);
  to = put(to + length, id_bytes);
  if (id_bytes != 0) memcpy(to, id, id_bytes);
  to += id_bytes;
  end_entry(first, stack_entry::mapping, to);
  add_range(begin, end);
}

void read_maps() {
  const int file = open_file("/proc/self/maps", O_RDONLY);
  if (file < 0) return;
  char* const text = process->stacks.text;
  std::size_t have = 0;
  for (;;) {
    const long more = syscall(SYS_read, file, text + have, sizeof(process->stacks.text) - 1 - have);
    if (more <= 0) break;
    have += static_cast<std::size_t>(more);
    text[have] = 0;
    char* line = text;
    for (char* end; (end = strchr(line, '\n')) != nullptr; line = end + 1) {
      *end = 0;
      take_line(line);
    }
    have -= static_cast<std::size_t>(line - text);
    memmove(text, line, have);
  }
  syscall(SYS_close, file);
}

/// What is mapped where, if the address isn't in what the log has already.
void tell_mapping(std::uint64_t address) {
  if (is_told(address, address + 1)) return;
  read_maps();
  if (!is_told(address, address + 1)) add_range(address & ~std::uint64_t{4095}, address | 4095);  // it isn't asked again
}

}  // namespace
}  // namespace tarn_record

#endif  // TARN_TOOLS_TARN_RECORD_MAPPINGS_H_
