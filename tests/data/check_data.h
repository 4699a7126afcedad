/* Declarations of abut-check-data. */
#ifndef ABUT_CHECK_DATA_H
#define ABUT_CHECK_DATA_H

#include <abut/abut.h>

enum { PATH_BYTES = 4096 };

typedef struct check_totals {
    uint64_t queries, missed, false_alarms; /* plain */
    uint64_t exact_wrong;
    uint64_t sign_errors;
} check_totals;

/* check_scenes.c: whole steps with exact results, in PATH/ccd/scenes. Returns false if one
 * cannot be read; a missing folder is not an error. */
bool check_scenes(const char *data, check_totals *totals);
/* check_signs.c: inside tests of the closed models in PATH/models. As above. */
bool check_signs(const char *data, check_totals *totals);

#endif
