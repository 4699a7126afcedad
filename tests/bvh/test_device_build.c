/* BVHs built on a device: the tree of a plain version in C, on any mesh; boxes as fitted by the
 * CPU, results equal to those with a tree of the CPU, and similar quality; refits; failures. */
#include "apps/get.h"
#include "tree.h"

#include "bvh/device.h"
#include "device/open.h"

static abut_device *device;
static abuti_queue queue;
static abuti_bvh_builder *builder;

/* Boxes on the device as the CPU fits them, when it downloads the tree. */
static void check_fit(const abuti_bvh_device *there, const abut_bvh *bvh) {
    bvh_node *nodes = malloc(bvh->node_count * sizeof *nodes);
    assert_ok(
        abuti_buffer_download(&queue, &there->nodes, 0, nodes, bvh->node_count * sizeof *nodes));
    for (uint32_t n = 0; n < bvh->node_count; n++)
        for (int axis = 0; axis < 3; axis++)
            for (int slot = 0; slot < BVH_WIDTH; slot++) {
                assert_true(nodes[n].lo[axis][slot] == bvh->nodes[n].lo[axis][slot]);
                assert_true(nodes[n].hi[axis][slot] == bvh->nodes[n].hi[axis][slot]);
            }
    free(nodes);
}

static abut_bvh *build_there(abut_mesh *mesh) {
    abuti_bvh_device there = {0};
    abut_bvh *bvh;
    assert_ok(abuti_bvh_device_build(builder, mesh, 0, &there));
    assert_ok(abuti_bvh_device_download(&queue, &there, NULL, &bvh));
    check_fit(&there, bvh);
    abuti_bvh_device_destroy(&there);
    return bvh;
}

/* ---- the referee: the same cuts, one after the other ---- */

typedef struct fbox {
    float lo[3], hi[3];
} fbox;

static fbox *boxes;

static const fbox nothing = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};

static fbox join(fbox a, fbox b) {
    for (int k = 0; k < 3; k++) {
        a.lo[k] = b.lo[k] < a.lo[k] ? b.lo[k] : a.lo[k];
        a.hi[k] = b.hi[k] > a.hi[k] ? b.hi[k] : a.hi[k];
    }
    return a;
}

static float half_area(fbox b) {
    float x = b.hi[0] - b.lo[0], y = b.hi[1] - b.lo[1], z = b.hi[2] - b.lo[2];
    return x * y + y * z + z * x;
}

static uint32_t leaves(uint32_t count) {
    return (count + 3) / 4;
}

static uint32_t nearest_multiple(uint32_t left, uint32_t total) {
    uint32_t most = (total - 1) / 4 * 4, count = (left + 2) / 4 * 4;
    return count < 4 ? 4 : count > most ? most : count;
}

static float one_over(float x) {
    uint32_t bits;
    float r;
    memcpy(&bits, &x, 4);
    bits = 0x7ef311c3u - bits;
    memcpy(&r, &bits, 4);
    for (int i = 0; i < 4; i++)
        r = r * (2.0f - x * r);
    return r;
}

enum { BINS = 32, CHUNK = 256 };

static uint32_t bin_of(const fbox *b, const fbox *range, int axis) {
    float lo = range->lo[axis], width = range->hi[axis] - lo;
    if (!(width > 0x1p-100f))
        return 0;
    float at = ((b->lo[axis] - lo) + (b->hi[axis] - lo)) * (0.5f * BINS * one_over(width));
    return at > 0 ? (uint32_t)(at < BINS - 1 ? at : BINS - 1) : 0;
}

static int sort_axis;

static int by_middle(const void *a, const void *b) {
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    float x = boxes[i].lo[sort_axis] + boxes[i].hi[sort_axis];
    float y = boxes[j].lo[sort_axis] + boxes[j].hi[sort_axis];
    return x < y ? -1 : x > y ? 1 : i < j ? -1 : i > j;
}

/* All cuts at multiples of four on all axes; of equals the most even, then the lowest, then the
 * first axis. From the 13th level on by evenness alone. */
static void cut_small(uint32_t *order, uint32_t total, int level) {
    if (total <= 4)
        return;
    float least = INFINITY;
    uint32_t best = 0, best_skew = 0;
    int best_axis = 0;
    for (uint32_t cut = 4; cut < total; cut += 4)
        for (int axis = 0; axis < 3; axis++) {
            float cost = 0;
            uint32_t skew = 2 * cut > total ? 2 * cut - total : total - 2 * cut;
            if (level < 12) {
                fbox sides[2] = {nothing, nothing};
                sort_axis = axis;
                qsort(order, total, sizeof *order, by_middle);
                for (uint32_t i = 0; i < total; i++)
                    sides[i >= cut] = join(sides[i >= cut], boxes[order[i]]);
                cost = half_area(sides[0]) * (float)leaves(cut) +
                       half_area(sides[1]) * (float)leaves(total - cut);
            }
            if (!best || cost < least || (cost == least && skew < best_skew)) {
                least = cost;
                best = cut;
                best_skew = skew;
                best_axis = axis;
            }
        }
    sort_axis = best_axis;
    qsort(order, total, sizeof *order, by_middle);
    cut_small(order, best, level + 1);
    cut_small(order + best, total - best, level + 1);
}

static void cut_large(uint32_t *order, uint32_t total, fbox range, int levels_left) {
    if (total <= CHUNK) {
        cut_small(order, total, 0);
        return;
    }
    uint64_t allowed = (uint64_t)CHUNK << (levels_left - 1);
    float least = INFINITY;
    uint32_t cut = nearest_multiple(total / 2, total), at = 0;
    int best_axis = -1, best_bin = 0, low = 0, high = 0;
    fbox sides[2] = {range, range};
    for (int axis = 0; axis < 3; axis++)
        for (int b = 0; b + 1 < BINS; b++) {
            fbox two[2] = {nothing, nothing};
            uint32_t count[2] = {0, 0};
            int last = 0, first = BINS;
            for (uint32_t i = 0; i < total; i++) {
                int bin = (int)bin_of(&boxes[order[i]], &range, axis);
                two[bin > b] = join(two[bin > b], boxes[order[i]]);
                count[bin > b]++;
                last = bin <= b && bin > last ? bin : last;
                first = bin > b && bin < first ? bin : first;
            }
            if (!count[0] || !count[1])
                continue;
            uint32_t here = nearest_multiple(count[0], total);
            float cost = half_area(two[0]) * (float)leaves(count[0]) +
                         half_area(two[1]) * (float)leaves(count[1]);
            if (here > allowed || total - here > allowed || !(cost < least))
                continue;
            least = cost;
            best_axis = axis;
            best_bin = b;
            low = last;
            high = first;
            cut = here;
            memcpy(sides, two, sizeof sides);
        }
    if (best_axis >= 0) { /* far left, left at the border, right at the border, far right */
        uint32_t *sorted = malloc(total * sizeof *sorted);
        for (int part = 0; part < 4; part++)
            for (uint32_t i = 0; i < total; i++) {
                int bin = (int)bin_of(&boxes[order[i]], &range, best_axis);
                if (part == (bin < low ? 0 : bin <= best_bin ? 1 : bin <= high ? 2 : 3))
                    sorted[at++] = order[i];
            }
        memcpy(order, sorted, total * sizeof *order);
        free(sorted);
    }
    cut_large(order, cut, sides[0], levels_left - 1);
    cut_large(order + cut, total - cut, sides[1], levels_left - 1);
}

static void check_order(const abut_bvh *bvh) {
    const abut_mesh *mesh = bvh->mesh;
    uint32_t count = bvh->triangle_count, *order = malloc(count * sizeof *order);
    int levels = 3;
    fbox all = nothing;
    boxes = malloc(count * sizeof *boxes);
    for (uint32_t i = 0; i < count; i++) {
        double lo[3], hi[3];
        bvh_triangle_box(mesh, bvh->scale, i, lo, hi);
        for (int k = 0; k < 3; k++) {
            boxes[i].lo[k] = bvh_float_below(lo[k]);
            boxes[i].hi[k] = bvh_float_above(hi[k]);
        }
        all = join(all, boxes[i]);
        order[i] = i;
    }
    for (uint64_t size = CHUNK; size < count; size *= 2)
        levels++;
    cut_large(order, count, all, levels);
    for (uint32_t i = 0; i < count; i++)
        if (order[i] != bvh->order[i])
            fail_msg("%u triangles: place %u has %u instead of %u", count, i, bvh->order[i],
                     order[i]);
    free(order);
    free(boxes);
}

/* ---- the tree ---- */

static void check_answers(abut_bvh *bvh, abut_mesh *mesh, int count) {
    abut_bvh *other;
    test_random random = {7};
    assert_ok(abut_bvh_create(mesh, NULL, &other));
    for (int i = 0; i < count; i++) {
        abut_vec3 p = i % 2 ? point_around(mesh, &random, 1.5)
                            : point_near(mesh, &random, 0.01 * largest_extent(mesh));
        abut_vec3 q = point_near(mesh, &random, 0);
        abut_nearest a, b;
        assert_ok(abut_nearest_point(bvh, p, HUGE_VAL, &a));
        assert_ok(abut_nearest_point(other, p, HUGE_VAL, &b));
        assert_memory_equal(&a, &b, sizeof a);
        abut_ray ray = {p, vec(q.x - p.x, q.y - p.y, q.z - p.z)};
        if (ray.direction.x != 0 || ray.direction.y != 0 || ray.direction.z != 0) {
            abut_ray_hit hit, same;
            assert_ok(abut_ray_first(bvh, &ray, HUGE_VAL, &hit));
            assert_ok(abut_ray_first(other, &ray, HUGE_VAL, &same));
            assert_true(hit.parameter == same.parameter && hit.triangle == same.triangle);
            assert_memory_equal(hit.barycentric, same.barycentric, sizeof hit.barycentric);
        }
        double size = 0.05 * largest_extent(mesh);
        abut_box box = {vec(q.x - size, q.y - size, q.z - size),
                        vec(q.x + size, q.y + size, q.z + size)};
        static uint32_t found[2][4096];
        uint64_t counts[2];
        abut_index_list inside = {found[0], 4096, 0};
        assert_ok(abut_bvh_find_in_box(bvh, &box, &inside));
        counts[0] = inside.count;
        inside = (abut_index_list){found[1], 4096, 0};
        assert_ok(abut_bvh_find_in_box(other, &box, &inside));
        counts[1] = inside.count;
        assert_int_equal(counts[0], counts[1]);
        assert_memory_equal(found[0], found[1], counts[0] * sizeof **found);
    }
    abut_bvh_destroy(other);
}

static void check_all(abut_mesh *mesh, int answers) {
    abut_bvh *bvh = build_there(mesh);
    check_tree(bvh);
    check_order(bvh);
    check_answers(bvh, mesh, answers);
    abut_bvh_info info = get_bvh_info(bvh);
    assert_true(info.bytes <= 40 * (uint64_t)info.triangle_count + 400);
    abut_bvh_destroy(bvh);
}

TEST(soups) {
    static const uint32_t counts[] = {1, 4, 5, 12, 255, 257, 900};
    for (int kind = 0; kind < SOUP_COUNT; kind++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i += test_brief() ? 2 : 1) {
            abut_mesh *mesh = make_kind(NULL, (soup_kind)kind, counts[i], counts[i]);
            check_all(mesh, 8);
            abut_mesh_destroy(mesh);
        }
}

/* Tiny and huge, far away; and the same bytes whenever it is built. */
TEST(places) {
    static const double scales[] = {1, 1e-30, 1e30, 1e-3};
    for (int i = 0; i < 4; i++) {
        abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_TEAPOT, 3);
        mesh = make_moved(mesh, scales[i], i == 3 ? vec(1e5, -1e5, 3) : vec(0, 0, 0));
        check_all(mesh, 30);
        abut_bvh *a = build_there(mesh), *b = build_there(mesh);
        assert_int_equal(a->node_count, b->node_count);
        assert_memory_equal(a->nodes, b->nodes, a->node_count * sizeof *a->nodes);
        assert_memory_equal(a->blocks, b->blocks, a->leaf_count * sizeof *a->blocks);
        assert_memory_equal(a->order, b->order, 4 * a->leaf_count * sizeof *a->order);
        abut_bvh_destroy(a);
        abut_bvh_destroy(b);
        abut_mesh_destroy(mesh);
    }
}

TEST(quality) {
    for (int kind = 0; kind < ABUT_SHAPE_COUNT; kind++) {
        abut_mesh *mesh = make_shape(NULL, (abut_shape_kind)kind, 12);
        abut_bvh *bvh = build_there(mesh), *other;
        assert_ok(abut_bvh_create(mesh, NULL, &other));
        double ratio = bvh->cost / other->cost;
        if (!(ratio < 1.1))
            fail_msg("%s: cost %g instead of %g", abut_shape_kind_name((abut_shape_kind)kind),
                     bvh->cost, other->cost);
        check_tree(bvh);
        abut_bvh_destroy(bvh);
        abut_bvh_destroy(other);
        abut_mesh_destroy(mesh);
    }
}

/* Equal triangles, and chains that lead to deep trees: the depth is bounded, and so is the time. */
TEST(hostile) {
    static const soup_kind kinds[] = {SOUP_EQUAL, SOUP_POINT, SOUP_GROWING, SOUP_LINE, SOUP_NESTED};
    for (int i = 0; i < 5; i++) {
        abut_mesh *mesh = make_kind(NULL, kinds[i], 6000, 3);
        abut_bvh *bvh = build_there(mesh);
        check_tree(bvh);
        abut_bvh_destroy(bvh);
        abut_mesh_destroy(mesh);
    }
}

/* ---- refit ---- */

TEST(refit) {
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_TEAPOT_SOLID, 5);
    abuti_bvh_device there = {0};
    abut_bvh *bvh;
    uint32_t extras = ABUTI_BVH_TRIANGLES | ABUTI_BVH_CORNERS;
    assert_ok(abuti_bvh_device_build(builder, mesh, extras, &there));
    for (int round = 0; round < 3; round++) {
        abut_pose moves = {{0.1 * round, 0.2, 0, 1}, {round * 100.0, 0, 1}};
        abut_mesh *moved;
        assert_ok(abut_mesh_transform(mesh, 1 + round, moves, &moved));
        assert_ok(abuti_bvh_device_refit(builder, &there, moved));
        assert_ok(abuti_bvh_device_download(&queue, &there, NULL, &bvh));
        assert_ptr_equal(bvh->mesh, moved);
        check_tree(bvh);
        check_fit(&there, bvh);
        check_answers(bvh, moved, 20);
        float *floats = malloc(there.triangles.bytes);
        assert_ok(
            abuti_buffer_download(&queue, &there.triangles, 0, floats, there.triangles.bytes));
        for (uint32_t i = 0; i < 4 * bvh->leaf_count * 9; i++) {
            vec3 p = moved->positions[moved->indices[3 * bvh->order[i / 9] + i % 9 / 3]];
            double x = v3_get(p, (int)(i % 3)) * bvh->scale;
            assert_true(floats[i] == bvh_float_below(x));
        }
        free(floats);
        if (there.corners.device) {
            abut_triangle triangle, wanted = triangle_of(moved, bvh->triangle_count - 1);
            assert_ok(abuti_buffer_download(&queue, &there.corners,
                                            (bvh->triangle_count - 1) * sizeof triangle, &triangle,
                                            sizeof triangle));
            assert_memory_equal(&wanted, &triangle, sizeof wanted);
        }
        abut_bvh_destroy(bvh);
        abut_mesh_destroy(moved);
    }
    abuti_bvh_device_destroy(&there);
    abut_mesh_destroy(mesh);
}

/* ---- devices without doubles ---- */

TEST(without_doubles) {
    abut_device *poor = test_device(NULL);
    abuti_queue other;
    abuti_bvh_builder *rounds_here;
    poor->info.has_doubles = false;
    assert_ok(abuti_queue_open(poor, &other));
    assert_ok(abuti_bvh_builder_create(&other, &rounds_here));
    for (int i = 0; i < 2; i++) {
        abut_mesh *mesh = make_moved(make_shape(NULL, ABUT_SHAPE_TORUS, 16), i ? 1e-40 : 0.3,
                                     vec(i ? 0 : 1e3, 0, 0));
        abuti_bvh_device there = {0};
        abut_bvh *a = build_there(mesh), *b;
        assert_ok(abuti_bvh_device_build(rounds_here, mesh, ABUTI_BVH_CORNERS, &there));
        assert_null(there.corners.device);
        assert_ok(abuti_bvh_device_download(&other, &there, NULL, &b));
        assert_int_equal(a->node_count, b->node_count);
        assert_memory_equal(a->nodes, b->nodes, a->node_count * sizeof *a->nodes);
        assert_memory_equal(a->blocks, b->blocks, a->leaf_count * sizeof *a->blocks);
        assert_memory_equal(a->order, b->order, 4 * a->leaf_count * sizeof *a->order);
        abut_bvh_destroy(a);
        abut_bvh_destroy(b);
        abuti_bvh_device_destroy(&there);
        abut_mesh_destroy(mesh);
    }
    abuti_bvh_builder_destroy(rounds_here);
    abuti_queue_close(&other);
    abut_device_destroy(poor);
}

/* ---- the public door, and failures ---- */

static abut_status create(abut_context *context, void *data) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    shape.segments = 4; /* 320 triangles: levels, chunks */
    abut_mesh *mesh = NULL;
    abut_bvh *bvh = NULL;
    abut_bvh_options options = abut_bvh_options_default();
    options.device = data;
    abut_status status = abut_shape_create(context, &shape, &mesh);
    status = status ? status : abut_bvh_create(mesh, &options, &bvh);
    assert_true(!status == (bvh != NULL));
    if (!status) { /* the tree comes back only now, and may come later */
        status = abuti_bvh_ensure_host(bvh);
        assert_true(!status == (bvh->nodes != NULL));
    }
    if (!status)
        check_tree(bvh);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    return status;
}

TEST(every_call) {
    test_every_device_call(create, device, UINT64_MAX, 1);
}

TEST(every_allocation) {
    bool doubles = device->info.has_doubles;
    device->info.has_doubles = false; /* the host rounds */
    assert_true(test_every_allocation(create, device) >= 8);
    device->info.has_doubles = doubles;
    assert_true(test_every_allocation(create, device) >= 7);
}

/* Refitted to a mesh of another context, memory of the host goes back to where it came from. */
TEST(two_contexts) {
    test_memory memory[2];
    abut_context *context[2];
    abut_mesh *mesh[2];
    abut_bvh *bvh = NULL;
    abut_shape shape = abut_shape_default(ABUT_SHAPE_UVSPHERE);
    abut_bvh_options options = abut_bvh_options_default();
    options.device = device;
    memset(memory, 0, sizeof memory);
    for (int i = 0; i < 2; i++) {
        context[i] = test_context(&memory[i], 1);
        assert_ok(abut_shape_create(context[i], &shape, &mesh[i]));
    }
    assert_ok(abut_bvh_create(mesh[0], &options, &bvh));
    assert_ok(abut_bvh_set_mesh(bvh, mesh[1]));
    const uint64_t before = memory[1].live_count;
    assert_true(get_bvh_info(bvh).cost > 0); /* which makes the CPU's copy */
    assert_int_equal(memory[1].live_count, before);
    abut_bvh_destroy(bvh);
    for (int i = 0; i < 2; i++) {
        abut_mesh_destroy(mesh[i]);
        abut_context_destroy(context[i]);
        assert_int_equal(memory[i].live_count, 0);
    }
}

static bool stop(void *user, const char *stage, double fraction) {
    (void)fraction;
    return strcmp(stage, "bvh") != 0 || --*(int *)user > 0;
}

TEST(cancelled) {
    int left = 1;
    abut_context *context = test_watched(stop, &left);
    assert_int_equal(ABUT_ERROR_CANCELLED, create(context, device));
    left = 2;
    assert_int_equal(ABUT_ERROR_CANCELLED, create(context, device));
    left = 3;
    assert_ok(create(context, device));
    abut_context_destroy(context);
}

static int set_up(void **state) {
    device = test_device(NULL);
    assert_ok(abuti_queue_open(device, &queue));
    assert_ok(abuti_bvh_builder_create(&queue, &builder));
    return 0;
}

static int tear_down(void **state) {
    abuti_bvh_builder_destroy(builder);
    abuti_queue_close(&queue);
    abut_device_destroy(device);
    assert_int_equal(0, abuti_opencl_live());
    return 0;
}

int main(void) {
    SKIP_WITHOUT_DEVICE();
    return test_run(set_up, tear_down);
}
