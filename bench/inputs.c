/* Inputs that are the same on every machine, and the hash of results. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

uint64_t bench_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

double bench_random_real(uint64_t *state, double lo, double hi) {
    return (float)(lo + (hi - lo) * ((double)(bench_random(state) >> 11) * 0x1p-53));
}

/* ---- the grid ---- */

/* One quarter: x = (1 - t^2) / (1 + t^2), y = 2t / (1 + t^2) for t from 0 to 1. */
static void circle(uint32_t quarter, double t, double *x, double *y) {
    double below = 1 + t * t, c = (1 - t * t) / below, s = 2 * t / below;
    *x = quarter == 0 ? c : quarter == 1 ? -s : quarter == 2 ? -c : s;
    *y = quarter == 0 ? s : quarter == 1 ? c : quarter == 2 ? -s : -c;
}

void bench_circle(double share, double *x, double *y) {
    uint32_t quarter = (uint32_t)(4 * share);
    circle(quarter, 4 * share - quarter, x, y);
}

/* At i of n equal steps of the parameter. */
static void circle_step(uint32_t i, uint32_t n, double *x, double *y) {
    uint32_t quarter = (uint32_t)(4 * (uint64_t)i / n);
    circle(quarter, (4.0 * i - (double)quarter * n) / n, x, y);
}

static void place_vertices(bench_grid *grid) {
    uint64_t random = 1;
    for (uint32_t j = 0; j < grid->rings; j++)
        for (uint32_t i = 0; i < grid->segments; i++) {
            double around_x, around_y, tube_x, tube_y;
            circle_step(i, grid->segments, &around_x, &around_y);
            circle_step(j, grid->rings, &tube_x, &tube_y);
            double radius = 0.4 * bench_random_real(&random, 0.995, 1.005);
            double out = 1 + radius * tube_x;
            float *p = grid->positions + 3 * ((size_t)j * grid->segments + i);
            p[0] = (float)(out * around_x);
            p[1] = (float)(out * around_y);
            p[2] = (float)(radius * tube_y);
        }
}

static void place_triangles(bench_grid *grid) {
    uint32_t *at = grid->indices;
    for (uint32_t j = 0; j < grid->rings; j++)
        for (uint32_t i = 0; i < grid->segments; i++) {
            uint32_t next_i = (i + 1) % grid->segments, next_j = (j + 1) % grid->rings;
            uint32_t a = j * grid->segments + i, b = j * grid->segments + next_i;
            uint32_t c = next_j * grid->segments + next_i, d = next_j * grid->segments + i;
            const uint32_t corners[6] = {a, b, c, a, c, d};
            memcpy(at, corners, sizeof corners);
            at += 6;
        }
}

abut_status bench_grid_create(uint32_t segments, uint32_t rings, bench_grid *grid) {
    grid->segments = segments;
    grid->rings = rings;
    grid->vertex_count = segments * rings;
    grid->triangle_count = 2 * segments * rings;
    grid->positions = malloc((size_t)grid->vertex_count * 3 * sizeof *grid->positions);
    grid->indices = malloc((size_t)grid->triangle_count * 3 * sizeof *grid->indices);
    if (!grid->positions || !grid->indices) {
        bench_grid_destroy(grid);
        return bench_fail(ABUT_ERROR_MEMORY, "no memory for a grid of %u x %u", segments, rings);
    }
    place_vertices(grid);
    place_triangles(grid);
    return ABUT_OK;
}

abut_status bench_grid_million(const bench_state *state, bench_grid *grid) {
    return state->quick ? bench_grid_create(200, 50, grid) : bench_grid_create(1000, 500, grid);
}

/* A random order of 0 .. count - 1 (Fisher & Yates). */
static uint32_t *random_order(uint32_t count, uint64_t seed) {
    uint32_t *order = malloc((size_t)count * sizeof *order);
    if (!order)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    for (uint32_t i = count - 1; i > 0; i--) {
        uint32_t j = (uint32_t)(bench_random(&seed) % (i + 1)), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
    return order;
}

abut_status bench_grid_shuffle(bench_grid *grid) {
    uint32_t *vertex = random_order(grid->vertex_count, 2);
    uint32_t *triangle = random_order(grid->triangle_count, 3);
    bench_grid mixed = *grid;
    mixed.positions = malloc((size_t)grid->vertex_count * 3 * sizeof *mixed.positions);
    mixed.indices = malloc((size_t)grid->triangle_count * 3 * sizeof *mixed.indices);
    bool fine = vertex && triangle && mixed.positions && mixed.indices;
    if (fine) {
        for (size_t v = 0; v < grid->vertex_count; v++)
            memcpy(mixed.positions + 3 * (size_t)vertex[v], grid->positions + 3 * v,
                   3 * sizeof *mixed.positions);
        for (size_t t = 0; t < grid->triangle_count; t++)
            for (size_t k = 0; k < 3; k++)
                mixed.indices[3 * (size_t)triangle[t] + k] = vertex[grid->indices[3 * t + k]];
        bench_grid old = *grid;
        *grid = mixed;
        mixed = old;
    }
    bench_grid_destroy(&mixed);
    free(vertex);
    free(triangle);
    return fine ? ABUT_OK : bench_fail(ABUT_ERROR_MEMORY, "no memory to shuffle a grid");
}

void bench_grid_destroy(bench_grid *grid) {
    free(grid->positions);
    free(grid->indices);
    grid->positions = NULL;
    grid->indices = NULL;
}

abut_status bench_grid_mesh(const bench_state *state, const bench_grid *grid, abut_mesh **mesh) {
    abut_mesh_input input = abut_mesh_input_floats(grid->positions, grid->vertex_count,
                                                   grid->indices, grid->triangle_count);
    return abut_mesh_create(state->context, &input, mesh);
}

/* ---- hashes ---- */

/* Eight bytes at a time: xor, multiply by an odd number, fold the high half down. */
static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9fb21c651e98df25u;
    return hash ^ hash >> 32;
}

uint64_t bench_hash(uint64_t hash, const void *data, size_t bytes) {
    const unsigned char *at = data;
    hash = mix(hash, bytes + 1);
    for (; bytes >= 8; bytes -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        hash = mix(hash, word);
    }
    uint64_t rest = 0;
    for (size_t i = 0; i < bytes; i++)
        rest |= (uint64_t)at[i] << 8 * i;
    return mix(hash, rest);
}

uint64_t bench_hash_mesh(uint64_t hash, const abut_mesh *mesh) {
    abut_vec3 origin = abut_mesh_local_origin(mesh);
    hash = bench_hash(hash, &origin, sizeof origin);
    hash = bench_hash(hash, abut_mesh_local_positions(mesh),
                      (size_t)abut_mesh_vertex_count(mesh) * sizeof(abut_vec3));
    return bench_hash(hash, abut_mesh_indices(mesh),
                      (size_t)abut_mesh_triangle_count(mesh) * 3 * sizeof(uint32_t));
}

abut_status bench_hash_contacts(abut_world *world, const abut_contacts *found, uint64_t *hash) {
    abut_world_pair_list pairs = {NULL, 0, 0};
    abut_status status = abut_world_pairs(world, &pairs);
    if (status && status != ABUT_ERROR_BUFFER)
        return status;
    pairs.capacity = pairs.count;
    pairs.list = malloc((pairs.count + 1) * sizeof *pairs.list);
    if (!pairs.list)
        return ABUT_ERROR_MEMORY;
    status = abut_world_pairs(world, &pairs);
    uint32_t pair = 0;
    for (uint64_t i = 0; i < found->count && !status; i++) {
        const abut_contact *c = &found->list[i];
        const float depth = (float)c->depth;
        while (pair < pairs.count && (pairs.list[pair].a != c->a || pairs.list[pair].b != c->b))
            pair++; /* contacts are sorted by pair */
        *hash = bench_hash(*hash, &pair, sizeof pair);
        *hash = bench_hash(*hash, &c->id, sizeof c->id);
        *hash = bench_hash(*hash, &depth, sizeof depth);
    }
    free(pairs.list);
    return status;
}

double bench_mesh_bytes(const abut_mesh *mesh) {
    return 24.0 * abut_mesh_vertex_count(mesh) + 12.0 * abut_mesh_triangle_count(mesh);
}
