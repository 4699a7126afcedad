/* Control points of the Utah teapot.
 *
 * Modelled by Martin Newell at the University of Utah, 1975 (The Utilization of Procedure Models in
 * Digital Image Synthesis, PhD thesis), in the version that Jim Blinn squeezed in height by 1.3;
 * the bottom was added later (F. Crow, The Origins of the Teapot, IEEE Computer Graphics and
 * Applications 7(1), 1987). Checked against three public copies: the table of 306 points and 32
 * patches that has been in circulation since, the table of 127 points and 10 patches in GLUT, and
 * all vertices of the well-known mesh of 6,320 triangles.
 *
 * Lid, rim, body and bottom are quarters of a nearly round body, one the mirror image of the next:
 * a control point (r, h, z) of the profile stands for (r, 0, z), (r, h, z), (h, r, z), (0, r, z)
 * and their mirror images. Handle and spout are halves, y <= 0 and its mirror image: (x, y, z) by
 * rows along the tube, each row from the inside or upper side (y = 0) around to the other (y = 0).
 */
#ifndef ABUTI_SHAPE_TEAPOT_DATA_H
#define ABUTI_SHAPE_TEAPOT_DATA_H

/* From the top of the knob to the edge of the lid, two pieces; then from the inner edge of the rim
 * over the body to the middle of the bottom, four pieces. Each piece starts at the end of the
 * previous one. */
#define TEAPOT_LID_PIECES 2
#define TEAPOT_BODY_PIECES 4

static const double teapot_lid[3 * TEAPOT_LID_PIECES + 1][3] = {
    {0, 0, 3.15},      {0.8, 0.45, 3.15},  {0, 0, 2.85},       /* knob */
    {0.2, 0.112, 2.7}, {0.4, 0.224, 2.55}, {1.3, 0.728, 2.55}, /* lid */
    {1.3, 0.728, 2.4},
};

static const double teapot_body[3 * TEAPOT_BODY_PIECES + 1][3] = {
    {1.4, 0.784, 2.4}, {1.3375, 0.749, 2.53125}, {1.4375, 0.805, 2.53125}, /* rim */
    {1.5, 0.84, 2.4},  {1.75, 0.98, 1.875},      {2, 1.12, 1.35},          /* upper body */
    {2, 1.12, 0.9},    {2, 1.12, 0.45},          {1.5, 0.84, 0.225},       /* lower body */
    {1.5, 0.84, 0.15}, {1.5, 0.84, 0.075},       {1.425, 0.798, 0},        /* bottom */
    {0, 0, 0},
};

/* Handle and spout are two pieces long. */
#define TEAPOT_TUBE_PIECES 2

typedef double teapot_tube_rows[3 * TEAPOT_TUBE_PIECES + 1][4][3];

static const teapot_tube_rows teapot_handle = {
    {{-1.6, 0, 2.025}, {-1.6, -0.3, 2.025}, {-1.5, -0.3, 2.25}, {-1.5, 0, 2.25}},
    {{-2.3, 0, 2.025}, {-2.3, -0.3, 2.025}, {-2.5, -0.3, 2.25}, {-2.5, 0, 2.25}},
    {{-2.7, 0, 2.025}, {-2.7, -0.3, 2.025}, {-3, -0.3, 2.25}, {-3, 0, 2.25}},
    {{-2.7, 0, 1.8}, {-2.7, -0.3, 1.8}, {-3, -0.3, 1.8}, {-3, 0, 1.8}},
    {{-2.7, 0, 1.575}, {-2.7, -0.3, 1.575}, {-3, -0.3, 1.35}, {-3, 0, 1.35}},
    {{-2.5, 0, 1.125}, {-2.5, -0.3, 1.125}, {-2.65, -0.3, 0.9375}, {-2.65, 0, 0.9375}},
    {{-2, 0, 0.9}, {-2, -0.3, 0.9}, {-1.9, -0.3, 0.6}, {-1.9, 0, 0.6}},
};

static const teapot_tube_rows teapot_spout = {
    {{1.7, 0, 1.425}, {1.7, -0.66, 1.425}, {1.7, -0.66, 0.6}, {1.7, 0, 0.6}},
    {{2.6, 0, 1.425}, {2.6, -0.66, 1.425}, {3.1, -0.66, 0.825}, {3.1, 0, 0.825}},
    {{2.3, 0, 2.1}, {2.3, -0.25, 2.1}, {2.4, -0.25, 2.025}, {2.4, 0, 2.025}},
    {{2.7, 0, 2.4}, {2.7, -0.25, 2.4}, {3.3, -0.25, 2.4}, {3.3, 0, 2.4}},
    {{2.8, 0, 2.475}, {2.8, -0.25, 2.475}, {3.525, -0.25, 2.49375}, {3.525, 0, 2.49375}},
    {{2.9, 0, 2.475}, {2.9, -0.15, 2.475}, {3.45, -0.15, 2.5125}, {3.45, 0, 2.5125}},
    {{2.8, 0, 2.4}, {2.8, -0.15, 2.4}, {3.2, -0.15, 2.4}, {3.2, 0, 2.4}},
};

#endif
