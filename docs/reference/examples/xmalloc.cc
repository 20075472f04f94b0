#include <cstring>

#include "tarn/allocator/xmalloc.h"

int main() {
  char* text = static_cast<char*>(tarn::xmalloc(6));
  std::memcpy(text, "hello", 6);
  text = static_cast<char*>(tarn::xrealloc(text, 5000));
  const bool right = std::strcmp(text, "hello") == 0;
  tarn::xfree(text);
  return right ? 0 : 1;
}
