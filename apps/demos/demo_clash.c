/* abut demo clash: a generated assembly with known interferences, compared with the result, and
 * the time. */
#include "interfere.h"

#include <math.h>

enum { PARTS = 20, KNOWN = 22, SEGMENTS = 24, SPACING = 12 };

/* ---- the parts of a module ---- */

enum { PLATE, BOLT, WALL, PIPE, CABLE, CUBE, BLOCK, PIN, BRACKET, SPACER, WASHER, SHAPES };

typedef struct part {
    const char *name;
    int shape;
    abut_vec3 at;
    bool along_x; /* rotated from z to x */
} part;

static const part parts[PARTS] = {
    {"lower plate", PLATE, {0, 0, 0.25}, false},
    {"upper plate", PLATE, {0, 0, 0.75}, false},
    {"bolt 1",
     BOLT,
     {1.25, 1.25, 0.625},
     false}, /* passes through both plates, which have no holes */
    {"bolt 2", BOLT, {-1.25, 1.25, 0.625}, false},
    {"bolt 3", BOLT, {-1.25, -1.25, 0.625}, false},
    {"bolt 4", BOLT, {1.25, -1.25, 0.625}, false},
    {"washer 1", WASHER, {1.25, 1.25, 1.0625}, false}, /* fits its bolt and lies on the plate */
    {"washer 2", WASHER, {-1.25, 1.25, 1.0625}, false},
    {"washer 3", WASHER, {-1.25, -1.25, 1.0625}, false},
    {"wall", WALL, {3.25, 0, 1.5}, false},
    {"pipe", PIPE, {3.25, 0, 1.75}, true}, /* passes through the wall */
    {"cable",
     CABLE,
     {3.25, 0, 1.75},
     true}, /* passes through the wall too, but does not touch the pipe */
    {"cube 1", CUBE, {-3.5, 0, 0.5}, false},
    {"cube 2", CUBE, {-3.5, 0, 1.5}, false},  /* stands on the first */
    {"cube 3", CUBE, {-3.5, 1, 0.75}, false}, /* beside both */
    {"block", BLOCK, {-2.5, -3.5, 1}, false},
    {"pin", PIN, {-2.5, -3.5, 1}, false}, /* inside the block */
    {"bracket", BRACKET, {0, 4, 0.5}, false},
    {"bracket copy", BRACKET, {0, 4, 0.5}, false},
    {"spacer", SPACER, {3.25, 2.51, 1}, false}, /* 0.01 beside the wall */
};

/* The area of a regular polygon. */
static double polygon_area(double radius) {
    return SEGMENTS / 2.0 * sin(6.283185307179586 / SEGMENTS) * radius * radius;
}

/* The known result for two parts of a module; the lower number first. */
typedef struct known {
    int a, b;
    clash_kind kind;
    double measure; /* volume, or area if they are flush */
} known;

static uint32_t list_known(known *list) {
    const double side = 2 * 0.25 * sin(3.14159265358979323846 / SEGMENTS); /* of a bolt */
    const double ring = polygon_area(0.5) - polygon_area(0.25), bolt = polygon_area(0.25) * 0.5;
    uint32_t n = 0;
    list[n++] = (known){0, 1, CLASH_FLUSH, 16};
    for (int plate = 0; plate < 2; plate++)
        for (int i = 2; i < 6; i++)
            list[n++] = (known){plate, i, CLASH_CUTS, bolt};
    for (int i = 0; i < 3; i++) {
        list[n++] = (known){1, 6 + i, CLASH_FLUSH, ring};
        list[n++] = (known){2 + i, 6 + i, CLASH_FLUSH, SEGMENTS * side * 0.125};
    }
    list[n++] = (known){9, 10, CLASH_CUTS, (polygon_area(0.5) - polygon_area(0.375)) * 0.5};
    list[n++] = (known){9, 11, CLASH_CUTS, polygon_area(0.125) * 0.5};
    list[n++] = (known){12, 13, CLASH_FLUSH, 1};
    list[n++] = (known){12, 14, CLASH_FLUSH, 0.75};
    list[n++] = (known){13, 14, CLASH_FLUSH, 0.25};
    list[n++] = (known){15, 16, CLASH_B_INSIDE, polygon_area(0.25)};
    list[n++] = (known){17, 18, CLASH_SAME, 0.125 * 0.5625}; /* completed by make_shapes() */
    return n;
}

static void describe_shape(int which, abut_shape *shape) {
    static const abut_shape_kind kinds[SHAPES] = {ABUT_SHAPE_BOX,      ABUT_SHAPE_CYLINDER,
                                                  ABUT_SHAPE_BOX,      ABUT_SHAPE_TUBE,
                                                  ABUT_SHAPE_CYLINDER, ABUT_SHAPE_BOX,
                                                  ABUT_SHAPE_BOX,      ABUT_SHAPE_CYLINDER,
                                                  ABUT_SHAPE_LETTER_E, ABUT_SHAPE_BOX,
                                                  ABUT_SHAPE_TUBE};
    static const abut_vec3 sizes[SHAPES] = {
        [PLATE] = {4, 4, 0.5}, [WALL] = {0.5, 4, 3},     [CUBE] = {1, 1, 1},
        [BLOCK] = {2, 2, 2},   [BRACKET] = {0, 0, 0.25}, [SPACER] = {1, 1, 1}};
    static const double lengths[SHAPES][3] = {
        [BOLT] = {0.25, 0, 1.75}, [PIPE] = {0.5, 0.375, 3}, [CABLE] = {0.125, 0, 4},
        [PIN] = {0.25, 0, 1},     [BRACKET] = {0, 0, 1},    [WASHER] = {0.5, 0.25, 0.125}};
    *shape = abut_shape_default(kinds[which]);
    if (sizes[which].z > 0)
        shape->extent = sizes[which];
    if (lengths[which][0] > 0)
        shape->radius = lengths[which][0];
    if (lengths[which][1] > 0)
        shape->radius2 = lengths[which][1];
    if (lengths[which][2] > 0)
        shape->height = lengths[which][2];
    bool round = lengths[which][0] > 0;
    shape->segments = round ? SEGMENTS : 1;
    shape->rings = 1;
}

/* ---- the assembly ---- */

/* Modules are on a grid, each with its own rotation. */
static void module_pose(uint32_t number, uint32_t side, uint64_t *random, abut_pose *pose) {
    abut_pose turn, tilt;
    double angle = 6.283185307179586 * random_uniform(random), lean = 0.2 * random_uniform(random);
    abut_vec3 axis = {cos(7 * angle), sin(7 * angle), 0},
              at = {(double)SPACING * (number % side), (double)SPACING * (double)(number / side),
                    0};
    ensure(abut_pose_from_axis_angle((abut_vec3){0, 0, 1}, angle, (abut_vec3){0, 0, 0}, &turn));
    ensure(abut_pose_from_axis_angle(axis, lean, at, &tilt));
    ensure(abut_pose_compose(&tilt, &turn, pose));
}

static void make_assembly(tool_run *tool, uint32_t modules, uint64_t seed,
                          tool_assembly *assembly) {
    abut_mesh *meshes[SHAPES] = {0};
    const uint32_t side = (uint32_t)ceil(sqrt((double)modules));
    for (int i = 0; i < SHAPES; i++) {
        abut_shape shape;
        describe_shape(i, &shape);
        ensure(abut_shape_create(tool->context, &shape, &meshes[i]));
    }
    for (uint32_t m = 0; m < modules; m++) {
        abut_pose module;
        module_pose(m, side, &seed, &module);
        for (int i = 0; i < PARTS; i++) {
            abut_pose local = {{0, 0, 0, 1}, parts[i].at};
            char name[64];
            if (parts[i].along_x)
                local.rotation = (abut_quat){0, sqrt(0.5), 0, sqrt(0.5)};
            snprintf(name, sizeof name, "module %u %s", m, parts[i].name);
            if (modules == 1)
                snprintf(name, sizeof name, "%s", parts[i].name);
            ensure(abut_pose_compose(&module, &local, &local));
            assembly_add(assembly, name, meshes[parts[i].shape], local);
        }
    }
    for (int i = 0; i < SHAPES; i++)
        abut_mesh_destroy(meshes[i]);
}

/* ---- comparison ---- */

typedef struct levels {
    size_t known, found, missed, wrong_kind, invented;
    double volume_error, area_error; /* largest relative error */
} levels;

static levels compare_with_known(const tool_assembly *assembly, const tool_clashes *clashes,
                                 const known *list, uint32_t count) {
    levels v = {.known = (size_t)count * (assembly->count / PARTS)};
    for (size_t i = 0; i < clashes->count; i++) {
        const tool_clash *clash = &clashes->list[i];
        const uint32_t a = clash->pair.a, b = clash->pair.b;
        const known *k = NULL;
        for (uint32_t j = 0; j < count && a / PARTS == b / PARTS; j++)
            if ((uint32_t)list[j].a == a % PARTS && (uint32_t)list[j].b == b % PARTS)
                k = &list[j];
        if (!k) {
            v.invented++;
            continue;
        }
        v.found++;
        v.wrong_kind += clash->kind != k->kind;
        if (clash->kind == CLASH_FLUSH)
            v.area_error = fmax(v.area_error, fabs(clash->pair.area / k->measure - 1));
        else
            v.volume_error = fmax(v.volume_error, fabs(clash->pair.volume / k->measure - 1));
    }
    v.missed = v.known - v.found;
    return v;
}

/* The volume of the bracket is that of its mesh. */
static void complete_known(const tool_assembly *assembly, known *list, uint32_t count) {
    abut_mesh_report report;
    ensure(mesh_report(assembly->bodies[17].mesh, &report));
    for (uint32_t i = 0; i < count; i++)
        if (list[i].kind == CLASH_SAME)
            list[i].measure = report.volume;
}

static void print_clash_demo(tool_run *tool, const tool_assembly *assembly,
                             const clash_options *options, const tool_clashes *clashes,
                             const levels *v, double wall, const tool_arguments *arguments) {
    tool_output *out = &tool->out;
    out_object(out, NULL);
    fact_count(out, "parts", assembly->count);
    clashes_count(out, clashes);
    json_count(out, "known", v->known);
    json_count(out, "found", v->found);
    json_count(out, "missed", v->missed);
    json_count(out, "wrong_kind", v->wrong_kind);
    json_count(out, "invented", v->invented);
    json_number(out, "volume_error", v->volume_error);
    json_number(out, "area_error", v->area_error);
    json_number(out, "seconds", wall);
    print_fact(out, "known", "%zu pairs: %zu found, %zu missed, %zu of a wrong kind, %zu false",
               v->known, v->found, v->missed, v->wrong_kind, v->invented);
    print_fact(out, "volumes", "relative error at most %.1g, of contact areas %.1g",
               v->volume_error, v->area_error);
    print_fact(out, "time", "%.0f ms", 1e3 * wall);
    pictures_print_paths(tool, arguments);
    tool_clashes first = *clashes; /* of the first module */
    while (first.count && first.list[first.count - 1].pair.a >= PARTS)
        first.count--;
    if (!(out->json || tool->quiet))
        clashes_print(tool, assembly, options, &first, 40);
    out_end(out);
    answer(tool, "%zu", clashes->count);
}

int demo_clash(tool_run *tool, const tool_arguments *arguments) {
    const tool_given *png = picture_given(arguments), *bodies = option_given(arguments, "bodies");
    uint32_t modules = ((bodies ? bodies->counts[0] : 2000) + PARTS - 1) / PARTS;
    tool_assembly assembly = {0};
    tool_clashes clashes = {0};
    known list[KNOWN];
    uint32_t count = list_known(list);
    clash_options options = {.query = abut_layers_query_default()};
    options.query.measure_volume = options.touching = true;
    option_range(tool, bodies, 1, 5000 * PARTS, "bodies");
    make_assembly(tool, modules, option_count(arguments, "seed", 1), &assembly);
    complete_known(&assembly, list, count);
    double start = seconds_now();
    clashes_find(tool, &assembly, &options, &clashes);
    double wall = seconds_now() - start;
    abut_picture_options camera = abut_picture_options_default();
    if (modules > 1)
        camera.eye_direction = (abut_vec3){0.3, -0.6, 1};
    if (png)
        clashes_draw(tool, &camera, &assembly, &clashes, png->words);
    levels v = compare_with_known(&assembly, &clashes, list, count);
    print_clash_demo(tool, &assembly, &options, &clashes, &v, wall, arguments);
    abut_layers_destroy(clashes.layers);
    assembly_free(&assembly);
    return v.missed || v.wrong_kind || v.invented ? CODE_FOUND : CODE_FINE;
}
