// The oracle's word for a layout.
#pragma once

#include <concepts>

#include "oracle/rotary.hpp"
#include "posenc/rotation/layout.hpp"

template <class Layout>
constexpr auto oracle_pairing =
    std::same_as<Layout, posenc::halves> ? oracle::pairing::halves : oracle::pairing::interleaved;
