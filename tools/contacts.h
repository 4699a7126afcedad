/* Contacts of two bodies as `abut contacts` finds them, and how they are shown. */
#ifndef ABUT_TOOL_CONTACTS_H
#define ABUT_TOOL_CONTACTS_H

#include "tool.h"

/* Both bodies, and what was found. */
typedef struct contact_pair {
    tool_pair pair;
    abut_field *field[2];
    abut_samples *samples[2];
    abut_body body[2];
    abut_contact *list;  /* from malloc */
    size_t count, all;   /* that are told; that there are */
    abut_patch *patches; /* from malloc; not by fields */
    size_t patch_count;
    bool exact, separates;
    abut_advice advice;
    const char *with; /* what the solid is that B is, or null */
    abut_solid solid;
    abut_map *map; /* of A, to B; null = not by maps */
} contact_pair;

/* ---- contacts_write.c: tables, facts and JSON ---- */

/* Writes contacts or patches, their picture and page, as the options ask. Returns the exit code. */
int contacts_tell(tool_run *tool, const tool_arguments *arguments, const contact_pair *b);

/* ---- contacts_draw.c: the picture ---- */

/* Chooses where to look from so that normals are seen from the side. */
void contacts_look_across(const contact_pair *b, abut_picture_options *options);
/* Draws both bodies as glass, patches, and contacts with their normals. */
abut_status contacts_draw(tool_run *tool, const tool_arguments *arguments,
                          const abut_picture_options *options, const contact_pair *b);

#endif
