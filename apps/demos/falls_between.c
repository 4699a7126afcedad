/* What bodies touch between two frames: by sweeps, and by exact tests at many instants. */
#include "falls.h"

/* ---- sweeps ---- */

/* The model turns, and nothing else of what does not fall moves. */
static abut_world_motion motion_of(const falls *s, uint32_t i) {
    return i >= s->fixed                              ? ABUT_WORLD_DYNAMIC
           : s->options.kind == FALLS_STAIRS || i > 0 ? ABUT_WORLD_STATIC
                                                      : ABUT_WORLD_KINEMATIC;
}

static abut_status make_world(falls *s) {
    abut_world_options options = abut_world_options_default();
    options.method = ABUT_WORLD_EXACT;
    abut_status status = abut_world_create(s->context, &options, &s->world);
    for (uint32_t i = 0; i < s->count && !status; i++) {
        abut_world_item item = abut_world_item_default();
        uint32_t id;
        item.collider = s->solids[i];
        item.motion = motion_of(s, i);
        item.group = falls_group(s, i);
        item.mask = falls_mask(s, i);
        status = abut_world_add(s->world, &item, &id);
    }
    if (status) {
        abut_world_destroy(s->world);
        s->world = NULL;
    }
    return status;
}

static abut_status sweep_paths(falls *s) {
    for (int round = 0; round < 2; round++) {
        abut_world_impacts found = abut_world_impacts_default();
        found.list = s->swept;
        found.capacity = s->swept_room;
        const abut_status status =
            abut_world_sweep(s->world, NULL, abut_array_host(s->after), s->count, NULL, &found);
        s->swept_count = status ? 0 : found.count;
        if (status != ABUT_ERROR_BUFFER)
            return status;
        abut_context_free(s->context, s->swept);
        s->swept_room = 2 * found.count;
        s->swept = abut_context_allocate(s->context, (size_t)s->swept_room, sizeof *s->swept);
        if (!s->swept) {
            s->swept_room = 0;
            return ABUT_ERROR_MEMORY;
        }
    }
    return ABUT_ERROR_BUFFER;
}

abut_status falls_sweep(falls *s) {
    abut_status status = s->world ? ABUT_OK : make_world(s);
    if (!status)
        status = abut_world_set_poses(s->world, NULL, abut_array_host(s->before), s->count);
    return status ? status : sweep_paths(s);
}

/* ---- instants ---- */

static abut_status list_hits(falls *s, const abut_pair_group *group) {
    abut_pair_group_hit_list hits = {NULL, 0, 0};
    abut_status status = abut_pair_group_list(group, &hits, NULL);
    if (status != ABUT_ERROR_BUFFER)
        return status;
    hits.capacity = hits.count;
    hits.list = abut_context_allocate(s->context, (size_t)hits.count, sizeof *hits.list);
    s->sampled = abut_context_allocate(s->context, (size_t)hits.count, sizeof *s->sampled);
    status = hits.list && s->sampled ? abut_pair_group_list(group, &hits, NULL) : ABUT_ERROR_MEMORY;
    for (uint64_t i = 0; i < hits.count && !status; i++)
        s->sampled[i] = (abut_world_pair){hits.list[i].a, hits.list[i].b};
    if (!status)
        s->sampled_count = falls_sort_pairs(s->sampled, hits.count);
    abut_context_free(s->context, hits.list);
    return status;
}

static abut_status sample_paths(falls *s, abut_pair_object *objects, abut_pose *poses) {
    for (uint32_t i = 0; i < s->count; i++) {
        abut_pose *path = poses + (size_t)FALLS_INSTANTS * i;
        for (int k = 0; k < FALLS_INSTANTS; k++) {
            const abut_status status = abut_pose_interpolate(&s->before[i], &s->after[i],
                                                             k / (FALLS_INSTANTS - 1.0), &path[k]);
            if (status)
                return status;
        }
        objects[i] = (abut_pair_object){.size = sizeof *objects,
                                        .bvh = s->bvhs[i],
                                        .poses = path,
                                        .stride = sizeof *path,
                                        .group = falls_group(s, i),
                                        .mask = falls_mask(s, i)};
    }
    abut_pair_group group = abut_pair_group_default();
    group.objects = objects;
    group.object_count = s->count;
    group.configuration_count = FALLS_INSTANTS;
    return list_hits(s, &group);
}

abut_status falls_sample(falls *s) {
    abut_pair_object *objects = abut_context_allocate(s->context, s->count, sizeof *objects);
    abut_pose *poses = abut_context_allocate(s->context, s->count, FALLS_INSTANTS * sizeof *poses);
    abut_context_free(s->context, s->sampled);
    s->sampled = NULL;
    s->sampled_count = 0;
    const abut_status status =
        objects && poses ? sample_paths(s, objects, poses) : ABUT_ERROR_MEMORY;
    abut_context_free(s->context, objects);
    abut_context_free(s->context, poses);
    return status;
}
