# A header for Doxygen, line by line the same: one namespace whatever the target; the first comment
# is the file's; and what a reader can do without being told is documented here, once.
s/^namespace posenc \{ inline namespace POSENC_TARGET \{$/namespace posenc {/
s/^namespace posenc \{ inline namespace POSENC_TARGET \{ namespace (detail.*) \{$/namespace posenc::\1 {/
s|^\}\}+  // namespace posenc|}  // namespace posenc|
1,/^#pragma once/ {
  s|^//   |//!     |
  s|^//|//!|
  s|^#pragma once|//! @file|
}
# Members that one line declares share its comment.
:members
s!(^ *|\*/ )([A-Za-z0-9_:]+(<[^();]*>)?) ([a-z_]+)( = [^,;()<]+)?, ([a-z_][^;()]*;) *///< (.*)$!\1\2 \4\5; /**< \7 */ \2 \6  ///< \7!
t members
s|operator==\(.*= default;$|&  ///< Compares all members.|
s/^(    -> [a-z_]+<|[a-z_]+\(.*\) -> ).*;$/&  \/\/\/< Deduces the arguments of the template./
# Doxygen ends a first sentence at the dots of "0 .. 3".
\,^ *///<? [^ ]|///<,s,(///.*) \.\. ,\1 to ,g
# The version: its header says what the numbers mean.
s|^(#define POSENC_VERSION_[A-Z]+ [0-9]+)$|\1  ///< The head of the changelog says what it means.|
# What POSENC_TARGET is put together from.
/^#define POSENC_JOIN\(/,$d
