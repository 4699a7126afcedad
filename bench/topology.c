/* Cases: topology, normals and the health report of a million triangles. */
#include "bench.h"

#include <stdlib.h>

enum { TOPOLOGY, TOPOLOGY_SHUFFLED, NORMALS, EXAMINE };

typedef struct topology_data {
    abut_mesh *mesh;
    abut_topology *topology; /* from setup if the case needs one, otherwise from the run */
    abut_normals *normals;
    abut_mesh_report report;
} topology_data;

static bool makes_topology(const bench_state *state) {
    return state->which->variant == TOPOLOGY || state->which->variant == TOPOLOGY_SHUFFLED;
}

/* The bytes that must at least be read and written, for a closed mesh: 1.5 edges per triangle. */
static double least_bytes(int variant, double vertices, double triangles) {
    double mesh = 24 * vertices + 12 * triangles, edges = 1.5 * triangles;
    double adjacency = 12 * edges + 12 * triangles; /* edges, offsets of their faces, the faces */
    adjacency += 12 * triangles + 12 * triangles;   /* edges and neighbours of triangles */
    adjacency += 4 * vertices + 12 * triangles;     /* faces of vertices */
    adjacency += 4 * triangles;                     /* components */
    if (variant == NORMALS)
        return mesh + adjacency + 24 * (vertices + edges + triangles);
    if (variant == EXAMINE)
        return mesh + adjacency;
    return 12 * triangles + adjacency;
}

static abut_status topology_setup(bench_state *state) {
    topology_data *data = state->data;
    bench_grid grid;
    TRY(bench_grid_million(state, &grid));
    if (state->which->variant == TOPOLOGY_SHUFFLED)
        TRY(bench_grid_shuffle(&grid));
    MAKE(data->mesh, bench_grid_mesh(state, &grid, &data->mesh));
    if (!makes_topology(state))
        MAKE(data->topology, abut_topology_create(data->mesh, &data->topology));
    state->elements = grid.triangle_count;
    state->bytes = least_bytes(state->which->variant, grid.vertex_count, grid.triangle_count);
    bench_grid_destroy(&grid);
    return ABUT_OK;
}

static abut_status topology_run(bench_state *state) {
    topology_data *data = state->data;
    if (makes_topology(state))
        return abut_topology_create(data->mesh, &data->topology);
    if (state->which->variant == NORMALS)
        return abut_normals_create(data->topology, &data->normals);
    data->report.size = sizeof data->report;
    return abut_mesh_examine(data->topology, &data->report);
}

static uint64_t hash_indices(uint64_t hash, const uint32_t *indices, size_t count) {
    return bench_hash(hash, indices, count * sizeof *indices);
}

static uint64_t hash_topology(const abut_topology *topology) {
    abut_topology_arrays view = get_topology_arrays(topology);
    size_t corners = 3 * (size_t)view.triangle_count, loops = view.loop_count;
    uint64_t hash = hash_indices(0, view.edges, 2 * (size_t)view.edge_count);
    hash = hash_indices(hash, view.triangle_edges, corners);
    hash = hash_indices(hash, view.edge_face_begin, (size_t)view.edge_count + 1);
    hash = hash_indices(hash, view.edge_faces, view.edge_face_begin[view.edge_count]);
    hash = hash_indices(hash, view.vertex_face_begin, (size_t)view.vertex_count + 1);
    hash = hash_indices(hash, view.vertex_faces, view.vertex_face_begin[view.vertex_count]);
    hash = hash_indices(hash, view.neighbours, corners);
    hash = hash_indices(hash, view.triangle_component, view.triangle_count);
    hash = hash_indices(hash, view.loop_begin, loops + 1);
    return hash_indices(hash, view.loop_vertices, view.loop_begin[loops]);
}

static uint64_t hash_normals(const topology_data *data) {
    abut_topology_arrays view = get_topology_arrays(data->topology);
    abut_normals_arrays normals = get_normals_arrays(data->normals);
    uint64_t hash = bench_hash(0, normals.faces, view.triangle_count * sizeof(abut_vec3));
    hash = bench_hash(hash, normals.edges, view.edge_count * sizeof(abut_vec3));
    return bench_hash(hash, normals.vertices, view.vertex_count * sizeof(abut_vec3));
}

/* Member by member: padding and addresses of texts are not part of the result. */
static uint64_t hash_report(const abut_mesh_report *report) {
    const uint32_t counts[] = {report->vertex_count,    report->triangle_count, report->edge_count,
                               report->component_count, report->loop_count,     report->is_closed,
                               report->is_manifold,     report->is_oriented,    report->is_solid};
    uint64_t hash = bench_hash(0, counts, sizeof counts);
    hash = bench_hash(hash, &report->euler_number, sizeof report->euler_number);
    hash = bench_hash(hash, &report->bounds, sizeof report->bounds);
    hash = bench_hash(hash, &report->area, sizeof report->area);
    hash = bench_hash(hash, &report->volume, sizeof report->volume);
    hash = bench_hash(hash, &report->centroid, sizeof report->centroid);
    hash = bench_hash(hash, report->inertia, sizeof report->inertia);
    for (int i = 0; abut_problem_kind_name((abut_problem_kind)i); i++) {
        const abut_problem *problem = &report->problems[i];
        uint32_t listed =
            problem->count < ABUT_PROBLEM_FIRST_COUNT ? problem->count : ABUT_PROBLEM_FIRST_COUNT;
        hash = bench_hash(hash, &problem->count, sizeof problem->count);
        hash = hash_indices(hash, problem->first, listed);
    }
    const abut_reliability reliability[] = {abut_nearest_reliability(report),
                                            abut_sign_reliability(report, ABUT_SIGN_NORMAL),
                                            abut_sign_reliability(report, ABUT_SIGN_WINDING),
                                            abut_pair_reliability(report),
                                            abut_self_reliability(report)};
    for (size_t i = 0; i < sizeof reliability / sizeof *reliability; i++) {
        uint32_t level = (uint32_t)reliability[i].level;
        hash = bench_hash(hash, &level, sizeof level);
    }
    return hash;
}

static abut_status topology_finish(bench_state *state) {
    topology_data *data = state->data;
    if (makes_topology(state)) {
        state->hash = hash_topology(data->topology);
        abut_topology_destroy(data->topology);
        data->topology = NULL;
    } else if (state->which->variant == NORMALS) {
        state->hash = hash_normals(data);
        abut_normals_destroy(data->normals);
        data->normals = NULL;
    } else {
        state->hash = hash_report(&data->report);
    }
    return ABUT_OK;
}

#define TOPOLOGY_CASE(name_, variant_, goal_)                                    \
    {                                                                            \
        .name = name_, .unit = "triangle", .data_bytes = sizeof(topology_data),  \
        .setup = topology_setup, .run = topology_run, .finish = topology_finish, \
        .variant = variant_, .threaded = true, .goal_ms = goal_                  \
    }

/* "1M triangles under 1 s" for all of topology: edges and neighbours, and what the report finds. */
const bench_case bench_topology_cases[] = {
    TOPOLOGY_CASE("mesh/topology", TOPOLOGY, 1000),
    TOPOLOGY_CASE("mesh/topology-shuffled", TOPOLOGY_SHUFFLED, 1000),
    TOPOLOGY_CASE("mesh/examine", EXAMINE, 1000),
    TOPOLOGY_CASE("mesh/normals", NORMALS, 0),
    {.name = NULL},
};
