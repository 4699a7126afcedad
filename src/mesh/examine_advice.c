/* Names, and what each method can promise on a mesh.
 *
 * Why the conditions are what they are:
 *  - Pseudo-normals are proved for a surface that bounds a solid (Baerentzen & Aanaes 2005); the
 *    proof looks at the solid around one point, so touching fans and edges whose faces balance do
 *    no harm, but a hole, a flip or a face without a normal does.
 *  - The winding number is a sum over triangles: exact where the faces of every edge cancel, fading
 *    where some are missing, and wrong by whole patches where they are turned (Jacobson et al.
 *    2013).
 *  - Containment counts entries and exits, or volume: one missing face spoils a whole ray.
 *  - The view test tells inside from outside by the way a triangle faces (Cheng 2011, chapter 3):
 *    it needs one consistently wound manifold, whose holes it closes itself.
 * Self-intersections are looked for on a floor above (abut_pair_examine). Until then the sentences
 * say where they matter, and afterwards which it is.
 */
#include "mesh/mesh.h"

const char *abut_problem_kind_name(abut_problem_kind kind) {
    static const char *const names[ABUT_PROBLEM_COUNT] = {
        "degenerate-triangle", "duplicate-triangle", "boundary-edge",    "nonmanifold-edge",
        "nonmanifold-vertex",  "flipped-edge",       "inward-component", "coincident-vertex",
        "unused-vertex",       "self-intersection",
    };
    return ABUTI_NAME(names, kind);
}

const char *abut_method_name(abut_method method) {
    static const char *const names[ABUT_METHOD_COUNT] = {
        "nearest", "pseudo-normal", "winding", "containment", "self-view",
    };
    return ABUTI_NAME(names, method);
}

const char *abut_verdict_name(abut_verdict verdict) {
    static const char *const names[] = {"guaranteed", "limited", "unfit"};
    return ABUTI_NAME(names, verdict);
}

/* ---- advice ---- */

static abut_advice guaranteed(const char *reason) {
    abut_advice advice = {ABUT_VERDICT_GUARANTEED, reason};
    return advice;
}
static abut_advice limited(const char *reason) {
    abut_advice advice = {ABUT_VERDICT_LIMITED, reason};
    return advice;
}
static abut_advice unfit(const char *reason) {
    abut_advice advice = {ABUT_VERDICT_UNFIT, reason};
    return advice;
}

static uint32_t count_of(const abut_mesh_report *r, abut_problem_kind kind) {
    return r->problems[kind].count;
}

static abut_advice advise_pseudo_normal(const abut_mesh_report *r, const abuti_findings *f) {
    if (count_of(r, ABUT_PROBLEM_BOUNDARY_EDGE))
        return unfit("The surface has boundary edges, and near them the sign swaps without notice: "
                     "weld the mesh if they are seams, else use winding numbers.");
    if (f->is_unbalanced)
        return unfit("Edges with three or more faces do not bound a solid, so the sign is wrong "
                     "near them: remove the extra faces, or use winding numbers.");
    if (!r->oriented)
        return unfit("Neighbouring triangles are wound against each other, so the sign swaps from "
                     "one to the next: orient the mesh first.");
    if (count_of(r, ABUT_PROBLEM_INWARD_COMPONENT))
        return unfit("A closed part is wound inwards, so its inside counts as outside: orient the "
                     "mesh first.");
    if (!f->has_volume)
        return unfit("The surface encloses no volume, so there is no inside: use unsigned "
                     "distances.");
    if (f->has_lone_edges)
        return unfit("Triangles that name a vertex twice lie apart from the surface and have no "
                     "normal: weld the mesh, which drops them.");
    if (count_of(r, ABUT_PROBLEM_DEGENERATE_TRIANGLE) ||
        count_of(r, ABUT_PROBLEM_DUPLICATE_TRIANGLE))
        return limited("Right except where a degenerate or duplicate triangle is closest, whose "
                       "normal says nothing: weld the mesh, or remove these triangles.");
    if (f->has_flat_part)
        return limited("A closed part encloses no volume, and next to it the sign is arbitrary: "
                       "remove that part, or use winding numbers.");
    if (f->has_nested_part)
        return limited("A part lies inside another and both face outwards, so between them the "
                       "sign may be wrong: orient the mesh if it is a cavity, else use winding "
                       "numbers.");
    return guaranteed("Closed and wound outwards: the sign is right everywhere, as long as the "
                      "surface does not cut itself.");
}

static abut_advice advise_winding(const abut_mesh_report *r, const abuti_findings *f) {
    if (!r->oriented)
        return unfit("Neighbouring triangles are wound against each other and cancel where they "
                     "should add: orient the mesh first.");
    if (count_of(r, ABUT_PROBLEM_INWARD_COMPONENT))
        return unfit("A closed part is wound inwards and counts negative: orient the mesh first.");
    if (count_of(r, ABUT_PROBLEM_BOUNDARY_EDGE))
        return limited("The surface has boundary edges: if it faces outwards, the sign is right "
                       "away from the holes, and inside them a guess, since the winding number "
                       "fades there.");
    if (f->is_unbalanced)
        return limited("Edges with three or more faces do not bound a solid: near the extra faces "
                       "the winding number is a fraction, and its sign a guess.");
    if (!f->has_volume)
        return limited("The surface encloses no volume, so every point counts as outside.");
    return guaranteed("Closed and wound outwards: the winding number is whole and at least 1 "
                      "inside, also where parts overlap.");
}

static abut_advice advise_containment(const abut_mesh_report *r, const abuti_findings *f) {
    if (count_of(r, ABUT_PROBLEM_BOUNDARY_EDGE))
        return unfit("The surface has boundary edges, so nothing is certainly inside it and its "
                     "volume means nothing: weld the mesh if they are seams, or close the holes.");
    if (f->is_unbalanced)
        return unfit("Edges with three or more faces do not bound a solid, so inside and volume "
                     "mean nothing: remove the extra faces.");
    if (!r->oriented)
        return unfit("Neighbouring triangles are wound against each other, so entries count as "
                     "exits: orient the mesh first.");
    if (count_of(r, ABUT_PROBLEM_INWARD_COMPONENT))
        return unfit("A closed part is wound inwards and its volume counts negative: orient the "
                     "mesh first.");
    if (!f->has_volume)
        return unfit("The surface encloses no volume, so it can contain nothing: use the nearest "
                     "or pair queries.");
    if (f->has_nested_part)
        return limited("A part lies inside another and both face outwards, so the volume they "
                       "share counts twice: orient the mesh if it is a cavity.");
    return guaranteed("Closed and wound outwards: inside, volume and inertia are those of the "
                      "solid, as long as the surface does not cut itself.");
}

static abut_advice advise_self_view(const abut_mesh_report *r) {
    if (!r->manifold)
        return unfit("The view test needs a manifold, and some edges or vertices join more than "
                     "one sheet: split them, or use the complete search.");
    if (!r->oriented)
        return unfit("Neighbouring triangles are wound against each other, so the view test "
                     "cannot tell the sides apart: orient the mesh first.");
    if (count_of(r, ABUT_PROBLEM_INWARD_COMPONENT))
        return unfit("A closed part is wound inwards, so the view test takes its inside for its "
                     "outside: orient the mesh first.");
    if (r->component_count > 1)
        return limited("Each part is guarded by itself only: make the parts separate bodies, or "
                       "use the complete search between them.");
    if (count_of(r, ABUT_PROBLEM_BOUNDARY_EDGE))
        return limited("Holes are closed by ghost triangles, which must not cut the surface at the "
                       "start; what touches them is searched completely.");
    return guaranteed("One closed manifold: no first impact of a step is missed, as long as the "
                      "step starts free of self-intersections.");
}

void abuti_advise(abut_mesh_report *report, const abuti_findings *findings) {
    report->advice[ABUT_METHOD_NEAREST] =
        guaranteed("Asks nothing of a mesh: every triangle counts, a degenerate one as the segment "
                   "or point that it is.");
    report->advice[ABUT_METHOD_PSEUDO_NORMAL] = advise_pseudo_normal(report, findings);
    report->advice[ABUT_METHOD_WINDING] = advise_winding(report, findings);
    report->advice[ABUT_METHOD_CONTAINMENT] = advise_containment(report, findings);
    report->advice[ABUT_METHOD_SELF_VIEW] = advise_self_view(report);
}

void abuti_advise_self(abut_mesh_report *report) {
    static const struct {
        abut_method method;
        const char *free, *cut;
    } sentences[] = {
        {ABUT_METHOD_PSEUDO_NORMAL,
         "Closed, wound outwards and nowhere cut by itself: the sign is right everywhere.",
         "The surface cuts itself, and where parts overlap the sign may be that of the wrong one: "
         "use winding numbers."},
        {ABUT_METHOD_CONTAINMENT,
         "Closed, wound outwards and nowhere cut by itself: inside, volume and inertia are those "
         "of the solid.",
         "The surface cuts itself: inside is still right, but volume and inertia count twice what "
         "overlaps."},
        {ABUT_METHOD_SELF_VIEW,
         "One closed manifold that nowhere cuts itself: no first impact of a step from here is "
         "missed.",
         "The surface cuts itself already, so a step from here has no first impact to find: part "
         "it first, or use the complete search."},
    };
    report->self_examined = true;
    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++) {
        abut_advice *advice = &report->advice[sentences[i].method];
        if (advice->verdict != ABUT_VERDICT_GUARANTEED)
            continue; /* it has worse to say */
        *advice =
            report->self_pair_count ? limited(sentences[i].cut) : guaranteed(sentences[i].free);
    }
}
