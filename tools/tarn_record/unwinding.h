// How a caller's frame is found, from the tables that programs have for exceptions (.eh_frame). Part of recorder.cc.
//
// The system's unwinder reads these tables anew for each frame, 200 ns and more. Most frames have a simple rule: the caller's
// stack pointer is so far above the stack pointer, or above rbp. It is read once for each return address, and kept. What isn't
// simple is left to the system's unwinder.
#ifndef TARN_TOOLS_TARN_RECORD_UNWINDING_H_
#define TARN_TOOLS_TARN_RECORD_UNWINDING_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tarn_record {
namespace {

enum class rule_kind : std::uint8_t { unknown, above_stack_pointer, above_frame_pointer, outermost, not_simple };

/// Of the function that goes on at `returns_to`.
struct rule {
  std::uint64_t returns_to;
  std::int32_t distance;  // of the caller's stack pointer; the return address is below it
  std::int16_t saved;  // the caller's frame pointer is so far from the caller's stack pointer; 0: it is as it was
  rule_kind kind;
};

#if defined(__x86_64__)

extern "C" {
struct dwarf_eh_bases {
  void* text;
  void* data;
  void* function;
};
const unsigned char* _Unwind_Find_FDE(void* at, dwarf_eh_bases* found);
}

/// The instructions of DWARF for one function, as far as rules are simple.
class table_reader {
 public:
  static rule rule_of(std::uint64_t returns_to) {
    dwarf_eh_bases about{};
    const unsigned char* const entry = _Unwind_Find_FDE(reinterpret_cast<void*>(returns_to - 1), &about);
    if (entry == nullptr) return {returns_to, 0, 0, rule_kind::outermost};
    table_reader reader{returns_to, reinterpret_cast<std::uintptr_t>(about.function)};
    if (!reader.read(entry)) return {returns_to, 0, 0, rule_kind::not_simple};
    return reader.result();
  }

 private:
  // As DWARF numbers them.
  static constexpr std::uint64_t frame_pointer = 6, stack_pointer = 7, return_address = 16;
  enum instruction : unsigned {
    nothing = 0x00,
    saved_at = 0x05,
    restored = 0x06,
    undefined = 0x07,
    same = 0x08,
    remember_state = 0x0a,
    restore_state = 0x0b,
    base_and_distance = 0x0c,
    distance_only = 0x0e,
    base_expression = 0x0f,
    expression_is = 0x10,
    saved_at_signed = 0x11,
    base_and_factored = 0x12,
    factored_distance = 0x13,
    value_is_signed = 0x15,
    value_expression_is = 0x16,
    arguments_size = 0x2e,
  };
  enum class place : std::uint8_t { same, saved, undefined, other };
  struct state {
    std::uint64_t base = stack_pointer;
    std::int64_t distance = 0;
    place frame_pointer_is = place::same, return_address_is = place::same;
    std::int64_t frame_pointer_at = 0, return_address_at = 0;
    bool is_simple = true;
  };

  table_reader(std::uint64_t returns_to, std::uint64_t function) : returns_to_(returns_to), at_code_(function) {}

  rule result() const {
    const bool is_undefined = now_.return_address_is == place::undefined;
    if (is_undefined) return {returns_to_, 0, 0, rule_kind::outermost};
    const bool has_saved = now_.frame_pointer_is == place::saved;
    const bool is_simple = now_.is_simple && now_.return_address_is == place::saved && now_.return_address_at == -8 &&
                           (has_saved || now_.frame_pointer_is == place::same) && now_.frame_pointer_at >= INT16_MIN &&
                           now_.frame_pointer_at <= 0 && now_.distance <= INT32_MAX && now_.distance >= INT32_MIN &&
                           (now_.base == stack_pointer || now_.base == frame_pointer);
    if (!is_simple) return {returns_to_, 0, 0, rule_kind::not_simple};
    return {returns_to_, static_cast<std::int32_t>(now_.distance),
            static_cast<std::int16_t>(has_saved ? now_.frame_pointer_at : 0),
            now_.base == stack_pointer ? rule_kind::above_stack_pointer : rule_kind::above_frame_pointer};
  }

  template <class Number>
  Number fixed() {
    Number value;
    memcpy(&value, at_, sizeof(value));
    at_ += sizeof(value);
    return value;
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const unsigned char byte = *at_++;
      if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
  }
  std::int64_t signed_number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;;) {
      const unsigned char byte = *at_++;
      if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
      shift += 7;
      if (byte >= 0x80) continue;
      if (shift < 64 && (byte & 0x40) != 0) value |= ~std::uint64_t{0} << shift;
      return static_cast<std::int64_t>(value);
    }
  }
  /// False: an encoding that isn't one of numbers.
  bool skip_pointer(unsigned encoding) {
    const unsigned format = encoding & 0x07;  // the bit above says that it is signed
    if (format > 4) return false;
    if (format == 1) number();
    else at_ += format == 2 ? 2 : format == 3 ? 4 : 8;
    return (encoding & 0x70) != 0x50;  // aligned
  }

  /// Both entries are a length, a number that says where the common one is, and then more.
  bool read(const unsigned char* entry) {
    at_ = entry;
    const auto length = fixed<std::uint32_t>();
    if (length == 0xffffffff) return false;
    const unsigned char* const end = at_ + length;
    const unsigned char* const from = at_;
    const auto back = fixed<std::int32_t>();
    const unsigned char* const its = at_;
    if (!read_common(from - back)) return false;
    at_ = its;
    if (!skip_pointer(encoding_) || !skip_pointer(encoding_ & 0x0f)) return false;
    if (has_more_) {
      const std::uint64_t more = number();
      at_ += more;
    }
    return run(end);
  }

  bool read_common(const unsigned char* entry) {
    at_ = entry;
    const auto length = fixed<std::uint32_t>();
    if (length == 0xffffffff) return false;
    const unsigned char* const end = at_ + length;
    at_ += 4;
    const unsigned version = *at_++;
    const char* const letters = reinterpret_cast<const char*>(at_);
    at_ += strlen(letters) + 1;
    if (*letters != 'z' && *letters != 0) return false;
    code_unit_ = number();
    data_unit_ = signed_number();
    if ((version == 1 ? *at_++ : number()) != return_address) return false;
    has_more_ = *letters == 'z';
    if (has_more_ && !read_more(letters + 1)) return false;
    const bool is_valid = run(end);
    first_ = now_;
    return is_valid;
  }
  bool read_more(const char* letters) {
    const std::uint64_t bytes = number();
    const unsigned char* const behind = at_ + bytes;
    for (; *letters != 0; ++letters) {
      if (*letters == 'R') encoding_ = *at_++;
      else if (*letters == 'L') ++at_;
      else if (*letters != 'P' || !skip_pointer(*at_++)) return false;  // 'S', a signal's frame, has another rule
    }
    at_ = behind;
    return true;
  }

  void set(std::uint64_t which, place where, std::int64_t at = 0) {
    if (which == frame_pointer) now_.frame_pointer_is = where, now_.frame_pointer_at = at;
    if (which == return_address) now_.return_address_is = where, now_.return_address_at = at;
    if (which == stack_pointer) now_.is_simple = false;
  }
  void restore(std::uint64_t which) {
    if (which == frame_pointer) set(which, first_.frame_pointer_is, first_.frame_pointer_at);
    if (which == return_address) set(which, first_.return_address_is, first_.return_address_at);
  }
  std::int64_t factored() { return static_cast<std::int64_t>(number()) * data_unit_; }
  std::int64_t signed_factored() { return signed_number() * data_unit_; }
  void skip_expression() {
    const std::uint64_t bytes = number();
    at_ += bytes;
  }
  /// False: what comes is for code behind.
  bool advance(std::uint64_t units) {
    at_code_ += units * code_unit_;
    return at_code_ < returns_to_;
  }

  /// False: there is one that this doesn't know.
  bool run(const unsigned char* end) {
    while (at_ < end) {
      const unsigned code = *at_++, low = code & 0x3f;
      switch (code & 0xc0) {
        case 0x40:
          if (!advance(low)) return true;
          break;
        case 0x80:
          set(low, place::saved, factored());
          break;
        case 0xc0:
          restore(low);
          break;
        default:
          if (low >= 0x02 && low <= 0x04) {
            if (!advance(low == 2 ? fixed<std::uint8_t>() : low == 3 ? fixed<std::uint16_t>() : fixed<std::uint32_t>())) {
              return true;
            }
          } else if (!run_one(low)) {
            return false;
          }
      }
    }
    return true;
  }
  bool run_one(unsigned code) {
    if (code == nothing) return true;
    if (code == remember_state) return remember();
    if (code == restore_state) return recall();
    if (code == arguments_size) return number(), true;
    if ((code >= base_and_distance && code <= base_expression) || code == base_and_factored || code == factored_distance) {
      return define_base(code);
    }
    return code >= saved_at && code <= value_expression_is && define_register(code);
  }
  bool define_base(unsigned code) {
    if (code == base_expression) {
      skip_expression();
      now_.base = return_address;  // not simple until it is defined again
      return true;
    }
    if (code != distance_only && code != factored_distance) now_.base = number();
    if (code == base_and_distance || code == distance_only) now_.distance = static_cast<std::int64_t>(number());
    if (code == base_and_factored || code == factored_distance) now_.distance = signed_factored();
    return true;
  }
  bool define_register(unsigned code) {
    const std::uint64_t which = number();
    if (code == saved_at) return set(which, place::saved, factored()), true;
    if (code == saved_at_signed) return set(which, place::saved, signed_factored()), true;
    if (code == restored) return restore(which), true;
    if (code == undefined) return set(which, place::undefined), true;
    if (code == same) return set(which, place::same), true;
    if (code == expression_is || code == value_expression_is) skip_expression();
    else if (code == value_is_signed) signed_number();
    else number();  // another register, or a distance
    return set(which, place::other), true;
  }
  bool remember() {
    if (depth_ == sizeof(before_) / sizeof(*before_)) return false;
    before_[depth_++] = now_;
    return true;
  }
  bool recall() {
    if (depth_ == 0) return false;
    now_ = before_[--depth_];
    return true;
  }

  std::uint64_t returns_to_;
  std::uint64_t at_code_;
  const unsigned char* at_ = nullptr;
  unsigned encoding_ = 0;
  bool has_more_ = false;
  std::uint64_t code_unit_ = 1;
  std::int64_t data_unit_ = 1;
  state now_, first_, before_[8];
  unsigned depth_ = 0;
};

#else

/// Elsewhere all is left to the system's unwinder.
class table_reader {
 public:
  static rule rule_of(std::uint64_t returns_to) { return {returns_to, 0, 0, rule_kind::not_simple}; }
};

#endif

}  // namespace
}  // namespace tarn_record

#endif  // TARN_TOOLS_TARN_RECORD_UNWINDING_H_
