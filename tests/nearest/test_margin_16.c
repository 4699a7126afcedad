/* The margin of the nearest-point search, with AVX-512 if it can be compiled. */
#define LANES 16
#include "margin_body.h"

int main(void) {
    return run_margin();
}
