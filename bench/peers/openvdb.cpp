// Narrow bands: abut's distance fields against OpenVDB's meshToVolume, on the same grid
// alternately.
//
// Usage: peer-openvdb [--out FILE] [--quick] [MODEL...]   (see peer.h)
//
// A band of 3 cells on both sides of the surface, in a grid of 256 cells along each side. OpenVDB
// gets vertices in its index space, converted before the timing; ours start from the vertices as
// they are. Its voxels are compared with abut_sign_nearest() at their centres: the largest error,
// and the number of wrong signs (more than a hundred-thousandth of a cell from the surface). Those
// voxels, and distances with errors beyond the rounding of floats, are the results that differ.
#include "field.h"

#include <openvdb/openvdb.h>
#include <openvdb/tools/MeshToVolume.h>
#include <tbb/global_control.h>

namespace {

using openvdb::Vec3I;
using openvdb::Vec3s;
using peer::model;

const double band = 3; // cells

struct input {
    std::vector<Vec3s> points; // in index space: the centre of cell (i, j, k) is at (i, j, k)
    std::vector<Vec3I> triangles;

    input(const model &m, const abut_grid &grid) {
        const abut_vec3 &o = grid.origin;
        for (const peer::vec &v : m.vertices)
            points.emplace_back((float)((v.x - o.x) / grid.cell), (float)((v.y - o.y) / grid.cell),
                                (float)((v.z - o.z) / grid.cell));
        for (size_t i = 0; i < m.indices.size(); i += 3)
            triangles.emplace_back(m.indices[i], m.indices[i + 1], m.indices[i + 2]);
    }
    openvdb::FloatGrid::Ptr convert(double cell) const {
        openvdb::tools::QuadAndTriangleDataAdapter<Vec3s, Vec3I> mesh(points, triangles);
        return openvdb::tools::meshToVolume<openvdb::FloatGrid>(
            mesh, *openvdb::math::Transform::createLinearTransform(cell), (float)band, (float)band);
    }
};

// The errors of a volume.
struct errors {
    size_t voxels = 0, signs = 0, differing = 0;
    double most = 0; // cells
};

errors examine(const openvdb::FloatGrid &volume, const abut_grid &grid, const abut_bvh *bvh,
               double diagonal) {
    std::vector<abut_vec3> points;
    std::vector<float> values;
    for (auto voxel = volume.cbeginValueOn(); voxel; ++voxel) {
        openvdb::Coord at = voxel.getCoord();
        points.push_back(peer::centre_of(grid, at.x(), at.y(), at.z()));
        values.push_back(*voxel);
    }
    std::vector<abut_nearest> exact(points.size());
    abut_array batch = abut_array_host(points.data());
    peer::check(abut_sign_nearest_batch(bvh, batch, points.size(), HUGE_VAL,
                                        abut_array_host(exact.data())));
    errors e;
    e.voxels = points.size();
    for (size_t i = 0; i < points.size(); i++) {
        double off = std::fabs(std::fabs(values[i]) - std::fabs(exact[i].distance));
        bool turned = (values[i] < 0) != (exact[i].distance < 0) &&
                      std::fabs(exact[i].distance) > 1e-5 * grid.cell;
        e.signs += turned;
        e.differing += turned || off > 1e-5 * diagonal;
        e.most = std::max(e.most, off / grid.cell);
    }
    return e;
}

void compare(peer::report &report, const model &m, int threads) {
    const uint32_t cells = report.quick ? 32 : 256;
    tbb::global_control limit(tbb::global_control::max_allowed_parallelism, (size_t)threads);
    peer::side ours(m, threads);
    peer::check(abut_sign_prepare(ours.bvh, nullptr));
    abut_grid grid = peer::make_grid(m, cells);
    input theirs(m, grid);
    errors e = examine(*theirs.convert(grid.cell), grid, ours.bvh, m.diagonal());
    char note[128];
    std::snprintf(note, sizeof note,
                  "its worst distance is %.2g cells off, %zu of %zu signs are wrong", e.most,
                  e.signs, e.voxels);
    for (bool sparse : {false, true}) {
        peer::field field(ours, m, grid);
        field.options.band = band * grid.cell;
        field.options.layout = sparse ? ABUT_FIELD_SPARSE : ABUT_FIELD_DENSE;
        peer::times time = peer::race(
            std::min(report.rounds(), 3), [&] { field.build(); },
            [&] { theirs.convert(grid.cell); }, threads);
        report.add({sparse ? "band-sparse" : "band-dense", m.name, threads, time, 1, "field",
                    e.differing, note, field.answer()});
    }
}

} // namespace

int main(int count, char **words) {
    openvdb::initialize();
    peer::report report("openvdb", "OpenVDB " OPENVDB_LIBRARY_VERSION_STRING, count, words);
    for (const model &m : report.models)
        for (int threads : {1, 2})
            compare(report, m, threads);
    return report.finish();
}
