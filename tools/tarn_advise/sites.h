// Which site a call belongs to: a place of the program that allocates. analyse.cc counts by it, and a replay chooses by it.
//
// Without a file of groups, each recorded call stack is a site. tarn-advise, which knows names, writes the file: lines with the
// number of a stack and that of its group. A group is a site.
//
// The recorder doesn't look at the stack of each call where there are many. A call without one counts for the site that its
// thread used last for this size; without such a site, calls are told apart by their size.
#ifndef TARN_TOOLS_TARN_ADVISE_SITES_H_
#define TARN_TOOLS_TARN_ADVISE_SITES_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <unordered_map>
#include <vector>

#include "../tarn_record/reader.h"

namespace tarn_advise {

class site_numbers {
 public:
  static constexpr std::uint32_t first_of_sizes = 1U << 30;  // sites of calls without a stack have numbers from here on
  static constexpr std::uint32_t unknown = first_of_sizes - 1;  // of stacks that the file hasn't got
  static constexpr std::size_t most_sizes = 4096;  // with sites of their own; others share one up to the next power of 2

  /// Reads groups. False: the file can't be read, or has something else.
  bool read(const char* path) {
    has_groups_ = true;
    std::ifstream file{path};
    for (std::uint32_t stack, group; file >> stack;) {
      if (!(file >> group) || group >= unknown) return false;
      groups_[stack] = group;
    }
    return file.eof() && !file.bad();
  }

  /// Of a call that allocates. Each is asked for once, in their order.
  std::uint32_t of(const tarn_record::call& call) {
    last& of_size = last_[((call.size * 31 + call.thread) * 0x9e3779b97f4a7c15U) >> (64 - last_bits)];
    if (call.stack != 0) {
      of_size = {call.size, call.thread, of_stack(call.stack)};
      return of_size.site;
    }
    if (of_size.size == call.size && of_size.thread == call.thread) return of_size.site;
    return of_no_stack(call.size);
  }

 private:
  struct last {
    std::uint64_t size = 0;
    std::uint32_t thread = 0;  // 0: none
    std::uint32_t site = 0;
  };
  static constexpr unsigned last_bits = 14;

  std::uint32_t of_stack(std::uint32_t stack) const {
    if (!has_groups_) return stack < unknown ? stack : unknown;
    const auto found = groups_.find(stack);
    return found == groups_.end() ? unknown : found->second;
  }
  std::uint32_t of_no_stack(std::uint64_t size) {
    const auto found = sizes_.find(size);
    if (found != sizes_.end()) return found->second;
    if (sizes_.size() >= most_sizes) {
      size = size > std::uint64_t{1} << 62 ? ~std::uint64_t{0} : std::bit_ceil(size);
    }
    return sizes_.try_emplace(size, first_of_sizes + static_cast<std::uint32_t>(sizes_.size())).first->second;
  }

  bool has_groups_ = false;
  std::unordered_map<std::uint32_t, std::uint32_t> groups_;  // of stacks, whose numbers are any in a damaged log
  std::vector<last> last_ = std::vector<last>(std::size_t{1} << last_bits);
  std::unordered_map<std::uint64_t, std::uint32_t> sizes_;
};

}  // namespace tarn_advise

#endif  // TARN_TOOLS_TARN_ADVISE_SITES_H_
