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

#include <math.h>

#define DEFAULT_ANGLE 0.5
#define MAX_ANGLE 3.0 /* radians: all normals except nearly opposite ones */
enum { DEFAULT_KEEP = 4 };

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

/* The contacts of a patch, in place: those that are kept come first. */
typedef struct patch_list {
    const abut_contact *contacts;
    bool is_level; /* only contacts that are level with the first one may be chosen */
} patch_list;

static reduction_point read_contact(const void *data, size_t i) {
    const patch_list *list = data;
    const abut_contact *c = &list->contacts[i], *first = list->contacts;
    const bool excluded = list->is_level && !(contact_support_level(first->point, first->depth,
                                                                    c->point, c->depth) > 0);
    return (reduction_point){c->point, !excluded, c->id};
}

void abuti_contact_choose(abut_contact *patch, size_t count, size_t keep, vec3 normal) {
    patch_list list = {patch, true};
    contact_reduction r = {.end = count, .normal = normal, .spread = CONTACT_SUPPORT_SPREAD};
    vec3 points[CONTACT_KEEP_MAX] = {patch[0].point};
    double gain;
    assert(keep <= CONTACT_KEEP_MAX);
    size_t first = keep > 1 && v3_max_abs(normal) > 0
                       ? contact_reduction_next(&r, read_contact, &list, points, 1, &gain)
                       : SIZE_MAX;
    if (first != SIZE_MAX)
        swap_contacts(patch, 0, first);
    list.is_level = false;
    for (uint32_t kept = 1; kept < keep; kept++) {
        points[kept - 1] = patch[kept - 1].point;
        r.begin = kept;
        swap_contacts(patch, kept,
                      contact_reduction_next(&r, read_contact, &list, points, kept, &gain));
    }
}

double abuti_contact_reduction(double angle, uint32_t *keep) {
    *keep = *keep == 0 ? DEFAULT_KEEP : *keep > CONTACT_KEEP_MAX ? CONTACT_KEEP_MAX : *keep;
    return cos(angle > 0 ? real_min(angle, MAX_ANGLE) : DEFAULT_ANGLE);
}

uint64_t abut_contact_reduce(abut_contact *list, uint64_t count, uint64_t keep, double angle) {
    uint32_t patch_keep = keep < CONTACT_KEEP_MAX ? (uint32_t)keep : CONTACT_KEEP_MAX;
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
