// To compare with: what somebody would write for one pool.
#include <cstddef>

namespace {
alignas(8) std::byte blocks[32][48];
void* head;
unsigned used;
}  // namespace

void* take() {
  if (head == nullptr) return used != 32 ? blocks[used++] : nullptr;
  void* const block = head;
  head = *static_cast<void**>(block);
  return block;
}
void give(void* block) {
  if (block == nullptr) return;
  *static_cast<void**>(block) = head;
  head = block;
}
