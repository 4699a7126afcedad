/* abut view --live: bodies that the user drags in a browser, with their contacts or their distance.
 * Results are computed again for the bodies that have moved. */
#include "apps/get.h"
#include "results.h"

#include <math.h>
#include <string.h>

enum { BODIES_MAX = 32, CONTOUR_MAX = 20000 };

typedef struct live_body {
    abut_mesh *mesh;
    abut_bvh *bvh;
    abut_pose start, pose;
    const char *name;
} live_body;

/* What is known of two bodies. */
typedef struct live_pair {
    abut_pair_cache *cache;
    abut_patches found; /* contacts, if they touch */
    abut_pair_intersection_list contour;
    abut_separation separation;
    double depth; /* the largest; only if they touch */
} live_pair;

typedef struct live_viewing {
    tool_run *tool;
    const viewing *v;
    live_body *bodies;
    uint32_t count;
    live_pair *pairs; /* of i < j at i * count + j */
    double size;      /* of the scene */
    const char *unit; /* of lengths, or "" */
} live_viewing;

/* ---- bodies ---- */

static void add_body(live_viewing *l, abut_mesh *mesh, abut_pose pose, const char *name) {
    if (l->count == BODIES_MAX)
        tool_refuse(l->tool, "--live shows at most %d bodies", BODIES_MAX);
    live_body *body = &l->bodies[l->count++];
    *body = (live_body){.mesh = mesh, .start = pose, .pose = pose, .name = name};
    ensure(abut_bvh_create(mesh, NULL, &body->bvh));
    l->size = fmax(l->size, mesh_diagonal(mesh));
}

static void add_bodies(live_viewing *l) {
    for (size_t i = 0; i < l->v->count; i++) {
        const view_result *r = &l->v->results[i];
        if (!r->mesh && !r->scene)
            tool_refuse(l->tool, "%s: --live shows meshes and scenes only", r->path);
        if (r->mesh)
            add_body(l, r->mesh, abut_pose_identity(), r->name);
        for (uint32_t k = 0; r->scene && k < get_scene_arrays(r->scene).body_count; k++) {
            const abut_scene_body body = get_scene_body(r->scene, k);
            add_body(l, body.mesh, body.collider.pose, body.name);
        }
    }
    if (l->count < 2)
        tool_refuse(l->tool, "--live needs at least two bodies, whose contacts and distances it "
                             "shows; without it a page needs one");
}

/* ---- results ---- */

static void compute_pair(const live_viewing *l, live_pair *pair, uint32_t i, uint32_t j) {
    const abut_collider a = abut_collider_from_bvh(l->bodies[i].bvh, l->bodies[i].pose),
                        b = abut_collider_from_bvh(l->bodies[j].bvh, l->bodies[j].pose);
    const abut_patch_options options = abut_patch_options_default();
    tool_free(pair->found.patches.list);
    tool_free(pair->found.contacts.list);
    tool_free(pair->contour.list);
    pair->found = (abut_patches){.size = sizeof pair->found};
    pair->contour = (abut_pair_intersection_list){0};
    pair->depth = 0;
    ensure(abut_pair_distance(&a, &b, NULL, pair->cache, &pair->separation));
    if (pair->separation.relation == ABUT_PAIR_APART)
        return;
    FILL_PATCHES(&pair->found, abut_contact_find(&a, &b, &options, &pair->found));
    FILL_LIST(&pair->contour, abut_pair_intersections(&a, &b, &pair->contour));
    for (uint64_t k = 0; k < pair->found.contacts.count; k++)
        pair->depth = fmax(pair->depth, pair->found.contacts.list[k].depth);
}

static void compute_pairs_of(const live_viewing *l, uint32_t body) {
    for (uint32_t i = 0; i < l->count; i++)
        if (i != body)
            compute_pair(l, &l->pairs[(i < body ? i : body) * l->count + (i < body ? body : i)],
                         i < body ? i : body, i < body ? body : i);
}

/* ---- the frame ---- */

static void draw_pair(const live_viewing *l, abut_picture *picture, const live_pair *pair) {
    static const abut_colour red = {0.82f, 0.08f, 0.12f, 1}, dark = {0.35f, 0.02f, 0.05f, 1};
    const uint64_t lines = pair->contour.count < CONTOUR_MAX ? pair->contour.count : CONTOUR_MAX;
    for (uint64_t k = 0; k < lines; k++) {
        const abut_segment *s = &pair->contour.list[k].segment;
        ensure(abut_picture_add_line(picture, s->end[0], s->end[1], 2, dark));
    }
    for (uint64_t k = 0; k < pair->found.contacts.count; k++) {
        const abut_contact *c = &pair->found.contacts.list[k];
        const double length = fmax(c->depth, 0.04 * l->size);
        ensure(abut_picture_add_point(picture, c->point, 9, red));
        ensure(abut_picture_add_line(picture, c->point, vec_along(c->point, length, c->normal), 3,
                                     red));
    }
}

static void print_pair(const live_viewing *l, const live_pair *pair, tool_text *to) {
    const size_t at = (size_t)(pair - l->pairs);
    text_print(to, "%s – %s: ", l->bodies[at / l->count].name, l->bodies[at % l->count].name);
    if (pair->separation.relation == ABUT_PAIR_APART)
        text_print(to, "distance %.6g%s%s", pair->separation.distance, *l->unit ? " " : "",
                   l->unit);
    else
        text_print(to, "%llu contacts, penetration depth %.6g%s%s",
                   (unsigned long long)pair->found.contacts.count, pair->depth, *l->unit ? " " : "",
                   l->unit);
}

static void print_reliability(const live_pair *pair, tool_text *to) {
    if (pair->separation.reliability.level != ABUT_RELIABILITY_GUARANTEED)
        text_print(to, "\n%s: %s", abut_reliability_level_name(pair->separation.reliability.level),
                   pair->separation.reliability.reason);
}

/* Shows all bodies, all contacts, and the line of the least distance if no pair touches. */
static void show(const live_viewing *l) {
    const live_pair *closest = NULL, *deepest = NULL;
    uint32_t touching = 0;
    bool movable[BODIES_MAX];
    const char *names[BODIES_MAX];
    abut_picture *picture = NULL;
    tool_text text = {0};
    ensure(abut_picture_create(l->tool->context, &l->v->camera, &picture));
    for (uint32_t i = 0; i < l->count; i++) {
        abut_mesh_style style = abut_mesh_style_default();
        style.colour = abut_picture_colour(i);
        style.colour.a = 0.75f; /* contacts are inside */
        style.smooth = !l->v->flat;
        style.edges = l->v->edges;
        movable[i] = true;
        names[i] = l->bodies[i].name;
        ensure(abut_picture_add_mesh(picture, l->bodies[i].mesh, l->bodies[i].pose, &style));
        for (uint32_t j = i + 1; j < l->count; j++) {
            const live_pair *pair = &l->pairs[i * l->count + j];
            const bool apart = pair->separation.relation == ABUT_PAIR_APART;
            touching += !apart;
            if (apart && (!closest || pair->separation.distance < closest->separation.distance))
                closest = pair;
            if (!apart && (!deepest || pair->depth > deepest->depth))
                deepest = pair;
            draw_pair(l, picture, pair);
        }
    }
    const live_pair *shown = deepest ? deepest : closest;
    if (!deepest) {
        const abut_separation *s = &closest->separation;
        const abut_colour blue = {0.1f, 0.25f, 0.7f, 1};
        ensure(abut_picture_add_line(picture, s->point_a, s->point_b, 3, blue));
        ensure(abut_picture_add_point(picture, s->point_a, 9, blue));
        ensure(abut_picture_add_point(picture, s->point_b, 9, blue));
    }
    if (l->count > 2 && touching)
        text_print(&text,
                   touching == 1 ? "%u pair touches: " : "%u pairs touch. Deepest: ", touching);
    else if (l->count > 2)
        text_add(&text, "No pair touches. Closest: ");
    print_pair(l, shown, &text);
    print_reliability(shown, &text);
    live_show(l->tool, picture,
              &(live_caption){.names = names,
                              .movable = movable,
                              .text = text_of(&text),
                              .line_name = deepest ? "contacts" : "distance",
                              .point_name = deepest ? "contacts" : "distance"});
    abut_picture_destroy(picture);
    text_free(&text);
}

/* ---- events ---- */

/* Moves the bodies of events. Returns false if the user ends the program. */
static bool respond(live_viewing *l, const abut_live_event *events, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const abut_live_event *e = &events[i];
        if (e->kind == ABUT_LIVE_EVENT_STOP)
            return false;
        for (uint32_t k = 0; k < l->count; k++) {
            if (e->kind == ABUT_LIVE_EVENT_RESET)
                l->bodies[k].pose = l->bodies[k].start;
            else if (e->kind != ABUT_LIVE_EVENT_POSE || e->body != k)
                continue;
            else
                l->bodies[k].pose = e->pose;
            compute_pairs_of(l, k);
        }
    }
    return true;
}

void view_live(tool_run *tool, const tool_arguments *arguments, const viewing *v) {
    abut_live_event events[ABUT_LIVE_EVENT_MAX];
    live_viewing l = {.tool = tool, .v = v, .unit = option_words(arguments, "unit", "")};
    l.bodies = tool_array(BODIES_MAX, sizeof *l.bodies);
    add_bodies(&l);
    l.pairs = tool_array((size_t)l.count * l.count, sizeof *l.pairs);
    for (uint32_t i = 0; i < l.count; i++)
        for (uint32_t j = i + 1; j < l.count; j++)
            compute_pair(&l, &l.pairs[i * l.count + j], i, j);
    progress_erase(tool->progress);
    live_open(tool, arguments, ABUT_LIVE_CONTROL_RESET | ABUT_LIVE_CONTROL_STOP);
    size_t count = 0;
    do {
        show(&l);
        do {
            count = live_poll(tool, 1, events);
        } while (!count);
    } while (respond(&l, events, count));
    live_close(tool);
    for (uint32_t i = 0; i < l.count; i++)
        abut_bvh_destroy(l.bodies[i].bvh);
}
