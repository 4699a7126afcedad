/* Morph targets: validated once and sorted by vertex, so that each vertex reads its own offsets, on
 * the CPU and on a device. */
#include "character/character.h"

/* The problem of a morph target, or null. */
static const char *find_morph_problem(const abut_character *c, const abut_character_morph *morph) {
    if (morph->shift_count && !morph->shifts)
        return "has shift_count > 0, but shifts is null";
    if (!(fabs(morph->weight) <= ABUT_COORDINATE_MAX)) /* false for NaN */
        return "has a weight that is not finite or too large";
    if (!morph->vertices && morph->shift_count > c->info.vertex_count)
        return "has more shifts than there are vertices";
    for (uint32_t i = 0; i < morph->shift_count; i++) {
        vec3 s = morph->shifts[i];
        if (morph->vertices && morph->vertices[i] >= c->info.vertex_count)
            return "refers to a vertex that does not exist";
        if (!(fabs(s.x) <= ABUT_COORDINATE_MAX && fabs(s.y) <= ABUT_COORDINATE_MAX &&
              fabs(s.z) <= ABUT_COORDINATE_MAX))
            return "has shifts that are not finite or too large";
    }
    return NULL;
}

static abut_status copy_morph(abut_character *c, const char *who, uint32_t number) {
    abut_character_morph *morph = &c->morphs[number];
    const char *problem = find_morph_problem(c, morph);
    morph->name = abuti_character_copy_name(c, morph->name, "morph", number);
    if (!morph->name)
        return ABUT_ERROR_MEMORY;
    if (problem)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: morph target %u %s", who, number, problem);
    uint32_t *vertices = abuti_character_allocate(&c->pool, morph->shift_count, sizeof *vertices);
    morph->shifts =
        abuti_character_copy(c, morph->shifts, morph->shift_count, sizeof *morph->shifts);
    if (!vertices || !morph->shifts)
        return ABUT_ERROR_MEMORY;
    vec3 extent = v3(0, 0, 0);
    for (uint32_t i = 0; i < morph->shift_count; i++) {
        vertices[i] = morph->vertices ? morph->vertices[i] : i;
        extent = v3_max(extent, v3_abs(morph->shifts[i]));
    }
    morph->vertices = vertices;
    c->morph_extents[number] = extent;
    return ABUT_OK;
}

/* Counting sort by vertex, in the order of targets. */
static abut_status sort_shifts(abut_character *c) {
    character_shifts *s = &c->shifts;
    uint32_t vertices = c->info.vertex_count;
    uint64_t all = 0;
    for (uint32_t i = 0; i < c->info.morph_count; i++)
        all += c->morphs[i].shift_count;
    if (!all)
        return ABUT_OK;
    if (all >= UINT32_MAX)
        return abuti_fail(ABUT_ERROR_LIMIT, "morph targets have more than 2^32 - 2 offsets in all");
    s->starts = abuti_character_allocate(&c->pool, (size_t)vertices + 2, sizeof *s->starts);
    s->targets = abuti_character_allocate(&c->pool, (size_t)all, sizeof *s->targets);
    s->shifts = abuti_character_allocate(&c->pool, (size_t)all, sizeof *s->shifts);
    if (!s->starts || !s->targets || !s->shifts)
        return ABUT_ERROR_MEMORY;
    s->count = (uint32_t)all;
    uint32_t *next =
        s->starts +
        1; /* next[v] is the insertion position of vertex v, and finally the end of its range */
    memset(s->starts, 0, ((size_t)vertices + 2) * sizeof *s->starts);
    for (uint32_t i = 0; i < c->info.morph_count; i++)
        for (uint32_t k = 0; k < c->morphs[i].shift_count; k++)
            next[c->morphs[i].vertices[k] + 1]++;
    for (uint32_t v = 0; v < vertices; v++)
        next[v + 1] += next[v];
    for (uint32_t i = 0; i < c->info.morph_count; i++)
        for (uint32_t k = 0; k < c->morphs[i].shift_count; k++) {
            uint32_t at = next[c->morphs[i].vertices[k]]++;
            s->targets[at] = i;
            s->shifts[at] = c->morphs[i].shifts[k];
        }
    return ABUT_OK;
}

abut_status abuti_character_copy_morphs(abut_character *c, const char *who,
                                        const abut_character_input *input) {
    uint32_t count = input->morph_count;
    c->info.morph_count = count;
    c->morphs = abuti_character_copy(c, input->morphs, count, sizeof *c->morphs);
    c->morph_extents = abuti_character_allocate(&c->pool, count, sizeof *c->morph_extents);
    if (!c->morphs || !c->morph_extents)
        return ABUT_ERROR_MEMORY;
    abut_status status = ABUT_OK;
    for (uint32_t i = 0; i < count && !status; i++)
        status = copy_morph(c, who, i);
    return status ? status : sort_shifts(c);
}
