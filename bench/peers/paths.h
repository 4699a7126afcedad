// Two bodies along paths, the same for every peer that sweeps them.
#ifndef ABUT_BENCH_PEERS_PATHS_H
#define ABUT_BENCH_PEERS_PATHS_H

#include "peer.h"

namespace peer {

// Queries of two models: `a` is fixed, `b` moves from pose to pose, and half of the paths have an
// impact by our result. No path starts with an overlap.
class path_queries {
  public:
    side a, b;
    std::vector<abut_path> paths;
    std::vector<abut_sweep_rigid_result> touches;

    // Across: from one side of the other body to another side, rotating by up to half a turn.
    // Otherwise a step of a simulation: at most 5% of the diagonal, and 0.2 radians.
    path_queries(const model &first, const model &second, size_t count, bool across)
        : a(first, 1), b(second, 1) {
        pose_maker maker(first, second, 9);
        random numbers(10);
        size_t kept[2] = {0, 0}, wanted[2] = {count - count / 2, count / 2};
        double size = std::min(first.diagonal(), second.diagonal());
        for (size_t draws = 0; paths.size() < count; draws++) {
            if (draws > 10000 * count)
                fail("peer: these models never touch on their way, or always");
            abut_path path = {maker.draw(across ? 1.1 : -1), maker.draw(1.1)};
            if (!across) {
                path.to = path.from;
                turn(path.to.rotation, numbers, 0.05);
                for (double *c :
                     {&path.to.translation.x, &path.to.translation.y, &path.to.translation.z})
                    *c += numbers.uniform(-0.05, 0.05) / std::sqrt(3) * size;
                if (overlaps(path, 0) || !within(path, 0, 0.05 * size))
                    continue;
            }
            abut_sweep_rigid_result touch = sweep(path);
            if (kept[touch.hit] == wanted[touch.hit] || (touch.hit && touch.time == 0))
                continue;
            kept[touch.hit]++;
            paths.push_back(path);
            touches.push_back(touch);
        }
    }
    abut_sweep_rigid_result sweep(const abut_path &path) const {
        const abut_path still = {{{0, 0, 0, 1}, {0, 0, 0}}, {{0, 0, 0, 1}, {0, 0, 0}}};
        abut_sweep_rigid_result touch;
        check(abut_sweep_rigid(a.bvh, &still, b.bvh, &path, nullptr, &touch));
        return touch;
    }
    bool overlaps(const abut_path &path, double time) const {
        abut_collider first, second;
        place(path, time, first, second);
        abut_overlap answer;
        check(abut_pair_overlap(&first, &second, nullptr, nullptr, &answer));
        return answer.relation != ABUT_PAIR_APART;
    }
    bool within(const abut_path &path, double time, double distance) const {
        abut_collider first, second;
        bool answer;
        place(path, time, first, second);
        check(abut_pair_within(&first, &second, distance, nullptr, nullptr, &answer, nullptr));
        return answer;
    }
    // Returns whether bodies overlap before a time, by samples, densest after `from`.
    bool overlaps_before(const abut_path &path, double from, double time) const {
        for (int i = 1; i < 200; i++) {
            double part = i / 200.0;
            if (overlaps(path, from + part * part * (time - from)))
                return true;
        }
        return false;
    }

  private:
    void place(const abut_path &path, double time, abut_collider &first,
               abut_collider &second) const {
        first = abut_collider_from_bvh(a.bvh, abut_pose_identity());
        second = first;
        second.shape.body.bvh = b.bvh;
        check(abut_path_at(&path, time, &second.pose));
    }
    static void turn(abut_quat &q, random &numbers, double most) {
        double length = 0;
        for (double *c : {&q.x, &q.y, &q.z, &q.w}) {
            *c += numbers.uniform(-most, most);
            length += *c * *c;
        }
        for (double *c : {&q.x, &q.y, &q.z, &q.w})
            *c /= std::sqrt(length);
    }
};

// Compares times of impact, path by path: theirs(path) returns a time, or more than 1. Their result
// is wrong if bodies overlap before it: an impact that is missed, or reported too late. Ours is
// compared with separate samples, and must never be late.
template <class Report, class Theirs>
void compare_paths(Report &report, const char *what, const std::string &name,
                   const path_queries &queries, std::string note, Theirs theirs) {
    size_t count = queries.paths.size(), missed = 0, late = 0, alarms = 0, ours_late = 0;
    std::vector<double> said(count);
    spread each = race_each(
        count, report.pair_rounds(), [&](size_t i) { queries.sweep(queries.paths[i]); },
        [&](size_t i) { said[i] = theirs(queries.paths[i]); });
    uint64_t answer = 0;
    double worst = 0;
    for (size_t i = 0; i < count; i++) {
        const abut_path &path = queries.paths[i];
        const abut_sweep_rigid_result &ours = queries.touches[i];
        ours_late += queries.overlaps_before(path, 0, ours.hit ? ours.time : 1);
        bool wrong = ours.hit && said[i] > ours.time &&
                     queries.overlaps_before(path, ours.time, std::min(said[i], 1.0));
        missed += wrong && said[i] > 1;
        late += wrong && said[i] <= 1;
        alarms += !ours.hit && said[i] <= 1;
        if (wrong && said[i] <= 1)
            worst = std::max(worst, said[i] - ours.time);
        answer = hash(answer, &ours.time, sizeof ours.time);
    }
    if (ours_late)
        fail("peer: abut_sweep_rigid was late");
    char text[160];
    std::snprintf(text, sizeof text,
                  "it misses %zu of %zu, reports %zu late, by up to %.2g; %zu false positives%s",
                  missed, count / 2, late, worst, alarms, note.empty() ? "" : "; ");
    note = text + note;
    report.add({what, name, 1, each.mean, 1, "path", missed + late, note.c_str(), answer}, each);
}

} // namespace peer

#endif
