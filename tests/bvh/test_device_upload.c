/* Upload and download of a BVH: the same bytes, the same results; nothing leaks on failure. */
#include "apps/get.h"
#include "meshes.h"

#include "bvh/device.h"
#include "device/open.h"

TEST(there_and_back) {
    abut_device *device = test_device(NULL);
    abuti_queue queue;
    assert_ok(abuti_queue_open(device, &queue));
    for (uint32_t count = 1; count < 3000; count = 3 * count + 1) {
        abut_mesh *mesh = make_kind(NULL, SOUP_SMALL, count, count);
        mesh = make_moved(mesh, 1000, vec(1e6, 0, -1e6));
        abut_bvh *bvh, *back;
        abuti_bvh_device there = {0};
        assert_ok(abut_bvh_create(mesh, NULL, &bvh));
        assert_ok(
            abuti_bvh_device_upload(&queue, bvh, ABUTI_BVH_TRIANGLES | ABUTI_BVH_CORNERS, &there));
        assert_ok(abuti_bvh_device_download(&queue, &there, NULL, &back));
        assert_memory_equal(bvh->nodes, back->nodes, bvh->node_count * sizeof *bvh->nodes);
        assert_memory_equal(bvh->blocks, back->blocks, bvh->leaf_count * sizeof *bvh->blocks);
        assert_memory_equal(bvh->order, back->order, 4 * bvh->leaf_count * sizeof *bvh->order);
        abut_bvh_info a = get_bvh_info(bvh), b = get_bvh_info(back);
        assert_true(a.cost == b.cost && a.depth == b.depth && a.bytes == b.bytes);
        float *floats = malloc(there.triangles.bytes);
        assert_ok(
            abuti_buffer_download(&queue, &there.triangles, 0, floats, there.triangles.bytes));
        assert_int_equal(there.triangles.bytes, 4 * bvh->leaf_count * 9 * sizeof(float));
        for (uint32_t i = 0; i < 4 * bvh->leaf_count; i++)
            for (uint32_t k = 0; k < 9; k++) {
                vec3 p = mesh->positions[mesh->indices[3 * bvh->order[i] + k / 3]];
                double x = (k % 3 == 0 ? p.x : k % 3 == 1 ? p.y : p.z) * bvh->scale;
                assert_true(floats[9 * i + k] == (float)x);
            }
        free(floats);
        if (device->info.has_doubles) {
            double *doubles = malloc(there.corners.bytes);
            assert_ok(
                abuti_buffer_download(&queue, &there.corners, 0, doubles, there.corners.bytes));
            assert_int_equal(there.corners.bytes, count * 9 * sizeof(double));
            for (uint32_t t = 0; t < count; t++) {
                abut_triangle triangle = triangle_of(mesh, t);
                assert_memory_equal(&triangle, doubles + 9 * t, sizeof triangle);
            }
            free(doubles);
        } else {
            assert_null(there.corners.device);
        }
        abuti_bvh_device_destroy(&there);
        abuti_bvh_device_destroy(&there);
        abut_bvh_destroy(back);
        abut_bvh_destroy(bvh);
        abut_mesh_destroy(mesh);
    }
    abuti_queue_close(&queue);
    abut_device_destroy(device);
    assert_int_equal(0, abuti_opencl_live());
}

/* ---- failures ---- */

static abut_status round_trip(abut_context *context, void *data) {
    abuti_queue *queue = data;
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    shape.segments = 3;
    abut_mesh *mesh = NULL;
    abut_bvh *bvh = NULL, *back = NULL;
    abut_status status = abut_shape_create(context, &shape, &mesh);
    status = status ? status : abut_bvh_create(mesh, NULL, &bvh);
    for (int round = 0; round < 2 && !status; round++) {
        abuti_bvh_device there = {0};
        status =
            abuti_bvh_device_upload(queue, bvh, ABUTI_BVH_TRIANGLES | ABUTI_BVH_CORNERS, &there);
        status = status ? status : abuti_bvh_device_download(queue, &there, NULL, &back);
        abuti_bvh_device_destroy(&there);
        abut_bvh_destroy(back);
        back = NULL;
    }
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    return status;
}

TEST(every_call) {
    abut_device *device = test_device(NULL);
    abuti_queue queue;
    assert_ok(abuti_queue_open(device, &queue));
    test_every_device_call(round_trip, &queue, UINT64_MAX, 1);
    assert_true(test_every_allocation(round_trip, &queue) >= 14);
    abuti_queue_close(&queue);
    abut_device_destroy(device);
    assert_int_equal(0, abuti_opencl_live());
}

int main(void) {
    SKIP_WITHOUT_DEVICE();
    return test_run(NULL, NULL);
}
