// Blocks of a log that are compressed, by the system's libzstd, if it is there.
#ifndef TARN_TOOLS_TARN_RECORD_CODING_H_
#define TARN_TOOLS_TARN_RECORD_CODING_H_

#include <cstddef>
#include <string>
#include <string_view>

#include <dlfcn.h>

namespace tarn_record {

class zstd {
 public:
  zstd() {
    void* const library = ::dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    find(library, "ZSTD_compress", compress_);
    find(library, "ZSTD_decompress", decompress_);
    find(library, "ZSTD_compressBound", most_bytes_);
    find(library, "ZSTD_isError", is_error_);
    find(library, "ZSTD_findFrameCompressedSize", coded_bytes_);
    find(library, "ZSTD_getFrameContentSize", plain_bytes_);
  }
  static const zstd& here() {
    static const zstd found;
    return found;
  }

  bool is_there() const {
    return compress_ != nullptr && decompress_ != nullptr && most_bytes_ != nullptr && is_error_ != nullptr &&
           coded_bytes_ != nullptr && plain_bytes_ != nullptr;
  }

  std::string coded(std::string_view plain, int level) const {
    std::string found(most_bytes_(plain.size()), '\0');
    const std::size_t bytes = compress_(found.data(), found.size(), plain.data(), plain.size(), level);
    found.resize(is_error_(bytes) != 0 ? 0 : bytes);
    return found;
  }
  /// Empty: that is no block, or has more than `most` bytes. Zeros may follow it.
  std::string plain(std::string_view coded, std::size_t most) const {
    const std::size_t bytes = coded_bytes_(coded.data(), coded.size());
    if (is_error_(bytes) != 0 || bytes > coded.size()) return {};
    const unsigned long long expected = plain_bytes_(coded.data(), bytes);
    if (expected > most) return {};  // also where it isn't said, or damaged
    std::string found(static_cast<std::size_t>(expected), '\0');
    return decompress_(found.data(), found.size(), coded.data(), bytes) == found.size() ? found : std::string{};
  }

 private:
  template <class Function>
  static void find(void* library, const char* name, Function*& to) {
    to = reinterpret_cast<Function*>(::dlsym(library, name));
  }

  std::size_t (*compress_)(void*, std::size_t, const void*, std::size_t, int) = nullptr;
  std::size_t (*decompress_)(void*, std::size_t, const void*, std::size_t) = nullptr;
  std::size_t (*most_bytes_)(std::size_t) = nullptr;
  unsigned (*is_error_)(std::size_t) = nullptr;
  std::size_t (*coded_bytes_)(const void*, std::size_t) = nullptr;
  unsigned long long (*plain_bytes_)(const void*, std::size_t) = nullptr;
};

}  // namespace tarn_record

#endif  // TARN_TOOLS_TARN_RECORD_CODING_H_
