#include <cstdio>

#include "tarn/version.h"

#if TARN_VERSION < 200  // 0.2.0
#error "this program needs tarn 0.2.0"
#endif

int main() { return std::puts("tarn " TARN_VERSION_STRING) < 0; }
