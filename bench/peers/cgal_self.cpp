// Self-intersections: abut_pair_self_intersections against CGAL's self_intersections.
//
// Usage: peer-cgal_self [MODEL...]   (files that abut reads; default: generated models)
//
// Both get the mesh as it is read and return all pairs; both decide exactly (CGAL with its kernel
// of exact predicates). CGAL's time contains its sweep over boxes, ours the build of the BVH. Its
// mesh must be an oriented manifold: faces that it rejects are omitted and counted. CGAL identifies
// vertices by their index only, hence by_index; for degenerate triangles it has its own rules. Ours
// runs on one thread, then on all; CGAL sequentially, as it is without TBB.
#include <abut/abut.h>

#include <CGAL/Exact_predicates_inexact_constructions_kernel.h>
#include <CGAL/Polygon_mesh_processing/self_intersections.h>
#include <CGAL/Surface_mesh.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace {

using Kernel = CGAL::Exact_predicates_inexact_constructions_kernel;
using pair_list = std::vector<std::pair<std::size_t, std::size_t>>;

double seconds() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

void check(abut_status status) {
    if (!status)
        return;
    std::fprintf(stderr, "%s\n", abut_last_error());
    std::exit(1);
}

pair_list ours(abut_mesh *mesh, double *build_ms, double *query_ms) {
    abut_bvh *bvh;
    abut_pair_self_options options = abut_pair_self_options_default();
    options.by_index = true;
    double start = seconds();
    check(abut_bvh_create(mesh, nullptr, &bvh));
    double middle = seconds();
    std::vector<abut_pair_self_intersection> pairs(1 << 20);
    abut_pair_self_intersection_list found = {pairs.data(), pairs.size(), 0};
    double begin = seconds();
    check(abut_pair_self_intersections(bvh, &options, &found));
    double end = seconds();
    *build_ms = std::min(*build_ms, 1e3 * (middle - start));
    *query_ms = std::min(*query_ms, 1e3 * (end - begin));
    abut_bvh_destroy(bvh);
    pair_list list;
    for (uint64_t i = 0; i < found.count; i++)
        list.emplace_back(pairs[i].triangle[0], pairs[i].triangle[1]);
    return list;
}

pair_list theirs(const abut_mesh *mesh, double *ms, std::size_t *refused) {
    CGAL::Surface_mesh<Kernel::Point_3> soup;
    std::vector<std::size_t> number; // of the triangle that a face was
    abut_vec3 o = abut_mesh_local_origin(mesh);
    for (uint32_t i = 0; i < abut_mesh_vertex_count(mesh); i++) {
        abut_vec3 p = abut_mesh_local_positions(mesh)[i];
        soup.add_vertex(Kernel::Point_3(o.x + p.x, o.y + p.y, o.z + p.z));
    }
    using vertex = CGAL::Surface_mesh<Kernel::Point_3>::Vertex_index;
    for (uint32_t i = 0; i < abut_mesh_triangle_count(mesh); i++) {
        const uint32_t *corner = abut_mesh_indices(mesh) + 3 * (std::size_t)i;
        auto face = soup.add_face(vertex(corner[0]), vertex(corner[1]), vertex(corner[2]));
        if (face.is_valid())
            number.push_back(i);
    }
    *refused = abut_mesh_triangle_count(mesh) - number.size();
    std::vector<std::pair<CGAL::Surface_mesh<Kernel::Point_3>::Face_index,
                          CGAL::Surface_mesh<Kernel::Point_3>::Face_index>>
        found;
    double start = seconds();
    CGAL::Polygon_mesh_processing::self_intersections(soup, std::back_inserter(found));
    *ms = std::min(*ms, 1e3 * (seconds() - start));
    pair_list list;
    for (auto pair : found)
        list.emplace_back(number[pair.first], number[pair.second]);
    for (auto &pair : list)
        if (pair.first > pair.second)
            std::swap(pair.first, pair.second);
    std::sort(list.begin(), list.end());
    return list;
}

void compare(abut_mesh *mesh, abut_mesh *alone, const char *name) {
    double build[2] = {1e9, 1e9}, query[2] = {1e9, 1e9}, cgal = 1e9;
    pair_list a, b;
    std::size_t refused = 0;
    for (int round = 0; round < 3; round++) { // in turn, since machines are noisy
        a = ours(alone, &build[0], &query[0]);
        a = ours(mesh, &build[1], &query[1]);
        b = theirs(mesh, &cgal, &refused);
    }
    pair_list only_a, only_b;
    std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(only_a));
    std::set_difference(b.begin(), b.end(), a.begin(), a.end(), std::back_inserter(only_b));
    std::printf("%-24s %8u triangles, %6zu pairs; only ours %zu, only CGAL's %zu\n", name,
                abut_mesh_triangle_count(mesh), a.size(), only_a.size(), only_b.size());
    std::printf("  abut build + query   1 thread %7.1f + %7.1f ms   all %7.1f + %7.1f ms\n",
                build[0], query[0], build[1], query[1]);
    std::printf("  CGAL                 1 thread %7.1f ms = %.1f x ours (%zu faces refused)\n",
                cgal, cgal / (build[0] + query[0]), refused);
}

} // namespace

int main(int argc, char **argv) {
    abut_context_options options = abut_context_options_default();
    abut_context *one, *all;
    check(abut_context_create(&options, &all));
    options.thread_count = 1;
    check(abut_context_create(&options, &one));
    const abut_shape_kind kinds[] = {ABUT_SHAPE_ICOSPHERE, ABUT_SHAPE_TEAPOT};
    for (int i = 1; i < (argc > 1 ? argc : 3); i++) {
        abut_mesh *mesh[2] = {nullptr, nullptr};
        for (int k = 0; k < 2; k++) {
            abut_context *context = k ? one : all;
            if (argc > 1) {
                check(abut_mesh_read(context, argv[i], nullptr, &mesh[k]));
            } else {
                abut_shape shape = abut_shape_default(kinds[i - 1]);
                shape.segments = i == 1 ? 224 : 40;
                check(abut_shape_create(context, &shape, &mesh[k]));
            }
        }
        compare(mesh[0], mesh[1], argc > 1 ? argv[i] : abut_shape_kind_name(kinds[i - 1]));
        abut_mesh_destroy(mesh[0]);
        abut_mesh_destroy(mesh[1]);
    }
    abut_context_destroy(one);
    abut_context_destroy(all);
}
