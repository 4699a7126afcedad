/* What answers of the CPU say of their own worth; see truth.h. */
#include "truth.h"

int main(void) {
    return cmocka_run_group_tests(truth_tests, NULL, NULL);
}
