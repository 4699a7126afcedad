/* The abut command: one process, which does all. abut-mpi has another beginning. */
#include "tool.h"

int main(int count, char **words) {
    return tool_main(count, words, NULL);
}
