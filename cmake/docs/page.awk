# A page for Doxygen: links of the repository become links of the reference. A link to a page or to
# one of its headings leads there, to a folder to its page, to a header to the page of the header;
# other files are copied beside; and a folder without a page is no link. (ROOT: the repository)

# PATH from DIRECTORY, without dots.
function resolved(directory, path,    parts, n, i, kept, depth) {
  n = split(directory "/" path, parts, "/")
  depth = 0
  for (i = 1; i <= n; ++i) {
    if (parts[i] == "..") --depth
    else if (parts[i] != "" && parts[i] != ".") kept[++depth] = parts[i]
  }
  path = ""
  for (i = 1; i <= depth; ++i) path = path (i > 1 ? "/" : "") kept[i]
  return path
}
function id_of(page) { gsub(/[^A-Za-z0-9]/, "_", page); return "page_" page }
function anchor_of(heading) {
  heading = tolower(heading)
  gsub(/[^a-z0-9_ -]/, "", heading)
  gsub(/ /, "-", heading)
  return heading
}
function exists(file,    line, found) { found = (getline line < (ROOT "/" file)) > 0; close(ROOT "/" file); return found }

function link(text, target,    anchor, file) {
  if (target ~ /^([a-z]+:|@ref )/) return "[" text "](" target ")"
  anchor = ""
  if (target ~ /#/) anchor = target; sub(/^[^#]*#?/, "", anchor)
  sub(/#.*/, "", target)
  file = target == "" ? page : resolved(directory, target)
  if (file !~ /\.[a-z]+$/ && exists(file "/README.md")) file = file "/README.md"
  if (file ~ /\.md$/) return "[" text "](@ref " id_of(file) (anchor == "" ? "" : "_" anchor) ")"
  if (file ~ /^include\/.*\.hpp$/) { sub(/^include\//, "", file); return "[" text "](@ref " file ")" }
  if (file ~ /\.(cpp|svg|html)$/ || file == "LICENSE") { sub(/.*\//, "", file); return "[" text "](" file ")" }
  return text
}

{ lines[++count] = $0 }
match($0, /^\[[^]]+\]: /) {
  defined[substr($0, 2, RLENGTH - 4)] = substr($0, RLENGTH + 1)
  --count
}

END {
  page = resolved("", substr(FILENAME, length(ROOT) + 2))
  directory = page; if (!sub(/\/[^\/]*$/, "", directory)) directory = ""
  code = 0
  for (n = 1; n <= count; ++n) {
    rest = lines[n]
    if (rest ~ /^```/) code = !code
    if (code) { print rest; continue }
    if (rest ~ /^#+ /) {
      heading = rest; sub(/^#+ /, "", heading)
      if (page == "README.md" && rest ~ /^# /) rest = "# The README"  # the project's name heads every page
      anchor = anchor_of(heading)
      if (times[anchor]++) anchor = anchor "-" times[anchor] - 1  # of sections that repeat, as GitHub does
      print rest " {#" id_of(page) (rest ~ /^# / ? "" : "_" anchor) "}"
      continue
    }
    out = ""
    while (match(rest, /\[[^][]+\](\([^()]+\))?/)) {
      before = substr(rest, 1, RSTART - 1); found = substr(rest, RSTART, RLENGTH)
      rest = substr(rest, RSTART + RLENGTH)
      text = found; sub(/^\[/, "", text); sub(/\].*/, "", text)
      target = found
      if (!sub(/^\[[^]]*\]\(/, "", target)) target = (text in defined) ? defined[text] ")" : ""
      sub(/\)$/, "", target)
      out = out before (target == "" ? found : link(text, target))
    }
    print out rest
  }
}
