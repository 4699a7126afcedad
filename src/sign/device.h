/* What the device's side of a hierarchy knows of inside and outside. */
#ifndef ABUTI_SIGN_DEVICE_H
#define ABUTI_SIGN_DEVICE_H

#include "nearest/device.h"
#include "sign/sign.h"

enum {
    SIGN_NORMALS, /* 7 a triangle, of four doubles each; where there are any */
    SIGN_FAR,     /* bvh_far_node, where there is a border */
    SIGN_BUFFERS
};

typedef struct sign_there {
    bvh_attachment part;
    bvh_on_device *there;
    bool known; /* what follows is that of the hierarchy */
    bool closed, by_normals;
    bool has_far;
    double facing; /* as in bvh_sign */
    abuti_kit kit;
} sign_there;

/* Copies what the hierarchy knows to the device, if that has not been done, but for expansions.
 * Fails where it was not prepared, and where the device cannot answer as the CPU does. */
abut_status abuti_sign_there(const char *function, bvh_on_device *there, sign_there **sign);

#endif
