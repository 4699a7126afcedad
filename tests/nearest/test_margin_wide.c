/* The margin of the nearest-point search, with wide instructions if they can be compiled. */
#define LANES 8
#include "margin_body.h"

int main(void) {
    return run_margin();
}
