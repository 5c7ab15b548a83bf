#pragma once

/// Bad input: the error that a call throws.

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

/// The text of the std::invalid_argument that `call` throws; if it throws none, "" and a failed
/// test.
std::string message_of(auto&& call) {
  try {
    call();
  } catch (std::invalid_argument const& error) {
    return error.what();
  }
  ADD_FAILURE() << "no std::invalid_argument was thrown";
  return "";
}
