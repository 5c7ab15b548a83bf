# The public names of headers in the layout that clang-format gives them: a line for each entity of
# namespace posenc, "header name: members", members being what is public of a class or an enum.
function flush() {
  if (entity != "" && !((header entity members) in seen)) print header " " entity members
  seen[header entity members] = 1
  entity = members = ""
}
# The declared name: before its parameters, value or end.
function declared(text) {
  gsub(/\[\[[^]]*\]\] ?/, "", text)
  gsub(/(requires|explicit|decltype|alignas|noexcept) ?\([^()]*(\([^()]*\))?[^()]*\) ?/, "", text)
  if (text ~ /operator/) {
    sub(/.*operator/, "operator", text)
    sub(/[^(]\(.*/, substr(text, match(text, /[^(]\(/), 1), text)
    return text ~ /^operator[^a-z_ ]/ ? text : ""
  }
  while (gsub(/<[^<>]*>/, "", text)) {}
  gsub(/[A-Za-z_0-9]*::/, "", text)
  sub(/[({=;,:].*/, "", text)
  gsub(/^ +| +$/, "", text)
  return match(text, /[A-Za-z_][A-Za-z_0-9]*$/) && text !~ /noexcept$/ ? substr(text, RSTART) : ""
}
# Of one declaration, or of several names as in `double score, weight;`.
function add_all(text, parts, count, i) {
  if (text !~ /\(/) {
    while (gsub(/<[^<>]*>/, "", text)) {}
    gsub(/\{[^{}]*\}|=[^,;]*/, "", text)
    count = split(text, parts, /, */)
    for (i = 1; i <= count; ++i) add(declared(parts[i]))
  } else if ((text = declared(text)) != entity) add(text)
}
function add(name) {
  if (name != "" && index(members " ", " " name " ") == 0) members = members (members == "" ? ": " : " ") name
}
FNR == 1 { flush(); header = FILENAME; sub(/.*\/posenc\//, "", header); open = inside = 0 }
/^namespace .*detail/ { open = 0; next }
/^namespace posenc \{ inline namespace POSENC_TARGET \{$|^}  \/\/ namespace detail/ { open = 1; next }
/^}+  \/\/ namespace/ { flush(); open = 0; next }
!open { next }
{ sub(/ *\/\/.*/, "") }
/^(template|requires|static_assert|using namespace|friend|#|}|$)/ || /^extern template/ { if (/^}/) inside = 0; next }
/^[a-z\[]/ {
  flush(); inside = 0; line = $0
  if (line ~ /;$/ && line ~ /^(class|struct) [a-z_]+;$/) next
  if (match(line, /^(class|struct|enum class|enum|union) /)) {
    kind = substr(line, 1, RLENGTH - 1); sub(/^(enum )?[a-z]+ /, "", line); sub(/^class /, "", line); sub(/^\[\[[^]]*\]\] /, "", line)
    if (match(line, /[ :;<{].*/)) rest = substr(line, RSTART); else rest = ""
    entity = substr(line, 1, length(line) - length(rest))
    inside = 1; public = kind != "class"
    if (rest ~ /\}/) {
      inside = 0
      sub(/^[^{]*\{ */, "", rest); sub(/ *\}[^}]*$/, "", rest)
      if (rest != "") add_all(rest)
    }
    next
  }
  sub(/^(concept|using) /, "", line)
  if (line ~ /^[^(]*[a-z_0-9]::[a-z_0-9]+\(/ && line !~ /^[^(]*(decltype|requires)/) next  # of a class
  entity = declared(line)
  next
}
inside && /^ (public|private|protected):/ { public = /public/; next }
inside && public && /^  [A-Za-z_\[~]/ && !/^  (template|requires|static_assert|friend|using enum|private|return|if|for)[ (<]/ {
  line = $0; sub(/^ +/, "", line); sub(/^(using|struct|class|enum class|enum) /, "", line)
  if (line !~ /^~/) add_all(line)
}
END { flush() }
