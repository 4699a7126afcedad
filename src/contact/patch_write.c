/* What contacts from exact geometry are asked with and how they are told, of meshes and solids. */
#include "contact/patch.h"

enum {
    KEEP = 4,       /* contacts a patch */
    TOO_MANY = 1024 /* contacts, from which on ids may stand in several patches */
};

static vec3 to_world(const patch_frame *frame, vec3 p) {
    return abuti_motion_apply(&frame->motion, v3_add(p, frame->origin));
}

/* The id of a contact: that of its feature, and where patches before have it too, as the walls of a
 * corner do, with the axis that the normal is nearest to. */
static uint64_t unique_id(const abut_contact *list, uint64_t before, uint64_t id, vec3 normal) {
    vec3 size = v3_abs(normal);
    uint64_t axis = size.x >= size.y && size.x >= size.z ? 1 : size.y >= size.z ? 2 : 3, own = id;
    for (int turn = 0; turn < 3; turn++) {
        bool again = false;
        for (uint64_t i = 0; i < before && before <= TOO_MANY && !again; i++)
            again = list[i].id == own;
        if (!again)
            return own;
        own = id | ((axis + (uint64_t)turn - 1) % 3 + 1) << CONTACT_ID_SPARE;
    }
    return own;
}

abut_status abuti_patch_write(const patch_frame *frame, const patch_answer *answers, size_t count,
                              bool separates, abut_advice advice, abut_patches *out) {
    uint64_t contacts = 0;
    for (size_t i = 0; i < count; i++)
        contacts += answers[i].count;
    out->count = count;
    out->contact_count = contacts;
    if (count > out->capacity || contacts > out->contact_capacity)
        return abuti_fail(ABUT_ERROR_BUFFER,
                          "%s: there are %llu patches with %llu contacts, but room for %llu and "
                          "%llu",
                          frame->function, (unsigned long long)count, (unsigned long long)contacts,
                          (unsigned long long)out->capacity,
                          (unsigned long long)out->contact_capacity);
    out->separates = separates || !count;
    out->advice = advice;
    contacts = 0;
    for (size_t i = 0; i < count; i++) {
        const patch_answer *a = &answers[i];
        vec3 normal = m3_apply(&frame->motion.rotation, a->normal);
        normal = v3_add(v3_scale(normal, frame->swapped ? -1 : 1), v3(0, 0, 0)); /* no -0 */
        out->list[i] = (abut_patch){normal,         to_world(frame, a->centre),
                                    a->depth + 0.0, a->area,
                                    a->volume,      contacts,
                                    a->count};
        for (uint32_t k = 0; k < a->count; k++) {
            const patch_point *p = &a->points[k];
            uint32_t side = p->side ^ (uint32_t)frame->swapped;
            uint64_t id = contact_id(side, p->kind, p->element, p->part);
            id = unique_id(out->contacts, out->list[i].first, id, normal);
            out->contacts[contacts++] = (abut_contact){.point = to_world(frame, p->at),
                                                       .normal = normal,
                                                       .depth = p->depth + 0.0,
                                                       .id = id,
                                                       .pair = frame->pair,
                                                       .side = side,
                                                       .kind = (abut_contact_kind)p->kind,
                                                       .element = p->element,
                                                       .part = p->part};
        }
    }
    return ABUT_OK;
}

abut_status abuti_patch_options(const char *function, const abut_patch_options *options,
                                const abut_patches *patches, abut_patch_options *ours) {
    if (!patches)
        return abuti_null(function, "patches");
    if ((!patches->list && patches->capacity) || (!patches->contacts && patches->contact_capacity))
        return abuti_null(function, "a list with room");
    *ours = abut_patch_options_default();
    abut_status status = abuti_options_read(ours, sizeof *ours, options, function);
    if (status)
        return status;
    if (!(ours->margin >= 0 && ours->margin <= ABUT_COORDINATE_MAX))
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: options->margin is %g; it must be a length",
                          function, ours->margin);
    if (ours->keep > PATCH_POINTS)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: options->keep is %u; it may be at most %d",
                          function, ours->keep, PATCH_POINTS);
    ours->keep = ours->keep ? ours->keep : KEEP;
    return abuti_contact_check(function, "options->hint", &ours->hint.x, 3);
}
