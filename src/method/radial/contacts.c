/* Contacts of points, spheres and capsules with a character, from its radial fields. */
#include "radial/radial.h"

#include "pair/contact_list.h"

enum { CAPSULE_SEGMENTS_MAX = 64 }; /* maximum samples along a capsule */

/* The number of sample points of a capsule: one for a sphere, otherwise both ends and points
 * between, at most a cell apart. */
static uint32_t capsule_point_count(const abut_capsule *c, double cell) {
    const vec3 way = v3_sub(c->end[1], c->end[0]);
    if (v3_max_abs(way) == 0)
        return 1;
    const double length = v3_dot(way, v3_normalise(way));
    return length > 0 ? (uint32_t)fmin(fmax(ceil(length / cell), 1), CAPSULE_SEGMENTS_MAX) + 1 : 1;
}

static vec3 capsule_point(const abut_capsule *c, uint32_t i, uint32_t n) {
    return n == 1 ? c->end[0] : v3_lerp(c->end[0], c->end[1], (double)i / (n - 1));
}

static abut_status check_capsules(const char *function, size_t count,
                                  const abut_capsule *capsules) {
    for (size_t i = 0; i < count; i++) {
        const abut_capsule *c = &capsules[i];
        const vec3 sum = v3_add(v3_abs(c->end[0]), v3_abs(c->end[1]));
        if (!(sum.x <= ABUT_COORDINATE_MAX && sum.y <= ABUT_COORDINATE_MAX &&
              sum.z <= ABUT_COORDINATE_MAX) ||
            !(c->radius >= 0 && c->radius <= ABUT_COORDINATE_MAX))
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "%s: capsules[%zu] is not finite, or its radius is negative",
                              function, i);
    }
    return ABUT_OK;
}

/* Writes the contacts of one capsule, whose sample results are `answers`. Returns their number, 0
 * to 3. */
static uint32_t find_capsule_contacts(const abut_capsule *c, uint32_t element, uint32_t n,
                                      const abut_radial_answer *answers,
                                      const abut_contact_options *o, abut_contact *list) {
    uint32_t deepest = 0, found = 0;
    for (uint32_t i = 1; i < n; i++)
        deepest = answers[i].distance < answers[deepest].distance ? i : deepest;
    for (uint32_t part = 0; part < 3; part++) {
        const uint32_t i = part == 0 ? 0 : part == 1 ? n - 1 : deepest;
        if ((part == 1 && n == 1) || (part == 2 && (deepest == 0 || deepest + 1 == n)))
            continue;
        const double depth = c->radius - answers[i].distance;
        if (answers[i].field == ABUT_NONE || !(depth >= -o->margin))
            continue;
        const vec3 out = answers[i].normal;
        list[found++] = (abut_contact){.point = v3_along(capsule_point(c, i, n), -c->radius, out),
                                       .normal = v3_scale(out, -1),
                                       .depth = depth,
                                       .id = contact_id(1, ABUT_CONTACT_POINT, element, part),
                                       .a = o->a,
                                       .b = o->b,
                                       .side = 1,
                                       .kind = ABUT_CONTACT_POINT,
                                       .element = element,
                                       .part = part};
    }
    return found;
}

abut_status abut_radial_contacts(abut_radial *radial, size_t count, const abut_capsule *capsules,
                                 const abut_contact_options *options, abut_contacts *contacts) {
    if (!radial || !contacts || (count && !capsules))
        return abuti_null(__func__, !radial ? "radial" : contacts ? "capsules" : "contacts");
    abut_contacts ours = abut_contacts_default();
    abut_status status = abuti_result_read(&ours, sizeof ours, contacts, __func__, "contacts");
    if (status || (status = ABUTI_LIST_CHECK_MEMBERS(__func__, "contacts", &ours)))
        return status;
    abut_contact_options o = abut_contact_options_default();
    status = abuti_options_read(&o, sizeof o, options, "abut_contact_options");
    if (!status && !(o.margin >= 0 && o.margin <= ABUT_COORDINATE_MAX))
        status = abuti_fail(ABUT_ERROR_ARGUMENT,
                            "%s: options->margin is %g; it must be finite and at least 0", __func__,
                            o.margin);
    if (!status && count >= ABUT_NONE)
        status = abuti_fail(ABUT_ERROR_LIMIT, "%s: count exceeds 2^32 - 1 capsules", __func__);
    if (status || (status = check_capsules(__func__, count, capsules)))
        return status;
    const double cell = radial->info.cell;
    double limit = cell * 1e-6; /* farther points have no contact */
    size_t places = 0, at = 0;
    for (size_t i = 0; i < count; i++) {
        places += capsule_point_count(&capsules[i], cell);
        limit = fmax(limit, (capsules[i].radius + o.margin) * 1.000001);
    }
    vec3 *points = abuti_allocate(radial->context, places, sizeof *points);
    abut_radial_answer *answers = abuti_allocate(radial->context, places, sizeof *answers);
    status = points && answers ? ABUT_OK : ABUT_ERROR_MEMORY;
    for (size_t i = 0; i < count && !status; i++)
        for (uint32_t k = 0, n = capsule_point_count(&capsules[i], cell); k < n; k++)
            points[at++] = capsule_point(&capsules[i], k, n);
    if (!status)
        status = abuti_radial_find_nearest(radial, places, points, limit, answers);
    /* counts, then writes */
    for (int pass = 0; pass < 2 && !status; pass++) {
        uint64_t found = 0;
        at = 0;
        for (size_t i = 0; i < count; i++) {
            abut_contact list[3];
            const uint32_t n = capsule_point_count(&capsules[i], cell);
            const uint32_t here =
                find_capsule_contacts(&capsules[i], (uint32_t)i, n, answers + at, &o, list);
            if (pass && here)
                memcpy(ours.list + found, list, here * sizeof *list);
            found += here;
            at += n;
        }
        if (!pass)
            status = ABUTI_LIST_COUNT(__func__, "contacts", &ours, found);
    }
    if (!status)
        ours.reliability =
            abuti_limited("Depths are those of radial fields, accurate to about a cell.");
    ABUTI_RELEASE(radial->context, points, answers);
    return abuti_result_write(contacts, &ours, status);
}
