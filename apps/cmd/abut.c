/* Entry point of the abut command, as a single process. abut-mpi has its own entry point. */
#include "tool.h"

int main(int count, char **words) {
    return tool_main(count, words, NULL);
}
