// A program that isn't tarn's, and knows nothing of marks: what its loops do stands in elsewhere.txt.
#include <cstddef>
#include <cstdint>

namespace {
struct message {
  message* next;
  std::uint8_t bytes[24];
};
message messages[16];
message* available;
std::uint8_t sums[16];
}  // namespace

extern "C" [[gnu::used, gnu::noinline]] void fill() {
  available = nullptr;
  for (message& one : messages) {
    one.next = available;
    available = &one;
  }
}
extern "C" [[gnu::used, gnu::noinline]] message* get() {
  message* const first = available;
  if (first != nullptr) available = first->next;
  return first;
}
extern "C" [[gnu::used, gnu::noinline]] unsigned checksum(const message* m, std::size_t bytes) {
  unsigned sum = 0;
  for (std::size_t i = 0; i != bytes; ++i) sum = (sum << 1) + m->bytes[i];  // elsewhere.txt
  sums[sum % 16] = static_cast<std::uint8_t>(sum);
  return sum;
}
extern "C" [[gnu::used, gnu::noinline]] unsigned send(std::size_t bytes) {
  message* const m = get();
  return m == nullptr ? 0 : checksum(m, bytes);
}
int main() {}
