// Functions common to the comparisons with other libraries: models, queries, timing, results.
//
// Every program has the same command line, `peer-NAME [--out FILE] [--quick] [--part PART]
// [MODEL...]`: it prints one line per comparison and can write the results in the format of
// abut-bench (docs/benchmarks.md). Slow ones have parts, which can be run separately. Models are
// files that abut reads; the default is generated models. Their vertices are rounded to floats
// once, and both libraries get the same input. Points and rays are floats for the same reason.
//
// Timing: both libraries run the same queries in the same process, alternately, and the first one
// changes from round to round. The ratio is their time over ours (above 1: ours is faster), of the
// best round of each, since disturbances only make a round slower.
#ifndef ABUT_PEER_H
#define ABUT_PEER_H

#include <abut/abut.h>

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

namespace peer {

[[noreturn]] inline void fail(const char *sentence) {
    std::fprintf(stderr, "%s\n", sentence);
    std::exit(2);
}

inline void check(abut_status status) {
    if (status)
        fail(abut_last_error());
}

inline double seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// Uniform numbers that are the same on every machine (splitmix64).
class random {
  public:
    explicit random(uint64_t seed) : state(seed) {}
    double uniform(double lo = 0, double hi = 1) {
        uint64_t z = state += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return lo + (hi - lo) * ((double)((z ^ z >> 31) >> 11) * 0x1p-53);
    }

  private:
    uint64_t state;
};

// ---- vectors ----

struct vec {
    float x, y, z;
};
inline vec operator-(vec a, vec b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
}
inline vec operator+(vec a, vec b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
}
inline vec operator*(float s, vec a) {
    return {s * a.x, s * a.y, s * a.z};
}
inline float dot(vec a, vec b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

// A pose as a matrix of rows, in doubles; `rotation` must have length 1.
struct matrix {
    double r[3][3], t[3];
};
inline matrix to_matrix(const abut_pose &pose) {
    double x = pose.rotation.x, y = pose.rotation.y, z = pose.rotation.z, w = pose.rotation.w;
    return {{{1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)},
             {2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)},
             {2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)}},
            {pose.translation.x, pose.translation.y, pose.translation.z}};
}

// ---- models ----

struct model {
    std::string name;
    std::vector<vec> vertices; // with one more: Embree reads 4 bytes past the last
    std::vector<uint32_t> indices;
    vec lo, hi;

    uint32_t triangle_count() const {
        return (uint32_t)(indices.size() / 3);
    }
    vec centre() const {
        return 0.5f * (lo + hi);
    }
    double diagonal() const {
        return std::sqrt(dot(hi - lo, hi - lo));
    }
};

// Takes ownership of the mesh.
inline model make_model(const std::string &name, abut_mesh *mesh) {
    model m;
    abut_vec3 o = abut_mesh_local_origin(mesh);
    uint32_t count = abut_mesh_vertex_count(mesh);
    m.name = name;
    m.vertices.reserve(count + 1);
    for (uint32_t i = 0; i < count; i++) {
        abut_vec3 p = abut_mesh_local_positions(mesh)[i];
        vec v = {(float)(o.x + p.x), (float)(o.y + p.y), (float)(o.z + p.z)};
        m.lo = i ? vec{std::min(m.lo.x, v.x), std::min(m.lo.y, v.y), std::min(m.lo.z, v.z)} : v;
        m.hi = i ? vec{std::max(m.hi.x, v.x), std::max(m.hi.y, v.y), std::max(m.hi.z, v.z)} : v;
        m.vertices.push_back(v);
    }
    const uint32_t *indices = abut_mesh_indices(mesh);
    m.indices.assign(indices, indices + 3 * (size_t)abut_mesh_triangle_count(mesh));
    abut_mesh_destroy(mesh);
    return m;
}

inline model read_model(const char *path) {
    abut_mesh *mesh;
    check(abut_mesh_read(nullptr, path, nullptr, &mesh));
    std::string name = path;
    name = name.substr(name.find_last_of('/') + 1);
    return make_model(name.substr(0, name.find_last_of('.')), mesh);
}

inline model generate_model(abut_shape_kind kind, uint32_t segments) {
    abut_shape shape = abut_shape_default(kind);
    shape.segments = segments;
    abut_mesh *mesh;
    check(abut_shape_create(nullptr, &shape, &mesh));
    return make_model(abut_shape_kind_name(kind), mesh);
}

// The same model scaled about the centre of its box.
inline model scaled(const model &m, float factor) {
    model small = m;
    vec c = m.centre();
    for (vec &v : small.vertices)
        v = c + factor * (v - c);
    small.lo = c + factor * (m.lo - c);
    small.hi = c + factor * (m.hi - c);
    small.vertices.reserve(small.vertices.size() + 1);
    return small;
}

// Our side: a model with its BVH, for a number of threads.
class side {
  public:
    abut_context *context = nullptr;
    abut_mesh *mesh = nullptr;
    abut_bvh *bvh = nullptr;

    side(const model &m, int threads) {
        abut_context_options options = abut_context_options_default();
        options.thread_count = (uint32_t)threads;
        check(abut_context_create(&options, &context));
        mesh = make_mesh(m.vertices, m);
        build();
    }
    ~side() {
        abut_bvh_destroy(bvh);
        abut_mesh_destroy(mesh);
        abut_context_destroy(context);
    }
    side(const side &) = delete;
    side &operator=(const side &) = delete;

    void build() {
        abut_bvh_destroy(bvh);
        bvh = nullptr;
        check(abut_bvh_create(mesh, nullptr, &bvh));
    }
    // Refits the BVH to moved vertices.
    void refit(abut_mesh *moved) {
        check(abut_bvh_set_mesh(bvh, moved));
    }
    // A mesh with the model's triangles at other positions; the caller destroys it.
    abut_mesh *make_mesh(const std::vector<vec> &vertices, const model &m) const {
        abut_mesh_input input = abut_mesh_input_floats(vertices.data(), (uint32_t)vertices.size(),
                                                       m.indices.data(), m.triangle_count());
        abut_mesh *made;
        check(abut_mesh_create(context, &input, &made));
        return made;
    }
};

// ---- queries ----

// In the box x 1.2, or at most 2% of its diagonal from a point on the surface.
inline std::vector<vec> make_points(const model &m, size_t count, bool near, double part = 0.02) {
    random numbers(1);
    vec size = m.hi - m.lo;
    double away = part / std::sqrt(3) * m.diagonal(); // from the centre of a cube to its corner
    std::vector<vec> points(count);
    for (vec &p : points) {
        p = {(float)(m.lo.x + size.x * numbers.uniform(-0.1, 1.1)),
             (float)(m.lo.y + size.y * numbers.uniform(-0.1, 1.1)),
             (float)(m.lo.z + size.z * numbers.uniform(-0.1, 1.1))};
        if (!near)
            continue;
        const uint32_t *i = &m.indices[3 * (size_t)(numbers.uniform() * m.triangle_count())];
        double s = numbers.uniform(), r = (1 - s) * numbers.uniform();
        vec d = {(float)numbers.uniform(-away, away), (float)numbers.uniform(-away, away),
                 (float)numbers.uniform(-away, away)};
        p = (float)(1 - s - r) * m.vertices[i[0]] + (float)s * m.vertices[i[1]] +
            (float)r * m.vertices[i[2]] + d;
    }
    return points;
}

// The vertices in motion: a wave of 1% of the diagonal, at one of two phases.
inline std::vector<vec> move_vertices(const model &m, int phase) {
    std::vector<vec> moved = m.vertices;
    double height = 0.01 * m.diagonal(), wave = 20 / m.diagonal();
    for (vec &v : moved) {
        double x = v.x;
        v.y += (float)(height * std::sin(wave * x + phase));
        v.z += (float)(height * std::cos(wave * x + phase));
    }
    return moved;
}

struct ray {
    vec origin, direction;
};

// From random points of the box x 1.2 towards others; or coherent: a pinhole camera in front of the
// model, row by row.
inline std::vector<ray> make_rays(const model &m, size_t count, bool coherent) {
    std::vector<ray> rays(count);
    std::vector<vec> points = make_points(m, count, false);
    size_t side = (size_t)std::sqrt((double)count);
    vec size = m.hi - m.lo,
        eye = m.centre() + (float)(1.5 * m.diagonal()) * vec{0.48f, 0.6f, 0.64f};
    for (size_t i = 0; i < count; i++) {
        rays[i] = {points[i], points[(i + 1) % count] - points[i]};
        if (!coherent)
            continue;
        float u = ((float)(i % side) + 0.5f) / (float)side,
              v = ((float)(i / side) + 0.5f) / (float)side;
        vec target = m.lo + vec{u * size.x, v * size.y, (1 - u) * size.z};
        rays[i] = {eye, target - eye};
    }
    return rays;
}

inline std::vector<abut_ray> to_rays(const std::vector<ray> &rays) {
    std::vector<abut_ray> out;
    for (const ray &r : rays)
        out.push_back(
            {{r.origin.x, r.origin.y, r.origin.z}, {r.direction.x, r.direction.y, r.direction.z}});
    return out;
}

inline abut_quat random_rotation(random &numbers) {
    for (;;) { // uniform on the sphere of quaternions, by rejection
        double q[4], sum = 0;
        for (double &c : q) {
            c = numbers.uniform(-1, 1);
            sum += c * c;
        }
        if (sum > 1 || sum < 1e-6)
            continue;
        double scale = 1 / std::sqrt(sum);
        return {q[0] * scale, q[1] * scale, q[2] * scale, q[3] * scale};
    }
}

// Poses for the second of two models while the first is fixed: a random rotation, and the centre of
// its box in a random direction from that of the first, at a random distance up to where the
// spheres around both are disjoint.
class pose_maker {
  public:
    pose_maker(const model &first, const model &second, uint64_t seed)
        : numbers(seed), a(first.centre()), b(second.centre()),
          most(0.5 * (first.diagonal() + second.diagonal())) {}
    // The distance as a fraction of the largest; random if it is negative.
    abut_pose draw(double part = -1) {
        abut_pose pose = {random_rotation(numbers), {0, 0, 0}};
        // The first axis of a random rotation is a random direction.
        matrix r = to_matrix(pose), d = to_matrix({random_rotation(numbers), {0, 0, 0}});
        double length = most * numbers.uniform(), t[3];
        length = part < 0 ? length : part * most;
        const double start[3] = {a.x, a.y, a.z};
        for (int k = 0; k < 3; k++)
            t[k] = start[k] + length * d.r[k][0] -
                   (r.r[k][0] * b.x + r.r[k][1] * b.y + r.r[k][2] * b.z);
        pose.translation = {t[0], t[1], t[2]};
        return pose;
    }

  private:
    random numbers;
    vec a, b;
    double most;
};

// Draws until half of the poses overlap by `overlaps(pose)`; overlapping and separate poses stay
// mixed.
template <class Overlaps>
std::vector<abut_pose> make_poses(const model &a, const model &b, size_t count, Overlaps overlaps) {
    pose_maker maker(a, b, 5);
    std::vector<abut_pose> poses;
    size_t kept[2] = {0, 0}, wanted[2] = {count - count / 2, count / 2};
    for (size_t draws = 0; poses.size() < count; draws++) {
        if (draws > 1000 * count)
            fail("peer: these models never overlap, or always");
        abut_pose pose = maker.draw();
        bool yes = overlaps(pose);
        if (kept[yes] < wanted[yes]) {
            kept[yes]++;
            poses.push_back(pose);
        }
    }
    return poses;
}

// All at one distance, where half of them overlap: the hard ones, which nearly touch.
template <class Overlaps>
std::vector<abut_pose> make_grazing_poses(const model &a, const model &b, size_t count,
                                          Overlaps overlaps) {
    std::vector<abut_pose> poses;
    double near = 0, far = 1;
    for (int step = 0; step < 30; step++) {
        pose_maker maker(a, b, 5);
        size_t touching = 0;
        poses.clear();
        for (size_t i = 0; i < count; i++) {
            poses.push_back(maker.draw(0.5 * (near + far)));
            touching += overlaps(poses.back());
        }
        if (touching == count / 2)
            break;
        (touching > count / 2 ? near : far) = 0.5 * (near + far);
    }
    return poses;
}

// ---- timing ----

inline uint64_t hash(uint64_t state, const void *data, size_t bytes) { // FNV-1a
    const unsigned char *at = static_cast<const unsigned char *>(data);
    for (size_t i = 0; i < bytes; i++)
        state = (state ^ at[i]) * 0x100000001b3u;
    return state;
}

struct times {
    double ours_median = 0, ours_best = 0, theirs_median = 0, theirs_best = 0; // seconds
    int rounds = 0;
};

inline double median(std::vector<double> list) {
    std::sort(list.begin(), list.end());
    size_t n = list.size();
    return n % 2 ? list[n / 2] : 0.5 * (list[n / 2 - 1] + list[n / 2]);
}

// With one thread, time during which the machine did other work does not count: it would affect
// long calls and not short ones. Reading the processor time is slow, so wall-clock time is better
// for calls of a microsecond.
template <class Call> double time_of(Call call, int threads) {
    double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID), wall = seconds(CLOCK_MONOTONIC);
    call();
    wall = seconds(CLOCK_MONOTONIC) - wall;
    cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    return threads > 1 ? wall : std::min(wall, cpu);
}

// One piece of work for each library.
template <class Ours, class Theirs>
times race(int rounds, Ours ours, Theirs theirs, int threads = 1) {
    std::vector<double> a, b;
    for (int i = 0; i < rounds; i++) {
        if (i % 2 == 0)
            a.push_back(time_of(ours, threads));
        b.push_back(time_of(theirs, threads));
        if (i % 2 != 0)
            a.push_back(time_of(ours, threads));
    }
    return {median(a), *std::min_element(a.begin(), a.end()), median(b),
            *std::min_element(b.begin(), b.end()), rounds};
}

// Many small queries, each timed on its own: ours(i), theirs(i). `mean` and `p95` are over the
// queries, of the median and of the best round of each.
struct spread {
    times mean, p95;
};
template <class Ours, class Theirs>
spread race_each(size_t count, int rounds, Ours ours, Theirs theirs) {
    std::vector<double> columns[4];
    for (size_t i = 0; i < count; i++) {
        times t = race(
            rounds, [&] { ours(i); }, [&] { theirs(i); });
        columns[0].push_back(t.ours_median);
        columns[1].push_back(t.ours_best);
        columns[2].push_back(t.theirs_median);
        columns[3].push_back(t.theirs_best);
    }
    double mean[4], p95[4];
    for (int k = 0; k < 4; k++) {
        double sum = 0;
        for (double value : columns[k])
            sum += value;
        std::sort(columns[k].begin(), columns[k].end());
        mean[k] = sum / (double)count;
        p95[k] = columns[k][std::min(count - 1, count * 95 / 100)];
    }
    return {{mean[0], mean[1], mean[2], mean[3], rounds}, {p95[0], p95[1], p95[2], p95[3], rounds}};
}

// ---- moving meshes, the same for every peer that can refit ----

// Compares refits to vertices that move forward and back: theirs.refit(vertices) sets new positions
// and refits its boxes. Ours is measured twice: the refit alone (the moved mesh exists already),
// and including the creation of the mesh from the new positions, which also validates them.
template <class Report, class Theirs>
void compare_refit(Report &report, const model &m, side &ours, Theirs theirs) {
    std::vector<vec> places[2] = {move_vertices(m, 0), move_vertices(m, 2)};
    abut_mesh *meshes[2] = {ours.make_mesh(places[0], m), ours.make_mesh(places[1], m)};
    for (bool whole : {false, true}) {
        int our_turn = 0, their_turn = 0;
        times time = race(
            2 * report.rounds(),
            [&] {
                int at = our_turn++ % 2;
                abut_mesh *mesh = whole ? ours.make_mesh(places[at], m) : meshes[at];
                ours.refit(mesh);
                if (whole)
                    abut_mesh_destroy(mesh);
            },
            [&] { theirs(places[their_turn++ % 2]); });
        report.add({whole ? "refit-with-mesh" : "refit", m.name, 1, time,
                    (double)m.triangle_count(), "triangle"});
    }
    for (abut_mesh *mesh : meshes)
        abut_mesh_destroy(mesh);
}

// ---- two posed bodies, the same for every peer that supports them ----

// Queries of two models: `a` is fixed, `b` has the poses, half of which overlap.
class pair_queries {
  public:
    side a, b;
    std::vector<abut_pose> poses;
    std::vector<abut_pair_relation> relations;

    pair_queries(const model &first, const model &second, size_t count, bool grazing = false)
        : a(first, 1), b(second, 1) {
        auto overlaps = [this](const abut_pose &pose) { return relation(pose, false) != 0; };
        poses = grazing ? make_grazing_poses(first, second, count, overlaps)
                        : make_poses(first, second, count, overlaps);
        for (const abut_pose &pose : poses)
            relations.push_back(relation(pose, false));
    }
    abut_pair_relation relation(const abut_pose &pose, bool surfaces) const {
        abut_collider first = abut_collider_from_bvh(a.bvh, abut_pose_identity()),
                      second = abut_collider_from_bvh(b.bvh, pose);
        abut_pair_options options = abut_pair_options_default();
        options.surface_only = surfaces;
        abut_overlap answer;
        check(abut_pair_overlap(&first, &second, &options, nullptr, &answer));
        return answer.relation;
    }
    abut_separation separation(const abut_pose &pose) const {
        abut_collider first = abut_collider_from_bvh(a.bvh, abut_pose_identity()),
                      second = abut_collider_from_bvh(b.bvh, pose);
        abut_separation answer;
        check(abut_pair_distance(&first, &second, nullptr, nullptr, &answer));
        return answer;
    }
    // All pairs of triangles that intersect, into `list`, which grows as needed.
    size_t intersections(const abut_pose &pose, std::vector<abut_pair_intersection> &list) const {
        abut_collider first = abut_collider_from_bvh(a.bvh, abut_pose_identity()),
                      second = abut_collider_from_bvh(b.bvh, pose);
        abut_pair_intersection_list found = {list.data(), list.size(), 0};
        abut_status status = abut_pair_intersections(&first, &second, &found);
        if (status == ABUT_ERROR_BUFFER) {
            list.resize(found.count + found.count / 2);
            found = {list.data(), list.size(), 0};
            status = abut_pair_intersections(&first, &second, &found);
        }
        check(status);
        return found.count;
    }
    // Counts the poses where `theirs[i]` differs from our result; the note has the number of these
    // in which one body is inside the other.
    size_t disagreements(const std::vector<char> &theirs, std::string &note) const {
        size_t count = 0, inside = 0;
        for (size_t i = 0; i < poses.size(); i++) {
            bool differs = (theirs[i] != 0) != (relations[i] != ABUT_PAIR_APART);
            count += differs;
            inside += differs && relations[i] > ABUT_PAIR_INTERSECTING;
        }
        if (inside)
            note = std::to_string(inside) + " bodies inside the other are no overlap for it" +
                   (note.empty() ? "" : "; ") + note;
        return count;
    }
};

// Overlap, including containment, pose by pose: theirs(i, pose) returns their result.
template <class Report, class Theirs>
void compare_overlap(Report &report, const char *what, const std::string &name,
                     const pair_queries &queries, std::string note, Theirs theirs) {
    size_t count = queries.poses.size();
    std::vector<char> said(count);
    spread each = race_each(
        count, report.pair_rounds(), [&](size_t i) { queries.relation(queries.poses[i], false); },
        [&](size_t i) { said[i] = theirs(queries.poses[i]); });
    size_t differing = queries.disagreements(said, note);
    uint64_t answer = hash(0, queries.relations.data(), count * sizeof queries.relations[0]);
    report.add({what, name, 1, each.mean, 1, "pose", differing, note.c_str(), answer}, each);
}

// All contacts: ours are the pairs of intersecting triangles, with their segments; theirs(pose)
// returns its number of contacts. They agree if both or none found any.
template <class Report, class Theirs>
void compare_contacts(Report &report, const std::string &name, const pair_queries &queries,
                      std::string note, Theirs theirs) {
    size_t count = queries.poses.size(), differing = 0;
    double sums[2] = {0, 0};
    std::vector<size_t> ours_said(count), theirs_said(count);
    std::vector<abut_pair_intersection> list(1024);
    spread each = race_each(
        count, report.pair_rounds(),
        [&](size_t i) { ours_said[i] = queries.intersections(queries.poses[i], list); },
        [&](size_t i) { theirs_said[i] = theirs(queries.poses[i]); });
    for (size_t i = 0; i < count; i++) {
        differing += (ours_said[i] > 0) != (theirs_said[i] > 0);
        sums[0] += (double)ours_said[i];
        sums[1] += (double)theirs_said[i];
    }
    char means[96];
    std::snprintf(means, sizeof means, "%.0f pairs, its %.0f contacts a pose%s",
                  sums[0] / (double)count, sums[1] / (double)count, note.empty() ? "" : "; ");
    note = means + note;
    uint64_t answer = hash(0, ours_said.data(), count * sizeof ours_said[0]);
    report.add({"contacts", name, 1, each.mean, 1, "pose", differing, note.c_str(), answer}, each);
}

// ---- results ----

// Without the padding.
inline uint64_t hash_hits(const std::vector<abut_ray_hit> &hits) {
    uint64_t state = 0;
    for (const abut_ray_hit &hit : hits) {
        state = hash(state, &hit.parameter, sizeof hit.parameter);
        state = hash(state, &hit.triangle, sizeof hit.triangle);
    }
    return state;
}

struct result {
    const char *what;  // "nearest-uniform"
    std::string model; // "bunny", or "bunny+horse"
    int threads;
    times time;
    double elements;  // queries or triangles of one round
    const char *unit; // "query", "pose", "triangle"
    size_t disagreements = 0;
    const char *note = ""; // what the peer does not compute, or computes differently; one sentence
    uint64_t answer = 0;   // hash of ours
};

// The command line, the table and the file.
class report {
  public:
    bool quick = false;
    std::vector<model> models;

    report(const char *library, const char *label, int count, char **words,
           const std::vector<std::string> &parts = {})
        : name(library), title(label) {
        for (int i = 1; i < count; i++) {
            if (!std::strcmp(words[i], "--out") && i + 1 < count)
                path = words[++i];
            else if (!std::strcmp(words[i], "--quick"))
                quick = true;
            else if (!std::strcmp(words[i], "--part") && i + 1 < count)
                part = words[++i];
            else if (words[i][0] == '-')
                fail_usage(parts);
            else
                models.push_back(read_model(words[i]));
        }
        if (!part.empty() && std::find(parts.begin(), parts.end(), part) == parts.end())
            fail_usage(parts);
        if (models.empty()) {
            models.push_back(generate_model(ABUT_SHAPE_ICOSPHERE, quick ? 8 : 59));
            models.push_back(generate_model(ABUT_SHAPE_TEAPOT_SOLID, quick ? 4 : 33));
        }
        std::printf("%s\n%-32s %-20s %7s %12s %12s %8s %9s\n", label, "case", "model", "threads",
                    "abut ns", "peer ns", "ratio", "disagree");
    }

    // Returns whether a part is selected.
    bool wants(const char *which) const {
        return part.empty() || part == which;
    }

    // The number of queries, poses or rounds.
    size_t amount(size_t whole) const {
        return quick ? std::max<size_t>(1, whole / 100) : whole;
    }
    int rounds() const {
        return quick ? 1 : 5;
    }
    int pair_rounds() const { // of single queries, some of which are slow
        return quick ? 1 : 3;
    }

    void add(const result &r) {
        double scale = 1e9 / r.elements;
        std::printf("%-32s %-20s %7d %12.5g %12.5g %8.3f %9zu%s%s\n", r.what, r.model.c_str(),
                    r.threads, r.time.ours_best * scale, r.time.theirs_best * scale,
                    r.time.theirs_best / r.time.ours_best, r.disagreements, *r.note ? "  " : "",
                    r.note);
        std::fflush(stdout);
        char line[1024];
        std::snprintf(
            line, sizeof line,
            "{\"case\": \"peer/%s/%s/%s\", \"threads\": %d, \"median_ms\": %.6g, "
            "\"minimum_ms\": %.6g, \"repeats\": %d, \"elements\": %.0f, \"unit\": \"%s\", "
            "\"peer\": \"%s\", \"peer_median_ms\": %.6g, \"peer_minimum_ms\": %.6g, "
            "\"ratio\": %.4g, \"disagreements\": %zu, \"note\": \"%s\", \"hash\": \"%016llx\"}",
            name.c_str(), r.what, plain(r.model).c_str(), r.threads, 1e3 * r.time.ours_median,
            1e3 * r.time.ours_best, r.time.rounds, r.elements, r.unit, title.c_str(),
            1e3 * r.time.theirs_median, 1e3 * r.time.theirs_best,
            r.time.theirs_best / r.time.ours_best, r.disagreements, r.note,
            (unsigned long long)r.answer);
        lines.push_back(line);
    }

    // Adds mean and p95 of many single queries as two results.
    void add(result r, const spread &each) {
        std::string mean = std::string(r.what) + "-mean", p95 = std::string(r.what) + "-p95";
        r.elements = 1;
        r.what = mean.c_str();
        r.time = each.mean;
        add(r);
        r.what = p95.c_str();
        r.time = each.p95;
        add(r);
    }

    // The exit code.
    int finish() const {
        if (path.empty())
            return 0;
        FILE *file = std::fopen(path.c_str(), "w");
        if (!file)
            fail(("cannot write " + path).c_str());
        std::fprintf(file, "{\n\"format\": \"abut-bench 1\",\n\"quick\": %s,\n\"cases\": [",
                     quick ? "true" : "false");
        for (size_t i = 0; i < lines.size(); i++)
            std::fprintf(file, "%s\n%s", i ? "," : "", lines[i].c_str());
        std::fprintf(file, "\n]\n}\n");
        bool fine = !std::ferror(file);
        fine = !std::fclose(file) && fine;
        if (!fine)
            fail(("cannot write " + path).c_str());
        return 0;
    }

  private:
    std::string name, title, path, part;
    std::vector<std::string> lines;

    [[noreturn]] void fail_usage(const std::vector<std::string> &parts) const {
        std::string list;
        for (const std::string &each : parts)
            list += (list.empty() ? " [--part " : "|") + each;
        fail(("usage: peer-" + name + " [--out FILE] [--quick]" + list + (list.empty() ? "" : "]") +
              " [MODEL...]")
                 .c_str());
    }

    // Names of files may contain any character; those in results do not.
    static std::string plain(std::string text) {
        for (char &c : text)
            if ((unsigned char)c < 0x20 || c == '"' || c == '\\' || (unsigned char)c > 0x7e)
                c = '_';
        return text;
    }
};

} // namespace peer

#endif
