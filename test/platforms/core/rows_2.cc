#define TARN_QUARTER 2
#include "tarn/test/platforms/core/rows_here.h"

const tarn::test::part tarn::test::compositions_part_2 = make_part("compositions, quarter 2", rows);
