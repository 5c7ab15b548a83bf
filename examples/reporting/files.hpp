// The files that an example is told to write.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

namespace reporting {

/// Before the work begins, so that a file that cannot be written costs no time; leaves alone what
/// is there. Empty names are none. Throws std::runtime_error that names the file which cannot be
/// written, or which is named twice.
void check_writable(std::vector<std::string> const& names);

/// Writes a new or regular file whole or not at all, even if the program is interrupted; a pipe, a
/// device or a link takes the text in place. Nothing for an empty name. Throws std::runtime_error
/// that names the file, and why it cannot be written.
void write_file(std::string const& name, std::function<void(std::ostream&)> const& put);

/// Throws std::runtime_error unless there is a standard output.
void check_standard_output();
/// After all is written. Throws std::runtime_error unless the standard output has taken it.
void check_written();

}  // namespace reporting
