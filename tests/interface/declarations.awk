# The declarations of posenc.h, each in a line, without comments.
{ text = text " " $0 }
/^#/ { text = substr(text, 1, length(text) - length($0) - 1); if (/^#define .* /) text = text " " $0 ";" }
END {
  while ((from = index(text, "/*")) > 0) {
    rest = substr(text, from)
    text = substr(text, 1, from - 1) substr(rest, index(rest, "*/") + 2)
  }
  gsub(/ +/, " ", text)
  sub(/extern "C" \{/, "", text)
  depth = 0
  for (i = 1; i <= length(text); ++i) {
    c = substr(text, i, 1)
    depth += (c == "{") - (c == "}")
    line = line c
    if (c == ";" && depth == 0) {
      sub(/^ +/, "", line)
      print line
      line = ""
    }
  }
}
