/* Fewer contacts: patches by normal, and of each those that make the largest support.
 *
 * In place and without memory: the deepest of what is left leads a patch, whose members are swapped
 * to follow it; of them the one that adds most to those that stay is taken again and again (see
 * contact_support_gain()). There are never many patches, since their leaders' normals are further
 * apart than the angle. Ties go to the lower id, so that the order of the list does not matter.
 */
#include "contact/contact.h"

#include <math.h>

#define ANGLE 0.5
#define ANGLE_MAX 3.0 /* all but opposite ones */
enum { KEEP = 4, KEEP_MAX = 64 };

static void swap(abut_contact *list, size_t i, size_t k) {
    abut_contact kept = list[i];
    list[i] = list[k];
    list[k] = kept;
}

static bool deeper(const abut_contact *a, const abut_contact *b) {
    return a->depth > b->depth || (a->depth == b->depth && a->id < b->id);
}

/* Brings the deepest of a range to its front, and after it those whose normals agree; returns the
 * end of these. */
static size_t gather(abut_contact *list, size_t begin, size_t end, double cosine) {
    size_t deepest = begin, members = begin + 1;
    for (size_t i = begin + 1; i < end; i++)
        if (deeper(&list[i], &list[deepest]))
            deepest = i;
    swap(list, begin, deepest);
    for (size_t i = begin + 1; i < end; i++)
        if (v3_dot(list[i].normal, list[begin].normal) >= cosine)
            swap(list, i, members++);
    return members;
}

/* The one of a patch that adds most to the first `kept` of it. */
static size_t best_of(const abut_contact *patch, size_t count, size_t kept, vec3 normal) {
    vec3 corner[CONTACT_SUPPORT_CORNERS] = {patch[0].point};
    for (size_t k = 1; k < kept && k < CONTACT_SUPPORT_CORNERS; k++)
        corner[k] = patch[k].point;
    size_t best = kept;
    double most = -1;
    for (size_t i = kept; i < count; i++) {
        double far_sq = INFINITY;
        for (size_t k = 0; k < kept; k++)
            far_sq = real_min(far_sq, v3_length_sq(v3_sub(patch[i].point, patch[k].point)));
        double gain = contact_support_gain((word32)kept, corner, normal, patch[i].point, far_sq);
        if (gain > most || (gain == most && patch[i].id < patch[best].id)) {
            most = gain;
            best = i;
        }
    }
    return best;
}

/* Brings to the front of a patch the one that is level with its deepest and furthest from it. */
static void lead_by_level(abut_contact *patch, size_t count) {
    size_t best = 0;
    double most = 0;
    for (size_t i = 1; i < count; i++) {
        double far_sq =
            contact_support_level(patch[0].point, patch[0].depth, patch[i].point, patch[i].depth);
        if (far_sq > most || (far_sq == most && far_sq > 0 && patch[i].id < patch[best].id)) {
            most = far_sq;
            best = i;
        }
    }
    swap(patch, 0, best);
}

/* Brings `keep` of a patch to its front. */
static void choose(abut_contact *patch, size_t count, size_t keep) {
    const vec3 normal = patch[0].normal;
    if (keep > 1)
        lead_by_level(patch, count);
    for (size_t kept = 1; kept < keep; kept++)
        swap(patch, kept, best_of(patch, count, kept, normal));
}

double abuti_contact_reduction(double angle, uint32_t *keep) {
    *keep = *keep == 0 ? KEEP : *keep > KEEP_MAX ? KEEP_MAX : *keep;
    return cos(angle > 0 ? real_min(angle, ANGLE_MAX) : ANGLE);
}

uint64_t abut_contact_reduce(abut_contact *list, uint64_t count, uint64_t keep, double angle) {
    uint32_t most = keep < KEEP_MAX ? (uint32_t)keep : KEEP_MAX;
    double cosine = abuti_contact_reduction(angle, &most);
    size_t kept = 0;
    if (!list)
        return 0;
    for (size_t begin = 0, end; begin < count; begin = end) {
        end = gather(list, begin, count, cosine);
        size_t here = end - begin < most ? end - begin : most;
        choose(list + begin, end - begin, here);
        for (size_t i = 0; i < here; i++)
            swap(list, kept++, begin + i);
    }
    return kept;
}
