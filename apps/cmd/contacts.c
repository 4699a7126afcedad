/* abut contacts: contact points, normals and penetration depths of two meshes, or of a mesh and a
 * primitive. Methods: exact geometry, signed distance fields, or a surface distance map of the
 * first mesh. */
#include "apps/get.h"
#include "interfere.h"
#include "contacts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- bodies ---- */

static abut_status make_body(const tool_arguments *arguments, contact_pair *b, int side) {
    const tool_given *cells = option_given(arguments, "cells"),
                     *limit = option_given(arguments, "limit");
    abut_field_options field = abut_field_options_default();
    abut_samples_options samples = abut_samples_options_default();
    field.cache = samples.cache = option_given(arguments, "cache") ? "" : NULL;
    field.cells = cells ? cells->counts[0] : 0;
    samples.max_count = limit ? limit->counts[0] : 0;
    abut_status status = abut_sign_prepare(b->pair.bvh[side], NULL);
    status = status ? status : abut_field_create_from(b->pair.bvh[side], &field, &b->field[side]);
    samples.cell = get_field_info(b->field[side]).grid.cell;
    status =
        status ? status
               : abut_samples_create(abut_bvh_mesh(b->pair.bvh[side]), &samples, &b->samples[side]);
    b->body[side] = abut_collider_from_field(b->field[side], b->samples[side], b->pair.pose[side]);
    return status;
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
    double longest = fmax(box.hi.x - box.lo.x, fmax(box.hi.y - box.lo.y, box.hi.z - box.lo.z));
    snprintf(
        words, sizeof words,
        "%s has a thickness of %.3g, less than two cells of its field (cell size %.3g), which may "
        "miss contacts there; use --cells %.0f, or --method exact, which has no cells",
        side ? "B" : "A", thickness, cell, ceil(2 * longest / thickness) + 4);
    tool_log(tool, ABUT_LOG_WARNING, words);
}

static abut_contact_options read_contact_options(const tool_arguments *arguments) {
    abut_contact_options o = abut_contact_options_default();
    const tool_given *margin = option_given(arguments, "margin");
    o.margin = margin ? margin->numbers[0] : 0;
    o.skip_edges = option_given(arguments, "samples") != NULL;
    return o;
}

/* Computes the distances to B over the surface of A. */
static abut_status make_map(const tool_arguments *arguments, contact_pair *b) {
    const tool_given *resolution = option_given(arguments, "resolution");
    abut_map_options o = abut_map_options_default();
    abut_collider other = abut_collider_from_bvh(b->pair.bvh[1], abut_pose_identity());
    abut_pose inverse;
    o.resolution = resolution ? resolution->counts[0] : 0;
    abut_status status = abut_sign_prepare(b->pair.bvh[1], NULL);
    status = status ? status : abut_map_create(abut_bvh_mesh(b->pair.bvh[0]), &o, &b->map);
    status = status ? status : abut_pose_invert(&b->pair.pose[0], &inverse);
    status = status ? status : abut_pose_compose(&inverse, &b->pair.pose[1], &other.pose);
    return status ? status : abut_map_compute_distance(b->map, &other, 1, NULL);
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
        status = abut_pose_apply(pose, contact->point, &contact->point);
    }
    for (uint64_t i = 0; i < found->patches.count && !status; i++) {
        abut_patch *patch = &found->patches.list[i];
        patch->normal = rotate_direction(pose, patch->normal);
        status = abut_pose_apply(pose, patch->centre, &patch->centre);
    }
    return status;
}

static abut_status compute_patches(const contact_pair *b, const abut_patch_options *options,
                                   abut_patches *found) {
    if (b->map)
        return compute_map_patches(b, options, found);
    abut_collider posed[2] = {abut_collider_from_bvh(b->pair.bvh[0], b->pair.pose[0]),
                              abut_collider_from_bvh(b->pair.bvh[1], b->pair.pose[1])};
    return b->with ? abut_contact_find(&posed[0], &b->solid, options, found)
                   : abut_contact_find(&posed[0], &posed[1], options, found);
}

static void print_pair_reliability(tool_run *tool, const tool_arguments *arguments,
                                   const contact_pair *b) {
    abut_mesh *meshes[2] = {abut_bvh_mesh(b->pair.bvh[0]),
                            b->with ? NULL : abut_bvh_mesh(b->pair.bvh[1])};
    const char *names[2] = {arguments->operands[0], b->with ? b->with : arguments->operands[1]};
    print_reliability_of(tool, &b->reliability, meshes, names, 2);
}

/* Contacts by exact geometry or by a map. */
static int find_patches(tool_run *tool, const tool_arguments *arguments, contact_pair *b) {
    const tool_given *most = option_given(arguments, "most"),
                     *margin = option_given(arguments, "margin"),
                     *hint = option_given(arguments, "hint");
    abut_patch_options options = abut_patch_options_default();
    if (hint)
        options.hint = (abut_vec3){hint->numbers[0], hint->numbers[1], hint->numbers[2]};
    abut_patches found = {.size = sizeof found, .patches.capacity = 0};
    options.margin = margin ? margin->numbers[0] : 0;
    options.max_contacts = most ? most->counts[0] : 0;
    abut_status status = compute_patches(b, &options, &found);
    if (status == ABUT_ERROR_BUFFER) {
        found.patches.capacity = found.patches.count;
        found.contacts.capacity = found.contacts.count;
        b->patches = found.patches.list = malloc(found.patches.count * sizeof *found.patches.list);
        b->list = found.contacts.list = malloc(found.contacts.count * sizeof *found.contacts.list);
        if (!b->patches || !b->list)
            return tool_fail_with(tool, "out of memory", "not enough memory for the contacts");
        status = compute_patches(b, &options, &found);
    }
    if (status)
        return tool_fail(tool, status);
    b->all = b->count = found.contacts.count;
    b->patch_count = found.patches.count;
    b->is_verified = found.is_verified;
    b->reliability = found.reliability;
    print_pair_reliability(tool, arguments, b);
    return 0;
}

/* Contacts by fields. */
static int find_field_contacts(tool_run *tool, const tool_arguments *arguments, contact_pair *b) {
    const tool_given *most = option_given(arguments, "most");
    abut_contact_options options = read_contact_options(arguments);
    abut_contacts found = {.size = sizeof found, .capacity = 0};
    abut_status status = abut_contact_find_sampled(&b->body[0], &b->body[1], &options, &found);
    if (status == ABUT_ERROR_BUFFER) {
        found.capacity = found.count;
        b->list = found.list = malloc(found.count * sizeof *found.list);
        if (!b->list)
            return tool_fail_with(tool, "out of memory", "not enough memory for the contacts");
        status = abut_contact_find_sampled(&b->body[0], &b->body[1], &options, &found);
    }
    if (status)
        return tool_fail(tool, status);
    b->all = b->count = found.count;
    b->reliability = found.reliability;
    print_pair_reliability(tool, arguments, b);
    if (most)
        b->count = abut_contact_reduce(b->list, b->all, most->counts[0], 0);
    return 0;
}

/* ---- time of impact ---- */

static int print_time_of_impact(tool_run *tool, const tool_arguments *arguments,
                                const contact_pair *b, const abut_pose *to) {
    tool_output *out = &tool->out;
    const abut_collider rests = abut_collider_from_bvh(b->pair.bvh[0], b->pair.pose[0]),
                        moves = abut_collider_from_bvh(b->pair.bvh[1], b->pair.pose[1]);
    const tool_given *margin = option_given(arguments, "margin");
    abut_sweep_rigid_options options = abut_sweep_rigid_options_default();
    abut_sweep_rigid_result touch;
    options.separation = margin ? margin->numbers[0] : 0;
    abut_status status = abut_sweep_rigid(&rests, NULL, &moves, to, &options, &touch);
    if (status)
        return tool_fail(tool, status);
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
    tool_text words = {0};
    if (touch.hit)
        text_number(&words, touch.time);
    answer(tool, "%s", words.data ? words.data : "never");
    text_free(&words);
    return touch.hit ? CODE_FOUND : CODE_FINE;
}

static int check_options(tool_run *tool, const tool_arguments *arguments, abut_pose *to) {
    const tool_given *given = option_given(arguments, "to"),
                     *margin = option_given(arguments, "margin");
    if (given && !pose_read(given->words, to))
        return tool_refuse(tool, "--to must be X,Y,Z, @z,30 or X,Y,Z@1,1,0,30, not '%s'",
                           given->words);
    if (given && (option_given(arguments, "out") || picture_given(arguments) ||
                  option_given(arguments, "hint") || option_given(arguments, "patches") ||
                  option_given(arguments, "most") || option_given(arguments, "cells") ||
                  option_given(arguments, "method") || option_given(arguments, "samples") ||
                  option_given(arguments, "limit") || option_given(arguments, "cache")))
        return tool_refuse(tool, "--to computes a time of impact by exact geometry; it cannot be "
                                 "combined with --out, --png, --hint, --patches, --most, "
                                 "--method or options of fields");
    if (option_given(arguments, "after") && !picture_given(arguments))
        return tool_refuse(tool, "--after requires --png");
    const tool_given *colour = option_given(arguments, "colour");
    if (colour && !picture_given(arguments))
        return tool_refuse(tool, "--colour requires --png or --html");
    if (colour && strcmp(colour->words, "depth") != 0 && strcmp(colour->words, "patch") != 0)
        return tool_refuse(tool, "--colour must be depth or patch, not '%s'", colour->words);
    if (option_given(arguments, "explain"))
        return tool_refuse(tool, "--explain requires a scene (.json)");
    return option_length(tool, margin);
}

static bool uses_map(const tool_arguments *arguments) {
    const tool_given *method = option_given(arguments, "method");
    return method && strcmp(method->words, "map") == 0;
}

/* Whether fields are requested by --method or by one of their options. An invalid combination sets
 * `code`. */
static bool uses_fields(tool_run *tool, const tool_arguments *arguments, int *code) {
    static const char *const own[] = {"cells", "samples", "limit", "cache"};
    const tool_given *method = option_given(arguments, "method");
    bool fields = method && strcmp(method->words, "field") == 0, map = uses_map(arguments);
    if (method && !fields && !map && strcmp(method->words, "exact") != 0)
        *code = tool_refuse(tool, "--method must be exact, field or map, not '%s'", method->words);
    if (!*code && option_given(arguments, "resolution") && !map)
        *code = tool_refuse(tool, "--resolution requires --method map");
    if (!*code && map &&
        (option_given(arguments, "hint") || option_given(arguments, "with") ||
         option_given(arguments, "to")))
        *code = tool_refuse(tool, "--hint, --with and --to cannot be combined with --method map");
    for (size_t i = 0; i < sizeof own / sizeof *own && !*code; i++) {
        if (!option_given(arguments, own[i]))
            continue;
        if (method && !fields)
            *code = tool_refuse(tool, "--%s requires --method field", own[i]);
        fields = true;
    }
    const tool_given *most = option_given(arguments, "most");
    if (!*code && fields &&
        (option_given(arguments, "hint") || option_given(arguments, "patches") ||
         option_given(arguments, "colour")))
        *code = tool_refuse(tool, "--hint, --patches and --colour cannot be combined with "
                                  "--method field");
    if (!*code && !fields)
        *code = option_range(tool, most, 1, 8, "contacts with --method exact");
    return fields;
}

/* Reads the primitive of --with. Fails unless B is given exactly once, as a file or as --with. */
static int read_solid(tool_run *tool, const tool_arguments *arguments, contact_pair *b) {
    const tool_given *with = option_given(arguments, "with");
    if (!with != (arguments->operand_count == 2))
        return with ? tool_refuse(tool, "--with replaces B; remove the second file '%s'",
                                  arguments->operands[1])
                    : tool_refuse(tool, "a second file, or --with and a primitive, is required");
    if (!with)
        return 0;
    if (!b->exact || option_given(arguments, "to"))
        return tool_refuse(tool, "--with cannot be combined with --to or options of fields");
    b->with = with->words;
    return solid_read(tool, with->words, &b->pair.pose[1], &b->solid);
}

static int run_contacts(tool_run *tool, const tool_arguments *arguments) {
    contact_pair b;
    abut_pose to;
    bool reads_stdin = arguments->operand_count == 1 && strcmp(arguments->operands[0], "-") == 0;
    if ((reads_stdin || assembly_is_scene(arguments)) && !option_given(arguments, "with"))
        return contacts_scene(tool, arguments);
    if (tool->share)
        return tool_refuse(tool, "several processes require a scene (.json), whose pairs they "
                                 "share");
    memset(&b, 0, sizeof b);
    int code = check_options(tool, arguments, &to);
    b.exact = !code && !uses_fields(tool, arguments, &code);
    code =
        code ? code
             : read_solid(tool, arguments,
                          &b); /* validates the option before meshes are loaded; the pose follows */
    code = code ? code : pair_load(tool, arguments, NULL, &b.pair);
    code = code ? code : read_solid(tool, arguments, &b);
    for (int side = 0; side < 2 && !code && !b.exact; side++) {
        abut_status status = ABUT_OK;
        progress_start(tool->progress, arguments->operands[side]);
        if ((status = make_body(arguments, &b, side)))
            code = tool_fail(tool, status);
        else
            warn_of_thin_parts(tool, &b, side);
    }
    if (!code && uses_map(arguments)) {
        progress_start(tool->progress, arguments->operands[0]);
        abut_status status = make_map(arguments, &b);
        code = status ? tool_fail(tool, status) : 0;
    }
    if (!code && option_given(arguments, "to")) {
        double *q = &to.rotation.x, length = hypot(hypot(q[0], q[1]), hypot(q[2], q[3]));
        for (int i = 0; i < 4; i++)
            q[i] /= length;
        code = print_time_of_impact(tool, arguments, &b, &to);
    } else if (!code) {
        code =
            b.exact ? find_patches(tool, arguments, &b) : find_field_contacts(tool, arguments, &b);
        code = code ? code : contacts_print(tool, arguments, &b);
    }
    for (int side = 0; side < 2; side++) {
        abut_samples_destroy(b.samples[side]);
        abut_field_destroy(b.field[side]);
    }
    abut_map_destroy(b.map);
    free(b.list);
    free(b.patches);
    pair_free(&b.pair);
    return code;
}

static const tool_option options[] = {
    {"pose", "POSE", OPTION_TEXT,
     "pose of B: X,Y,Z (translation), @z,30 (rotation by 30 degrees about z), X,Y,Z@1,1,0,30 "
     "(rotation, then translation) or X,Y,Z,QX,QY,QZ,QW (with a quaternion)",
     NULL, false},
    {"pose-a", "POSE", OPTION_TEXT, "pose of A", NULL, false},
    {"with", "SOLID", OPTION_TEXT,
     "a primitive instead of B: plane:NX,NY,NZ,D (the half-space below it), sphere:X,Y,Z,R, "
     "capsule:X,Y,Z,X,Y,Z,R (both ends), box:X,Y,Z,SX,SY,SZ (centre and sizes) or "
     "cylinder:X,Y,Z,X,Y,Z,R",
     "plane:|sphere:|capsule:|box:|cylinder:", false},
    {"to", "POSE", OPTION_TEXT,
     "end pose of B: print the time of impact, from 0 to 1; no impact is missed at any speed", NULL,
     false},
    {"method", "NAME", OPTION_TEXT,
     "exact: from the intersection contours of the meshes (default); field: samples of each mesh "
     "in the signed distance field of the other; map: texels of A, by their distance to B. For a "
     "scene also auto, the method that suits each body (default), and layers",
     "exact|field|map|auto|layers", false},
    {"explain", NULL, OPTION_FLAG,
     "scenes: print the method of each body with its reason, and the guarantee of each touching "
     "pair, instead of contacts",
     NULL, false},
    {"resolution", "N", OPTION_COUNT, "map: N x N texels on A (default: 512)", NULL, false},
    {"cells", "N", OPTION_COUNT,
     "fields: cells along the longest side of each mesh (default: 64). This and the other options "
     "of fields imply --method field",
     NULL, false},
    {"cache", NULL, OPTION_FLAG,
     "fields: read fields and samples from the disk cache if they are there, otherwise add them; "
     "see 'abut cache'",
     NULL, false},
    {"margin", "M", OPTION_NUMBER,
     "also surfaces within this distance: a patch for each wall, with the gap as a negative depth. "
     "Walls farther than the nearest one by more than 5% of the size of the smaller body are "
     "omitted. With --to: the time at which the distance is this small",
     NULL, false},
    {"hint", "X,Y,Z", OPTION_VECTOR,
     "warm start: the contact normal of the previous step, or the reversed motion of A relative to "
     "B. It chooses the side to which a body that has passed through the other one is pushed",
     NULL, false},
    {"patches", NULL, OPTION_FLAG,
     "print a row for each contact patch instead of its contacts: centre, normal, penetration "
     "depth, area and volume of the overlap",
     NULL, false},
    {"samples", NULL, OPTION_FLAG,
     "fields: contacts at samples only, without the deepest points of edges", NULL, false},
    {"limit", "N", OPTION_COUNT, "fields: at most N samples of each mesh", NULL, false},
    {"most", "K", OPTION_COUNT,
     "keep the deepest contact and K - 1 others, spread widely, for each patch or direction "
     "(default: 4 for each patch; all with fields)",
     NULL, false},
    {"out", "FILE", OPTION_TEXT, "write the table to FILE (.csv, .ply, .npy) and print a summary",
     NULL, false},
    {"png", "FILE", OPTION_TEXT,
     "draw both meshes with contact points and normals, and print a summary", NULL, false},
    PAGE_OPTION,
    {"colour", "NAME", OPTION_TEXT,
     "colours of contacts in the picture: depth (default), or patch: one for each patch",
     "depth|patch", false},
    {"after", NULL, OPTION_FLAG, "draw A after it is shifted out by the depths along the normals",
     NULL, false},
    {"view", "VIEW", OPTION_TEXT,
     "view direction: front, back, left, right, top, bottom, iso, or X,Y,Z (default: perpendicular "
     "to the first normal)",
     "front|back|left|right|top|bottom|iso", false},
    {"up", "AXIS", OPTION_TEXT,
     "up axis: x, y, z, -x, -y, -z or X,Y,Z (default: that of the first file that has one, "
     "otherwise z)",
     "x|y|z|-x|-y|-z", false},
    {0}};

const tool_command command_contacts = {
    .name = "contacts",
    .operands = "A [B] | SCENE.json",
    .summary = "contact points, normals and penetration depths of two meshes",
    .about = "Prints the contacts of two meshes, or of a mesh and a primitive, as comma-separated "
             "values: contact point, contact normal (from B to A), penetration depth, and the "
             "touching feature of A or B. Meshes that touch have a contact, even if they are "
             "infinitely thin. With --json a summary with all contacts is printed instead.\n\n"
             "For a scene (see docs/scene.md), all contacts of all bodies are printed with the "
             "names of both bodies. Each body uses the method that suits it. --margin, --most, "
             "--method, --explain, --out, --png and the camera options apply to scenes.",
    .found = "a contact, or with --to an impact",
    .examples = "  abut contacts a.obj b.obj --pose 0,0,0.9 --most 4\n"
                "  abut contacts a.obj b.obj --pose 0,0,0.9 --png contacts.png\n"
                "  abut contacts a.obj b.obj --pose 0,0,9 --to 0,0,-9\n"
                "  abut contacts a.obj --with plane:0,0,1,0\n"
                "  abut contacts scene.json --out contacts.csv\n",
    .options = options,
    .operand_kind = OPERAND_FILES,
    .operand_least = 1,
    .operand_most = 2,
    .run = run_contacts,
};
