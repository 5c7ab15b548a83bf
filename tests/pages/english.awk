# What a grep can see of English that is read twice: pronouns without their noun ("those that", "the same of", "of its own"),
# and sentences that begin with Of, Where, What or Without and do not ask. Prints FILE:LINE: what, for each. Reads the prose
# of *.md, what a program has printed in *.txt, the comments // and /// and /** of *.hpp and *.h, and the text of strings of
# *.hpp, *.cpp and *.py.
function wrong(line, what) { print NAME ":" line ": " what }

# One paragraph, or one cell of a table, that began at `from`.
function judge(text, from,    rest, sentence, low, words, n, i) {
  gsub(/`[^`]*`/, "x", text)              # code
  gsub(/\]\([^)]*\)/, "]", text)          # addresses of links
  low = " " tolower(text) " "
  gsub(/[ \t]+/, " ", low)
  n = split("those that,the same of,of its own,of their own", words, ",")
  for (i = 1; i <= n; ++i)
    if (low ~ ("[^a-z]" words[i] "[^a-z]")) wrong(from, words[i])
  rest = text
  while (rest != "") {
    if (match(rest, /[.!?]["')*\]]*([ \t]+|$)/)) {
      sentence = substr(rest, 1, RSTART + RLENGTH - 1)
      rest = substr(rest, RSTART + RLENGTH)
    } else {
      sentence = rest
      rest = ""
    }
    gsub(/^[ \t*_"'(\[!-]+/, "", sentence)
    if (sentence ~ /^(Of|Where|What|Without)[ ,]/ && sentence !~ /\?["')*\]]*[ \t]*$/)
      wrong(from, substr(sentence, 1, 40) " ...")
  }
}
function flush() {
  if (paragraph != "") judge(paragraph, began)
  paragraph = ""
}
function add(text) {
  if (paragraph == "") began = FNR
  paragraph = paragraph (paragraph == "" ? "" : " ") text
}
function cells(text,    parts, n, i) {
  n = split(text, parts, "|")
  for (i = 1; i <= n; ++i) judge(parts[i], FNR)
}
FNR == 1 {
  flush()
  code = comment = 0
  NAME = substr(FILENAME, length(SOURCE) + 2)
}
NAME ~ /\.md$/ {
  if ($0 ~ /^ *```/) { code = !code; flush(); next }
  if (code || $0 ~ /^    / || $0 ~ /^\[[^]]+\]: /) { flush(); next }
  if ($0 ~ /^ *$/) flush()
  else if ($0 ~ /^[ ]*\|/) { flush(); cells($0) }
  else if ($0 ~ /^#/) flush()  # a heading is no sentence
  else {
    if ($0 ~ /^ *([-*] |[0-9]+\. )/) { flush(); sub(/^ *([-*] |[0-9]+\. )/, "") }
    add($0)
  }
  next
}
NAME ~ /\.txt$/ {
  match($0, /^ */)
  if (RLENGTH != indent && RLENGTH < 30) flush()  # 30: an option of --help goes on
  indent = RLENGTH
  if ($0 ~ /^ *$/ || $0 ~ /^ *-/) flush()
  add($0)
  next
}
{
  line = $0
  if (line ~ /^ *\/\/(\/[^<]|[^\/]|\/?$)/) {
    sub(/^ *\/\/\/? ?/, "", line)
    if (line ~ /^ *$/ || line ~ /^   /) flush()
    else { if (line ~ /^ *- /) flush(); add(line) }
    next
  }
  if (comment || line ~ /^ *\/\*\*[^<]/) {
    last = line ~ /\*\//
    if (!comment) flush()
    sub(/^ *(\/\*\*|\*) ?/, "", line); sub(/ *\*\/.*/, "", line)
    if (line ~ /^ *$/ || line ~ /^   /) flush()
    else add(line)
    comment = !last
    if (last) flush()
    next
  }
  flush()
  if (match(line, /(\/\/\/<|\/\*\*<) /)) {
    rest = substr(line, RSTART + RLENGTH)
    line = substr(line, 1, RSTART - 1)
    sub(/ *\*\/.*/, "", rest)
    judge(rest, FNR)
  }
  if (line ~ /^ *(\/\/|#|\*)/) next
  while (match(line, /"([^"\\]|\\.)*"/)) {
    text = substr(line, RSTART + 1, RLENGTH - 2)
    line = substr(line, RSTART + RLENGTH)
    if (text ~ / /) judge(text, FNR)
  }
}
END { flush() }
