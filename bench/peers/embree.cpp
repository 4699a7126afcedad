// Nearest points, rays and distance fields: abut against Embree, on the same queries alternately.
//
// Usage: peer-embree [--out FILE] [--quick] [--part build|nearest|ray|field] [MODEL...]   (see
// peer.h)
//
// Embree has no distance query of its own: its user computes distances in a callback for every
// triangle in a leaf that the shrinking ball intersects. The callback here is the usual one in
// floats (Ericson 2005, section 5.1.5), so Embree's results have float rounding errors; ours are
// those of doubles. Both get the points in the same random order, and the time includes everything:
// ours sorts them first. Embree's rays are single ones in floats with RTC_SCENE_FLAG_ROBUST;
// whether ours hit is exact.
//
// A field has 256 cells along each side. Embree computes every 16th layer of cells, and its time is
// multiplied by 16: the whole would take minutes. It proceeds along rows with a bound from the
// previous cell: the distance there plus the length of a cell (`field`), or the distance from the
// triangle that was nearest there (`field-triangle`), which is tighter. Its distances have no sign,
// and the build of its tree does not count; ours start from the vertices and have signs.
#include "field.h"

#include <embree3/rtcore.h>
#include <omp.h>

namespace {

using peer::dot;
using peer::model;
using peer::vec;

vec closest(vec p, vec a, vec b, vec c) {
    vec ab = b - a, ac = c - a, ap = p - a;
    float d1 = dot(ab, ap), d2 = dot(ac, ap);
    if (d1 <= 0 && d2 <= 0)
        return a;
    vec bp = p - b;
    float d3 = dot(ab, bp), d4 = dot(ac, bp);
    if (d3 >= 0 && d4 <= d3)
        return b;
    float vc = d1 * d4 - d3 * d2;
    if (vc <= 0 && d1 >= 0 && d3 <= 0)
        return a + (d1 / (d1 - d3)) * ab;
    vec cp = p - c;
    float d5 = dot(ab, cp), d6 = dot(ac, cp);
    if (d6 >= 0 && d5 <= d6)
        return c;
    float vb = d5 * d2 - d1 * d6;
    if (vb <= 0 && d2 >= 0 && d6 <= 0)
        return a + (d2 / (d2 - d6)) * ac;
    float va = d3 * d6 - d5 * d4;
    if (va <= 0 && d4 - d3 >= 0 && d5 - d6 >= 0)
        return b + ((d4 - d3) / ((d4 - d3) + (d5 - d6))) * (c - b);
    float inverse = 1 / (va + vb + vc);
    return a + (vb * inverse) * ab + (vc * inverse) * ac;
}

struct answer {
    const model *from;
    vec point;
    float distance_sq;
    uint32_t triangle;
};

bool visit(RTCPointQueryFunctionArguments *arguments) {
    answer *best = static_cast<answer *>(arguments->userPtr);
    const uint32_t *i = &best->from->indices[3 * (size_t)arguments->primID];
    const vec *v = best->from->vertices.data();
    vec d = closest(best->point, v[i[0]], v[i[1]], v[i[2]]) - best->point;
    float distance_sq = dot(d, d);
    if (distance_sq >= best->distance_sq)
        return false;
    best->distance_sq = distance_sq;
    best->triangle = arguments->primID;
    arguments->query->radius = std::sqrt(distance_sq);
    return true;
}

RTCScene embree_build(RTCDevice device, const model &m, unsigned flags = 0) {
    RTCScene scene = rtcNewScene(device);
    rtcSetSceneFlags(scene, (RTCSceneFlags)(RTC_SCENE_FLAG_ROBUST | flags));
    RTCGeometry geometry = rtcNewGeometry(device, RTC_GEOMETRY_TYPE_TRIANGLE);
    rtcSetSharedGeometryBuffer(geometry, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT3,
                               m.vertices.data(), 0, sizeof(vec), m.vertices.size());
    rtcSetSharedGeometryBuffer(geometry, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3,
                               m.indices.data(), 0, 12, m.triangle_count());
    rtcSetGeometryPointQueryFunction(geometry, visit);
    rtcCommitGeometry(geometry);
    rtcAttachGeometry(scene, geometry);
    rtcReleaseGeometry(geometry);
    rtcCommitScene(scene);
    return scene;
}

void embree_run(RTCScene scene, const model &m, const std::vector<vec> &points,
                std::vector<answer> &answers, int threads) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 512)
    for (size_t i = 0; i < points.size(); i++) {
        RTCPointQueryContext context;
        rtcInitPointQueryContext(&context);
        answers[i] = {&m, points[i], INFINITY, ABUT_NONE};
        RTCPointQuery query = {points[i].x, points[i].y, points[i].z, 0, INFINITY};
        rtcPointQuery(scene, &query, &context, nullptr, &answers[i]);
    }
}

// Returns whether two distances are equal to the rounding of floats, on the scale of the model.
bool close(double a, double b, double scale) {
    return std::fabs(a - b) <= 1e-5 * scale;
}

void compare_nearest(peer::report &report, const model &m, const peer::side &ours, RTCScene scene,
                     int threads) {
    const struct {
        const char *name;
        bool near;
        size_t count;
        double part; // of the diagonal: largest distance of near points from the surface
    } cases[] = {{"nearest-uniform", false, 100000, 0},
                 {"nearest-near", true, 100000, 0.02},
                 {"nearest-close", true, 100000, 0.001},
                 {"nearest-million", false, 1000000, 0}};
    for (auto &which : cases) {
        const size_t count = report.amount(which.count);
        std::vector<vec> points = peer::make_points(m, count, which.near, which.part);
        std::vector<abut_nearest> nearest(count);
        std::vector<answer> answers(count);
        abut_array batch = abut_array_floats(points.data());
        auto one_by_one = [&] {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 512)
            for (size_t i = 0; i < count; i++)
                peer::check(abut_nearest_point(ours.bvh, {points[i].x, points[i].y, points[i].z},
                                               HUGE_VAL, &nearest[i]));
        };
        for (bool single : {true, false}) {
            if (single && count > 300000)
                continue;
            peer::times time = peer::race(
                count > 300000 ? std::min(report.rounds(), 3) : report.rounds(),
                [&] {
                    if (single)
                        one_by_one();
                    else
                        peer::check(abut_nearest_point_batch(ours.bvh, batch, count, HUGE_VAL,
                                                             abut_array_host(nearest.data())));
                },
                [&] { embree_run(scene, m, points, answers, threads); }, threads);
            std::string what = std::string(which.name) + (single ? "-single" : "");
            peer::result r = {what.c_str(), m.name, threads, time, (double)count, "query"};
            for (size_t i = 0; i < count; i++)
                r.disagreements +=
                    !close(nearest[i].distance, std::sqrt(answers[i].distance_sq), m.diagonal());
            r.answer = peer::hash(0, nearest.data(), count * sizeof nearest[0]);
            report.add(r);
        }
    }
}

// ---- rays ----

struct list_entry {
    float parameter;
    uint32_t triangle;
};

// All hits of a ray: a filter that records each and rejects all.
struct list_context {
    RTCIntersectContext context;
    std::vector<list_entry> *list;
};

void note_hit(const RTCFilterFunctionNArguments *arguments) {
    list_context *context = reinterpret_cast<list_context *>(arguments->context);
    const RTCRay *ray = reinterpret_cast<const RTCRay *>(arguments->ray);
    const RTCHit *hit = reinterpret_cast<const RTCHit *>(arguments->hit);
    context->list->push_back({ray->tfar, hit->primID});
    arguments->valid[0] = 0;
}

RTCRay embree_ray(const peer::ray &r) {
    return {r.origin.x, r.origin.y, r.origin.z, 0, r.direction.x, r.direction.y, r.direction.z, 0,
            INFINITY,   ~0u,        0,          0};
}

// Parameters of first hits; infinite if there is none.
void embree_first(RTCScene scene, const std::vector<peer::ray> &rays, std::vector<float> &out,
                  int threads) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 512)
    for (size_t i = 0; i < rays.size(); i++) {
        RTCIntersectContext context;
        rtcInitIntersectContext(&context);
        RTCRayHit query = {};
        query.ray = embree_ray(rays[i]);
        query.hit.geomID = RTC_INVALID_GEOMETRY_ID;
        rtcIntersect1(scene, &context, &query);
        out[i] = query.ray.tfar;
    }
}

// -infinity if a ray hits anything.
void embree_any(RTCScene scene, const std::vector<peer::ray> &rays, std::vector<float> &out,
                int threads) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 512)
    for (size_t i = 0; i < rays.size(); i++) {
        RTCIntersectContext context;
        rtcInitIntersectContext(&context);
        RTCRay query = embree_ray(rays[i]);
        rtcOccluded1(scene, &context, &query);
        out[i] = query.tfar;
    }
}

// Lists one after the other for each thread's share, sorted. Returns the number of hits of each
// ray.
void embree_all(RTCScene scene, const std::vector<peer::ray> &rays, std::vector<uint32_t> &counts,
                std::vector<std::vector<list_entry>> &lists, int threads) {
    lists.resize((size_t)threads);
#pragma omp parallel num_threads(threads)
    {
        std::vector<list_entry> &all = lists[(size_t)omp_get_thread_num()], list;
        all.clear();
#pragma omp for schedule(dynamic, 512)
        for (size_t i = 0; i < rays.size(); i++) {
            list_context context;
            rtcInitIntersectContext(&context.context);
            context.context.filter = note_hit;
            context.list = &list;
            list.clear();
            RTCRayHit query = {};
            query.ray = embree_ray(rays[i]);
            query.hit.geomID = RTC_INVALID_GEOMETRY_ID;
            rtcIntersect1(scene, &context.context, &query);
            std::sort(list.begin(), list.end(), [](list_entry a, list_entry b) {
                return a.parameter < b.parameter ||
                       (a.parameter == b.parameter && a.triangle < b.triangle);
            });
            all.insert(all.end(), list.begin(), list.end());
            counts[i] = (uint32_t)list.size();
        }
    }
}

void compare_first(peer::report &report, const model &m, const peer::side &ours, RTCScene scene,
                   int threads, bool coherent, const std::vector<peer::ray> &rays,
                   const std::vector<abut_ray> &our_rays) {
    const size_t count = rays.size();
    std::vector<abut_ray_hit> hits(count);
    std::vector<float> parameters(count);
    peer::times time = peer::race(
        report.rounds(),
        [&] {
            peer::check(abut_ray_first_batch(ours.bvh, abut_array_host(our_rays.data()), count,
                                             HUGE_VAL, abut_array_host(hits.data())));
        },
        [&] { embree_first(scene, rays, parameters, threads); }, threads);
    peer::result r = {coherent ? "ray-first-coherent" : "ray-first-uniform",
                      m.name,
                      threads,
                      time,
                      (double)count,
                      "query"};
    for (size_t i = 0; i < count; i++) {
        bool hit = hits[i].triangle != ABUT_NONE, their_hit = parameters[i] < INFINITY;
        double length = std::sqrt(dot(rays[i].direction, rays[i].direction));
        r.disagreements +=
            hit != their_hit ||
            (hit && !close(hits[i].parameter * length, parameters[i] * length, 10 * m.diagonal()));
    }
    r.answer = peer::hash_hits(hits);
    r.note = "floats";
    report.add(r);
}

void compare_any(peer::report &report, const model &m, const peer::side &ours, RTCScene scene,
                 int threads, bool coherent, const std::vector<peer::ray> &rays,
                 const std::vector<abut_ray> &our_rays) {
    const size_t count = rays.size();
    std::vector<uint8_t> any(count);
    std::vector<float> parameters(count);
    static_assert(sizeof(bool) == sizeof(uint8_t), "");
    peer::times time = peer::race(
        report.rounds(),
        [&] {
            peer::check(abut_ray_any_batch(ours.bvh, abut_array_host(our_rays.data()), count,
                                           HUGE_VAL, abut_array_host(any.data())));
        },
        [&] { embree_any(scene, rays, parameters, threads); }, threads);
    peer::result r = {coherent ? "ray-any-coherent" : "ray-any-uniform",
                      m.name,
                      threads,
                      time,
                      (double)count,
                      "query"};
    for (size_t i = 0; i < count; i++)
        r.disagreements += (bool)any[i] != (parameters[i] < 0);
    r.answer = peer::hash(0, any.data(), count);
    r.note = "floats";
    report.add(r);
}

void compare_all(peer::report &report, const model &m, const peer::side &ours, RTCScene scene,
                 int threads, bool coherent, const std::vector<peer::ray> &rays,
                 const std::vector<abut_ray> &our_rays) {
    const size_t count = rays.size();
    std::vector<uint64_t> offsets(count + 1);
    std::vector<abut_ray_hit> hits(32 * count);
    std::vector<uint32_t> counts(count);
    std::vector<std::vector<list_entry>> lists;
    uint64_t total;
    peer::times time = peer::race(
        report.rounds(),
        [&] {
            peer::check(abut_ray_all_batch(ours.bvh, abut_array_host(our_rays.data()), count,
                                           hits.size(), abut_array_host(offsets.data()),
                                           abut_array_host(hits.data()), &total));
        },
        [&] { embree_all(scene, rays, counts, lists, threads); }, threads);
    peer::result r = {coherent ? "ray-all-coherent" : "ray-all-uniform",
                      m.name,
                      threads,
                      time,
                      (double)count,
                      "query"};
    for (size_t i = 0; i < count; i++)
        r.disagreements += offsets[i + 1] - offsets[i] != counts[i];
    hits.resize(total);
    r.answer = peer::hash_hits(hits);
    r.note = "floats; a filter notes hits, then they are sorted";
    report.add(r);
}

void compare_rays(peer::report &report, const model &m, const peer::side &ours, RTCDevice device,
                  RTCScene scene, int threads) {
    RTCScene filtered = embree_build(device, m, RTC_SCENE_FLAG_CONTEXT_FILTER_FUNCTION);
    for (bool coherent : {false, true}) {
        std::vector<peer::ray> rays = peer::make_rays(m, report.amount(250000), coherent);
        std::vector<abut_ray> our_rays = peer::to_rays(rays);
        compare_first(report, m, ours, scene, threads, coherent, rays, our_rays);
        compare_any(report, m, ours, scene, threads, coherent, rays, our_rays);
        compare_all(report, m, ours, filtered, threads, coherent, rays, our_rays);
    }
    rtcReleaseScene(filtered);
}

// A bound for a cell from its neighbour.
struct hint {
    float distance;
    uint32_t triangle;
};

// The distance of one point. The first bound is the distance from the triangle that was nearest to
// its neighbour; or, `plain`, the distance there plus the length of a cell.
hint embree_cell(RTCScene scene, const model &m, vec p, float cell, hint beside, bool plain) {
    RTCPointQueryContext context;
    rtcInitPointQueryContext(&context);
    answer best = {&m, p, INFINITY, ABUT_NONE};
    float radius = 1.0001f * (beside.distance + cell);
    if (plain || beside.triangle == ABUT_NONE) {
        best.distance_sq = radius * radius;
    } else {
        const uint32_t *v = &m.indices[3 * (size_t)beside.triangle];
        vec d = closest(p, m.vertices[v[0]], m.vertices[v[1]], m.vertices[v[2]]) - p;
        best.distance_sq = dot(d, d);
        best.triangle = beside.triangle;
        radius = std::sqrt(best.distance_sq);
    }
    RTCPointQuery query = {p.x, p.y, p.z, 0, radius};
    rtcPointQuery(scene, &query, &context, nullptr, &best);
    return {std::sqrt(best.distance_sq), best.triangle};
}

// The distances of some layers of cells, one after the other, by blocks of 16 rows.
void embree_layers(RTCScene scene, const model &m, const abut_grid &grid, uint32_t first,
                   uint32_t step, bool plain, std::vector<float> &distances, int threads) {
    const uint32_t n = grid.count[0], rows = n / step * n, block = 16;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (uint32_t start = 0; start < rows; start += block) {
        hint below = {INFINITY, ABUT_NONE}; // of the first cell of the row before
        for (uint32_t row = start; row < start + block; row++) {
            hint at = below;
            for (uint32_t i = 0; i < n; i++) {
                abut_vec3 c = peer::centre_of(grid, i, row % n, first + step * (row / n));
                at = embree_cell(scene, m, {(float)c.x, (float)c.y, (float)c.z}, (float)grid.cell,
                                 at, plain);
                distances[(size_t)row * n + i] = at.distance;
                below = i ? below : at;
            }
        }
    }
}

void compare_field(peer::report &report, const model &m, const peer::side &ours, RTCScene scene,
                   int threads) {
    const uint32_t cells = report.quick ? 32 : 256, step = 16, first = step / 2;
    const size_t layer = (size_t)cells * cells;
    peer::field field(ours, m, peer::make_grid(m, cells));
    std::vector<float> distances(cells / step * layer);
    for (bool plain : {true, false}) {
        peer::times time = peer::race(
            std::min(report.rounds(), 3), [&] { field.build(); },
            [&] {
                embree_layers(scene, m, field.options.grid, first, step, plain, distances, threads);
            },
            threads);
        time.theirs_best *= step;
        time.theirs_median *= step;
        peer::result r = {plain ? "field" : "field-triangle",
                          m.name,
                          threads,
                          time,
                          (double)(cells * layer),
                          "cell"};
        r.note = "every 16th layer of its cells; no signs";
        for (uint32_t k = 0; k < cells / step; k++) {
            std::vector<float> values = field.layer(first + step * k);
            for (size_t i = 0; i < layer; i++)
                r.disagreements +=
                    !close(std::fabs(values[i]), distances[k * layer + i], m.diagonal());
        }
        r.answer = field.answer();
        report.add(r);
    }
}

void compare(peer::report &report, const model &m, int threads) {
    peer::side ours(m, threads);
    char setting[64];
    std::snprintf(setting, sizeof setting, "threads=%d,set_affinity=0", threads);
    RTCDevice device = rtcNewDevice(setting);
    RTCScene scene = embree_build(device, m);
    if (report.wants("build")) {
        peer::times build = peer::race(
            report.rounds(), [&] { ours.build(); },
            [&] {
                rtcReleaseScene(scene);
                scene = embree_build(device, m);
            },
            threads);
        report.add({"build", m.name, threads, build, (double)m.triangle_count(), "triangle"});
    }
    if (report.wants("nearest"))
        compare_nearest(report, m, ours, scene, threads);
    if (report.wants("ray"))
        compare_rays(report, m, ours, device, scene, threads);
    if (report.wants("field"))
        compare_field(report, m, ours, scene, threads);
    rtcReleaseScene(scene);
    rtcReleaseDevice(device);
}

} // namespace

int main(int count, char **words) {
    peer::report report("embree", "Embree " RTC_VERSION_STRING, count, words,
                        {"build", "nearest", "ray", "field"});
    for (const model &m : report.models)
        for (int threads : {1, 2})
            compare(report, m, threads);
    return report.finish();
}
