/* A query for contact patches, and the search for the shift that separates its bodies. */
#ifndef ABUTI_CONTACT_PATCH_SEPARATE_H
#define ABUTI_CONTACT_PATCH_SEPARATE_H

#include "contact/patch.h"

typedef struct patch_call {
    patch_memory *memory;
    abut_patch_options options;
    abut_posed posed[2]; /* the second where it is, the first relative to it */
    bool swapped;
    bool has_sheet;         /* one of them has no inside */
    bool is_reversed[2];    /* a sheet is looked at from its other side */
    bool has_equal_skins;   /* both skins are as thick */
    double max_translation; /* coordinate of the poses */
    double size;            /* of the smaller body */
    double max_gap; /* rounding error of a touch: contacts of overlaps are no further apart */
    vec3 hint;      /* in the frame */
    patch_answer *answers;
    size_t count, capacity;
    bool has_contained;      /* some of them are of parts wholly inside */
    double contained_volume; /* of parts wholly inside, cavities subtracted */
    bool uses_exact_depths;  /* depths are taken as they are, with EXACT_SHIFT_SLACK instead of the
                                other slacks */
    bool is_press_fit;       /* walls are opposite and not deep: no shift is looked for */
    bool touches;   /* surfaces meet or are within the margin, which boundary edges may change */
    unsigned doubt; /* of containment, as of abuti_pair_contains() */
    bool apart;     /* the bodies do not touch; once that is known */
    bool apart_known;
    bool is_verified;
} patch_call;

/* ---- patch.c ---- */

/* Resets all of the work except the bodies. */
void abuti_patch_reset(patch_work *work, patch_memory *memory);
/* Finds contours and regions at the poses of the call. */
abut_status abuti_patch_find_regions_at(patch_work *work, const patch_call *call);
abut_status abuti_patch_add_answer(patch_call *call, const patch_answer *answer);
/* Whether a region counts: the contour of a hole, or a speck beside others, does not. */
bool abuti_patch_region_counts(const patch_work *work, const patch_call *call, size_t i);

/* ---- patch_separate.c ---- */

/* Tests exactly whether the bodies are apart once the first is shifted. */
abut_status abuti_patch_test_apart(const patch_call *call, vec3 shift, bool *apart);
/* Answers with the shallowest patches that separate; otherwise with local depths, and
 * call->separates is false. */
abut_status abuti_patch_separate(patch_work *work, patch_call *call, uint32_t max_points);
/* Replaces the answer for a sheet if a shift along a face of the contour is much shorter. */
abut_status abuti_patch_shorten_sheet(patch_work *work, patch_call *call, uint32_t max_points);

#endif
