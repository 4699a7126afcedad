/* The readers of robots: what their files share. */
#ifndef ABUTI_ROBOT_READ_H
#define ABUTI_ROBOT_READ_H

#include "io/xml.h"
#include "robot/robot.h"

typedef struct robot_mesh {
    char *path;
    vec3 scale;
    abut_bvh *bvh;
} robot_mesh;

typedef struct robot_reader {
    abut_context *context;
    const char *path; /* mesh files are relative to its folder; null = files are not allowed */
    const char *root; /* folder of packages, or null */
    char name[400];   /* printable name of the file */
    abuti_xml xml;
    abuti_vector links;      /* of const char * */
    abuti_vector joints;     /* of abut_robot_joint */
    abuti_vector geometries; /* of abut_robot_geometry */
    abuti_vector meshes;     /* of robot_mesh */
    abuti_vector texts;      /* of char *: names that the reader has composed */
    const char *robot_name;
} robot_reader;

/* Sets the error message: the name of the file, the line of an element, and these words. */
abut_status abuti_robot_fail(robot_reader *r, abut_status status, uint32_t element,
                             const char *format, ...) ABUTI_PRINTF(4, 5);

/* Reads `count` numbers of an attribute. They are unchanged if there is no such attribute; fails if
 * their number differs. */
abut_status abuti_robot_numbers(robot_reader *r, uint32_t element, const char *attribute,
                                uint32_t count, double *numbers);
/* The same for `text`, which messages call `attribute`. Reads at least `least` and at most `most`
 * numbers. */
abut_status abuti_robot_parse(robot_reader *r, uint32_t element, const char *attribute,
                              const char *text, uint32_t least, uint32_t most, double *numbers,
                              uint32_t *count);

/* Composes a name that the reader owns; null if out of memory. */
const char *abuti_robot_compose(robot_reader *r, const char *format, ...) ABUTI_PRINTF(2, 3);
/* Add an element to a list. `link` may be null; it gets the index. */
abut_status abuti_robot_add_link(robot_reader *r, const char *name, uint32_t *link);
abut_status abuti_robot_add_geometry(robot_reader *r, uint32_t link, const abut_collider *collider);
/* Finds a link or joint by its name; ABUT_NONE if there is none. */
uint32_t abuti_robot_find_link(const robot_reader *r, const char *name);
uint32_t abuti_robot_find_joint(const robot_reader *r, const char *name);
/* Reads a mesh, or finds it if it has been read before. `file` is written as in the file. */
abut_status abuti_robot_read_mesh(robot_reader *r, uint32_t element, const char *folder,
                                  const char *file, vec3 scale, const abut_bvh **bvh);

/* The rotation of angles about x, then y, then z, all fixed axes. */
quat abuti_robot_rotation(const double rpy[3]);

/* Read the lists from the document. */
abut_status abuti_robot_read_urdf(robot_reader *r);
abut_status abuti_robot_read_mjcf(robot_reader *r);

#endif
