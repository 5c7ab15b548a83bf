// The version of posenc. CMake, the packages and .github/CHANGELOG.md, which says what a version
// promises, agree with it.
#pragma once

#define POSENC_VERSION_MAJOR 0
#define POSENC_VERSION_MINOR 1
#define POSENC_VERSION_PATCH 0
