// Functions common to the comparisons of distance fields: the grid, our field including all
// preparation, its values.
#ifndef ABUT_PEER_FIELD_H
#define ABUT_PEER_FIELD_H

#include "peer.h"

namespace peer {

// A cube of cells over the box and 10%, about its centre.
inline abut_grid make_grid(const model &m, uint32_t cells) {
    const double lo[3] = {m.lo.x, m.lo.y, m.lo.z}, hi[3] = {m.hi.x, m.hi.y, m.hi.z};
    double longest = std::max({hi[0] - lo[0], hi[1] - lo[1], hi[2] - lo[2]}), first[3];
    abut_grid grid = {{0, 0, 0}, 1.1 * longest / cells, {cells, cells, cells}};
    for (int k = 0; k < 3; k++)
        first[k] = 0.5 * (lo[k] + hi[k]) - grid.cell * (0.5 * cells - 0.5);
    grid.origin = {first[0], first[1], first[2]};
    return grid;
}

inline abut_vec3 centre_of(const abut_grid &grid, double i, double j, double k) {
    return {grid.origin.x + grid.cell * i, grid.origin.y + grid.cell * j,
            grid.origin.z + grid.cell * k};
}

// Our field, including all preparation: `build` starts from the caller's vertices, so mesh,
// topology, BVH, distances and signs are computed each time.
class field {
  public:
    abut_field_options options = abut_field_options_default();
    abut_field *made = nullptr;

    field(const side &ours, const model &m, const abut_grid &grid) : from(ours), triangles(m) {
        options.grid = grid;
    }
    ~field() {
        abut_field_destroy(made);
    }
    field(const field &) = delete;
    field &operator=(const field &) = delete;

    void build() {
        abut_field_destroy(made);
        made = nullptr;
        abut_mesh *mesh = from.make_mesh(triangles.vertices, triangles);
        check(abut_field_create(mesh, &options, &made)); // it keeps the mesh
        abut_mesh_destroy(mesh);
    }
    // The values of a layer of cells, x fastest.
    std::vector<float> layer(uint32_t k) const {
        const uint32_t *n = options.grid.count, begin[3] = {0, 0, k}, count[3] = {n[0], n[1], 1};
        std::vector<float> values((size_t)n[0] * n[1]);
        check(abut_field_copy(made, begin, count, values.data()));
        return values;
    }
    uint64_t answer() const {
        uint64_t state = 0;
        for (uint32_t k = 0; k < options.grid.count[2]; k++) {
            std::vector<float> values = layer(k);
            state = hash(state, values.data(), values.size() * sizeof values[0]);
        }
        return state;
    }

  private:
    const side &from;
    const model &triangles;
};

} // namespace peer

#endif
