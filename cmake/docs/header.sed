# A header for Doxygen: one namespace whatever the target, and the first comment is the file's.
s/posenc::inline POSENC_TARGET/posenc/
1,/^#pragma once/ {
  s|^//   |//!     |
  s|^//|//!|
}
1s|^|//! @file\n|
