/* Any bytes as the state of a world: a restored state is that of the world, and a rejected one
 * changes nothing. */
#include "fuzz.h"

#include "base/checksum.h"

enum { HEAD = 72, ROOM = 4096 };

/* With the first byte odd the marks and the checksum are put right, else nothing but the first
 * bytes would ever be looked at. */
static void mend(uint8_t *state, size_t bytes) {
    if (bytes < HEAD + 8)
        return;
    memcpy(state, "\211abutw\r\n\4\3\2\1\4\0\0", 16);
    uint64_t sum = abuti_checksum(state, bytes - 8);
    memcpy(state + bytes - 8, &sum, sizeof sum);
}

/* The bytes themselves, or a whole state with some of its bytes changed: three say which and how.
 */
static size_t make_state(const uint8_t *data, size_t bytes, const uint8_t *whole,
                         size_t whole_bytes, uint8_t *state) {
    if (!(data[0] & 2)) {
        memcpy(state, data + 1, bytes - 1);
        return bytes - 1;
    }
    memcpy(state, whole, whole_bytes);
    for (size_t i = 1; i + 3 <= bytes; i += 3)
        state[(data[i] | (size_t)data[i + 1] << 8) % whole_bytes] ^= data[i + 2];
    return whole_bytes;
}

static uint64_t find_contacts(abut_world *world, abut_contact *list) {
    static abut_world_event events[64];
    abut_contacts found = {.size = sizeof found, .list = list, .capacity = 64};
    uint64_t count;
    FUZZ_CHECK(!abut_world_contacts(world, &found));
    abut_world_event_list event_list = {events, 64, 0};
    FUZZ_CHECK(!abut_world_events(world, &event_list));
    count = event_list.count;
    for (uint64_t i = 0; i < count; i++)
        FUZZ_CHECK(events[i].a < events[i].b && events[i].reliability.reason &&
                   abut_contact_kind_name(events[i].deepest.kind) &&
                   abut_world_method_name(events[i].method) &&
                   abut_world_guarantee_name(events[i].guarantee));
    return found.count;
}

/* Balls and cubes that touch; one of them has moved since events were reported. */
static abut_world *make_world(abut_contact *list) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_mesh *mesh;
    abut_world *world;
    uint32_t id;
    FUZZ_CHECK(!abut_shape_create(fuzz_context(), &shape, &mesh));
    FUZZ_CHECK(!abut_world_create(fuzz_context(), NULL, &world));
    abut_world_item item = {.size = sizeof(abut_world_item),
                            .collider.kind = ABUT_COLLIDER_SPHERE,
                            .collider.pose = {{0, 0, 0, 1}, {0, 0, 0}}};
    for (int i = 0; i < 4; i++) {
        memset(&item.collider.shape, 0, sizeof item.collider.shape);
        item.collider.kind = i % 2 ? ABUT_COLLIDER_MESH : ABUT_COLLIDER_SPHERE;
        item.collider.pose.translation.x = 0.7 * i;
        if (i % 2)
            item.collider.shape.mesh.mesh = mesh;
        else
            item.collider.shape.sphere.radius = 0.5;
        FUZZ_CHECK(!abut_world_add(world, &item, &id));
    }
    abut_mesh_destroy(mesh);
    find_contacts(world, list);
    item.collider.pose.translation.z = 0.1;
    FUZZ_CHECK(!abut_world_set_poses(world, &id, abut_array_host(&item.collider.pose), 1));
    return world;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    static abut_world *world;
    static abut_contact expected[64], list[64];
    static uint64_t count;
    static uint8_t whole[ROOM];
    static size_t whole_bytes;
    if (!world) {
        world = make_world(list);
        abut_byte_list saved = {whole, sizeof whole, 0};
        FUZZ_CHECK(!abut_world_save(world, &saved));
        whole_bytes = saved.count;
        FUZZ_CHECK(!abut_world_restore(world, whole, whole_bytes));
        count = find_contacts(world, expected);
    }
    if (bytes < 1)
        return 0;
    uint8_t *state = malloc(bytes + whole_bytes);
    FUZZ_CHECK(state);
    size_t made = make_state(data, bytes, whole, whole_bytes, state);
    if (data[0] & 1)
        mend(state, made);
    abut_status status = abut_world_restore(world, state, made);
    free(state);
    FUZZ_CHECK(!status || status == ABUT_ERROR_FORMAT || status == ABUT_ERROR_ARGUMENT ||
               status == ABUT_ERROR_UNSUPPORTED);
    /* Whatever the hints are, a state that is taken has the contacts that were saved. */
    FUZZ_CHECK(find_contacts(world, list) == count);
    for (uint64_t i = 0; i < count; i++)
        FUZZ_CHECK(list[i].id == expected[i].id && list[i].depth == expected[i].depth);
    return 0;
}
