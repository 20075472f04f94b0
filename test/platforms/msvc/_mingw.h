// Makes mingw-w64's C headers readable for a compiler that says it is MSVC: they put __declspec() where only g++'s attributes
// may stand. With libstdc++'s headers they are the standard library of check_msvc.sh, as there is no other of MSVC's kind.
#pragma GCC system_header
#include_next <_mingw.h>
#undef __MINGW_ATTRIB_NORETURN
#define __MINGW_ATTRIB_NORETURN
#undef __MINGW_ATTRIB_DEPRECATED
#define __MINGW_ATTRIB_DEPRECATED
#undef __MINGW_NOTHROW
#define __MINGW_NOTHROW
