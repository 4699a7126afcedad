// Nearest points: abut's batch query against Embree's rtcPointQuery, on the same points in turn.
//
// Usage: peer-embree [--points N] [MODEL...]   (files that abut reads; default: generated models;
// N: points of a batch, default 100000)
//
// Embree gives no distance of its own: its user computes it in a callback for every triangle in a
// leaf that the shrinking ball meets. The callback here is the usual one in floats (Ericson 2005,
// section 5.1.5), so that Embree's answers err by float rounding; ours are those of doubles. Both
// get the points in the same random order and each its whole time: ours sorts them first.
#include <abut/abut.h>

#include <embree3/rtcore.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

struct vec {
    float x, y, z;
};
vec operator-(vec a, vec b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
}
vec operator+(vec a, vec b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
}
vec operator*(float s, vec a) {
    return {s * a.x, s * a.y, s * a.z};
}
float dot(vec a, vec b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

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

struct model {
    abut_mesh *mesh;
    std::vector<vec> vertices;
    const uint32_t *indices;
};

struct answer {
    const model *from;
    vec point;
    float distance_sq;
    uint32_t triangle;
};

bool visit(RTCPointQueryFunctionArguments *arguments) {
    answer *best = static_cast<answer *>(arguments->userPtr);
    const uint32_t *i = best->from->indices + 3 * (size_t)arguments->primID;
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

double seconds() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

size_t point_count = 100000;

uint64_t state = 1;
double uniform() {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

std::vector<vec> make_points(const model &m, size_t count, bool near) {
    abut_box box = abut_mesh_bounds(m.mesh);
    double lo[3] = {box.lo.x, box.lo.y, box.lo.z}, hi[3] = {box.hi.x, box.hi.y, box.hi.z}, sum = 0;
    for (int k = 0; k < 3; k++)
        sum += (hi[k] - lo[k]) * (hi[k] - lo[k]);
    double away = 0.0115 * std::sqrt(sum); // a cube of 2% of the diagonal from middle to corner
    std::vector<vec> points(count);
    for (vec &p : points) {
        float c[3];
        for (int k = 0; k < 3; k++)
            c[k] = (float)(lo[k] + (hi[k] - lo[k]) * (1.2 * uniform() - 0.1));
        p = {c[0], c[1], c[2]};
        if (!near)
            continue;
        const uint32_t *i = m.indices + 3 * (size_t)(uniform() * abut_mesh_triangle_count(m.mesh));
        double s = uniform(), r = (1 - s) * uniform();
        vec d = {(float)(away * (2 * uniform() - 1)), (float)(away * (2 * uniform() - 1)),
                 (float)(away * (2 * uniform() - 1))};
        p = (float)(1 - s - r) * m.vertices[i[0]] + (float)s * m.vertices[i[1]] +
            (float)r * m.vertices[i[2]] + d;
    }
    return points;
}

void fail() {
    std::fprintf(stderr, "%s\n", abut_last_error());
    std::exit(1);
}

RTCScene embree_build(RTCDevice device, const model &m) {
    RTCScene scene = rtcNewScene(device);
    RTCGeometry geometry = rtcNewGeometry(device, RTC_GEOMETRY_TYPE_TRIANGLE);
    rtcSetSharedGeometryBuffer(geometry, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT3,
                               m.vertices.data(), 0, sizeof(vec), m.vertices.size());
    rtcSetSharedGeometryBuffer(geometry, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3, m.indices, 0,
                               12, abut_mesh_triangle_count(m.mesh));
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

// The best of a few rounds, each side in turn.
void compare(const char *name, model &m, int threads) {
    abut_context_options options = abut_context_options_default();
    options.thread_count = (uint32_t)threads;
    abut_context *context;
    if (abut_context_create(&options, &context))
        fail();
    abut_mesh_input input = abut_mesh_input_default();
    input.positions = m.vertices.data();
    input.position_type = ABUT_SCALAR_FLOAT32;
    input.vertex_count = (uint32_t)m.vertices.size();
    input.indices = m.indices;
    input.triangle_count = abut_mesh_triangle_count(m.mesh);
    abut_mesh *mesh;
    abut_bvh *bvh = nullptr;
    if (abut_mesh_create(context, &input, &mesh))
        fail();
    char setting[64];
    std::snprintf(setting, sizeof setting, "threads=%d,set_affinity=0", threads);
    RTCDevice device = rtcNewDevice(setting);
    RTCScene scene = nullptr;
    double ours = 1e9, theirs = 1e9;
    for (int round = 0; round < 5; round++) {
        if (scene)
            rtcReleaseScene(scene);
        abut_bvh_destroy(bvh);
        double start = seconds();
        if (abut_bvh_create(mesh, nullptr, &bvh))
            fail();
        double middle = seconds();
        scene = embree_build(device, m);
        ours = std::min(ours, middle - start);
        theirs = std::min(theirs, seconds() - middle);
    }
    std::printf("%-24s %u threads  build    abut %8.2f ms  embree %8.2f ms  ratio %.2f\n", name,
                (unsigned)threads, 1e3 * ours, 1e3 * theirs, theirs / ours);
    for (int near = 0; near < 2; near++) {
        const size_t count = point_count;
        std::vector<vec> points = make_points(m, count, near);
        std::vector<abut_nearest> nearest(count);
        std::vector<answer> answers(count);
        ours = theirs = 1e9;
        for (int round = 0; round < (count > 300000 ? 2 : 5); round++) {
            abut_points batch = abut_points_default();
            batch.points = points.data();
            batch.type = ABUT_SCALAR_FLOAT32;
            batch.count = count;
            double start = seconds();
            if (abut_bvh_nearest_batch(bvh, &batch, HUGE_VAL, nearest.data()))
                fail();
            double middle = seconds();
            embree_run(scene, m, points, answers, threads);
            ours = std::min(ours, middle - start);
            theirs = std::min(theirs, seconds() - middle);
        }
        double worst = 0;
        for (size_t i = 0; i < count; i++)
            worst =
                std::max(worst, std::fabs(nearest[i].distance - std::sqrt(answers[i].distance_sq)));
        std::printf("%-24s %u threads  %-8s abut %8.3f M/s embree %8.3f M/s ratio %.2f  "
                    "(largest difference %.1e)\n",
                    name, (unsigned)threads, near ? "near" : "uniform", count / ours * 1e-6,
                    count / theirs * 1e-6, theirs / ours, worst);
    }
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    abut_context_destroy(context);
    rtcReleaseScene(scene);
    rtcReleaseDevice(device);
}

void run(const char *name, abut_mesh *mesh) {
    model m = {mesh, {}, abut_mesh_indices(mesh)};
    abut_vec3 o = abut_mesh_origin(mesh);
    for (uint32_t i = 0; i < abut_mesh_vertex_count(mesh); i++) {
        abut_vec3 p = abut_mesh_positions(mesh)[i];
        m.vertices.push_back({(float)(o.x + p.x), (float)(o.y + p.y), (float)(o.z + p.z)});
    }
    m.vertices.reserve(m.vertices.size() + 1); // Embree reads 4 bytes past the last vertex
    compare(name, m, 1);
    compare(name, m, 2);
    abut_mesh_destroy(mesh);
}

} // namespace

int main(int count, char **words) {
    if (count > 2 && !std::strcmp(words[1], "--points")) {
        point_count = std::strtoul(words[2], nullptr, 10);
        count -= 2;
        words += 2;
    }
    for (int i = 1; i < count; i++) {
        abut_mesh *mesh;
        if (abut_mesh_read(nullptr, words[i], nullptr, &mesh))
            fail();
        const char *slash = words[i];
        for (const char *at = words[i]; *at; at++)
            slash = *at == '/' ? at + 1 : slash;
        run(slash, mesh);
    }
    if (count > 1)
        return 0;
    const struct {
        const char *name;
        abut_shape_kind kind;
        uint32_t segments;
    } models[] = {{"icosphere", ABUT_SHAPE_ICOSPHERE, 59},
                  {"teapot-solid", ABUT_SHAPE_TEAPOT_SOLID, 33}};
    for (auto &which : models) {
        abut_shape shape = abut_shape_default(which.kind);
        shape.segments = which.segments;
        abut_mesh *mesh;
        if (abut_shape_create(nullptr, &shape, &mesh))
            fail();
        run(which.name, mesh);
    }
    return 0;
}
