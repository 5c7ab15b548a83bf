# The public declarations of C++ in the layout of clang-format, a line each: "class | declaration". Without bodies, comments,
# base classes, trailing requirements, and words that a caller can leave out. Namespaces named detail are left out.
FNR == 1 { parse() }
{ line = $0; before = goes_on; goes_on = /\\$/ && (before || /^ *#/) }
before || /^ *#/ { next }
{
  gsub(/'\\?.'/, "0", line); gsub(/"([^"\\]|\\.)*"/, "\"\"", line); sub(/\/\/.*/, "", line)
  gsub(/\[\[[^]]*\]\]|POSENC_[A-Z_]+/, "", line)
  text = text line " "
}
END { parse() }

# Without a template's head: `template <...>`, `requires ...` after it.
function without_head(item, i, open, c) {
  sub(/^ +/, "", item)
  while (item ~ /^template ?</) {
    for (i = index(item, "<"); i <= length(item); ++i) {
      c = substr(item, i, 1); open += (c == "<") - (c == ">")
      if (open == 0) break
    }
    item = substr(item, i + 1); sub(/^ +/, "", item)
  }
  if (match(item, /^requires.* (class|struct) /)) item = (item ~ /^requires[^=]* class / ? "class " : "struct ") substr(item, RLENGTH + 1)
  return item
}
function is_class(item) { return without_head(item) ~ /^(class|struct|union) [^()=]*$/ }
# Whether a value follows, at the level of the item.
function has_value(item) {
  item = without_head(item)
  while (gsub(/\([^()]*\)/, "", item)) {}
  gsub(/operator[^a-z ]+/, "", item)
  return item ~ /=/
}
function enter(kind, name) {
  ++depth; scope[depth] = kind == "class" ? name : scope[depth - 1]
  public[depth] = kind != "class" || without_head(item) !~ /^class/
  hidden[depth] = hidden[depth - 1] || !public[depth - 1] || (kind == "namespace" && name ~ /detail/)
  item = ""
}
function parse(i, c, name) {
  depth = parens = braces = body = in_list = 0; item = ""; public[0] = 1
  for (i = 1; i <= length(text); ++i) {
    c = substr(text, i, 1)
    if (body || braces) {
      if (braces) item = item c
      if (c == "{" && (body ? ++body : ++braces)) continue
      if (c == "}") { if (body) --body; else --braces }
      continue
    }
    parens += (c == "(") - (c == ")")
    if (c == "{" && parens == 0 && is_class(item)) {
      emit(item); name = without_head(item)
      sub(/^[a-z]+ /, "", name); sub(/[ <:].*/, "", name)
      enter("class", name)
    } else if (c == "{" && item ~ /^ *((inline )?namespace |extern "")/) {
      enter("namespace", item)
    } else if (c == "{" && (parens || substr(text, i - 1, 1) != " " || (!in_list && (has_value(item) || item ~ /^ *enum /)))) {
      if (in_list) { body = 1 } else { braces = 1; item = item c }
    } else if (c == "{") {
      emit(item); item = ""; body = 1; in_list = 0
    } else if (c == "}") {
      if (depth) --depth
      item = ""
    } else if (c == ";" && parens == 0) {
      emit(item); item = ""; in_list = 0
    } else if (c == ":" && item ~ /^ *(public|private|protected)$/) {
      public[depth] = item ~ /public/; item = ""
    } else if (c == ":" && parens == 0 && substr(text, i - 1, 1) == " " && item ~ /\)/ && !has_value(item)) {
      in_list = 1
    } else if (!in_list) {
      item = item c
    }
  }
  text = ""
}
function emit(item, rest, i, c, open, first, start, type) {
  if (hidden[depth] || !public[depth]) return
  gsub(/ +/, " ", item); item = " " item " "
  if (item ~ /^ *(static_assert|using namespace|friend class|extern|\}) ?/) return
  if (is_class(item)) {
    sub(/ :[^:].*/, " ", item); rest = without_head(item)
    if (rest ~ /^class /) item = substr(item, 1, length(item) - length(rest)) "struct " substr(rest, 7)
  }
  gsub(/ = (default|delete) /, " ", item); gsub(/ noexcept\([^()]*\)/, " ", item)
  while (gsub(/ (inline|constexpr|constinit|consteval|noexcept|friend|explicit) /, " ", item)) {}
  if (item ~ /\)( const)?&? requires/) item = before_requirement(item)
  gsub(/posenc::|detail::/, "", item)
  gsub(/ ?\( ?/, "(", item); gsub(/ ?\) ?/, ")", item); gsub(/ ?< ?/, "<", item); gsub(/ ?> ?/, ">", item)
  gsub(/ ?, ?/, ",", item); gsub(/ ?= ?/, "=", item); gsub(/ ?\* ?/, "*", item); gsub(/ ?& ?/, "\\&", item)
  gsub(/ ?\{ ?/, "{", item); gsub(/ ?\} ?/, "}", item); gsub(/ ?: ?/, ":", item)
  gsub(/^ +| +$/, "", item); sub(/\)const&$/, ")const", item)
  if (item == "") return
  if (item ~ /^(template|using|enum|class|struct|concept)/ || item ~ /\(/) { print scope[depth] " | " item; return }
  # Several variables of a type.
  for (i = 1; i <= length(item) + 1; ++i) {
    c = i > length(item) ? "," : substr(item, i, 1)
    open += (c ~ /[<({]/) - (c ~ /[>)}]/)
    if (c != "," || open) continue
    rest = substr(item, start + 1, i - start - 1); start = i
    if (type == "") { type = first = rest; sub(/[={].*/, "", type); sub(/[A-Za-z_0-9]+$/, "", type) } else rest = type rest
    print scope[depth] " | " rest
  }
}
# Up to ` requires` behind the parameters.
function before_requirement(item, i, c, open) {
  for (i = 1; i <= length(item); ++i) {
    c = substr(item, i, 1); open += (c == "(") - (c == ")")
    if (open == 0 && substr(item, i) ~ /^\)( const)?&? requires/) {
      c = substr(item, i); sub(/ requires.*/, "", c)
      return substr(item, 1, i - 1) c " "
    }
  }
  return item
}
