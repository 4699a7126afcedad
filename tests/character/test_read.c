/* Characters from glTF: a small generated one, its expected content, and rejected files. */
#include "apps/get.h"
#include "io/gltf_files.h"

/* The square of tests/io/gltf_files.h on two joints: vertices 0 and 3 to joint 0, 1 and 2 to
 * joint 1. View 2 has joints (bytes), view 3 weights (bytes), view 4 two bind matrices, view 5
 * times, view 6 rotations, view 7 translations. */
static bytes rigged_bytes(float first_bind) {
    static const unsigned char joints[16] = {0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0};
    static const unsigned char weights[16] = {255, 0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255};
    float binds[32] = {0};
    const float times[2] = {0, 2}, turns[8] = {0, 0, 0, 1, 0, 0, 1, 0},
                moves[6] = {0, 0, 0, 0, 4, 0};
    bytes made = square_bytes();
    for (int i = 0; i < 32; i++)
        binds[i] = i % 16 % 5 == 0 ? 1 : 0;
    binds[0] = first_bind;
    binds[16 + 12] = -1; /* joint 1 is at x = 1 */
    append_bytes(&made, joints, sizeof joints);
    append_bytes(&made, weights, sizeof weights);
    put_floats(&made, 32, binds);
    put_floats(&made, 2, times);
    put_floats(&made, 8, turns);
    put_floats(&made, 6, moves);
    return made;
}

#define VIEW(offset, length) "{\"buffer\":0,\"byteOffset\":" offset ",\"byteLength\":" length "}"
#define VIEWS                                                                                 \
    "\"bufferViews\":[" VIEW("0", "48") "," VIEW("48", "12") "," VIEW("60", "16") "," VIEW(   \
        "76", "16") "," VIEW("92", "128") "," VIEW("220", "8") "," VIEW("228",                \
                                                                        "32") "," VIEW("260", \
                                                                                       "24") "]"
#define ACCESSOR(view, component, count, type)                                  \
    "{\"bufferView\":" view ",\"componentType\":" component ",\"count\":" count \
    ",\"type\":\"" type "\"}"
#define ACCESSORS                                                                              \
    "\"accessors\":[" ACCESSOR("0", "5126", "4", "VEC3") "," ACCESSOR(                         \
        "1", "5123", "6",                                                                      \
        "SCALAR") "," ACCESSOR("2", "5121", "4",                                               \
                               "VEC4") ",{\"bufferView\":3,\"componentType\":5121,"            \
                                       "\"normalized\":true,\"count\":4,\"type\":\"VEC4\"}"    \
                                       "," ACCESSOR("4", "5126", "2", "MAT4") "," ACCESSOR(    \
                                           "5", "5126", "2",                                   \
                                           "SCALAR") "," ACCESSOR("6", "5126", "2",            \
                                                                  "VEC4") "," ACCESSOR("7",    \
                                                                                       "5126", \
                                                                                       "2",    \
                                                                                       "VEC3") "]"
#define MESH                                                                       \
    "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0,\"JOINTS_0\":2," \
    "\"WEIGHTS_0\":3},\"indices\":1}]}]"
#define SKIN "\"skins\":[{\"joints\":[0,1],\"inverseBindMatrices\":4}]"
#define NODES                                                                                    \
    "\"scene\":0,\"scenes\":[{\"nodes\":[0,2]}],\"nodes\":[{\"name\":\"hip\",\"children\":[1]}," \
    "{\"name\":\"knee\",\"translation\":[1,0,0]},{\"mesh\":0,\"skin\":0}]"
#define CHANNEL(sampler, node, path) \
    "{\"sampler\":" sampler ",\"target\":{\"node\":" node ",\"path\":\"" path "\"}}"
#define CLIPS                                                                                      \
    "\"animations\":[{\"name\":\"kick\",\"channels\":[" CHANNEL("0", "1", "rotation") "," CHANNEL( \
        "1", "0", "translation") "," CHANNEL("0", "2",                                             \
                                             "weights") "],\"samplers\":[{\"input\":5,"            \
                                                        "\"output\":6},{\"input\":5,\"output\":7," \
                                                        "\"interpolation\":\"STEP\"}]}]"
#define WHOLE_DOCUMENT VIEWS "," ACCESSORS "," MESH "," SKIN "," NODES "," CLIPS

static abut_status read_character(const char *text, abut_character **character) {
    return abut_character_read_memory(NULL, text, strlen(text), "a.gltf", character);
}

static void character_refused(const char *members, const char *part) {
    bytes buffer = rigged_bytes(1);
    abut_character *none = NULL;
    assert_fails(ABUT_ERROR_FORMAT, part, read_character(embed(members, &buffer), &none));
    assert_true(!strncmp(abut_last_error(), "a.gltf: ", 8));
    assert_null(none);
}

static void at(abut_vec3 p, double x, double y, double z) {
    if (!(fabs(p.x - x) + fabs(p.y - y) + fabs(p.z - z) < 1e-12))
        fail_msg("%g %g %g instead of %g %g %g", p.x, p.y, p.z, x, y, z);
}

static void check_character(abut_character *character) {
    abut_character_info info = get_character_info(character);
    abut_character_pose_options options = abut_character_pose_options_default();
    abut_character_matrix bones[3];
    abut_vec3 p[4];
    assert_int_equal(3, info.bone_count);
    assert_int_equal(1, info.clip_count);
    assert_int_equal(1, info.weight_count);
    assert_string_equal("hip", get_character_bone(character, 0).name);
    assert_string_equal("knee", get_character_bone(character, 1).name);
    assert_int_equal(0, get_character_bone(character, 1).parent);
    abut_character_clip clip = get_character_clip(character, 0);
    assert_string_equal("kick", clip.name);
    assert_int_equal(2, clip.channel_count); /* morph targets are left out */
    assert_true(clip.duration == 2);
    check_mesh(abut_character_rest_mesh(character), 4, square_at, 2, square_corners);
    options.time = 1; /* the knee at 90 degrees about z, the hip not yet moved */
    assert_ok(abut_character_pose(character, &options, bones));
    for (int how = 0; how < 2; how++) {
        assert_ok(abut_character_skin(character, bones, (abut_character_skinning)how, p));
        at(p[0], 0, 0, 0);
        at(p[1], 1, 0, 0);
        at(p[2], 0, 0, 0);
        at(p[3], 0, 1, 0.5);
    }
    options.time = 2;
    options.clamp = true;
    assert_ok(abut_character_pose(character, &options, bones));
    assert_ok(abut_character_skin(character, bones, ABUT_CHARACTER_SKINNING_LINEAR, p));
    at(p[0], 0, 4, 0);
    at(p[2], 1, 3, 0); /* half a turn */
}

TEST(reads_text_and_binary) {
    bytes buffer = rigged_bytes(1), glb = pack(WHOLE_DOCUMENT, &buffer);
    AUTO(character) character = NULL;
    assert_ok(read_character(embed(WHOLE_DOCUMENT, &buffer), &character));
    check_character(character);
    abut_character_destroy(character);
    assert_ok(abut_character_read(NULL, test_file("a.glb", glb.data, glb.count), &character));
    check_character(character);
}

/* The mesh of a node without skin goes with the node; the rest pose is what a mesh reader sees. */
TEST(rigid_parts) {
    bytes buffer = rigged_bytes(1);
    const char *text = embed(VIEWS "," ACCESSORS "," SQUARE_MESH
                                   ",\"scenes\":[{\"nodes\":[0]}],\"nodes\":[{\"scale\":[-2,1,1],"
                                   "\"children\":[1]},{\"mesh\":0,\"matrix\":[1,0,0,0,1,1,0,0,0,0,"
                                   "1,0,5,0,0,1]}]",
                             &buffer);
    AUTO(character) character = NULL;
    assert_ok(read_character(text, &character));
    AUTO(mesh) mesh = read_text(text);
    check_equal(mesh, abut_character_rest_mesh(character));
    assert_true(abut_mesh_up(abut_character_rest_mesh(character)).y == 1);
    assert_true(get_character_bone(character, 1).has_matrix);
}

/* Two skins that bind one node by different matrices: the rest pose shows whether both were kept.
 */
TEST(nodes_bound_twice) {
    bytes buffer = rigged_bytes(3);
    const char *text =
        embed(VIEWS "," ACCESSORS "," MESH
                    ",\"skins\":[{\"joints\":[0,1],\"inverseBindMatrices\":4},{\"joints\":[0,1]}],"
                    "\"scenes\":[{\"nodes\":[0,2,3]}],\"nodes\":[{\"children\":[1]},{},"
                    "{\"mesh\":0,\"skin\":0},{\"mesh\":0,\"skin\":1}]",
              &buffer);
    AUTO(character) character = NULL;
    assert_ok(read_character(text, &character));
    AUTO(mesh) mesh = read_text(text);
    check_equal(mesh, abut_character_rest_mesh(character));
    assert_int_equal(6, get_character_info(character).bone_count);
    assert_int_equal(8, get_character_info(character).vertex_count);
}

#define TARGETS(list, rest)                                                        \
    "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0,\"JOINTS_0\":2," \
    "\"WEIGHTS_0\":3},\"indices\":1,\"targets\":[" list "]}]" rest "}]"
#define SMILE                                                     \
    "\"animations\":[{\"name\":\"smile\",\"channels\":[" CHANNEL( \
        "0", "2", "weights") "],\"samplers\":[{\"input\":5,\"output\":8}]}]"

/* Two targets of which one has no positions; weights by the mesh and by a clip. The accessors have
 * one more, of the first four numbers of the places as weights of two targets at two keys. */
TEST(morph_targets) {
    bytes buffer = rigged_bytes(1);
    static const char accessors[] = ACCESSORS;
    char more[2000];
    snprintf(more, sizeof more, "%.*s,%s]", (int)sizeof accessors - 2, accessors,
             ACCESSOR("0", "5126", "4", "SCALAR"));
    char members[6000];
    snprintf(members, sizeof members, "%s,%s,%s,%s,%s,%s", VIEWS, more,
             TARGETS("{\"POSITION\":0},{\"NORMAL\":0}",
                     ",\"weights\":[0.5,0],\"extras\":{\"targetNames\":[\"smile\",7]}"),
             SKIN, NODES, SMILE);
    const char *text = embed(members, &buffer);
    abut_character *character = NULL;
    assert_ok(read_character(text, &character));
    assert_int_equal(2, get_character_info(character).morph_count);
    abut_character_morph morph = get_character_morph(character, 0);
    assert_string_equal("smile", morph.name);
    assert_true(morph.weight == 0.5 && morph.shift_count > 0);
    for (uint32_t i = 0; i < morph.shift_count; i++) { /* it moves places by themselves */
        const double *p = square_at + 3 * morph.vertices[i];
        at(morph.shifts[i], p[0], p[1], p[2]);
    }
    assert_string_equal("morph-1", get_character_morph(character, 1).name);
    assert_int_equal(0, get_character_morph(character, 1).shift_count);
    abut_mesh *mesh = read_text(text); /* the reader of meshes moves vertices by them */
    for (uint32_t v = 0; v < 4; v++) {
        abut_vec3 p = abut_mesh_local_positions(mesh)[v], o = abut_mesh_local_origin(mesh);
        abut_mesh *rest = abut_character_rest_mesh(character);
        abut_vec3 q = abut_mesh_local_positions(rest)[v], from = abut_mesh_local_origin(rest);
        at((abut_vec3){q.x + from.x, q.y + from.y, q.z + from.z}, p.x + o.x, p.y + o.y, p.z + o.z);
    }
    abut_mesh_destroy(mesh);
    abut_character_clip clip = get_character_clip(character, 0);
    assert_int_equal(2, clip.channel_count);
    for (uint32_t k = 0; k < 4; k++) {
        const abut_character_channel *channel = &clip.channels[k % 2];
        assert_int_equal(ABUT_CHARACTER_TARGET_MORPH, channel->target);
        assert_int_equal(k % 2, channel->bone);
        assert_true(channel->values[k / 2] == square_at[k]);
    }
    abut_character_destroy(character);
    character_refused(VIEWS "," ACCESSORS "," TARGETS("{\"POSITION\":0}",
                                                      ",\"weights\":[1,2]") "," SKIN "," NODES,
                      "1 morph targets, but 2 weights");
    character_refused(VIEWS "," ACCESSORS "," TARGETS("{\"POSITION\":7}", "") "," SKIN "," NODES,
                      "moves 2 vertices of 4");
    character_refused(VIEWS "," ACCESSORS "," TARGETS("5", "") "," SKIN "," NODES,
                      "morph targets must be objects");
}

#define WITH(nodes, skin, clips) VIEWS "," ACCESSORS "," MESH "," skin "," nodes "," clips
#define CLIP(channels, samplers) \
    "\"animations\":[{\"channels\":[" channels "],\"samplers\":[" samplers "]}]"
#define SAMPLER(input, output) "{\"input\":" input ",\"output\":" output "}"

TEST(refusals) {
    abut_character *none = NULL;
    character_refused(VIEWS "," ACCESSORS "," SQUARE_MESH, "has no nodes");
    character_refused(WITH("\"scenes\":[{\"nodes\":[0]}],\"nodes\":[{\"children\":[1]},"
                           "{\"children\":[0],\"mesh\":0,\"skin\":0}]",
                           SKIN, CLIPS),
                      "reached twice");
    character_refused(WITH(NODES, "\"skins\":[{\"joints\":[0]}]", CLIPS), "refers to joint 1 of 1");
    character_refused(WITH(NODES, SKIN, CLIP(CHANNEL("1", "1", "rotation"), SAMPLER("5", "6"))),
                      "sampler of a channel");
    character_refused(WITH(NODES, SKIN, CLIP("7", SAMPLER("5", "6"))), "sampler of a channel");
    character_refused(WITH(NODES, SKIN, CLIP(CHANNEL("0", "1", "rotation"), "8")),
                      "sampler of a channel");
    character_refused(WITH(NODES, SKIN, CLIP(CHANNEL("0", "9", "rotation"), SAMPLER("5", "6"))),
                      "'node' is 9");
    character_refused(WITH(NODES, SKIN, CLIP(CHANNEL("0", "1", "scale"), SAMPLER("5", "6"))),
                      "type must be VEC3");
    character_refused(WITH(NODES, SKIN, CLIP(CHANNEL("0", "1", "scale"), SAMPLER("5", "0"))),
                      "4 values for 2 keys");
    character_refused(WITH(NODES, SKIN, CLIP(CHANNEL("0", "1", "rotation"), "{\"input\":5}")),
                      "a sampler must have input");
    character_refused(WITH(NODES, SKIN,
                           CLIP(CHANNEL("0", "1", "rotation"),
                                "{\"input\":5,\"output\":6,\"interpolation\":\"FAST\"}")),
                      "CUBICSPLINE");
    character_refused(WITH(NODES, SKIN,
                           CLIP(CHANNEL("0", "1", "rotation"),
                                "{\"input\":5,\"output\":6,\"interpolation\":\"CUBICSPLINE\"}")),
                      "2 values for 2 keys");
    character_refused(
        WITH("\"scenes\":[{\"nodes\":[0,2]}],\"nodes\":[{\"children\":[1]},"
             "{\"matrix\":[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1]},{\"mesh\":0,\"skin\":0}]",
             SKIN, CLIPS),
        "rest pose is a matrix");
    character_refused(WITH("\"scenes\":[{\"nodes\":[0,2]}],\"nodes\":[{\"children\":[1]},"
                           "{\"scale\":[1e300,1,1]},{\"mesh\":0,\"skin\":0}]",
                           SKIN, CLIPS),
                      "rest pose of bone 1");
    bytes bad = rigged_bytes((float)NAN);
    assert_fails(ABUT_ERROR_FORMAT, "bind matrix of bone 0",
                 read_character(embed(WHOLE_DOCUMENT, &bad), &none));
    assert_fails(ABUT_ERROR_FORMAT, "is not glTF",
                 abut_character_read_memory(NULL, "v 0 0 0\n", 8, "a.obj", &none));
    assert_fails(ABUT_ERROR_FILE, "no/such", abut_character_read(NULL, "/no/such.glb", &none));
    assert_refused("path is null", abut_character_read(NULL, NULL, &none));
    assert_null(none);
}

static abut_status read_one(abut_context *context, void *data) {
    const bytes *glb = data;
    AUTO(character) character = NULL;
    return abut_character_read_memory(context, glb->data, glb->count, "a.glb", &character);
}

TEST(every_allocation_may_fail) {
    bytes buffer = rigged_bytes(1), glb = pack(WHOLE_DOCUMENT, &buffer);
    assert_true(test_every_allocation(read_one, &glb) > 40);
}

int main(void) {
    return run_gltf();
}
