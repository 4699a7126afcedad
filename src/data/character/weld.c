/* Characters with fewer vertices. Welding: exporters split vertices at seams, where normals or
 * texture coordinates change. Vertices with equal position, weights and morph offsets move together
 * and become one. Removal: triangles that some bones move are removed.
 */
#include "character/character.h"

static uint64_t mix_double(uint64_t h, double x) {
    uint64_t bits;
    x += 0.0; /* -0 becomes 0 */
    memcpy(&bits, &x, sizeof bits);
    return abuti_mix_bits(h + bits + 0x9e3779b97f4a7c15u);
}

/* Hash of weights and morph offsets; equal for vertices with same_binding(). */
static uint64_t hash_binding(const abut_character *c, uint32_t vertex, uint64_t h) {
    const size_t from = (size_t)c->weight_stride * vertex;
    const character_shifts *s = &c->shifts;
    uint64_t sum = 0; /* independent of order: equal weights may be stored in any order */
    for (uint32_t i = 0; i < c->weight_stride && c->weights[from + i] > 0; i++)
        sum += mix_double(c->weight_bones[from + i], c->weights[from + i]);
    h = abuti_mix_bits(h + sum);
    for (uint32_t i = s->count ? s->starts[vertex] : 0; s->count && i < s->starts[vertex + 1];
         i++) {
        h = mix_double(abuti_mix_bits(h + s->targets[i]), s->shifts[i].x);
        h = mix_double(mix_double(h, s->shifts[i].y), s->shifts[i].z);
    }
    return h;
}

static bool same_binding(const abut_character *c, uint32_t a, uint32_t b) {
    const size_t stride = c->weight_stride;
    const character_shifts *s = &c->shifts;
    for (size_t i = 0; i < stride; i++) {
        size_t at = stride * a + i, k = 0;
        if (c->weights[at] != c->weights[stride * b + i])
            return false;
        while (k < stride && !(c->weight_bones[stride * b + k] == c->weight_bones[at] &&
                               c->weights[stride * b + k] == c->weights[at]))
            k++;
        if (c->weights[at] > 0 && k == stride)
            return false;
    }
    if (!s->count)
        return true;
    uint32_t from = s->starts[a], to = s->starts[b], count = s->starts[a + 1] - from;
    if (s->starts[b + 1] - to != count)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        vec3 p = s->shifts[from + i], q = s->shifts[to + i];
        if (s->targets[from + i] != s->targets[to + i] || p.x != q.x || p.y != q.y || p.z != q.z)
            return false;
    }
    return true;
}

abut_status abuti_character_seams(const abut_character *c, uint32_t *same) {
    const uint32_t count = c->info.vertex_count;
    uint32_t *lowest = abuti_allocate(c->context, count, sizeof *lowest);
    sort_key *keys = abuti_allocate(c->context, count, 2 * sizeof *keys);
    abut_status status = lowest && keys ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status)
        status = abuti_coincident_vertices(c->context, c->mesh->positions, count, lowest);
    if (!status) {
        for (uint32_t v = 0; v < count; v++)
            keys[v] = (sort_key){hash_binding(c, v, lowest[v]), v};
        const sort_key *sorted = abuti_sort_by_key(keys, keys + count, count);
        uint32_t first = 0; /* lowest vertex with the same key */
        for (uint32_t i = 0; i < count; i++) {
            uint32_t v = sorted[i].value;
            if (!i || sorted[i].key != sorted[i - 1].key)
                first = v;
            same[v] = lowest[v] == lowest[first] && same_binding(c, first, v) ? first : v;
        }
    }
    ABUTI_RELEASE(c->context, lowest, keys);
    return status;
}

/* ---- a character with fewer vertices ---- */

typedef struct weld_work {
    const abut_character *from;
    const char *who;
    character_pool pool;
    uint32_t *same;   /* by vertex: the vertex that replaces it; ABUT_NONE = removed */
    uint32_t *number; /* new index of vertices that are kept */
    uint32_t vertex_count;
    uint32_t *weight_bones;
    double *weights;
    abut_character_morph *morphs;
} weld_work;

static void *allocate_weld(weld_work *w, size_t count, size_t element_bytes) {
    return abuti_character_allocate(&w->pool, count, element_bytes);
}

static bool is_removed(const weld_work *w, const uint32_t *corner) {
    return w->same[corner[0]] == ABUT_NONE || w->same[corner[1]] == ABUT_NONE ||
           w->same[corner[2]] == ABUT_NONE;
}

/* The mesh with fewer vertices. Triangles that become degenerate are removed. */
static abut_status weld_mesh(weld_work *w, abut_mesh **mesh) {
    const abut_character *c = w->from;
    const uint32_t *corner = c->mesh->indices;
    size_t triangles = 0;
    vec3 *positions = abuti_allocate(c->context, w->vertex_count, sizeof *positions);
    uint32_t *indices =
        abuti_allocate(c->context, 3 * (size_t)c->info.triangle_count, sizeof *indices);
    if (!positions || !indices) {
        ABUTI_RELEASE(c->context, positions, indices);
        return ABUT_ERROR_MEMORY;
    }
    for (uint32_t v = 0; v < c->info.vertex_count; v++)
        if (w->same[v] == v)
            positions[w->number[v]] = abuti_mesh_position(c->mesh, v);
    for (uint32_t t = 0; t < c->info.triangle_count; t++) {
        const uint32_t *own = corner + 3 * (size_t)t;
        uint32_t *to = indices + 3 * triangles;
        if (is_removed(w, own))
            continue;
        for (int k = 0; k < 3; k++)
            to[k] = w->number[w->same[own[k]]];
        triangles += !abuti_is_collapsed(to) || abuti_is_collapsed(own);
    }
    abut_status status =
        abuti_mesh_adopt(c->context, w->who, positions, w->vertex_count, indices, triangles, mesh);
    if (!status)
        (*mesh)->up = c->mesh->up;
    return status;
}

static abut_status weld_weights(weld_work *w) {
    const abut_character *c = w->from;
    const size_t stride = c->weight_stride;
    w->weight_bones = allocate_weld(w, stride * w->vertex_count, sizeof *w->weight_bones);
    w->weights = allocate_weld(w, stride * w->vertex_count, sizeof *w->weights);
    if (!w->weight_bones || !w->weights)
        return ABUT_ERROR_MEMORY;
    for (uint32_t v = 0; v < c->info.vertex_count; v++)
        for (size_t i = 0; w->same[v] == v && i < stride; i++) {
            w->weight_bones[stride * w->number[v] + i] = c->weight_bones[stride * v + i];
            w->weights[stride * w->number[v] + i] = c->weights[stride * v + i];
        }
    return ABUT_OK;
}

static abut_status weld_morphs(weld_work *w) {
    const abut_character *c = w->from;
    w->morphs = allocate_weld(w, c->info.morph_count, sizeof *w->morphs);
    for (uint32_t i = 0; w->morphs && i < c->info.morph_count; i++) {
        const abut_character_morph *from = &c->morphs[i];
        uint32_t *vertices = allocate_weld(w, from->shift_count, sizeof *vertices), count = 0;
        vec3 *shifts = allocate_weld(w, from->shift_count, sizeof *shifts);
        if (!vertices || !shifts)
            return ABUT_ERROR_MEMORY;
        for (uint32_t k = 0; k < from->shift_count; k++) {
            uint32_t v = from->vertices[k];
            if (w->same[v] != v)
                continue;
            vertices[count] = w->number[v];
            shifts[count++] = from->shifts[k];
        }
        w->morphs[i] = (abut_character_morph){from->name, from->weight, count, vertices, shifts};
    }
    return w->morphs ? ABUT_OK : ABUT_ERROR_MEMORY;
}

/* Creates the character of the vertices that `same` keeps. */
static abut_status rebuild(weld_work *w, abut_character **rebuilt) {
    const abut_character *c = w->from;
    abut_mesh *mesh = NULL;
    for (uint32_t v = 0; v < c->info.vertex_count; v++)
        w->number[v] = w->same[v] == v ? w->vertex_count++ : 0;
    abut_status status = weld_weights(w);
    if (!status)
        status = weld_morphs(w);
    if (!status)
        status = weld_mesh(w, &mesh);
    if (!status) {
        abut_character_input input = abut_character_input_default();
        input.mesh = mesh;
        input.bone_count = c->info.bone_count;
        input.bones = c->bones;
        input.binds = c->binds;
        input.weight_count = c->weight_stride;
        input.weight_bones = w->weight_bones;
        input.weights = w->weights;
        input.clip_count = c->info.clip_count;
        input.clips = c->clips;
        input.morph_count = c->info.morph_count;
        input.morphs = w->morphs;
        status = abuti_character_make(c->context, w->who, &input, NULL, rebuilt);
    }
    abut_mesh_destroy(mesh);
    return status;
}

abut_status abut_character_weld(const abut_character *character, abut_character **welded) {
    if (!character || !welded)
        return abuti_null(__func__, character ? "welded" : "character");
    weld_work w = {.from = character, .who = __func__, .pool = {.context = character->context}};
    w.same = allocate_weld(&w, character->info.vertex_count, sizeof *w.same);
    w.number = allocate_weld(&w, character->info.vertex_count, sizeof *w.number);
    abut_status status =
        w.same && w.number ? abuti_character_seams(character, w.same) : ABUT_ERROR_MEMORY;
    if (!status)
        status = rebuild(&w, welded);
    abuti_character_release(&w.pool);
    return status;
}

/* Marks bones and their descendants. */
static abut_status mark_bones(const abut_character *c, const char *who, const uint32_t *bones,
                              uint32_t bone_count, bool *marked) {
    memset(marked, 0, c->info.bone_count * sizeof *marked);
    for (uint32_t i = 0; i < bone_count; i++) {
        if (bones[i] >= c->info.bone_count)
            return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: bones[%u] is %u; there are %u bones", who,
                              i, bones[i], c->info.bone_count);
        marked[bones[i]] = true;
    }
    for (uint32_t i = 0; i < c->info.bone_count; i++) { /* parents before children */
        uint32_t bone = c->order[i], parent = c->bones[bone].parent;
        marked[bone] = marked[bone] || (parent != ABUT_NONE && marked[parent]);
    }
    return ABUT_OK;
}

abut_status abut_character_remove_bones(const abut_character *character, const uint32_t *bones,
                                        uint32_t bone_count, abut_character **reduced) {
    if (!character || !reduced || (!bones && bone_count))
        return abuti_null(__func__, !character ? "character" : !reduced ? "reduced" : "bones");
    const abut_character *c = character;
    weld_work w = {.from = c, .who = __func__, .pool = {.context = c->context}};
    bool *marked = allocate_weld(&w, c->info.bone_count, sizeof *marked);
    w.same = allocate_weld(&w, c->info.vertex_count, sizeof *w.same);
    w.number = allocate_weld(&w, c->info.vertex_count, sizeof *w.number);
    abut_status status = marked && w.same && w.number
                             ? mark_bones(c, __func__, bones, bone_count, marked)
                             : ABUT_ERROR_MEMORY;
    for (uint32_t v = 0; v < c->info.vertex_count && !status;
         v++) { /* the first weight is the largest */
        w.same[v] = marked[c->weight_bones[(size_t)c->weight_stride * v]] ? ABUT_NONE : v;
        w.number[v] = 0;
    }
    uint32_t remaining = 0;
    for (uint32_t t = 0; t < c->info.triangle_count && !status; t++) {
        const uint32_t *corner = c->mesh->indices + 3 * (size_t)t;
        if (is_removed(&w, corner))
            continue;
        remaining++;
        for (int k = 0; k < 3; k++)
            w.number[corner[k]] = 1; /* used */
    }
    for (uint32_t v = 0; v < c->info.vertex_count && !status; v++)
        w.same[v] = w.number[v] ? v : ABUT_NONE;
    if (!status && !remaining)
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "%s: no triangle would remain; remove fewer bones",
                            __func__);
    if (!status)
        status = rebuild(&w, reduced);
    abuti_character_release(&w.pool);
    return status;
}
