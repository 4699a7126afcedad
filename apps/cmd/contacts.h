/* The contacts of two bodies that `abut contacts` computes, and their output. */
#ifndef ABUT_TOOL_CONTACTS_H
#define ABUT_TOOL_CONTACTS_H

#include "tool.h"

/* Both bodies and their contacts. */
typedef struct contact_pair {
    tool_pair pair;
    abut_device *device; /* of the fields; null = the CPU */
    abut_field *field[2];
    abut_samples *samples[2];
    abut_collider body[2];
    abut_contact *list;
    size_t count, all;   /* printed contacts; all contacts */
    abut_patch *patches; /* null with --method field */
    size_t patch_count;
    bool exact, is_verified;
    abut_reliability reliability;
    const char *with; /* the primitive that replaces B, as given; null = B is a mesh */
    abut_collider solid;
    abut_map *map; /* distances from A to B; null without --method map */
} contact_pair;

/* ---- contacts_print.c: tables, results and JSON ---- */

/* Writes contacts or patches, their picture and their page, as set by the options. Returns the exit
 * code. */
int contacts_print(tool_run *tool, const tool_arguments *arguments, const contact_pair *b);

/* ---- contacts_draw.c: the picture ---- */

/* Sets a view direction that is roughly perpendicular to the first contact normal. */
void contacts_choose_view(const contact_pair *b, abut_picture_options *options);
/* Draws both bodies translucently, the patches, and the contacts with their normals. */
void contacts_draw(tool_run *tool, const tool_arguments *arguments,
                   const abut_picture_options *options, const contact_pair *b);

#endif
