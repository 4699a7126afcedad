/* State of a query for contact patches, and the search for the shift that separates its bodies. */
#ifndef ABUTI_CONTACT_PATCH_SEPARATE_H
#define ABUTI_CONTACT_PATCH_SEPARATE_H

#include "contact/patch.h"

typedef struct patch_call {
    patch_memory *memory;
    abut_patch_options options;
    abuti_posed posed[2]; /* the first relative to the second, which is at the identity */
    bool swapped;
    bool has_sheet;         /* one of them has no interior */
    bool is_reversed[2];    /* a sheet is oriented towards its other side */
    bool has_equal_skins;   /* both skins have the same width */
    double max_translation; /* largest absolute coordinate of the translations */
    double size;            /* of the smaller body */
    double max_gap;         /* of contacts of overlaps: rounding error of a touch */
    vec3 hint;              /* in the frame */
    patch_answer *answers;
    size_t count, capacity;
    bool has_contained; /* some of them belong to components completely inside the other body */
    double contained_volume; /* of components completely inside the other body, minus cavities */
    bool uses_exact_depths;  /* the only slack of shifts is EXACT_SHIFT_SLACK */
    bool is_press_fit;       /* shallow opposite walls: no shift is searched */
    bool touches;   /* surfaces are within the margin: boundary edges may affect the result */
    unsigned doubt; /* of containment, as from abuti_pair_contains() */
    bool apart;     /* the bodies do not touch; valid if apart_known */
    bool apart_known;
    bool is_verified;
} patch_call;

/* ---- patch.c ---- */

/* Resets the work except the bodies. */
void abuti_patch_reset(patch_work *work, patch_memory *memory);
/* Computes contours and regions at the poses of the call. */
abut_status abuti_patch_find_regions_at(patch_work *work, const patch_call *call);
abut_status abuti_patch_add_answer(patch_call *call, const patch_answer *answer);
/* Returns whether a region counts. The contour of a hole, and a contour shorter than
 * PATCH_MIN_CONTOUR beside longer ones, do not. */
bool abuti_patch_region_counts(const patch_work *work, const patch_call *call, size_t i);

/* ---- patch_separate.c ---- */

/* Tests exactly whether the bodies are apart after a shift of the first one. */
abut_status abuti_patch_test_apart(const patch_call *call, vec3 shift, bool *apart);
/* Sets the shallowest patches that separate the bodies. If none are found, sets patches with local
 * depths and leaves call->is_verified false. */
abut_status abuti_patch_separate(patch_work *work, patch_call *call, uint32_t max_points);
/* Replaces the patches of a sheet if a shift along a face of the contour is much shorter. */
abut_status abuti_patch_shorten_sheet(patch_work *work, patch_call *call, uint32_t max_points);

#endif
