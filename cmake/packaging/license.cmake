# copy_license(NAME INCLUDE FOLDER): FOLDER/LICENSE.NAME, of a dependency whose headers are in INCLUDE: that
# of its Debian package, or of its checkout. Who passes its code on must pass its licence on.
function(copy_license name include folder)
  get_filename_component(include "${include}" REALPATH)
  foreach(file share/doc/lib${name}-dev/copyright share/doc/${name}3-dev/copyright share/licenses/${name}/LICENSE LICENSE LICENSE.MIT)
    if(EXISTS "${include}/../${file}")
      configure_file("${include}/../${file}" "${folder}/LICENSE.${name}" COPYONLY)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "the licence of ${name} must be beside its headers, which are in ${include}: found none")
endfunction()
