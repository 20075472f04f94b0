// To compare with: Boost's list of blocks, which start() fills.
#include <boost/pool/simple_segregated_storage.hpp>
#include <cstddef>

namespace {
alignas(8) std::byte blocks[32 * 48];
boost::simple_segregated_storage<std::size_t> storage;
}  // namespace

void start() { storage.add_block(blocks, sizeof blocks, 48); }
void* take() { return storage.empty() ? nullptr : storage.malloc(); }
void give(void* block) {
  if (block != nullptr) storage.free(block);
}
