/* The table of all cases. A new file of cases is one line here. */
#include "bench.h"

#include <string.h>

static const bench_case *const tables[] = {
    bench_machine_cases,      bench_create_cases,       bench_file_cases,
    bench_topology_cases,     bench_repair_cases,       bench_geom_cases,
    bench_shape_cases,        bench_picture_cases,      bench_bvh_cases,
    bench_pair_cases,         bench_device_cases,       bench_device_build_cases,
    bench_device_query_cases, bench_device_field_cases, bench_field_query_cases,
    bench_field_files_cases,  bench_list_cases,         bench_contact_cases,
    bench_field_cases,        bench_world_cases,        bench_motion_cases,
    bench_sweep_pair_cases,   bench_cloth_cases,        bench_self_cases,
    bench_layers_cases,       bench_raster_cases,       bench_map_cases,
    bench_rival_cases,        bench_dress_cases,        bench_world_mixed_cases,
    bench_world_step_cases,   bench_world_query_cases,  bench_growth_cases,
    bench_garment_cases,      bench_cloth_goal_cases,   bench_sud_cases,
    bench_brute_cases,        bench_robot_cases,
};

const bench_case *bench_case_at(size_t index) {
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const bench_case *which = tables[t]; which->name; which++)
            if (index-- == 0)
                return which;
    return NULL;
}

bool bench_case_has(const bench_case *which, const char *part) {
    return !part || strstr(which->name, part);
}

bool bench_case_is_brief(const bench_case *which) {
    static const char *const names[] = {
        "machine/copy",
        "geom/triangle-closest-point",
        "geom/triangle-triangle-meet",
        "mesh/topology",
        "bvh/build-teapot",
        "bvh/refit-teapot",
        "nearest/uniform-teapot",
        "nearest/near-teapot",
        "ray/first-uniform-teapot",
        "sign/inside-uniform-teapot",
        "pair/overlap-teapot",
        "pair/distance-teapot",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], which->name) == 0)
            return true;
    return false;
}
