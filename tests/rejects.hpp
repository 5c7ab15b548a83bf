#pragma once

/// Bad input: which error a call answers it with.

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

/// What the std::invalid_argument says that `call` throws; a failed test, and "", if it throws none.
std::string message_of(auto&& call) {
  try {
    call();
  } catch (std::invalid_argument const& error) {
    return error.what();
  }
  ADD_FAILURE() << "no std::invalid_argument was thrown";
  return "";
}
