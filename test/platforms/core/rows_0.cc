#define TARN_SHARE 0
#include "tarn/test/platforms/core/rows_here.h"

const tarn::test::part tarn::test::compositions_part_0 = make_part("compositions, share 0", rows);
