/* Finds interferences of an assembly: overlaps by abut_layers_find(), exactly or in images, and
 * near pairs by abut_pair_distance(). */
#include "interfere.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *clash_kind_name(unsigned kind) {
    static const char *const names[CLASH_KINDS] = {
        [CLASH_OVERLAP] = "overlap",   [CLASH_CUTS] = "cuts", [CLASH_A_INSIDE] = "a-inside",
        [CLASH_B_INSIDE] = "b-inside", [CLASH_SAME] = "same", [CLASH_FLUSH] = "flush",
        [CLASH_TOUCH] = "touch",       [CLASH_NEAR] = "near", [CLASH_ITSELF] = "itself"};
    return kind < CLASH_KINDS && names[kind] ? names[kind] : "";
}

const char *clash_kind_words(clash_kind kind) {
    static const char *const words[CLASH_KINDS] = {
        [CLASH_OVERLAP] = "overlaps",      [CLASH_CUTS] = "intersects",
        [CLASH_A_INSIDE] = "is inside",    [CLASH_B_INSIDE] = "contains",
        [CLASH_SAME] = "identical to",     [CLASH_FLUSH] = "flush with",
        [CLASH_TOUCH] = "touches",         [CLASH_NEAR] = "near",
        [CLASH_ITSELF] = "overlaps itself"};
    return words[kind];
}

/* ---- overlaps ---- */

_Noreturn void layers_refuse(tool_run *tool, abut_status status, const char *name,
                             const char *option) {
    const char *words = tool_error_message(abut_last_error());
    const char *hint = strstr(words, ", or set options->cap");
    tool_fail_with(tool, abut_status_name(status), "%s: %.*s%s", name,
                   hint ? (int)(hint - words) : (int)strlen(words), words, hint ? option : "");
}

void clashes_print_reliability(tool_run *tool, const tool_assembly *assembly,
                               const clash_options *options, const tool_clashes *clashes) {
    tool_text names = {0};
    uint32_t open = 0;
    bool last = false; /* whether the previous body was closed, which may have the same mesh */
    tool_print_reliability(tool, &clashes->reliability);
    if (!options->cap || clashes->reliability.level == ABUT_RELIABILITY_GUARANTEED ||
        tool->out.json)
        return;
    for (uint32_t i = 0; i < assembly->count; i++) {
        bool same = i && assembly->bodies[i].mesh == assembly->bodies[i - 1].mesh;
        abut_mesh_report report;
        last = same ? last : !mesh_report(assembly->bodies[i].mesh, &report) && report.has_boundary;
        if (last && open++ < 8) {
            text_add(&names, names.used ? ", " : "closed by --cap: ");
            text_safe(&names, assembly->bodies[i].name);
        }
    }
    if (open > 8)
        text_print(&names, " and %u others", open - 8);
    if (names.used)
        tool_log(tool, ABUT_LOG_INFO, names.data);
}

static void make_layers(tool_run *tool, const tool_assembly *assembly, const clash_options *options,
                        abut_layers **layers) {
    abut_layers_options making = abut_layers_options_default();
    making.device = options->device;
    making.cap = options->cap;
    ensure(abut_layers_create(tool->context, &making, layers));
    for (uint32_t i = 0; i < assembly->count; i++) {
        const abut_scene_body *body = &assembly->bodies[i];
        abut_layers_item item = {.size = sizeof(abut_layers_item),
                                 .collider =
                                     abut_collider_from_mesh(body->mesh, body->collider.pose),
                                 .group = body->group,
                                 .mask = body->mask,
                                 .value = i};
        uint32_t id;
        abut_status status = abut_layers_add(*layers, &item, &id);
        if (status) {
            tool_text name = {0};
            assembly_name(assembly, i, &name);
            layers_refuse(tool, status, name.data, ", or use --cap");
        }
    }
}

static void add_clash(tool_clashes *clashes, const tool_clash *clash) {
    tool_grow(&clashes->list, clashes->count, &clashes->room, sizeof *clashes->list);
    clashes->list[clashes->count++] = *clash;
}

static clash_kind kind_of(const abut_layers_query *query, const abut_layers_pair *pair) {
    static const clash_kind kinds[] = {
        [ABUT_PAIR_KIND_APART] = CLASH_TOUCH,       [ABUT_PAIR_KIND_TOUCH] = CLASH_TOUCH,
        [ABUT_PAIR_KIND_OVERLAP] = CLASH_CUTS,      [ABUT_PAIR_KIND_A_INSIDE] = CLASH_A_INSIDE,
        [ABUT_PAIR_KIND_B_INSIDE] = CLASH_B_INSIDE, [ABUT_PAIR_KIND_SAME] = CLASH_SAME};
    if (!query->measure_volume)
        return CLASH_OVERLAP;
    return kinds[pair->kind] == CLASH_TOUCH && pair->flush_area > 0 ? CLASH_FLUSH
                                                                    : kinds[pair->kind];
}

static void find_pairs(const tool_assembly *assembly, const clash_options *options,
                       tool_clashes *clashes) {
    abut_layers_result found = {.size = sizeof found,
                                .pairs.capacity = 4 * (uint64_t)assembly->count + 64,
                                .own.capacity = assembly->count};
    found.pairs.list = tool_array(found.pairs.capacity, sizeof *found.pairs.list);
    found.own.list = tool_array(found.own.capacity + 1, sizeof *found.own.list);
    if (lacks_room(abut_layers_find(clashes->layers, &options->query, &found))) {
        found.pairs.capacity = found.pairs.count;
        found.pairs.list = tool_array(found.pairs.capacity, sizeof *found.pairs.list);
        ensure(abut_layers_find(clashes->layers, &options->query, &found));
    }
    for (uint64_t i = 0; i < found.pairs.count; i++) {
        tool_clash clash = {.pair = found.pairs.list[i], .distance = NAN};
        clash.kind = kind_of(&options->query, &clash.pair);
        if (clash.kind == CLASH_FLUSH)
            clash.pair.area = clash.pair.flush_area;
        if (assembly_should_collide(assembly, clash.pair.a, clash.pair.b))
            add_clash(clashes, &clash);
    }
    clashes->pair_count = clashes->count;
    for (uint64_t i = 0; options->query.find_self && i < found.own.count; i++) {
        tool_clash clash = {.pair = found.own.list[i], .kind = CLASH_ITSELF, .distance = NAN};
        add_clash(clashes, &clash);
    }
    clashes->fragments = found.fragments;
    clashes->candidates = found.candidates;
    clashes->tolerance = found.tolerance;
    clashes->reliability = found.reliability;
}

/* ---- clearance ---- */

static bool is_found(const tool_clashes *clashes, uint32_t a, uint32_t b) {
    size_t lo = 0, hi = clashes->pair_count;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        const abut_layers_pair *pair = &clashes->list[middle].pair;
        if (pair->a < a || (pair->a == a && pair->b < b))
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo < clashes->pair_count && clashes->list[lo].pair.a == a &&
           clashes->list[lo].pair.b == b;
}

static void add_near(tool_assembly *assembly, const clash_options *options,
                     const abut_world_pair *tried, tool_clashes *clashes) {
    abut_collider a = assembly_posed(assembly, tried->a), b = assembly_posed(assembly, tried->b);
    abut_separation gap;
    abut_pair_cache cache = {0};
    bool within = false;
    abut_reliability reliability = {0};
    ensure(abut_pair_within(&a, &b, options->clearance, NULL, &cache, &within, &reliability));
    if (reliability.level > clashes->reliability.level)
        clashes->reliability = reliability;
    if (within)
        ensure(abut_pair_distance(&a, &b, NULL, &cache, &gap));
    if (!within)
        return;
    abut_vec3 p = gap.point_a, q = gap.point_b, d = vec_sub(p, q);
    double length = vec_length(d);
    length = length > 0 ? length : 1;
    tool_clash clash = {.kind = gap.distance > 0 ? CLASH_NEAR : CLASH_TOUCH,
                        .distance = gap.distance,
                        .from = p,
                        .to = q,
                        .pair = {.a = tried->a,
                                 .b = tried->b,
                                 .normal = vec_divide(d, length),
                                 .centre = vec_divide(vec_add(p, q), 2)}};
    add_clash(clashes, &clash);
}

static void find_near(tool_run *tool, tool_assembly *assembly, const clash_options *options,
                      tool_clashes *clashes) {
    abut_world_options making = abut_world_options_default();
    abut_world *world = NULL;
    abut_world_pair_list pairs = {NULL, 0, 0};
    making.margin = options->clearance;
    assembly_world(tool, assembly, &making, &world);
    FILL_LIST(&pairs, abut_world_pairs(world, &pairs));
    for (uint64_t i = 0; i < pairs.count; i++) {
        const abut_world_pair *pair = &pairs.list[i];
        if (i % 16 == 0)
            progress_step(tool, "distances", i, pairs.count);
        if (!is_found(clashes, pair->a, pair->b))
            add_near(assembly, options, pair, clashes);
    }
    abut_world_destroy(world);
}

/* ---- all pairs ---- */

/* Removes pairs without an intersection volume. */
static void keep_overlaps(tool_clashes *clashes) {
    size_t kept = 0;
    for (size_t i = 0; i < clashes->count; i++) {
        clash_kind kind = clashes->list[i].kind;
        if (kind != CLASH_FLUSH && kind != CLASH_TOUCH)
            clashes->list[kept++] = clashes->list[i];
    }
    clashes->count = kept;
}

static int by_pair(const void *a, const void *b) {
    const tool_clash *p = a, *q = b;
    if (p->pair.a != q->pair.a)
        return p->pair.a < q->pair.a ? -1 : 1;
    return p->pair.b < q->pair.b ? -1 : p->pair.b > q->pair.b;
}

void clashes_find(tool_run *tool, tool_assembly *assembly, const clash_options *options,
                  tool_clashes *clashes) {
    *clashes = (tool_clashes){0};
    progress_start(tool->progress, "interference");
    make_layers(tool, assembly, options, &clashes->layers);
    find_pairs(assembly, options, clashes);
    if (options->clearance > 0)
        find_near(tool, assembly, options, clashes);
    progress_erase(tool->progress);
    if (!options->touching)
        keep_overlaps(clashes);
    if (clashes->count)
        qsort(clashes->list, clashes->count, sizeof *clashes->list, by_pair);
}
