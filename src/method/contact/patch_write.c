/* Options and output of contacts by exact geometry, for meshes and primitives.
 *
 * Ids. A contact has the id of its feature. One feature may have several contacts in a pair: the
 * corner of a cube in the corner of a room has one for each wall. These are numbered by their
 * normals and then by their points, not by their depths, so that each keeps its id while depths
 * change. The number is stored in two bits of the id that no feature uses. Normals and points are
 * those in the frame of one body, so the order does not change when both bodies move together. */
#include "contact/patch.h"

#include <math.h>
#include <stdlib.h>

enum {
    DEFAULT_CONTACTS = 4,                   /* maximum number of contacts in a patch */
    STACK_CONTACTS = 64,                    /* contacts that are sorted without allocation */
    ID_NUMBERS = 1 << CONTACT_ID_SPARE_BITS /* contacts of one feature with different numbers */
};

/* Normals and points are ordered along this direction. Its coordinates are powers of 1/x, where x
 * is the root of x^3 = x + 1. So axes, diagonals and other directions of simple shapes have
 * different coordinates along it. */
static const vec3 ORDER_AXIS = {1, 0.7548776662466927, 0.5698402909980532};
#define ORDER_STEPS 1000 /* per unit: normals in the same step count as equal */

static vec3 world_normal(const patch_frame *frame, vec3 normal) {
    normal = m3_apply(&frame->motion.rotation, normal);
    return v3_add(v3_scale(normal, frame->swapped ? -1 : 1), v3(0, 0, 0)); /* avoids -0 */
}

static vec3 to_world(const patch_frame *frame, vec3 p) {
    return abuti_motion_apply(&frame->motion, v3_add(p, frame->origin));
}

/* The sort key of a contact: id of its feature, then coordinates of normal and point along the
 * axis. */
typedef struct contact_order {
    uint64_t id;
    double normal, point;
    uint32_t at, number;
} contact_order;

static int compare_contacts(const void *x, const void *y) {
    const contact_order *a = x, *b = y;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    if (a->normal != b->normal)
        return a->normal < b->normal ? -1 : 1;
    if (a->point != b->point)
        return a->point < b->point ? -1 : 1;
    return a->at < b->at ? -1 : 1;
}

static bool has_id(const abut_contact *list, size_t count, uint64_t id) {
    for (size_t i = 0; i < count; i++)
        if (list[i].id == id)
            return true;
    return false;
}

/* Numbers the contacts of each feature, which have the id of the feature on entry. Contacts beyond
 * ID_NUMBERS get a part that no other id has, after all others have their ids. */
static void number_ids(contact_order *order, size_t count, abut_contact *list) {
    const uint64_t part_mask = (((uint64_t)1 << CONTACT_ID_PART_BITS) - 1) << CONTACT_ID_PART;
    size_t extra = 0;
    qsort(order, count, sizeof *order, compare_contacts);
    for (size_t i = 0; i < count; i++) {
        const bool is_same_feature = i && order[i - 1].id == order[i].id;
        const uint64_t number = order[i].number = is_same_feature ? order[i - 1].number + 1 : 0;
        if (number < ID_NUMBERS)
            list[order[i].at].id |= number << CONTACT_ID_SPARE;
        extra += number >= ID_NUMBERS;
    }
    for (size_t i = 0; i < count && extra; i++) {
        if (order[i].number < ID_NUMBERS)
            continue;
        uint64_t id = order[i].id | (uint64_t)(ID_NUMBERS - 1) << CONTACT_ID_SPARE;
        for (uint64_t add = order[i].number; has_id(list, count, id); add++)
            id = (id & ~part_mask) | ((order[i].id + (add << CONTACT_ID_PART)) & part_mask);
        list[order[i].at].id = id;
    }
}

abut_status abuti_patch_write(const patch_frame *frame, const patch_answer *answers, size_t count,
                              bool is_verified, abut_reliability reliability, abut_patches *out) {
    uint64_t contacts = 0;
    for (size_t i = 0; i < count; i++)
        contacts += answers[i].count;
    abut_status status = abuti_patches_count(frame->function, count, contacts, out);
    if (status)
        return status;
    contact_order stack_order[STACK_CONTACTS], *order = stack_order;
    if (contacts > STACK_CONTACTS && !(order = abuti_allocate(abuti_context_of(frame->context),
                                                              (size_t)contacts, sizeof *order)))
        return ABUT_ERROR_MEMORY;
    out->is_verified = is_verified || !count;
    out->reliability = reliability;
    contacts = 0;
    for (size_t i = 0; i < count; i++) {
        const patch_answer *a = &answers[i];
        vec3 normal = world_normal(frame, a->normal);
        abut_patch *patch = &out->patches.list[i];
        memset(patch, 0, sizeof *patch); /* padding too: equal answers have equal bytes */
        patch->normal = normal;
        patch->centre = to_world(frame, a->centre);
        patch->depth = a->depth + 0.0;
        patch->area = a->area;
        patch->volume = a->volume;
        patch->first = contacts;
        patch->count = a->count;
        for (uint32_t k = 0; k < a->count; k++) {
            const patch_point *p = &a->points[k];
            bool is_curved = v3_max_abs(p->normal) > 0;
            vec3 point_normal = is_curved ? world_normal(frame, p->normal) : normal;
            /* Depths are measured along the normal of the patch. */
            double cosine = is_curved && k && p->depth > 0 ? v3_dot(p->normal, a->normal) : 1;
            uint32_t side = p->side ^ (uint32_t)frame->swapped;
            uint64_t id = contact_id(side, p->kind, p->element, p->part);
            order[contacts] =
                (contact_order){id, floor(v3_dot(a->normal, ORDER_AXIS) * ORDER_STEPS + 0.5),
                                v3_dot(p->at, ORDER_AXIS), (uint32_t)contacts, 0};
            out->contacts.list[contacts++] = (abut_contact){.point = to_world(frame, p->at),
                                                            .normal = point_normal,
                                                            .depth = cosine * p->depth + 0.0,
                                                            .id = id,
                                                            .a = frame->a,
                                                            .b = frame->b,
                                                            .side = side,
                                                            .kind = (abut_contact_kind)p->kind,
                                                            .element = p->element,
                                                            .part = p->part};
        }
    }
    number_ids(order, (size_t)contacts, out->contacts.list);
    if (order != stack_order)
        abuti_release(abuti_context_of(frame->context), order);
    return ABUT_OK;
}

abut_status abuti_patch_options(const char *function, const abut_patch_options *options,
                                const abut_patches *patches, abut_patch_options *checked) {
    if (!patches)
        return abuti_null(function, "patches");
    abut_status status = abuti_patches_check(function, patches);
    if (status)
        return status;
    *checked = abut_patch_options_default();
    status = abuti_options_read(checked, sizeof *checked, options, function);
    if (!status)
        status = abuti_check_length(function, "options->margin", checked->margin);
    if (!status)
        status = abuti_check_range(function, "options->max_contacts", checked->max_contacts, 0,
                                   PATCH_POINTS, "contacts; 0 is the default of 4");
    if (status)
        return status;
    checked->max_contacts = checked->max_contacts ? checked->max_contacts : DEFAULT_CONTACTS;
    return abuti_check_numbers(function, "options->hint", &checked->hint.x, 3);
}
