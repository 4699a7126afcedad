# An overlay port of the tree that it lies in: vcpkg install abut --overlay-ports=packaging/vcpkg
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS
  FEATURES
    gltf ABUT_GLTF
    opencl ABUT_OPENCL
    png ABUT_PNG
    urdf ABUT_URDF
    zstd ABUT_ZSTD)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS ${FEATURE_OPTIONS} -DABUT_ASSIMP=OFF -DABUT_COMMAND=OFF -DABUT_TESTS=OFF -DABUT_BENCH=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME abut CONFIG_PATH lib/cmake/abut)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
