/* Marks of tree nodes: the sets of the triangles below (Cheng 2011, section 4.4). One tree with
 * marks replaces a tree for each set. Only triangles that changed their set are processed: their
 * leaf is marked again, and the nodes above as far as anything changes. */
#include "self/self.h"

/* If more than one in this many triangles changed, all marks are computed, in one sequential pass.
 */
enum { CHANGED_SHARE = 16 };

void abuti_view_mark_all(const abut_self *view, unsigned char *marks) {
    const view_tree *tree = &view->tree;
    for (uint32_t node = tree->node_count; node-- > 0;) {
        uint32_t child = tree->child[node];
        marks[node] = child & TREE_LEAF ? view->sets[child & ~TREE_LEAF]
                                        : (unsigned char)(marks[child] | marks[child + 1]);
    }
}

static void update_marks_above(abut_self *view, uint32_t triangle) {
    const view_tree *tree = &view->tree;
    uint32_t node = tree->leaf[triangle];
    unsigned char mark = view->sets[triangle];
    while (view->marks[node] != mark) {
        view->marks[node] = mark;
        if (node == 0)
            break;
        node = tree->parent[node];
        uint32_t child = tree->child[node];
        mark = view->marks[child] | view->marks[child + 1];
    }
}

static int set_index(unsigned set) {
    return set == SET_P ? 0 : set == SET_N ? 1 : set == SET_Z ? 2 : 3;
}

void abuti_view_mark(abut_self *view, abut_self_result *result) {
    uint32_t count = view->triangle_count, changed = 0;
    const unsigned char *now = view->sets;
    unsigned char *before = view->last_sets;
    for (uint32_t i = 0; i < count && view->marks_valid; i++)
        if (now[i] != before[i]) {
            changed++;
            result->left[set_index(before[i])]++;
            result->entered[set_index(now[i])]++;
        }
    if (!view->marks_valid || changed > count / CHANGED_SHARE) {
        abuti_view_mark_all(view, view->marks);
        memcpy(before, now, count);
    } else if (changed) {
        for (uint32_t i = 0; i < count; i++)
            if (now[i] != before[i]) {
                update_marks_above(view, i);
                before[i] = now[i];
            }
    }
    view->marks_valid = true;
}
