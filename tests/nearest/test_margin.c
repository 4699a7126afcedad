/* The margin of the nearest-point search, with the instructions that all processors have. */
#define LANES 4
#include "margin_body.h"

int main(void) {
    return run_margin();
}
