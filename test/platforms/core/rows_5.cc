#define TARN_SHARE 5
#include "tarn/test/platforms/core/rows_here.h"

const tarn::test::part tarn::test::compositions_part_5 = make_part("compositions, share 5", rows);
