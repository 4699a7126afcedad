/* abut: intersections, distances, contacts and times of impact of triangle meshes.
 * This header includes every public header; each of them also stands alone. */
#ifndef ABUT_ABUT_H
#define ABUT_ABUT_H

#include <abut/base.h>
#include <abut/bvh.h>
#include <abut/character.h>
#include <abut/cloth.h>
#include <abut/collider.h>
#include <abut/contact.h>
#include <abut/device.h>
#include <abut/field.h>
#include <abut/frames.h>
#include <abut/garment.h>
#include <abut/geom.h>
#include <abut/layers.h>
#include <abut/live.h>
#include <abut/map.h>
#include <abut/mesh.h>
#include <abut/nearest.h>
#include <abut/pair.h>
#include <abut/picture.h>
#include <abut/radial.h>
#include <abut/raster.h>
#include <abut/ray.h>
#include <abut/robot.h>
#include <abut/scene.h>
#include <abut/self.h>
#include <abut/shape.h>
#include <abut/sign.h>
#include <abut/sweep.h>
#include <abut/world.h>
#include <abut/world_query.h>

#endif
