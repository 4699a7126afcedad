/* abut contacts: contact points, normals and penetration depths of two meshes, or of a mesh and a
 * primitive. Methods: exact geometry, signed distance fields, or a surface distance map of the
 * first mesh. */
#include "contacts.h"
#include "apps/get.h"
#include "interfere.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- bodies ---- */

static void make_body(const tool_arguments *arguments, contact_pair *b, int side) {
    abut_field_options field = abut_field_options_default();
    abut_samples_options samples = abut_samples_options_default();
    field.cache = samples.cache = option_given(arguments, "cache") ? "" : NULL;
    field.cells = option_count(arguments, "cells", 0);
    field.device = b->device;
    samples.max_count = option_count(arguments, "limit", 0);
    ensure(abut_sign_prepare(b->pair.bvh[side], NULL));
    ensure(abut_field_create_from(b->pair.bvh[side], &field, &b->field[side]));
    samples.cell = get_field_info(b->field[side]).grid.cell;
    ensure(abut_samples_create(abut_bvh_mesh(b->pair.bvh[side]), &samples, &b->samples[side]));
    b->body[side] = abut_collider_from_field(b->field[side], b->samples[side], b->pair.pose[side]);
}

/* Warns if a part of a body is thinner than two cells of its field: the field cannot resolve both
 * sides of it. */
static void warn_of_thin_parts(tool_run *tool, const contact_pair *b, int side) {
    const double cell = get_field_info(b->field[side]).grid.cell;
    const abut_box box = abut_mesh_bounds(abut_bvh_mesh(b->pair.bvh[side]));
    double thickness = 0;
    char words[400];
    if (abut_ray_thickness(b->pair.bvh[side], &thickness) || !(thickness < 2 * cell))
        return;
    snprintf(words, sizeof words,
             "%s has a thickness of %.3g, less than two cells of its field (cell size %.3g), which "
             "may miss contacts there; use --cells %.0f, or --method exact, which has no cells",
             side ? "B" : "A", thickness, cell, ceil(2 * box_longest(&box) / thickness) + 4);
    tool_log(tool, ABUT_LOG_WARNING, words);
}

/* Computes the distances to B over the surface of A. */
static void make_map(const tool_arguments *arguments, contact_pair *b) {
    abut_map_options o = abut_map_options_default();
    abut_collider other = abut_collider_from_bvh(b->pair.bvh[1], abut_pose_identity());
    abut_pose inverse;
    o.resolution = option_count(arguments, "resolution", 0);
    ensure(abut_sign_prepare(b->pair.bvh[1], NULL));
    ensure(abut_map_create(abut_bvh_mesh(b->pair.bvh[0]), &o, &b->map));
    ensure(abut_pose_invert(&b->pair.pose[0], &inverse));
    ensure(abut_pose_compose(&inverse, &b->pair.pose[1], &other.pose));
    ensure(abut_map_compute_distance(b->map, &other, 1, NULL));
}

static abut_vec3 rotate_direction(const abut_pose *pose, abut_vec3 direction) {
    const abut_pose turn = {pose->rotation, {0, 0, 0}};
    abut_pose_apply(&turn, direction, &direction);
    return direction;
}

/* Contacts of the map, transformed from the coordinates of A to the world. */
static abut_status compute_map_patches(const contact_pair *b, const abut_patch_options *options,
                                       abut_patches *found) {
    const abut_pose *pose = &b->pair.pose[0];
    abut_status status = abut_map_contacts(b->map, options, found);
    for (uint64_t i = 0; i < found->contacts.count && !status; i++) {
        abut_contact *contact = &found->contacts.list[i];
        contact->normal = rotate_direction(pose, contact->normal);
        ensure(abut_pose_apply(pose, contact->point, &contact->point));
    }
    for (uint64_t i = 0; i < found->patches.count && !status; i++) {
        abut_patch *patch = &found->patches.list[i];
        patch->normal = rotate_direction(pose, patch->normal);
        ensure(abut_pose_apply(pose, patch->centre, &patch->centre));
    }
    return status;
}

static abut_status compute_patches(const contact_pair *b, const abut_patch_options *options,
                                   abut_patches *found) {
    if (b->map)
        return compute_map_patches(b, options, found);
    abut_collider posed[2] = {abut_collider_from_bvh(b->pair.bvh[0], b->pair.pose[0]),
                              abut_collider_from_bvh(b->pair.bvh[1], b->pair.pose[1])};
    return abut_contact_find(&posed[0], b->with ? &b->solid : &posed[1], options, found);
}

static void print_pair_reliability(tool_run *tool, const tool_arguments *arguments,
                                   const contact_pair *b) {
    abut_mesh *meshes[2] = {abut_bvh_mesh(b->pair.bvh[0]),
                            b->with ? NULL : abut_bvh_mesh(b->pair.bvh[1])};
    const char *names[2] = {arguments->operands[0], b->with ? b->with : arguments->operands[1]};
    print_reliability_of(tool, &b->reliability, meshes, names, 2);
}

/* Contacts by exact geometry or by a map. */
static void find_patches(tool_run *tool, const tool_arguments *arguments, contact_pair *b) {
    const tool_given *hint = option_given(arguments, "hint");
    abut_patch_options options = abut_patch_options_default();
    if (hint)
        options.hint = vec_of(hint->numbers);
    abut_patches found = {.size = sizeof found, .patches.capacity = 0};
    options.margin = option_number(arguments, "margin", 0);
    options.max_contacts = option_count(arguments, "most", 0);
    FILL_PATCHES(&found, compute_patches(b, &options, &found));
    b->patches = found.patches.list;
    b->list = found.contacts.list;
    b->all = b->count = found.contacts.count;
    b->patch_count = found.patches.count;
    b->is_verified = found.is_verified;
    b->reliability = found.reliability;
    print_pair_reliability(tool, arguments, b);
}

/* Contacts by fields, in a world of both bodies. */
static void find_field_contacts(tool_run *tool, const tool_arguments *arguments, contact_pair *b) {
    const tool_given *most = option_given(arguments, "most");
    abut_world_options options = abut_world_options_default();
    abut_world *world = NULL;
    options.margin = option_number(arguments, "margin", 0);
    options.skip_edges = option_given(arguments, "samples") != NULL;
    options.device = b->device;
    ensure(abut_world_create(tool->context, &options, &world));
    for (int side = 0; side < 2; side++) {
        abut_world_item item = abut_world_item_default();
        uint32_t id;
        item.collider = b->body[side];
        ensure(abut_world_add(world, &item, &id));
    }
    abut_contacts found = {.size = sizeof found, .capacity = 0};
    FILL_LIST(&found, abut_world_contacts(world, &found));
    abut_world_destroy(world);
    b->list = found.list;
    b->all = b->count = found.count;
    b->reliability = found.reliability;
    print_pair_reliability(tool, arguments, b);
    if (most)
        b->count = abut_contact_reduce(b->list, b->all, most->counts[0], 0);
}

/* ---- time of impact ---- */

static int print_time_of_impact(tool_run *tool, const tool_arguments *arguments,
                                const contact_pair *b, const abut_pose *to) {
    tool_output *out = &tool->out;
    const abut_collider rests = abut_collider_from_bvh(b->pair.bvh[0], b->pair.pose[0]),
                        moves = abut_collider_from_bvh(b->pair.bvh[1], b->pair.pose[1]);
    abut_sweep_rigid_options options = abut_sweep_rigid_options_default();
    abut_sweep_rigid_result touch;
    options.separation = option_number(arguments, "margin", 0);
    ensure(abut_sweep_rigid(&rests, NULL, &moves, to, &options, &touch));
    pair_begin(out, arguments);
    if (touch.hit) {
        abut_vec3 p = touch.point, n = touch.normal;
        fact_number(out, "time", touch.time);
        json_vector(out, "point", p);
        json_vector(out, "normal", n);
        char words[POINT_WORDS];
        print_fact(out, "point", "%s", point_words(p, 6, words));
        print_fact(out, "normal", "%.6g, %.6g, %.6g", n.x, n.y, n.z);
    } else {
        json_null(out, "time");
        print_fact(out, "time", "never");
    }
    out_end(out);
    answer_number(tool, touch.hit, touch.time, "never");
    return touch.hit ? CODE_FOUND : CODE_FINE;
}

static void check_options(tool_run *tool, const tool_arguments *arguments, abut_pose *to) {
    const tool_given *given = option_given(arguments, "to"),
                     *margin = option_given(arguments, "margin");
    if (given && !pose_read(given->words, to))
        tool_refuse(tool, "--to must be X,Y,Z, @z,30 or X,Y,Z@1,1,0,30, not '%s'", given->words);
    if (given &&
        option_any(arguments, "out|png|html|hint|patches|most|cells|method|samples|limit|cache"))
        tool_refuse(tool,
                    "--to computes a time of impact by exact geometry; it cannot be combined with "
                    "--out, --png, --hint, --patches, --most, --method or options of fields");
    if (option_given(arguments, "after") && !picture_given(arguments))
        tool_refuse(tool, "--after requires --png");
    const tool_given *colour = option_given(arguments, "colour");
    if (colour && !picture_given(arguments))
        tool_refuse(tool, "--colour requires --png or --html");
    if (colour && strcmp(colour->words, "depth") != 0 && strcmp(colour->words, "patch") != 0)
        tool_refuse(tool, "--colour must be depth or patch, not '%s'", colour->words);
    if (option_given(arguments, "explain"))
        tool_refuse(tool, "--explain requires a scene (.json)");
    option_length(tool, margin);
}

static bool uses_map(const tool_arguments *arguments) {
    const tool_given *method = option_given(arguments, "method");
    return method && strcmp(method->words, "map") == 0;
}

/* Whether fields are requested by --method or by one of their options. An invalid combination sets
 * `code`. */
static bool uses_fields(tool_run *tool, const tool_arguments *arguments) {
    const tool_given *method = option_given(arguments, "method"),
                     *own = option_any(arguments, "cells|samples|limit|cache");
    bool fields = method && strcmp(method->words, "field") == 0, map = uses_map(arguments);
    if (method && !fields && !map && strcmp(method->words, "exact") != 0)
        tool_refuse(tool, "--method must be exact, field or map, not '%s'", method->words);
    if (option_given(arguments, "resolution") && !map)
        tool_refuse(tool, "--resolution requires --method map");
    if (map && option_any(arguments, "hint|with|to"))
        tool_refuse(tool, "--hint, --with and --to cannot be combined with --method map");
    if (own && method && !fields)
        tool_refuse(tool, "--%s requires --method field", own->option->name);
    fields = fields || own;
    if (fields && option_any(arguments, "hint|patches|colour"))
        tool_refuse(tool, "--hint, --patches and --colour cannot be combined with --method field");
    if (!fields && device_named(arguments))
        tool_refuse(tool, "--device requires --method field; other methods run on the CPU");
    if (!fields)
        option_range(tool, option_given(arguments, "most"), 1, 8, "contacts with --method exact");
    return fields;
}

/* Reads the primitive of --with. Fails unless B is given exactly once, as a file or as --with. */
static void read_solid(tool_run *tool, const tool_arguments *arguments, contact_pair *b) {
    const tool_given *with = option_given(arguments, "with");
    if (!with != (arguments->operand_count == 2)) {
        if (with)
            tool_refuse(tool, "--with replaces B; remove the second file '%s'",
                        arguments->operands[1]);
        else
            tool_refuse(tool, "a second file, or --with and a primitive, is required");
        return;
    }
    if (!with)
        return;
    if (!b->exact || option_given(arguments, "to"))
        tool_refuse(tool, "--with cannot be combined with --to or options of fields");
    b->with = with->words;
    solid_read(tool, with->words, &b->pair.pose[1], &b->solid);
}

static int run_contacts(tool_run *tool, const tool_arguments *arguments) {
    contact_pair b = {0};
    abut_pose to;
    int code;
    bool reads_stdin = arguments->operand_count == 1 && strcmp(arguments->operands[0], "-") == 0;
    if ((reads_stdin || assembly_is_scene(arguments)) && !option_given(arguments, "with"))
        return contacts_scene(tool, arguments);
    if (tool->share)
        tool_refuse(tool, "several processes require a scene (.json), whose pairs they share");
    check_options(tool, arguments, &to);
    b.exact = !uses_fields(tool, arguments);
    read_solid(tool, arguments, &b); /* before meshes are loaded; its pose follows */
    pair_load(tool, arguments, NULL, &b.pair);
    read_solid(tool, arguments, &b);
    b.device = device_open(tool, arguments);
    for (int side = 0; side < 2 && !b.exact; side++) {
        progress_start(tool->progress, arguments->operands[side]);
        make_body(arguments, &b, side);
        warn_of_thin_parts(tool, &b, side);
    }
    if (uses_map(arguments)) {
        progress_start(tool->progress, arguments->operands[0]);
        make_map(arguments, &b);
    }
    if (option_given(arguments, "to")) {
        double *q = &to.rotation.x, length = hypot(hypot(q[0], q[1]), hypot(q[2], q[3]));
        for (int i = 0; i < 4; i++)
            q[i] /= length;
        code = print_time_of_impact(tool, arguments, &b, &to);
    } else {
        if (b.exact)
            find_patches(tool, arguments, &b);
        else
            find_field_contacts(tool, arguments, &b);
        code = contacts_print(tool, arguments, &b);
    }
    for (int side = 0; side < 2; side++) {
        abut_samples_destroy(b.samples[side]);
        abut_field_destroy(b.field[side]);
    }
    abut_map_destroy(b.map);
    abut_device_destroy(b.device);
    pair_free(&b.pair);
    return code;
}

static const tool_option options[] = {
    POSE_OPTIONS,
    CHOICE("with", "SOLID", TEXT,
           "a primitive instead of B: plane:NX,NY,NZ,D (the half-space below it), sphere:X,Y,Z,R, "
           "capsule:X,Y,Z,X,Y,Z,R (both ends), box:X,Y,Z,SX,SY,SZ (centre and sizes) or "
           "cylinder:X,Y,Z,X,Y,Z,R",
           "plane:|sphere:|capsule:|box:|cylinder:"),
    OPTION(
        "to", "POSE", TEXT,
        "end pose of B: print the time of impact, from 0 to 1; no impact is missed at any speed"),
    CHOICE("method", "NAME", TEXT,
           "exact: from the intersection contours of the meshes (default); field: samples of each "
           "mesh in the signed distance field of the other; map: texels of A, by their distance to "
           "B. For a scene also auto, the method that suits each body (default), and layers",
           "exact|field|map|auto|layers"),
    FLAG("explain", "scenes: print the method of each body with its reason, and the guarantee of "
                    "each touching pair, instead of contacts"),
    OPTION("resolution", "N", COUNT, "map: N x N texels on A (default: 512)"),
    OPTION("cells", "N", COUNT,
           "fields: cells along the longest side of each mesh (default: 64). This and the other "
           "options of fields imply --method field"),
    FLAG("cache", "fields: read fields and samples from the disk cache if they are there, "
                  "otherwise add them; see 'abut cache'"),
    OPTION("margin", "M", NUMBER,
           "also surfaces within this distance: a patch for each wall, with the gap as a negative "
           "depth. Walls farther than the nearest one by more than 5% of the size of the smaller "
           "body are omitted. With --to: the time at which the distance is this small"),
    OPTION("hint", "X,Y,Z", VECTOR,
           "warm start: the contact normal of the previous step, or the reversed motion of A "
           "relative to B. It chooses the side to which a body that has passed through the other "
           "one is pushed"),
    FLAG("patches", "print a row for each contact patch instead of its contacts: centre, normal, "
                    "penetration depth, area and volume of the overlap"),
    FLAG("samples", "fields: contacts at samples only, without the deepest points of edges"),
    OPTION("limit", "N", COUNT, "fields: at most N samples of each mesh"),
    OPTION("most", "K", COUNT,
           "keep the deepest contact and K - 1 others, spread widely, for each patch or direction "
           "(default: 4 for each patch; all with fields)"),
    OPTION("out", "FILE", TEXT, "write the table to FILE (.csv, .ply, .npy) and print a summary"),
    OPTION("png", "FILE", TEXT,
           "draw both meshes with contact points and normals, and print a summary"),
    PAGE_OPTION,
    CHOICE("colour", "NAME", TEXT,
           "colours of contacts in the picture: depth (default), or patch: one for each patch",
           "depth|patch"),
    FLAG("after", "draw A after it is shifted out by the depths along the normals"),
    CAMERA_OPTIONS("perpendicular to the first normal"),
    DEVICE_OPTION,
    {0}};

const tool_command command_contacts = {
    .name = "contacts",
    .operands = "A [B] | SCENE.json",
    .summary = "contact points, normals and penetration depths of two meshes",
    .about =
        "Prints the contacts of two meshes, or of a mesh and a primitive, as comma-separated "
        "values: contact point, contact normal (from B to A), penetration depth, and the "
        "touching feature of A or B. Meshes that touch have a contact, even if they are "
        "infinitely thin. With --json a summary with all contacts is printed instead.\n\n"
        "For a scene (see docs/scene.md), all contacts of all bodies are printed with the "
        "names of both bodies. Each body uses the method that suits it. --margin, --most, "
        "--method, --explain, --out, --png, --device and the camera options apply to scenes.\n\n"
        "--device builds fields and tests pairs by fields on a device, with the contacts of "
        "the CPU, bit for bit. It requires --method field, or a scene in which a body uses "
        "fields. The rule for scenes selects fields more often with a device.",
    .found = "a contact, or with --to an impact",
    .examples = "  abut contacts a.obj b.obj --pose 0,0,0.9 --most 4\n"
                "  abut contacts a.obj b.obj --pose 0,0,0.9 --png contacts.png\n"
                "  abut contacts a.obj b.obj --pose 0,0,9 --to 0,0,-9\n"
                "  abut contacts a.obj --with plane:0,0,1,0\n"
                "  abut contacts scene.json --out contacts.csv\n"
                "  abut contacts scene.json --method field --device gpu --json\n",
    .options = options,
    .operand_range = {1, 2},
    .run = run_contacts,
};
