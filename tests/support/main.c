/* The main() of programs without their own. */
#include "support/support.h"

int main(void) {
    return test_run(NULL, NULL);
}
