/* Reduction of contacts: groups them into patches by normal and keeps the contacts of each patch
 * that span the largest support area.
 *
 * Works in place without memory. The deepest remaining contact leads a patch; contacts with similar
 * normals are swapped behind it. Then the contact with the largest gain is selected repeatedly; see
 * contact_support_gain(). The number of patches is bounded, since the normals of their leaders
 * differ by more than the angle. Ties go to the lower id, so the result does not depend on the
 * order of the list.
 */
#include "pair/contact_list.h"
#include "pair/contact_reduction_shared.h"

#include <math.h>

#define DEFAULT_ANGLE 0.5
#define MAX_ANGLE 3.0 /* radians: all normals except nearly opposite ones */
enum { DEFAULT_KEEP = 4, MAX_KEEP = 64 };

static void swap_contacts(abut_contact *list, size_t i, size_t k) {
    abut_contact kept = list[i];
    list[i] = list[k];
    list[k] = kept;
}

static bool is_deeper(const abut_contact *a, const abut_contact *b) {
    return a->depth > b->depth || (a->depth == b->depth && a->id < b->id);
}

/* Moves the deepest contact of a range to its front, followed by the contacts with similar normals.
 * Returns the end of this patch. */
static size_t gather_patch(abut_contact *list, size_t begin, size_t end, double cosine) {
    size_t deepest = begin, members = begin + 1;
    for (size_t i = begin + 1; i < end; i++)
        if (is_deeper(&list[i], &list[deepest]))
            deepest = i;
    swap_contacts(list, begin, deepest);
    for (size_t i = begin + 1; i < end; i++)
        if (v3_dot(list[i].normal, list[begin].normal) >= cosine)
            swap_contacts(list, i, members++);
    return members;
}

/* The contact of a patch that adds most to the first `kept` ones. */
static size_t largest_gain(const abut_contact *patch, size_t count, size_t kept, vec3 normal) {
    vec3 corner[CONTACT_SUPPORT_CORNERS] = {patch[0].point};
    for (size_t k = 1; k < kept && k < CONTACT_SUPPORT_CORNERS; k++)
        corner[k] = patch[k].point;
    size_t best = kept;
    double max_gain = -1;
    for (size_t i = kept; i < count; i++) {
        double distance_sq = INFINITY;
        for (size_t k = 0; k < kept; k++)
            distance_sq =
                real_min(distance_sq, v3_length_sq(v3_sub(patch[i].point, patch[k].point)));
        double gain =
            contact_support_gain((word32)kept, corner, normal, patch[i].point, distance_sq);
        if (gain > max_gain || (gain == max_gain && patch[i].id < patch[best].id)) {
            max_gain = gain;
            best = i;
        }
    }
    return best;
}

/* Moves to the front of a patch the contact that is level with the deepest and farthest from it. */
static void choose_first(abut_contact *patch, size_t count) {
    size_t best = 0;
    double max_gain = 0;
    for (size_t i = 1; i < count; i++) {
        double distance_sq =
            contact_support_level(patch[0].point, patch[0].depth, patch[i].point, patch[i].depth);
        if (distance_sq > max_gain ||
            (distance_sq == max_gain && distance_sq > 0 && patch[i].id < patch[best].id)) {
            max_gain = distance_sq;
            best = i;
        }
    }
    swap_contacts(patch, 0, best);
}

void abuti_contact_choose(abut_contact *patch, size_t count, size_t keep, vec3 normal) {
    if (keep > 1 && v3_max_abs(normal) > 0)
        choose_first(patch, count);
    for (size_t kept = 1; kept < keep; kept++)
        swap_contacts(patch, kept, largest_gain(patch, count, kept, normal));
}

double abuti_contact_reduction(double angle, uint32_t *keep) {
    *keep = *keep == 0 ? DEFAULT_KEEP : *keep > MAX_KEEP ? MAX_KEEP : *keep;
    return cos(angle > 0 ? real_min(angle, MAX_ANGLE) : DEFAULT_ANGLE);
}

uint64_t abut_contact_reduce(abut_contact *list, uint64_t count, uint64_t keep, double angle) {
    uint32_t patch_keep = keep < MAX_KEEP ? (uint32_t)keep : MAX_KEEP;
    double cosine = abuti_contact_reduction(angle, &patch_keep);
    size_t kept = 0;
    if (!list)
        return 0;
    for (size_t begin = 0, end; begin < count; begin = end) {
        end = gather_patch(list, begin, count, cosine);
        size_t here = end - begin < patch_keep ? end - begin : patch_keep;
        abuti_contact_choose(list + begin, end - begin, here, list[begin].normal);
        for (size_t i = 0; i < here; i++)
            swap_contacts(list, kept++, begin + i);
    }
    return kept;
}

/* ---- output lists ---- */

abut_status abuti_patches_check(const char *function, const abut_patches *patches) {
    abut_status status = ABUTI_LIST_CHECK_MEMBERS(function, "patches->patches", &patches->patches);
    return status ? status
                  : ABUTI_LIST_CHECK_MEMBERS(function, "patches->contacts", &patches->contacts);
}

abut_status abuti_patches_count(const char *function, uint64_t count, uint64_t contact_count,
                                abut_patches *patches) {
    abut_status status = ABUTI_LIST_COUNT(function, "patches->patches", &patches->patches, count);
    abut_status second =
        ABUTI_LIST_COUNT(function, "patches->contacts", &patches->contacts, contact_count);
    return status ? status : second;
}

const char *abut_contact_kind_name(abut_contact_kind kind) {
    static const char *const names[] = {"vertex", "edge",  "face",     "surface",
                                        "solid",  "point", "crossing", "overlap"};
    return ABUTI_NAME(names, kind);
}
