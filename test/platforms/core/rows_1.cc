#define TARN_SHARE 1
#include "tarn/test/platforms/core/rows_here.h"

const tarn::test::part tarn::test::compositions_part_1 = make_part("compositions, share 1", rows);
